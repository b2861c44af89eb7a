"""Run summary."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from retrieval_eval.model.common import (
    EMPTY_LIST,
    EMPTY_MAP,
    NULL,
    BodyDigest,
    Count,
    GeneratedAt,
    InputFingerprint,
    Record,
    SchemaVersion,
    Share,
    about,
)


class TrialCounts(Record, frozen=True, kw_only=True):
    """trials_found = evaluated + degraded + excluded."""

    trials_found: Count
    evaluated: Count
    degraded: Count
    excluded: Count
    without_trace: Count
    without_ground_truth: Count
    computable: Count
    simulated: Annotated[Count | None, about("Trials that are invented; absent where none is")] = (
        None
    )


class MetricSummary(Record, frozen=True, kw_only=True):
    """One metric over the tasks of a configuration."""

    mean: Annotated[
        float | None, about("Mean over tasks, repeats averaged first", unit="of the metric")
    ]
    median: Annotated[float | None, about("Median over tasks", unit="of the metric")]
    n: Annotated[Count, about("Tasks with a value", unit="tasks")]
    n_not_computable: Annotated[Count, about("Tasks without one", unit="tasks")]
    reasons: Annotated[dict[str, Count], about("Tasks without a value by reason code")] = EMPTY_MAP
    bounds: Annotated[
        tuple[float, float] | None,
        about(
            "Lowest and highest mean that the traces allow, over the tasks with a value or bounds"
        ),
    ] = None
    direction: Annotated[
        Literal["higher_is_better", "lower_is_better"] | None, about("Which way is better")
    ] = None
    unit: Annotated[str | None, about("Unit")] = None


class NeverHit(Record, frozen=True, kw_only=True):
    """Right-censored trials."""

    count: Annotated[Count, about("Trials that never hit")]
    denominator: Annotated[Count, about("Trials with computable metrics")]


class PooledErrorRate(Record, frozen=True, kw_only=True):
    """A pooled rate."""

    count: Annotated[Count, about("Files")]
    denominator: Annotated[Count, about("Out of")]
    denominator_of: Annotated[str | None, about("What the denominator counts")] = None
    rate: Annotated[Share | None, about("count / denominator")]
    n_trials: Annotated[Count | None, about("Trials pooled")] = None


class ConfigSummary(Record, frozen=True, kw_only=True):
    """Aggregates of one configuration."""

    n_trials: Annotated[Count, about("Trials with artefacts")]
    n_tasks: Annotated[Count, about("Distinct tasks")]
    n_computable: Annotated[Count, about("Trials whose file metrics are computable")]
    metrics: Annotated[dict[str, MetricSummary], about("Aggregates by metric")]
    never_hit: Annotated[NeverHit | None, about("Right-censored trials")] = None
    error_taxonomy: Annotated[dict[str, PooledErrorRate], about("Pooled rate of each label")]
    events_by_category: Annotated[dict[str, Count], about("Events by tool category")] = EMPTY_MAP
    ledger: Annotated[dict[str, Count], about("Summed ledgers")]
    found_by: Annotated[
        dict[str, Count], about("Ground-truth files by the means that found them")
    ] = EMPTY_MAP
    n_ground_truth: Annotated[
        Count | None, about("Ground-truth files over all computable trials")
    ] = None
    harnesses: Annotated[tuple[str, ...], about("Harnesses seen")] = EMPTY_LIST
    harness_versions: Annotated[tuple[str, ...], about("Harness versions seen")] = EMPTY_LIST
    models: Annotated[tuple[str, ...], about("Models seen")] = EMPTY_LIST


class TrialEntry(Record, frozen=True, kw_only=True):
    """The status of one trial."""

    config_name: Annotated[str, about("Config")]
    benchmark: Annotated[str, about("Suite")]
    task_name: Annotated[str, about("Task")]
    trial_name: Annotated[str | None, about("Trial directory")]
    batch_timestamp: Annotated[str | None, about("Batch")] = NULL
    status: Annotated[
        Literal["evaluated", "degraded"],
        about("Degraded: something of the trial is missing, incomplete or unreadable"),
    ]
    reason: Annotated[str | None, about("Why degraded")]
    computable: Annotated[bool | None, about("File metrics exist")] = None
    not_computable_reason: Annotated[str | None, about("Reason code when not")] = NULL
    events_file: Annotated[str, about("Event document, relative to this file")]
    metrics_file: Annotated[str, about("Metric document, relative to this file")]


class ExcludedFolder(Record, frozen=True, kw_only=True):
    """A folder that was left out."""

    path: Annotated[str, about("Folder name")]
    config_name: Annotated[str | None, about("Config")] = NULL
    reason: Annotated[str, about("Reason code")]
    detail: Annotated[str | None, about("More")] = None


class RunSummary(Record, frozen=True, kw_only=True):
    """Summary of a run.

    The status of every trial, and aggregates per configuration.
    """

    schema_version: SchemaVersion
    generated_at: GeneratedAt
    run_id: Annotated[str, about("Run directory name")]
    parameters: Annotated[dict[str, Any], about("Settings")] = EMPTY_MAP
    counts: Annotated[TrialCounts, about("trials_found = evaluated + degraded + excluded")]
    configs: Annotated[dict[str, ConfigSummary], about("Aggregates by configuration")]
    trials: Annotated[tuple[TrialEntry, ...], about("Every trial with artefacts")]
    excluded: Annotated[tuple[ExcludedFolder, ...], about("Every folder left out")]
    notes: Annotated[
        tuple[str, ...], about("What tables of trials or truth state and is not used")
    ] = EMPTY_LIST
    input_fingerprint: InputFingerprint = None
    body_sha256: BodyDigest = None
