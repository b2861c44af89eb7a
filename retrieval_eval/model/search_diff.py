"""Search diff."""

from __future__ import annotations

from typing import Annotated, Literal

from retrieval_eval.model.common import (
    ABSENT_MAP,
    EMPTY_LIST,
    NULL,
    Count,
    Moment,
    NonNegative,
    Positive,
    Record,
    SchemaVersion,
    about,
)
from retrieval_eval.records import Mismatch


class GoldSetOfSide(Record, frozen=True, kw_only=True):
    """Its gold set."""

    name: Annotated[str, about("File name without ending")]
    fingerprint: Annotated[str, about("Digest of all that can move a measure")]
    n_queries: Annotated[Count, about("Queries")]
    n_labelled_pairs: Annotated[Count, about("Judged documents over all queries")]


class DiffSide(Record, frozen=True, kw_only=True):
    """One run."""

    label: Annotated[str, about("Its label; may be empty")]
    generated_at: Annotated[Moment, about("When it was measured")]
    retriever: Annotated[str, about("The name its retriever reports")]
    gold_set: Annotated[GoldSetOfSide, about("Its gold set")]
    n_queries: Annotated[Count, about("Queries asked")]
    n_failed: Annotated[Count, about("Queries that failed")]
    has_verdict: Annotated[bool, about("Whether its means may be used to decide")]


class DiffSettings(Record, frozen=True, kw_only=True):
    """How it was compared."""

    flag_points: Annotated[NonNegative, about("Metrics that moved by more points are flagged")]
    seed: Annotated[int, about("Seed of resampling")]
    n_resamples: Annotated[Positive, about("Number of resamples")]
    confidence: Annotated[float, about("Coverage of the intervals")]


class AcceptedMismatch(Record, frozen=True, kw_only=True):
    """One."""

    code: Annotated[Mismatch, about("Which")]
    difference: Annotated[str, about("How they differ")]


class MetricDifference(Record, frozen=True, kw_only=True):
    """The change of one metric."""

    a: Annotated[float | None, about("Value in run a over the pairs", unit="0–1")]
    b: Annotated[float | None, about("Value in run b over the pairs", unit="0–1")]
    delta_points: Annotated[float | None, about("b minus a in points (hundredths)", unit="points")]
    ci_low_points: Annotated[float | None, about("Lower end of the paired interval", unit="points")]
    ci_high_points: Annotated[float | None, about("Upper end", unit="points")]
    p_value: Annotated[float | None, about("Two-sided sign-flip permutation test", unit="0–1")]
    is_paired: Annotated[
        bool,
        about(
            "False: no query has a share in the metric, so the whole runs are compared, "
            "without n and interval"
        ),
    ]
    n_pairs: Annotated[Count, about("Queries with a value in both runs", unit="queries")]
    n_only_a: Annotated[
        Count, about("Queries with a value in run a only; left out", unit="queries")
    ]
    n_only_b: Annotated[
        Count, about("Queries with a value in run b only; left out", unit="queries")
    ]
    n_up: Annotated[Count, about("Pairs whose value rose", unit="queries")]
    n_down: Annotated[Count, about("Pairs whose value fell", unit="queries")]
    is_flagged: Annotated[bool, about("Moved by more than the flag level")]
    unproved_low_points: Annotated[
        float | None,
        about(
            "The change if unproved claims are unsupported in b and supported in a; absent where "
            "no claim is unproved",
            unit="points",
        ),
    ] = None
    unproved_high_points: Annotated[
        float | None, about("The change if it is the other way round", unit="points")
    ] = None


class DiffSlice(Record, frozen=True, kw_only=True):
    """One slice."""

    n_queries: Annotated[Count, about("Its queries, in both runs")]
    metrics: Annotated[dict[str, MetricDifference], about("By name")]


