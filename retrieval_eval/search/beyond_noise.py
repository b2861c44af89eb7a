"""What lies beyond the noise of a system: a change held against how much its runs differ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from retrieval_eval.search.noise_level import RunToRun
from retrieval_eval.search.paired_change import POINTS

MOST_RUNS: Final = 100
"""Runs on either side beyond which nobody is told to repeat a run."""


def noise_band(*levels: RunToRun, is_deterministic: bool) -> float:
    """Return the standard deviation of one run to hold a change against, in points.

    Of several groups of runs the variances are pooled, each by its degrees of freedom. To the
    noise that was seen is added one query more that moves its whole step in one of the runs: what
    stood still in a handful of runs, as metrics of few queries do, will not do so for ever. It is 0
    where a metric of a deterministic system never moved.

    Examples
    --------
    >>> still = RunToRun(4, 50, 0.0, 0.0, 0.0, 0.0, 2.0, is_deterministic=True)
    >>> noise_band(still, is_deterministic=False), noise_band(still, is_deterministic=True)
    (1.0, 0.0)
    """
    if is_deterministic and all(level.is_deterministic for level in levels):
        return 0.0
    squares = math.fsum((level.n_runs - 1) * level.sd_points**2 for level in levels)
    seen = math.sqrt(squares / sum(level.n_runs - 1 for level in levels))
    n_runs = sum(level.n_runs for level in levels)
    unseen = POINTS / min(level.n_queries for level in levels) / math.sqrt(n_runs)
    return math.hypot(seen, unseen)


def beyond_noise(
    harm_points: float, error_points: float, freedom: int, *, step_points: float = 0.0
) -> float:
    """Return the one-sided p-value of a harm between two sides under run-to-run noise alone.

    The harm is one more difference of two runs of the system, or of the means of several
    (`error_of_means`), whose standard error was estimated with so many degrees of freedom:
    Student's t, less half a ``step_points``, since runs differ in whole steps (the continuity
    correction of Yates 1934). Of a deterministic system, with error 0, any harm is real.

    Examples
    --------
    >>> round(beyond_noise(0.5, error_of_means(0.25, 1, 1), 9), 3)
    0.095
    >>> beyond_noise(0.2, 0.0, 9), beyond_noise(0.0, 0.0, 9)
    (0.0, 1.0)
    """
    if error_points == 0:
        return 0.0 if harm_points > 0 else 1.0
    from scipy.special import stdtr

    return float(stdtr(freedom, (step_points / 2 - harm_points) / error_points))


@dataclass(frozen=True, slots=True)
class NoiseTest:
    """A harm held against run-to-run noise.

    ``p_value`` is one-sided (`beyond_noise`), ``error_points`` its standard error with ``freedom``
    degrees of freedom, and ``band_points`` the standard deviation of one run (`noise_band`).
    """

    p_value: float
    error_points: float
    freedom: int
    band_points: float


def noise_test(
    harm_points: float,
    levels: Sequence[RunToRun],
    n_runs: tuple[int, int],
    *,
    is_deterministic: bool,
) -> NoiseTest:
    """Hold the harm between two means of so many runs against the noise of groups of runs.

    Each group is of one system, and at least one is needed; the variances are pooled. Means of
    several runs come in finer steps than runs.
    """
    band = noise_band(*levels, is_deterministic=is_deterministic)
    error = error_of_means(band, *n_runs)
    freedom = sum(level.n_runs - 1 for level in levels)
    step = min(level.step_points for level in levels) / max(n_runs)
    p_value = beyond_noise(harm_points, error, freedom, step_points=step)
    return NoiseTest(p_value, error, freedom, band)


def error_of_means(band_points: float, n_runs: int, n_other: int) -> float:
    """Return the standard error of the difference between two means of so many runs, in points."""
    return band_points * math.sqrt(1 / n_runs + 1 / n_other)


def runs_needed(
    points: float, band_points: float, freedom: int, *, alpha: float, power: float = 0.95
) -> int | None:
    """Return the least number of runs on either side whose means would show a harm.

    Parameters
    ----------
    points
        The harm, in points.
    band_points
        The standard deviation of one run (`noise_band`).
    freedom
        Degrees of freedom with which that is known from elsewhere, such as a noise file; each side
        of k runs adds k - 1.
    alpha
        Level of the one-sided t test.
    power
        In which share of studies it is to be found.

    Returns
    -------
    int or None
        None where more than :data:`MOST_RUNS` would be needed.

    Examples
    --------
    >>> runs_needed(2.0, 0.7, 9, alpha=0.01)
    5
    """
    from scipy.special import stdtrit

    for n in range(1, MOST_RUNS + 1):
        known = freedom + 2 * (n - 1)
        if not known:
            continue
        steps = float(stdtrit(known, 1 - alpha) + stdtrit(known, power))
        if steps * error_of_means(band_points, n, n) <= points:
            return n
    return None
