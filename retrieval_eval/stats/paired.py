"""Two measurements of the same units, or times to an event, compared unit by unit."""

from __future__ import annotations

import math
import sys
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from retrieval_eval.stats import BOOTSTRAP_T
from retrieval_eval.stats.intervals import (
    RANDOM_EFFECTS,
    STUDENT_T,
    RandomEffects,
    bootstrap_mean,
    of_uneven,
    standard_error,
    t_mean,
)
from retrieval_eval.stats.power import (
    INTERVAL_EXCESS,
    detectable_by_test_and_interval,
    smallest_detectable_difference,
)
from retrieval_eval.stats.resampling import (
    BY_CLUSTER,
    MIN_PAIRS_FOR_P,
    Floats,
    Grouping,
    as_floats,
    group,
    is_constant,
    sign_flip_p,
)
from retrieval_eval.values import Interval, Value

MIN_PAIRS: Final = 3
"""Below this no statistic is given."""
CLUSTER_MEANS: Final = "cluster_means"
T_OF_CLUSTER_MEANS: Final = "t_of_cluster_means"


@dataclass(frozen=True, slots=True)
class PairedComparison:
    """A paired comparison; differences are comparison minus baseline.

    ``wins`` counts pairs where the comparison is better in the stated direction. ``estimate`` is
    the mean difference unless clusters are uneven. ``interval`` is
    the studentised bootstrap interval of the mean difference, ``p_value`` the two-sided sign-flip
    permutation test of it (``p_method`` is ``exact`` or ``monte_carlo``).
    ``smallest_detectable_difference`` is what p-value and interval would both find in 80 % of
    studies of this size and spread.

    ``n_clusters`` is the number of clusters, or None when no labels were given. ``clustering``
    is ``none``, ``by_cluster``, ``random_effects``: six clusters or more are so uneven that
    ``estimate`` and interval are those of the mean of the clusters' effects
    (:mod:`~retrieval_eval.stats.intervals`), or ``cluster_means``: there are two to five
    clusters for more pairs than that, so the means, interval, p-value (``p_method`` is
    ``t_of_cluster_means``) and smallest detectable difference are those of the clusters' means,
    each counting the same. With
    all pairs in one cluster it is ``too_few_clusters``, and these are missing
    (``too_few_values``). Their ``n`` counts the independent units: clusters, else pairs.
    ``n_effective`` is the number of equally large clusters that would leave the interval as many
    degrees of freedom, and ``largest_cluster_share`` the share of the pairs in the largest one;
    both are None where clusters are not resampled.
    """

    n: int
    mean_baseline: Value
    mean_comparison: Value
    mean_difference: Value
    estimate: Value
    interval: Interval
    p_value: Value
    p_method: str | None
    wins: int
    ties: int
    losses: int
    smallest_detectable_difference: Value
    n_clusters: int | None
    clustering: str
    n_effective: float | None = None
    largest_cluster_share: float | None = None


