"""The verdict that estimates permit, and the threats that could overturn it.

``effect`` of a threat is ``none`` where the verdict does not change, ``lowers`` where it is weaker
than the measured tasks alone would show, and ``withholds`` where there is no verdict.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal

from retrieval_eval.metrics.catalog import Metric
from retrieval_eval.model.impact import PairedEstimate, RewardBySuite, Threat
from retrieval_eval.stats.clusters import MIN_CLUSTERS
from retrieval_eval.study.arms import Arm
from retrieval_eval.study.gate import RULES, Valid
from retrieval_eval.study.pairs import Pair
from retrieval_eval.study.trials import SCALES_DIFFER
from retrieval_eval.values import REASONS, counted, signed

Conclusion = Literal[
    "better", "worse", "fragile", "no_detectable_difference", "too_few_pairs", "no_verdict"
]

ALPHA: Final = 0.05

OUTCOMES: Final = ("reward",)
"""Outcomes that retrieval should improve; one that moves against the verdict is named with it."""


def apparent(block: PairedEstimate) -> Conclusion:
    """Return what the measured tasks show: better, worse or no_detectable_difference.

    A difference needs an interval of its mean that leaves out 0 and a significant test, because
    each alone is wrong too often in some situations. Differences that are all the same have no
    interval; then the test alone decides.
    """
    change, p_value = block.mean_difference, block.p_value
    is_constant = block.ci_reason == "constant_input"
    low, high = (change, change) if is_constant else (block.ci_low, block.ci_high)
    if change is None or low is None or high is None or p_value is None:
        return "no_detectable_difference"
    if p_value >= ALPHA or low <= 0 <= high:
        return "no_detectable_difference"
    is_gain = (change > 0) == (block.direction == "higher_is_better")
    return "better" if is_gain else "worse"


def conclusion(block: PairedEstimate) -> Conclusion:
    """Return the conclusion about one metric, considering the values that an arm lacks.

    As :func:`apparent`, but ``fragile`` where the values that were not measured could give the
    mean difference over all planned tasks the other sign, or none.
    """
    found = apparent(block)
    return "fragile" if found != "no_detectable_difference" and is_fragile(block) else found


def is_fragile(block: PairedEstimate) -> bool:
    """Return whether values that an arm lacks could give the mean difference the other sign."""
    low, high, change = block.bound_low, block.bound_high, block.mean_difference
    if low is None or high is None or change is None:
        return False
    worst = low if change > 0 else -high
    has_gap = block.n_lacking_baseline or block.n_lacking_comparison
    # A sum of exactly 0 can leave a rounding error.
    return bool(has_gap) and round(worst, 9) <= 0


def permitted(block: PairedEstimate, valid: Valid) -> Conclusion:
    """Return the conclusion about one metric that gate and number of tasks permit.

    As :func:`conclusion`, but ``no_verdict`` where the gate failed and ``too_few_pairs`` where no
    test could decide. The verdict and the conclusion under every view are such.
    """
    from retrieval_eval.stats.sign_flips import MIN_PAIRS_FOR_P

    if valid.failed:
        return "no_verdict"
    return "too_few_pairs" if block.n_pairs < MIN_PAIRS_FOR_P else conclusion(block)


def verdict_of(
    primary: Metric, block: PairedEstimate, valid: Valid, n_pairs: int
) -> tuple[Conclusion, str]:
    """Return the verdict about a metric, and why, in a sentence."""
    from retrieval_eval.stats.sign_flips import MIN_PAIRS_FOR_P

    found = permitted(block, valid)
    if found == "no_verdict":
        named = "; ".join(f"{name} ({RULES[name].meaning})" for name in valid.failed)
        return found, f"the arms cannot be compared: {named}"
    n = block.n_pairs
    if found == "too_few_pairs":
        return found, (
            f"{n} of {n_pairs} matched tasks have a {primary.label}; "
            f"no test can tell a difference below {MIN_PAIRS_FOR_P}"
        )
    difference, p_value = block.mean_difference or 0.0, block.p_value
    numbers = f"mean difference {signed(difference, 3)} over {n} matched tasks"
    if block.averaged_over == "clusters":
        numbers += f" (mean of {block.n_clusters} {block.cluster_by} means)"
    if p_value is not None:
        numbers += ", p < 0.001" if p_value < 0.001 else f", p = {p_value:.3f}"
    return found, f"{primary.label}: {numbers}"


def cautions(
    primary: Metric, metrics: Sequence[Metric], blocks: Mapping[str, PairedEstimate]
) -> tuple[str, ...]:
    """Return a sentence for every outcome that clearly moves against the verdict's metric."""
    found = apparent(blocks[primary.name])
    sentences = []
    for metric in metrics:
        block = blocks[metric.name]
        shown = apparent(block) if metric.name in OUTCOMES else found
        if {found, shown} == {"better", "worse"}:
            sentences.append(
                f"{primary.label} is {found}, but {metric.label} is {shown} "
                f"({signed(block.mean_difference or 0.0)} {metric.unit} "
                f"over {block.n_pairs} tasks)"
            )
    return tuple(sentences)


# Threats


_MAX_SUITES: Final = 4
"""Suites whose reward a sentence gives."""

_PLURAL: Final = {"repository": "repositories", "suite": "suites"}


Effect = Literal["none", "lowers", "withholds"]


