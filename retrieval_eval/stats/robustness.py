"""How far a mean rests on single units and on groups of units that disagree."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from retrieval_eval.stats.intervals import of_uneven, standard_error
from retrieval_eval.stats.paired import cluster_means
from retrieval_eval.stats.proportions import normal_quantile
from retrieval_eval.stats.resampling import (
    MIN_PAIRS_FOR_P,
    Floats,
    as_floats,
    batches,
    group,
    is_constant,
)

MIN_UNITS: Final = 3
"""Below this no mean is tested."""


@dataclass(frozen=True, slots=True)
class MeanTest:
    """A mean with its standard error, degrees of freedom, and two-sided p that it is 0.

    ``weights`` are what each value counts in the mean; they add up to 1. ``n`` is the number of
    values.
    """

    n: int
    mean: float
    error: float
    degrees_of_freedom: float
    p_value: float
    weights: Floats

    def ends(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return Student's interval of the mean."""
        from scipy.special import stdtrit

        half = float(stdtrit(self.degrees_of_freedom, (1 + confidence) / 2)) * self.error
        return self.mean - half, self.mean + half

    def is_clear(self, alpha: float) -> bool:
        """Whether the mean is clearly not 0."""
        return self.p_value < alpha and self.mean != 0


def mean_test(
    values: Sequence[float] | Floats, clusters: Sequence[Hashable] | None = None
) -> MeanTest | None:
    """Return the test of a mean by Student's t, quick enough to repeat for many parts of a sample.

    Clusters count as in :func:`~retrieval_eval.stats.paired.compare_paired`: six or more widen the
    standard error, or where they are uneven the mean of their effects is tested, of two to five
    the means are tested, and one changes nothing. p is never below
    what the sign-flip test of as many independent units can reach, so that few units are no
    clearer here than there. None below three values.

    Examples
    --------
    >>> found = mean_test([0.1, 0.2, 0.3, 0.2, 0.1, 0.3, 0.2])
    >>> round(found.mean, 2), round(found.p_value, 4)
    (0.2, 0.0156)
    >>> mean_test([0.1, 0.2]) is None
    True
    """
    data = as_floats(values)
    n = len(data)
    if n < MIN_UNITS:
        return None
    labels = None if clusters is None or len(set(clusters)) < 2 else clusters
    grouping = group(labels, n)
    g = grouping.n_clusters
    pooled = of_uneven(data, grouping)
    if pooled is not None:
        weights, error = pooled.weights, pooled.error
        freedom, least = float(pooled.degrees_of_freedom), 2.0 ** (1 - min(g, 60))
    elif grouping.is_usable:
        weights = np.full(n, 1 / n)
        error = 0.0 if is_constant(data) else standard_error(data, grouping)[0]
        freedom, least = grouping.degrees_of_freedom(), 2.0 ** (1 - min(g, 60))
    else:
        means = cluster_means(data, grouping)
        weights = (1 / (g * grouping.sizes()))[grouping.codes]
        is_flat = is_constant(means)
        error = 0.0 if is_flat else float(np.std(means, ddof=1)) / math.sqrt(g)
        freedom, least = g - 1.0, 1.0 if is_flat or n < MIN_PAIRS_FOR_P else 0.0
    mean = math.fsum(weights * data)
    return MeanTest(n, mean, error, freedom, _p_value(mean, error, freedom, least), weights)


def _p_value(mean: float, error: float, freedom: float, least: float) -> float:
    if abs(mean) <= 1e-12:
        return 1.0
    if error <= 1e-12 * abs(mean):
        return least
    from scipy.special import stdtr

    return min(1.0, max(least, 2 * float(stdtr(freedom, -abs(mean) / error))))


def mean_of_worst(values: Sequence[float] | Floats, n_missing: int) -> float:
    """Return the mean of missing values if these are the lowest of all, and all are normal.

    The values that are there are then those above the share of the missing ones, and mean and
    spread of the whole follow from theirs (a normal distribution cut off below).

    Examples
    --------
    >>> round(mean_of_worst([0.1, 0.2, 0.3, 0.4, 0.1, 0.2, 0.3, 0.4], 2), 3)
    -0.024
    """
    data = as_floats(values)
    share = n_missing / (n_missing + len(data))
    cut = normal_quantile(share)
    density = math.exp(-cut * cut / 2) / math.sqrt(2 * math.pi)
    above = density / (1 - share)
    spread = float(np.std(data, ddof=1)) / math.sqrt(1 + cut * above - above * above)
    return math.fsum(data) / len(data) - spread * (above + density / share)


# Single units


