"""What a sample of this size could have shown."""

from __future__ import annotations

import math

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
