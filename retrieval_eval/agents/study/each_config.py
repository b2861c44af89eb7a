"""Each configuration by itself: rewards by how much was found, time to the first relevant file."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, Final, Literal

from retrieval_eval.agents.study.gate import by_task
from retrieval_eval.agents.study.settings import Settings
from retrieval_eval.agents.study.trials import (
    SCALES_DIFFER,
    Trial,
    are_poolable,
    average,
    candidate_set_of,
    observed,
)
from retrieval_eval.model.impact import CalibrationBin, FirstHitCurve, RewardTier

if TYPE_CHECKING:
    from retrieval_eval.stats.calibration import Cell

Tier = Literal["none", "below half", "half or more", "all"]
TIERS: Final[tuple[Tier, ...]] = ("none", "below half", "half or more", "all")
"""How much of the ground truth a trial found."""

Opened = Literal["none", "some", "all"]
CELLS: Final[tuple[Opened, ...]] = ("none", "some", "all")
"""How many of the expected files a trial opened."""

ALL: Final = "all"
LEVELS: Final = (ALL, "small", "medium", "large", "local", "mcp")

Unit = Literal["seconds", "tokens", "calls"]
MIN_TRIALS: Final = 2
"""One trial has no mean and no interval."""

UNITS: Final[dict[Unit, tuple[str, str]]] = {
    "seconds": ("ttfr_seconds", "censored_at_seconds"),
    "tokens": ("ttfr_tokens", "censored_at_tokens"),
    "calls": ("ttfr_calls", "censored_at_calls"),
}
"""Unit to the columns of the time of the hit, and of the end of observation without one."""


# Rewards by how much was retrieved


def tiers(trials: Sequence[Trial], settings: Settings) -> list[RewardTier]:
    """Return the mean reward of every configuration by how much of the ground truth it found.

    As in :func:`calibration`, tasks count as independent of each other.
    """
    rows = []
    for config, points, reason in _points(trials):
        is_binary, ends = _is_binary(points), _range(points)
        for tier in TIERS:
            rewards = [reward for _, recall, reward in points if _tier(recall) == tier]
            found = _outcome(_cell(rewards, is_binary, settings), ends)
            rows.append(RewardTier(config_name=config, tier=tier, **found, reason=reason))
    return rows


def calibration(trials: Sequence[Trial], settings: Settings) -> list[CalibrationBin]:
    """Return the mean reward by how many of the expected files were opened, per configuration.

    Over all its tasks, and by the size of their candidate sets and their type of evidence. The
    intervals take tasks as independent, also those that share a repository or suite: a cell
    seldom holds the six clusters that an interval over clusters needs. So they are too narrow where
    such tasks are alike, as the report states beside them.
    """
    rows = []
    for config, points, reason in _points(trials, "file_recall:opened"):
        is_binary, ends = _is_binary(points), _range(points)
        for dimension, level_of in CALIBRATED.items():
            found = {level_of(own) for own, _, _ in points} | ({ALL} if dimension == ALL else set())
            levels = sorted((name for name in found if name is not None), key=_order)
            for level, opened in product(levels, CELLS):
                rewards = [
                    reward
                    for own, recall, reward in points
                    if level_of(own) == level and _opened(recall) == opened
                ]
                rows.append(
                    CalibrationBin(
                        config_name=config,
                        dimension=dimension,
                        level=level,
                        opened=opened,
                        **_outcome(_cell(rewards, is_binary, settings), ends),
                        reason=reason,
                    )
                )
    return rows


Point = tuple[tuple[Trial, ...], float, float]
"""The trials of a task, its file recall and its reward, repeats averaged."""


def _points(
    trials: Sequence[Trial], column: str = "file_recall"
) -> Iterator[tuple[str, list[Point], str | None]]:
    """Yield every configuration with its tasks that have file recall and a reward.

    A configuration whose rewards are on several scales has none, for the reason given.
    """
    for config, own in _by_config(trials).items():
        if not are_poolable(own):
            yield config, [], SCALES_DIFFER
            continue
        sides = (
            (group, average(group, column), average(group, "reward"))
            for group in by_task(own).values()
        )
        yield config, [(g, r, w) for g, r, w in sides if r is not None and w is not None], None


def _evidence(trials: Sequence[Trial]) -> str | None:
    """Return the type of evidence that the trials of a task share; None where it is not one."""
    types = {trial.evidence_type for trial in trials}
    return types.pop() if len(types) == 1 else None


Dimension = Literal["all", "candidate_set_size", "evidence_type"]
CALIBRATED: Final[dict[Dimension, Callable[[tuple[Trial, ...]], str | None]]] = {
    "all": lambda _: ALL,
    "candidate_set_size": candidate_set_of,
    "evidence_type": _evidence,
}
"""What the tasks of a configuration are split by: not at all, and by the seed's two dimensions."""


