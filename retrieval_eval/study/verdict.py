"""The verdict that estimates permit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from retrieval_eval.metrics.catalog import Metric
from retrieval_eval.model.impact import PairedEstimate, Threat, VerdictState
from retrieval_eval.study.gate import RULES
from retrieval_eval.study.headline import deciding_estimate, has_no_estimate, looks_sentence
from retrieval_eval.study.stated import ALPHA
from retrieval_eval.study.trials import SCALES_DIFFER
from retrieval_eval.values import REASONS, counted, signed

if TYPE_CHECKING:
    from retrieval_eval.study.threats import Study

Conclusion = VerdictState

PLURAL: Final = {"repository": "repositories", "suite": "suites", "model": "models"}

OUTCOMES: Final = ("reward",)
"""Outcomes that retrieval should improve; one that moves against the verdict is named with it."""


def apparent(block: PairedEstimate, alpha: float = ALPHA) -> Conclusion:
    """Return what the measured tasks show: better, worse or no_detectable_difference.

    A difference needs an interval of the headline that leaves out its null value and a significant
    test, because each alone is wrong too often in some situations. Differences that are all the
    same have no interval; then the test alone decides. Of a study that is read while trials are
    added both are those that hold at every look.
    """
    lead = deciding_estimate(block)
    if lead.p is None or lead.p >= alpha or not lead.excludes_null:
        return "no_detectable_difference"
    is_gain = lead.is_larger == (block.direction == "higher_is_better")
    return "better" if is_gain else "worse"


def is_fragile(block: PairedEstimate) -> bool:
    """Return whether values that an arm lacks could give the mean difference the other sign."""
    low, high, change = block.bound_low, block.bound_high, block.mean_difference
    if low is None or high is None or change is None:
        return False
    worst = low if change > 0 else -high
    has_gap = block.n_lacking_baseline or block.n_lacking_comparison
    # A sum of exactly 0 can leave a rounding error.
    return bool(has_gap) and round(worst, 9) <= 0


def permitted(study: Study, *, is_lowered: bool) -> Conclusion:
    """Return the conclusion that gate, number of tasks and threats permit.

    ``no_verdict`` where the gate failed, ``too_few_pairs`` where no test could decide, which is so
    too where values of enough tasks give no estimate. A threat
    that lowers makes a clear difference ``fragile``, and leaves equivalence not shown. The verdict
    and the conclusion under every view are such.
    """
    from retrieval_eval.stats.sign_flips import MIN_PAIRS_FOR_P

    if study.valid.failed:
        return "no_verdict"
    if study.headline.n < MIN_PAIRS_FOR_P or study.headline.estimate is None:
        return "too_few_pairs"
    if not is_lowered:
        return study.found
    return "fragile" if study.is_clear else "no_detectable_difference"


def verdict_of(study: Study, threats: Sequence[Threat]) -> tuple[Conclusion, str]:
    """Return the verdict, and why, in a sentence that says what is known in every case."""
    lowering = [threat for threat in threats if threat.effect == "lowers"]
    state = permitted(study, is_lowered=bool(lowering))
    if state == "no_verdict":
        named = "; ".join(f"{name} ({RULES[name].meaning})" for name in study.valid.failed)
        return state, f"the arms cannot be compared: {named}"
    if state == "too_few_pairs":
        return state, _too_few(study)
    reason = f"{study.primary.label}: {_numbers(study)}"
    if lowering:
        reason += "; " + "; ".join(_overturned(threat) for threat in lowering[:2])
    return state, reason


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
    if block.averaged_over == "clusters":
        text += f" (mean of {block.n_clusters} {block.cluster_by} means)"
    elif block.n_clusters == 1:
        text += f" of one {block.cluster_by}"
    if lead.p is not None:
        text += ", p < 0.001" if lead.p < 0.001 else f", p = {lead.p:.3f}"
    if study.found == "equivalent" and study.design.margin is not None:
        text += f", within the margin of {study.design.margin:g}"
    looks = looks_sentence(block)
    return f"{text}; {looks}" if looks else text


_MOST_LISTED: Final = 5


def _too_few(study: Study) -> str:
    """Return what is known where no test can decide: the tasks, or why there is none."""
    from retrieval_eval.stats.sign_flips import MIN_PAIRS_FOR_P

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
    return f"{text}; no test can tell a difference below {MIN_PAIRS_FOR_P}"


def _without_estimate(study: Study) -> str | None:
    """Return why values of enough tasks give no estimate; None where there is one, or too few."""
    if not has_no_estimate(study.block):
        return None
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
    from retrieval_eval.stats.sign_flips import MIN_PAIRS_FOR_P

    if state == "no_verdict":
        return ""
    if state == "too_few_pairs":
        if _without_estimate(study):
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
        is_ratio = study.sample.is_ratio
        said = (
            f"{low:.2f} to {high:.2f} times"
            if is_ratio
            else f"{signed(low, 3)} to {signed(high, 3)}"
        )
        return (
            f"A difference beyond the margin of {study.design.margin:g} would overturn it; the "
            f"{100 * ends.confidence:.0f} % interval is {said}."
        )
    if study.block.always_method is not None:
        # The smallest detectable difference is that of a study that is read once.
        none = "1" if study.sample.is_ratio else "0"
        return f"A difference needs an interval, of those that hold at every look, without {none}."
    return _undetected(study)


_MOST_PARTS: Final = 3


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


_MOST_TASKS: Final = 100_000


def _undetected(study: Study) -> str:
    """Return the smallest detectable difference, and the tasks that the observed one needs."""
    lead, sample = study.headline, study.sample
    if lead.detectable is None or lead.estimate is None:
        return ""

    def said(value: float) -> str:
        return f"{value:.2f} times" if sample.is_ratio else f"{value:.3g}"

    largest = 1.0 if study.block.kind == "bounded" else math.inf
    if lead.detectable >= largest:
        return f"{counted(lead.n, 'matched task')} with this spread can show no difference."
    text = f"a difference below {said(lead.detectable)}"
    if lead.detectable_low is not None and lead.detectable_high is not None:
        high = min(lead.detectable_high, largest)
        text += f" ({said(lead.detectable_low)} to {said(high)})"
    text += " would go unnoticed"
    size, found = lead.detectable, abs(lead.estimate)
    if sample.is_ratio:
        size, found = math.log(lead.detectable), abs(math.log(lead.estimate))
    if round(found, 9):
        block, what = study.block, "matched tasks"
        n = len(sample.values)
        if block.averaged_over == "clusters" and block.n_clusters and block.cluster_by:
            n, what = block.n_clusters, PLURAL[block.cluster_by]
        # The error of a mean falls with the root of the number of what it is over.
        needed = math.ceil(n * (size / found) ** 2)
        many = f"about {needed:,}" if needed <= _MOST_TASKS else f"over {_MOST_TASKS:,}"
        text += f"; to show the observed one in 80 % of studies takes {many} {what}"
    return _sentence(text)


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