def compare_paired(
    baseline: Sequence[float] | Floats,
    comparison: Sequence[float] | Floats,
    *,
    seed: int,
    is_higher_better: bool = True,
    n_resamples: int = 10_000,
    confidence: float = 0.95,
    clusters: Sequence[Hashable] | None = None,
) -> PairedComparison:
    """Compare two equally long rows of numbers pair by pair.

    Below three pairs every statistic is missing (``too_few_pairs``) and only the counts are given;
    below six there is no p-value (``too_few_values``), since none could reach .05, and so no
    smallest detectable difference either. Differences that do not vary have no interval and no
    smallest detectable difference (``constant_input``); the p-value is still given, and is 1 when
    all of them are 0. With fewer than three differences other than 0 there is no interval
    (``too_few_values``). Swapping the rows negates the differences and mirrors the interval
    exactly.

    Parameters
    ----------
    baseline, comparison
        One number a unit in the same order, sorted by a stable key: the seed picks positions.
        Repeats of a unit are averaged before.
    seed
        Seed of the PCG64 generators of the bootstrap and of the Monte-Carlo test.
    is_higher_better
        Direction that counts as a win; changes ``wins`` and ``losses`` only.
    n_resamples
        Bootstrap resamples, and sign flips when there are too many pairs to enumerate.
    confidence
        Coverage of the interval.
    clusters
        One label a pair, such as its repository. Six clusters or more are resampled, and their
        signs flipped, as a whole; means stay means over pairs. Two to five are compared by their
        means (:func:`t_of_cluster_means`).

    Raises
    ------
    ValueError
        When the rows differ in length or hold a number that is not finite, or there is not one
        label for each pair.

    Examples
    --------
    >>> result = compare_paired([1, 2, 3, 4, 5, 6], [2, 4, 4, 6, 6, 8], seed=1)
    >>> result.mean_difference.value, result.wins, result.p_value.value
    (1.5, 6, 0.03125)
    """
    before, after = as_floats(baseline), as_floats(comparison)
    if len(before) != len(after):
        raise ValueError("both rows need one number for each unit")
    n = len(before)
    grouping = group(clusters, n)
    n_clusters = None if clusters is None else grouping.n_clusters
    differences = after - before
    # Equality of the measurements, not of a rounded difference, makes a tie.
    larger, smaller = int(np.sum(after > before)), int(np.sum(after < before))
    wins, losses = (larger, smaller) if is_higher_better else (smaller, larger)
    if n < MIN_PAIRS:
        return _too_few(n, wins, losses, confidence, n_clusters, grouping.status)
    has_few = not grouping.is_usable and grouping.n_clusters > 1
    pooled = of_uneven(differences, grouping)
    if has_few:
        rows = [cluster_means(row, grouping) for row in (before, after, differences)]
        interval, p_value = t_of_cluster_means(rows[-1], confidence)
        p_method: str | None = T_OF_CLUSTER_MEANS
        if n < MIN_PAIRS_FOR_P:
            p_value = Value.missing("too_few_values", grouping.n_clusters)
        p_method = p_method if p_value.computable else None
    else:
        rows = [before, after, differences]
        drawn = {"seed": seed, "n_resamples": n_resamples}
        interval = (
            bootstrap_mean(differences, **drawn, confidence=confidence, clusters=clusters)
            if pooled is None
            else pooled.interval(confidence)
        )
        p_value, p_method = sign_flip_p(differences, **drawn, clusters=clusters)
    means = [Value.of(math.fsum(row) / len(row), n) for row in rows]
    alpha = level_of(confidence)
    detectable = (
        _detectable_by_t(rows[-1], alpha)
        if has_few
        else _detectable(differences, grouping, alpha, pooled=pooled)
    )
    return PairedComparison(
        n=n,
        mean_baseline=means[0],
        mean_comparison=means[1],
        mean_difference=means[2],
        estimate=means[2] if pooled is None else Value.of(pooled.mean, n),
        interval=interval,
        p_value=p_value,
        p_method=p_method,
        wins=wins,
        ties=n - wins - losses,
        losses=losses,
        smallest_detectable_difference=detectable,
        n_clusters=n_clusters,
        clustering=_clustering(grouping, pooled, has_few=has_few),
        **_effective(grouping, pooled),
    )


def _clustering(grouping: Grouping, pooled: RandomEffects | None, *, has_few: bool) -> str:
    if has_few:
        return CLUSTER_MEANS
    return grouping.status if pooled is None else RANDOM_EFFECTS


def _effective(grouping: Grouping, pooled: RandomEffects | None) -> dict[str, float]:
    """Return for how many clusters those that are resampled count, and how large the largest is."""
    if grouping.status != BY_CLUSTER:
        return {}
    return {
        "n_effective": _freedom(grouping, pooled) + 1,
        "largest_cluster_share": float(grouping.sizes().max()) / len(grouping.codes),
    }


def cluster_means(values: Floats, grouping: Grouping) -> Floats:
    """Return the mean of ``values`` in every cluster, by first appearance."""
    means: Floats = grouping.totals(values) / grouping.sizes()
    return means


def t_of_cluster_means(means: Floats, confidence: float) -> tuple[Interval, Value]:
    """Return the interval of the mean of cluster means, and the two-sided p that it is 0.

    Student's t with one degree of freedom less than there are clusters. It holds its level up to
    8 % with as few as two clusters, whatever the clusters' sizes, variances and inner dependence,
    as long as their means are about normal (Ibragimov & Muller 2010). Every cluster counts the
    same, so the interval is that of the mean of the means, not of the mean over units.

    Cluster means that are all the same have no interval (``constant_input``), and a p-value of 1
    where they are 0 and none elsewhere. At least two clusters are needed.

    Examples
    --------
    >>> interval, p_value = t_of_cluster_means(np.array([1.0, 2.0, 3.0]), 0.95)
    >>> round(interval.low.value, 3), round(interval.high.value, 3), round(p_value.value, 4)
    (-0.484, 4.484, 0.0742)
    """
    g = len(means)
    if is_constant(means):
        empty = Interval.missing("constant_input", g, confidence, T_OF_CLUSTER_MEANS)
        is_zero = not means.any()
        return empty, Value.of(1.0, g) if is_zero else Value.missing("constant_input", g)
    from scipy.special import stdtr, stdtrit

    centre = math.fsum(means) / g
    error = float(np.std(means, ddof=1)) / math.sqrt(g)
    half = float(stdtrit(g - 1, (1 + confidence) / 2)) * error
    p_value = min(1.0, 2 * float(stdtr(g - 1, -abs(centre) / error)))
    return Interval.of(centre - half, centre + half, g, confidence, T_OF_CLUSTER_MEANS), Value.of(
        p_value, g
    )


