"""History of search: what the runs, verdicts and noise files of a folder say over time."""

from __future__ import annotations

from typing import Annotated, Literal

from retrieval_eval.model.common import Count, Day, Positive, Record, Share, about
from retrieval_eval.model.guard import Measured
from retrieval_eval.model.search_run import GoldSetFacts, MetricMean


class PastRun(Record, frozen=True, kw_only=True):
    """One search run of the folder."""

    name: Annotated[str, about("Its label, else the name of its file")]
    source: Annotated[str, about("Its file")]
    generated_at: Annotated[str, about("When it was measured")]
    corpora: Annotated[str, about("Corpora that were searched")]
    retriever: Annotated[str, about("The retriever, without secrets")]
    gold: Annotated[GoldSetFacts, about("The whole gold set, whatever part of it was asked")]
    basis: Annotated[
        str, about("Digest of gold set, queries, documents and settings: equal means comparable")
    ]
    line: Annotated[
        Positive, about("Rises where the basis differs from that of the run before: a scale break")
    ]
    is_simulated: Annotated[bool, about("Its gold set holds invented queries")]
    n_queries: Annotated[Count, about("Queries asked", unit="queries")]
    n_failed: Annotated[Count, about("Of them failed", unit="queries")]
    has_verdict: Annotated[bool, about("Whether its means may be used to decide")]
    reasons: Annotated[tuple[str, ...], about("Why not, in sentences")]
    metrics: Annotated[dict[str, MetricMean], about("Means over all queries, by metric")]
    others: Annotated[
        dict[str, Measured], about("Metrics of refusals and claims that were measured, by name")
    ]


class UnreadFile(Record, frozen=True, kw_only=True):
    """A file of the folder that could not be used."""

    source: Annotated[str, about("Its name")]
    reason: Annotated[str, about("Why, in a sentence")]


class PastChange(Record, frozen=True, kw_only=True):
    """What the guard says of the change from an earlier run to a run, and what came of it."""

    run: Annotated[str, about("The run")]
    source: Annotated[str, about("Its file")]
    generated_at: Annotated[str, about("When it was measured")]
    against: Annotated[
        str, about("The run it was compared with when it was measured, else the one before it")
    ]
    against_at: Annotated[str, about("When that was measured")]
    same_setup: Annotated[
        bool | None,
        about(
            "No declared part of the system changed (an A/A comparison); null where the two "
            "are not comparable"
        ),
    ]
    verdict: Annotated[Literal["pass", "breach", "no_verdict"], about("By the thresholds of today")]
    headline: Annotated[str, about("That verdict in one line")]
    breaches: Annotated[tuple[str, ...], about("Thresholds breached")]
    overridden: Annotated[tuple[str, ...], about("Breaches that a justification excuses")]
    worst: Annotated[str | None, about("The breached metric that lost most")]
    worst_points: Annotated[float | None, about("Its change", unit="points")]
    reasons: Annotated[tuple[str, ...], about("Why it is no plain pass")]
    recorded: Annotated[
        Literal["pass", "breach", "no_verdict"] | None,
        about("The verdict in a committed guard document; null where there is none"),
    ]
    recorded_in: Annotated[str | None, about("The file of that document")]
    outcome: Annotated[
        Literal["overridden", "regained", "became_baseline", "open", "not_comparable"] | None,
        about(
            "What became of a breach: excused in writing, back within the threshold in a later run,"
            " taken as the baseline of later runs, none of these yet, or no later comparable run; "
            "null without a breach"
        ),
    ]
    outcome_run: Annotated[str | None, about("The run that shows it")]
    outcome_at: Annotated[str | None, about("When that was measured")]


class AlarmShare(Record, frozen=True, kw_only=True):
    """How often the thresholds alarm on two runs of one unchanged system."""

    value: Annotated[Share | None, about("The share; null when not computable", unit="0–1")]
    n: Annotated[Count, about("Runs, or comparisons, that it is known from")]
    reason: Annotated[str | None, about("Why there is none")]
    ci_low: Annotated[float | None, about("Lower end of its interval")]
    ci_high: Annotated[float | None, about("Upper end")]


