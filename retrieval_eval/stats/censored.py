"""Times to an event that some units never reached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from retrieval_eval.stats.intervals import Floats, as_floats
from retrieval_eval.values import Value


@dataclass(frozen=True, slots=True)
class SurvivalCurve:
    """A Kaplan-Meier curve: after ``times[i]`` the share ``survival[i]`` has had no event.

    ``times`` are the distinct event times in ascending order, ``n`` the units and ``n_events``
    those that had the event. Before the first time survival is 1.
    """

    times: tuple[float, ...]
    survival: tuple[float, ...]
    n: int
    n_events: int
    last_time: float

    def median(self) -> Value:
        """Return the first time at which survival is at most one half.

        Not computable when survival stays above it (``too_few_values``): fewer than half of
        the units had the event, and the median lies beyond what was watched.
        """
        for time, share in zip(self.times, self.survival, strict=True):
            if share <= 0.5 + 1e-12:
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
        edges = np.array([0.0, *(t for t in self.times if t < until), until])
        heights = np.array([1.0, *self.survival])[: len(edges) - 1]
        return Value.of(float(np.sum(np.diff(edges) * heights)), self.n)


def kaplan_meier(times: Sequence[float] | Floats, has_event: Sequence[bool]) -> SurvivalCurve:
    """Return the product-limit estimate of survival (Kaplan & Meier 1958).

    Parameters
    ----------
    times
        Time of the event, or of the end of watching for units without one; any unit, >= 0.
    has_event
        Whether the event happened; units censored at an event's time count as at risk then.

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
    distinct, events = np.unique(moments[happened], return_counts=True)
    # At risk just before each event time: everyone whose time is not earlier.
    at_risk = len(moments) - np.searchsorted(np.sort(moments), distinct, side="left")
    survival = np.cumprod(1 - events / at_risk)
    return SurvivalCurve(
        times=tuple(distinct.tolist()),
        survival=tuple(survival.tolist()),
        n=len(moments),
        n_events=int(happened.sum()),
        last_time=float(moments.max(initial=0.0)),
    )
