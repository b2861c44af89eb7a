"""One measure of one query, and its mean over queries with everything that qualifies it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from retrieval_eval.search.settings import Settings
from retrieval_eval.stats.intervals import Interval, bootstrap_mean
from retrieval_eval.values import Value


@dataclass(frozen=True, slots=True)
class Score:
    """One measure of one query, its range over orders of ties, and its unjudged upper bound.

    The three numbers are None where ``value`` is not computable, ``unjudged_high`` also where the
    measure has no such bound (Judged).
    """

    value: Value
    tie_low: float | None = None
    tie_high: float | None = None
    unjudged_high: float | None = None


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of a measure over queries and all that qualifies it.

    ``value`` rests on the computable queries, ``not_computable`` counts the others by reason.
    ``interval`` is the studentised bootstrap interval, queries being the units. ``ties`` is the
    smallest and largest mean over orders of ties; ``unjudged_high`` the mean of the upper bounds
    (see `upper_bounds`), whose lower end is the value itself.
    """

    value: Value
    not_computable: Mapping[str, int]
    interval: Interval
    ties: tuple[float, float] | None
    unjudged_high: float | None

    def to_json(self) -> dict[str, Any]:
        """Return the ``metrics`` entry of a search run."""
        return {
            **self.value.to_json(),
            "n_not_computable": sum(self.not_computable.values()),
            "not_computable": dict(self.not_computable),
            "ci_low": self.interval.low.value,
            "ci_high": self.interval.high.value,
            "tie_low": self.ties and self.ties[0],
            "tie_high": self.ties and self.ties[1],
            "unjudged_low": None if self.unjudged_high is None else self.value.value,
            "unjudged_high": self.unjudged_high,
        }


@dataclass(frozen=True, slots=True)
class Slice:
    """The means of some of the queries; ``n_queries`` counts those without scores too."""

    n_queries: int
    metrics: Mapping[str, Mean]


def mean_of(scores: Sequence[Score], settings: Settings) -> Mean:
    """Return the mean of one measure over queries, given in a stable order (by query id)."""
    numbers = [s.value.value for s in scores if s.value.value is not None]
    gaps = Counter(s.value.reason for s in scores if s.value.reason is not None)
    interval = _within_range(
        bootstrap_mean(
            numbers,
            seed=settings.seed,
            n_resamples=settings.n_resamples,
            confidence=settings.confidence,
        )
    )
    low = _average(score.tie_low for score in scores)
    high = _average(score.tie_high for score in scores)
    return Mean(
        Value.of(math.fsum(numbers) / len(numbers), len(numbers))
        if numbers
        else Value.missing("no_computable_values"),
        dict(sorted(gaps.items())),
        interval,
        None if low is None or high is None else (low, high),
        _average(score.unjudged_high for score in scores),
    )


def _average(values: Iterable[float | None]) -> float | None:
    numbers = [value for value in values if value is not None]
    return math.fsum(numbers) / len(numbers) if numbers else None


def _within_range(interval: Interval) -> Interval:
    # Every measure lies between 0 and 1, and so does its mean; the interval does not know that.
    low, high = interval.low.value, interval.high.value
    if low is None or high is None:
        return interval
    ends = max(low, 0.0), min(high, 1.0)
    return Interval.of(*ends, interval.low.n, interval.confidence, interval.method)
