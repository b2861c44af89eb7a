"""The run summary: counts that add up, and aggregates per configuration.

Trials are reduced to columns of numbers as they come, in parts that merge; no document is kept.
"""

from __future__ import annotations

import math
import statistics
from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from msgspec.structs import asdict

from retrieval_eval.metrics.catalog import BY_NAME, Metric, read_metric, summarised
from retrieval_eval.metrics.document import TrialMetrics
from retrieval_eval.metrics.taxonomy import LABELS
from retrieval_eval.model.summary import (
    ConfigSummary,
    ExcludedFolder,
    MetricSummary,
    NeverHit,
    PooledErrorRate,
    RunSummary,
    TrialCounts,
    TrialEntry,
)
from retrieval_eval.pipeline.naming import EVENTS_SUFFIX, METRICS_SUFFIX
from retrieval_eval.records import Exclusion
from retrieval_eval.schema import SCHEMA_VERSION, now
from retrieval_eval.study.trials import SCALES_DIFFER, off_scale
from retrieval_eval.values import REASONS, Value

Task = tuple[str, str]


def run_summary(
    run_id: str,
    rows: Iterable[tuple[str, TrialMetrics]],
    excluded: Sequence[Exclusion],
    k_values: Sequence[int],
    *,
    generated_at: str | None = None,
) -> RunSummary:
    """Return the summary of a run.

    Parameters
    ----------
    rows
        The stem of the artefacts and the metrics of every trial, in order; each is read once and
        not kept.
    excluded
        What discovery left out.
    k_values
        The cut-offs of the run.
    generated_at
        The document's time stamp; by default the present.
    """
    part, entries = PartialSummary(), []
    for position, (stem, trial) in enumerate(rows):
        part.add(position, trial)
        entries.append(trial_entry(stem, trial))
    return part.summary(run_id, entries, excluded, k_values, generated_at=generated_at)


def trial_entry(stem: str, trial: TrialMetrics) -> TrialEntry:
    """Return the line of a trial in the summary; ``stem`` is that of its artefacts."""
    own, reason = trial.provenance, trial.coverage.degraded_reason
    return TrialEntry(
        config_name=own.config_name,
        benchmark=own.benchmark,
        task_name=own.task_name,
        trial_name=own.trial_name,
        batch_timestamp=own.batch_timestamp,
        status="degraded" if reason else "evaluated",
        reason=reason,
        computable=trial.file_level_metrics.computable,
        not_computable_reason=trial.file_level_metrics.reason,
        events_file=f"{stem}{EVENTS_SUFFIX}",
        metrics_file=f"{stem}{METRICS_SUFFIX}",
    )


