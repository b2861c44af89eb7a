"""A random-effects summary of one quantity over several studies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from retrieval_eval.stats.resampling import Floats, as_floats
from retrieval_eval.values import Interval, Value

MIN_STUDIES: Final = 3
"""Below this neither interval nor spread is given: two studies do not show how much they vary."""

KNAPP_HARTUNG: Final = "knapp_hartung"
Q_PROFILE: Final = "q_profile"
PREDICTION: Final = "prediction_t"
NORMAL: Final = "normal"


@dataclass(frozen=True, slots=True)
class Pooled:
    """The mean of a quantity over studies, and how much they differ.

    ``interval`` is that of the mean over studies such as these, ``prediction`` the one that a
    further study's true value lies in. ``tau`` is the standard deviation of the studies' true
    values, ``q`` Cochran's statistic with its p-value, and ``i_squared`` the share of the observed
    spread that is not sampling error. ``weights`` add up to 1. ``without`` has the mean and its
    interval without each study.
    """

    n: int
    mean: Value
    interval: Interval
    p_value: Value
    tau: Value
    tau_interval: Interval
    q: Value
    q_p_value: Value
    i_squared: Value
    prediction: Interval
    weights: tuple[float, ...]
    without: tuple[tuple[Value, Interval], ...]


def pool_estimates(
    estimates: Sequence[float] | Floats,
    errors: Sequence[float] | Floats,
    *,
    confidence: float = 0.95,
) -> Pooled:
    """Return the random-effects summary of estimates with standard errors.

    The variance between studies is that of Paule & Mandel (1982). The interval of the mean is that
    of Hartung & Knapp (2001) and Sidik & Jonkman (2002), Student's t with one degree of freedom
    less than there are studies, never shorter than the same with the errors of the studies alone:
    their factor is at least 1. That of tau is by profiling Q (Viechtbauer 2007). A further study is
    predicted by t with two degrees less than studies (Higgins, Thompson & Spiegelhalter 2009).

    One study is given as it is, with its normal interval. Two have a mean, Q and I², and neither
    interval nor spread (``too_few_values``).

    Parameters
    ----------
    estimates, errors
        A number and its standard error for each study.
    confidence
        Coverage of every interval.

    Raises
    ------
    ValueError
        When there is no study, the rows differ in length, or an error is not positive.

    Examples
    --------
    >>> found = pool_estimates([0.10, 0.16, 0.04, 0.12], [0.03, 0.04, 0.02, 0.05])
    >>> round(found.mean.value, 3), round(found.tau.value, 3)
    (0.096, 0.04)
    """
    values, spreads = as_floats(estimates), as_floats(errors)
    k = len(values)
    if k == 0 or k != len(spreads):
        raise ValueError("every study needs one estimate and one standard error")
    if (spreads <= 0).any():
        raise ValueError("a standard error is positive")
    variances = spreads**2
    found = _summary(values, variances, confidence)
    without = (
        tuple(
            _mean_and_interval(np.delete(values, i), np.delete(variances, i), confidence)
            for i in range(k)
        )
        if k > 1
        else ()
    )
    return Pooled(*found, without)


def _summary(
    values: Floats, variances: Floats, confidence: float
) -> tuple[
    int,
    Value,
    Interval,
    Value,
    Value,
    Interval,
    Value,
    Value,
    Value,
    Interval,
    tuple[float, ...],
]:
    from scipy.special import chdtrc, stdtr, stdtrit

    k = len(values)
    mean, interval = _mean_and_interval(values, variances, confidence)
    centre = mean.value or 0.0
    if k == 1:
        few = Value.missing("too_few_values", 1)
        empty = Interval.missing("too_few_values", 1, confidence, PREDICTION)
        spread = Interval.missing("too_few_values", 1, confidence, Q_PROFILE)
        p_value = Value.of(_normal_p(centre / math.sqrt(variances[0])), 1)
        return 1, mean, interval, p_value, few, spread, few, few, few, empty, (1.0,)
    tau_squared = paule_mandel(values, variances)
    weights = 1 / (variances + tau_squared)
    q = _q(values, variances, 0.0)
    q_value = Value.of(q, k)
    q_p_value = Value.of(float(chdtrc(k - 1, q)), k)
    share = Value.of(max(0.0, 1 - (k - 1) / q) if q > 0 else 0.0, k)
    shares = tuple((weights / weights.sum()).tolist())
    if k < MIN_STUDIES:
        few = Value.missing("too_few_values", k)
        spread = Interval.missing("too_few_values", k, confidence, Q_PROFILE)
        empty = Interval.missing("too_few_values", k, confidence, PREDICTION)
        return k, mean, interval, few, few, spread, q_value, q_p_value, share, empty, shares
    error = _error(values, weights)
    p_value = Value.of(min(1.0, 2 * float(stdtr(k - 1, -abs(centre) / error))), k)
    low, high = _q_profile(values, variances, confidence)
    reach = float(stdtrit(k - 2, (1 + confidence) / 2)) * math.sqrt(tau_squared + error**2)
    return (
        k,
        mean,
        interval,
        p_value,
        Value.of(math.sqrt(tau_squared), k),
        Interval.of(math.sqrt(low), math.sqrt(high), k, confidence, Q_PROFILE),
        q_value,
        q_p_value,
        share,
        Interval.of(centre - reach, centre + reach, k, confidence, PREDICTION),
        shares,
    )


def _mean_and_interval(
    values: Floats, variances: Floats, confidence: float
) -> tuple[Value, Interval]:
    from scipy.special import ndtri, stdtrit

    k = len(values)
    if k == 1:
        half = float(ndtri((1 + confidence) / 2)) * math.sqrt(variances[0])
        centre = float(values[0])
        return Value.of(centre, 1), Interval.of(centre - half, centre + half, 1, confidence, NORMAL)
    weights = 1 / (variances + paule_mandel(values, variances))
    centre = float(weights @ values / weights.sum())
    if k < MIN_STUDIES:
        empty = Interval.missing("too_few_values", k, confidence, KNAPP_HARTUNG)
        return Value.of(centre, k), empty
    half = float(stdtrit(k - 1, (1 + confidence) / 2)) * _error(values, weights)
    ends = centre - half, centre + half
    return Value.of(centre, k), Interval.of(*ends, k, confidence, KNAPP_HARTUNG)


def _error(values: Floats, weights: Floats) -> float:
    """Return the standard error of the weighted mean, with Hartung & Knapp's factor from 1 up."""
    centre = weights @ values / weights.sum()
    factor = float(weights @ (values - centre) ** 2) / (len(values) - 1)
    return math.sqrt(max(1.0, factor) / float(weights.sum()))