class PastNoise(Record, frozen=True, kw_only=True):
    """One noise file."""

    source: Annotated[str, about("Its file")]
    generated_at: Annotated[str, about("When it was measured")]
    quarter: Annotated[str, about("Calendar quarter, such as 2026 Q1")]
    n_runs: Annotated[Count, about("Runs it compares")]
    n_queries: Annotated[Count, about("Queries of each", unit="queries")]
    is_deterministic: Annotated[bool, about("No answer varied")]
    sd_points: Annotated[
        dict[str, float], about("Run-to-run standard deviation by guarded metric", unit="points")
    ]
    ratio: Annotated[
        float | None,
        about(
            "Largest ratio of such a deviation to that of the noise file before, where both are of "
            "one gold set; null where there is none"
        ),
    ]
    ratio_metric: Annotated[str | None, about("Metric of that ratio")]
    ratio_low: Annotated[float | None, about("Lower end of its 95 % interval (F)")]
    ratio_high: Annotated[float | None, about("Upper end")]
    grew: Annotated[
        bool | None,
        about("Whether some metric is noisier than before, beyond chance; null: unknown"),
    ]
    alarms: Annotated[
        AlarmShare,
        about("Share of comparisons of two runs of this system in which today's thresholds alarm"),
    ]
    is_current: Annotated[bool, about("It is the newest and holds for the newest run")]
    stale: Annotated[
        tuple[str, ...], about("Why it does not hold for the newest run, in sentences")
    ]


class Quarter(Record, frozen=True, kw_only=True):
    """Whether the noise was measured in a calendar quarter."""

    quarter: Annotated[str, about("Such as 2026 Q1")]
    state: Annotated[
        Literal["done", "due", "missed", "not_yet_due", "not_needed"],
        about(
            "done: measured in it. due: now, and the last is a quarter old or does not hold. "
            "missed: a past quarter without. not_yet_due: now, and the last is younger. not_needed:"
            " the system was measured or declared to be deterministic"
        ),
    ]
    source: Annotated[str | None, about("The last noise file of the quarter")]
    n_runs: Annotated[Count, about("Search runs measured in the quarter")]
    sentence: Annotated[str, about("The same in words")]


class GoldState(Record, frozen=True, kw_only=True):
    """A gold set as the first run that measured it so records it."""

    generated_at: Annotated[str, about("When that run was measured")]
    run: Annotated[str, about("The run")]
    gold: Annotated[GoldSetFacts, about("The gold set")]
    n_reviewed: Annotated[Count, about("Queries that a person reviewed", unit="queries")]
    by_corpus: Annotated[
        dict[str, Count] | None, about("Queries by corpus; null where the run asked a part only")
    ]
    by_origin: Annotated[
        dict[str, Count] | None, about("Queries by origin; null where the run asked a part only")
    ]


class SearchHistory(Record, frozen=True, kw_only=True):
    """History of search.

    What the committed runs, verdicts and noise files of a folder say, in the order of time.
    """

    as_of: Annotated[Day, about("The day on which a quarter is due")]
    thresholds: Annotated[str, about("The file of thresholds; shipped: those of the package")]
    runs: Annotated[tuple[PastRun, ...], about("In the order of time")]
    unread: Annotated[tuple[UnreadFile, ...], about("Files that could not be used")]
    changes: Annotated[tuple[PastChange, ...], about("From one run to the next, by the guard")]
    same_setup_alarms: Annotated[
        AlarmShare,
        about("Share of the changes without a change of the set-up in which the guard alarms"),
    ]
    noise: Annotated[tuple[PastNoise, ...], about("Noise files in the order of time")]
    quarters: Annotated[tuple[Quarter, ...], about("From that of the first run to now")]
    gold: Annotated[tuple[GoldState, ...], about("The gold set whenever it changed")]