def level_of(confidence: float) -> float:
    """Return the level of the test that an interval of this coverage belongs to.

    Examples
    --------
    >>> level_of(0.95)
    0.05
    """
    return round(1 - confidence, 12)


def _detectable_by_t(means: Floats, alpha: float) -> Value:
    spread = 0.0 if is_constant(means) else float(np.std(means, ddof=1))
    return smallest_detectable_difference(spread, len(means), alpha=alpha)


def _detectable(
    differences: Floats,
    grouping: Grouping,
    alpha: float,
    *,
    pooled: RandomEffects | None,
    excess: float = INTERVAL_EXCESS,
) -> Value:
    n = grouping.n_clusters
    if pooled is not None:
        error, excess = pooled.error, 0.0
    elif n < 2 or is_constant(differences):
        error = 0.0
    else:
        error = standard_error(differences, grouping)[0]
    return detectable_by_test_and_interval(
        error * math.sqrt(n),
        n,
        alpha=alpha,
        excess=excess,
        degrees_of_freedom=_freedom(grouping, pooled) if n > 1 else None,
    )


def _freedom(grouping: Grouping, pooled: RandomEffects | None) -> float:
    """Return the degrees of freedom of the spread."""
    g = grouping.n_clusters
    if pooled is not None:
        return pooled.degrees_of_freedom
    return grouping.degrees_of_freedom() if grouping.is_usable and g > 1 else g - 1.0


# Ratios


@dataclass(frozen=True, slots=True)
class PairedRatio:
    """The ratio of the geometric means of two rows of positive numbers, comparison over baseline.

    ``n`` counts the pairs with both sides above 0, ``n_not_positive`` the others, which have no
    ratio and are left out. ``interval`` is Student's t interval of the mean log ratio, and
    ``p_value`` the two-sided sign-flip test of the log ratios; of two to five clusters both are
    those of the clusters' means, and of uneven ones ratio and interval are those of the mean of
    their effects. ``smallest_detectable_ratio`` is the ratio above 1 that p-value
    and interval would both find in 80 % of studies of this size and spread.
    """

    n: int
    n_not_positive: int
    ratio: Value
    interval: Interval
    p_value: Value
    p_method: str | None
    smallest_detectable_ratio: Value


MAX_NOT_POSITIVE: Final = 1 / 3
"""With a larger share of pairs that have no logarithm there is no ratio."""


