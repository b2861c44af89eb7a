"""The estimate that leads for a metric, and the verdict that estimates permit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from retrieval_eval.agents.metrics.catalog import Metric
from retrieval_eval.agents.study.gate import RULES
from retrieval_eval.agents.study.stated import ALPHA
from retrieval_eval.agents.study.trials import SCALES_DIFFER
from retrieval_eval.model.impact import PairedEstimate, Threat, VerdictState
from retrieval_eval.values import REASONS, counted, ends_beside, signed, signed_ends

if TYPE_CHECKING:
    from retrieval_eval.agents.study.threats import Study

# --------------------------------------------------------------------------------------------------
# The estimate that leads for a metric: which number is read, and against which null value.

PLURAL: Final = {"repository": "repositories", "suite": "suites", "model": "models"}

MOSTLY_REPEATS: Final = 0.8
"""From this share of variance on, repeats are nearly as good as tasks."""


@dataclass(frozen=True, slots=True)
class Headline:
    """The leading estimate of a metric, with its interval, p and power.

    Parameters
    ----------
    quantity
        ``mean_difference``, ``ratio`` or ``restricted_mean``.
    estimate, low, high, p
        The number, the ends of its interval and its p-value; None where not computable.
    null
        The value without any difference: 1 for a ratio, else 0.
    n
        The pairs it is of.
    reason
        The reason code of a missing estimate, or of its missing interval.
    detectable
        The smallest value that this n could show with 80 % power: a difference, or a ratio above 1.
    """

    quantity: str
    estimate: float | None
    low: float | None
    high: float | None
    p: float | None
    null: float
    n: int
    reason: str | None = None
    detectable: float | None = None

    @property
    def ends(self) -> tuple[float, float] | None:
        """The interval; the estimate itself where all differences are the same (or ratios)."""
        if self.low is not None and self.high is not None:
            return self.low, self.high
        if self.reason == "constant_input" and self.estimate is not None:
            return self.estimate, self.estimate
        return None

    @property
    def excludes_null(self) -> bool:
        """Whether there is an interval and the null value lies outside it."""
        ends = self.ends
        return ends is not None and not ends[0] <= self.null <= ends[1]

    @property
    def is_larger(self) -> bool:
        """Whether the comparison has the larger values."""
        return self.estimate is not None and self.estimate > self.null


def headline_estimate(block: PairedEstimate) -> Headline:
    """Return the leading estimate of a metric, which verdicts, tables and sentences use.

    Examples
    --------
    >>> block = PairedEstimate(
    ...     direction="lower_is_better",
    ...     n_pairs=9,
    ...     reason=None,
    ...     headline="ratio",
    ...     estimate=1.5,
    ...     ci_low=1.2,
    ...     ci_high=1.9,
    ...     p_value=0.004,
    ... )
    >>> found = headline_estimate(block)
    >>> found.estimate, found.null, found.excludes_null
    (1.5, 1.0, True)
    """
    return Headline(
        block.headline or "mean_difference",
        block.estimate,
        block.ci_low,
        block.ci_high,
        block.p_value,
        1.0 if block.headline == "ratio" else 0.0,
        block.n_pairs - (block.n_not_positive or 0),
        block.reason,
        block.smallest_detectable,
    )


def is_contradicted(block: PairedEstimate) -> bool:
    """Whether the mean difference over all tasks has another sign than the estimate that leads.

    A value of 0 has no ratio, but it is a value: a task that cost nothing lowers the bill. And the
    mean of uneven clusters' effects may differ from that of their tasks.
    """
    lead, change = headline_estimate(block), block.mean_difference
    is_of_others = lead.quantity == "ratio" and bool(block.n_not_positive)
    if change is None or not (is_of_others or (change and is_of_effects(block))):
        return False
    return lead.estimate is not None and (change > 0) != lead.is_larger


def without_ratio(block: PairedEstimate) -> str:
    """Return how many tasks have no ratio because a value is 0, as a clause; empty without any."""
    n = block.n_not_positive or 0
    if block.headline != "ratio" or not n:
        return ""
    return f"{counted(n, 'task')} with a value of 0 {'has' if n == 1 else 'have'} no ratio"


def has_no_estimate(block: PairedEstimate) -> bool:
    """Whether values of enough tasks for a test give no estimate, as costs of 0 give no ratio."""
    from retrieval_eval.stats.resampling import MIN_PAIRS_FOR_P

    lead = headline_estimate(block)
    return lead.estimate is None and max(lead.n, block.n_pairs) >= MIN_PAIRS_FOR_P


def deciding_estimate(block: PairedEstimate) -> Headline:
    """Return the headline with what decides: at a look among many, the numbers valid at all."""
    lead = headline_estimate(block)
    if block.always_method is None:
        return lead
    return replace(lead, low=block.always_low, high=block.always_high, p=block.always_p)


def is_by_means(block: PairedEstimate) -> bool:
    """Whether means, interval and p are those of the means of a few clusters."""
    return block.averaged_over == "clusters"


def is_of_effects(block: PairedEstimate) -> bool:
    """Whether estimate and interval are those of the effects of clusters of uneven size."""
    return block.averaged_over == "random_effects" and block.headline != "ratio"


def of_effects(block: PairedEstimate) -> str:
    """Return in a clause that uneven clusters count by their effects, and what the tasks show.

    Examples
    --------
    >>> block = PairedEstimate(
    ...     direction="higher_is_better",
    ...     n_pairs=201,
    ...     reason=None,
    ...     cluster_by="repository",
    ...     n_clusters=11,
    ...     mean_difference=0.131,
    ...     largest_cluster_share=0.46,
    ... )
    >>> print(of_effects(block))
    mean effect in 11 repositories of uneven size, the largest with 46 % of the tasks; over the
    tasks +0.131
    """
    n, share = block.n_clusters or 0, block.largest_cluster_share or 0.0
    many = PLURAL.get(block.cluster_by or "", "clusters")
    text = f"mean effect in {n} {many} of uneven size, the largest with {round(100 * share)} % of"
    text += " the tasks"
    if block.headline == "ratio" or block.mean_difference is None:
        return text
    return f"{text}; over the tasks {signed(block.mean_difference, 3)}"


def few_effective(block: PairedEstimate) -> str | None:
    """Return in a clause that a few large clusters carry the mean; None where none do.

    Examples
    --------
    >>> block = PairedEstimate(
    ...     direction="higher_is_better",
    ...     n_pairs=201,
    ...     reason=None,
    ...     cluster_by="repository",
    ...     n_clusters=11,
    ...     n_effective=2.54,
    ...     largest_cluster_share=0.46,
    ... )
    >>> print(few_effective(block))
    the 11 repositories count as about 2.5 equally large ones, since one has 46 % of the tasks: more
    repositories are missing, not more tasks
    """
    n, effective, share = block.n_clusters, block.n_effective, block.largest_cluster_share
    if n is None or effective is None or share is None or effective > n - 0.5:
        return None
    many = PLURAL.get(block.cluster_by or "", "clusters")
    return (
        f"the {n} {many} count as about {effective:.1f} equally large ones, since one has "
        f"{round(100 * share)} % of the tasks: more {many} are missing, not more tasks"
    )


def disagreement(block: PairedEstimate, alpha: float) -> str | None:
    """Return in a clause that interval and test of the headline disagree, and why if it is known.

    Clusters are the units of both. The interval allows for how few of them carry the mean, which
    the test does not; a test of few units takes few values, which the interval does not.
    """
    lead = deciding_estimate(block)
    if lead.p is None or lead.ends is None or (lead.p < alpha) == lead.excludes_null:
        return None
    why = few_effective(block) if lead.p < alpha else _coarse_p(block, lead)
    return f"interval and test disagree: {why}" if why else "interval and test disagree"


_COARSE: Final = 0.01
"""Steps of p that are larger are a reason for a test to miss what an interval shows."""


def _coarse_p(block: PairedEstimate, lead: Headline) -> str | None:
    """Return in a clause that an exact p of so few units takes few values; None of many units."""
    n = lead.n if block.n_effective is None else block.n_clusters or lead.n
    step = 2.0 ** (1 - n)
    if step < _COARSE:
        return None
    units = "tasks" if block.n_effective is None else PLURAL.get(block.cluster_by or "", "clusters")
    return f"of {n} {units} p can only be a multiple of {step:.3f}"


def looks_sentence(block: PairedEstimate) -> str | None:
    """Return what holds however often a comparison is read, in a sentence; None without looks."""
    if block.always_method is None:
        return None
    if block.always_low is None or block.always_high is None or block.always_p is None:
        return f"nothing holds at every look yet: {REASONS[block.reason or 'too_few_values']}"
    ends = ends_said(block.always_low, block.always_high, is_ratio=block.headline == "ratio")
    p_value = "p < 0.001" if block.always_p < 0.001 else f"p = {block.always_p:.3f}"
    exact = "" if block.always_method == "betting" else " (exact for normal values)"
    return (
        f"at every look together {ends}, {p_value}{exact}: it may be read again while trials are "
        "added"
    )


def ends_said(low: float, high: float, *, is_ratio: bool) -> str:
    """Return the ends of an interval in words.

    Examples
    --------
    >>> ends_said(0.5, 2.0, is_ratio=True), ends_said(-0.1, 0.2, is_ratio=False)
    ('0.50 to 2.00 times', '−0.100 to +0.200')
    """
    if is_ratio:
        first, last = ends_beside(low, high, 1.0, lambda value, digits: f"{value:.{digits}f}")
        return f"{first} to {last} times"
    return " to ".join(signed_ends(low, high, 3))


def repeats_sentence(block: PairedEstimate) -> str | None:
    """Return whether more tasks or more repeats would make the headline surer, in a sentence.

    From the variance of the differences between tasks and that of repeats inside them. Twice as
    many tasks halve both, twice as many repeats the second only; both double the trials. None where
    the two are not known.

    Examples
    --------
    >>> block = PairedEstimate(
    ...     direction="higher_is_better",
    ...     n_pairs=9,
    ...     reason=None,
    ...     variance_between=0.03,
    ...     variance_within=0.01,
    ... )
    >>> print(repeats_sentence(block))
    25 % of the variance of the differences comes from repeats: twice as many repeats would shorten
    the interval by 6 %, twice as many tasks by 29 %; more tasks help
    """
    between, within = block.variance_between, block.variance_within
    if between is None or within is None or between + within <= 0:
        return None
    share = within / (between + within)
    by_repeats, by_tasks = 1 - math.sqrt(1 - share / 2), 1 - math.sqrt(0.5)
    advice = "more repeats help about as much" if share >= MOSTLY_REPEATS else "more tasks help"
    return (
        f"{share:.0%} of the variance of the differences comes from repeats: twice as many repeats "
        f"would shorten the interval by {by_repeats:.0%}, twice as many tasks by {by_tasks:.0%}; "
        f"{advice}"
    ).replace("%", " %")


# --------------------------------------------------------------------------------------------------
# The verdict that estimates permit.

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
