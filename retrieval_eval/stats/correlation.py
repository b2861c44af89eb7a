"""Rank association of two rows of numbers."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Final

from retrieval_eval.stats.arrangements import permutation_p
from retrieval_eval.stats.clusters import Grouping, group
from retrieval_eval.stats.intervals import Interval
from retrieval_eval.stats.rank_bootstrap import bootstrap_spearman
from retrieval_eval.stats.ranks import average_ranks
from retrieval_eval.stats.resampling import (
    Floats,
    as_floats,
    is_constant,
    mirrored_quantiles,
)
from retrieval_eval.values import Value

MIN_POINTS: Final = 3
MIN_POINTS_FOR_INTERVAL: Final = 4
MAX_PERMUTED_POINTS: Final = 30
"""Up to this many single points arrangements are made; beyond it the t distribution is close."""
METHOD: Final = "percentile_or_bonett_wright"


@dataclass(frozen=True, slots=True)
class Correlation:
    """Spearman's r with its interval and two-sided p-value.

    ``p_method`` is ``exact``, ``monte_carlo`` or ``t``, and None where there is no p-value.
    ``n`` counts the points; ``n_clusters`` and ``clustering`` are those of
    :class:`~retrieval_eval.stats.paired.PairedComparison`.
    """

    n: int
    r: Value
    interval: Interval
    p_value: Value
    p_method: str | None
    n_clusters: int | None
    clustering: str


def spearman(
    x: Sequence[float] | Floats,
    y: Sequence[float] | Floats,
    *,
    seed: int,
    n_resamples: int = 10_000,
    confidence: float = 0.95,
    clusters: Sequence[Hashable] | None = None,
) -> Correlation:
    """Return Spearman's rank correlation of two equally long rows, ties sharing ranks.

    Each end of the interval is the farther one of two: the percentile bootstrap over points,
    which is short where few values tie, and Fisher's z with the standard error of Bonett &
    Wright (2000), which is short where the spread of one side grows with the other;
    ``docs/simulation.md`` shows both. Every resample is ranked anew (exactly, not with the ranks
    of the whole sample) and resamples in which one side is constant are left out. A perfect r is
    taken as the nearest smaller one there, for no sample shows that all others are perfect too.

    The p-value comes from all arrangements up to 8 points, from ``n_resamples`` drawn
    arrangements up to 30, and from the t distribution with n - 2 degrees of freedom beyond.
    With ``clusters`` whole clusters are resampled, and change places with clusters of as many
    points at every n (:func:`~retrieval_eval.stats.arrangements.permutation_p`).

    Not computable: everything below three points (``too_few_values``) or with a constant side
    (``constant_input``); the interval also below four points, the p-value also below five, where
    none could reach .05, and both with several points in fewer than six clusters
    (``too_few_values``).

    Parameters
    ----------
    x, y
        One number a point in the same order, sorted by a stable key: the seed picks positions,
        and points of one cluster keep their order when they move.
    seed
        Seed of the PCG64 generators.
    n_resamples
        Bootstrap resamples and drawn arrangements.
    confidence
        Coverage of the interval.
    clusters
        One label a point, such as the task two configurations share. Labels that are all
        different change nothing.

    Raises
    ------
    ValueError
        When the rows differ in length or hold a number that is not finite, or there is not one
        label for each point.

    Examples
    --------
    >>> result = spearman([1, 2, 3, 4, 5], [1, 2, 3, 5, 4], seed=1)
    >>> round(result.r.value, 12), round(result.p_value.value, 4), result.p_method
    (0.9, 0.0833, 'exact')
    """
    left, right = as_floats(x), as_floats(y)
    if len(left) != len(right):
        raise ValueError("both rows need one number for each unit")
    n = len(left)
    grouping = group(clusters, n)
    shape = None if clusters is None else grouping.n_clusters, grouping.status
    reason = "too_few_values" if n < MIN_POINTS else None
    if reason is None and (is_constant(left) or is_constant(right)):
        reason = "constant_input"
    if reason is not None:
        gap = Value.missing(reason, n)
        empty = Interval.missing(reason, n, confidence, METHOD)
        return Correlation(n, gap, empty, gap, None, *shape)
    ranks = average_ranks(left), average_ranks(right)
    r = _pearson(*ranks)
    if n < MIN_POINTS_FOR_INTERVAL or not grouping.is_usable:
        interval = Interval.missing("too_few_values", grouping.n_clusters, confidence, METHOD)
    else:
        drawn = bootstrap_spearman(left, right, grouping, seed=seed, n_resamples=n_resamples)
        interval = _interval(r, n, drawn, grouping.n_clusters, confidence)
    p_value, p_method = _p_value(*ranks, r, grouping, seed, n_resamples)
    return Correlation(n, Value.of(r, n), interval, p_value, p_method, *shape)


def _pearson(x: Floats, y: Floats) -> float:
    x, y = x - x.mean(), y - y.mean()
    r = float(x @ y) / math.sqrt(float(x @ x) * float(y @ y))
    return min(1.0, max(-1.0, r))


def _interval(r: float, n: int, distribution: Floats, n_units: int, confidence: float) -> Interval:
    from scipy.special import ndtri

    # One exchange of neighbours in perfect order takes 12 / (n(n² - 1)) from r.
    nearest = 1 - 12 / (n * (n * n - 1))
    inner = min(nearest, max(-nearest, r))
    half = float(ndtri((1 + confidence) / 2)) * math.sqrt((1 + inner * inner / 2) / (n - 3))
    ends = [math.tanh(math.atanh(inner) - half), math.tanh(math.atanh(inner) + half)]
    found = mirrored_quantiles(distribution, confidence)
    low, high = min(r, *ends, *(found or ())), max(r, *ends, *(found or ()))
    return Interval.of(low, high, n_units, confidence, METHOD)


def _p_value(
    x: Floats, y: Floats, r: float, grouping: Grouping, seed: int, n_resamples: int
) -> tuple[Value, str | None]:
    n = len(x)
    if not grouping.is_usable:
        return Value.missing("too_few_values", grouping.n_clusters), None
    if grouping.n_clusters == n and n > MAX_PERMUTED_POINTS:
        return Value.of(_t_tail(r, n), n), "t"
    return permutation_p(x, y, grouping, seed=seed, n_resamples=n_resamples)


def _t_tail(r: float, n: int) -> float:
    from scipy.special import stdtr

    if abs(r) == 1.0:
        return 0.0
    return float(2 * stdtr(n - 2, -abs(r) * math.sqrt((n - 2) / ((1 - r) * (1 + r)))))
