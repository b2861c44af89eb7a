"""Power: the smallest difference that a sample of this size could detect."""

from __future__ import annotations

import math
from typing import Any, Final

from retrieval_eval.stats.proportions import normal_quantile
from retrieval_eval.stats.resampling import MIN_CLUSTERS, MIN_PAIRS_FOR_P, attainable_level
from retrieval_eval.values import Value

INTERVAL_EXCESS: Final = 1.1
"""Excess over the t test, times n, that makes 80 % of normal studies leave out 0 and pass the test.

It was 0.9 to 1.2 in simulations of n from 7 to 30; ``docs/simulation.md`` shows what it finds.
"""


def smallest_detectable_difference(
    standard_deviation: float,
    n: int,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
    degrees_of_freedom: float | None = None,
) -> Value:
    """Return the smallest true mean difference that a paired t test would detect.

    Solves the exact power equation of the two-sided one-sample t test (noncentral t) for the
    difference, in the unit of ``standard_deviation``. Not computable below three pairs
    (``too_few_pairs``) or when the differences do not vary (``constant_input``).

    Parameters
    ----------
    standard_deviation
        Sample standard deviation (n - 1) of the paired differences.
    n
        Number of pairs.
    alpha, power
        Two-sided significance level and wanted power.
    degrees_of_freedom
        Those of the test, where they are not n - 1, as of clusters of uneven size.

    Examples
    --------
    >>> round(smallest_detectable_difference(1.0, 34).value, 3)
    0.495
    >>> round(smallest_detectable_difference(1.0, 12, degrees_of_freedom=1.6).value, 3)
    2.076
    """
    if n < 3:
        return Value.missing("too_few_pairs", n)
    if standard_deviation <= 0:
        return Value.missing("constant_input", n)
    from scipy.optimize import brentq

    freedom = n - 1 if degrees_of_freedom is None else degrees_of_freedom
    upper = 1.0
    while _beyond(upper, freedom, alpha) < power:
        upper *= 2
    shift = float(brentq(lambda at: _beyond(at, freedom, alpha) - power, 0.0, upper, xtol=1e-12))
    return Value.of(shift * standard_deviation / math.sqrt(n), n)


def _beyond(shift: float, freedom: float, alpha: float) -> float:
    """Return the power of a t test of so many degrees of freedom, ``shift`` standard errors off."""
    from scipy.special import nctdtr, stdtrit

    critical = -float(stdtrit(freedom, alpha / 2))
    # The opposite tail is nctdtr at -critical; by symmetry that of a mirrored shift. Where one of
    # them is close to 0 its series may not converge, and scipy returns NaN.
    opposite = 1 - float(nctdtr(freedom, -shift, critical))
    below = float(nctdtr(freedom, shift, critical))
    return (1.0 if math.isnan(below) else 1 - below) + (0.0 if math.isnan(opposite) else opposite)


def detectable_by_test_and_interval(
    standard_deviation: float,
    n: int,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
    excess: float = INTERVAL_EXCESS,
    degrees_of_freedom: float | None = None,
) -> Value:
    """Return the smallest true mean difference that both test and interval would detect.

    A difference is detected when its sign-flip p-value lies below ``alpha`` and its interval leaves
    out 0; a verdict requires both. The result is the larger of what each needs, for normal data.

    - At the level it can reach the sign-flip test is about as strong as the t test (Hoeffding
      1952). Where only equal signs of all differences fall below ``alpha`` it is the sign test:
      all n differences are positive with the wanted power.
    - The interval of the mean would need what the t test needs if it were Student's. It is
      wider where a sample happens to be skewed: its bootstrap-t end lies beyond Student's by
      about the skewness times (2 z^2 + 1) / (6 sqrt n) standard errors (Hall 1988), and the
      skewness of n normal values has a standard deviation of about sqrt(6 / n). So the excess is
      of order 1 / n. Its size, :data:`INTERVAL_EXCESS`, is simulated.

    Not computable below six pairs, or where no p-value of so few falls below ``alpha``
    (``too_few_values``), or when the differences do not vary (``constant_input``).

    Parameters
    ----------
    standard_deviation
        Sample standard deviation (n - 1) of the paired differences.
    n
        Number of independent units: pairs, or clusters of them.
    alpha, power
        Two-sided significance level, of which the interval is the complement, and wanted power.
    excess
        What the interval needs more than Student's, times n; 0 for Student's own.
    degrees_of_freedom
        Those of the interval, where they are not n - 1, as of clusters of uneven size.

    Examples
    --------
    >>> round(detectable_by_test_and_interval(1.0, 6).value, 2)
    1.79
    >>> round(detectable_by_test_and_interval(1.0, 34).value, 3)
    0.511
    """
    level = attainable_level(n, alpha)
    if n < MIN_PAIRS_FOR_P or level == 0:
        return Value.missing("too_few_values", n)
    by_t, by_test = (
        smallest_detectable_difference(
            standard_deviation, n, alpha=at, power=power, degrees_of_freedom=freedom
        )
        for at, freedom in ((alpha, degrees_of_freedom), (level, None))
    )
    if by_t.value is None or by_test.value is None:
        return by_t
    needed = max(by_t.value * (1 + excess / n), by_test.value)
    if level <= 2.0 ** (1 - n):
        needed = max(needed, normal_quantile(power ** (1 / n)) * standard_deviation)
    return Value.of(needed, n)


def detectable_of_units(
    n: int,
    *,
    alpha: float = 0.05,
    excess: float = INTERVAL_EXCESS,
    share_effective: float = 1.0,
    is_clustered: bool = False,
) -> float:
    """Return the difference, in standard deviations, that ``n`` units detect in 80 % of studies.

    Infinite where so few detect nothing.

    Parameters
    ----------
    n
        Independent units: pairs, or clusters of them.
    alpha, excess
        As for :func:`detectable_by_test_and_interval`.
    share_effective
        Share of the units that count as equally large ones.
    is_clustered
        Whether they are clusters: below six of them the test is Student's, of their means.

    Examples
    --------
    >>> round(detectable_of_units(36), 3), detectable_of_units(5)
    (0.495, inf)
    """
    if is_clustered and n < MIN_CLUSTERS:
        found = smallest_detectable_difference(1.0, n, alpha=alpha)
    else:
        freedom = max(share_effective * n - 1, 0.5)
        found = detectable_by_test_and_interval(
            1.0, n, alpha=alpha, excess=excess, degrees_of_freedom=freedom
        )
    return math.inf if found.value is None else found.value


def units_needed(shift: float, *, most: int = 100_000, **given: Any) -> int | None:
    """Return the fewest units that detect a difference in 80 % of studies; None beyond ``most``.

    The inverse of :func:`detectable_of_units`, which has the further arguments.

    Parameters
    ----------
    shift
        The difference in standard deviations of a unit.

    Examples
    --------
    >>> units_needed(0.5), units_needed(1e-6)
    (36, None)
    """
    top = 8
    while detectable_of_units(min(top, most), **given) > shift:
        if top >= most:
            return None
        top *= 2
    low, high = top // 2 if top > 8 else 2, min(top, most)
    while high - low > 1:
        middle = (low + high) // 2
        is_enough = detectable_of_units(middle, **given) <= shift
        low, high = (low, middle) if is_enough else (middle, high)
    return high
