"""Intervals of a proportion, without loading numpy: runs of few trials need no others."""

from __future__ import annotations

import math

from retrieval_eval.stats.distributions import beta_quantile, normal_quantile
from retrieval_eval.values import Interval


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
    z = normal_quantile((1 + confidence) / 2)
    share = successes / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    # At the borders the formula is exactly 0 or 1, but for rounding.
    low = 0.0 if successes == 0 else centre - half
    high = 1.0 if successes == n else centre + half
    return Interval.of(low, high, n, confidence, "wilson")


def clopper_pearson(successes: float, n: float, *, confidence: float = 0.95) -> Interval:
    """Return the exact interval of a proportion (Clopper & Pearson 1934).

    It holds its level for every share and every ``n``. Both counts may be fractions, as effective
    sample sizes are. Not computable when ``n`` is 0 (``too_few_values``).

    Raises
    ------
    ValueError
        Unless ``0 <= successes <= n``.

    Examples
    --------
    >>> ends = clopper_pearson(0, 10)
    >>> ends.low.value, round(ends.high.value, 4)
    (0.0, 0.3085)
    """
    if not 0 <= successes <= n:
        raise ValueError("successes must lie between 0 and n")
    if n == 0:
        return Interval.missing("too_few_values", 0, confidence, "clopper_pearson")
    tail, failures = (1 - confidence) / 2, n - successes
    low = 0.0 if successes == 0 else beta_quantile(successes, failures + 1, tail)
    high = 1.0 if failures == 0 else beta_quantile(successes + 1, failures, 1 - tail)
    return Interval.of(low, high, math.ceil(n), confidence, "clopper_pearson")
