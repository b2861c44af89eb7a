"""Rewards by how much was retrieved, and rewards that do not fit their scale."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from retrieval_eval.metrics.catalog import BY_NAME, read_metric
from retrieval_eval.study.arms import Document, task_of
from retrieval_eval.study.settings import Settings
from retrieval_eval.values import mean

if TYPE_CHECKING:
    from retrieval_eval.stats.calibration import Cell

TIERS: Final = ("none", "below half", "half or more", "all")
"""How much of the ground truth a trial found."""

MIN_ON_SCALE: Final = 0.9
"""A suite of which a smaller share of rewards lies between 0 and 1 has another scale."""

SCALES_DIFFER: Final = "reward_scales_differ"


def on_one_scale(documents: Sequence[Document]) -> list[Document]:
    """Return the documents with the scale of their suite's rewards, and without rewards off it.

    Where nine in ten rewards of a suite lie between 0 and 1 that is its scale (``unit``), and one
    outside is a fault: it becomes not computable, ``reward_off_scale``. Else its scale is not
    known (``open``), and :func:`are_poolable` says what may be averaged. The scale is put under
    ``outcome.suite_scale``.
    """
    rewards: dict[str, list[float]] = defaultdict(list)
    for document in documents:
        value = read_metric(document, BY_NAME["reward"]).value
        if value is not None:
            rewards[task_of(document)[0]].append(value)
    is_unit = {
        suite: sum(0 <= v <= 1 for v in values) >= MIN_ON_SCALE * len(values)
        for suite, values in rewards.items()
    }
    return [_scaled(d, is_unit.get(task_of(d)[0], True)) for d in documents]


def _scaled(document: Document, is_unit: bool) -> Document:
    outcome = {**document["outcome"], "suite_scale": "unit" if is_unit else "open"}
    if is_unit and _is_off_scale(document):
        outcome |= {"reward": None, "reward_reason": "reward_off_scale"}
    return {**document, "outcome": outcome}


def are_poolable(documents: Iterable[Document]) -> bool:
    """Whether the rewards of these documents may be averaged, or ranked together.

    They may when they are of one suite, or all of suites whose rewards go from 0 to 1. Documents
    are those of :func:`on_one_scale`.
    """
    scales = {
        task_of(d)[0]: d["outcome"]["suite_scale"]
        for d in documents
        if read_metric(d, BY_NAME["reward"]).computable
    }
    return len(scales) < 2 or set(scales.values()) == {"unit"}


def are_unit(documents: Iterable[Document]) -> bool:
    """Whether all rewards of these documents are known to go from 0 to 1."""
    return all(d["outcome"]["suite_scale"] == "unit" for d in documents)


def _is_off_scale(document: Document) -> bool:
    value = read_metric(document, BY_NAME["reward"]).value
    return value is not None and not 0 <= value <= 1


def tiers(documents: Sequence[Document], settings: Settings) -> list[dict[str, Any]]:
    """Return the mean reward of every configuration by how much of the ground truth it found.

    As in :func:`calibration`, tasks count as independent of each other.
    """
    rows = []
    for config, points, reason in _points(documents):
        is_binary = all(reward in {0.0, 1.0} for _, reward in points)
        for tier in TIERS:
            rewards = [reward for recall, reward in points if _tier(recall) == tier]
            found = _cell(rewards, is_binary, settings)
            rows.append({"config_name": config, "tier": tier, **_outcome(found), "reason": reason})
    return rows


def calibration(documents: Sequence[Document], settings: Settings) -> list[dict[str, Any]]:
    """Return mean reward against mean file recall in fifths of recall, per configuration.

    The intervals take tasks as independent, also those that share a repository or suite: a cell
    seldom holds the six clusters that an interval over clusters needs. So they are too narrow
    where such tasks are alike, which the report says beside them.
    """
    from retrieval_eval.stats.calibration import reliability

    return [
        {
            "config_name": config,
            "low": found.low,
            "high": found.high,
            "mean_recall": found.predictor.value,
            **_outcome(found.outcome),
            "reason": reason,
        }
        for config, points, reason in _points(documents)
        for found in reliability(
            [recall for recall, _ in points],
            [reward for _, reward in points],
            seed=settings.seed,
            n_resamples=settings.n_resamples,
            confidence=settings.confidence,
        )
    ]


def _points(
    documents: Sequence[Document],
) -> Iterator[tuple[str, list[tuple[float, float]], str | None]]:
    """Yield every configuration with (file recall, reward) of its tasks, repeats averaged.

    A configuration whose rewards are on several scales has none, for the reason given.
    """
    units: dict[str, dict[tuple[str, str], list[Document]]] = defaultdict(dict)
    for document in documents:
        config = document["provenance"]["config_name"]
        units[config].setdefault(task_of(document), []).append(document)
    for config in sorted(units):
        groups = [group for _, group in sorted(units[config].items())]
        if not are_poolable(d for group in groups for d in group):
            yield config, [], SCALES_DIFFER
            continue
        points = []
        for group in groups:
            recall = mean(read_metric(d, BY_NAME["file_recall"]) for d in group).value
            reward = mean(read_metric(d, BY_NAME["reward"]) for d in group).value
            if recall is not None and reward is not None:
                points.append((recall, reward))
        yield config, points, None


def _tier(recall: float) -> str:
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


def _outcome(found: Cell) -> dict[str, Any]:
    return {
        "n": found.n,
        "interpretable": found.is_interpretable,
        "mean_reward": found.mean.value,
        "ci_low": found.interval.low.value,
        "ci_high": found.interval.high.value,
    }
