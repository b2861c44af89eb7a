"""Rank association of two rows of numbers, and of many pairs of columns at once."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

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
    (found,) = spearman_of(
        {"x": left, "y": right},
        [("x", "y")],
        seed=seed,
        n_resamples=n_resamples,
        confidence=confidence,
        clusters=clusters,
    )
    return found


def spearman_of(
    columns: Mapping[str, Sequence[float] | Floats],
    pairs: Sequence[tuple[str, str]],
    *,
    seed: int,
    n_resamples: int = 10_000,
    confidence: float = 0.95,
    clusters: Sequence[Hashable] | None = None,
) -> list[Correlation]:
    """Return :func:`spearman` of every pair of columns over the units that have both numbers.

    Pairs over the same units share ranks, resamples and drawn arrangements, which changes no
    number: each of them alone would draw the same.

    Parameters
    ----------
    columns
        One number a unit in the same order; NaN where it is not known.
    pairs
        The names of two columns each.
    seed, n_resamples, confidence, clusters
        As for :func:`spearman`, with a label for every unit.

    Raises
    ------
    ValueError
        When the columns differ in length or hold an infinite number, or there is not one label
        for each unit.

    Examples
    --------
    >>> rows = {"a": [1, 2, 3, 4, 5], "b": [1, 2, 3, 5, 4], "c": [5, 4, 3, 2, float("nan")]}
    >>> [(c.n, round(c.r.value, 12)) for c in spearman_of(rows, [("a", "b"), ("a", "c")], seed=1)]
    [(5, 0.9), (4, -1.0)]
    """
    arrays = {name: np.asarray(column, dtype=np.float64) for name, column in columns.items()}
    n = max(map(len, arrays.values()), default=0)
    if any(len(array) != n for array in arrays.values()):
        raise ValueError("both rows need one number for each unit")
    if clusters is not None and len(clusters) != n:
        raise ValueError("clusters need one label for each unit")
    together: dict[bytes, list[int]] = {}
    for i, (a, b) in enumerate(pairs):
        together.setdefault((~np.isnan(arrays[a]) & ~np.isnan(arrays[b])).tobytes(), []).append(i)
    found: dict[int, Correlation] = {}
    for key, members in together.items():
        known = np.frombuffer(key, dtype=np.bool_)
        names = {name for i in members for name in pairs[i]}
        labels = None if clusters is None else [clusters[i] for i in np.flatnonzero(known).tolist()]
        same_units = _SameUnits(
            {name: as_floats(arrays[name][known]) for name in names},
            group(labels, int(known.sum())),
            clusters is not None,
            seed,
            n_resamples,
            confidence,
        )
        found |= dict(zip(members, same_units([pairs[i] for i in members]), strict=True))
    return [found[i] for i in range(len(pairs))]


@dataclass(frozen=True, slots=True)
class _SameUnits:
    """Columns over the same units, all known, and how they are resampled."""

    columns: Mapping[str, Floats]
    grouping: Grouping
    has_labels: bool
    seed: int
    n_resamples: int
    confidence: float

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> list[Correlation]:
        n = len(self.grouping.codes)
        constant = {name for name, column in self.columns.items() if n and is_constant(column)}
        usable = [p for p in pairs if n >= MIN_POINTS and constant.isdisjoint(p)]
        names = {name for pair in usable for name in pair}
        ranks = {name: average_ranks(self.columns[name]) for name in names}
        rs = [_pearson(ranks[a], ranks[b]) for a, b in usable]
        intervals = self._intervals(usable, rs)
        p_values = self._p_values(usable, rs, ranks)
        made = {
            pair: Correlation(n, Value.of(r, n), interval, *p_value, *self._shape())
            for pair, r, interval, p_value in zip(usable, rs, intervals, p_values, strict=True)
        }
        reason = "too_few_values" if n < MIN_POINTS else "constant_input"
        return [made[pair] if pair in made else self._missing(reason) for pair in pairs]

    def _shape(self) -> tuple[int | None, str]:
        return self.grouping.n_clusters if self.has_labels else None, self.grouping.status

    def _missing(self, reason: str) -> Correlation:
        n = len(self.grouping.codes)
        gap = Value.missing(reason, n)
        empty = Interval.missing(reason, n, self.confidence, METHOD)
        return Correlation(n, gap, empty, gap, None, *self._shape())

    def _intervals(self, pairs: Sequence[tuple[str, str]], rs: Sequence[float]) -> list[Interval]:
        n, g = len(self.grouping.codes), self.grouping.n_clusters
        if n < MIN_POINTS_FOR_INTERVAL or not self.grouping.is_usable:
            return [Interval.missing("too_few_values", g, self.confidence, METHOD)] * len(pairs)
        drawn = bootstrap_spearman(
            self.columns, pairs, self.grouping, seed=self.seed, n_resamples=self.n_resamples
        )
        return [
            _interval(r, n, distribution, g, self.confidence)
            for r, distribution in zip(rs, drawn, strict=True)
        ]

    def _p_values(
        self, pairs: Sequence[tuple[str, str]], rs: Sequence[float], ranks: Mapping[str, Floats]
    ) -> list[tuple[Value, str | None]]:
        n, g = len(self.grouping.codes), self.grouping.n_clusters
        if not self.grouping.is_usable:
            return [(Value.missing("too_few_values", g), None)] * len(pairs)
        if g == n and n > MAX_PERMUTED_POINTS:
            return [(Value.of(_t_tail(r, n), n), "t") for r in rs]
        return permutation_p(
            ranks, pairs, self.grouping, seed=self.seed, n_resamples=self.n_resamples
        )


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


def _t_tail(r: float, n: int) -> float:
    from scipy.special import stdtr

    if abs(r) == 1.0:
        return 0.0
    return float(2 * stdtr(n - 2, -abs(r) * math.sqrt((n - 2) / ((1 - r) * (1 + r)))))