def _q(values: Floats, variances: Floats, tau_squared: float) -> float:
    weights = 1 / (variances + tau_squared)
    centre = weights @ values / weights.sum()
    return float(weights @ (values - centre) ** 2)


def paule_mandel(values: Floats, variances: Floats) -> float:
    """Return the variance between studies at which Q is what it would be on average, or 0.

    Examples
    --------
    >>> round(paule_mandel(np.array([0.0, 1.0, 2.0]), np.array([0.1, 0.1, 0.1])), 6)
    0.9
    """
    return _solved(values, variances, len(values) - 1.0)


def _solved(values: Floats, variances: Floats, target: float) -> float:
    """Return the variance between studies at which Q has a value; 0 where it is never as large."""
    from scipy.optimize import brentq

    if _q(values, variances, 0.0) <= target:
        return 0.0
    top = float(np.var(values)) + float(variances.max())
    while _q(values, variances, top) > target:
        top *= 2
    return float(brentq(lambda at: _q(values, variances, at) - target, 0.0, top, xtol=1e-14))


def _q_profile(values: Floats, variances: Floats, confidence: float) -> tuple[float, float]:
    from scipy.special import chdtri

    freedom, tail = len(values) - 1, (1 - confidence) / 2
    low = _solved(values, variances, float(chdtri(freedom, tail)))
    high = _solved(values, variances, float(chdtri(freedom, 1 - tail)))
    return low, high


def _normal_p(z: float) -> float:
    from scipy.special import ndtr

    return float(min(1.0, 2 * ndtr(-abs(z))))
