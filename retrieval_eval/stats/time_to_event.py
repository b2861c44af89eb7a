"""Times to an event that some units never reached: of resamples, and of two rows pair by pair."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from retrieval_eval.stats.clusters import group
from retrieval_eval.stats.kaplan_meier import life_table
from retrieval_eval.stats.paired import (
    CLUSTER_MEANS,
    PairedComparison,
    cluster_means,
    compare_paired,
)
from retrieval_eval.stats.resampling import Floats, as_floats
from retrieval_eval.values import Value


def pseudo_times(
    times: Sequence[float] | Floats, has_event: Sequence[bool], until: float
) -> Floats:
    """Return every unit's pseudo-observation of the restricted mean (Andersen et al. 2003).

    n times the restricted mean of all, minus n - 1 times that without the unit: the unit's
    contribution. Without censoring before ``until`` these are the times, cut at ``until``. Their
    mean has the restricted mean's bias and spread, so that what is known of a mean of units holds
    for it. Units without which the curve ends before ``until`` leave it level there. All of them
    come from one pass over the event times.

    Examples
    --------
    >>> pseudo_times([1.0, 2.0, 6.0], [True, True, True], 4.0).tolist()
    [1.0, 2.0, 4.0]
    """
    moments, happened = as_floats(times), np.asarray(has_event, dtype=bool)
    n = len(moments)
    distinct, events, at_risk = map(np.array, life_table(moments.tolist(), happened.tolist()))
    # Step i lies between the i-th event time (from 1; 0 is the start) and the next, up to `until`.
    edges = np.minimum(np.concatenate([[0.0], distinct, [np.inf]]), until)
    widths = np.diff(edges)
    level = np.concatenate([[1.0], np.cumprod(1 - events / at_risk)])
    # The level without a unit that was at risk all the while and had no event in it.
    without = np.maximum(0.0, 1 - events / np.maximum(at_risk - 1, 1))
    level_without = np.concatenate([[1.0], np.cumprod(without)])
    area_before = np.concatenate([[0.0], np.cumsum(level_without * widths)])
    area_after = np.cumsum((level * widths)[::-1])[::-1]
    # The step in which each unit's time lies: an event's own time begins its step.
    step = np.searchsorted(distinct, moments, side="right")
    at_step = level_without[step]
    own = step[happened]
    others, left = events[own - 1] - 1, at_risk[own - 1] - 1
    # Without the only unit at risk the curve stays level.
    at_step[happened] = level_without[own - 1] * (1 - others / np.maximum(left, 1))
    is_open = level[step] > 0
    # From its own step on the curve without a unit falls as that of all does.
    rest = at_step * np.where(
        is_open, area_after[step] / np.where(is_open, level[step], 1.0), until - edges[step]
    )
    everyone = float(np.sum(level * widths))
    pseudo: Floats = n * everyone - (n - 1) * (area_before[step] + rest)
    return pseudo


# Pairs


@dataclass(frozen=True, slots=True)
class PairedTimes:
    """Two rows of times to an event compared pair by pair, units without the event included.

    ``compared`` is the comparison of the restricted means, whose end ``until`` is the latest event
    of either row. ``never_baseline`` and ``never_comparison`` are the shares without the event.
    ``until_tipping`` is the later end at which the restricted means would be equal; None where the
    row with the smaller mean is not the one with more units without the event.
    """

    compared: PairedComparison
    until: float
    until_tipping: float | None
    never_baseline: Value
    never_comparison: Value


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
    that end themselves, such as trials of an agent that stops without having found anything. There
    is nothing to censor then, and every pair has a difference.

    The Kaplan-Meier curve instead takes a unit that ended as if it would have gone on like the
    others, so an arm that gives up early would seem as fast as its successes.

    ``until`` is the latest event of either row: all events count with their times, and a unit
    without one counts as slow as the slowest. It is the least that can be said of it; a later end
    would move the difference of the means by the difference of the shares for every unit of time,
    so ``until_tipping`` tells how much later it would have to be for the difference to vanish.

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
    >>> found.until, found.compared.mean_difference.value, found.never_comparison.value
    (6.0, -1.0, 0.3333333333333333)
    >>> found.until_tipping
    9.0
    """
    rows = (baseline, comparison)
    events = [time for row in rows for own in row for time in own if time is not None]
    if any(not 0 <= time < math.inf for time in events):
        raise ValueError("a time of an event is negative or not finite")
    if not events:
        return None
    until = max(events)
    means, shares = [], []
    for row in rows:
        limited = [[until if time is None else time for time in own] for own in row]
        means.append([math.fsum(own) / len(own) for own in limited])
        shares.append([sum(time is None for time in own) / len(own) for own in row])
    compared = compare_paired(
        *means,
        seed=seed,
        is_higher_better=is_higher_better,
        n_resamples=n_resamples,
        confidence=confidence,
        clusters=clusters,
    )
    n = compared.n
    if compared.mean_difference.value is None:
        gap = compared.mean_difference
        return PairedTimes(compared, until, None, gap, gap)
    grouping = group(clusters, n)
    never = [np.array(own) for own in shares]
    if compared.clustering == CLUSTER_MEANS:
        never = [cluster_means(own, grouping) for own in never]
    before, after = (math.fsum(own) / len(own) for own in never)
    slope, difference = after - before, compared.mean_difference.value
    tipping = until - difference / slope if slope * difference < 0 else None
    return PairedTimes(compared, until, tipping, Value.of(before, n), Value.of(after, n))
