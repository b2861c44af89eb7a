"""Rank association of two rows of numbers, and of many pairs of columns at once."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from retrieval_eval.stats import MIN_POINTS
from retrieval_eval.stats.proportions import normal_quantile
from retrieval_eval.stats.resampling import (
    BATCH_CELLS,
    Floats,
    Grouping,
    as_floats,
    batches,
    drawn_counts,
    group,
    is_constant,
    mirrored_quantiles,
)
from retrieval_eval.values import Interval, Value

MIN_POINTS_FOR_INTERVAL: Final = 4
MAX_PERMUTED_POINTS: Final = 30
"""Up to this many single points arrangements are made; beyond it the t distribution is close."""
METHOD: Final = "percentile_or_bonett_wright"
MIN_ARRANGEMENTS: Final = 40
"""With fewer arrangements no two-sided p-value can reach .05: 2 / 40."""
MAX_EXACT_ARRANGEMENTS: Final = math.factorial(8)
"""Up to this many arrangements all are enumerated."""

Places = NDArray[np.int64]
Pair = tuple[str, str]


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

    Each end of the interval is the farther one of two: the percentile bootstrap over points, which
    is short where few values tie, and Fisher's z with the standard error of Bonett & Wright (2000),
    which is short where the spread of one side grows with the other; ``docs/simulation.md`` shows
    both. Every resample is ranked anew (exactly, not with the ranks of the whole sample) and
    resamples in which one side is constant are left out. A perfect r is replaced there by the
    nearest smaller one, because a perfect sample does not show that the population is.

    The p-value comes from all arrangements up to 8 points, from ``n_resamples`` drawn arrangements
    up to 30, and from the t distribution with n - 2 degrees of freedom beyond. With ``clusters``
    whole clusters are resampled, and permuted with clusters of as many points at every n
    (:func:`permutation_p`).

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


def rank_correlation(x: Sequence[float] | Floats, y: Sequence[float] | Floats) -> float | None:
    """Return Spearman's r alone; None below three points or where a side is constant.

    Examples
    --------
    >>> round(rank_correlation([1, 2, 3, 4], [1, 2, 4, 3]), 6)
    0.8
    """
    left, right = as_floats(x), as_floats(y)
    if len(left) != len(right):
        raise ValueError("both rows need one number for each unit")
    if len(left) < MIN_POINTS or is_constant(left) or is_constant(right):
        return None
    return _pearson(average_ranks(left), average_ranks(right))


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

    Pairs over the same units share ranks, resamples and drawn arrangements; the numbers are those
    of separate calls, which would draw the same.

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
        reason = "too_few_values" if n < MIN_POINTS else "constant_input"
        usable = [p for p in pairs if n >= MIN_POINTS and constant.isdisjoint(p)]
        if not usable:
            return [self._missing(reason)] * len(pairs)
        names = {name for pair in usable for name in pair}
        ranks = {name: average_ranks(self.columns[name]) for name in names}
        rs = [_pearson(ranks[a], ranks[b]) for a, b in usable]
        intervals = self._intervals(usable, rs)
        p_values = self._p_values(usable, rs, ranks)
        made = {
            pair: Correlation(n, Value.of(r, n), interval, *p_value, *self._shape())
            for pair, r, interval, p_value in zip(usable, rs, intervals, p_values, strict=True)
        }
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
    # One exchange of neighbours in perfect order takes 12 / (n(n² - 1)) from r.
    nearest = 1 - 12 / (n * (n * n - 1))
    inner = min(nearest, max(-nearest, r))
    half = normal_quantile((1 + confidence) / 2) * math.sqrt((1 + inner * inner / 2) / (n - 3))
    ends = [math.tanh(math.atanh(inner) - half), math.tanh(math.atanh(inner) + half)]
    found = mirrored_quantiles(distribution, confidence)
    low, high = min(r, *ends, *(found or ())), max(r, *ends, *(found or ()))
    return Interval.of(low, high, n_units, confidence, METHOD)


def _t_tail(r: float, n: int) -> float:
    from scipy.special import stdtr

    if abs(r) == 1.0:
        return 0.0
    return float(2 * stdtr(n - 2, -abs(r) * math.sqrt((n - 2) / ((1 - r) * (1 + r)))))


# The permutation test: whole clusters are permuted


def permutation_p(
    ranks: Mapping[str, Floats],
    pairs: Sequence[Pair],
    grouping: Grouping,
    *,
    seed: int,
    n_resamples: int,
) -> list[tuple[Value, str | None]]:
    """Return the two-sided permutation p-value of the correlation of every pair of columns.

    The ranks of a pair's second column that belong to one cluster move together, in their order, to
    the place of another cluster with as many rows; a cluster whose size no other has stays. Under
    the null hypothesis that clusters of equal size are exchangeable the test rejects at most as
    often as its level. Differences between the places inside a cluster (one configuration and the
    other) are the same in every arrangement, so they alone do not make a p-value small.

    All arrangements are enumerated up to 8!, otherwise ``n_resamples`` are drawn, the same for
    every pair, and the observed one is counted in. Not computable (``too_few_values``) with
    fewer than 40.
    """
    n = grouping.n_clusters
    strata = _strata(grouping)
    n_arrangements = math.prod(math.factorial(len(stratum)) for stratum in strata)
    if n_arrangements < MIN_ARRANGEMENTS:
        return [(Value.missing("too_few_values", n), None)] * len(pairs)
    centred = {name: column - column.mean() for name, column in ranks.items()}
    # Rank products are multiples of 1/4, so rounding cannot bridge half of that.
    thresholds = [abs(float(centred[a] @ centred[b])) - 0.1 for a, b in pairs]
    if n_arrangements <= MAX_EXACT_ARRANGEMENTS:
        all_products = [_all_products(centred[a], centred[b], strata) for a, b in pairs]
        shares = [
            float(np.mean(np.abs(products) >= threshold))
            for products, threshold in zip(all_products, thresholds, strict=True)
        ]
        return [(Value.of(share, n), "exact") for share in shares]
    reached = [1] * len(pairs)
    for products in drawn_products(centred, pairs, grouping, seed, n_resamples):
        for i, (pair, threshold) in enumerate(zip(pairs, thresholds, strict=True)):
            reached[i] += int(np.sum(np.abs(products[pair]) >= threshold))
    return [(Value.of(count / (n_resamples + 1), n), "monte_carlo") for count in reached]


def _strata(grouping: Grouping) -> list[Places]:
    """Return for each size the rows of the clusters that have it, one cluster a row."""
    order = np.argsort(grouping.codes, kind="stable")
    sizes = grouping.sizes().astype(np.int64)
    rows = np.split(order, np.cumsum(sizes)[:-1])
    return [
        np.array([rows[cluster] for cluster in np.flatnonzero(sizes == size)])
        for size in np.unique(sizes)
    ]


def _all_products(x: Floats, y: Floats, strata: list[Places]) -> Floats:
    # Every arrangement of the product is one of each stratum, and their products add up. What
    # each of the few clusters' x makes with each cluster's y is known before any is arranged.
    totals = np.zeros(1)
    for stratum in strata:
        clusters = np.arange(len(stratum))
        arrangements = np.array(list(itertools.permutations(clusters)))
        products = (x[stratum] @ y[stratum].T)[clusters, arrangements].sum(axis=1)
        totals = (totals[:, np.newaxis] + products).ravel()
    return totals


def drawn_products(
    columns: Mapping[str, Floats],
    pairs: Sequence[Pair],
    grouping: Grouping,
    seed: int,
    n_resamples: int,
) -> Iterator[dict[Pair, Floats]]:
    """Yield the product of every pair of columns in batches of drawn arrangements.

    The rows of a cluster in all second columns are fetched together, and all products are one
    multiplication of matrices: sums of multiples of 1/4, which are exact in any order.
    """
    firsts, seconds = _sides(pairs)
    generator = np.random.Generator(np.random.PCG64(seed))
    strata = _strata(grouping)
    left = [np.stack([columns[a][rows.ravel()] for a in firsts]) for rows in strata]
    right = [np.stack([columns[b][rows] for b in seconds], axis=-1) for rows in strata]
    for n_rows in batches(n_resamples, len(grouping.codes)):
        found = np.zeros((n_rows, len(firsts), len(seconds)))
        for x, y in zip(left, right, strict=True):
            clusters = np.broadcast_to(np.arange(len(y)), (n_rows, len(y)))
            moved = np.take(y, generator.permuted(clusters, axis=1), axis=0)
            found += x @ moved.reshape(n_rows, -1, len(seconds))
        yield {(a, b): found[:, firsts.index(a), seconds.index(b)] for a, b in pairs}


def _sides(pairs: Sequence[Pair]) -> tuple[list[str], list[str]]:
    """Return the distinct first and the distinct second columns of pairs."""
    return list(dict.fromkeys(a for a, _ in pairs)), list(dict.fromkeys(b for _, b in pairs))


# The bootstrap: every resample is ranked anew


def bootstrap_spearman(
    columns: Mapping[str, Floats],
    pairs: Sequence[tuple[str, str]],
    grouping: Grouping,
    *,
    seed: int,
    n_resamples: int,
) -> list[Floats]:
    """Return Spearman's r of resamples of whole clusters, each resample ranked anew, by pair.

    All pairs are over the same resamples, in which every column is ranked once. Resamples in
    which one side is constant have no r and are left out.

    Sums are over doubled ranks that lie around the resample's size w, so that w³ is taken from
    them. They are whole numbers, exact in any order up to some 100,000 units.
    """
    firsts, seconds = _sides(pairs)
    ranked = _Ranked([columns[name] for name in (*firsts, *seconds)], grouping)
    cross = np.empty((n_resamples, len(firsts), len(seconds)))
    squares = np.empty((n_resamples, len(firsts) + len(seconds)))
    totals = np.empty(n_resamples)
    weighted = np.empty((ranked.n_words, len(firsts), len(grouping.codes)))
    sizes = grouping.sizes()
    start = 0
    for drawn in drawn_counts(grouping.n_clusters, n_resamples, seed, ranked.n_rows):
        rows = slice(start, start + len(drawn))
        totals[rows] = drawn @ sizes
        for part, ranks in ranked.in_resamples(drawn):
            weights = np.take(drawn[part], grouping.codes, axis=1)[:, np.newaxis]
            left = np.multiply(ranks[:, : len(firsts)], weights, out=weighted[: len(ranks)])
            right = ranks[:, len(firsts) :]
            cross[rows][part] = left @ right.transpose(0, 2, 1)
            np.square(ranks, out=ranks)
            squares[rows][part] = (weights @ ranks.transpose(0, 2, 1))[:, 0]
        start = rows.stop
    cubes = (totals * totals * totals)[:, np.newaxis]
    squares -= cubes
    # Where not all values are one, this is at least w² - w.
    varies = squares > (totals * totals / 4)[:, np.newaxis]
    found = []
    for i, j in ((firsts.index(a), seconds.index(b)) for a, b in pairs):
        k = len(firsts) + j
        defined = varies[:, i] & varies[:, k]
        products = cross[defined, i, j] - cubes[defined, 0]
        scale = np.sqrt(squares[defined, i] * squares[defined, k])
        found.append(np.clip(products / scale, -1.0, 1.0))
    return found


class _Ranked:
    """Columns that are ranked in many resamples: only how often each unit is in them changes.

    Counts of units are small whole numbers, so that several resamples are counted in one 64-bit
    word, each in bits of its own: one addition, or one reading, is that of all of them.
    """

    def __init__(self, columns: Sequence[Floats], grouping: Grouping) -> None:
        n = len(grouping.codes)
        self.n_clusters = grouping.n_clusters
        self.kind = np.min_scalar_type(2 * self.n_clusters * int(grouping.sizes().max(initial=1)))
        self.n_parts = 8 // self.kind.itemsize
        self.n_words = max(1, BATCH_CELLS // max(1, n * len(columns)))
        self.n_rows = self.n_words * self.n_parts
        shape = len(columns), n
        self.clusters, self.below, self.upto = (np.empty(shape, dtype=np.intp) for _ in range(3))
        for i, column in enumerate(columns):
            codes, counts = dense_codes(column)
            ends = np.cumsum(counts).astype(np.intp) + i * (n + 1)
            self.clusters[i] = grouping.codes[np.argsort(codes, kind="stable")]
            self.below[i], self.upto[i] = (ends - counts.astype(np.intp))[codes], ends[codes]
        # Memory that is new each time is slow.
        words = (np.empty((self.n_words, *shape), dtype=np.uint64) for _ in range(2))
        self.words, self.doubled = words
        self.reached = np.zeros((self.n_words, len(columns), n + 1), dtype=np.uint64)
        self.ranks = np.empty((self.n_words, *shape))

    def in_resamples(self, drawn: Floats) -> Iterator[tuple[slice, Floats]]:
        """Yield twice the ranks (less 1) of every unit, in some resamples after others.

        ``drawn`` has how often every cluster is in each of at most ``n_rows`` resamples. What is
        yielded says which of them are in the array, which holds them until the next is yielded.
        """
        n_words = -(-len(drawn) // self.n_parts)
        packed = np.zeros((n_words, self.n_clusters, self.n_parts), dtype=self.kind)
        parts = [slice(i, None, self.n_parts) for i in range(min(self.n_parts, len(drawn)))]
        for i, part in enumerate(parts):
            packed[: len(drawn[part]), :, i] = drawn[part]
        # The indices are in range; a mode that does not check them needs no copy of the output.
        words, doubled = self.words[:n_words], self.doubled[:n_words]
        np.take(packed.view(np.uint64)[..., 0], self.clusters, axis=1, out=words, mode="clip")
        reached = self.reached[:n_words]
        np.cumsum(words, axis=2, out=reached[..., 1:])
        # Units of one value share the places after those below it, up to those it reaches.
        reached = reached.reshape(n_words, -1)
        np.take(reached, self.below, axis=1, out=doubled, mode="clip")
        doubled += np.take(reached, self.upto, axis=1, out=words, mode="clip")
        unpacked = doubled.view(self.kind).reshape(*doubled.shape, self.n_parts)
        for i, part in enumerate(parts):
            ranks = self.ranks[: len(drawn[part])]
            np.copyto(ranks, unpacked[: len(ranks), ..., i])
            yield part, ranks


# Average ranks, of one row and of many resamples of it at once


def average_ranks(values: Floats) -> Floats:
    """Return ranks from 1, ties sharing the mean of their places.

    Examples
    --------
    >>> average_ranks(np.array([10.0, 30.0, 10.0])).tolist()
    [1.5, 3.0, 1.5]
    """
    codes, counts = dense_codes(values)
    ranks: Floats = places(counts[np.newaxis, :])[0][codes]
    return ranks


def dense_codes(values: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Return for each value the position of it among the distinct ones, and their counts."""
    _, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    return codes.astype(np.int64), counts.astype(np.float64)


def places(counts: Floats) -> Floats:
    """Return the average rank of each distinct value, from rows of its counts.

    A resample of a sample holds the same distinct values in the same order, only in other
    numbers: its exact ranks follow from the counts without sorting again.
    """
    ranks: Floats = np.cumsum(counts, axis=1) - (counts - 1) / 2
    return ranks
