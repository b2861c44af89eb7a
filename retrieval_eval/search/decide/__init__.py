"""Run-to-run noise as numbers, and the decision of the guard by them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, get_args

import numpy as np
from msgspec.structs import replace
from numpy.typing import ArrayLike, NDArray

from retrieval_eval.model.guard import DetectablePoints, QuerySampling, RunToRun
from retrieval_eval.search.change.paired_change import POINTS, Resampling, linear
from retrieval_eval.search.run.named_metrics import Share
from retrieval_eval.stats.power import detectable_by_test_and_interval
from retrieval_eval.stats.proportions import t_quantile, t_share_below
from retrieval_eval.stats.resampling import (
    MIN_PAIRS_FOR_P,
    Floats,
    is_constant,
    resample,
    sign_flip_p,
)

QUERY_COUNTS: Final = (50, 100, 200, 400, 600, 1_000, 2_000, 5_000)
"""Numbers of queries for which the smallest detectable changes are listed."""
MOST_RUNS: Final = 100
"""Runs on either side beyond which no number of repeats is recommended."""


class NoiseLevel(RunToRun, frozen=True, kw_only=True):
    """The run-to-run noise of one metric, in points, and what it is known from.

    ``sd_of_runs_points`` is the standard deviation (n - 1) of the runs' values;
    ``sd_by_query_points`` what it would be if queries varied independently, from the spread of
    each query between the runs. ``sd_points`` is the larger of the two: the first misjudges the
    noise where runs are few, the second where something moves all queries at once.
    ``largest_delta_points`` is the largest distance between two runs. All are exactly 0, and
    ``is_deterministic``, when no query ever moved. ``step_points`` is the least by which one query
    can move the metric: the smallest distance between two values that queries had, a whole 1 where
    all had the same.
    """

    n_runs: int
    n_queries: int


def run_to_run(table: Floats) -> NoiseLevel:
    """Return the noise of a metric that is a mean over queries.

    Parameters
    ----------
    table
        A row for each run, at least two, and a column for each query.

    Examples
    --------
    >>> found = run_to_run(np.array([[1.0, 0.0], [1.0, 0.5]]))
    >>> round(found.largest_delta_points, 6), found.is_deterministic
    (25.0, False)
    """
    n_runs, n = table.shape
    step = POINTS * _smallest_gap(table) / n
    if _is_still(table):
        return _still(n_runs, n, step)
    means = table.mean(axis=1)
    of_runs = POINTS * float(means.std(ddof=1))
    by_query = POINTS * math.sqrt(float(table.var(axis=0, ddof=1).sum())) / n
    return NoiseLevel(
        n_runs=n_runs,
        n_queries=n,
        sd_points=max(of_runs, by_query),
        sd_of_runs_points=of_runs,
        sd_by_query_points=by_query,
        largest_delta_points=POINTS * float(np.ptp(means)),
        step_points=step,
        is_deterministic=False,
    )


def _still(n_runs: int, n_queries: int, step_points: float) -> NoiseLevel:
    """Return the level of a metric that no query ever moved."""
    return NoiseLevel(
        n_runs=n_runs,
        n_queries=n_queries,
        sd_points=0.0,
        sd_of_runs_points=0.0,
        sd_by_query_points=0.0,
        largest_delta_points=0.0,
        step_points=step_points,
        is_deterministic=True,
    )


def _smallest_gap(table: Floats) -> float:
    # Values are quotients and sums: what differs in the last digits only is the same.
    gaps = np.diff(np.unique(table.round(9)))
    return float(gaps.min()) if gaps.size else 1.0


def _is_still(table: Floats) -> bool:
    return bool((table == table[0]).all())


def by_query(runs: Sequence[Mapping[str, Share]]) -> Floats:
    """Return what each query adds to a metric in every run: runs by queries that all runs have.

    A metric that is a quotient of sums is linearised in the queries, so that the mean of a row is
    its value in that run.
    """
    shared = sorted(set.intersection(*({q for q, (_, w) in run.items() if w} for run in runs)))
    return np.array([linear([run[query] for query in shared]) for run in runs])


def query_sampling(table: Floats, resampling: Resampling) -> QuerySampling:
    """Return how much a metric varies with the queries, by a paired bootstrap over them.

    Queries are resampled with all their runs. ``level_sd_points`` is the standard deviation of a
    run's mean, which matters where runs are of different queries; ``delta_sd_points`` that of the
    difference of two runs of the same queries, where what the queries have in common cancels.
    """
    columns = np.ascontiguousarray(table.T)
    means = resample(
        lambda rows: columns.take(rows, axis=0).mean(axis=1),
        table.shape[1],
        resampling.n_resamples,
        resampling.seed,
    )
    covariance = np.cov(means, rowvar=False)
    variances = np.diag(covariance)
    n_runs = len(table)
    of_pairs = 2 * (n_runs * variances.sum() - covariance.sum()) / (n_runs * (n_runs - 1))
    # Rounding can leave the variance of nothing a hair below 0.
    return QuerySampling(
        level_sd_points=POINTS * math.sqrt(max(float(variances.mean()), 0.0)),
        delta_sd_points=0.0 if _is_still(table) else POINTS * math.sqrt(max(float(of_pairs), 0.0)),
    )


def detectable_changes(
    table: Floats, sd_points: float, differences: Sequence[float] | None, n: int | None = None
) -> DetectablePoints:
    """Return the smallest changes that 80 % of comparisons would find, in points.

    What hides a change is how much it varies from query to query, and that depends on the change.
    ``run_to_run`` is the best case: every query moves alike, and the noise of the runs alone
    hides it (0: any change shows). ``change`` is as for the given differences, and ``unrelated``
    the worst case: two systems with nothing in common but their quality. None where there is no
    such number: without differences, below six queries, or when all values are alike.

    Parameters
    ----------
    table
        Runs by queries.
    sd_points
        Run-to-run standard deviation of a mean.
    differences
        By how much a typical change moved each query.
    n
        Number of queries to compare; None: those of the table.
    """
    n_queries = table.shape[1]
    n = n_queries if n is None else n
    between_runs = math.sqrt(2 * n_queries) * sd_points
    typical = None if differences is None else _spread(differences)
    return DetectablePoints(
        run_to_run=_detectable(between_runs, n),
        change=None if typical is None else _detectable(max(typical, between_runs), n),
        unrelated=_detectable(_spread(math.sqrt(2.0) * table.mean(axis=0)), n),
    )


def _spread(values: Sequence[float] | Floats) -> float | None:
    """Return the standard deviation (n - 1) in points, None where values do not vary."""
    found = np.asarray(values, np.float64)
    return None if len(found) < 2 or is_constant(found) else POINTS * float(found.std(ddof=1))


def _detectable(sd_points: float | None, n: int) -> float | None:
    if sd_points is None:
        return None
    return 0.0 if sd_points == 0 else detectable_by_test_and_interval(sd_points, n).value


def noise_band(*levels: NoiseLevel, is_deterministic: bool) -> float:
    """Return the run-to-run standard deviation used as the noise level, in points.

    Of several groups of runs the variances are pooled, each by its degrees of freedom. To the
    noise that was seen is added one query more that moves its whole step in one of the runs: what
    stood still in a handful of runs, as metrics of few queries do, will not do so for ever. It is 0
    where a metric of a deterministic system never moved.

    Examples
    --------
    >>> still = run_to_run(np.ones((4, 50)))
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


