"""Shares and means with their intervals: of all, by a time, by cells of a predictor.

Nothing here loads numpy or scipy for few units, which most runs have.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

from retrieval_eval.stats import BOOTSTRAP_T, MIN_VALUES
from retrieval_eval.values import Interval, Value, ratio

if TYPE_CHECKING:
    from retrieval_eval.stats.resampling import Floats

# --------------------------------------------------------------------------------------------------
# Quantiles of the normal, beta and t distributions, without loading scipy for few units.

_MOST_PLAIN: Final = 60
"""Beyond this sum of its parameters rounding in logarithms of factorials exceeds 1e-13."""
_MOST_STEPS: Final = 10_000
_CLOSE: Final = 1e-16
_HALF: Final = 0.5
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
    # Of t² / (degrees of freedom + t²) and the rest of it, that which is not near 1.
    half = degrees_of_freedom / 2
    if share == _HALF:
        return 0.0
    if half < 1:
        rest = beta_quantile(half, 0.5, 2 * (1 - share))
        return math.sqrt(degrees_of_freedom * (1 - rest) / rest)
    squared = beta_quantile(0.5, half, 2 * share - 1)
    return math.sqrt(degrees_of_freedom * squared / (1 - squared))


def t_share_below(degrees_of_freedom: float, value: float) -> float:
    """Return the probability with which Student's t lies below a number.

    Examples
    --------
    >>> round(t_share_below(9, -1.41421356), 6), t_share_below(600, 0.0)
    (0.095474, 0.5)
    """
    if not value or math.isinf(value):
        return 0.5 if not value else float(value > 0)
    part = value * value / (degrees_of_freedom + value * value)
    # Of the two parts that add up to 1, the one that is not near 1.
    if part < _HALF:
        beyond = (1 - _share_below(part, _HALF, degrees_of_freedom / 2)) / 2
    else:
        rest = degrees_of_freedom / (degrees_of_freedom + value * value)
        beyond = _share_below(rest, degrees_of_freedom / 2, _HALF) / 2
    return beyond if value < 0 else 1 - beyond


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
    if a + b > _MOST_PLAIN and a != _HALF:
        from scipy.special import betaincinv

        return float(betaincinv(a, b, share))
    low, high, x = 0.0, 1.0, a / (a + b)
    for _ in range(200):
        error = _share_below(x, a, b) - share
        low, high = (low, x) if error > 0 else (x, high)
        # Newton's step, or half of what is left where it leads out of it.
        slope = _density(x, a, b)
        following = x - error / slope if slope else math.nan
        if not low < following < high:
            following = (low + high) / 2
        if abs(following - x) <= 4e-16 * x:
            break
        x = following
    return x


def _share_below(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function, by its continued fraction (Lentz)."""
    if x > (a + 1) / (a + b + 2):
        return 1 - _share_below(1 - x, b, a)
    upper, lower = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    total = lower
    for n in range(1, _MOST_STEPS):
        even = a + 2 * n
        for part in (
            n * (b - n) * x / ((even - 1) * even),
            -(a + n) * (a + b + n) * x / (even * (even + 1)),
        ):
            upper = 1 + part / upper
            lower = 1 / (1 + part * lower)
            total *= upper * lower
        if abs(upper * lower - 1) < _CLOSE:
            break
    return total * _density(x, a, b) * x * (1 - x) / a


def _density(x: float, a: float, b: float) -> float:
    return math.exp((a - 1) * math.log(x) + (b - 1) * math.log1p(-x) - _log_beta(a, b))


@lru_cache(maxsize=1024)
def _log_beta(a: float, b: float) -> float:
    large = max(a, b)
    if min(a, b) == _HALF and 2 * large > _MOST_PLAIN:
        # Γ(large + ½) / Γ(large) by its asymptotic series, where the difference of two large
        # logarithms would lose what it rests on.
        terms = (-1 / 8, 1 / 192, -1 / 640, 17 / 14336)
        series = sum(term / large ** (2 * n + 1) for n, term in enumerate(terms))
        return math.lgamma(_HALF) - math.log(large) / 2 - series
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