def n_to_overturn(
    values: Sequence[float] | Floats,
    clusters: Sequence[Hashable] | None = None,
    *,
    alpha: float = 0.05,
) -> int:
    """Return how many values, those that pull most first, must go before the mean is not clear.

    It counts in steps that double, then between the last two, so that the result is the first such
    number where every further value weakens the mean, as it nearly always does.

    Examples
    --------
    >>> n_to_overturn([0.3, 0.2, 0.2, 0.1, 0.1, 0.1, 0.1, -0.1])
    2
    >>> n_to_overturn([0.2, 0.1] * 8)
    11
    """
    data = as_floats(values)
    sign = 1.0 if math.fsum(data) >= 0 else -1.0
    # The least influential first, so that the most influential are cut off at the end.
    order = np.argsort(sign * data, kind="stable")

    def is_overturned(k: int) -> bool:
        left = np.sort(order[: len(data) - k])
        labels = None if clusters is None else [clusters[i] for i in left]
        found = mean_test(data[left], labels)
        return found is None or sign * found.mean <= 0 or not found.is_clear(alpha)

    high = 1
    while high < len(data) and not is_overturned(high):
        high *= 2
    low, high = high // 2, min(high, len(data))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_overturned(middle) else (middle, high)
    return high


@dataclass(frozen=True, slots=True)
class Largest:
    """The value that pulls a mean most: its place, its share of the mean, and the mean without it.

    ``share`` is above 1 where the other values pull the other way.
    """

    place: int
    share: float
    without: MeanTest


def largest(
    values: Sequence[float] | Floats, clusters: Sequence[Hashable] | None = None
) -> Largest | None:
    """Return the value that pulls the mean most; None below four values, or where the mean is 0.

    Examples
    --------
    >>> found = largest([0.0, 0.1, 0.9, 0.0])
    >>> found.place, round(found.share, 3), round(found.without.mean, 3)
    (2, 0.9, 0.033)
    """
    data = as_floats(values)
    whole = mean_test(data, clusters)
    if whole is None or abs(whole.mean) <= 1e-12:
        return None
    pulls = whole.weights * data / whole.mean
    place = int(np.argmax(pulls))
    rest = [i for i in range(len(data)) if i != place]
    without = mean_test(data[rest], None if clusters is None else [clusters[i] for i in rest])
    return None if without is None else Largest(place, float(pulls[place]), without)


# Groups


def interaction_p(
    values: Sequence[float] | Floats,
    groups: Sequence[Hashable],
    clusters: Sequence[Hashable] | None = None,
    *,
    seed: int,
    n_resamples: int = 999,
) -> float | None:
    """Return p that group means differ by chance alone, by permuting units among the groups.

    The units are clusters where each lies in one group and some group has two, else single values.
    The statistic is the sum of squares between groups; under the hypothesis that groups do not
    matter it rejects at most as often as its level, however few units there are. None below two
    groups, or below three units.

    Examples
    --------
    >>> interaction_p([0.3, 0.4, 0.5, 0.3, -0.1, -0.2, -0.1], "aaaabbb", seed=1) < 0.05
    True
    """
    data = as_floats(values)
    names = {name: code for code, name in enumerate(dict.fromkeys(groups))}
    codes = np.array([names[name] for name in groups], dtype=np.int64)
    totals, sizes, codes = _units(data, codes, clusters)
    if len(names) < 2 or len(totals) < MIN_UNITS:
        return None
    order = np.argsort(codes, kind="stable")
    totals, sizes, codes = totals[order], sizes[order], codes[order]
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    return _permuted(totals, sizes, starts, seed, n_resamples)


def _units(
    data: Floats, codes: NDArray[np.int64], clusters: Sequence[Hashable] | None
) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Return total, size and group of every unit."""
    single = data, np.ones(len(data)), codes
    if clusters is None:
        return single
    grouping = group(clusters, len(data))
    first = np.full(grouping.n_clusters, -1)
    first[grouping.codes[::-1]] = codes[::-1]
    is_nested = bool((first[grouping.codes] == codes).all())
    if not is_nested or grouping.n_clusters <= len(np.unique(codes)):
        return single
    return grouping.totals(data), grouping.sizes(), first.astype(np.int64)


def _permuted(
    totals: Floats, sizes: Floats, starts: NDArray[np.int64], seed: int, n_resamples: int
) -> float:
    shifted = totals - sizes * (totals.sum() / sizes.sum())

    def between(rows: Floats, weights: Floats) -> Floats:
        sums = np.add.reduceat(rows, starts, axis=-1)
        found: Floats = np.sum(sums**2 / np.add.reduceat(weights, starts, axis=-1), axis=-1)
        return found

    observed = float(between(shifted, sizes))
    threshold = observed - 1e-12 * max(observed, float(np.sum(shifted**2)))
    generator = np.random.Generator(np.random.PCG64(seed))
    places = np.arange(len(totals))
    reached = 1
    for rows in batches(n_resamples, len(totals)):
        drawn = generator.permuted(np.tile(places, (rows, 1)), axis=1)
        reached += int(np.sum(between(shifted[drawn], sizes[drawn]) >= threshold))
    return reached / (n_resamples + 1)
