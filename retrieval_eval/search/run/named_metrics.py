"""Every number of a search run that a guard, a noise floor or a composite may name."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from retrieval_eval.errors import BadInputError
from retrieval_eval.model.search_diff import QueryDifference
from retrieval_eval.model.search_run import (
    AreaUnderCurve,
    Claim,
    DraftClaims,
    MetricMean,
    QueryContribution,
    QueryResult,
    RefusalRate,
    SearchRun,
    ShareWithInterval,
)
from retrieval_eval.ranking.measures import parse_measure
from retrieval_eval.search.run.scoring import DIMENSIONS, NO_NAME
from retrieval_eval.values import REASONS, Value

Share = tuple[float, float]
"""What one query adds to the numerator and to the denominator of a metric."""

TRUE_POSITIVE_RATE: Final = "ungrounded_true_positive_rate"
FALSE_REFUSAL_RATE: Final = "answerable_false_refusal_rate"


class Place(NamedTuple):
    """The block of a run and the key that hold a metric, and its definition."""

    block: str
    key: str
    meaning: str
    formula: str


BLOCK_OF: Final[Mapping[str, Place]] = {
    "claim_coverage": Place(
        "claims",
        "coverage",
        "substantive claims of drafts that a labelled document supports / all",
        r"\frac{|\{c \in C : \text{a relevant document supports } c\}|}{|C|}",
    ),
    "claim_faithfulness": Place(
        "claims",
        "faithfulness",
        "substantive claims of drafts that their context supports / all",
        r"\frac{|\{c \in C : \text{the context of its draft supports } c\}|}{|C|}",
    ),
    TRUE_POSITIVE_RATE: Place(
        "abstention",
        "true_positive_rate",
        "unanswerable queries refused / all unanswerable queries",
        r"\frac{|\{q \in U : q \text{ was refused}\}|}{|U|}",
    ),
    FALSE_REFUSAL_RATE: Place(
        "abstention",
        "false_refusal_rate",
        "answerable queries refused / all; lower is better",
        r"\frac{|\{q \in Q : q \text{ was refused}\}|}{|Q|}",
    ),
    "auc": Place(
        "abstention",
        "auc",
        "how often an answerable query outscores an unanswerable one",
        r"\frac{1}{|Q| \, |U|} \sum_{q \in Q} \sum_{u \in U} "
        r"\left( [s_q > s_u] + \tfrac{1}{2} [s_q = s_u] \right)",
    ),
    "composite": Place(
        "composite",
        "value",
        "smallest margin of a component to its bound",
        r"\min_{m} \min (m - \mathrm{floor}_m, \ \mathrm{ceiling}_m - m)",
    ),
}
"""Metrics that are no measure of rankings.

