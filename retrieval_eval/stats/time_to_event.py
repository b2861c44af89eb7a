"""All that can be said of one group's times to an event, some of them censored."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from retrieval_eval.stats.censored import SurvivalCurve, kaplan_meier
from retrieval_eval.stats.intervals import BOOTSTRAP_T, Interval, bootstrap_mean
from retrieval_eval.stats.resampling import Floats, as_floats
from retrieval_eval.values import Value


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
        As for :func:`~retrieval_eval.stats.censored.kaplan_meier`, sorted by a stable key.
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

    n times the restricted mean of all, less n - 1 times that without the unit: what the unit
    adds to it. Without censoring before ``until`` these are the times, cut at ``until``. Their
    mean has the restricted mean's bias and spread, so that what is known of a mean of units
    holds for it. Units without which the curve ends before ``until`` leave it level there.

    Examples
    --------
    >>> pseudo_times([1.0, 2.0, 6.0], [True, True, True], 4.0).tolist()
    [1.0, 2.0, 4.0]
    """
    moments, happened = as_floats(times), np.asarray(has_event, dtype=bool)
    n = len(moments)
    everyone = kaplan_meier(moments, happened.tolist()).area(until)
    rest = [
        kaplan_meier(np.delete(moments, unit), np.delete(happened, unit).tolist()).area(until)
        for unit in range(n)
    ]
    pseudo: Floats = n * everyone - (n - 1) * np.array(rest)
    return pseudo