class DiffSlices(Record, frozen=True, kw_only=True):
    """The same for parts of the queries."""

    corpus: Annotated[dict[str, DiffSlice], about("By corpus")]
    area: Annotated[dict[str, DiffSlice], about("By area")]
    origin: Annotated[dict[str, DiffSlice], about("By origin")]
    source: Annotated[dict[str, DiffSlice], about("By source")]
    pinned: Annotated[dict[str, DiffSlice], about("The pinned queries, where a list was given")] = (
        ABSENT_MAP
    )


class TopDocument(Record, frozen=True, kw_only=True):
    """A first document; null for an empty ranking."""

    doc: Annotated[str, about("Document id")]
    grade: Annotated[int | None, about("Its grade; null when it was not judged")]


class ChangedTop(Record, frozen=True, kw_only=True):
    """One query."""

    id: Annotated[str, about("Query id")]
    query: Annotated[str, about("What was asked")]
    a: Annotated[TopDocument | None, about("A first document; null for an empty ranking")]
    b: Annotated[TopDocument | None, about("A first document; null for an empty ranking")]


Outcome = Literal["answered", "refused", "empty", "failed", "not_asked"]
"""What a run did with a query: documents, none or too low a score, none at all, no usable answer,
or the query is not in the run."""


class QueryOutcome(Record, frozen=True, kw_only=True):
    """A query that failed, or that the runs did not both answer, refuse or leave empty."""

    id: Annotated[str, about("Query id")]
    query: Annotated[str, about("What was asked")]
    a: Annotated[
        Outcome,
        about(
            "In run a. refused: all documents lay below the floor, or the top score below the"
            " threshold of refusals; empty: nothing was returned"
        ),
    ]
    b: Annotated[Outcome, about("In run b")]


class SetupDifference(Record, frozen=True, kw_only=True):
    """One field of the set-up in which the runs differ."""

    field: Annotated[str, about("Which, such as an option of the retriever")]
    a: Annotated[str | None, about("In run a; null where it has none")]
    b: Annotated[str | None, about("In run b; null where it has none")]


class SplitMetric(Record, frozen=True, kw_only=True):
    """The change of one metric, by what made it; without numbers where no query has all three."""

    before: Annotated[float | None, about("The earlier run with its own labels", unit="0–1")]
    between: Annotated[
        float | None,
        about("Its rankings, in the words of the later corpus, with the later labels", unit="0–1"),
    ]
    after: Annotated[float | None, about("The later run with its own labels", unit="0–1")]
    total: Annotated[float | None, about("labels plus retrieval", unit="points")]
    labels: Annotated[float | None, about("between minus before", unit="points")]
    retrieval: Annotated[float | None, about("after minus between", unit="points")]
    n: Annotated[Count, about("Queries that have the metric in all three", unit="queries")]
    n_left_out: Annotated[Count, about("Queries that have it in some of them", unit="queries")]


class LabelSplit(Record, frozen=True, kw_only=True):
    """How much of the change labels made, and how much retrieval."""

    n_queries: Annotated[Count, about("Queries of both runs", unit="queries")]
    metrics: Annotated[dict[str, SplitMetric], about("By name")]


CauseCode = Literal[
    "other_ids",
    "rank_shift",
    "fewer_results",
    "corpus",
    "area",
    "query_kind",
    "id_part",
    "documents_gone",
    "documents_new",
    "empty",
    "determinism",
    "latency",
    "drop",
]


class Cause(Record, frozen=True, kw_only=True):
    """One thing that explains a change, or a metric that clearly fell."""

    code: Annotated[
        CauseCode,
        about(
            "Which pattern. Of all rankings: other_ids, rank_shift, fewer_results. Of the queries"
            " that got worse: corpus, area, query_kind, empty. Of lost documents: id_part,"
            " documents_gone; documents_new push others down. Of the system: determinism, latency."
            " drop: the metrics that fell"
        ),
    ]
    sentence: Annotated[str, about("In words, with counts and an example; without a full stop")]
    n: Annotated[Count, about("Queries or documents it is true of")]
    n_of: Annotated[Count, about("Of so many")]
    example: Annotated[str, about("Id of a query that shows it")]


