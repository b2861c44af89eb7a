"""Verdict of the regression guard, and the noise of a search system that it allows for."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from retrieval_eval.model.common import (
    EMPTY_LIST,
    Count,
    Day,
    GeneratedAt,
    Moment,
    NonNegative,
    Positive,
    Record,
    SchemaVersion,
    SecondSchemaVersion,
    Sha256,
    about,
    as_second,
)
from retrieval_eval.model.search_diff import Cause
from retrieval_eval.model.search_run import JudgeFacts, RunHeader

# --------------------------------------------------------------------------------------------------
# Noise of a search system.


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


class FirstTenNoise(Record, frozen=True, kw_only=True):
    """Queries whose first ten documents differ in two runs although none of their metrics does."""

    n_pairs: Annotated[Positive, about("Pairs of runs", unit="pairs")]
    mean_points: Annotated[NonNegative, about("Mean share of queries", unit="points")]
    sd_points: Annotated[NonNegative, about("Standard deviation over the pairs", unit="points")]
    largest_points: Annotated[NonNegative, about("Largest share", unit="points")]


class LatencyNoise(Record, frozen=True, kw_only=True):
    """How long a query takes, and by how much that differs between runs on one machine."""

    n_runs: Annotated[Annotated[int, Meta(ge=2)], about("Runs with times")]
    median_seconds: Annotated[
        Annotated[float, Meta(gt=0)], about("Geometric mean of their medians", unit="seconds")
    ]
    sd_of_logs: Annotated[
        NonNegative, about("Standard deviation of the natural logarithms of these medians")
    ]
    largest_ratio: Annotated[float, about("The largest median by the smallest")]


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
    first_ten: Annotated[
        FirstTenNoise | None,
        about(
            "Queries whose first ten documents changed with none of their metrics; absent in files"
            " of earlier versions"
        ),
    ] = None
    latency: Annotated[
        LatencyNoise | None,
        about("Absent without times, or where the runs were made on several kinds of machine"),
    ] = None


# --------------------------------------------------------------------------------------------------
# Verdict of the regression guard.


class DecisionRule(Record, frozen=True, kw_only=True):
    """How it was decided."""

    rule: Annotated[
        Literal[
            "threshold_and_real",
            "threshold",
            "threshold_and_significant",
            "threshold_and_beyond_noise",
        ],
        about("The rule of guard.toml"),
    ]
    alpha: Annotated[
        Annotated[float, Meta(ge=0, le=0.5)],
        about("Chance of an alarm without cause, over all rows"),
    ]
    seed: Annotated[int, about("Seed of intervals and tests")]


class GuardedRun(Record, frozen=True, kw_only=True):
    """The run; null where it could not be read."""

    label: Annotated[str, about("Its label; may be empty")]
    generated_at: Annotated[str, about("When it was measured")]
    gold_fingerprint: Annotated[str, about("The gold set it measured")]
    n_queries: Annotated[Count, about("Queries asked")]
    n_runs: Annotated[
        Positive | None,
        about(
            "Runs of the side; of several, the numbers of the rows are of their means, and "
            "the label is that of the first"
        ),
    ] = None


class GuardSlice(Record, frozen=True, kw_only=True):
    """The queries it looks at; null: all."""

    dimension: Annotated[str, about("Such as corpus; queries: a pinned list")]
    value: Annotated[str, about("Its value, or the path of the list")]


class Measured(Record, frozen=True, kw_only=True):
    """A number with its n, or why there is none."""

    value: Annotated[float | None, about("The value")]
    n: Annotated[Count, about("Queries or claims it rests on")]
    computable: Annotated[bool, about("Whether there is a value")]
    reason: Annotated[str | None, about("Why not")]


class Justification(Record, frozen=True, kw_only=True):
    """The written justification that accepted a breach."""

    metric: Annotated[str, about("Metric")]
    part: Annotated[GuardSlice | None, about("Slice")]
    reason: Annotated[str, about("Why")]
    author: Annotated[str, about("Who wrote it")]
    second_approver: Annotated[str, about("Who approved it")]
    expires: Annotated[Day, about("The last day it counts")]
    max_points: Annotated[
        Annotated[float, Meta(gt=0)] | None,
        about("The largest harm it excuses of the metric, in points"),
    ] = None
    excused_points: Annotated[
        NonNegative | None,
        about("The harm it excused: lost points, or points out of bounds, whichever is more"),
    ] = None


class Mover(Record, frozen=True, kw_only=True):
    """One query."""

    id: Annotated[str, about("Query id")]
    query: Annotated[str, about("Its text")]
    corpus: Annotated[str, about("Its corpus")]
    before: Annotated[float, about("Its value in the baseline")]
    now: Annotated[float, about("Its value in the run")]
    points: Annotated[float, about("What it adds to the change")]
    rank_before: Annotated[
        Positive | None, about("Rank of its first relevant document in the baseline; null: none")
    ] = None
    rank_now: Annotated[Positive | None, about("The same in the run")] = None
    lost: Annotated[
        tuple[str, ...],
        about("Relevant documents within the metric's cut-off in the baseline, and not in the run"),
    ] = ()


class SliceRuling(Record, frozen=True, kw_only=True):
    """One declared slice with its verdict."""

    dimension: Annotated[str, about("Such as corpus")]
    value: Annotated[str, about("Its value")]
    n_queries: Annotated[Count, about("Paired queries")]
    change_points: Annotated[float | None, about("Change in points, now minus baseline")]
    p_adjusted: Annotated[
        float | None, about("One-sided p-value adjusted over all rows and slices; null: no test")
    ]
    verdict: Annotated[
        Literal["pass", "within_noise", "breach", "overridden", "no_verdict", "skipped"],
        about("The verdict on this slice"),
    ]


class GuardRow(Record, frozen=True, kw_only=True):
    """One threshold with its verdict."""

    metric: Annotated[str, about("Metric")]
    slice: Annotated[GuardSlice | None, about("The queries it looks at; null: all")]
    direction: Annotated[Literal["down is bad", "up is bad"], about("Direction that is bad")]
    max_change: Annotated[
        float | None,
        about("Largest allowed change in the bad direction, in unit; null: none bounded"),
    ]
    unit: Annotated[Literal["points", "relative_percent"] | None, about("Unit of max_change")]
    floor: Annotated[float | None, about("Least allowed value")]
    ceiling: Annotated[float | None, about("Largest allowed value")]
    required: Annotated[
        bool,
        about(
            "Whether a metric that the baseline did not record leaves no verdict; otherwise "
            "its threshold is skipped"
        ),
    ]
    verdict: Annotated[
        Literal["pass", "within_noise", "breach", "overridden", "no_verdict", "skipped"],
        about("The verdict on this threshold"),
    ]
    reasons: Annotated[tuple[str, ...], about("Reasons for another verdict than a plain pass")]
    baseline: Annotated[Measured, about("The baseline's value")]
    current: Annotated[Measured, about("The run's value")]
    paired_baseline: Annotated[
        float | None, about("The baseline's value over the queries that both runs have")
    ]
    paired_current: Annotated[float | None, about("The run's value over these")]
    change_points: Annotated[float | None, about("Change in points, now minus baseline")]
    limit_points: Annotated[float | None, about("Largest allowed harm in points")]
    n_queries: Annotated[
        Positive | None, about("Paired queries; null for a metric that is no mean over queries")
    ]
    change_queries: Annotated[float | None, about("The change in whole queries")]
    limit_queries: Annotated[float | None, about("The allowed harm in whole queries")]
    n_up: Annotated[int | None, about("Queries that rose")]
    n_down: Annotated[int | None, about("Queries that fell")]
    ci_low_points: Annotated[float | None, about("Lower end of the interval of the change")]
    ci_high_points: Annotated[float | None, about("Upper end")]
    decided_by: Annotated[
        Literal["threshold", "determinism", "noise", "significance"] | None,
        about(
            "What decides on a change beyond its threshold: nothing more, that both systems give"
            " the same answer twice, measured run-to-run noise, or the sign-flip test over the"
            " queries; null where no change was bounded or measured"
        ),
    ]
    p_value: Annotated[
        float | None, about("One-sided p-value of the harm under that; null: no test")
    ]
    p_adjusted: Annotated[float | None, about("The same adjusted over all rows (Holm)")]
    is_noise: Annotated[
        bool | None, about("Whether noise alone explains the change; null: no test")
    ]
    detectable_points: Annotated[
        float | None, about("The smallest harm that 80 % of such runs would show")
    ]
    justification: Annotated[
        Justification | None, about("The written justification that accepted a breach")
    ]
    movers: Annotated[tuple[Mover, ...], about("The queries that moved it most, the worst first")]
    worst_of: Annotated[
        tuple[str, ...] | None,
        about(
            "Dimensions whose slices are judged one by one; the row is the worst of them. Absent:"
            " no slices were declared"
        ),
    ] = None
    slices: Annotated[
        tuple[SliceRuling, ...] | None, about("All of these slices, the worst first")
    ] = None

    @property
    def name(self) -> str:
        """The metric, and the slice where there is one."""
        part = self.slice
        if self.worst_of is not None:
            of = f"worst of {len(self.slices or ())} slices"
            return f"{self.metric} [{f'{part.dimension} {part.value}, {of}' if part else of}]"
        return f"{self.metric} [{part.dimension} {part.value}]" if part else self.metric

    @property
    def harm_points(self) -> float | None:
        """The change in points, positive where it is bad."""
        if self.change_points is None or self.direction == "up is bad":
            return self.change_points
        return -self.change_points


class GuardRuling(Record, frozen=True, kw_only=True):
    """Ruling of the regression guard.

    A search run compared with a baseline, threshold by threshold.
    """

    schema_version: SecondSchemaVersion
    verdict: Annotated[Literal["pass", "breach", "no_verdict"], about("The verdict on the run")]
    exit_code: Annotated[Literal[0, 1, 2], about("0 pass, 1 breach, 2 no verdict")]
    headline: Annotated[str, about("The verdict in one line")]
    reasons: Annotated[tuple[str, ...], about("Why the whole run has no verdict")]
    notes: Annotated[tuple[str, ...], about("What else is worth knowing")]
    decision: Annotated[DecisionRule, about("How it was decided")]
    today: Annotated[Day, about("The day on which justifications had to be valid")]
    run: Annotated[GuardedRun | None, about("The run; null where it could not be read")]
    baseline: Annotated[GuardedRun | None, about("The baseline; null where it could not be read")]
    confidence: Annotated[float | None, about("Coverage of the intervals")]
    n_pinned: Annotated[int | None, about("Pinned queries; null: all were looked at")]
    rows: Annotated[tuple[GuardRow, ...], about("By threshold")]
    n_queries_moved: Annotated[
        Count | None,
        about(
            "Queries that moved between the first run of either side, of those looked at: at least"
            " one metric of the ranking has another value. Absent without a comparison",
            unit="queries",
        ),
    ] = None

    causes: Annotated[
        tuple[Cause, ...],
        about("What explains the change, the most telling first; at most five"),
    ] = EMPTY_LIST

    @classmethod
    def upgraded(cls, document: Any) -> Any:
        """Return a document of 1.x as one of 2.0; what that lost is left out when it is read."""
        return as_second(document)
