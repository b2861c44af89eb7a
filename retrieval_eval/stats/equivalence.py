"""Whether two means, or two ratios, differ by less than a margin that was stated beforehand."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from retrieval_eval.stats import MIN_VALUES
from retrieval_eval.stats.intervals import bootstrap_mean, of_uneven, standard_error
from retrieval_eval.stats.paired import cluster_means, t_of_cluster_means
from retrieval_eval.stats.resampling import Floats, as_floats, group, is_constant
from retrieval_eval.values import Interval, Value

STUDENT: Final = "student_t"


@dataclass(frozen=True, slots=True)
class Equivalence:
    """Two one-sided tests of a difference, or of a ratio, against a margin.

    ``p_equivalence`` is the larger p-value of the two one-sided tests that the difference lies
    above the lower margin and below the upper one (Schuirmann 1987). ``p_non_inferiority`` is that
    of the one test that the comparison is not worse by the margin or more. ``interval`` has
    coverage 1 - 2 alpha: it lies within the margins where both one-sided tests reject at alpha.
    ``margin_low`` and ``margin_high`` are in its unit: of the difference, or of the ratio.
    """

    margin_low: float
    margin_high: float
    alpha: float
    p_equivalence: Value
    p_non_inferiority: Value
    interval: Interval

    @property
    def is_equivalent(self) -> bool:
        """Whether both tests reject and the interval lies within the margins."""
        low, high, p_value = self.interval.low.value, self.interval.high.value, self.p_equivalence
        if low is None or high is None or p_value.value is None:
            return False
        return p_value.value < self.alpha and self.margin_low < low and high < self.margin_high


def equivalence(
    estimate: float,
    error: float,
    degrees_of_freedom: float,
    margin: float,
    *,
    n: int,
    is_higher_better: bool = True,
    alpha: float = 0.05,
) -> Equivalence:
    """Return both tests of an estimate with a standard error by Student's t.

    Not computable (``constant_input``) where the standard error is 0: values that are all the same
    do not show how far the mean may lie from them.

    Parameters
    ----------
    estimate, error, degrees_of_freedom
        A difference (or the logarithm of a ratio), its standard error and its degrees of freedom.
    margin
        The difference (or the logarithm of the ratio) from which on a difference matters.
    n
        Number of independent units, which the results carry.
    is_higher_better
        Direction in which the comparison would be better; decides ``p_non_inferiority`` only.
    alpha
        One-sided level of each test.

    Raises
    ------
    ValueError
        Unless ``margin`` and ``degrees_of_freedom`` are positive and ``alpha`` is below 0.5.

    Examples
    --------
    >>> found = equivalence(0.01, 0.02, 29, 0.05, n=30)
    >>> round(found.p_equivalence.value, 4), round(found.p_non_inferiority.value, 4)
    (0.0275, 0.0027)
    >>> found.is_equivalent
    True
    """
    _check(margin, alpha)
    if degrees_of_freedom <= 0:
        raise ValueError("degrees of freedom are positive")
    confidence = 1 - 2 * alpha
    if error <= 0:
        return _missing("constant_input", margin, alpha, n, STUDENT)
    from scipy.special import stdtr, stdtrit

    # The probability of an estimate as far beyond a margin, were the difference at that margin.
    above_low = float(stdtr(degrees_of_freedom, -(estimate + margin) / error))
    below_high = float(stdtr(degrees_of_freedom, (estimate - margin) / error))
    half = float(stdtrit(degrees_of_freedom, 1 - alpha)) * error
    return Equivalence(
        margin_low=-margin,
        margin_high=margin,
        alpha=alpha,
        p_equivalence=Value.of(max(above_low, below_high), n),
        p_non_inferiority=Value.of(above_low if is_higher_better else below_high, n),
        interval=Interval.of(estimate - half, estimate + half, n, confidence, STUDENT),
    )


def equivalence_of_pairs(
    differences: Sequence[float] | Floats,
    margin: float,
    *,
    seed: int,
    is_higher_better: bool = True,
    alpha: float = 0.05,
    n_resamples: int = 10_000,
    clusters: Sequence[Hashable] | None = None,
) -> Equivalence:
    """Return both tests of a mean paired difference, clustered as its interval and p-value are.

    The tests are Student's t with the standard error and the degrees of freedom of clusters (of
    cluster means where there are two to five). The interval is the studentised bootstrap interval
    of the mean, which is never narrower than that of the tests, so that
    :attr:`Equivalence.is_equivalent` requires what a verdict of a difference requires: test and
    interval. Where few differences, all of one sign, are other than 0 and alike, their number
    decides both mean and spread, and the level is not kept: with every fourth of 30 tasks changed
    and the mean at the margin, 8 % of simulated studies are equivalent instead of 5 %, and 9 % of
    10 exponential differences.

    Not computable where that interval is not: below three pairs, with fewer than three differences
    other than 0 (``too_few_values``), with one cluster of several pairs (``too_few_values``), or
    where all are equal (``constant_input``). Many ties make a small standard error, but they do
    not show that the few differences which would outweigh them are rarer still.

    Parameters
    ----------
    differences
        Comparison minus baseline, one number a unit, sorted by a stable key.
    margin
        The mean difference from which on a difference matters, in the unit of ``differences``.
    seed, n_resamples, clusters
        As for :func:`~retrieval_eval.stats.paired.compare_paired`.
    is_higher_better
        Direction in which the comparison would be better; decides ``p_non_inferiority`` only.
    alpha
        One-sided level of each test.

    Raises
    ------
    ValueError
        When the margin is not positive, a number is not finite, or there is not one label for each
        difference.

    Examples
    --------
    >>> found = equivalence_of_pairs(
    ...     [-0.02, 0.01, 0.02, -0.01, 0.01, 0.0, 0.02, -0.02], 0.05, seed=1
    ... )
    >>> found.is_equivalent, found.p_equivalence.value < 0.001
    (True, True)
    """
    _check(margin, alpha)
    data = as_floats(differences)
    grouping = group(clusters, len(data))
    n, confidence = grouping.n_clusters, 1 - 2 * alpha
    if not grouping.is_usable and n > 1 and len(data) >= MIN_VALUES:
        means = cluster_means(data, grouping)
        interval, _ = t_of_cluster_means(means, confidence)
        error = 0.0 if is_constant(means) else float(np.std(means, ddof=1)) / math.sqrt(n)
        centre, freedom = math.fsum(means) / n, n - 1.0
    elif (pooled := of_uneven(data, grouping)) is not None:
        interval, error, centre = pooled.interval(confidence), pooled.error, pooled.mean
        freedom = float(pooled.degrees_of_freedom)
    else:
        drawn = {"seed": seed, "n_resamples": n_resamples}
        interval = bootstrap_mean(data, **drawn, confidence=confidence, clusters=clusters)
        if interval.low.reason is not None:
            return _missing(interval.low.reason, margin, alpha, n, interval.method)
        error, centre = standard_error(data, grouping)[0], math.fsum(data) / len(data)
        freedom = grouping.degrees_of_freedom()
    found = equivalence(
        centre, error, freedom, margin, n=n, is_higher_better=is_higher_better, alpha=alpha
    )
    return replace(found, interval=interval)


def equivalence_of_ratios(
    log_ratios: Sequence[float] | Floats,
    margin: float,
    *,
    seed: int,
    is_higher_better: bool = False,
    alpha: float = 0.05,
    n_resamples: int = 10_000,
    clusters: Sequence[Hashable] | None = None,
) -> Equivalence:
    """Return both tests of a ratio of geometric means, from the logarithms of paired ratios.

    Parameters
    ----------
    log_ratios
        Natural logarithm of comparison over baseline, one number a unit.
    margin
        The ratio from which on a difference matters, above 1: 1.1 takes ratios from 1 / 1.1 to 1.1
        as equivalent.
    seed, is_higher_better, alpha, n_resamples, clusters
        As for :func:`equivalence_of_pairs`. Less is better unless stated: of time, cost, tokens.

    Returns
    -------
    Equivalence
        Margins and interval are ratios.

    Raises
    ------
    ValueError
        As :func:`equivalence_of_pairs`, or unless the margin is above 1.

    Examples
    --------
    >>> rows = [0.02, -0.01, 0.03, 0.0, 0.01, -0.02, 0.01, 0.02]
    >>> found = equivalence_of_ratios(rows, 1.1, seed=1)
    >>> found.is_equivalent, round(found.margin_low, 3), found.interval.low.value < 1.0075
    (True, 0.909, True)
    """
    if not margin > 1:
        raise ValueError("the margin of a ratio is above 1")
    found = equivalence_of_pairs(
        log_ratios,
        math.log(margin),
        seed=seed,
        is_higher_better=is_higher_better,
        alpha=alpha,
        n_resamples=n_resamples,
        clusters=clusters,
    )
    interval = found.interval
    low, high = interval.low.value, interval.high.value
    if low is not None and high is not None:
        interval = replace(
            interval,
            low=Value.of(math.exp(low), interval.low.n),
            high=Value.of(math.exp(high), interval.high.n),
        )
    return replace(found, margin_low=1 / margin, margin_high=margin, interval=interval)


def _check(margin: float, alpha: float) -> None:
    if not (margin > 0 and math.isfinite(margin)):
        raise ValueError("a margin is a positive number")
    if not 0 < alpha < 0.5:
        raise ValueError("alpha lies between 0 and 0.5")


def _missing(reason: str, margin: float, alpha: float, n: int, method: str) -> Equivalence:
    gap = Value.missing(reason, n)
    interval = Interval.missing(reason, n, 1 - 2 * alpha, method)
    return Equivalence(-margin, margin, alpha, gap, gap, interval)