class QueryValues(Record, frozen=True, kw_only=True):
    """Both values."""

    a: Annotated[float, about("In run a")]
    b: Annotated[float, about("In run b")]


class MovedDocument(Record, frozen=True, kw_only=True):
    """One document."""

    doc: Annotated[str, about("Document id")]
    grade: Annotated[int | None, about("Its grade; null when it was not judged")]
    rank_a: Annotated[Positive | None, about("Rank in run a; null when not retrieved", unit="rank")]
    rank_b: Annotated[Positive | None, about("Rank in run b", unit="rank")]


class MovedDocuments(Record, frozen=True, kw_only=True):
    """One cut-off."""

    gained: Annotated[tuple[MovedDocument, ...], about("Documents, best rank first")]
    lost: Annotated[tuple[MovedDocument, ...], about("Documents, best rank first")]


class QueryDifference(Record, frozen=True, kw_only=True):
    """One query."""

    id: Annotated[str, about("Query id")]
    query: Annotated[str, about("What was asked")]
    corpus: Annotated[str, about("Where")]
    area: Annotated[str | None, about("Area")]
    origin: Annotated[str | None, about("Origin")]
    source: Annotated[
        str, about("bootstrap (a machine's row) or chair (a row reviewed by a person)")
    ]
    metrics: Annotated[dict[str, QueryValues], about("Its values, by metric, where they differ")]
    contributions: Annotated[
        dict[str, float],
        about(
            "What it adds to the change of each metric, in points; over all queries they add "
            "up to it",
            unit="points",
        ),
    ]
    documents: Annotated[
        dict[str, MovedDocuments], about("Documents that entered and left the first k, by k")
    ]


class SearchDiff(Record, frozen=True, kw_only=True):
    """Difference of two search runs.

    What changed from run a to run b, query by query.
    """

    schema_version: SchemaVersion
    a: Annotated[DiffSide, about("The first run")]
    b: Annotated[DiffSide, about("The second run")]
    settings: Annotated[DiffSettings, about("How it was compared")]
    banner: Annotated[
        str | None,
        about(
            "The warning above every view of this diff: a run has no verdict, or fingerprints"
            " differ and that was accepted. Null: neither"
        ),
    ]
    no_verdict: Annotated[
        tuple[str, ...],
        about(
            "Why the diff decides nothing, in sentences: a run failed on queries, holds none,"
            " or holds one twice"
        ),
    ] = EMPTY_LIST
    accepted: Annotated[
        tuple[AcceptedMismatch, ...], about("Fingerprints that differ and were accepted")
    ]
    notices: Annotated[tuple[str, ...], about("Further notes for the reader")]
    changes: Annotated[
        tuple[str, ...], about("What else differs between the set-ups: retriever, options, corpora")
    ]
    n_queries_in_both: Annotated[Count, about("Queries of both runs")]
    n_queries_only_a: Annotated[Count, about("Queries asked in run a only")]
    n_queries_only_b: Annotated[Count, about("Queries asked in run b only")]
    n_queries_moved: Annotated[
        Count | None,
        about(
            "Queries that moved: at least one metric of the ranking has another value. Null in"
            " files of earlier versions",
            unit="queries",
        ),
    ] = NULL
    n_queries_top1_changed: Annotated[
        Count | None,
        about("Queries of both runs whose first document is another one", unit="queries"),
    ] = NULL
    n_queries_other_ranking: Annotated[
        Count | None,
        about(
            "Queries of both runs with other documents or another order of them, whether or not a"
            " metric has another value",
            unit="queries",
        ),
    ] = NULL
    outcomes: Annotated[
        tuple[QueryOutcome, ...],
        about(
            "Queries that failed, were asked in one run only, or were refused or came back empty"
            " in one run only"
        ),
    ] = EMPTY_LIST
    label_split: Annotated[
        LabelSplit | None,
        about(
            "What labels and retrieval each did to every metric, where both gold sets were given"
        ),
    ] = None
    setup: Annotated[
        tuple[SetupDifference, ...],
        about("Every field of the set-up that differs, versions and settings included"),
    ] = EMPTY_LIST
    causes: Annotated[
        tuple[Cause, ...],
        about("What explains the change, the most telling first; at most five"),
    ] = EMPTY_LIST
    metrics: Annotated[dict[str, MetricDifference], about("Changes over all queries, by metric")]
    flagged: Annotated[tuple[str, ...], about("Metrics that moved by more than the flag level")]
    slices: Annotated[DiffSlices, about("The same for parts of the queries")]
    top1_changed: Annotated[tuple[ChangedTop, ...], about("Queries whose first document changed")]
    queries: Annotated[
        tuple[QueryDifference, ...],
        about(
            "Queries whose metrics or documents changed, the largest contribution to a "
            "headline measure first"
        ),
    ]


