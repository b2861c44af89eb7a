"""What the impact analysis says of each config alone: reward by recall, time to a first hit.

And which trials that, and the associations, rest on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from retrieval_eval.report.frames import records
from retrieval_eval.report.numbers import finite
from retrieval_eval.report.reading import counts, read_as


@dataclass(frozen=True, slots=True)
class Tier:
    """Mean reward of a config's tasks on which a share of the ground truth was found."""

    config_name: str
    tier: str
    n: int
    interpretable: bool
    mean_reward: float | None
    ci_low: float | None
    ci_high: float | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Bin:
    """Mean reward of a config's tasks whose recall lies between two bounds."""

    config_name: str
    low: float | None
    high: float | None
    n: int
    interpretable: bool
    mean_recall: float | None
    mean_reward: float | None
    ci_low: float | None
    ci_high: float | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class FirstHit:
    """Time to the first relevant file of a config's tasks; those without a hit are censored.

    ``curve`` gives the share of tasks with a hit (1 - survival) from each time on.
    """

    config_name: str
    unit: str
    n: int
    n_hit: int
    n_never: int
    share_never: float | None
    share_never_low: float | None
    share_never_high: float | None
    median: float | None
    median_low: float | None
    median_high: float | None
    restricted_mean: float | None
    restricted_mean_low: float | None
    restricted_mean_high: float | None
    until: float | None
    curve: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Passed:
    """How many trials of a config the validity gate let through, and which rules removed others."""

    config_name: str
    n_trials: int
    n_used: int
    removed: Mapping[str, int]


def let_through(impact: Mapping[str, Any]) -> list[Passed]:
    """Return what the gate let through of every config; nothing when the analysis is older."""
    return [
        read_as(Passed, found, removed=counts(found.get("removed")))
        for found in records(impact.get("let_through"))
    ]


def tiers(impact: Mapping[str, Any]) -> list[Tier]:
    """Return the tiers of every config."""
    return [read_as(Tier, tier) for tier in records(impact.get("tiers"))]


def calibration(impact: Mapping[str, Any]) -> list[Bin]:
    """Return the recall bins of every config."""
    return [read_as(Bin, found) for found in records(impact.get("calibration"))]


def first_hits(impact: Mapping[str, Any]) -> list[FirstHit]:
    """Return the times to the first relevant file, by config and unit."""
    return [
        read_as(FirstHit, found, curve=_points(found.get("curve")))
        for found in records(impact.get("time_to_first_relevant"))
    ]


def _points(value: Any) -> tuple[tuple[float, float], ...]:
    pairs = (
        [p for p in value if isinstance(p, list) and len(p) == 2] if isinstance(value, list) else []
    )
    known = [
        (x, y) for a, b in pairs if (x := finite(a)) is not None and (y := finite(b)) is not None
    ]
    return tuple(known)
