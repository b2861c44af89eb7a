"""Rank association of two rows of numbers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from retrieval_eval.stats.intervals import (
    Floats,
    Interval,
    as_floats,
    batches,
    is_constant,
    resample,
)
from retrieval_eval.stats.ranks import average_ranks, dense_codes, places
from retrieval_eval.values import Value

MIN_POINTS: Final = 3
MIN_POINTS_FOR_P: Final = 5
"""Below this no arrangement of ranks can reach .05 (2 / 4! = .083)."""
MAX_EXACT_POINTS: Final = 8
"""Up to this many points all n! arrangements are enumerated."""
MAX_MONTE_CARLO_POINTS: Final = 30
"""Up to this many points arrangements are drawn; beyond it the t distribution is close."""


@dataclass(frozen=True, slots=True)
class Correlation:
    """Spearman's r with its interval and two-sided p-value.

    ``p_method`` is ``exact``, ``monte_carlo`` or ``t``, and None where there is no p-value.
    """

    n: int
    r: Value
    interval: Interval
    p_value: Value
    p_method: str | None


def spearman(
    x: Sequence[float] | Floats,
    y: Sequence[float] | Floats,
    *,
    seed: int,
    n_resamples: int = 10_000,
    confidence: float = 0.95,
) -> Correlation:
    """Return Spearman's rank correlation of two equally long rows, ties sharing ranks.

    The interval is the percentile bootstrap over points; every resample is ranked anew
    (exactly, not with the ranks of the whole sample) and resamples in which one side is
    constant are left out. The p-value comes from all arrangements up to 8 points, from
    ``n_resamples`` drawn arrangements up to 30, and from the t distribution with n - 2 degrees
    of freedom beyond. Not computable: everything below three points (``too_few_values``) or with
    a constant side (``constant_input``); the p-value also below five (``too_few_values``),
    where none could reach .05.

    Parameters
    ----------
    x, y
        One number an independent unit in the same order, sorted by a stable key: the seed
        picks positions.
    seed
        Seed of the PCG64 generators.
    n_resamples
        Bootstrap resamples and drawn arrangements.
    confidence
        Coverage of the interval.

    Raises
    ------
    ValueError
        When the rows differ in length or hold a number that is not finite.

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
    reason = "too_few_values" if n < MIN_POINTS else None
    if reason is None and (is_constant(left) or is_constant(right)):
        reason = "constant_input"
    if reason is not None:
        gap = Value.missing(reason, n)
        return Correlation(n, gap, Interval.missing(reason, n, confidence, "percentile"), gap, None)
    ranks = average_ranks(left), average_ranks(right)
    r = _pearson(*ranks)
    interval = _interval(_bootstrap(left, right, n_resamples, seed), n, confidence)
    p_value, p_method = _p_value(*ranks, r, seed, n_resamples)
    return Correlation(n, Value.of(r, n), interval, p_value, p_method)


def _pearson(x: Floats, y: Floats) -> float:
    x, y = x - x.mean(), y - y.mean()
    r = float(x @ y) / math.sqrt(float(x @ x) * float(y @ y))
    return min(1.0, max(-1.0, r))


def _interval(distribution: Floats, n: int, confidence: float) -> Interval:
    if not len(distribution):
        return Interval.missing("constant_input", n, confidence, "percentile")
    tail = (1 - confidence) / 2
    low, high = np.quantile(distribution, [tail, 1 - tail])
    return Interval.of(float(low), float(high), n, confidence, "percentile")


def _bootstrap(x: Floats, y: Floats, n_resamples: int, seed: int) -> Floats:
    n = len(x)
    (x_codes, x_counts), (y_codes, y_counts) = dense_codes(x), dense_codes(y)

    def ranks(rows: NDArray[np.int64], codes: NDArray[np.int64], n_distinct: int) -> Floats:
        drawn = codes[rows]
        cells = drawn + n_distinct * np.arange(len(rows))[:, np.newaxis]
        counts = np.bincount(cells.ravel(), minlength=n_distinct * len(rows))
        table = places(counts.reshape(len(rows), n_distinct).astype(np.float64))
        # The mean of n average ranks is always (n + 1) / 2.
        centred: Floats = np.take(table.ravel(), cells) - (n + 1) / 2
        return centred

    def statistic(rows: NDArray[np.int64]) -> Floats:
        a, b = ranks(rows, x_codes, len(x_counts)), ranks(rows, y_codes, len(y_counts))
        scale = np.einsum("ij,ij->i", a, a) * np.einsum("ij,ij->i", b, b)
        cross = np.einsum("ij,ij->i", a, b)
        defined = scale > 0
        r: Floats = np.clip(cross[defined] / np.sqrt(scale[defined]), -1.0, 1.0)
        return r

    return resample(statistic, n, n_resamples, seed)


def _p_value(
    x: Floats, y: Floats, r: float, seed: int, n_resamples: int
) -> tuple[Value, str | None]:
    n = len(x)
    if n < MIN_POINTS_FOR_P:
        return Value.missing("too_few_values", n), None
    if n > MAX_MONTE_CARLO_POINTS:
        return Value.of(_t_tail(r, n), n), "t"
    x, y = x - x.mean(), y - y.mean()
    # Rank products are multiples of 1/4, so rounding cannot bridge half of that.
    threshold = abs(float(x @ y)) - 0.1
    if n <= MAX_EXACT_POINTS:
        arrangements = np.array(list(itertools.permutations(range(n))))
        return Value.of(float(np.mean(np.abs(y[arrangements] @ x) >= threshold)), n), "exact"
    generator = np.random.Generator(np.random.PCG64(seed))
    reached = 1
    for rows in batches(n_resamples, n):
        shuffled = generator.permuted(np.broadcast_to(y, (rows, n)), axis=1)
        reached += int(np.sum(np.abs(shuffled @ x) >= threshold))
    return Value.of(reached / (n_resamples + 1), n), "monte_carlo"


def _t_tail(r: float, n: int) -> float:
    from scipy.special import stdtr

    if abs(r) == 1.0:
        return 0.0
    return float(2 * stdtr(n - 2, -abs(r) * math.sqrt((n - 2) / ((1 - r) * (1 + r)))))