class PlacedDocument(Record, frozen=True, kw_only=True):
    """A document of one ranking, and where the other one has it."""

    rank: Annotated[Positive, about("Its rank", unit="rank")]
    doc: Annotated[str, about("Document id")]
    score: Annotated[float, about("Its score", unit="of the retriever")]
    grade: Annotated[int | None, about("Its grade; null when it was not judged", unit="grade")]
    other_rank: Annotated[
        Positive | None,
        about("Its rank in the other run; null when that did not return it", unit="rank"),
    ]


class SideOfQuery(Record, frozen=True, kw_only=True):
    """What one run did with a query."""

    outcome: Annotated[Outcome, about("What the run did with it")]
    error: Annotated[str | None, about("How it failed, in a sentence")]
    seconds: Annotated[
        float | None, about("How long the retriever took; null when not recorded", unit="seconds")
    ]
    ranking: Annotated[tuple[PlacedDocument, ...], about("Its documents, best rank first")]


class MetricOfQuery(Record, frozen=True, kw_only=True):
    """One metric of one query; a value is null where it is not computable."""

    a: Annotated[float | None, about("In run a", unit="0–1")]
    b: Annotated[float | None, about("In run b", unit="0–1")]
    points: Annotated[
        float | None,
        about(
            "What the query adds to the change over all queries; null where a value is lacking",
            unit="points",
        ),
    ]


class ComparedQuery(Record, frozen=True, kw_only=True):
    """One query of two runs, both rankings side by side."""

    id: Annotated[str, about("Query id")]
    query: Annotated[str, about("What was asked")]
    corpus: Annotated[str, about("Where")]
    area: Annotated[str | None, about("Area")]
    origin: Annotated[str | None, about("Origin")]
    source: Annotated[str, about("bootstrap or chair")]
    answerable: Annotated[bool | None, about("False: no document answers it. Null: not stated")]
    is_moved: Annotated[bool, about("Whether a metric of its ranking has another value")]
    a: Annotated[SideOfQuery, about("What the first run did with it")]
    b: Annotated[SideOfQuery, about("What the second run did with it")]
    metrics: Annotated[dict[str, MetricOfQuery], about("Its metrics in both runs, by name")]


class ComparedQueries(Record, frozen=True, kw_only=True):
    """Some queries of a difference, each with both rankings."""

    schema_version: SchemaVersion
    a: Annotated[DiffSide, about("The first run")]
    b: Annotated[DiffSide, about("The second run")]
    banner: Annotated[str | None, about("The warning above every view of this diff")]
    n_queries_in_both: Annotated[Count, about("Queries of both runs", unit="queries")]
    n_queries_moved: Annotated[Count | None, about("Queries that moved", unit="queries")]
    queries: Annotated[tuple[ComparedQuery, ...], about("The queries that were named, in order")]
