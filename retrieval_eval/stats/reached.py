"""By when units had an event, as a share of all of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from retrieval_eval.stats.proportions import wilson
from retrieval_eval.values import Interval, Value, ratio


@dataclass(frozen=True, slots=True)
class Reached:
    """The share of all units that had an event by a time; one without it never had it.

    ``curve`` has a step for each time of an event. ``median`` is the first time by which half of
    all units had it, missing where fewer did (``never_hit``); of ``median_interval`` the upper end
    is missing where it may be never.
    """

    n: int
    n_events: int
    curve: tuple[tuple[float, float], ...]
    never: Value
    never_interval: Interval
    median: Value
    median_interval: tuple[float | None, float | None]


def reached(times: Sequence[float | None], *, confidence: float = 0.95) -> Reached:
    """Return by when units had an event, None for one that never had it.

    The share by a time is that of all units, so nothing is assumed of those without the event: an
    agent that stops has not found anything by any time. The interval of the share that never has
    it is Wilson's, that of the median one of order statistics, where never is later than any time.

    Raises
    ------
    ValueError
        When a time is negative or not finite.

    Examples
    --------
    >>> found = reached([1.0, 2.0, 2.0, None])
    >>> found.curve, found.median.value, found.never.value
    (((1.0, 0.25), (2.0, 0.75)), 2.0, 0.25)
    """
    happened = sorted(time for time in times if time is not None)
    if any(not 0 <= time < math.inf for time in happened):
        raise ValueError("a time of an event is negative or not finite")
    n, k = len(times), len(happened)
    steps = dict(zip(happened, range(1, k + 1), strict=True))  # of equal times the last count
    half = math.ceil(n / 2)
    median = Value.missing("never_hit" if n else "too_few_values", n)
    if n and half <= k:
        median = Value.of(happened[half - 1], n)
    place = _median_place(n, confidence)
    ends: tuple[float | None, float | None] = (None, None)
    if place:
        ends = tuple(happened[i] if i < k else None for i in (place - 1, n - place))  # type: ignore[assignment]
    return Reached(
        n,
        k,
        tuple((time, count / n) for time, count in steps.items()),
        ratio(n - k, n, "too_few_values"),
        wilson(n - k, n, confidence=confidence),
        median,
        ends,
    )


def _median_place(n: int, confidence: float) -> int:
    """Return which value from each end of n ordered ones bounds the median; 0 if none does.

    That of :func:`~retrieval_eval.stats.quantiles.quantile`: the binomial distribution says how
    often so many of n values lie below their median.
    """
    tail, below = (1 - confidence) / 2, 0.0
    whole = math.lgamma(n + 1) - n * math.log(2)
    for i in range(n):
        below += math.exp(whole - math.lgamma(i + 1) - math.lgamma(n - i + 1))
        if below >= tail:
            return i
    return 0