class PartialSummary:
    """The summary of some trials of a run; parts of disjoint trials merge in any order and shape.

    Merging is exact: counts are whole numbers, and of a mean or median over tasks the numbers
    themselves are kept, eight bytes each, until the run is whole. A part can be pickled.

    Examples
    --------
    A worker makes the part of its trials; whoever has two parts makes them one:

    >>> part, other = PartialSummary(), PartialSummary()
    >>> part.merge(other)
    >>> part.n_trials, part.summary("run", [], [], [10]).counts.trials_found
    (0, 0)
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.configs: defaultdict[str, _Config] = defaultdict(_Config)
        self.rewards: dict[str, list[int]] = {}

    @property
    def n_trials(self) -> int:
        """How many trials are in this part."""
        return self.counts["trials"]

    def add(self, position: int, trial: TrialMetrics) -> None:
        """Add a trial.

        Parameters
        ----------
        position
            Its place among all trials of the run, from 0: the first of a task's repeats gives the
            reason of a number that none of them has.
        trial
            Its metrics, which are not kept.
        """
        own = trial.provenance
        _count(
            self.counts,
            trials=1,
            degraded=bool(trial.coverage.degraded_reason),
            without_trace=trial.coverage.trace_source is None,
            without_ground_truth=not trial.coverage.has_ground_truth,
            computable=trial.file_level_metrics.computable,
            simulated=own.is_simulated is True,
        )
        reward = self.configs[own.config_name].add(position, trial)
        if not math.isnan(reward):
            _add(self.rewards.setdefault(own.benchmark, [0, 0]), (1, 0 <= reward <= 1))

    def merge(self, other: PartialSummary) -> None:
        """Add the trials of another part, none of which is in this one."""
        self.counts.update(other.counts)
        for config, own in other.configs.items():
            self.configs[config].merge(own)
        for suite, numbers in other.rewards.items():
            _add(self.rewards.setdefault(suite, [0, 0]), numbers)

    def summary(
        self,
        run_id: str,
        trials: Iterable[TrialEntry],
        excluded: Sequence[Exclusion],
        k_values: Sequence[int],
        *,
        generated_at: str | None = None,
    ) -> RunSummary:
        """Return the summary of the run of which this holds all trials.

        Parameters
        ----------
        trials
            The line of every trial, in order.
        run_id, excluded, k_values, generated_at
            As for `run_summary`.
        """
        unscaled = off_scale(self.rewards)
        return RunSummary(
            schema_version=SCHEMA_VERSION,
            generated_at=generated_at or now(),
            run_id=run_id,
            parameters={"k_values": list(k_values)},
            counts=self._counts(len(excluded)),
            configs={name: self.configs[name].summary(unscaled) for name in sorted(self.configs)},
            trials=tuple(trials),
            excluded=tuple(
                ExcludedFolder(
                    path=e.path.name, config_name=e.config_name, reason=e.reason, detail=e.detail
                )
                for e in excluded
            ),
        )

    def _counts(self, n_excluded: int) -> TrialCounts:
        """Return how many trials were found and what became of them.

        ``simulated`` is only counted where a trial is.
        """
        n = self.counts
        return TrialCounts(
            trials_found=n["trials"] + n_excluded,
            evaluated=n["trials"] - n["degraded"],
            degraded=n["degraded"],
            excluded=n_excluded,
            without_trace=n["without_trace"],
            without_ground_truth=n["without_ground_truth"],
            computable=n["computable"],
            simulated=n["simulated"] or None,
        )


def _count(totals: Counter[str], **numbers: int) -> None:
    for name, number in numbers.items():
        totals[name] += number


def _add(totals: list[int], numbers: Iterable[int]) -> None:
    totals[:] = [total + number for total, number in zip(totals, numbers, strict=True)]


_REASONS: Final = tuple(REASONS)
"""A column holds the position of a reason in these."""


class _Column:
    """One metric of every trial: its number, or NaN and the code of its reason."""

    __slots__ = ("numbers", "reasons")

    def __init__(self) -> None:
        self.numbers = array("d")
        self.reasons = array("B")

    def add(self, value: Value) -> None:
        self.numbers.append(math.nan if value.value is None else value.value)
        self.reasons.append(0 if value.reason is None else _REASONS.index(value.reason))

    def merge(self, other: _Column) -> None:
        self.numbers.extend(other.numbers)
        self.reasons.extend(other.reasons)


_NAMES: Final = ("harness", "harness_version", "model")


class _Config:
    """What is summed and kept of the trials of one configuration."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.taxonomy = {label: [0, 0, 0] for label in LABELS}
        self.events: Counter[str] = Counter()
        self.ledger: Counter[str] = Counter()
        self.found_by: Counter[str] = Counter()
        self.names: dict[str, set[str]] = {name: set() for name in _NAMES}
        self.columns = {metric.name: _Column() for metric in summarised()}
        self.positions = array("q")
        self.tasks: dict[Task, int] = {}
        self.task_of = array("q")

    def add(self, position: int, trial: TrialMetrics) -> float:
        """Add a trial and return its reward, or NaN."""
        own, files = trial.provenance, trial.file_level_metrics
        _count(
            self.counts,
            trials=1,
            computable=files.computable,
            never_hit=bool(files.never_hit),
            may_hit=files.never_hit is not None,
            ground_truth=files.n_ground_truth or 0,
        )
        if trial.error_taxonomy.computable:
            for label, totals in self.taxonomy.items():
                rate = trial.error_taxonomy.rates[label]
                _add(totals, (rate.count or 0, rate.denominator or 0, 1))
        if trial.event_summary:
            self.events.update(trial.event_summary.events_by_category)
        if trial.ledger:
            counts = asdict(trial.ledger).items()
            self.ledger.update({name: n for name, n in counts if isinstance(n, int)})
        self.found_by.update(files.found_by)
        for name, found in self.names.items():
            found.update(filter(None, [getattr(own, name)]))
        self.positions.append(position)
        self.task_of.append(self.tasks.setdefault((own.benchmark, own.task_name), len(self.tasks)))
        for name, column in self.columns.items():
            column.add(read_metric(trial, BY_NAME[name]))
        return self.columns["reward"].numbers[-1]

    def merge(self, other: _Config) -> None:
        """Add the trials of another part."""
        for name in ("counts", "events", "ledger", "found_by"):
            getattr(self, name).update(getattr(other, name))
        for label, numbers in other.taxonomy.items():
            _add(self.taxonomy[label], numbers)
        for name, found in other.names.items():
            self.names[name] |= found
        for name, column in other.columns.items():
            self.columns[name].merge(column)
        self.positions.extend(other.positions)
        here = [self.tasks.setdefault(task, len(self.tasks)) for task in other.tasks]
        self.task_of.extend(here[number] for number in other.task_of)

    def summary(self, unscaled: Collection[str]) -> ConfigSummary:
        """Return the aggregates. Repeats are averaged first, so that ``n`` counts tasks."""
        tasks = self._by_task()
        return ConfigSummary(
            n_trials=self.counts["trials"],
            n_tasks=len(tasks),
            n_computable=self.counts["computable"],
            metrics={m.name: self._over_tasks(tasks, m, unscaled) for m in summarised()},
            never_hit=NeverHit(count=self.counts["never_hit"], denominator=self.counts["may_hit"]),
            error_taxonomy={
                label: PooledErrorRate(
                    count=count,
                    denominator=denominator,
                    denominator_of=LABELS[label],
                    rate=count / denominator if denominator else None,
                    n_trials=n_trials,
                )
                for label, (count, denominator, n_trials) in self.taxonomy.items()
            },
            events_by_category=dict(sorted(self.events.items())),
            ledger=dict(sorted(self.ledger.items())),
            found_by=dict(sorted(self.found_by.items())),
            n_ground_truth=self.counts["ground_truth"],
            harnesses=tuple(sorted(self.names["harness"])),
            harness_versions=tuple(sorted(self.names["harness_version"])),
            models=tuple(sorted(self.names["model"])),
        )

    def _by_task(self) -> dict[Task, list[int]]:
        """Return where in the columns the trials of every task are, in the order of the run."""
        rows: list[list[int]] = [[] for _ in self.tasks]
        for row in sorted(range(len(self.positions)), key=self.positions.__getitem__):
            rows[self.task_of[row]].append(row)
        return {task: rows[self.tasks[task]] for task in sorted(self.tasks)}

    def _over_tasks(
        self, tasks: Mapping[Task, Sequence[int]], metric: Metric, unscaled: Collection[str]
    ) -> MetricSummary:
        column, is_reward = self.columns[metric.name], metric.name == "reward"
        means, suites = [], set()
        lost: Counter[str] = Counter()
        for task, rows in tasks.items():
            # A reward off the scale of its suite is none.
            is_share = is_reward and task[0] not in unscaled
            own = [column.numbers[row] for row in rows]
            known = [v for v in own if (0 <= v <= 1 if is_share else not math.isnan(v))]
            if known:
                means.append(_mean(known))
                suites.add(task[0])
            else:
                is_missing = math.isnan(own[0])
                lost[_REASONS[column.reasons[rows[0]]] if is_missing else "reward_off_scale"] += 1
        if is_reward and len(suites) > 1 and not suites.isdisjoint(unscaled):
            means, lost = [], Counter({SCALES_DIFFER: len(tasks)})
        return MetricSummary(
            mean=_mean(means) if means else None,
            median=statistics.median(means) if means else None,
            n=len(means),
            n_not_computable=len(tasks) - len(means),
            reasons=dict(sorted(lost.items())),
            direction=metric.direction,
            unit=metric.unit,
        )


def _mean(values: Sequence[float]) -> float:
    """Return the exact mean, rounded once, as `statistics.mean` does; quickly for one number."""
    # Adding 0 makes -0 the 0 that a mean of several is.
    return values[0] + 0.0 if len(values) == 1 else statistics.mean(values)
