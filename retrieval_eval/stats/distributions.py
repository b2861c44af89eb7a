"""Quantiles of the normal, beta and t distributions, without loading scipy for few units."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist
from typing import Final

_MOST_PLAIN: Final = 60
"""Beyond this sum of its parameters rounding in logarithms of factorials exceeds 1e-13."""
_NORMAL: Final = NormalDist()


def normal_quantile(share: float) -> float:
    """Return the number below which a standard normal variable lies with this probability.

    Examples
    --------
    >>> round(normal_quantile(0.975), 6)
    1.959964
    """
    return _NORMAL.inv_cdf(share)


def t_quantile(degrees_of_freedom: float, share: float) -> float:
    """Return the number below which Student's t lies with a probability of one half or more.

    Examples
    --------
    >>> round(t_quantile(2, 0.975), 6), round(t_quantile(1e6, 0.975), 6)
    (4.302653, 1.959966)
    """
    if degrees_of_freedom > _MOST_PLAIN:
        from scipy.special import stdtrit

        return float(stdtrit(degrees_of_freedom, share))
    # Of t² / (degrees of freedom + t²) and the rest of it, that which is not near 1.
    half = degrees_of_freedom / 2
    if half < 1:
        rest = beta_quantile(half, 0.5, 2 * (1 - share))
        return math.sqrt(degrees_of_freedom * (1 - rest) / rest)
    squared = beta_quantile(0.5, half, 2 * share - 1)
    return math.sqrt(degrees_of_freedom * squared / (1 - squared))


@lru_cache(maxsize=1024)
def beta_quantile(a: float, b: float, share: float) -> float:
    """Return the number below which a beta variable lies with this probability.

    Examples
    --------
    >>> round(beta_quantile(2, 3, 0.5), 6)
    0.385728
    """
    if b == 1:
        return float(share ** (1 / a))
    if a == 1:
        return -math.expm1(math.log1p(-share) / b)
    if a + b > _MOST_PLAIN:
        from scipy.special import betaincinv

        return float(betaincinv(a, b, share))
    low, high, x = 0.0, 1.0, a / (a + b)
    for _ in range(200):
        error = _share_below(x, a, b) - share
        low, high = (low, x) if error > 0 else (x, high)
        # Newton's step, or half of what is left where it leads out of it.
        following = x - error / _density(x, a, b)
        if not low < following < high:
            following = (low + high) / 2
        if abs(following - x) <= 4e-16 * x:
            break
        x = following
    return x


def _share_below(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function, as a series of positive terms."""
    if x > (a + 1) / (a + b + 2):
        return 1 - _share_below(1 - x, b, a)
    term = total = _density(x, a, b) * x * (1 - x) / a
    n = 0
    while term > 1e-17 * total:
        n += 1
        term *= (a + b + n - 1) / (a + n) * x
        total += term
    return total


def _density(x: float, a: float, b: float) -> float:
    logs = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return math.exp(logs + (a - 1) * math.log(x) + (b - 1) * math.log1p(-x))
