"""The Kaplan-Meier curve of times to an event that some units never reached, and its statistics."""

from __future__ import annotations

import math
import operator
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from retrieval_eval.stats import BOOTSTRAP_T, MIN_VALUES
from retrieval_eval.stats.distributions import normal_quantile
from retrieval_eval.stats.proportions import wilson
from retrieval_eval.values import Interval, Value, ratio

if TYPE_CHECKING:
    from retrieval_eval.stats.resampling import Floats

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
        edges = [0.0, *(t for t in self.times if t < until), until]
        heights = (1.0, *self.survival)
        return math.fsum((b - a) * h for (a, b), h in zip(pairwise(edges), heights, strict=False))


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
    moments, happened = [float(time) for time in times], list(map(bool, has_event))
    if len(moments) != len(happened) or not all(0 <= time < math.inf for time in moments):
        raise ValueError("every unit needs a time of at least 0 and whether the event happened")
    distinct, events, at_risk = life_table(moments, happened)
    left = (1 - d / r for d, r in zip(events, at_risk, strict=True))
    survival = list(accumulate(left, operator.mul))
    low, high = _log_log_limits(survival, events, at_risk, confidence)
    return SurvivalCurve(
        times=tuple(distinct),
        survival=tuple(survival),
        low=low,
        high=high,
        n=len(moments),
        n_events=sum(happened),
        last_time=max(moments, default=0.0),
        confidence=confidence,
    )


def life_table(
    times: Sequence[float], has_event: Sequence[bool]
) -> tuple[list[float], list[float], list[float]]:
    """Return the distinct event times, the events at each, and the units at risk before it."""
    events = Counter(time for time, happened in zip(times, has_event, strict=True) if happened)
    ordered, distinct = sorted(times), sorted(events)
    # At risk just before each event time: everyone whose time is not earlier.
    at_risk = [float(len(ordered) - bisect_left(ordered, time)) for time in distinct]
    return distinct, [float(events[time]) for time in distinct], at_risk


Limits = tuple[float | None, ...]


def _log_log_limits(
    survival: Sequence[float], events: Sequence[float], at_risk: Sequence[float], confidence: float
) -> tuple[Limits, Limits]:
    z, hazard = normal_quantile((1 + confidence) / 2), 0.0
    low: list[float | None] = []
    high: list[float | None] = []
    for s, d, r in zip(survival, events, at_risk, strict=True):
        if d == r:  # at most at the last time, when the event takes everyone still at risk
            low.append(None)
            high.append(None)
            continue
        hazard += d / (r * (r - d))
        half = z * math.sqrt(hazard) / -math.log(s)
        low.append(s ** math.exp(half))
        high.append(s ** math.exp(-half))
    return tuple(low), tuple(high)


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
    n_units = curve.n if clusters is None else len(set(clusters))
    if mean.reason is not None:
        interval = Interval.missing(mean.reason, curve.n, confidence, BOOTSTRAP_T)
    elif n_units < MIN_VALUES:
        interval = Interval.missing("too_few_values", n_units, confidence, BOOTSTRAP_T)
    else:
        from retrieval_eval.stats.intervals import bootstrap_mean
        from retrieval_eval.stats.time_to_event import pseudo_times

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
