"""The verdict that estimates permit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from retrieval_eval.agents.metrics.catalog import Metric
from retrieval_eval.agents.study.gate import RULES
from retrieval_eval.agents.study.headline import (
    deciding_estimate,
    ends_said,
    few_effective,
    has_no_estimate,
    is_by_means,
    is_contradicted,
    is_of_effects,
    looks_sentence,
    of_effects,
    without_ratio,
)
from retrieval_eval.agents.study.stated import ALPHA
from retrieval_eval.agents.study.trials import SCALES_DIFFER
from retrieval_eval.model.impact import PairedEstimate, Threat, VerdictState
from retrieval_eval.values import REASONS, counted, signed, signed_ends

if TYPE_CHECKING:
    from retrieval_eval.agents.study.threats import Study

Conclusion = VerdictState

OUTCOMES: Final = ("reward",)
"""Outcomes that retrieval should improve; one that moves against the verdict is named with it."""


def apparent(block: PairedEstimate, alpha: float = ALPHA) -> Conclusion:
    """Return what the measured tasks show: better, worse or no_detectable_difference.

    A difference needs an interval of the headline that leaves out its null value and a significant
    test, because each alone is wrong too often in some situations. Differences that are all the
    same have no interval; then the test alone decides. Of a study that is read while trials are
    added both are those that hold at every look. A ratio shows nothing where the tasks without one,
    because a value is 0, give the mean difference over all tasks the other sign.
    """
    lead = deciding_estimate(block)
    if lead.p is None or lead.p >= alpha or not lead.excludes_null or is_contradicted(block):
        return "no_detectable_difference"
    is_gain = lead.is_larger == (block.direction == "higher_is_better")
    return "better" if is_gain else "worse"


def is_fragile(block: PairedEstimate) -> bool:
    """Return whether values that an arm lacks could give the mean difference the other sign."""
    low, high, change = block.bound_low, block.bound_high, block.mean_difference
    if low is None or high is None or change is None:
        return False
    worst = low if change > 0 else -high
    # A sum of exactly 0 can leave a rounding error, and so can bounds without a gap.
    return high - low > 1e-9 and round(worst, 9) <= 0


def permitted(study: Study, *, is_lowered: bool) -> Conclusion:
    """Return the conclusion that gate, number of tasks and threats permit.

    ``no_verdict`` where the gate failed, ``too_few_pairs`` where no test could decide, which is so
    too where values of enough tasks give no estimate. A threat
    that lowers makes a clear difference ``fragile``, and leaves equivalence not shown. The verdict
    and the conclusion under every view are such.
    """
    from retrieval_eval.stats.resampling import MIN_PAIRS_FOR_P

    if study.valid.failed or _is_alone(study):
        return "no_verdict"
    if study.headline.n < MIN_PAIRS_FOR_P or study.headline.estimate is None:
        return "too_few_pairs"
    if study.found == "no_detectable_difference" and study.is_undecidable:
        return "too_few_pairs"
    if not is_lowered:
        return study.found
    return "fragile" if study.is_clear else "no_detectable_difference"


def verdict_of(study: Study, threats: Sequence[Threat]) -> tuple[Conclusion, str]:
    """Return the verdict, and why, in a sentence that says what is known in every case."""
    lowering = [threat for threat in threats if threat.effect == "lowers"]
    state = permitted(study, is_lowered=bool(lowering))
    if _is_alone(study):
        return state, f"nothing is compared: all trials are of {study.arms[0].config}"
    if state == "no_verdict":
        named = "; ".join(f"{name} ({RULES[name].meaning})" for name in study.valid.failed)
        return state, f"the arms cannot be compared: {named}"
    if state == "too_few_pairs":
        return state, _too_few(study)
    reason = f"{study.primary.label}: {_numbers(study)}"
    if lowering:
        reason += "; " + "; ".join(_overturned(threat) for threat in lowering[:2])
    return state, reason


def _is_alone(study: Study) -> bool:
    """Whether all trials are of one configuration, so that nothing is compared."""
    return not study.arms[1].config


def _overturned(threat: Threat) -> str:
    """Return in a clause which threat lowers the verdict, and how much it takes."""
    if threat.overturn is None:
        return threat.sentence
    return f"overturned {threat.overturn}"


def _numbers(study: Study) -> str:
    lead, block, sample = study.headline, study.block, study.sample
    n = lead.n
    if lead.estimate is None:
        return f"no estimate over {counted(n, 'matched task')}"
    if not any(sample.values):
        what = "ratios are 1" if sample.is_ratio else "differences are 0"
        return f"all {n} {what}"
    if lead.quantity == "ratio":
        text = f"{lead.estimate:.2f} times that of {study.arms[0].config}"
    elif lead.quantity == "restricted_mean":
        text = f"restricted mean difference {signed(lead.estimate)} {study.primary.unit}"
    else:
        text = f"mean difference {signed(lead.estimate, 3)}"
    text += f" over {n} matched tasks"
    if is_by_means(block):
        text += f" (mean of {block.n_clusters} {block.cluster_by} means)"
    elif block.averaged_over == "random_effects":
        text += f" ({of_effects(block)})"
    elif block.n_clusters == 1:
        text += f" of one {block.cluster_by}"
    if lead.p is not None:
        text += ", p < 0.001" if lead.p < 0.001 else f", p = {lead.p:.3f}"
        if study.design.alpha != ALPHA:
            text += f" at a level of {study.design.alpha:g}"
    if study.found == "equivalent" and study.design.margin is not None:
        text += f", within the margin of {study.design.margin:g}"
    if study.found == "not_worse" and study.design.margin is not None:
        text += f", not worse by the margin of {study.design.margin:g}"
    if without_ratio(block):
        text += f"; {_left_out(study)}"
    looks = looks_sentence(block)
    return f"{text}; {looks}" if looks else text


_MOST_LISTED: Final = 5


def _left_out(study: Study) -> str:
    """Return how many tasks have no ratio because a value is 0, and the mean over all tasks."""
    block = study.block
    change = f"{signed(block.mean_difference or 0.0)} {study.primary.unit}"
    text = f"{without_ratio(block)}; over all {block.n_pairs} the mean difference is {change}"
    if block.bill_low is not None and block.bill_high is not None:
        text += f" ({' to '.join(signed_ends(block.bill_low, block.bill_high))})"
    return text


def _too_few(study: Study) -> str:
    """Return what is known where no test can decide: the tasks, or why there is none."""
    from retrieval_eval.stats.resampling import MIN_PAIRS_FOR_P

    label, n = study.primary.label, len(study.pairs)
    if not n:
        return _no_pair(study)
    if study.block.reason == SCALES_DIFFER:
        return f"{counted(n, 'matched task')}: {REASONS[SCALES_DIFFER]}"
    if why := _without_estimate(study):
        return f"{counted(n, 'matched task')} with {label}: {why}"
    values = study.sample.values
    known = study.headline.n
    text = f"{counted(n, 'matched task')} with {label}"
    if known < n:
        text = f"{known} of {counted(n, 'matched task')} with {label}"
    if 0 < len(values) <= _MOST_LISTED:
        given = [study.sample.said(value, 2) for value in values]
        listed = " and ".join([", ".join(given[:-1]), given[-1]] if len(given) > 1 else given)
        text += f": {listed}"
    if known >= MIN_PAIRS_FOR_P:
        return f"{text}; {study.n_changed} differ, and no test of so few can tell a difference"
    return f"{text}; no test can tell a difference below {MIN_PAIRS_FOR_P}"


def _without_estimate(study: Study) -> str | None:
    """Return why values of enough tasks give no estimate; None where there is one, or too few."""
    if not has_no_estimate(study.block):
        return None
    if study.headline.reason == "not_positive":
        return _left_out(study)
    return REASONS[study.headline.reason or "not_comparable"]


def _no_pair(study: Study) -> str:
    """Return why no task has valid trials of both configurations."""
    for arm in study.arms:
        if not arm.trials:
            return f"there is no trial of {arm.config}"
    for arm, left in zip(study.arms, (study.valid.baseline, study.valid.comparison), strict=True):
        if not left:
            return f"none of {counted(len(arm.trials), 'trial')} of {arm.config} is valid"
    both = " and ".join(
        f"{counted(len({t.task for t in arm.trials}), 'task')} with {arm.config}"
        for arm in study.arms
    )
    if not {t.task for t in study.arms[0].trials} & {t.task for t in study.arms[1].trials}:
        return f"no task in common: {both}"
    return f"no task has a valid trial of both: {both}"


def overturn_of(study: Study, state: Conclusion, threats: Sequence[Threat], n: int | None) -> str:
    """Return what it would take to overturn the verdict, in a sentence; empty without verdict.

    ``n`` is the number of matched tasks without which a clear difference is no longer clear.
    """
    from retrieval_eval.stats.resampling import MIN_PAIRS_FOR_P

    if state == "no_verdict":
        return ""
    if state == "too_few_pairs":
        if _without_estimate(study) or not all(arm.trials for arm in study.arms):
            return ""
        return f"A verdict needs at least {MIN_PAIRS_FOR_P} matched tasks with a value."
    if study.is_clear:
        moved = "rose" if study.headline.is_larger else "fell"
        least = "one" if n == 1 else n
        tasks = f"{least} of {len(study.sample.values)} tasks"
        count = f"the difference is no longer clear without the {tasks} that {moved} most"
        # What lowers the verdict comes first, then the count, then what would have to be so.
        known = {
            effect: [t.overturn for t in threats if t.overturn and t.effect == effect]
            for effect in ("lowers", "none")
        }
        parts = [f"it is overturned {how}" for how in known["lowers"]][: _MOST_PARTS - 1]
        parts.append(count)
        parts += [f"it would be overturned {how}" for how in known["none"]]
        return _sentence("; ".join(parts[:_MOST_PARTS]))
    if state == "equivalent" and study.equivalence is not None:
        ends = study.equivalence.interval
        low, high = ends.low.value or 0, ends.high.value or 0
        said = ends_said(low, high, is_ratio=study.sample.is_ratio)
        return (
            f"A difference beyond the margin of {study.design.margin:g} would overturn it; the "
            f"{100 * ends.confidence:.0f} % interval is {said}."
        )
    if state == "not_worse" and study.headline.ends is not None:
        said = ends_said(*study.headline.ends, is_ratio=study.sample.is_ratio)
        return (
            f"A loss beyond the margin of {study.design.margin:g} would overturn it; the "
            f"{100 * study.settings.confidence:.0f} % interval is {said}."
        )
    if study.block.always_method is not None:
        # The smallest detectable difference is that of a study that is read once.
        none = "1" if study.sample.is_ratio else "0"
        return f"A difference needs an interval, of those that hold at every look, without {none}."
    return _undetected(study)


_MOST_PARTS: Final = 3


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _undetected(study: Study) -> str:
    """Return what such a study finds, and why an interval that holds 0 stands beside a small p."""
    lead, sample = study.headline, study.sample
    if is_contradicted(study.block):
        if is_of_effects(study.block):
            return _sentence(f"{of_effects(study.block)}, on the other side of 0")
        return _sentence(f"{_left_out(study)}, on the other side of 0 than the ratio")
    if lead.detectable is None or lead.estimate is None:
        return ""
    said = f"{lead.detectable:.2f} times" if sample.is_ratio else f"{lead.detectable:.3g}"
    what = "ratio" if sample.is_ratio else "difference"
    if study.block.kind == "bounded" and lead.detectable >= 1:
        text = f"{counted(lead.n, 'matched task')} with this spread can show no difference"
    else:
        text = f"a true {what} of {said} would be found in 80 % of such studies"
        level = 1 - study.settings.confidence
        if not math.isclose(level, study.design.alpha):
            # It is computed at the level of the intervals.
            text += f" at a level of {level:g}"
    why = few_effective(study.block)
    return _sentence(f"{text}; {why}" if why else text)


def cautions(
    primary: Metric,
    metrics: Sequence[Metric],
    blocks: Mapping[str, PairedEstimate],
    alpha: float = ALPHA,
) -> tuple[str, ...]:
    """Return a sentence for every outcome that clearly moves against the verdict's metric."""
    found = apparent(blocks[primary.name], alpha)
    sentences = []
    for metric in metrics:
        block = blocks[metric.name]
        shown = apparent(block, alpha) if metric.name in OUTCOMES else found
        if {found, shown} == {"better", "worse"}:
            sentences.append(
                f"{primary.label} is {found}, but {metric.label} is {shown} "
                f"({signed(block.mean_difference or 0.0)} {metric.unit} "
                f"over {block.n_pairs} tasks)"
            )
    return tuple(sentences)