# --------------------------------------------------------------------------------------------------
# Intervals of a proportion, without loading numpy: runs of few trials need no others.


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


# --------------------------------------------------------------------------------------------------
# By when units had an event, as a share of all of them.


@dataclass(frozen=True, slots=True)
class Reached:
    """The share of all units that had an event by a time; one without it never had it.

    ``curve`` has a step for each time of an event. ``median`` is the first time by which half of
    all units had it, missing where fewer did (``never_hit``); of ``median_interval`` the upper end
    is missing where it may be never.
    """

    n: int
    n_events: int
    curve: tuple[tuple[float, float], ...]
    never: Value
    never_interval: Interval
    median: Value
    median_interval: tuple[float | None, float | None]


def reached(times: Sequence[float | None], *, confidence: float = 0.95) -> Reached:
    """Return by when units had an event, None for one that never had it.

    The share by a time is that of all units, so nothing is assumed of those without the event: an
    agent that stops has not found anything by any time. The interval of the share that never has
    it is Wilson's, that of the median one of order statistics, where never is later than any time.

    Raises
    ------
    ValueError
        When a time is negative or not finite.

    Examples
    --------
    >>> found = reached([1.0, 2.0, 2.0, None])
    >>> found.curve, found.median.value, found.never.value
    (((1.0, 0.25), (2.0, 0.75)), 2.0, 0.25)
    """
    happened = sorted(time for time in times if time is not None)
    if any(not 0 <= time < math.inf for time in happened):
        raise ValueError("a time of an event is negative or not finite")
    n, k = len(times), len(happened)
    steps = dict(zip(happened, range(1, k + 1), strict=True))  # of equal times the last count
    half = math.ceil(n / 2)
    median = Value.missing("never_hit" if n else "too_few_values", n)
    if n and half <= k:
        median = Value.of(happened[half - 1], n)
    place = _median_place(n, confidence)
    ends: tuple[float | None, float | None] = (None, None)
    if place:
        ends = tuple(happened[i] if i < k else None for i in (place - 1, n - place))  # type: ignore[assignment]
    return Reached(
        n,
        k,
        tuple((time, count / n) for time, count in steps.items()),
        ratio(n - k, n, "too_few_values"),
        wilson(n - k, n, confidence=confidence),
        median,
        ends,
    )


def _median_place(n: int, confidence: float) -> int:
    """Return which value from each end of n ordered ones bounds the median; 0 if none does.

    The binomial distribution says how often so many of n values lie below their median.
    """
    tail, below = (1 - confidence) / 2, 0.0
    whole = math.lgamma(n + 1) - n * math.log(2)
    for i in range(n):
        below += math.exp(whole - math.lgamma(i + 1) - math.lgamma(n - i + 1))
        if below >= tail:
            return i
    return 0


# --------------------------------------------------------------------------------------------------
# Calibration: the mean outcome by cells of a predictor, with n and interval.

MIN_INTERPRETABLE: Final = 5
"""A cell with fewer units is shown with its n and not interpreted."""


@dataclass(frozen=True, slots=True)
class Cell:
    """Mean outcome and interval of some units, and whether they are enough to interpret."""

    n: int
    mean: Value
    interval: Interval
    is_interpretable: bool


def cell(
    outcomes: Sequence[float] | Floats,
    *,
    is_binary: bool,
    seed: int,
    n_resamples: int = 10_000,
    confidence: float = 0.95,
) -> Cell:
    """Return mean and interval of the outcomes of independent units.

    Wilson's interval for outcomes that can only be 0 or 1, else the studentised bootstrap. The
    mean of no units is not computable (``too_few_values``), nor the interval of one. Below five
    units the cell is not interpretable, whatever its interval says.

    Raises
    ------
    ValueError
        When an outcome is not finite, or ``is_binary`` and one is neither 0 nor 1.

    Examples
    --------
    >>> found = cell([1, 1, 1, 0], is_binary=True, seed=1)
    >>> found.mean.value, round(found.interval.low.value, 3), found.is_interpretable
    (0.75, 0.301, False)
    """
    data = _finite(outcomes)
    n = len(data)
    if is_binary and not is_binary_row(data):
        raise ValueError("a binary outcome is 0 or 1")
    if is_binary and n > 1:
        interval = wilson(int(sum(data)), n, confidence=confidence)
    elif n < MIN_VALUES:
        interval = Interval.missing("too_few_values", n, confidence, BOOTSTRAP_T)
    else:
        from retrieval_eval.stats.intervals import bootstrap_mean

        interval = bootstrap_mean(data, seed=seed, n_resamples=n_resamples, confidence=confidence)
    mean = Value.of(math.fsum(data) / n, n) if n else Value.missing("too_few_values")
    return Cell(n, mean, interval, n >= MIN_INTERPRETABLE)


