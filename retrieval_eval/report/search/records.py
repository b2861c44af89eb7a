"""The parts of a search run as typed records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from retrieval_eval.report.search.reading import members, read_as


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of one measure over queries, with all that qualifies it."""

    measure: str
    value: float | None
    n: int
    n_not_computable: int
    reason: str | None
    ci_low: float | None
    ci_high: float | None
    tie_low: float | None
    tie_high: float | None
    unjudged_high: float | None


@dataclass(frozen=True, slots=True)
class Part:
    """Some of the queries: how many, and their means by measure."""

    dimension: str
    level: str
    n_queries: int
    means: Mapping[str, Mean]


@dataclass(frozen=True, slots=True)
class Change:
    """One measure before and now, over the queries that have it in both runs; in points."""

    measure: str
    baseline: float | None
    current: float | None
    delta_points: float | None
    ci_low_points: float | None
    ci_high_points: float | None
    p_value: float | None
    n_pairs: int
    n_only_baseline: int
    n_only_current: int

    @property
    def excludes_zero(self) -> bool:
        """Whether there is an interval and it lies on one side of 0."""
        low, high = self.ci_low_points, self.ci_high_points
        return low is not None and high is not None and not low <= 0 <= high


def means(block: Any) -> dict[str, Mean]:
    """Return the means of a ``metrics`` block by measure."""
    return {
        name: read_as(Mean, members(value), measure=name) for name, value in members(block).items()
    }


def changes(block: Any) -> dict[str, Change]:
    """Return the changes of a ``delta`` block's ``metrics`` by measure."""
    return {
        name: read_as(Change, members(value), measure=name)
        for name, value in members(block).items()
    }


def parts(slices: Any) -> list[Part]:
    """Return every part of a ``slices`` block, dimension by dimension."""
    return [
        Part(dimension, level, members(part).get("n_queries") or 0, means(part.get("metrics")))
        for dimension, levels in members(slices).items()
        for level, part in members(levels).items()
    ]