def noise_of_part(level: NoiseLevel, n_queries: int, pair_error_points: float) -> NoiseLevel:
    """Return the run-to-run noise of a part of the queries, from that of all of them.

    What moves whole runs is as large in a part as in the whole. What moves single queries averages
    out less over fewer of them: it is larger by the root of the ratio of their numbers, or as large
    as the compared pair of runs shows it in the part itself, if that is more. Never less than for
    all queries.

    Parameters
    ----------
    level
        The noise over all queries.
    n_queries
        Queries of the part.
    pair_error_points
        Standard error of the mean difference between the two compared runs over the part. Infinite
        where it is not known: all noise by query is then taken to be in the part.

    Examples
    --------
    >>> whole = run_to_run(np.array([[1.0, 0.0, 0.5, 0.5], [1.0, 0.5, 0.5, 0.5]]))
    >>> parts = [noise_of_part(whole, 1, error) for error in (0.0, math.inf)]
    >>> [round(part.sd_points / whole.sd_points, 3) for part in (whole, *parts)]
    [1.0, 2.0, 4.0]
    """
    ratio = max(level.n_queries / n_queries, 1.0)
    usual = level.sd_by_query_points
    shown = pair_error_points / math.sqrt(2.0)
    by_query = max(usual * math.sqrt(ratio), shown) if math.isfinite(shown) else usual * ratio
    # What the runs vary by beyond what independent queries would.
    in_common = max(level.sd_of_runs_points**2 - usual**2, 0.0)
    return replace(
        level,
        n_queries=n_queries,
        sd_points=max(level.sd_points, math.sqrt(in_common + by_query**2)),
        sd_of_runs_points=math.sqrt(in_common + by_query**2),
        sd_by_query_points=by_query,
        largest_delta_points=level.largest_delta_points * ratio,
        step_points=level.step_points * ratio,
    )


