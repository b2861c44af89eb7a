"""Each configuration by itself: rewards by how much was found, time to the first relevant file."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

from retrieval_eval.model.impact import CalibrationBin, FirstHitCurve, RewardTier
from retrieval_eval.study.gate import by_task
from retrieval_eval.study.settings import Settings
from retrieval_eval.study.trials import SCALES_DIFFER, Trial, are_poolable, average, observed

if TYPE_CHECKING:
    from retrieval_eval.stats.calibration import Cell

Tier = Literal["none", "below half", "half or more", "all"]
TIERS: Final[tuple[Tier, ...]] = ("none", "below half", "half or more", "all")
"""How much of the ground truth a trial found."""

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
        is_binary = all(reward in {0.0, 1.0} for _, reward in points)
        ends = _range(points)
        for tier in TIERS:
            rewards = [reward for recall, reward in points if _tier(recall) == tier]
            found = _outcome(_cell(rewards, is_binary, settings), ends)
            rows.append(RewardTier(config_name=config, tier=tier, **found, reason=reason))
    return rows


def calibration(trials: Sequence[Trial], settings: Settings) -> list[CalibrationBin]:
    """Return mean reward against mean file recall in fifths of recall, per configuration.

    The intervals take tasks as independent, also those that share a repository or suite: a cell
    seldom holds the six clusters that an interval over clusters needs. So they are too narrow where
    such tasks are alike, as the report states beside them.
    """
    from retrieval_eval.stats.calibration import reliability

    return [
        CalibrationBin(
            config_name=config,
            low=found.low,
            high=found.high,
            mean_recall=found.predictor.value,
            **_outcome(found.outcome, _range(points)),
            reason=reason,
        )
        for config, points, reason in _points(trials)
        for found in reliability(
            [recall for recall, _ in points],
            [reward for _, reward in points],
            seed=settings.seed,
            n_resamples=settings.n_resamples,
            confidence=settings.confidence,
        )
    ]


def _points(
    trials: Sequence[Trial],
) -> Iterator[tuple[str, list[tuple[float, float]], str | None]]:
    """Yield every configuration with (file recall, reward) of its tasks, repeats averaged.

    A configuration whose rewards are on several scales has none, for the reason given.
    """
    for config, own in _by_config(trials).items():
        if not are_poolable(own):
            yield config, [], SCALES_DIFFER
            continue
        sides = (
            (average(group, "file_recall"), average(group, "reward"))
            for group in by_task(own).values()
        )
        yield config, [(r, w) for r, w in sides if r is not None and w is not None], None


def _by_config(trials: Sequence[Trial]) -> dict[str, list[Trial]]:
    groups: dict[str, list[Trial]] = defaultdict(list)
    for trial in trials:
        groups[trial.config_name].append(trial)
    return dict(sorted(groups.items()))


def _tier(recall: float) -> Tier:
    if recall in {0.0, 1.0}:
        return TIERS[0] if recall == 0.0 else TIERS[-1]
    return TIERS[1] if recall < 0.5 else TIERS[2]


def _cell(rewards: Sequence[float], is_binary: bool, settings: Settings) -> Cell:
    from retrieval_eval.stats.calibration import cell

    return cell(
        rewards,
        is_binary=is_binary,
        seed=settings.seed,
        n_resamples=settings.n_resamples,
        confidence=settings.confidence,
    )


def _range(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the range of the rewards: from 0 to 1 where all of them are."""
    is_share = all(0 <= reward <= 1 for _, reward in points)
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
    """Return Kaplan-Meier curve, median and restricted mean for every configuration and unit.

    A task is represented by its first trial: times of repeats cannot be averaged when some never
    hit.
    """
    rows = []
    for unit in UNITS:
        watched = {config: _times(own, unit) for config, own in _first_trials(trials).items()}
        ends = [max(time for time, _ in times) for times in watched.values() if times]
        rows += [
            _curve(config, unit, times, min(ends) if ends else None, settings)
            for config, times in watched.items()
        ]
    return rows


def first_times(trials: Sequence[Trial]) -> Iterator[dict[str, Any]]:
    """Yield the time of every task that :func:`time_to_first_relevant` counts, by unit.

    ``time`` is that of the first hit, ``end`` the end of observation of a task without one.
    """
    for unit in UNITS:
        for config, own in _first_trials(trials).items():
            for time, has_hit in _times(own, unit):
                yield {"config_name": config, "unit": unit, ("time" if has_hit else "end"): time}


def _first_trials(trials: Sequence[Trial]) -> dict[str, list[Trial]]:
    groups = _by_config([trial for trial in trials if trial.computable])
    return {config: [t[0] for t in by_task(own).values()] for config, own in groups.items()}


def _times(trials: Sequence[Trial], unit: Unit) -> list[tuple[float, bool]]:
    found = (observed(trial, *UNITS[unit]) for trial in trials)
    return [time for time in found if time is not None]


def _curve(
    config: str,
    unit: Unit,
    times: Sequence[tuple[float, bool]],
    until: float | None,
    settings: Settings,
) -> FirstHitCurve:
    n = len(times)
    if n < MIN_TRIALS or until is None:
        n_hit = sum(has_hit for _, has_hit in times)
        return FirstHitCurve(
            config_name=config, unit=unit, n=n, n_hit=n_hit, n_never=n - n_hit, curve=()
        )
    from retrieval_eval.stats.kaplan_meier import time_to_event

    found = time_to_event(
        [time for time, _ in times],
        [has_hit for _, has_hit in times],
        seed=settings.seed,
        until=until,
        n_resamples=settings.n_resamples,
        confidence=settings.confidence,
    )
    curve = found.curve
    return FirstHitCurve(
        config_name=config,
        unit=unit,
        n=n,
        n_hit=curve.n_events,
        n_never=n - curve.n_events,
        share_never=found.never.value,
        share_never_low=found.never_interval.low.value,
        share_never_high=found.never_interval.high.value,
        median=found.median.value,
        median_low=found.median_interval.low.value,
        median_high=found.median_interval.high.value,
        restricted_mean=found.restricted_mean.value,
        restricted_mean_low=found.restricted_mean_interval.low.value,
        restricted_mean_high=found.restricted_mean_interval.high.value,
        until=until,
        curve=tuple((t, 1 - s) for t, s in zip(curve.times, curve.survival, strict=True)),
    )
