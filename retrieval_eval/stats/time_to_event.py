"""Times to an event that some units never reached: the Kaplan-Meier curve and its statistics."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from retrieval_eval.stats.clusters import group
from retrieval_eval.stats.intervals import BOOTSTRAP_T, Interval, bootstrap_mean, wilson
from retrieval_eval.stats.paired import (
    CLUSTER_MEANS,
    PairedComparison,
    cluster_means,
    compare_paired,
)
from retrieval_eval.stats.resampling import Floats, as_floats
from retrieval_eval.values import Value, ratio

_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class SurvivalCurve:
    """A Kaplan-Meier curve: after ``times[i]`` the share ``survival[i]`` has had no event.

    ``times`` are the distinct event times in ascending order, ``n`` the units and ``n_events``
    those that had the event. Before the first time survival is 1. ``low`` and ``high`` are the
    pointwise ``confidence`` interval from Greenwood's variance of log(-log survival) (Kalbfleisch
    & Prentice 1980), None where survival is 0: the formula is not defined there.
    """

    times: tuple[float, ...]
    survival: tuple[float, ...]
    low: tuple[float | None, ...]
    high: tuple[float | None, ...]
    n: int
    n_events: int
    last_time: float
    confidence: float

    def share_never(self) -> Value:
        """Return the share of units whose event was not seen; ``too_few_values`` without units."""
        return ratio(self.n - self.n_events, self.n, "too_few_values")

    def share_never_interval(self) -> Interval:
        """Return Wilson's interval of the share of units whose event was not seen."""
        return wilson(self.n - self.n_events, self.n, confidence=self.confidence)

    def median(self) -> Value:
        """Return the first time at which survival is at most one half.

        Not computable when survival stays above it (``too_few_values``): fewer than half of
        the units had the event, and the median lies beyond what was watched.
        """
        return self._first(self.survival)

    def median_interval(self) -> Interval:
        """Return the interval of the median: times at which survival may be one half.

        From the first time at which its lower, to the first at which its upper limit is at most
        one half (Brookmeyer & Crowley 1982). An end that was never reached is missing
        (``too_few_values``): it lies beyond what was watched.
        """
        # Where survival is 0 the limits are unknown, but both are below one half.
        low, high = (
            [0.0 if end is None else end for end in ends] for ends in (self.low, self.high)
        )
        return Interval(self._first(low), self._first(high), self.confidence, "log_log_greenwood")

    def _first(self, shares: Sequence[float]) -> Value:
        for time, share in zip(self.times, shares, strict=True):
            if share <= 0.5 + _ROUNDING:
                return Value.of(time, self.n)
        return Value.missing("too_few_values", self.n)

    def restricted_mean(self, until: float) -> Value:
        """Return the mean time without event within [0, ``until``] (area under the curve).

        Not computable without units, or when ``until`` lies beyond the last time watched while
        some units had no event (``too_few_values``): the curve is unknown there.

        Examples
        --------
        >>> kaplan_meier([2.0, 4.0], [True, True]).restricted_mean(4.0).value
        3.0
        """
        is_open = bool(self.n) and (not self.survival or self.survival[-1] > 0)
        if self.n == 0 or (is_open and until > self.last_time):
            return Value.missing("too_few_values", self.n)
        return Value.of(self.area(until), self.n)

    def area(self, until: float) -> float:
        """Return the area under the curve in [0, ``until``]; an open end continues flat."""
        edges = np.array([0.0, *(t for t in self.times if t < until), until])
        heights = np.array([1.0, *self.survival])[: len(edges) - 1]
        return float(np.sum(np.diff(edges) * heights))


