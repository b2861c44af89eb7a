"""Sentences from numbers: pure, associational, and the same for the same numbers.

No sentence says that a config caused anything: the same tasks were run under both, and what is
reported is how their measurements differ. The verdict is the analysis's; the report only words it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from retrieval_eval.model.impact import ComparisonDocument, Flip, PairedStatistics
from retrieval_eval.report import gate_labels
from retrieval_eval.report.comparison import (
    ALPHA,
    UNABLE,
    VERDICTS,
    arms,
    discrimination_of,
    excludes_zero,
    is_by_means,
    is_gain,
    ledgers,
    verdict_of,
)
from retrieval_eval.report.findings import name
from retrieval_eval.report.names import metric_name, reason_sentence
from retrieval_eval.report.numbers import interval, of, p_value, signed
from retrieval_eval.stats.paired import MIN_PAIRS
from retrieval_eval.stats.sign_flips import MIN_PAIRS_FOR_P
from retrieval_eval.values import counted

MAX_WORDS: Final = 90
CLEAR: Final = ("better", "worse", "fragile")
"""Verdicts of a difference that the measured tasks show."""
MAX_DETAIL: Final = 3
"""Reasons named on the first screen; fewer where the words would not fit."""


@dataclass(frozen=True, slots=True)
class AnswerInputs:
    """What the answer rests on beside the comparison.

    ``hurt`` is the task with the largest drop of the verdict's metric and that drop;
    ``n_sign_changes`` counts the pooled associations that change sign inside groups; ``withheld``
    says why the difference is not given.
    """

    n_tasks: int
    n_trials: int
    n_scored: int
    n_excluded: int
    n_configs: int
    hurt: tuple[str, float] | None = None
    n_sign_changes: int = 0
    withheld: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The headline, its sentences, and the tone in which the box is drawn."""

    title: str
    sentences: tuple[str, ...]
    tone: str = "none"


def answer(comparison: ComparisonDocument | None, inputs: AnswerInputs) -> Answer:
    """Return the answer to "did it help, how much, how sure, where did it hurt, can I trust it".

    Every case has its template: one config only, no verdict (with the failed rules), too few
    pairs, better, worse, no detectable difference, a metric in which none could show. Together
    the sentences have at most 90 words.
    """
    if comparison is None:
        return _no_pair(inputs)
    if inputs.withheld is not None:
        baseline, other = map(name, arms(comparison))
        why = "A difference between them could come from that fault, so none is given."
        return Answer(
            f"No verdict: {baseline} and {other} cannot be compared",
            (inputs.withheld, why, trust(comparison, inputs)),
        )
    result = comparison.metrics.get(comparison.verdict_metric)
    if comparison.verdict == "too_few_pairs":
        return _too_few(comparison, result, inputs)
    if comparison.verdict == "no_verdict" or result is None or result.mean_difference is None:
        reason = _sentence(name(comparison.verdict_reason, 200))
        return Answer("No verdict", (reason, trust(comparison, inputs)))
    is_doubtful = depends_on_view(comparison) or contrary_reward(comparison)
    is_plain = comparison.verdict in ("better", "worse") and not is_doubtful
    return Answer(
        _title(comparison, result),
        _measured(comparison, result, inputs),
        comparison.verdict if is_plain else "none",
    )


def _measured(
    comparison: ComparisonDocument, result: PairedStatistics, inputs: AnswerInputs
) -> tuple[str, ...]:
    """Return the sentences of a measured difference, in as much detail as the words allow."""
    said: tuple[str, ...] = ()
    for detail in range(MAX_DETAIL, -1, -1):
        said = (
            _how_much(comparison, result),
            lacking(comparison, is_short=not detail),
            _where(comparison, result, inputs if detail else replace(inputs, hurt=None)),
            caution(comparison, inputs.n_sign_changes, detail),
            trust(comparison, inputs if detail else replace(inputs, n_excluded=0), detail),
        )
        if sum(len(sentence.split()) for sentence in said) <= MAX_WORDS:
            break
    return tuple(filter(None, said))


def _title(comparison: ComparisonDocument, result: PairedStatistics) -> str:
    metric = metric_name(comparison.verdict_metric)
    status = why_constant(comparison)
    if status is not None:
        return f"{metric.label} cannot tell the two configurations apart: {status}"
    if comparison.verdict == "no_detectable_difference":
        tasks = counted(result.n_pairs, "matched task")
        return f"No detectable difference in {metric.label.lower()} over {tasks}"
    word = "higher" if (result.mean_difference or 0) > 0 else "lower"
    amount = metric.value(abs(result.mean_difference or 0))
    text = f"{metric.label} is {amount} {word} with {name(comparison.comparison_config)}"
    if comparison.verdict == "fragile":
        return f"{text} where it was measured, but the tasks that lack a value could overturn this"
    if (reward := contrary_reward(comparison)) is not None:
        return f"{text}, while reward is {'higher' if is_gain(reward) else 'lower'}"
    is_unsure = depends_on_view(comparison)
    return f"{text}, but the verdict depends on the view" if is_unsure else text


