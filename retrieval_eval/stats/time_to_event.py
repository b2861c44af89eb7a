"""Times to an event that some units never reached, compared pair by pair."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from retrieval_eval.stats.paired import PairedComparison, compare_paired


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
