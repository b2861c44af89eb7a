"""Sentences from numbers: pure, associational, and the same for the same numbers.

No sentence says that a config caused anything: the same tasks were run under both, and what is
reported is how their measurements differ. The verdict is the analysis's; the report only words it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from retrieval_eval.report import cautions, rule_words
from retrieval_eval.report.comparison import Comparison, MetricResult
from retrieval_eval.report.findings import name
from retrieval_eval.report.names import metric_name, reason_sentence
from retrieval_eval.report.numbers import interval, of, p_value
from retrieval_eval.stats.paired import MIN_PAIRS
from retrieval_eval.stats.sign_flips import MIN_PAIRS_FOR_P
from retrieval_eval.values import counted

MAX_WORDS: Final = 90
MAX_DETAIL: Final = 3
"""Reasons named on the first screen; fewer where the words would not fit."""


@dataclass(frozen=True, slots=True)
class Facts:
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


def answer(comparison: Comparison | None, facts: Facts) -> Answer:
    """Return the answer to "did it help, how much, how sure, where did it hurt, can I trust it".

    Every case has its template: one config only, no verdict (with the failed rules), too few
    pairs, better, worse, no detectable difference, a metric in which none could show. Together
    the sentences have at most 90 words.
    """
    if comparison is None:
        return _no_pair(facts)
    if facts.withheld is not None:
        why = "A difference between them could come from that fault, so none is given."
        return Answer(
            f"No verdict: {name(comparison.baseline)} and {name(comparison.comparison)} cannot be "
            "compared",
            (facts.withheld, why, trust(comparison, facts)),
        )
    result = comparison.metric(comparison.verdict_metric)
    if comparison.verdict == "too_few_pairs":
        return _too_few(comparison, result, facts)
    if comparison.verdict == "no_verdict" or result is None or result.mean_difference is None:
        reason = comparison.verdict_reason or "the analysis holds no verdict"
        return Answer("No verdict", (_sentence(name(reason, 200)), trust(comparison, facts)))
    is_doubtful = cautions.turns_the_verdict(comparison) or cautions.contrary_reward(comparison)
    is_plain = comparison.verdict in ("better", "worse") and not is_doubtful
    return Answer(
        _title(comparison, result),
        _measured(comparison, result, facts),
        comparison.verdict if is_plain else "none",
    )


def _measured(comparison: Comparison, result: MetricResult, facts: Facts) -> tuple[str, ...]:
    """Return the sentences of a measured difference, in as much detail as the words allow."""
    said: tuple[str, ...] = ()
    for detail in range(MAX_DETAIL, -1, -1):
        said = (
            _how_much(comparison, result),
            cautions.lacking(comparison, is_short=not detail),
            _where(result, facts if detail else replace(facts, hurt=None)),
            cautions.sentence(comparison, facts.n_sign_changes, detail),
            trust(comparison, facts if detail else replace(facts, n_excluded=0), detail),
        )
        if sum(len(sentence.split()) for sentence in said) <= MAX_WORDS:
            break
    return tuple(filter(None, said))


def _title(comparison: Comparison, result: MetricResult) -> str:
    metric = metric_name(result.metric)
    blunt = cautions.bluntness(comparison)
    if blunt is not None:
        return f"{metric.label} cannot tell the two configurations apart: {blunt}"
    if comparison.verdict == "no_detectable_difference":
        tasks = counted(result.n_pairs, "matched task")
        return f"No detectable difference in {metric.label.lower()} over {tasks}"
    word = "higher" if (result.mean_difference or 0) > 0 else "lower"
    amount = metric.value(abs(result.mean_difference or 0))
    text = f"{metric.label} is {amount} {word} with {name(comparison.comparison)}"
    if comparison.verdict == "fragile":
        return f"{text} where it was measured, but the tasks that lack a value could overturn this"
    if (reward := cautions.contrary_reward(comparison)) is not None:
        return f"{text}, while reward is {'higher' if reward.is_gain else 'lower'}"
    turns = cautions.turns_the_verdict(comparison)
    return f"{text}, but the verdict depends on the view" if turns else text


def _how_much(comparison: Comparison, result: MetricResult) -> str:
    metric = metric_name(result.metric)
    a, b = metric.value(result.mean_baseline), metric.value(result.mean_comparison)
    tasks = counted(result.n_pairs, "matched task")
    # With few groups every one counts the same, however many tasks it holds.
    groups = f"{result.n_clusters} {result.cluster_by} means of " if result.is_by_means else ""
    text = (
        f"On {groups}{tasks}, mean {metric.label.lower()} was {a} with "
        f"{name(comparison.baseline)} and {b} with {name(comparison.comparison)}: difference "
        f"{metric.difference(result.mean_difference)}"
    )
    if result.ci_low is not None and result.ci_high is not None:
        text += f", 95 % interval {interval(result.ci_low, result.ci_high, metric.digits)}"
    if result.p_value is not None:
        text += f", p {p_value(result.p_value)}"
    if comparison.verdict != "no_detectable_difference":
        return f"{text}."
    if result.excludes_zero:
        text += "; interval and test disagree"
    if result.smallest_detectable is not None:
        text += f"; smallest detectable difference about {metric.value(result.smallest_detectable)}"
    return f"{text}."


def _where(result: MetricResult, facts: Facts) -> str:
    higher, lower = (result.wins, result.losses)
    if not result.is_higher_better:
        higher, lower = lower, higher
    text = f"Higher on {counted(higher, 'task')}, equal on {result.ties}, lower on {lower}"
    if facts.hurt is not None and facts.hurt[1] < 0:
        task, drop = facts.hurt
        text += f"; largest fall on {name(task)} ({metric_name(result.metric).difference(drop)})"
    return f"{text}."


def _no_pair(facts: Facts) -> Answer:
    if facts.n_configs < 2:
        alone = (
            "All trials ran under one configuration, so this report describes how it retrieves, "
            "not whether it does so better than another."
        )
        return Answer("One configuration only: nothing to compare", (alone, trust(None, facts)))
    nothing = "No two configurations share a task that can be compared."
    return Answer("No matched tasks: nothing to compare", (nothing, trust(None, facts)))


def _too_few(comparison: Comparison, result: MetricResult | None, facts: Facts) -> Answer:
    n = result.n_pairs if result else 0
    label = metric_name(comparison.verdict_metric).label.lower()
    if n < MIN_PAIRS:
        few = (
            f"{name(comparison.baseline)} and {name(comparison.comparison)} share "
            f"{counted(n, 'task')} with computable {label}; below {MIN_PAIRS} no statistic is "
            "given."
        )
    else:
        few = (
            f"{name(comparison.baseline)} and {name(comparison.comparison)} share "
            f"{counted(n, 'task')} with computable {label}; below {MIN_PAIRS_FOR_P} no test "
            "can decide, and the intervals below are rough."
        )
    title = f"Too few matched tasks for a verdict: {n}"
    return Answer(title, (few, trust(comparison, facts)))


def trust(comparison: Comparison | None, facts: Facts, detail: int = MAX_DETAIL) -> str:
    """Return the sentence that says what the numbers rest on and what was left out.

    ``detail`` is the number of reasons named; without any, only their trials are counted.
    """
    folders = f"{counted(facts.n_excluded, 'folder')} excluded" if facts.n_excluded else ""
    ledger = comparison.ledger if comparison else None
    if comparison is None or ledger is None:
        scored = of(facts.n_scored, facts.n_trials)
        text = f"{scored} trials, of {counted(facts.n_tasks, 'task')}, could be scored"
        return f"{text}; {folders}." if folders else f"{text}."
    used, found = (sum(getattr(arm, key) for arm in ledger.arms) for key in ("used", "trials"))
    verb = "would form" if facts.withheld else "forms" if used == 1 else "form"
    text = f"{of(used, found)} trials {verb} {counted(comparison.n_pairs, 'matched task')}"
    if not used:
        text = f"None of {counted(found, 'trial')} has a valid partner in the other arm"
    result = comparison.metric(comparison.verdict_metric)
    if detail and result is not None and result.n_pairs < comparison.n_pairs:
        parts = [f"{result.n_pairs} with {metric_name(result.metric).label.lower()}"]
        if any(arm.outcomes_only for arm in ledger.arms):
            parts.append(f"{comparison.n_pairs - result.n_pairs} for outcomes only")
        text += f" ({', '.join(parts)})"
    left = rule_words.left_out(ledger, detail) if detail else ""
    if not detail:
        return f"{text}; {found - used:,} left out, see Coverage."
    if not left and not folders:
        return f"{text}; no trial was left out."
    return f"{text}; {'; '.join(filter(None, (f'left out: {left}' if left else '', folders)))}."


def paired(comparison: Comparison | None) -> str:
    """Return the finding of the paired section."""
    if comparison is None:
        return "No two configurations share a task, so nothing can be paired"
    result = comparison.metric(comparison.verdict_metric)
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
