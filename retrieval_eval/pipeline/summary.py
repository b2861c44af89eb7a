"""The run summary: counts that add up, and aggregates per configuration."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

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
from retrieval_eval.study.trials import SCALES_DIFFER, open_suites
from retrieval_eval.values import Value, mean

Task = tuple[str, str]


def run_summary(
    run_id: str,
    rows: Sequence[tuple[str, TrialMetrics]],
    excluded: Sequence[Exclusion],
    k_values: Sequence[int],
    *,
    generated_at: str | None = None,
) -> RunSummary:
    """Return the summary of a run.

    Parameters
    ----------
    rows
        The stem of the artefacts and the metrics of every trial, in order.
    excluded
        What discovery left out.
    k_values
        The cut-offs of the run.
    generated_at
        The document's time stamp; by default the present.
    """
    trials = [trial for _, trial in rows]
    return RunSummary(
        schema_version=SCHEMA_VERSION,
        generated_at=generated_at or now(),
        run_id=run_id,
        parameters={"k_values": list(k_values)},
        counts=_counts(trials, len(excluded)),
        configs=_by_config(trials),
        trials=tuple(_entry(stem, trial) for stem, trial in rows),
        excluded=tuple(
            ExcludedFolder(
                path=e.path.name, config_name=e.config_name, reason=e.reason, detail=e.detail
            )
            for e in excluded
        ),
    )


def _entry(stem: str, trial: TrialMetrics) -> TrialEntry:
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


def _by_config(trials: Iterable[TrialMetrics]) -> dict[str, ConfigSummary]:
    """Return the aggregates of every configuration over its trials.

    Repeats of a task are averaged first, so that ``n`` counts tasks.
    """
    groups: dict[str, list[TrialMetrics]] = defaultdict(list)
    rewards = []
    for trial in trials:
        groups[trial.provenance.config_name].append(trial)
        if (reward := read_metric(trial, BY_NAME["reward"]).value) is not None:
            rewards.append((trial.provenance.benchmark, reward))
    unscaled = open_suites(rewards)
    return {config: _aggregate(groups[config], unscaled) for config in sorted(groups)}


def _aggregate(trials: Sequence[TrialMetrics], unscaled: Collection[str]) -> ConfigSummary:
    tasks = _by_task(trials)
    files = [trial.file_level_metrics for trial in trials]
    n_computable = sum(block.computable for block in files)
    return ConfigSummary(
        n_trials=len(trials),
        n_tasks=len(tasks),
        n_computable=n_computable,
        metrics={m.name: _over_tasks(tasks, m, unscaled) for m in summarised()},
        never_hit=NeverHit(
            count=sum(bool(block.never_hit) for block in files),
            denominator=sum(block.never_hit is not None for block in files),
        ),
        error_taxonomy={label: _pooled_rate(trials, label) for label in LABELS},
        events_by_category=_sum(
            trial.event_summary.events_by_category for trial in trials if trial.event_summary
        ),
        ledger=_sum(
            {k: v for k, v in asdict(trial.ledger).items() if isinstance(v, int)}
            for trial in trials
            if trial.ledger
        ),
        found_by=_sum(block.found_by for block in files),
        n_ground_truth=sum(block.n_ground_truth or 0 for block in files),
        harnesses=_names(trial.provenance.harness for trial in trials),
        harness_versions=_names(trial.provenance.harness_version for trial in trials),
        models=_names(trial.provenance.model for trial in trials),
    )


def _by_task(trials: Iterable[TrialMetrics]) -> dict[Task, list[TrialMetrics]]:
    """Return the trials of one configuration grouped by suite and task."""
    groups: dict[Task, list[TrialMetrics]] = defaultdict(list)
    for trial in trials:
        groups[trial.provenance.benchmark, trial.provenance.task_name].append(trial)
    return dict(sorted(groups.items()))


def _over_tasks(
    tasks: Mapping[Task, Sequence[TrialMetrics]], metric: Metric, unscaled: Collection[str]
) -> MetricSummary:
    known = {
        task: [_read(trial, metric, is_open=task[0] in unscaled) for trial in group]
        for task, group in tasks.items()
    }
    values = [mean(own) for own in known.values()]
    lost = Counter(
        str(own[0].reason)
        for own, value in zip(known.values(), values, strict=True)
        if not value.computable
    )
    suites = {suite for (suite, _), own in known.items() if any(v.computable for v in own)}
    if metric.name == "reward" and len(suites) > 1 and not suites.isdisjoint(unscaled):
        values = [Value.missing(SCALES_DIFFER) for _ in values]
        lost = Counter({SCALES_DIFFER: len(values)})
    numbers = [v.value for v in values if v.value is not None]
    return MetricSummary(
        mean=mean(values).value,
        median=statistics.median(numbers) if numbers else None,
        n=len(numbers),
        n_not_computable=len(values) - len(numbers),
        reasons=dict(sorted(lost.items())),
        direction=metric.direction,
        unit=metric.unit,
    )


def _read(trial: TrialMetrics, metric: Metric, *, is_open: bool) -> Value:
    """Return a number of a trial; a reward off the scale of its suite is none."""
    value = read_metric(trial, metric)
    if metric.name != "reward" or is_open or value.value is None or 0 <= value.value <= 1:
        return value
    return Value.missing("reward_off_scale")


def _pooled_rate(trials: Sequence[TrialMetrics], label: str) -> PooledErrorRate:
    """Pool counts and denominators over the trials: a file counts once a trial."""
    rates = [t.error_taxonomy.rates[label] for t in trials if t.error_taxonomy.computable]
    count = sum(rate.count or 0 for rate in rates)
    denominator = sum(rate.denominator or 0 for rate in rates)
    return PooledErrorRate(
        count=count,
        denominator=denominator,
        denominator_of=LABELS[label],
        rate=count / denominator if denominator else None,
        n_trials=len(rates),
    )


def _sum(blocks: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for block in blocks:
        total.update(block)
    return dict(sorted(total.items()))


def _names(found: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(sorted({name for name in found if name}))


def _counts(trials: Sequence[TrialMetrics], n_excluded: int) -> TrialCounts:
    """Return how many trials were found and what became of them.

    ``simulated`` is only counted where a trial is.
    """
    degraded = sum(bool(trial.coverage.degraded_reason) for trial in trials)
    return TrialCounts(
        trials_found=len(trials) + n_excluded,
        evaluated=len(trials) - degraded,
        degraded=degraded,
        excluded=n_excluded,
        without_trace=sum(trial.coverage.trace_source is None for trial in trials),
        without_ground_truth=sum(not trial.coverage.has_ground_truth for trial in trials),
        computable=sum(trial.file_level_metrics.computable for trial in trials),
        simulated=sum(trial.provenance.is_simulated is True for trial in trials) or None,
    )