def beyond_noise(
    harm_points: float, error_points: float, freedom: int, *, step_points: float = 0.0
) -> float:
    """Return the one-sided p-value of a harm between two sides under run-to-run noise alone.

    The harm is one more difference of two runs of the system, or of the means of several
    (`error_of_means`), whose standard error was estimated with ``freedom`` degrees of freedom:
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
    return t_share_below(freedom, (step_points / 2 - harm_points) / error_points)


@dataclass(frozen=True, slots=True)
class NoiseTest:
    """A harm compared with run-to-run noise.

    ``p_value`` is one-sided (`beyond_noise`), ``error_points`` its standard error with ``freedom``
    degrees of freedom, and ``band_points`` the standard deviation of one run (`noise_band`).
    """

    p_value: float
    error_points: float
    freedom: int
    band_points: float


def noise_test(
    harm_points: float,
    levels: Sequence[NoiseLevel],
    n_runs: tuple[int, int],
    *,
    is_deterministic: bool,
) -> NoiseTest:
    """Test the harm between two means of ``n_runs`` runs against the noise of groups of runs.

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
    """Return the standard error of the difference of the means of two groups of runs."""
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
    for n in range(1, MOST_RUNS + 1):
        known = freedom + 2 * (n - 1)
        if not known:
            continue
        steps = t_quantile(known, 1 - alpha) + t_quantile(known, power)
        if steps * error_of_means(band_points, n, n) <= points:
            return n
    return None


# --------------------------------------------------------------------------------------------------
# The decision of the guard as a pure function of numbers, for one run or thousands at once.

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
    detectable = _detectable_of(p, error, known, alpha)
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


def _detectable_of(p: Floats, error: Floats, freedom: Floats, alpha: float) -> Floats:
    """Return what a one-sided t test at the strictest level of the family finds with 80 % power."""
    m = np.maximum(np.sum(~np.isnan(p), axis=-1, keepdims=True), 1)
    pairs = np.stack(np.broadcast_arrays(np.maximum(freedom, 1), m)).reshape(2, -1)
    distinct, place = np.unique(pairs, axis=1, return_inverse=True)
    steps = np.array([t_quantile(n, 1 - alpha / k) + t_quantile(n, POWER) for n, k in distinct.T])
    found: Floats = np.where(np.isnan(p), np.nan, steps[place.ravel()].reshape(p.shape) * error)
    return found