In formulae C are the substantive claims of all drafts, U the unanswerable queries, Q the answerable
ones, and s is the top score of a query, −∞ where nothing was returned.
"""

FIRST_TEN: Final = "first_ten_changed"
LATENCY: Final = "latency"
OF_TWO_RUNS: Final[Mapping[str, str]] = {
    FIRST_TEN: "queries whose first ten documents changed, though corpus, gold set and options are"
    " the same and no metric of the query moved / all",
    LATENCY: "median seconds of a query / those of the runs of the noise file",
}
"""What a guard may bound that no run has by itself, with its meaning."""

WHOLE_RUN_ONLY: Final = frozenset({"auc", "composite"})
"""Metrics that are no mean over queries: no query has a share in them."""

NOT_IN_PARTS: Final = frozenset({"composite"})
"""Metrics that no part of a run has."""

_SUPPORT: Final[Mapping[str, Callable[[Claim], bool]]] = {
    "claim_coverage": lambda claim: claim.supported_by is not None,
    "claim_faithfulness": lambda claim: claim.in_context,
}

UNPROVED: Final[Mapping[str, Callable[[Claim], bool]]] = {
    "claim_coverage": lambda claim: claim.is_unproved,
    "claim_faithfulness": lambda claim: claim.is_context_unproved,
}
"""Which claims leave a metric open."""

Stored = MetricMean | RefusalRate | AreaUnderCurve | ShareWithInterval
"""The block of one metric in a search run."""


def block_of(name: str) -> str:
    """Return the block of a run that holds a metric; empty for a measure of rankings."""
    return BLOCK_OF[name].block if name in BLOCK_OF else ""


def check_metric_name(name: str) -> str:
    """Return the name of a metric; raises `BadInputError` where there is no such metric."""
    if name not in BLOCK_OF:
        try:
            written = str(parse_measure(name))
        except BadInputError as error:
            known = ", ".join(BLOCK_OF)
            raise BadInputError(f"{error}; other metrics: {known}") from None
        if written != name:
            # Under another name a run records nothing, so that nothing would be compared.
            raise BadInputError(f"{name!r} is written {written!r}")
    return name


def metric_value(doc: SearchRun, name: str, within: Collection[str] | None = None) -> Value:
    """Return a metric of a search run, between 0 and 1 (``composite``: a margin, -1 to 1).

    Parameters
    ----------
    doc
        A search run.
    name
        A measure of the run such as ``P@5``, or a key of :data:`BLOCK_OF`.
    within
        Ids of the queries to look at, such as those of `query_ids`; None: the whole run.

    Returns
    -------
    Value
        ``n`` counts queries, for the claim metrics substantive claims. Not computable when the
        run lacks the block or the measure (``not_recorded``), when the metric has no value for a
        part of a run (``whole_run_only``), or for the reason that the run gives.

    Raises
    ------
    BadInputError
        When there is no metric of this name.
    """
    check_metric_name(name)
    whole = _whole(doc, name)
    if within is None or whole.reason == "not_recorded":
        return whole
    if name in NOT_IN_PARTS:
        return Value.missing("whole_run_only")
    if name == "auc":
        return _auc([query for query in doc.queries if query.id in within])
    found = [share for query, share in shares(doc, name).items() if query in within]
    total = math.fsum(weight for _, weight in found)
    if not total:
        return Value.missing("no_computable_values")
    return Value.of(math.fsum(part for part, _ in found) / total, round(total))


def per_query(doc: SearchRun, name: str) -> dict[str, float]:
    """Return a metric by query id, for the queries that have it.

    For the claim metrics it is the share of a query's own substantive claims, for the two rates of
    refusal 1 (refused) or 0. The metrics of :data:`WHOLE_RUN_ONLY` have none.
    """
    return {query: part / whole for query, (part, whole) in shares(doc, name).items() if whole}


def shares(
    doc: SearchRun, name: str, *, unproved: Mapping[str, int] | None = None
) -> dict[str, Share]:
    """Return what each query adds to numerator and denominator of a metric, by query id.

    The metric is the sum of the numerators over the sum of the denominators: a mean over queries
    where every denominator is 1, a share of all claims for the claim metrics. A query whose draft
    holds no substantive claim adds (0, 0). Unproved claims count as not supported, but for as
    many of each query as ``unproved`` says.
    """
    check_metric_name(name)
    if name in WHOLE_RUN_ONLY or not _whole(doc, name).computable:
        return {}
    block = block_of(name)
    if block == "claims":
        drafts = doc.claims.queries if doc.claims is not None else ()
        return {
            draft.id: _claims(draft, name, (unproved or {}).get(draft.id, 0)) for draft in drafts
        }
    if block == "abstention":
        threshold = None if doc.abstention is None else doc.abstention.threshold
        is_meant = _is_unanswerable if name == TRUE_POSITIVE_RATE else _is_answerable
        return {
            query.id: (float(is_refused(_top_score(query), threshold)), 1.0)
            for query in doc.queries
            if is_meant(query) and query.status == "ok"
        }
    values = {query.id: query.metrics.get(name) for query in doc.queries}
    return {query: (value, 1.0) for query, value in values.items() if value is not None}


def query_ids(doc: SearchRun, dimension: str, value: str) -> frozenset[str]:
    """Return the ids of the queries of a slice, such as those of one corpus.

    Raises
    ------
    BadInputError
        When runs are not sliced by ``dimension``.
    """
    if dimension not in DIMENSIONS:
        raise BadInputError(f"{dimension!r} is none of {', '.join(DIMENSIONS)}")
    return frozenset(q.id for q in doc.queries if (getattr(q, dimension) or NO_NAME) == value)


def moved_queries(
    rows: Iterable[QueryContribution | QueryDifference],
) -> dict[str, dict[str, float]]:
    """Return the queries that moved: id to the points each adds to the change of a metric.

    This is what *moved* means on every page and terminal: at least one metric of the ranking
    differs. Metrics of refusals and of drafted answers do not count.
    """
    own = {
        row.id: {
            m: points for m, points in row.contributions.items() if points and m not in BLOCK_OF
        }
        for row in rows
    }
    return {name: given for name, given in own.items() if given}


def is_refused(top_score: float, threshold: float | None) -> bool:
    """Return whether a query was refused: nothing came back (-inf), or no score was high enough."""
    return top_score == -math.inf or (threshold is not None and top_score < threshold)


def stored(doc: SearchRun, name: str) -> Stored | None:
    """Return the block of a metric in a search run; None where the run does not have it."""
    if name not in BLOCK_OF:
        return doc.metrics.get(name)
    place = BLOCK_OF[name]
    found: Stored | None = getattr(getattr(doc, place.block), place.key, None)
    return found


def _whole(doc: SearchRun, name: str) -> Value:
    found = stored(doc, name)
    if found is None:
        return Value.missing("not_recorded")
    value, reason = found.value, found.reason or ""
    if value is None:
        return Value.missing(reason if reason in REASONS else "not_recorded", found.n)
    # JSON as Python reads it knows NaN, and a run may have been written by anything.
    if not math.isfinite(value):
        return Value.missing("not_a_number", found.n)
    return Value.of(value, found.n)


def _claims(query: DraftClaims, name: str, n_more: int) -> Share:
    substantive = [claim for claim in query.claims if claim.is_substantive]
    return float(sum(map(_SUPPORT[name], substantive)) + n_more), float(len(substantive))


def _auc(queries: Sequence[QueryResult]) -> Value:
    from retrieval_eval.search.run.abstention import auc

    if any(query.status == "failed" for query in queries):
        return Value.missing("query_failed", len(queries))
    kinds = ([q for q in queries if is_of(q)] for is_of in (_is_unanswerable, _is_answerable))
    return auc(*([_top_score(query) for query in kind] for kind in kinds))


def _top_score(query: QueryResult) -> float:
    return query.ranking[0].score if query.ranking else -math.inf


def _is_unanswerable(query: QueryResult) -> bool:
    return query.answerable is False


def _is_answerable(query: QueryResult) -> bool:
    return query.answerable is True
