"""Confidence intervals for a mean and for a proportion."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from retrieval_eval.values import Value

Floats = NDArray[np.float64]

BATCH_CELLS = 1 << 21
"""Most cells of a resampling matrix held at once, so that memory does not grow with the data."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A two-sided confidence interval and how it was made; both ends are missing together."""

    low: Value
    high: Value
    confidence: float
    method: str

    @classmethod
    def of(cls, low: float, high: float, n: int, confidence: float, method: str) -> Interval:
        """Return an interval resting on ``n`` observations."""
        return cls(Value.of(low, n), Value.of(high, n), confidence, method)

    @classmethod
    def missing(cls, reason: str, n: int, confidence: float, method: str) -> Interval:
        """Return an interval that is not computable for ``reason``."""
        end = Value.missing(reason, n)
        return cls(end, end, confidence, method)


def as_floats(values: Sequence[float] | Floats) -> Floats:
    """Return ``values`` as a vector of finite float64; raises ``ValueError`` otherwise."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not np.isfinite(array).all():
        raise ValueError("expected one row of finite numbers: drop missing values first")
    return array


def is_constant(values: Floats) -> bool:
    """Whether all values are the same up to rounding of their largest magnitude."""
    return bool(np.ptp(values) <= 1e-12 * np.abs(values).max(initial=0.0))


def batches(n_rows: int, n_columns: int) -> Iterator[int]:
    """Yield row counts that add up to ``n_rows`` and keep each matrix within ``BATCH_CELLS``."""
    step = max(1, BATCH_CELLS // max(1, n_columns))
    for start in range(0, n_rows, step):
        yield min(step, n_rows - start)


def resample(
    statistic: Callable[[NDArray[np.int64]], Floats], n: int, n_resamples: int, seed: int
) -> Floats:
    """Return the bootstrap distribution of ``statistic``.

    ``statistic`` gets a matrix of positions (one resample a row, ``n`` columns) and returns one
    number a row. The generator is PCG64 seeded with ``seed``.
    """
    generator = np.random.Generator(np.random.PCG64(seed))
    parts = [
        statistic(generator.integers(0, n, size=(rows, n), dtype=np.int64))
        for rows in batches(n_resamples, n)
    ]
    return np.concatenate(parts)


def bootstrap_mean(
    values: Sequence[float] | Floats,
    *,
    seed: int,
    n_resamples: int = 10_000,
    confidence: float = 0.95,
) -> Interval:
    """Return the BCa bootstrap interval of the mean.

    Bias-corrected and accelerated (Efron 1987), with the jackknife acceleration. Not computable
    below three values (``too_few_values``) or when all are equal (``constant_input``), because
    resampling cannot show a spread that the sample lacks.

    Parameters
    ----------
    values
        One number an independent unit, sorted by a stable key: the seed picks positions.
    seed
        Seed of the PCG64 generator.
    n_resamples
        Number of bootstrap resamples.
    confidence
        Two-sided coverage, between 0 and 1.

    Raises
    ------
    ValueError
        When a value is not finite.

    Examples
    --------
    >>> ends = bootstrap_mean([1.0, 2.0, 3.0, 4.0], seed=1)
    >>> 1.0 <= ends.low.value < 2.5 < ends.high.value <= 4.0
    True
    """
    data = as_floats(values)
    n = len(data)
    if n < 3:
        return Interval.missing("too_few_values", n, confidence, "bca")
    if is_constant(data):
        return Interval.missing("constant_input", n, confidence, "bca")
    # Centring first makes mirrored data give exactly mirrored ends.
    centre = math.fsum(data) / n
    centred = data - centre
    distribution = resample(lambda rows: centred[rows].mean(axis=1), n, n_resamples, seed)
    low, high = np.quantile(distribution, _bca_levels(centred, distribution, confidence))
    return Interval.of(float(low) + centre, float(high) + centre, n, confidence, "bca")


def _bca_levels(centred: Floats, distribution: Floats, confidence: float) -> Floats:
    from scipy.special import ndtr, ndtri

    # The observed mean of centred data is 0; exact ties count half on either side.
    tolerance = 1e-12 * float(np.abs(centred).max())
    below = float(np.mean(distribution < -tolerance))
    equal = float(np.mean(np.abs(distribution) <= tolerance))
    edge = 0.5 / len(distribution)
    bias = ndtri(min(max(below + equal / 2, edge), 1 - edge))
    # A mean's jackknife deviations are the data's own, scaled.
    acceleration = float(np.sum(centred**3) / (6 * np.sum(centred**2) ** 1.5))
    tail = (1 - confidence) / 2
    z = bias + ndtri(np.array([tail, 1 - tail]))
    levels: Floats = ndtr(bias + z / (1 - acceleration * z))
    return levels


def wilson(successes: int, n: int, *, confidence: float = 0.95) -> Interval:
    """Return the Wilson score interval of a proportion (Wilson 1927, without correction).

    Not computable when ``n`` is 0 (``too_few_values``).

    Raises
    ------
    ValueError
        Unless ``0 <= successes <= n``.

    Examples
    --------
    >>> ends = wilson(0, 10)
    >>> ends.low.value, round(ends.high.value, 4)
    (0.0, 0.2775)
    """
    if not 0 <= successes <= n:
        raise ValueError("successes must lie between 0 and n")
    if n == 0:
        return Interval.missing("too_few_values", 0, confidence, "wilson")
    from scipy.special import ndtri

    z = float(ndtri((1 + confidence) / 2))
    share = successes / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    # At the borders the formula is exactly 0 or 1, but for rounding.
    low = 0.0 if successes == 0 else centre - half
    high = 1.0 if successes == n else centre + half
    return Interval.of(low, high, n, confidence, "wilson")