def _how_much(comparison: ComparisonDocument, result: PairedStatistics) -> str:
    metric = metric_name(comparison.verdict_metric)
    baseline, other = map(name, arms(comparison))
    a, b = metric.value(result.mean_baseline), metric.value(result.mean_comparison)
    tasks = counted(result.n_pairs, "matched task")
    # With few groups every one counts the same, however many tasks it holds.
    groups = f"{result.n_clusters} {result.cluster_by} means of " if is_by_means(result) else ""
    text = (
        f"On {groups}{tasks}, mean {metric.label.lower()} was {a} with {baseline} and {b} with "
        f"{other}: difference {metric.difference(result.mean_difference)}"
    )
    if result.ci_low is not None and result.ci_high is not None:
        text += f", 95 % interval {interval(result.ci_low, result.ci_high, metric.digits)}"
    if result.p_value is not None:
        text += f", p {p_value(result.p_value)}"
    if comparison.verdict != "no_detectable_difference":
        return f"{text}."
    if excludes_zero(result):
        text += "; interval and test disagree"
    if (smallest := result.smallest_detectable_difference) is not None:
        text += f"; smallest detectable difference about {metric.value(smallest)}"
    return f"{text}."


def _where(comparison: ComparisonDocument, result: PairedStatistics, inputs: AnswerInputs) -> str:
    higher, lower = (result.wins or 0, result.losses or 0)
    if result.direction == "lower_is_better":
        higher, lower = lower, higher
    text = f"Higher on {counted(higher, 'task')}, equal on {result.ties or 0}, lower on {lower}"
    if inputs.hurt is not None and inputs.hurt[1] < 0:
        task, drop = inputs.hurt
        fall = metric_name(comparison.verdict_metric).difference(drop)
        text += f"; largest fall on {name(task)} ({fall})"
    return f"{text}."


def _no_pair(inputs: AnswerInputs) -> Answer:
    if inputs.n_configs < 2:
        alone = (
            "All trials ran under one configuration, so this report describes how it retrieves, "
            "not whether it does so better than another."
        )
        return Answer("One configuration only: nothing to compare", (alone, trust(None, inputs)))
    nothing = "No two configurations share a task that can be compared."
    return Answer("No matched tasks: nothing to compare", (nothing, trust(None, inputs)))


def _too_few(
    comparison: ComparisonDocument, result: PairedStatistics | None, inputs: AnswerInputs
) -> Answer:
    n = result.n_pairs if result else 0
    label = metric_name(comparison.verdict_metric).label.lower()
    baseline, other = map(name, arms(comparison))
    few = f"{baseline} and {other} share {counted(n, 'task')} with computable {label}"
    if n < MIN_PAIRS:
        few += f"; below {MIN_PAIRS} no statistic is given."
    else:
        few += f"; below {MIN_PAIRS_FOR_P} no test can decide, and the intervals below are rough."
    title = f"Too few matched tasks for a verdict: {n}"
    return Answer(title, (few, trust(comparison, inputs)))


def trust(
    comparison: ComparisonDocument | None, inputs: AnswerInputs, detail: int = MAX_DETAIL
) -> str:
    """Return the sentence that says what the numbers rest on and what was left out.

    ``detail`` is the number of reasons named; without any, only their trials are counted.
    """
    folders = f"{counted(inputs.n_excluded, 'folder')} excluded" if inputs.n_excluded else ""
    if comparison is None:
        scored = of(inputs.n_scored, inputs.n_trials)
        text = f"{scored} trials, of {counted(inputs.n_tasks, 'task')}, could be scored"
        return f"{text}; {folders}." if folders else f"{text}."
    used = sum(arm.used for arm in ledgers(comparison))
    found = sum(arm.trials for arm in ledgers(comparison))
    verb = "would form" if inputs.withheld else "forms" if used == 1 else "form"
    text = f"{of(used, found)} trials {verb} {counted(comparison.n_pairs, 'matched task')}"
    if not used:
        text = f"None of {counted(found, 'trial')} has a valid partner in the other arm"
    result = comparison.metrics.get(comparison.verdict_metric)
    if detail and result is not None and result.n_pairs < comparison.n_pairs:
        parts = [f"{result.n_pairs} with {metric_name(comparison.verdict_metric).label.lower()}"]
        if any(arm.outcomes_only for arm in ledgers(comparison)):
            parts.append(f"{comparison.n_pairs - result.n_pairs} for outcomes only")
        text += f" ({', '.join(parts)})"
    left = gate_labels.left_out(comparison, detail) if detail else ""
    if not detail:
        return f"{text}; {found - used:,} left out, see Coverage."
    if not left and not folders:
        return f"{text}; no trial was left out."
    return f"{text}; {'; '.join(filter(None, (f'left out: {left}' if left else '', folders)))}."


