"""Noise of a search system."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from retrieval_eval.model.meta import (
    Count,
    GeneratedAt,
    Moment,
    NonNegative,
    Positive,
    Record,
    SchemaVersion,
    Sha256,
    about,
)
from retrieval_eval.model.search_run import JudgeFacts, RunHeader


class RepeatedRun(Record, frozen=True, kw_only=True):
    """One run."""

    label: Annotated[str, about("Its label; may be empty")]
    generated_at: Annotated[Moment, about("When it was measured")]


class NoiseSettings(Record, frozen=True, kw_only=True):
    """How it was resampled."""

    seed: Annotated[Count, about("Seed of resampling")]
    n_resamples: Annotated[Positive, about("Number of resamples")]
    confidence: Annotated[float, about("Coverage of the intervals")]


class RunToRun(Record, frozen=True, kw_only=True):
    """Between runs of one system on the same queries, in points."""

    sd_points: Annotated[NonNegative, about("The larger of the next two")]
    sd_of_runs_points: Annotated[NonNegative, about("Standard deviation of the runs' values")]
    sd_by_query_points: Annotated[NonNegative, about("Its value if queries varied independently")]
    largest_delta_points: Annotated[NonNegative, about("Largest distance between two runs")]
    step_points: Annotated[
        NonNegative, about("The smallest step by which one query can move the metric")
    ]
    is_deterministic: Annotated[bool, about("No query changed in any run; the noise is exactly 0")]


class QuerySampling(Record, frozen=True, kw_only=True):
    """From resampling queries, in points."""

    level_sd_points: Annotated[NonNegative, about("Of a run's mean")]
    delta_sd_points: Annotated[
        NonNegative, about("Of the difference of two runs of the same queries")
    ]


class DetectablePoints(Record, frozen=True, kw_only=True):
    """Changes that 80 % of comparisons of this many queries find."""

    run_to_run: Annotated[
        float | None,
        about(
            "If every query moved alike: the noise between runs alone hides it. 0: any change shows"
        ),
    ]
    change: Annotated[float | None, about("If queries differ as in the given change")]
    unrelated: Annotated[
        float | None, about("If the two systems had nothing in common but their quality")
    ]


class MetricNoise(Record, frozen=True, kw_only=True):
    """The noise of one metric."""

    n_queries: Annotated[Positive, about("Queries with a value in every run")]
    run_to_run: Annotated[
        RunToRun, about("Between runs of one system on the same queries, in points")
    ]
    band_points: Annotated[
        NonNegative,
        about(
            "Run-to-run standard deviation used as the noise level: sd_points, and one query "
            "more that moves its whole step in one run; 0 where a metric of a deterministic "
            "system never moved"
        ),
    ]
    query_sampling: Annotated[QuerySampling, about("From resampling queries, in points")]
    smallest_detectable_points: Annotated[
        DetectablePoints, about("Changes that 80 % of comparisons of this many queries find")
    ]
    by_n_queries: Annotated[
        dict[str, DetectablePoints], about("The same for other numbers of queries")
    ]


class SuggestedThreshold(Record, frozen=True, kw_only=True):
    """One threshold."""

    metric: Annotated[str, about("Metric")]
    direction: Annotated[str, about("Direction that is bad")]
    shipped_max_change_points: Annotated[float, about("What the shipped guard.toml allows")]
    noise_points: Annotated[
        float,
        about(
            "What the difference of two runs exceeds in 5 % of comparisons, over all "
            "thresholds together"
        ),
    ]
    max_change_points: Annotated[
        float, about("The larger of the two, the noise rounded up to tenths")
    ]


class NoiseFloor(Record, frozen=True, kw_only=True):
    """Noise of a search system.

    How much runs of one system differ, and what changes they can show.
    """

    schema_version: SchemaVersion
    generated_at: GeneratedAt
    n_runs: Annotated[Annotated[int, Meta(ge=2)], about("Runs compared")]
    n_queries: Annotated[Count, about("Queries asked in each")]
    n_queries_varied: Annotated[
        Count, about("Queries whose documents were not the same in all runs")
    ]
    pinned: Annotated[
        Sha256 | None,
        about("Gold fingerprint of the pinned queries that were looked at; null: all"),
    ]
    is_deterministic: Annotated[bool, about("No query's documents varied")]
    run: Annotated[
        RunHeader, about("The measured system, gold set and settings, as in a search run")
    ]
    judge: Annotated[
        JudgeFacts | None,
        about("The judge of the claims, as in a search run; null: the runs have none"),
    ]
    runs: Annotated[tuple[RepeatedRun, ...], about("The runs")]
    change: Annotated[
        tuple[str, ...] | None,
        about("Labels of the two runs taken as a typical change; null without"),
    ]
    settings: Annotated[NoiseSettings, about("How it was resampled")]
    metrics: Annotated[dict[str, MetricNoise], about("By metric")]
    suggested_thresholds: Annotated[
        tuple[SuggestedThreshold, ...], about("Thresholds that a guard of this system could use")
    ]
