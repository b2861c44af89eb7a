"""The run summary: counts that add up, and aggregates per configuration.

Counts add up (`Totals`), and stay small however many trials there are. A mean or median over tasks
needs the numbers themselves, nine bytes each, and the bounds of open ones (`TaskNumbers`). No
document is kept.
"""

from __future__ import annotations

import math
import statistics
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from msgspec.structs import asdict

from retrieval_eval.agents.metrics import LABELS
from retrieval_eval.agents.metrics.catalog import (
    BY_NAME,
    Metric,
    read_bounds,
    read_metric,
    summarised,
)
from retrieval_eval.agents.metrics.document import TrialMetrics
from retrieval_eval.agents.runs.layout import documents_of
from retrieval_eval.agents.study.trials import SCALES_DIFFER, off_scale
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
from retrieval_eval.records import Exclusion
from retrieval_eval.schema import SCHEMA_VERSION, now
from retrieval_eval.values import REASONS

Task = tuple[str, str]


def run_summary(
    run_id: str,
    rows: Iterable[tuple[str, TrialMetrics]],
    excluded: Sequence[Exclusion],
    k_values: Sequence[int],
    *,
    notes: Sequence[str] = (),
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
    notes
        What was stated and is not used.
    generated_at
        The document's time stamp; by default the present.
    """
    totals, entries = Totals(), []
    for stem, trial in rows:
        totals.add(trial)
        entries.append(trial_entry(stem, trial))
    unscaled = off_scale(totals.rewards)
    return RunSummary(
        schema_version=SCHEMA_VERSION,
        generated_at=generated_at or now(),
        run_id=run_id,
        parameters={"k_values": list(k_values)},
        counts=totals.summary(len(excluded)),
        configs={name: totals.configs[name].summary(unscaled) for name in sorted(totals.configs)},
        trials=tuple(entries),
        excluded=tuple(
            ExcludedFolder(
                path=e.path.name, config_name=e.config_name, reason=e.reason, detail=e.detail
            )
            for e in excluded
        ),
        notes=tuple(notes),
    )


def trial_entry(stem: str, trial: TrialMetrics) -> TrialEntry:
    """Return the line of a trial in the summary; ``stem`` is that of its artefacts."""
    own, reason = trial.provenance, trial.coverage.degraded_reason
    events_file, metrics_file = documents_of(stem)
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
        events_file=events_file,
        metrics_file=metrics_file,
    )


_NAMES: Final = ("harness", "harness_version", "model")


@dataclass(frozen=True, slots=True)
class ConfigTotals:
    """What adds up over the trials of one configuration."""

    counts: dict[str, int] = field(default_factory=dict)
    taxonomy: dict[str, list[int]] = field(default_factory=dict)
    events: dict[str, int] = field(default_factory=dict)
    ledger: dict[str, int] = field(default_factory=dict)
    found_by: dict[str, int] = field(default_factory=dict)
    names: dict[str, set[str]] = field(default_factory=dict)
    numbers: TaskNumbers = field(default_factory=lambda: TaskNumbers(summarised()))

    def add(self, trial: TrialMetrics) -> None:
        """Add a trial."""
        own, files = trial.provenance, trial.file_level_metrics
        numbers = {
            "trials": 1,
            "computable": files.computable,
            "never_hit": bool(files.never_hit),
            "may_hit": files.never_hit is not None,
            "ground_truth": files.n_ground_truth or 0,
        }
        _count(self.counts, numbers)
        if trial.error_taxonomy.computable:
            for label in LABELS:
                rate = trial.error_taxonomy.rates[label]
                _add(self.taxonomy, label, (rate.count or 0, rate.denominator or 0, 1))
        if trial.event_summary:
            _count(self.events, trial.event_summary.events_by_category)
        if trial.ledger:
            counts = asdict(trial.ledger).items()
            _count(self.ledger, {name: n for name, n in counts if isinstance(n, int)})
        _count(self.found_by, files.found_by)
        for name in _NAMES:
            self.names.setdefault(name, set()).update(filter(None, [getattr(own, name)]))
        self.numbers.add(trial)

    def summary(self, unscaled: Collection[str]) -> ConfigSummary:
        """Return the summary; ``unscaled`` are the suites whose rewards are not from 0 to 1."""
        count = Counter(self.counts)
        names = {name: tuple(sorted(self.names.get(name, ()))) for name in _NAMES}
        return ConfigSummary(
            n_trials=count["trials"],
            n_tasks=self.numbers.n_tasks,
            n_computable=count["computable"],
            metrics=self.numbers.summary(unscaled),
            never_hit=NeverHit(count=count["never_hit"], denominator=count["may_hit"]),
            error_taxonomy={label: self._pooled(label) for label in LABELS},
            events_by_category=dict(sorted(self.events.items())),
            ledger=dict(sorted(self.ledger.items())),
            found_by=dict(sorted(self.found_by.items())),
            n_ground_truth=count["ground_truth"],
            harnesses=names["harness"],
            harness_versions=names["harness_version"],
            models=names["model"],
        )

    def _pooled(self, label: str) -> PooledErrorRate:
        count, denominator, n_trials = self.taxonomy.get(label, (0, 0, 0))
        return PooledErrorRate(
            count=count,
            denominator=denominator,
            denominator_of=LABELS[label],
            rate=count / denominator if denominator else None,
            n_trials=n_trials,
        )


@dataclass(frozen=True, slots=True)
class Totals:
    """What adds up over the trials of a run."""

    counts: dict[str, int] = field(default_factory=dict)
    configs: dict[str, ConfigTotals] = field(default_factory=dict)
    rewards: dict[str, list[int]] = field(default_factory=dict)
    """How many rewards each suite has, and how many of them lie from 0 to 1."""

    def add(self, trial: TrialMetrics) -> None:
        """Add a trial, by its metrics."""
        own = trial.provenance
        numbers = {
            "trials": 1,
            "degraded": bool(trial.coverage.degraded_reason),
            "without_trace": trial.coverage.trace_source is None,
            "without_ground_truth": not trial.coverage.has_ground_truth,
            "computable": trial.file_level_metrics.computable,
            "simulated": own.is_simulated is True,
        }
        _count(self.counts, numbers)
        self.configs.setdefault(own.config_name, ConfigTotals()).add(trial)
        reward = read_metric(trial, BY_NAME["reward"]).value
        if reward is not None:
            _add(self.rewards, own.benchmark, (1, 0 <= reward <= 1))

    def summary(self, n_excluded: int) -> TrialCounts:
        """Return how many trials were found and what became of them.

        ``simulated`` is only counted where a trial is.
        """
        n = Counter(self.counts)
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


def _count(totals: dict[str, int], numbers: Mapping[str, int]) -> None:
    for name, number in numbers.items():
        totals[name] = totals.get(name, 0) + number


def _add(totals: dict[str, list[int]], name: str, numbers: Sequence[int]) -> None:
    held = totals.get(name, [0] * len(numbers))
    totals[name] = [total + number for total, number in zip(held, numbers, strict=True)]


# --- means and medians over tasks ---

_REASONS: Final = tuple(REASONS)
"""A column holds the position of a reason in these."""


class TaskNumbers:
    """Some metrics of every trial of one configuration: nine bytes a number.

    Parameters
    ----------
    metrics
        Which ones.
    """

    def __init__(self, metrics: Sequence[Metric]) -> None:
        self.metrics = metrics
        self._numbers = [array("d") for _ in metrics]
        self._reasons = [array("B") for _ in metrics]
        self._bounds: list[dict[int, tuple[float, float]]] = [{} for _ in metrics]
        self._rows: dict[Task, list[int]] = {}
        self._n = 0

    @property
    def n_tasks(self) -> int:
        """How many tasks there are."""
        return len(self._rows)

    def add(self, trial: TrialMetrics) -> None:
        """Add a trial: its numbers, or why there is none; trials come in the order of the run.

        The first of a task's repeats gives the reason of a number that none of them has.
        """
        own = trial.provenance
        self._rows.setdefault((own.benchmark, own.task_name), []).append(self._n)
        for metric, numbers, reasons, bounds in zip(
            self.metrics, self._numbers, self._reasons, self._bounds, strict=True
        ):
            found = read_metric(trial, metric)
            numbers.append(math.nan if found.value is None else found.value)
            reasons.append(0 if found.reason is None else _REASONS.index(found.reason))
            if ends := read_bounds(trial, metric):
                bounds[self._n] = ends
        self._n += 1

    def summary(self, unscaled: Collection[str]) -> dict[str, MetricSummary]:
        """Return means and medians. Repeats are averaged first, so that ``n`` counts tasks.

        Parameters
        ----------
        unscaled
            The suites whose rewards are not from 0 to 1.
        """
        return {
            metric.name: self._over_tasks(metric, column, unscaled)
            for column, metric in enumerate(self.metrics)
        }

    def _over_tasks(self, metric: Metric, column: int, unscaled: Collection[str]) -> MetricSummary:
        numbers, is_reward = self._numbers[column], metric.name == "reward"
        means, suites = [], set()
        lost: Counter[str] = Counter()
        for task, rows in self._rows.items():
            # A reward off the scale of its suite is none.
            is_share = is_reward and task[0] not in unscaled
            own = [numbers[row] for row in rows]
            known = [v for v in own if (0 <= v <= 1 if is_share else not math.isnan(v))]
            if known:
                means.append(_mean(known))
                suites.add(task[0])
            else:
                is_missing = math.isnan(own[0])
                reason = _REASONS[self._reasons[column][rows[0]]]
                lost[reason if is_missing else "reward_off_scale"] += 1
        if is_reward and len(suites) > 1 and not suites.isdisjoint(unscaled):
            means, lost = [], Counter({SCALES_DIFFER: len(self._rows)})
        return MetricSummary(
            mean=_mean(means) if means else None,
            median=statistics.median(means) if means else None,
            n=len(means),
            n_not_computable=len(self._rows) - len(means),
            reasons=dict(sorted(lost.items())),
            bounds=self._mean_bounds(column),
            direction=metric.direction,
            unit=metric.unit,
        )

    def _mean_bounds(self, column: int) -> tuple[float, float] | None:
        """Return the lowest and the highest mean, also over the tasks that are only open."""
        numbers, bounds = self._numbers[column], self._bounds[column]
        if not bounds:
            return None
        ends: tuple[list[float], list[float]] = ([], [])
        for rows in self._rows.values():
            known = [bounds.get(row, (numbers[row], numbers[row])) for row in rows]
            known = [pair for pair in known if not math.isnan(pair[0])]
            for side, means in enumerate(ends) if known else ():
                means.append(_mean([pair[side] for pair in known]))
        return _mean(ends[0]), _mean(ends[1])


def _mean(values: Sequence[float]) -> float:
    """Return the exact mean, rounded once, as `statistics.mean` does; quickly for one number."""
    # Adding 0 makes -0 the 0 that a mean of several is.
    return values[0] + 0.0 if len(values) == 1 else statistics.mean(values)
