"""Power: the smallest difference that a sample of this size could detect."""

from __future__ import annotations

import math
from typing import Final

from retrieval_eval.stats.distributions import normal_quantile
from retrieval_eval.stats.sign_flips import MIN_PAIRS_FOR_P, attainable_level
from retrieval_eval.values import Interval, Value

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


def power_of_t(
    difference: float, standard_deviation: float, n: int, *, alpha: float = 0.05
) -> float:
    """Return the power of the two-sided one-sample t test to find a true mean difference.

    The inverse of :func:`smallest_detectable_difference`; 0 below two pairs.

    Examples
    --------
    >>> round(power_of_t(0.5, 1.0, 34), 3)
    0.808
    """
    if n < 2:
        return 0.0
    if standard_deviation <= 0:
        return 1.0 if difference else alpha
    # Beyond 50 standard errors the series does not converge, and nothing is left to find.
    shift = abs(difference) / standard_deviation * math.sqrt(n)
    return _beyond(shift, n - 1, alpha) if shift < 50 else 1.0


def power_by_test_and_interval(
    difference: float,
    standard_deviation: float,
    n: int,
    *,
    alpha: float = 0.05,
    share_zero: float = 0.0,
) -> float:
    """Return the power of test and interval together to find a true mean difference.

    The inverse of :func:`detectable_by_test_and_interval` for normal differences. With
    ``share_zero`` of the differences exactly 0, as of tasks on which both arms find all or nothing,
    the sign-flip test rests on the others only: its power is averaged over how many these are.

    0 below six pairs, and where no p-value of so few falls below ``alpha``.

    Parameters
    ----------
    difference
        The true mean difference over all units, those without a difference included.
    standard_deviation
        Standard deviation of the differences over all units.
    n
        Number of independent units.
    alpha
        Two-sided level.
    share_zero
        Share of units without a difference, from 0 to below 1.

    Examples
    --------
    >>> round(power_by_test_and_interval(0.511, 1.0, 34), 2)
    0.8
    >>> round(power_by_test_and_interval(0.6, 1.0, 15, share_zero=0.7), 2)
    0.28
    """
    if n < MIN_PAIRS_FOR_P:
        return 0.0
    by_interval = power_of_t(
        difference / (1 + INTERVAL_EXCESS / n), standard_deviation, n, alpha=alpha
    )
    if share_zero <= 0:
        return min(by_interval, _power_of_flips(difference, standard_deviation, n, alpha))
    from scipy.special import gammaln

    moved = 1 - share_zero
    centre = difference / moved
    # The spread over all units is that of the others and of their distance from the zeros.
    inner = standard_deviation**2 / moved - share_zero * centre**2
    spread = math.sqrt(max(inner, 0.01 * centre**2))
    by_test = 0.0
    for k in range(MIN_PAIRS_FOR_P, n + 1):
        log_chance = (
            gammaln(n + 1)
            - gammaln(k + 1)
            - gammaln(n - k + 1)
            + k * math.log(moved)
            + (n - k) * math.log(share_zero)
        )
        if log_chance > -20:
            by_test += math.exp(log_chance) * _power_of_flips(centre, spread, k, alpha)
    return min(by_interval, by_test)


def _power_of_flips(difference: float, standard_deviation: float, n: int, alpha: float) -> float:
    """Return the power of the sign-flip test of normal differences, none of them 0."""
    level = attainable_level(n, alpha)
    if level == 0:
        return 0.0
    found = power_of_t(difference, standard_deviation, n, alpha=level)
    if level <= 2.0 ** (1 - n):
        from scipy.special import ndtr

        found = min(found, float(ndtr(abs(difference) / standard_deviation)) ** n)
    return found


def detectable_interval(
    detectable: Value, degrees_of_freedom: float, *, confidence: float = 0.95
) -> Interval:
    """Return how sure a smallest detectable difference is.

    It is proportional to the standard deviation of the differences, which is estimated too. The
    interval is the chi-square interval of that standard deviation, and takes the differences as
    about normal. Not computable where the smallest detectable difference is not, for its reason.

    Examples
    --------
    >>> ends = detectable_interval(smallest_detectable_difference(1.0, 10), 9)
    >>> round(ends.low.value, 2), round(ends.high.value, 2)
    (0.69, 1.82)
    """
    method = "chi_square"
    if detectable.value is None or degrees_of_freedom <= 0:
        reason = detectable.reason or "too_few_values"
        return Interval.missing(reason, detectable.n, confidence, method)
    from scipy.special import gammaincinv

    tail, half = (1 - confidence) / 2, degrees_of_freedom / 2
    # The quantile of chi-square over its mean is that of a gamma over its shape.
    low, high = (
        detectable.value * math.sqrt(half / float(gammaincinv(half, share)))
        for share in (1 - tail, tail)
    )
    return Interval.of(low, high, detectable.n, confidence, method)


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
