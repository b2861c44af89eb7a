"""Audit of a search run: do its numbers follow from its rankings, and published ones from it."""

from __future__ import annotations

from typing import Annotated, Literal

from retrieval_eval.model.meta import Count, Record, about

DifferenceKind = Literal[
    "settings",
    "gold_set",
    "queries",
    "query",
    "grade",
    "ranking",
    "query_metric",
    "mean",
    "interval",
    "slice",
    "status",
    "refusals",
    "claims",
    "null_systems",
]


class AuditDifference(Record, frozen=True, kw_only=True):
    """A stored value that is not the recomputed one."""

    kind: Annotated[DifferenceKind, about("What it is about")]
    place: Annotated[str, about("JSON pointer into the run")]
    stored: Annotated[str, about("What the file holds, as JSON")]
    recomputed: Annotated[str, about("What follows from rankings and gold set, as JSON")]


class PublishedNumber(Record, frozen=True, kw_only=True):
    """A number that was published, compared with the run at its printed rounding."""

    place: Annotated[str, about("File and line, or the option")]
    metric: Annotated[str, about("Metric, by the name it has in a run")]
    part: Annotated[str | None, about("Slice such as `corpus docs`; null: all queries")]
    what: Annotated[Literal["mean", "ci_low", "ci_high", "n"], about("Which of its numbers")]
    printed: Annotated[str, about("As it is printed")]
    verdict: Annotated[
        Literal["follows", "does_not_follow", "cannot_be_checked"],
        about("Whether it is the number of the run, rounded"),
    ]
    value: Annotated[float | None, about("The number of the run; null without one")]
    reason: Annotated[str | None, about("Why it does not, or cannot be checked, in a sentence")]


class SearchAudit(Record, frozen=True, kw_only=True):
    """Audit of a search run."""

    run: Annotated[str, about("The file of the run")]
    label: Annotated[str, about("Its label; may be empty")]
    generated_at: Annotated[str, about("When it was measured")]
    gold: Annotated[
        Literal["same", "other", "not_given"],
        about("Whether the gold set that was given is the one of the run"),
    ]
    n_queries: Annotated[Count, about("Queries looked at", unit="queries")]
    n_values: Annotated[Count, about("Stored values that were recomputed")]
    n_differences: Annotated[Count, about("Of them different")]
    differences: Annotated[tuple[AuditDifference, ...], about("The first of them")]
    unchecked: Annotated[tuple[str, ...], about("What could not be recomputed, in sentences")]
    notes: Annotated[tuple[str, ...], about("What else is worth knowing, in sentences")]
    published: Annotated[tuple[PublishedNumber, ...], about("In the order they were found")]
    verdict: Annotated[
        Literal["follows", "does_not_follow", "cannot_be_checked"], about("Over everything")
    ]
    exit_code: Annotated[Literal[0, 1, 2], about("0 follows, 1 does not, 2 cannot be checked")]
