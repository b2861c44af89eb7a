"""The differences that are not 0: how many units did better, and by how much those that moved."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from retrieval_eval.stats.intervals import share_interval
from retrieval_eval.stats.resampling import Floats, as_floats
from retrieval_eval.values import Interval, Value, ratio

SIGNED_RANK: Final = "signed_rank"
MIN_MOVED: Final = 6
"""Below this the signed-rank test cannot reach .05 on two sides, so there is no interval."""
MAX_EXACT: Final = 60
"""Up to this many differences the null distribution of the signed-rank sum is enumerated."""
_MAX_LISTED: Final = 400
"""Up to this many differences their pairwise means are listed, beyond it they are searched."""
_HALVINGS: Final = 64
"""After so many the rest of the range is smaller than the rounding of a float."""


@dataclass(frozen=True, slots=True)
class Moved:
    """The pairs with a difference, ``n_moved`` of ``n``, and the shares with a gain or a loss.

    ``location`` is the Hodges-Lehmann estimate of the differences that are not 0.
    """

    n: int
    n_moved: int
    share_larger: Value
    share_larger_interval: Interval
    share_smaller: Value
    share_smaller_interval: Interval
    location: Value
    location_interval: Interval


def moved(
    differences: Sequence[float] | Floats,
    *,
    confidence: float = 0.95,
    clusters: Sequence[Hashable] | None = None,
) -> Moved:
    """Describe differences many of which are 0, by counts and by the others' location.

    Parameters
    ----------
    differences
        One number a unit; a positive one is a gain.
    confidence
        Coverage of the intervals.
    clusters
        One label a unit. The intervals of the shares then allow for clusters
        (:func:`~retrieval_eval.stats.intervals.share_interval`), and the location has none
        (``tasks_in_clusters``).

    Raises
    ------
    ValueError
        When a value is not finite, or there is not one label for each value.

    Examples
    --------
    >>> found = moved([0, 0, 0.5, -0.25, 1, 0.75, 0.25, 0.5])
    >>> found.n_moved, found.share_larger.value, found.location.value
    (6, 0.625, 0.5)
    """
    data = as_floats(differences)
    n = len(data)
    larger, smaller = data > 0, data < 0
    changed = data[data != 0]
    location, interval = hodges_lehmann(changed, confidence=confidence)
    if clusters is not None and len(set(clusters)) < n and location.computable:
        interval = Interval.missing("tasks_in_clusters", len(changed), confidence, SIGNED_RANK)
    shares = [
        (
            ratio(int(flags.sum()), n, "too_few_values"),
            share_interval(flags, confidence=confidence, clusters=clusters),
        )
        for flags in (larger, smaller)
    ]
    return Moved(n, len(changed), *shares[0], *shares[1], location, interval)


def hodges_lehmann(
    differences: Sequence[float] | Floats, *, confidence: float = 0.95
) -> tuple[Value, Interval]:
    """Return the median of all means of two differences, and the interval by signed ranks.

    The estimate is that of Hodges & Lehmann (1963), every difference paired with itself too. The
    interval holds the shifts that Wilcoxon's signed-rank test does not reject: exactly up to 60
    differences, beyond that by its normal approximation. It keeps its level for differences that
    are symmetric around the location, tied or not.

    Neither is computable without a difference (``too_few_values``), nor the interval with fewer
    than six.

    Raises
    ------
    ValueError
        When a value is not finite.

    Examples
    --------
    >>> value, interval = hodges_lehmann([1, 2, 3, 4, 5, 6])
    >>> value.value, interval.low.value, interval.high.value
    (3.5, 1.0, 6.0)
    """
    ordered = np.sort(as_floats(differences))
    n = len(ordered)
    if n == 0:
        gap = Value.missing("too_few_values", 0)
        return gap, Interval.missing("too_few_values", 0, confidence, SIGNED_RANK)
    total = n * (n + 1) // 2
    k = _rejected(n, confidence)
    middle = ((total + 1) // 2, total // 2 + 1)
    lower, upper, *ends = _pairwise_means(ordered, (*middle, k, total + 1 - k) if k else middle)
    value = Value.of((lower + upper) / 2, n)
    if n < MIN_MOVED or not k:
        return value, Interval.missing("too_few_values", n, confidence, SIGNED_RANK)
    return value, Interval.of(ends[0], ends[1], n, confidence, SIGNED_RANK)


@lru_cache(maxsize=512)
def _rejected(n: int, confidence: float) -> int:
    """Return which of the ordered pairwise means is the interval's end: 1 is the smallest."""
    tail = (1 - confidence) / 2
    if n > MAX_EXACT:
        from scipy.special import ndtri

        mean, spread = n * (n + 1) / 4, math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
        return max(0, math.floor(mean + 0.5 + float(ndtri(tail)) * spread))
    # The ways to choose ranks with each sum: one polynomial factor 1 + x^rank for every rank.
    ways = np.ones(1)
    for rank in range(1, n + 1):
        longer = np.concatenate([ways, np.zeros(rank)])
        longer[rank:] += ways
        ways = longer
    return int(np.sum(np.cumsum(ways) <= tail * 2.0**n))


def _pairwise_means(ordered: Floats, places: Sequence[int]) -> list[float]:
    """Return the means of two of the values (or of one twice) at places among all, from 1."""
    n = len(ordered)
    if n <= _MAX_LISTED:
        rows, columns = np.triu_indices(n)
        means = ordered[rows] / 2 + ordered[columns] / 2
        means = np.partition(means, [place - 1 for place in places])
        return [float(means[place - 1]) for place in places]
    return [_search(ordered, place) for place in places]


def _search(ordered: Floats, place: int) -> float:
    """Return one of the pairwise means by halving the range, without listing all of them."""
    n = len(ordered)
    halves, own = ordered / 2, np.arange(n)

    def first_above(bound: float) -> NDArray[np.int64]:
        # Of the partners from each value on, the first with which its mean lies above the bound.
        found = np.searchsorted(halves, bound - halves, side="right")
        return np.maximum(found, own)

    low, high = float(ordered[0]), float(ordered[-1])
    low -= abs(low) * 1e-9 + 1e-300
    for _ in range(_HALVINGS):
        bound = low / 2 + high / 2
        if int(np.sum(first_above(bound) - own)) >= place:
            high = bound
        else:
            low = bound
    partners = first_above(low)
    inside = partners < n
    return float(np.min(halves[inside] + halves[partners[inside]]))
