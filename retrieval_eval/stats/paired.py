"""Two measurements of the same units, compared unit by unit."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from retrieval_eval.stats.clusters import Grouping, group
from retrieval_eval.stats.intervals import BOOTSTRAP_T, Interval, bootstrap_mean, standard_error
from retrieval_eval.stats.power import (
    detectable_by_test_and_interval,
    smallest_detectable_difference,
)
from retrieval_eval.stats.ranks import average_ranks, without_rounding
from retrieval_eval.stats.resampling import Floats, as_floats, is_constant
from retrieval_eval.stats.sign_flips import MIN_PAIRS_FOR_P, sign_flip_p
from retrieval_eval.values import Value

MIN_PAIRS: Final = 3
"""Below this no statistic is given."""
CLUSTER_MEANS: Final = "cluster_means"
T_OF_CLUSTER_MEANS: Final = "t_of_cluster_means"


@dataclass(frozen=True, slots=True)
class PairedComparison:
    """A paired comparison; differences are comparison minus baseline.

    ``wins`` counts pairs where the comparison is better in the stated direction. ``interval`` is
    the studentised bootstrap interval of the mean difference, ``p_value`` the two-sided sign-flip
    permutation test of it (``p_method`` is ``exact`` or ``monte_carlo``), and
    ``rank_biserial`` the matched-pairs rank-biserial correlation (positive: comparison larger).
    ``smallest_detectable_difference`` is what p-value and interval would both find in 80 % of
    studies of this size and spread.

    ``n_clusters`` is the number of clusters, or None when no labels were given. ``clustering``
    is ``none``, ``by_cluster``, or ``cluster_means``: there are two to five clusters for more
    pairs than that, so the means, interval, p-value (``p_method`` is ``t_of_cluster_means``) and
    smallest detectable difference are those of the clusters' means, each counting the same. With
    all pairs in one cluster it is ``too_few_clusters``, and these are missing
    (``too_few_values``). Their ``n`` counts the independent units: clusters, else pairs.
    """

    n: int
    mean_baseline: Value
    mean_comparison: Value
    mean_difference: Value
    median_difference: Value
    interval: Interval
    p_value: Value
    p_method: str | None
    wins: int
    ties: int
    losses: int
    rank_biserial: Value
    smallest_detectable_difference: Value
    n_clusters: int | None
    clustering: str


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
        interval = bootstrap_mean(differences, **drawn, confidence=confidence, clusters=clusters)
        p_value, p_method = sign_flip_p(differences, **drawn, clusters=clusters)
    means = [Value.of(math.fsum(row) / len(row), n) for row in rows]
    return PairedComparison(
        n=n,
        mean_baseline=means[0],
        mean_comparison=means[1],
        mean_difference=means[2],
        median_difference=Value.of(float(np.median(differences)), n),
        interval=interval,
        p_value=p_value,
        p_method=p_method,
        wins=wins,
        ties=n - wins - losses,
        losses=losses,
        rank_biserial=rank_biserial(differences),
        smallest_detectable_difference=_detectable_by_t(rows[-1])
        if has_few
        else _detectable(differences, grouping),
        n_clusters=n_clusters,
        clustering=CLUSTER_MEANS if has_few else grouping.status,
    )


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


def _detectable_by_t(means: Floats) -> Value:
    spread = 0.0 if is_constant(means) else float(np.std(means, ddof=1))
    return smallest_detectable_difference(spread, len(means))


def _detectable(differences: Floats, grouping: Grouping) -> Value:
    n = grouping.n_clusters
    is_flat = n < 2 or is_constant(differences)
    error = 0.0 if is_flat else standard_error(differences, grouping)[0]
    return detectable_by_test_and_interval(error * math.sqrt(n), n)


def _too_few(
    n: int, wins: int, losses: int, confidence: float, n_clusters: int | None, clustering: str
) -> PairedComparison:
    gap = Value.missing("too_few_pairs", n)
    return PairedComparison(
        n=n,
        mean_baseline=gap,
        mean_comparison=gap,
        mean_difference=gap,
        median_difference=gap,
        interval=Interval.missing("too_few_pairs", n, confidence, BOOTSTRAP_T),
        p_value=gap,
        p_method=None,
        wins=wins,
        ties=n - wins - losses,
        losses=losses,
        rank_biserial=gap,
        smallest_detectable_difference=gap,
        n_clusters=n_clusters,
        clustering=clustering,
    )


def rank_biserial(differences: Sequence[float] | Floats) -> Value:
    """Return the matched-pairs rank-biserial correlation in [-1, 1] (Kerby 2014).

    The share of rank sum with positive minus the share with negative difference, zeros dropped
    as in Wilcoxon's test; magnitudes that differ by rounding only tie. Not computable when all
    differences are 0 (``constant_input``).

    Examples
    --------
    >>> rank_biserial([3, 2, -1]).value
    0.6666666666666666
    """
    data = as_floats(differences)
    moved = data[data != 0]
    if not len(moved):
        return Value.missing("constant_input", len(data))
    ranks = average_ranks(without_rounding(np.abs(moved)))
    return Value.of(float(np.sum(np.sign(moved) * ranks) / np.sum(ranks)), len(data))
