"""What could change the reading of a comparison: each threat with its number and a sentence.

``effect`` is ``none`` where the numbers already allow for it or merely carry it, ``lowers`` where
the verdict is less than the measured tasks alone would show, and ``withholds`` where there is none.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from retrieval_eval.metrics.catalog import Metric
from retrieval_eval.stats.clusters import MIN_CLUSTERS
from retrieval_eval.study.arms import Arm, has_called_mcp
from retrieval_eval.study.pairs import Pair
from retrieval_eval.study.rewards import SCALES_DIFFER
from retrieval_eval.study.validity import Valid
from retrieval_eval.values import REASONS, counted, signed

Threat = dict[str, Any]
Block = Mapping[str, Any]

_MAX_SUITES: Final = 4
"""Suites whose reward a sentence gives."""

_PLURAL: Final = {"repository": "repositories", "suite": "suites"}


def _threat(name: str, value: float | None, unit: str, effect: str, sentence: str) -> Threat:
    return {"name": name, "value": value, "unit": unit, "effect": effect, "sentence": sentence}


def few_clusters(block: Block, pairs: Sequence[Pair]) -> Iterator[Threat]:
    """Yield what a metric's statistics are about where its tasks are of fewer than six clusters."""
    by, n, n_pairs = block["cluster_by"], block["n_clusters"], block["n_pairs"]
    if by is None or n >= MIN_CLUSTERS or not block["computable"]:
        return
    tasks = counted(n_pairs, "matched task")
    if n == 1:
        text = f"{tasks}, all of one {by}: the result is about this {by} only"
        if not any(pair.repositories for pair in pairs):
            text += ", and takes tasks as independent, because none states its repository"
    else:
        text = (
            f"{tasks} in {n} {_PLURAL[by]}: means, interval and p are computed from the {by} "
            f"means, each counting the same (t, {counted(n - 1, 'degree')} of freedom)"
        )
        if by == "repository" and not all(pair.repositories for pair in pairs):
            text += "; a task that states no repository counts as one of its own"
    yield _threat("few_clusters", n, _PLURAL[by], "none", text)


def lacking_values(block: Block, arms: tuple[Arm, Arm], *, is_fragile: bool) -> Iterator[Threat]:
    """Yield what the values that an arm lacks could do to the mean difference."""
    if block["bound_low"] is None:
        return
    lacking = (block["n_lacking_baseline"], block["n_lacking_comparison"])
    if not any(lacking):
        return
    n = block["n_planned"]
    parts = [
        f"{k} of {counted(n, 'task')} with {arm.config}"
        for k, arm in zip(lacking, arms, strict=True)
        if k
    ]
    text = (
        f"values are missing on {' and '.join(parts)}: over all of them the mean "
        f"difference lies between {signed(block['bound_low'], 3)} and "
        f"{signed(block['bound_high'], 3)}"
    )
    is_up = block["mean_difference"] > 0
    # What the comparison lacks overturns a gain when it is low, what the baseline lacks when high.
    tips = [
        f"those of {arm.config} average {'above' if is_up == (arm is arms[0]) else 'below'} "
        f"{tip:.2f}"
        for arm, tip in zip(
            arms, (block["tipping_baseline"], block["tipping_comparison"]), strict=True
        )
        if tip is not None
    ]
    worst = block["bound_low"] if is_up else block["bound_high"]
    if is_fragile and not round(worst, 9):
        text += ", so there may be no difference at all"
    elif is_fragile:
        text += f"; the sign changes if {' or if '.join(tips)}" if tips else "; the sign can change"
    elif is_up == (worst > 0) and worst:
        text += ", so they cannot change its sign"
    effect = "lowers" if is_fragile else "none"
    yield _threat("lacking_values", worst, "mean difference, worst case", effect, text)


def role_notes(valid: Valid) -> Iterator[Threat]:
    """Yield where the name of an arm and what its trials used disagree."""
    for arm, why in valid.roles.doubt:
        yield _threat("mcp_role", arm.n_callers, "trials", "withholds", f"{arm.config}: {why}")
    for note in valid.roles.notes:
        text = f"{note}; it is taken as an arm that is meant to"
        yield _threat("mcp_role", None, "trials", "none", text)


def partial_use(
    metric: Metric, valid: Valid, arms: tuple[Arm, Arm], pairs: Sequence[Pair]
) -> Iterator[Threat]:
    """Yield of each arm that only some trials called an MCP server, and the estimate of those.

    Trials of a control and arms whose role is in doubt are the gate's.
    """
    known = [valid.roles.control, *(arm for arm, _ in valid.roles.doubt)]
    for side, arm in zip(("baseline", "comparison"), arms, strict=True):
        if any(arm is other for other in known) or not 0 < arm.n_callers < arm.n_ran:
            continue
        own = [p.values(metric) for p in pairs if all(map(has_called_mcp, getattr(p, side)))]
        changes = [b.value - a.value for a, b in own if a.value is not None and b.value is not None]
        text = f"only {arm.use} called an MCP server"
        if changes:
            text += (
                f"; over {counted(len(changes), 'matched task')} on which all did, the mean "
                f"difference is {signed(math.fsum(changes) / len(changes), 3)}"
            )
        yield _threat("mcp_role", arm.n_callers, "trials", "none", text)


def never_hit(metrics: Mapping[str, Block], arms: tuple[Arm, Arm]) -> Iterator[Threat]:
    """Yield how often either arm never found a relevant file, where it differs."""
    block = metrics["ttfr_seconds"]
    if block["ci_reason"] != "never_hit_differs":
        return
    counts = [
        f"{block[f'n_never_{side}']} of "
        f"{counted(block[f'n_watched_{side}'], 'task')} with {arm.config}"
        for side, arm in zip(("baseline", "comparison"), arms, strict=True)
    ]
    text = (
        f"no relevant file was found on {' and '.join(counts)}: which was faster cannot be "
        "told from the tasks on which both found one"
    )
    yield _threat("never_hit", None, "tasks", "none", text)


def scales(reward: Block, by_suite: Sequence[Block]) -> Iterator[Threat]:
    """Yield that rewards cannot be averaged over the suites, and their differences by suite."""
    if reward["reason"] != SCALES_DIFFER:
        return
    known = [row for row in by_suite if row["computable"]]
    given = [
        f"{signed(row['mean_difference'])} in {row['benchmark']} "
        f"({counted(row['n_pairs'], 'task')})"
        for row in known[:_MAX_SUITES]
    ]
    if rest := len(known) - len(given):
        given.append(f"{counted(rest, 'further suite')} in the analysis")
    text = f"{REASONS[SCALES_DIFFER]}: reward is given by suite"
    if given:
        text += f", the mean difference is {', '.join(given)}"
    yield _threat("reward_scales", None, "suites", "none", text)
