"""Power of one-sided tests of a mean harm: by sign flips, and beyond measured noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from retrieval_eval.stats.resampling import Floats

_WIDEST: Final = 6.0
"""Standard deviations of a count of moved units that are looked at on either side."""
_QUANTILES: Final = 256
_MOST_COUNTS: Final = 500
_SURE: Final = 30.0
"""Standard errors beyond which a harm is always found."""
_ROUNDING: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Moves:
    """How single units move: a share of them at all, and how far, up or down.

    ``root_mean_square`` is that of the units that move, in the unit of the harm. Where ``is_even``
    they all move equally far, as what is right or wrong does.
    """

    share: float
    root_mean_square: float
    is_even: bool = False

    def towards(self, harm: float) -> tuple[float, float, float]:
        """Return share, mean and standard deviation of moved units whose mean over all is a harm.

        Where so few and small moves cannot make that mean, more units move, and all of them alike.
        """
        share, size = self.share, self.root_mean_square
        if abs(harm) > share * size:
            share = min(1.0, abs(harm) / size) if size > 0 else 1.0
            size = abs(harm) / share
        mean = harm / share if share else 0.0
        return share, mean, math.sqrt(max(size**2 - mean**2, 0.0))

    def with_drop(self, harm: float) -> Moves:
        """Return the moves where a harm comes on top: further units move, as far as the others.

        Examples
        --------
        >>> Moves(0.1, 20.0).with_drop(2.0).share
        0.2
        """
        if self.root_mean_square <= 0:
            return self
        share = min(1.0, self.share + abs(harm) / self.root_mean_square)
        return Moves(share, self.root_mean_square, self.is_even)

    def spread(self, harm: float) -> float:
        """Return the standard deviation over all units, those that do not move included.

        Examples
        --------
        >>> round(Moves(0.1, 20.0).spread(2.0), 2)
        6.0
        """
        share, mean, inner = self.towards(harm)
        return math.sqrt(max(share * (mean**2 + inner**2) - harm**2, 0.0))


def power_of_flips(harm: float, moves: Moves, n: int, *, level: float, limit: float = 0.0) -> float:
    """Return how often a one-sided sign-flip test finds a mean harm above a limit.

    Found means that the mean of ``n`` units exceeds ``limit``, and that the test rejects at
    ``level``. How many units move is binomial; of those that move equally far the power is exact,
    otherwise they are taken as normal, and the level as what so many signs can reach.

    Parameters
    ----------
    harm
        The true mean harm over all units.
    moves
        How single units move.
    n
        Number of units.
    level
        One-sided level; 1: no test, the limit alone decides.
    limit
        The largest mean harm that is no finding, in the unit of ``harm``.

    Examples
    --------
    >>> round(power_of_flips(2.0, Moves(0.1, 20.0), 200, level=0.01, limit=0.5), 2)
    1.0
    >>> round(power_of_flips(2.0, Moves(0.1, 60.0), 200, level=0.01, limit=0.5), 2)
    0.2
    """
    share, mean, inner = moves.towards(harm)
    counts, chances = _counts(n, share)
    size = math.hypot(mean, inner)
    is_even = moves.is_even or inner <= 1e-9 * size
    if is_even:
        found = _of_even(counts, (1 + mean / size) / 2 if size else 0.5, size, n * limit, level)
    else:
        found = _of_normal(counts, mean, inner, n * limit, level)
    return float(np.clip(found @ chances, 0.0, 1.0))


def _counts(n: int, share: float) -> tuple[Floats, Floats]:
    """Return counts of units that move, and their chances."""
    centre, reach = n * share, _WIDEST * math.sqrt(n * share * (1 - share)) + 1
    low, high = max(0, math.floor(centre - reach)), min(n, math.ceil(centre + reach))
    step = max(1, (high - low) // _MOST_COUNTS)
    counts = np.arange(low, high + 1, step, dtype=np.float64)
    upper = _at_most(np.minimum(counts + step - 1, n), np.full_like(counts, n), share)
    chances = np.diff(upper, prepend=0.0)
    return counts, chances / chances.sum()


def _of_even(counts: Floats, chance: float, size: float, above: float, level: float) -> Floats:
    """Return by count of moved units how often enough of them move to the bad side."""
    # The least number b of harmed units with P(Bin(k, 1/2) >= b) <= level, by bisection.
    low, high = np.full_like(counts, -1.0), counts + 1
    while bool(np.any(high - low > 1)):
        middle = np.floor((low + high) / 2)
        # Of k signs at least b are up as often as at most k - b.
        is_enough = _at_most(counts - middle, counts, 0.5) <= level
        high, low = np.where(is_enough, middle, high), np.where(is_enough, low, middle)
    beyond = (above / size if size else math.inf) * (1 + _ROUNDING)
    needed = np.maximum(high, np.floor((counts + beyond) / 2) + 1)
    # And of k moves at least b are harms as often as at most k - b are none.
    return _at_most(counts - needed, counts, 1 - chance)


def _at_most(k: Floats, n: Floats, chance: float) -> Floats:
    """Return the binomial chances of at most ``k`` of ``n``."""
    from scipy.special import betainc

    inside = betainc(np.maximum(n - k, 1e-9), np.maximum(k + 1, 1e-9), 1 - chance)
    found: Floats = np.where(k < 0, 0.0, np.where(k >= n, 1.0, inside))
    return found


def _of_normal(counts: Floats, mean: float, inner: float, above: float, level: float) -> Floats:
    """Return by count of moved units how often their sum is large enough, if they are normal.

    The sign-flip test is then about as strong as the t test at the level it can reach (Hoeffding
    1952).
    """
    from scipy.special import nctdtr, ndtr, stdtrit

    scale = inner / np.sqrt(np.maximum(counts, 1.0))
    enough = np.where(counts > 0, ndtr((mean - above / np.maximum(counts, 1)) / scale), above < 0)
    if level >= 1:
        return np.asarray(enough, np.float64)
    # So many signs have p-values in steps of 2 ** -k.
    steps = 2.0 ** np.minimum(counts, 50)
    reached = np.floor(level * steps) / steps
    freedom = np.maximum(counts - 1, 1.0)
    shift = np.minimum(mean / scale, _SURE)
    found = 1 - nctdtr(freedom, shift, -stdtrit(freedom, np.maximum(reached, 1e-300)))
    # Far out its series does not converge, and nothing is left to find.
    found = np.where(np.isnan(found), shift > 0, found)
    least: Floats = np.where((reached > 0) & (counts > 1), np.minimum(found, enough), 0.0)
    return least


def power_beyond_noise(
    harm: float,
    error: float,
    freedom: int,
    *,
    level: float,
    limit: float = 0.0,
    step: float = 0.0,
    least_estimate: float = 0.0,
    sampling_error: float = 0.0,
) -> float:
    """Return how often a harm above a limit is found beyond noise whose size was estimated.

    Found means that the observed harm exceeds ``limit``, and Student's one-sided t test against an
    estimate of ``error`` at ``level``. Averaged over the estimates that so many degrees of freedom
    give (chi-square).

    Parameters
    ----------
    harm
        The true harm.
    error
        True standard error of a difference without a cause.
    freedom
        Degrees of freedom with which it is estimated.
    level
        One-sided level; 1: no test.
    limit
        The largest harm that is no finding.
    step
        The smallest step of a difference, half of which is attributed to chance.
    least_estimate
        What the error is never estimated below.
    sampling_error
        How much the harm itself varies with the units that were drawn.

    Examples
    --------
    >>> round(power_beyond_noise(2.0, 0.4, 9, level=0.05, limit=0.5), 2)
    1.0
    >>> round(power_beyond_noise(2.0, 1.0, 9, level=0.05, limit=0.5), 2)
    0.58
    """
    from scipy.special import gammaincinv, ndtr, stdtrit

    shares = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
    half = freedom / 2
    estimates = np.maximum(error * np.sqrt(gammaincinv(half, shares) / half), least_estimate)
    least = np.full(_QUANTILES, limit)
    if level < 1:
        least = np.maximum(least, -stdtrit(freedom, level) * estimates + step / 2)
    total = math.hypot(error, sampling_error)
    if total == 0:
        return float(harm > limit + _ROUNDING)
    return float(ndtr((harm - least) / total).mean())
