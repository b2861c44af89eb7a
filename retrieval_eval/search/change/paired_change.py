"""One metric of two runs, query by query: how far it moved, how surely, and who moved it."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from retrieval_eval.model.search_run import (
    QueryContribution,
    QueryResult,
    RunSettings,
    SearchRun,
)
from retrieval_eval.search.run.named_metrics import Share, moved_queries, query_ids, shares
from retrieval_eval.stats.paired import compare_paired

POINTS: Final = 100.0
"""Points are hundredths: 0.72 → 0.725 is half a point."""

Shares = Mapping[str, Share]
Pair = tuple[Shares, Shares]
Sides = Mapping[str, Pair]
"""What each query adds to a metric in either run, by metric."""


@dataclass(frozen=True, slots=True)
class Resampling:
    """Seed, number and coverage of the resampled interval and of the permutation test."""

    seed: int
    n_resamples: int
    confidence: float

    @classmethod
    def of(cls, settings: RunSettings, seed: int) -> Resampling:
        """Return the number and coverage that a run was measured with, under another seed."""
        return cls(seed, settings.n_resamples, settings.confidence)


@dataclass(frozen=True, slots=True)
class Change:
    """The change of one metric over the queries that have it in both runs, in points.

    ``before`` and ``after`` are those of these ``n_pairs`` queries, so their difference is a
    change of answers and never of queries. ``n_up`` and ``n_down`` count the queries that moved.
    A number that is not computable is None: all of them without a pair, interval and p-value where
    `compare_paired` gives none.
    """

    before: float | None
    after: float | None
    delta_points: float | None
    ci_low_points: float | None
    ci_high_points: float | None
    p_value: float | None
    n_pairs: int
    n_only_before: int
    n_only_after: int
    n_up: int
    n_down: int


def change_of(before: Shares, after: Shares, resampling: Resampling) -> Change:
    """Return the change of a metric from what each query adds to it in either run (`shares`).

    Swapping the two negates the change and mirrors the interval exactly. Where a metric is a
    quotient of sums, such as a share of all claims, interval and p-value are those of its
    linearisation in the queries, which are the units.
    """
    pairs = pairs_of(before, after)
    n = len(pairs)
    old, new = (linear([pair[side] for pair in pairs.values()]) for side in (0, 1))
    compared = compare_paired(
        old,
        new,
        seed=resampling.seed,
        n_resamples=resampling.n_resamples,
        confidence=resampling.confidence,
    )
    own = [(a[0] / a[1], b[0] / b[1]) for a, b in pairs.values()]
    return Change(
        before=math.fsum(old) / n if n else None,
        after=math.fsum(new) / n if n else None,
        delta_points=_delta(old, new) if n else None,
        ci_low_points=_in_points(compared.interval.low.value),
        ci_high_points=_in_points(compared.interval.high.value),
        p_value=compared.p_value.value,
        n_pairs=n,
        n_only_before=sum(weight > 0 for _, weight in before.values()) - n,
        n_only_after=sum(weight > 0 for _, weight in after.values()) - n,
        n_up=sum(b > a for a, b in own),
        n_down=sum(b < a for a, b in own),
    )


def contributions(before: Shares, after: Shares) -> dict[str, float]:
    """Return what each query that moved adds to the change, in points; they add up to it.

    Examples
    --------
    >>> contributions({"q1": (0.5, 1), "q2": (1.0, 1)}, {"q1": (1.0, 1), "q2": (1.0, 1)})
    {'q1': 25.0}
    """
    pairs = pairs_of(before, after)
    old, new = (math.fsum(pair[side][1] for pair in pairs.values()) for side in (0, 1))
    moved = {
        query: POINTS * (b - a) / new if old == new else POINTS * (b / new - a / old)
        for query, ((a, _), (b, _)) in pairs.items()
    }
    return {query: points for query, points in moved.items() if points}


def query_contributions(sides: Sides, ids: Iterable[str]) -> tuple[QueryContribution, ...]:
    """Return what each of some queries adds to the change of every metric, without zeros."""
    found: dict[str, dict[str, float]] = {query: {} for query in ids}
    for name, pair in sides.items():
        for query, points in contributions(*pair).items():
            if query in found:
                found[query][name] = points
    return tuple(
        QueryContribution(id=query, contributions=points)
        for query, points in found.items()
        if points
    )


def moved_between(
    before: SearchRun, after: SearchRun, within: Collection[str] | None = None
) -> dict[str, dict[str, float]]:
    """Return the queries that moved from one run to another, as `moved_queries` defines it.

    Parameters
    ----------
    before, after
        Search runs of one gold set.
    within
        Ids of the queries to look at, such as the pinned ones; None: all of both runs.

    Returns
    -------
    dict
        Query id to metric to points; its length is the number that every page and terminal gives.
    """
    known = before.run.settings.measures
    names = [name for name in after.run.settings.measures if name in known]
    sides: Sides = {name: (shares(before, name), shares(after, name)) for name in names}
    if within is not None:
        sides = restricted(sides, (within, within))
    return moved_queries(query_contributions(sides, (query.id for query in after.queries)))


def pairs_of(before: Shares, after: Shares) -> dict[str, tuple[Share, Share]]:
    """Return both shares of each query that has a value in both, in the order of query ids."""
    return {
        query: (before[query], after[query])
        for query in sorted(before.keys() & after.keys())
        if before[query][1] and after[query][1]
    }


def restricted(sides: Sides, chosen: tuple[Collection[str], Collection[str]]) -> dict[str, Pair]:
    """Return the shares of some queries only, chosen by id in either run."""
    return {
        name: (_those(before, chosen[0]), _those(after, chosen[1]))
        for name, (before, after) in sides.items()
    }


def _those(side: Shares, chosen: Collection[str]) -> Shares:
    return {query: share for query, share in side.items() if query in chosen}


def linear(shares: Sequence[Share]) -> list[float]:
    """Return a number for each query whose mean is the sum of parts over the sum of weights."""
    if all(weight == 1 for _, weight in shares):
        return [part for part, _ in shares]
    total = math.fsum(weight for _, weight in shares)
    quotient = math.fsum(part for part, _ in shares) / total
    scale = len(shares) / total
    return [quotient + scale * (part - quotient * weight) for part, weight in shares]


def _delta(old: Sequence[float], new: Sequence[float]) -> float:
    return POINTS * math.fsum(b - a for a, b in zip(old, new, strict=True)) / len(old)


def _in_points(value: float | None) -> float | None:
    return None if value is None else POINTS * value


def slice_of(
    baseline: SearchRun, current: SearchRun, dimension: str, value: str
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the ids of the queries of a slice in either run."""
    return query_ids(baseline, dimension, value), query_ids(current, dimension, value)


def top1_differs(before: QueryResult, after: QueryResult) -> bool:
    """Return whether a query has another first document, or none; False where it failed."""
    if "failed" in (before.status, after.status):
        return False
    tops = [query.ranking[0].doc if query.ranking else None for query in (before, after)]
    return tops[0] != tops[1]


def ranking_differs(before: QueryResult, after: QueryResult) -> bool:
    """Return whether a query has other documents or another order; False where it failed."""
    if "failed" in (before.status, after.status):
        return False
    return [found.doc for found in before.ranking] != [found.doc for found in after.ranking]
