"""The verdict that estimates permit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from retrieval_eval.metrics.catalog import Metric
from retrieval_eval.model.impact import PairedEstimate, VerdictState
from retrieval_eval.study.gate import RULES, Valid
from retrieval_eval.study.stated import ALPHA
from retrieval_eval.values import signed

Conclusion = VerdictState

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