def is_binary_row(outcomes: Sequence[float] | Floats) -> bool:
    """Whether every outcome is 0 or 1."""
    return {0.0, 1.0}.issuperset(_finite(outcomes))


def _finite(values: Sequence[float] | Floats) -> list[float]:
    """Return the values as plain floats; raises ``ValueError`` unless all are finite."""
    row = [float(value) for value in values]
    if not all(map(math.isfinite, row)):
        raise ValueError("expected finite numbers: drop missing values first")
    return row


# --------------------------------------------------------------------------------------------------
# Two shares of the same units, which are there or not.


def mcnemar_p(n_up: int, n_down: int) -> float:
    """Return the exact two-sided p that ups and downs are equally likely (McNemar's test).

    Examples
    --------
    >>> mcnemar_p(6, 0), mcnemar_p(0, 0)
    (0.03125, 1.0)
    """
    n = n_up + n_down
    tail = sum(math.comb(n, k) for k in range(min(n_up, n_down) + 1))
    return float(min(1.0, 2 * tail / 2**n))


def tango(n_up: int, n_down: int, n: int, *, confidence: float = 0.95) -> Interval:
    """Return the score interval of the difference of two shares of the same units (Tango 1998).

    Parameters
    ----------
    n_up, n_down
        Units that are there in the second row alone, and in the first alone.
    n
        All units. Not computable when there are none (``too_few_values``).

    Raises
    ------
    ValueError
        Unless the counts fit into ``n``.

    Examples
    --------
    >>> ends = tango(12, 188, 500)
    >>> round(ends.low.value, 3), round(ends.high.value, 3)
    (-0.398, -0.306)
    """
    if min(n_up, n_down) < 0 or n_up + n_down > n:
        raise ValueError("ups and downs are parts of n")
    if n == 0:
        return Interval.missing("too_few_values", 0, confidence, "tango")
    z = normal_quantile((1 + confidence) / 2)

    def score(difference: float) -> float:
        linear = (2 * n - n_up + n_down) * difference - n_up - n_down
        constant = -n_down * difference * (1 - difference)
        down = (math.sqrt(max(0.0, linear * linear - 8 * n * constant)) - linear) / (4 * n)
        spread = n * (2 * down + difference * (1 - difference))
        return (n_up - n_down - n * difference) / math.sqrt(max(spread, 1e-300))

    centre = (n_up - n_down) / n
    low = -1.0 if n_down == n else root_of(lambda at: score(at) - z, -1.0, centre)
    high = 1.0 if n_up == n else root_of(lambda at: score(at) + z, centre, 1.0)
    return Interval.of(low, high, n, confidence, "tango")


def root_of(falling: Callable[[float], float], low: float, high: float) -> float:
    """Return where a falling function is 0, by halving."""
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return (low + high) / 2


def hypergeometric_tail(least: int, n_all: int, n_part: int, n_drawn: int) -> float:
    """Return the probability that at least so many of those drawn are of a part.

    ``n_drawn`` of ``n_all`` are drawn without replacement, ``n_part`` of all are of the part.

    Examples
    --------
    >>> round(hypergeometric_tail(2, 10, 3, 4), 4)
    0.3333
    """

    def ways(n: int, k: int) -> float:
        return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)

    counts = range(max(least, n_drawn - (n_all - n_part), 0), min(n_part, n_drawn) + 1)
    total = ways(n_all, n_drawn)
    terms = (ways(n_part, k) + ways(n_all - n_part, n_drawn - k) - total for k in counts)
    return min(1.0, math.fsum(map(math.exp, terms)))
