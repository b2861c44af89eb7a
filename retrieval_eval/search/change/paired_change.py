"""One metric of two runs, query by query: measures, claims, and how long queries took."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, exp, log
from statistics import median
from typing import Final

from msgspec.structs import replace

from retrieval_eval.model.search_diff import MetricDifference
from retrieval_eval.model.search_run import (
    DraftClaims,
    QueryContribution,
    QueryResult,
    RunSettings,
    SearchRun,
    ShareWithInterval,
)
from retrieval_eval.search.ask.retrievers import retriever_kind
from retrieval_eval.search.run.named_metrics import (
    UNPROVED,
    Share,
    Stored,
    block_of,
    moved_queries,
    query_ids,
    shares,
    stored,
)
from retrieval_eval.search.run.summary import points as in_points
from retrieval_eval.stats.paired import compare_paired
from retrieval_eval.values import counted

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


# --------------------------------------------------------------------------------------------------
# Changes of claim metrics between two runs: what unproved claims leave open, and who judged.

Ends = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to count the unproved claims of a run that is compared with another.

    Those that the other run leaves unproved as well are true or false in both (``shared``); the
    rest (``own``) are the run's alone.
    """

    own: bool
    shared: bool

    def counts(self, run: SearchRun, other: SearchRun, name: str) -> dict[str, int]:
        """Return how many unproved claims count as supported, by query id."""
        ours, theirs = _by_query(run), _by_query(other)
        found = {}
        for query, draft in ours.items():
            open_here = _texts(draft, name)
            n_shared = _n_shared(open_here, draft, theirs.get(query), name)
            n_own = open_here.total() - n_shared
            found[query] = self.own * n_own + self.shared * n_shared
        return found


def readings(*, in_favour: bool) -> list[tuple[Reading, Reading]]:
    """Return how the first and the second run may be read at one end of their change.

    In favour of the second run, what it alone leaves open is supported, and what the first alone
    does is not; else it is the other way round. The more extreme of both is the end.
    """
    return [
        (Reading(own=not in_favour, shared=shared), Reading(own=in_favour, shared=shared))
        for shared in (False, True)
    ]


def _by_query(run: SearchRun) -> dict[str, DraftClaims]:
    return {} if run.claims is None else {draft.id: draft for draft in run.claims.queries}


def _texts(draft: DraftClaims, name: str) -> Counter[str]:
    return Counter(c.text for c in draft.claims if c.is_substantive and UNPROVED[name](c))


def _n_shared(
    open_here: Counter[str], ours: DraftClaims, theirs: DraftClaims | None, name: str
) -> int:
    if theirs is None:
        return 0
    # The labelled documents are the same in both; what the contexts are, a run does not say.
    if name == "claim_coverage" or ours == theirs:
        return (open_here & _texts(theirs, name)).total()
    return 0


def with_ends(
    metrics: Mapping[str, MetricDifference], a: SearchRun, b: SearchRun
) -> dict[str, MetricDifference]:
    """Return changes with both ends where claims are unproved.

    At the lower end the unproved claims of b are unsupported and those of a supported, at the upper
    end it is the other way round; a claim that both leave open is the same in both.
    """
    found = dict(metrics)
    for name, change in metrics.items():
        sides = stored(a, name), stored(b, name)
        if not any(isinstance(side, ShareWithInterval) and side.has_bounds for side in sides):
            continue
        low, high = _of_pairs(a, b, name) if change.is_paired else _of_wholes(a, b, name)
        found[name] = replace(
            change, unproved_low_points=POINTS * low, unproved_high_points=POINTS * high
        )
    return found


def _of_pairs(a: SearchRun, b: SearchRun, name: str) -> tuple[float, float]:
    """Return both ends of a change over the queries that both runs have."""

    def changes(in_favour: bool) -> list[float]:
        found = []
        for old, new in readings(in_favour=in_favour):
            pairs = pairs_of(
                shares(a, name, unproved=old.counts(a, b, name)),
                shares(b, name, unproved=new.counts(b, a, name)),
            ).values()
            found.append(_total([pair[1] for pair in pairs]) - _total([pair[0] for pair in pairs]))
        return found

    return min(changes(in_favour=False)), max(changes(in_favour=True))


def _of_wholes(a: SearchRun, b: SearchRun, name: str) -> tuple[float, float]:
    (a_low, a_high), (b_low, b_high) = ends_of(a, name), ends_of(b, name)
    if _by_query(a) == _by_query(b):
        return b_low - a_low, b_high - a_high
    return b_low - a_high, b_high - a_low


def _total(found: Sequence[Share]) -> float:
    return math.fsum(part for part, _ in found) / math.fsum(whole for _, whole in found)


def ends_of(run: SearchRun, name: str) -> Ends:
    """Return both ends of a metric that has a value, which are one where nothing is unproved."""
    return _range(stored(run, name))


def _range(found: Stored | None) -> Ends:
    value = (found.value if found is not None else None) or 0.0
    if isinstance(found, ShareWithInterval) and found.has_bounds:
        return found.unproved_low or 0.0, found.unproved_high or 0.0
    return value, value