def compare_ratio(
    baseline: Sequence[float] | Floats,
    comparison: Sequence[float] | Floats,
    *,
    seed: int,
    n_resamples: int = 10_000,
    confidence: float = 0.95,
    clusters: Sequence[Hashable] | None = None,
) -> PairedRatio:
    """Compare two rows of positive numbers pair by pair, by the ratio of their geometric means.

    Costs and times have no largest value, and no interval of their *mean* keeps its level for
    ten skewed values (Bahadur & Savage 1956). Their logarithms are about normal, and the mean log
    ratio is the log of the ratio of geometric means: 1.27 means that a typical task takes 1.27
    times as much. It says nothing about the sum over tasks, which a few large ones determine.

    Swapping the rows gives one over the ratio, with one over the ends of the interval.

    Not computable below three pairs (``too_few_pairs``), or where more than a third of the pairs
    have a side of 0 or below (``not_positive``); otherwise as :func:`compare_paired` of the
    logarithms.

    Parameters
    ----------
    baseline, comparison
        One number a unit in the same order; repeats of a unit as their :func:`geometric_mean`.
    seed, n_resamples
        Seed of the Monte-Carlo test, and its sign flips when there are too many to enumerate.
    confidence
        Coverage of the interval.
    clusters
        One label a pair, as for :func:`compare_paired`.

    Raises
    ------
    ValueError
        When the rows differ in length or hold a number that is not finite, or there is not one
        label for each pair.

    Examples
    --------
    >>> found = compare_ratio([1, 2, 4, 1, 3, 5], [2, 4, 6, 1, 9, 10], seed=1)
    >>> round(found.ratio.value, 2), found.p_value.value
    (1.82, 0.0625)
    >>> round(found.interval.low.value, 2), round(found.interval.high.value, 2)
    (1.24, 2.67)
    """
    before, after = as_floats(baseline), as_floats(comparison)
    if len(before) != len(after):
        raise ValueError("both rows need one number for each unit")
    if clusters is not None and len(clusters) != len(before):
        raise ValueError("clusters need one label for each unit")
    is_positive = (before > 0) & (after > 0)
    n, lost = int(is_positive.sum()), int((~is_positive).sum())
    logs = np.log(after[is_positive]) - np.log(before[is_positive])
    labels = None
    if clusters is not None:
        labels = [label for label, kept in zip(clusters, is_positive, strict=True) if kept]
    if lost > MAX_NOT_POSITIVE * len(before) or n < MIN_PAIRS:
        reason = "not_positive" if lost > MAX_NOT_POSITIVE * len(before) else "too_few_pairs"
        gap, empty = Value.missing(reason, n), Interval.missing(reason, n, confidence, STUDENT_T)
        return PairedRatio(n, lost, gap, empty, gap, None, gap)
    grouping = group(labels, n)
    centre = math.fsum(logs) / len(logs)
    if not grouping.is_usable and grouping.n_clusters > 1:
        logs = cluster_means(logs, grouping)
        centre = math.fsum(logs) / len(logs)
        interval, p_value = t_of_cluster_means(logs, confidence)
        if n < MIN_PAIRS_FOR_P:
            p_value = Value.missing("too_few_values", grouping.n_clusters)
        p_method = T_OF_CLUSTER_MEANS if p_value.computable else None
        detectable = _detectable_by_t(logs, level_of(confidence))
    else:
        pooled = of_uneven(logs, grouping)
        if pooled is None:
            interval = t_mean(logs, confidence=confidence, clusters=labels)
        else:
            interval, centre = pooled.interval(confidence), pooled.mean
        p_value, p_method = sign_flip_p(logs, seed=seed, n_resamples=n_resamples, clusters=labels)
        detectable = _detectable(logs, grouping, level_of(confidence), pooled=pooled, excess=0.0)
    return PairedRatio(
        n,
        lost,
        _exp(Value.of(centre, n)),
        _exp_interval(interval),
        p_value,
        p_method,
        _exp(detectable),
    )


def geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean; 0 where a value is 0 or below, because it has no logarithm.

    Examples
    --------
    >>> geometric_mean([1.0, 4.0]), geometric_mean([1.0, 0.0])
    (2.0, 0.0)
    """
    least = min(values)
    if least <= 0 or least == max(values):
        return max(0.0, least)
    return math.exp(math.fsum(map(math.log, values)) / len(values))


_MAX_LOG: Final = math.log(sys.float_info.max)


def _exp(value: Value) -> Value:
    if value.value is None:
        return value
    if abs(value.value) > _MAX_LOG:
        return Value.missing("not_a_number", value.n)
    return Value.of(math.exp(value.value), value.n)


def _exp_interval(interval: Interval) -> Interval:
    ends = [_exp(interval.low), _exp(interval.high)]
    gap = next((end for end in ends if not end.computable), None)
    return replace(interval, low=gap or ends[0], high=gap or ends[1])


# What the repeats of units contribute


@dataclass(frozen=True, slots=True)
class Components:
    """The variance of a pair's difference, apart: what repeats explain, and the rest.

    ``within`` is the variance that the mean over a pair's repeats has because they spread, and
    ``between`` what is left of the variance of the differences, the spread of tasks; 0 where
    nothing is left.
    """

    between: Value
    within: Value


MIN_REPEATS: Final = 3
"""Fewer repeats beyond the first, over all tasks of an arm, do not show its spread."""


def variance_components(
    baseline: Sequence[Sequence[float]], comparison: Sequence[Sequence[float]]
) -> Components:
    """Return the parts of the variance of the pairs' differences, from repeats in both arms.

    The spread of repeats is pooled over the tasks of an arm. Of a task with k and m repeats the
    mean difference then has the variance s²/k + t²/m, of which ``within`` is the mean over tasks;
    without repeats it would be s² + t².

    Not computable (``no_repeats``) where an arm repeats no task, and (``too_few_values``) where it
    has fewer than three repeats beyond the first of each task, or there are fewer than three pairs.

    Parameters
    ----------
    baseline, comparison
        The numbers of every pair's trials, at least one a side.

    Examples
    --------
    >>> before, after = [[0, 1], [2, 3], [4, 5]], [[1, 2], [5, 6], [9, 10]]
    >>> found = variance_components(before, after)
    >>> found.between.value, found.within.value
    (3.5, 0.5)
    """
    n = len(baseline)
    if len(comparison) != n:
        raise ValueError("both rows need the trials of each unit")
    extra = [sum(len(own) - 1 for own in arm) for arm in (baseline, comparison)]
    if n < MIN_PAIRS or min(extra) < MIN_REPEATS:
        gap = Value.missing("no_repeats" if n and min(extra) == 0 else "too_few_values", n)
        return Components(gap, gap)
    means, within = [], 0.0
    for arm, degrees in zip((baseline, comparison), extra, strict=True):
        own = [math.fsum(values) / len(values) for values in arm]
        squares = math.fsum(
            (value - mean) ** 2 for values, mean in zip(arm, own, strict=True) for value in values
        )
        within += squares / degrees * math.fsum(1 / len(values) for values in arm) / n
        means.append(np.array(own))
    total = float(np.var(means[1] - means[0], ddof=1))
    return Components(Value.of(max(0.0, total - within), n), Value.of(within, n))


# Parts


def _too_few(
    n: int, wins: int, losses: int, confidence: float, n_clusters: int | None, clustering: str
) -> PairedComparison:
    gap = Value.missing("too_few_pairs", n)
    return PairedComparison(
        n=n,
        mean_baseline=gap,
        mean_comparison=gap,
        mean_difference=gap,
        estimate=gap,
        interval=Interval.missing("too_few_pairs", n, confidence, BOOTSTRAP_T),
        p_value=gap,
        p_method=None,
        wins=wins,
        ties=n - wins - losses,
        losses=losses,
        smallest_detectable_difference=gap,
        n_clusters=n_clusters,
        clustering=clustering,
    )


# --------------------------------------------------------------------------------------------------
# Times to an event that some units never reached, compared pair by pair.


@dataclass(frozen=True, slots=True)
class PairedTimes:
    """Two rows of times to an event compared pair by pair, units without the event included.

    ``compared`` is the comparison of the restricted means, whose end ``until`` is the latest event
    of either row.
    """

    compared: PairedComparison
    until: float


def compare_times(
    baseline: Sequence[Sequence[float | None]],
    comparison: Sequence[Sequence[float | None]],
    *,
    seed: int,
    is_higher_better: bool = False,
    n_resamples: int = 10_000,
    confidence: float = 0.95,
    clusters: Sequence[Hashable] | None = None,
) -> PairedTimes | None:
    """Compare times to an event pair by pair, by their restricted means; None without any event.

    The restricted mean is the mean time without event within [0, ``until``], where a unit that
    never had the event counts as ``until``. That is the area above the cumulative incidence curve,
    in which a unit that ended without the event stays without it (Andersen 2013): right for units
    that end themselves, such as trials of an agent that stops without having found anything. So
    every pair has a difference.

    ``until`` is the latest event of either row: all events count with their times, and a unit
    without one counts as slow as the slowest. It is the least that can be said of it; a later end
    would move the difference of the means by the difference of the shares for every unit of time.

    Parameters
    ----------
    baseline, comparison
        The times of every pair's repeats, None for one without the event; at least one a side.
    seed, n_resamples, confidence, clusters
        As for :func:`~retrieval_eval.stats.paired.compare_paired`.
    is_higher_better
        Direction that counts as a win.

    Raises
    ------
    ValueError
        When the rows differ in length, a time is negative or not finite, or there is not one label
        for each pair.

    Examples
    --------
    >>> before, after = [[2.0], [4.0], [6.0]], [[1.0], [2.0], [None]]
    >>> found = compare_times(before, after, seed=1)
    >>> found.until, found.compared.mean_difference.value
    (6.0, -1.0)
    """
    rows = (baseline, comparison)
    events = [time for row in rows for own in row for time in own if time is not None]
    if any(not 0 <= time < math.inf for time in events):
        raise ValueError("a time of an event is negative or not finite")
    if not events:
        return None
    until = max(events)
    means = [
        [math.fsum(until if time is None else time for time in own) / len(own) for own in row]
        for row in rows
    ]
    compared = compare_paired(
        *means,
        seed=seed,
        is_higher_better=is_higher_better,
        n_resamples=n_resamples,
        confidence=confidence,
        clusters=clusters,
    )
    return PairedTimes(compared, until)
