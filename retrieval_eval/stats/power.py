"""What a sample of this size could have shown."""

from __future__ import annotations

import math

from retrieval_eval.stats.sign_flips import MIN_PAIRS_FOR_P, attainable_level
from retrieval_eval.values import Value


def smallest_detectable_difference(
    standard_deviation: float, n: int, *, alpha: float = 0.05, power: float = 0.8
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

    Examples
    --------
    >>> round(smallest_detectable_difference(1.0, 34).value, 3)
    0.495
    """
    if n < 3:
        return Value.missing("too_few_pairs", n)
    if standard_deviation <= 0:
        return Value.missing("constant_input", n)
    from scipy.optimize import brentq
    from scipy.special import nctdtr, stdtrit

    critical = float(stdtrit(n - 1, 1 - alpha / 2))

    def shortfall(shift: float) -> float:
        # The opposite tail is nctdtr at -critical; by symmetry that of a mirrored shift.
        beyond = 1 - nctdtr(n - 1, shift, critical) + (1 - nctdtr(n - 1, -shift, critical))
        return float(beyond) - power

    upper = 1.0
    while shortfall(upper) < 0:
        upper *= 2
    shift = float(brentq(shortfall, 0.0, upper, xtol=1e-12))
    return Value.of(shift * standard_deviation / math.sqrt(n), n)


def detectable_by_sign_flips(
    standard_deviation: float, n: int, *, alpha: float = 0.05, power: float = 0.8
) -> Value:
    """Return the smallest true mean difference that the sign-flip test of normal data would find.

    At the level it can reach, that test is about as strong as the t test (Hoeffding 1952), so this
    is :func:`smallest_detectable_difference` there. Where only equal signs of all differences fall
    below ``alpha`` it is the sign test: all n differences are positive with the wanted power. Not
    computable below six pairs, where the test finds nothing (``too_few_values``), or when the
    differences do not vary (``constant_input``).

    Examples
    --------
    >>> round(detectable_by_sign_flips(1.0, 6).value, 2)
    1.79
    >>> round(detectable_by_sign_flips(1.0, 34).value, 3)
    0.495
    """
    if n < MIN_PAIRS_FOR_P:
        return Value.missing("too_few_values", n)
    level = attainable_level(n, alpha)
    by_t = smallest_detectable_difference(standard_deviation, n, alpha=level, power=power)
    if by_t.value is None or level > 2.0 ** (1 - n):
        return by_t
    from scipy.special import ndtri

    all_positive = float(ndtri(power ** (1 / n))) * standard_deviation
    return Value.of(max(by_t.value, all_positive), n)
