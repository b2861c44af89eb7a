"""Checked rows of finite numbers and seeded resamples of them, which every statistic here uses."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from retrieval_eval.values import Value

Floats = NDArray[np.float64]
Kind = TypeVar("Kind", bound=np.generic)

BATCH_CELLS = 1 << 15
"""Most cells of a resampling matrix worked on at once, so that memory does not grow with the data;
larger ones are slower, because they do not fit into the processor's own memory."""
_ROUND_CELLS: Final = 1 << 17
"""Cells drawn in one round by generators whose numbers depend on the rounds."""
_COUNTED_CELLS: Final = 1 << 13
"""Cells counted at once: the counts of more are memory that the system hands out anew each time."""
_MOST_KEPT = 1 << 24
"""Most positions that are kept for the next metric over as many units: 32 MB below 65,536 units."""


def as_floats(values: Sequence[float] | Floats) -> Floats:
    """Return ``values`` as a vector of finite float64; raises ``ValueError`` otherwise."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not np.isfinite(array).all():
        raise ValueError("expected one row of finite numbers: drop missing values first")
    return array


def is_constant(values: Floats) -> bool:
    """Whether all values are the same up to rounding of their largest magnitude."""
    return bool(np.ptp(values) <= 1e-12 * np.abs(values).max(initial=0.0))


def batches(n_rows: int, n_columns: int, n_cells: int = _ROUND_CELLS) -> Iterator[int]:
    """Yield row counts that add up to ``n_rows`` and keep each matrix within ``n_cells``."""
    step = max(1, n_cells // max(1, n_columns))
    for start in range(0, n_rows, step):
        yield min(step, n_rows - start)


def in_parts(matrix: NDArray[Kind]) -> Iterator[NDArray[Kind]]:
    """Yield some rows of a matrix after others, none with more cells than ``BATCH_CELLS``."""
    step = max(1, BATCH_CELLS // max(1, matrix.shape[1]))
    for start in range(0, len(matrix), step):
        yield matrix[start : start + step]


def resample(
    statistic: Callable[[NDArray[np.int64]], Floats], n: int, n_resamples: int, seed: int
) -> Floats:
    """Return the bootstrap distribution of ``statistic``.

    ``statistic`` gets a matrix of positions (one resample a row, ``n`` columns) and returns one
    number for every row that has one. The generator is PCG64 seeded with ``seed``.
    """
    if n * n_resamples > _MOST_KEPT:
        parts = [statistic(rows) for rows in draws(n, n_resamples, seed)]
    else:
        parts = [statistic(rows.astype(np.int64)) for rows in _kept(n, n_resamples, seed)]
    return np.concatenate(parts) if parts else np.empty(0)


def draws(n: int, n_resamples: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """Yield matrices of positions drawn with replacement, one resample of ``n`` a row."""
    generator = np.random.Generator(np.random.PCG64(seed))
    for rows in batches(n_resamples, n, BATCH_CELLS):
        yield generator.integers(0, n, size=(rows, n), dtype=np.int64)


def drawn_counts(n: int, n_resamples: int, seed: int, n_rows: int) -> Iterator[Floats]:
    """Yield how often each of ``n`` positions is in each of the resamples of :func:`draws`.

    A matrix holds ``n_rows`` resamples, the last one fewer; it is filled again for the next ones.
    """
    generator = np.random.Generator(np.random.PCG64(seed))
    counts = np.empty((min(n_rows, n_resamples), n))
    for kept in batches(n_resamples, 1, n_rows):
        start = 0
        for rows in batches(kept, n, _COUNTED_CELLS):
            cells = generator.integers(0, n, size=(rows, n), dtype=np.int64)
            cells += n * np.arange(rows)[:, np.newaxis]
            found = np.bincount(cells.ravel(), minlength=n * rows)
            counts[start : start + rows] = found.reshape(rows, n)
            start += rows
        yield counts[:kept]


@lru_cache(maxsize=2)
def _kept(n: int, n_resamples: int, seed: int) -> tuple[NDArray[np.unsignedinteger], ...]:
    """Return all draws: each metric over the same units is resampled with the same ones."""
    kind = np.min_scalar_type(max(n - 1, 0))
    return tuple(rows.astype(kind) for rows in draws(n, n_resamples, seed))


def mirrored_quantiles(distribution: Floats, confidence: float) -> tuple[float, float] | None:
    """Return the two order statistics that leave out (1 - confidence) / 2 on either side.

    The k-th smallest and the k-th largest, k = (m + 1)(1 - confidence) / 2 rounded down and at
    least 1: the mirrored distribution gives exactly the mirrored ends, which interpolated
    quantiles do not. None without numbers.

    Examples
    --------
    >>> mirrored_quantiles(np.arange(1.0, 20.0), 0.9)
    (1.0, 19.0)
    """
    m = len(distribution)
    if m == 0:
        return None
    # The tiny shift keeps (m + 1) * .025 = 250 from becoming 249 by rounding.
    k = min(max(1, math.floor((m + 1) * (1 - confidence) / 2 + 1e-9)), (m + 1) // 2)
    ordered = np.partition(distribution, [k - 1, m - k])
    return float(ordered[k - 1]), float(ordered[m - k])


# --------------------------------------------------------------------------------------------------
# Clusters of units that are not independent: tasks of one repository, rows of one task.

MIN_CLUSTERS: Final = 6
"""Below this neither an interval nor a p-value is made from clusters that hold several units."""

NONE: Final = "none"
BY_CLUSTER: Final = "by_cluster"
TOO_FEW: Final = "too_few_clusters"


@dataclass(frozen=True, slots=True)
class Grouping:
    """Which of ``n_clusters`` clusters each unit belongs to, numbered by first appearance.

    ``status`` is ``none`` when no labels were given, ``by_cluster`` when the clusters can be
    resampled and flipped, and ``too_few_clusters`` when there are fewer than six of them and
    some hold several units: then no interval or test can take them into account.
    """

    codes: NDArray[np.int64]
    n_clusters: int
    status: str

    @property
    def is_usable(self) -> bool:
        """Whether the clusters can carry an interval and a p-value."""
        return self.status != TOO_FEW

    def totals(self, values: Floats) -> Floats:
        """Return the sum of ``values`` in every cluster."""
        sums = np.bincount(self.codes, weights=values, minlength=self.n_clusters)
        return sums.astype(np.float64)

    def sizes(self) -> Floats:
        """Return the number of units in every cluster."""
        return self.totals(np.ones(len(self.codes)))

    def degrees_of_freedom(self) -> float:
        """Return Satterthwaite's degrees of freedom of the variance of the mean over units.

        Those of Bell & McCaffrey (2002) for clusters whose units share everything, the worst
        case that Carter, Schnepel & Steigerwald (2017) count effective clusters for: a few
        large clusters then carry most of the mean. One less than the clusters when all are
        equally large. At least two clusters are needed.

        Examples
        --------
        >>> group(["a", "a", "b", "b", "c", "c"], 6).degrees_of_freedom()
        2.0
        >>> round(group(["a", "a", "b", "c"], 4).degrees_of_freedom(), 2)
        1.6
        """
        sizes = self.sizes()
        if (sizes == sizes[0]).all():
            return self.n_clusters - 1.0
        # The covariance of the clusters' deviations in sum, each over the root of one minus its
        # share, has the cell s s' (1 if alone, else 0, - p - p' + both) for each pair of clusters
        # with shares p, p'. Its trace and the sum of its squares need no matrix: the cells of the
        # largest cluster are summed by themselves, which keeps the rest from cancelling.
        shares = np.sort(sizes)[::-1] / sizes.sum()
        rest = shares[1:]
        lacking = np.append(rest.sum(), 1 - rest)
        both = float(np.sum(shares**2))
        squared = shares**2 / lacking
        own = squared * np.append(lacking[0] ** 2 + np.sum(rest**2), 1 - 2 * rest + both)
        beside = squared[0] * np.sum(squared[1:] * (both - shares[0] - rest) ** 2)
        zeroth, first, second = (float(np.sum(squared[1:] * rest**power)) for power in range(3))
        among = (both * zeroth - first) ** 2 + 2 * zeroth * second + first**2
        among -= 2 * both * zeroth * first
        among -= float(np.sum((squared[1:] * (both - 2 * rest)) ** 2))
        return float(np.sum(own) ** 2 / (np.sum(own**2) + 2 * beside + among))


def group(labels: Sequence[Hashable] | None, n: int) -> Grouping:
    """Return the clusters of ``n`` units; without labels every unit is its own.

    Raises
    ------
    ValueError
        When there is not one label for each unit.

    Examples
    --------
    >>> group(["b", "a", "b"], 3).codes.tolist()
    [0, 1, 0]
    """
    if labels is None:
        return Grouping(np.arange(n), n, NONE)
    if len(labels) != n:
        raise ValueError("clusters need one label for each unit")
    numbers: dict[Hashable, int] = {}
    codes = np.array([numbers.setdefault(label, len(numbers)) for label in labels], dtype=np.int64)
    is_enough = len(numbers) == n or len(numbers) >= MIN_CLUSTERS
    return Grouping(codes, len(numbers), BY_CLUSTER if is_enough else TOO_FEW)


# --------------------------------------------------------------------------------------------------
# The sign-flip permutation test of paired differences.

MIN_PAIRS_FOR_P: Final = 6
"""Below this a two-sided sign-flip test cannot reach .05 (2 / 2**5 = .0625)."""
MAX_EXACT_PAIRS: Final = 20
"""Up to this many non-zero differences all sign flips are enumerated."""


def sign_flip_p(
    differences: Sequence[float] | Floats,
    *,
    seed: int,
    n_resamples: int = 10_000,
    clusters: Sequence[Hashable] | None = None,
) -> tuple[Value, str | None]:
    """Return the two-sided sign-flip permutation p-value of the mean, and the method.

    Exact over all sign flips up to 20 non-zero differences, otherwise Monte Carlo with the
    observed arrangement counted in, so that it is never 0. Under the null hypothesis that the
    arms are exchangeable inside every unit it rejects at most as often as its level. With
    ``clusters`` all differences of a cluster flip together. Not computable below six pairs, or
    six clusters (``too_few_values``).

    Examples
    --------
    >>> sign_flip_p([1, 1, 1, 1, 1, -1], seed=1)[0].value
    0.21875
    """
    data = as_floats(differences)
    grouping = group(clusters, len(data))
    n = grouping.n_clusters
    if n < MIN_PAIRS_FOR_P:
        return Value.missing("too_few_values", n), None
    sums = grouping.totals(data)
    # A zero sum is the same with either sign: leaving it out halves the flips only.
    moved = sums[sums != 0]
    total = math.fsum(moved)
    # Sums of the same numbers in another order differ by rounding; those are ties, not less.
    threshold = abs(total) - 1e-12 * math.fsum(np.abs(data))
    if len(moved) <= MAX_EXACT_PAIRS:
        return Value.of(float(np.mean(np.abs(_all_sums(moved)) >= threshold)), n), "exact"
    generator = np.random.Generator(np.random.PCG64(seed))
    reached = 1
    for rows in batches(n_resamples, len(moved)):
        kept = generator.integers(0, 2, size=(rows, len(moved)), dtype=np.int8)
        for part in in_parts(kept):
            # What keeps its sign, less what does not, which is the rest of the total.
            flipped = 2 * (part.astype(np.float64) @ moved) - total
            reached += int(np.sum(np.abs(flipped) >= threshold))
    return Value.of(reached / (n_resamples + 1), n), "monte_carlo"


def attainable_level(n: int, alpha: float = 0.05) -> float:
    """Return the largest level below ``alpha`` that the exact test of ``n`` units can reach.

    Its p-values are multiples of 2 / 2**n, or none (0.0) when that is not below ``alpha``.

    Examples
    --------
    >>> attainable_level(6), attainable_level(5)
    (0.03125, 0.0)
    """
    # Beyond 60 units the steps are finer than a float near the level, and then below any float.
    step = 2.0 ** (1 - min(n, 60))
    return step * (math.ceil(alpha / step) - 1)


def _all_sums(moved: Floats) -> Floats:
    # The first sign is fixed: flipping everything mirrors the sum, and the test is two-sided.
    sums = np.array(moved[:1]) if len(moved) else np.zeros(1)
    for difference in moved[1:]:
        sums = np.concatenate([sums + difference, sums - difference])
    return sums