def kaplan_meier(
    times: Sequence[float] | Floats, has_event: Sequence[bool], *, confidence: float = 0.95
) -> SurvivalCurve:
    """Return the product-limit estimate of survival (Kaplan & Meier 1958).

    Parameters
    ----------
    times
        Time of the event, or of the end of watching for units without one; any unit, >= 0.
    has_event
        Whether the event happened; units censored at an event's time count as at risk then.
    confidence
        Coverage of the pointwise interval.

    Raises
    ------
    ValueError
        When the rows differ in length, or a time is negative or not finite.

    Examples
    --------
    >>> curve = kaplan_meier([1.0, 2.0, 3.0, 4.0], [True, False, True, False])
    >>> curve.survival, curve.median().value
    ((0.75, 0.375), 3.0)
    """
    moments = as_floats(times)
    happened = np.asarray(has_event, dtype=bool)
    if moments.shape != happened.shape or (moments < 0).any():
        raise ValueError("every unit needs a time of at least 0 and whether the event happened")
    distinct, events, at_risk = _life_table(moments, happened)
    survival: Floats = np.cumprod(1 - events / at_risk, dtype=np.float64)
    low, high = _log_log_limits(survival, events, at_risk, confidence)
    return SurvivalCurve(
        times=tuple(distinct.tolist()),
        survival=tuple(survival.tolist()),
        low=low,
        high=high,
        n=len(moments),
        n_events=int(happened.sum()),
        last_time=float(moments.max(initial=0.0)),
        confidence=confidence,
    )


def _life_table(moments: Floats, happened: NDArray[np.bool_]) -> tuple[Floats, Floats, Floats]:
    """Return the distinct event times, the events at each, and the units at risk before it."""
    distinct, counts = np.unique(moments[happened], return_counts=True)
    # At risk just before each event time: everyone whose time is not earlier.
    earlier = np.searchsorted(np.sort(moments), distinct, side="left")
    return distinct, counts.astype(np.float64), len(moments) - earlier.astype(np.float64)


Limits = tuple[float | None, ...]


def _log_log_limits(
    survival: Floats, events: Floats, at_risk: Floats, confidence: float
) -> tuple[Limits, Limits]:
    from scipy.special import ndtri

    # Survival is 0 at most at the last time, when the event takes everyone still at risk.
    inner = events < at_risk
    s, d, r = survival[inner], events[inner], at_risk[inner]
    half = float(ndtri((1 + confidence) / 2)) * np.sqrt(np.cumsum(d / (r * (r - d)))) / -np.log(s)
    rest = [None] * int((~inner).sum())
    low, high = s ** np.exp(half), s ** np.exp(-half)
    return (*low.tolist(), *rest), (*high.tolist(), *rest)


@dataclass(frozen=True, slots=True)
class TimeToEvent:
    """Numbers of a group in the unit of its times; ``never`` is the share without event.

    ``restricted_mean`` is the mean time without event within [0, ``until``].
    """

    curve: SurvivalCurve
    never: Value
    never_interval: Interval
    median: Value
    median_interval: Interval
    until: float
    restricted_mean: Value
    restricted_mean_interval: Interval


def time_to_event(
    times: Sequence[float] | Floats,
    has_event: Sequence[bool],
    *,
    seed: int,
    until: float | None = None,
    n_resamples: int = 10_000,
    confidence: float = 0.95,
    clusters: Sequence[Hashable] | None = None,
) -> TimeToEvent:
    """Return curve, share without event, median and restricted mean, each with its interval.

    Parameters
    ----------
    times, has_event
        As for :func:`kaplan_meier`, sorted by a stable key.
    seed, n_resamples, confidence, clusters
        As for :func:`~retrieval_eval.stats.intervals.bootstrap_mean`; clusters change the
        interval of the restricted mean only.
    until
        End of the restricted mean, the same for groups that are to be compared; by default the
        last time watched.

    Raises
    ------
    ValueError
        When the rows differ in length, or a time is negative or not finite.

    Examples
    --------
    >>> found = time_to_event([1.0, 2.0, 3.0, 4.0], [True, False, True, False], seed=1)
    >>> found.never.value, found.median.value, found.restricted_mean.value
    (0.5, 3.0, 2.875)
    """
    curve = kaplan_meier(times, has_event, confidence=confidence)
    end = curve.last_time if until is None else until
    mean = curve.restricted_mean(end)
    if mean.reason is not None:
        interval = Interval.missing(mean.reason, curve.n, confidence, BOOTSTRAP_T)
    else:
        interval = bootstrap_mean(
            pseudo_times(times, has_event, end),
            seed=seed,
            n_resamples=n_resamples,
            confidence=confidence,
            clusters=clusters,
        )
    return TimeToEvent(
        curve=curve,
        never=curve.share_never(),
        never_interval=curve.share_never_interval(),
        median=curve.median(),
        median_interval=curve.median_interval(),
        until=end,
        restricted_mean=mean,
        restricted_mean_interval=interval,
    )


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
    distinct, events, at_risk = _life_table(moments, happened)
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
