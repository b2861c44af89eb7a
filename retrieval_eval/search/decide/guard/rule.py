"""The decision of the guard as a pure function of numbers, for one run or thousands at once."""

from __future__ import annotations

import math
from typing import Final, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from retrieval_eval.stats.resampling import MIN_PAIRS_FOR_P, Floats, sign_flip_p

Rule = Literal[
    "threshold_and_real", "threshold", "threshold_and_significant", "threshold_and_beyond_noise"
]
RULES: Final = get_args(Rule)
"""The rules of ``guard.toml``; the first is the shipped one."""

HOLDS: Final = 0
"""The change does not exceed its threshold."""
WITHIN_NOISE: Final = 1
"""It does, no more than chance would move, and a change that matters would have been seen."""
UNDECIDED: Final = 2
"""It does, no more than chance would move, but neither would a change that matters be seen."""
BREACH: Final = 3
"""It does, and under the rule that fails."""

POWER: Final = 0.8
SMALLEST_RESOLUTION: Final = 2.0
RESOLUTION_FACTOR: Final = 4.0

# A change of exactly the threshold is allowed, and sums of shares are off by their last digits.
_ROUNDING: Final = 1e-9


class Decided(NamedTuple):
    """Decisions by row, Holm-adjusted p-values, and the changes 80 % of such runs would show.

    NaN where there is no test.
    """

    codes: NDArray[np.int8]
    p_adjusted: Floats
    detectable_points: Floats


def decide(
    harm_points: ArrayLike,
    limit_points: ArrayLike,
    p_values: ArrayLike,
    error_points: ArrayLike,
    freedom: ArrayLike,
    *,
    rule: Rule = "threshold_and_real",
    alpha: float = 0.05,
) -> Decided:
    """Decide every row of one guard or, with leading dimensions, of many guards.

    The last dimension holds the rows of one guard: the family over which p-values are adjusted
    (Holm 1979). Under ``threshold`` a change beyond its limit is a breach. Under the other rules,
    which differ in where the p-values come from, it is one when its adjusted p-value is at most
    ``alpha`` too, or when there is no test (NaN). Otherwise it is noise if the run would, with 80 %
    power, have shown a change of 2 points or four times the limit, whichever is more; if not, it
    is undecided: a guard that could not have seen a change does not pass.

    Parameters
    ----------
    harm_points
        Changes in points, positive where they are bad.
    limit_points
        Largest allowed harm.
    p_values
        One-sided p-values of the harm (`harm_test`, `beyond_noise`), NaN where there is no test.
    error_points
        Standard errors of the harm, in points; NaN where there is no test.
    freedom
        Degrees of freedom of these standard errors.

    Examples
    --------
    >>> decide([2.0, 0.4], [0.5, 0.5], [0.001, 0.3], [0.5, 0.5], [600, 600]).codes.tolist()
    [3, 0]
    >>> decide([0.6], [0.5], [0.2], [0.5], [600]).codes.tolist()
    [1]
    >>> decide([6.0], [0.5], [0.2], [5.0], [20]).codes.tolist()
    [2]
    """
    harm, limit, p, error, known = np.broadcast_arrays(
        *(np.asarray(a, np.float64) for a in (harm_points, limit_points, p_values, error_points)),
        np.asarray(freedom, np.float64),
    )
    adjusted = _holm(p)
    detectable = _detectable(p, error, known, alpha)
    is_beyond = harm > limit + _ROUNDING
    codes = np.where(is_beyond, BREACH, HOLDS).astype(np.int8)
    if rule != "threshold":
        is_open = is_beyond & (adjusted > alpha)
        is_shown = detectable <= resolution(limit)
        codes[is_open] = np.where(is_shown, WITHIN_NOISE, UNDECIDED)[is_open]
    return Decided(codes, adjusted, detectable)


def resolution(limit_points: ArrayLike) -> Floats:
    """Return the change that a run must be able to show, in points, by the largest allowed one."""
    found: Floats = np.maximum(SMALLEST_RESOLUTION, RESOLUTION_FACTOR * np.asarray(limit_points))
    return found


def harm_test(harms: Floats, *, seed: int, n_resamples: int = 10_000) -> tuple[float, float]:
    """Return the one-sided sign-flip p-value of the mean harm, and its standard error.

    The null hypothesis: whichever run a query's answer came from, it might as well have come from
    the other. The test is that of `sign_flip_p`, halved, for its null distribution is symmetric.
    Below six pairs nothing could be significant: the p-value is 1 and the error infinite.

    Parameters
    ----------
    harms
        One number a query, positive where it got worse; the standard error is in its unit.
    seed
        Seed of the Monte-Carlo test, used when more than 20 queries moved.

    Examples
    --------
    >>> import numpy as np
    >>> harm_test(np.array([1.0, 1.0, 1.0, 1.0, 1.0, 1.0]), seed=1)
    (0.015625, 0.0)
    """
    n = len(harms)
    if n < MIN_PAIRS_FOR_P:
        return 1.0, math.inf
    error = float(np.std(harms, ddof=1)) / math.sqrt(n)
    two_sided = sign_flip_p(harms, seed=seed, n_resamples=n_resamples)[0].value
    if two_sided is None:
        return 1.0, error
    is_harm = math.fsum(harms) > 0
    return (two_sided / 2 if is_harm else 1 - two_sided / 2), error


def _holm(p: Floats) -> Floats:
    order = np.argsort(p, axis=-1, kind="stable")  # NaN last
    ordered = np.take_along_axis(p, order, axis=-1)
    m = np.sum(~np.isnan(p), axis=-1, keepdims=True)
    factors = m - np.arange(p.shape[-1])
    stepped = np.minimum(np.maximum.accumulate(ordered * np.maximum(factors, 1), axis=-1), 1.0)
    adjusted = np.empty_like(p)
    np.put_along_axis(adjusted, order, stepped, axis=-1)
    return adjusted


def _detectable(p: Floats, error: Floats, freedom: Floats, alpha: float) -> Floats:
    """Return what a one-sided t test at the strictest level of the family finds with 80 % power."""
    from scipy.special import stdtrit

    m = np.maximum(np.sum(~np.isnan(p), axis=-1, keepdims=True), 1)
    freedom = np.maximum(freedom, 1)
    steps = stdtrit(freedom, 1 - alpha / m) + stdtrit(freedom, POWER)
    found: Floats = np.where(np.isnan(p), np.nan, steps * error)
    return found