def _by_config(trials: Sequence[Trial]) -> dict[str, list[Trial]]:
    groups: dict[str, list[Trial]] = defaultdict(list)
    for trial in trials:
        groups[trial.config_name].append(trial)
    return dict(sorted(groups.items()))


def _tier(recall: float) -> Tier:
    if recall in {0.0, 1.0}:
        return TIERS[0] if recall == 0.0 else TIERS[-1]
    return TIERS[1] if recall < 0.5 else TIERS[2]


def _opened(recall: float) -> Opened:
    return CELLS[1] if 0.0 < recall < 1.0 else CELLS[2 if recall else 0]


def _order(level: str) -> tuple[int, str]:
    return LEVELS.index(level) if level in LEVELS else len(LEVELS), level


def _is_binary(points: Sequence[Point]) -> bool:
    return all(reward in {0.0, 1.0} for *_, reward in points)


def _cell(rewards: Sequence[float], is_binary: bool, settings: Settings) -> Cell:
    from retrieval_eval.stats.calibration import cell

    return cell(
        rewards,
        is_binary=is_binary,
        seed=settings.seed,
        n_resamples=settings.n_resamples,
        confidence=settings.confidence,
    )


def _range(points: Sequence[Point]) -> tuple[float, float]:
    """Return the range of the rewards: from 0 to 1 where all of them are."""
    is_share = all(0 <= reward <= 1 for *_, reward in points)
    return (0.0, 1.0) if is_share else (-math.inf, math.inf)


def _outcome(found: Cell, ends: tuple[float, float]) -> dict[str, Any]:
    """Return the fields of a cell, its interval cut at the range of the rewards."""
    low, high = found.interval.low.value, found.interval.high.value
    return {
        "n": found.n,
        "interpretable": found.is_interpretable,
        "mean_reward": found.mean.value,
        "ci_low": None if low is None else max(low, ends[0]),
        "ci_high": None if high is None else min(high, ends[1]),
    }


# Time to the first relevant file


def time_to_first_relevant(trials: Sequence[Trial], settings: Settings) -> list[FirstHitCurve]:
    """Return the share of all trials that found a file by a time, per configuration and unit.

    A trial that never found one has not found it by any time: an agent ends its trial itself. A
    task is represented by its first trial.
    """
    return [
        _curve(config, unit, _times(own, unit), settings)
        for unit in UNITS
        for config, own in _first_trials(trials).items()
    ]


def first_times(trials: Sequence[Trial]) -> Iterator[dict[str, Any]]:
    """Yield the time of every task that :func:`time_to_first_relevant` counts, by unit.

    ``time`` is that of the first hit; missing for a task without one.
    """
    for unit in UNITS:
        for config, own in _first_trials(trials).items():
            for time in _times(own, unit):
                yield {"config_name": config, "unit": unit, "time": time}


def _first_trials(trials: Sequence[Trial]) -> dict[str, list[Trial]]:
    groups = _by_config([trial for trial in trials if trial.computable])
    return {config: [t[0] for t in by_task(own).values()] for config, own in groups.items()}


def _times(trials: Sequence[Trial], unit: Unit) -> list[float | None]:
    """Return the times of the trials' hits, None for one without; those not known are left out.

    Where the time of a hit is not known, trials that never hit and have no known end are left out
    too, since what left out the times of some took them from both.
    """
    found = [(trial, observed(trial, *UNITS[unit])) for trial in trials]
    has_gap = any(time is None and not trial.never_hit for trial, time in found)
    return [
        time[0] if time is not None and time[1] else None
        for trial, time in found
        if time is not None or (trial.never_hit and not has_gap)
    ]


def _curve(
    config: str, unit: Unit, times: Sequence[float | None], settings: Settings
) -> FirstHitCurve:
    n = len(times)
    if n < MIN_TRIALS:
        n_hit = sum(time is not None for time in times)
        return FirstHitCurve(
            config_name=config, unit=unit, n=n, n_hit=n_hit, n_never=n - n_hit, curve=()
        )
    from retrieval_eval.stats.reached import reached

    found = reached(times, confidence=settings.confidence)
    low, high = found.median_interval
    return FirstHitCurve(
        config_name=config,
        unit=unit,
        n=n,
        n_hit=found.n_events,
        n_never=n - found.n_events,
        share_never=found.never.value,
        share_never_low=found.never_interval.low.value,
        share_never_high=found.never_interval.high.value,
        median=found.median.value,
        median_low=low,
        median_high=high,
        curve=found.curve,
    )