def paired(comparison: ComparisonDocument | None) -> str:
    """Return the finding of the paired section."""
    if comparison is None:
        return "No two configurations share a task, so nothing can be paired"
    result = comparison.metrics.get(comparison.verdict_metric)
    if result is None or result.n_pairs < MIN_PAIRS:
        tasks = counted(result.n_pairs if result else 0, "matched task")
        return f"Only {tasks}: too few for a statistic"
    if comparison.verdict == "too_few_pairs":
        tasks = counted(result.n_pairs, "matched task")
        return f"{tasks}: enough to show the differences, too few for a verdict"
    if result.mean_difference is None:
        return f"No paired statistic: {reason_sentence(result.reason)}"
    return _title(comparison, result)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def depends_on_view(comparison: ComparisonDocument) -> bool:
    """Return whether another view changes the sign or the verdict of the verdict's metric."""
    return any(flip.metric == comparison.verdict_metric for flip in comparison.flips)


def contrary_reward(comparison: ComparisonDocument) -> PairedStatistics | None:
    """Return the reward's statistics when they differ clearly, but not the way the verdict says.

    A reader who sees that more was found must not take for granted that more was solved.
    """
    reward = comparison.metrics.get("reward")
    if reward is None or comparison.verdict_metric == "reward" or not excludes_zero(reward):
        return None
    is_sure = reward.p_value is not None and reward.p_value < ALPHA
    found = comparison.metrics.get(comparison.verdict_metric)
    is_clear = comparison.verdict in CLEAR
    agrees = is_clear and found is not None and is_gain(found) == is_gain(reward)
    return reward if is_sure and not agrees else None


def lacking(comparison: ComparisonDocument, *, is_short: bool = False) -> str:
    """Return the sentence on what values that an arm lacks could do to a fragile verdict."""
    result = comparison.metrics.get(comparison.verdict_metric)
    if comparison.verdict != "fragile" or result is None:
        return ""
    if is_short:
        return "Values that an arm lacks could change its sign."
    known = metric_name(comparison.verdict_metric)
    names = arms(comparison)
    gaps = (result.n_lacking_baseline, result.n_lacking_comparison)
    whole = counted(result.n_planned or 0, "task")
    where = [f"{n} with {name(arm)}" for n, arm in zip(gaps, names, strict=True) if n]
    ends = interval(result.bound_low, result.bound_high, known.digits)
    text = f"Of {whole}, {' and '.join(where)} lack a value; over all, the difference is in {ends}"
    is_up = (result.mean_difference or 0) > 0
    tips = zip(names, (result.tipping_baseline, result.tipping_comparison), strict=True)
    # What the second arm lacks overturns a gain when it is low, what the first lacks when high.
    said = [
        f"{'above' if is_up == (arm == names[0]) else 'below'} {known.value(tip)} with {name(arm)}"
        for arm, tip in tips
        if tip is not None
    ]
    tipping = f", and changes sign if those lacking average {' or '.join(said)}" if said else ""
    return f"{text}{tipping}."


def why_constant(comparison: ComparisonDocument) -> str | None:
    """Return why no difference could show in the verdict's metric, or None when one could."""
    found = discrimination_of(comparison, comparison.verdict_metric)
    if found is None or found.status not in UNABLE or comparison.verdict in CLEAR:
        return None
    return found.status


def caution(comparison: ComparisonDocument, n_sign_changes: int, n_named: int = 2) -> str:
    """Return one sentence of cautions for the first screen, or nothing when there is none.

    A reward that goes the other way comes first. Flips of the verdict's metric are named, at most
    ``n_named``; the rest is counted, and so are the pooled associations that change sign.
    """
    parts = []
    if (reward := contrary_reward(comparison)) is not None:
        word = "higher" if (reward.mean_difference or 0) > 0 else "lower"
        ends = interval(reward.ci_low, reward.ci_high)
        parts.append(f"reward is {word}, {signed(reward.mean_difference)} {ends}")
    own = [f for f in comparison.flips if f.metric == comparison.verdict_metric][:n_named]
    parts += [flip_clause(flip, comparison) for flip in own]
    rest = len(comparison.flips) - len(own)
    if rest:
        further = "more conclusion" if own else "conclusion"
        verb = "changes" if rest == 1 else "change"
        parts.append(f"{counted(rest, further)} {verb} under another view (see Views)")
    if n_sign_changes:
        verb = "changes" if n_sign_changes == 1 else "change"
        pooled = counted(n_sign_changes, "pooled association")
        parts.append(f"{pooled} {verb} sign within groups")
    return f"Caution: {'; '.join(parts)}." if parts else ""


def flip_clause(flip: Flip, comparison: ComparisonDocument) -> str:
    """Return what changes, such as ``under the view opened the sign changes (−0.03)``."""
    known = metric_name(flip.metric)
    view = name(flip.view.replace("_", " "))
    text = f"under the view {view}"
    if flip.kind == "sign":
        return f"{text} the sign changes ({known.difference(flip.there)})"
    found = comparison.views.get(flip.view)
    if found is None or flip.metric != comparison.verdict_metric:
        return f"{text} the conclusion changes ({known.difference(flip.there)})"
    there = verdict_of(found)
    return f"{text} the verdict is “{VERDICTS.get(there, name(there))}”"