def _threat(name: str, value: float | None, unit: str, effect: Effect, sentence: str) -> Threat:
    return Threat(name=name, value=value, unit=unit, effect=effect, sentence=sentence)


def few_clusters(block: PairedEstimate, pairs: Sequence[Pair]) -> Iterator[Threat]:
    """Yield a threat where the tasks of a metric are of fewer than six clusters."""
    by, n, n_pairs = block.cluster_by, block.n_clusters, block.n_pairs
    if by is None or n is None or n >= MIN_CLUSTERS or not block.computable:
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


def lacking_values(
    block: PairedEstimate, arms: tuple[Arm, Arm], *, is_fragile: bool
) -> Iterator[Threat]:
    """Yield a threat where values that an arm lacks could change the mean difference."""
    low, high = block.bound_low, block.bound_high
    if low is None or high is None:
        return
    lacking = (block.n_lacking_baseline, block.n_lacking_comparison)
    if not any(lacking):
        return
    n = block.n_planned or 0
    parts = [
        f"{k} of {counted(n, 'task')} with {arm.config}"
        for k, arm in zip(lacking, arms, strict=True)
        if k
    ]
    text = (
        f"values are missing on {' and '.join(parts)}: over all of them the mean "
        f"difference lies between {signed(low, 3)} and "
        f"{signed(high, 3)}"
    )
    is_up = (block.mean_difference or 0.0) > 0
    # A gain is overturned by low missing values of the comparison or high ones of the baseline.
    tips = [
        f"those of {arm.config} average {'above' if is_up == (arm is arms[0]) else 'below'} "
        f"{tip:.2f}"
        for arm, tip in zip(arms, (block.tipping_baseline, block.tipping_comparison), strict=True)
        if tip is not None
    ]
    worst = low if is_up else high
    if is_fragile and not round(worst, 9):
        text += ", so there may be no difference at all"
    elif is_fragile:
        text += f"; the sign changes if {' or if '.join(tips)}" if tips else "; the sign can change"
    elif is_up == (worst > 0) and worst:
        text += ", so they cannot change its sign"
    effect: Effect = "lowers" if is_fragile else "none"
    yield _threat("lacking_values", worst, "mean difference, worst case", effect, text)


def role_notes(valid: Valid) -> Iterator[Threat]:
    """Yield a threat where the name of an arm and its use of MCP disagree."""
    for arm, why in valid.roles.doubt:
        yield _threat("mcp_role", arm.n_callers, "trials", "withholds", f"{arm.config}: {why}")
    for note in valid.roles.notes:
        text = f"{note}; it is taken as an arm that is meant to"
        yield _threat("mcp_role", None, "trials", "none", text)


def partial_use(
    column: str, valid: Valid, arms: tuple[Arm, Arm], pairs: Sequence[Pair]
) -> Iterator[Threat]:
    """Yield a threat for each arm of which only some trials called an MCP server.

    Control trials that did so, and arms whose role is in doubt, are left to the gate.
    """
    known = [valid.roles.control, *(arm for arm, _ in valid.roles.doubt)]
    for side, arm in zip(("baseline", "comparison"), arms, strict=True):
        if any(arm is other for other in known) or not 0 < arm.n_callers < arm.n_ran:
            continue
        own = [p.values(column) for p in pairs if all(t.has_called_mcp for t in getattr(p, side))]
        changes = [b - a for a, b in own if a is not None and b is not None]
        text = f"only {arm.use} called an MCP server"
        if changes:
            text += (
                f"; over {counted(len(changes), 'matched task')} on which all did, the mean "
                f"difference is {signed(math.fsum(changes) / len(changes), 3)}"
            )
        yield _threat("mcp_role", arm.n_callers, "trials", "none", text)


def never_hit(block: PairedEstimate | None, arms: tuple[Arm, Arm]) -> Iterator[Threat]:
    """Yield a threat where the arms differ in how often no relevant file was found."""
    if block is None or block.ci_reason != "never_hit_differs":
        return
    never = (block.n_never_baseline, block.n_never_comparison)
    watched = (block.n_watched_baseline, block.n_watched_comparison)
    counts = [
        f"{k} of {counted(n or 0, 'task')} with {arm.config}"
        for k, n, arm in zip(never, watched, arms, strict=True)
    ]
    text = (
        f"no relevant file was found on {' and '.join(counts)}: which was faster cannot "
        "be decided from the tasks on which both found one"
    )
    yield _threat("never_hit", None, "tasks", "none", text)


def scales(reward: PairedEstimate | None, by_suite: Sequence[RewardBySuite]) -> Iterator[Threat]:
    """Yield a threat where rewards cannot be averaged over suites, with differences by suite."""
    if reward is None or reward.reason != SCALES_DIFFER:
        return
    known = [row for row in by_suite if row.computable]
    given = [
        f"{signed(row.mean_difference or 0.0)} in {row.benchmark} ({counted(row.n_pairs, 'task')})"
        for row in known[:_MAX_SUITES]
    ]
    if rest := len(known) - len(given):
        given.append(f"{counted(rest, 'further suite')} in the analysis")
    text = f"{REASONS[SCALES_DIFFER]}: reward is given by suite"
    if given:
        text += f", the mean difference is {', '.join(given)}"
    yield _threat("reward_scales", None, "suites", "none", text)