def about_claims(metrics: Mapping[str, MetricDifference], a: SearchRun, b: SearchRun) -> list[str]:
    """Return what stands beside changes of claim metrics: agreement with people, and both ends."""
    if not any(block_of(name) == "claims" for name in metrics):
        return []
    agreements = [run.claims.agreement for run in (b, a) if run.claims is not None]
    from retrieval_eval.search.claims import NOT_COMPARED, agreement_words

    known = [agreement_words(one) for one in agreements if one is not None]
    found = [f"The judge of the claims: {known[0] if known else NOT_COMPARED}."]
    for name, change in metrics.items():
        if change.unproved_low_points is not None:
            low, high = change.unproved_low_points, change.unproved_high_points
            ends = f"{in_points(low)} to {in_points(high)}"
            found.append(f"With its unproved claims, {name} moved by {ends} points.")
    return found


# --------------------------------------------------------------------------------------------------
# Quantiles with intervals that assume no distribution.


@dataclass(frozen=True, slots=True)
class Quantile:
    """A quantile, its interval, and how many values it rests on; None where not computable."""

    value: float | None
    ci_low: float | None
    ci_high: float | None
    n: int
    n_needed: int


def quantile(values: Sequence[float], q: float, *, confidence: float = 0.95) -> Quantile:
    """Return the sample quantile ``q`` with an interval of order statistics.

    The value is the smallest one that at least the share ``q`` of the values does not exceed. The
    ends of the interval are values, too: a quantile lies above the i-th and not above the j-th of
    n independent values with a probability that the binomial distribution gives, whatever theirs
    is. Where the largest or smallest of so few values is no such end, as for the 99th percentile of
    40, the quantile is not computable.

    Parameters
    ----------
    values
        Numbers of any unit, in any order.
    q
        Between 0 and 1, both excluded.
    confidence
        Least coverage of the interval; half of the rest on each side.

    Returns
    -------
    Quantile
        ``n_needed`` is how many values the quantile needs.

    Notes
    -----
    H. A. David and H. N. Nagaraja, Order Statistics, 3rd edition, section 7.1.

    Examples
    --------
    >>> quantile(range(1, 101), 0.5)
    Quantile(value=50, ci_low=40, ci_high=61, n=100, n_needed=6)
    >>> quantile(range(40), 0.99).value, quantile(range(40), 0.99).n_needed
    (None, 368)
    """
    tail, n = (1 - confidence) / 2, len(values)
    needed = ceil(log(tail) / log(max(q, 1 - q)) - 1e-9)
    if n < needed:
        return Quantile(None, None, None, n, needed)
    import numpy as np
    from scipy.special import bdtr

    ordered = sorted(values)
    # The i-th value (from 1) lies above the quantile if fewer than i of n lie below it.
    below = bdtr(np.arange(n + 1), n, q)
    low = int(np.searchsorted(below, tail))
    high = int(np.searchsorted(below, 1 - tail)) + 1
    return Quantile(
        ordered[max(ceil(q * n - 1e-9), 1) - 1],
        ordered[max(low, 1) - 1],
        ordered[min(high, n) - 1],
        n,
        needed,
    )


# --------------------------------------------------------------------------------------------------
# How much longer queries took in one run than in another: the paired ratio.

_FILE: Final = "run"


def latency_change(before: SearchRun, after: SearchRun) -> Quantile | None:
    """Return the median ratio of seconds, after by before, over the queries of both runs.

    Information and no verdict: both runs were measured at another time, perhaps under another
    load. None where no query has a time in both.
    """
    old, new = seconds_of(before), seconds_of(after)
    shared = [log(new[name] / old[name]) for name in new if old.get(name, 0) > 0 and new[name] > 0]
    if not shared:
        return None
    found = quantile(shared, 0.5)
    value, low, high = (
        None if each is None else exp(each) for each in (found.value, found.ci_low, found.ci_high)
    )
    return Quantile(value, low, high, found.n, found.n_needed)


def median_seconds(run: SearchRun) -> float | None:
    """Return how long the median query took; None of a run without times."""
    seconds = [*seconds_of(run).values()]
    return median(seconds) if seconds else None


def change_sentence(found: Quantile) -> str:
    """Return the paired change of latency in a sentence, as information."""
    pairs = counted(found.n, "query")
    if found.value is None or found.ci_low is None or found.ci_high is None:
        return f"Latency: {pairs} timed in both runs; the median ratio needs {found.n_needed}."
    return (
        f"Latency: a query took {found.value:.2f} times as long (median of {pairs},"
        f" 95% interval {found.ci_low:.2f} to {found.ci_high:.2f}); this decides nothing."
    )


def seconds_of(run: SearchRun) -> dict[str, float]:
    """Return how long each answered query took, by id; nothing of a file, which was only read."""
    if retriever_kind(run.run.retriever.spec) == _FILE:
        return {}
    return {
        query.id: query.seconds
        for query in run.queries
        if query.status == "ok" and query.seconds is not None
    }
