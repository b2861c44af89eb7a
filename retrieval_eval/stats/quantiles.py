"""Quantiles with intervals that assume no distribution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Quantile:
    """A quantile, its interval, and how many values it rests on; None where not computable."""

    value: float | None
    ci_low: float | None
    ci_high: float | None
    n: int
    n_needed: int


def quantile(values: Sequence[float], q: float, *, confidence: float = 0.95) -> Quantile:
    """Return the sample quantile ``q`` with an interval of order statistics.

    The value is the smallest one that at least the share ``q`` of the values does not exceed. The
    ends of the interval are values, too: a quantile lies above the i-th and not above the j-th of
    n independent values with a probability that the binomial distribution gives, whatever theirs
    is. Where the largest or smallest of so few values is no such end, as for the 99th percentile of
    40, the quantile is not computable.

    Parameters
    ----------
    values
        Numbers of any unit, in any order.
    q
        Between 0 and 1, both excluded.
    confidence
        Least coverage of the interval; half of the rest on each side.

    Returns
    -------
    Quantile
        ``n_needed`` is how many values the quantile needs.

    Notes
    -----
    H. A. David and H. N. Nagaraja, Order Statistics, 3rd edition, section 7.1.

    Examples
    --------
    >>> quantile(range(1, 101), 0.5)
    Quantile(value=50, ci_low=40, ci_high=61, n=100, n_needed=6)
    >>> quantile(range(40), 0.99).value, quantile(range(40), 0.99).n_needed
    (None, 368)
    """
    from math import ceil, log

    from scipy.stats import binom

    tail, n = (1 - confidence) / 2, len(values)
    needed = ceil(log(tail) / log(max(q, 1 - q)) - 1e-9)
    if n < needed:
        return Quantile(None, None, None, n, needed)
    ordered = sorted(values)
    # The i-th value (from 1) lies above the quantile if fewer than i of n lie below it.
    low = int(binom.ppf(tail, n, q))
    high = int(binom.ppf(1 - tail, n, q)) + 1
    return Quantile(
        ordered[max(ceil(q * n - 1e-9), 1) - 1],
        ordered[max(low, 1) - 1],
        ordered[min(high, n) - 1],
        n,
        needed,
    )
