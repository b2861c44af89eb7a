"""Sentences from numbers: pure, associational, and the same for the same numbers.

No sentence says that a config caused anything: the same tasks were run under both, and what is
reported is how their measurements differ.
"""

from __future__ import annotations

from dataclasses import dataclass

from retrieval_eval.report.comparison import (
    MIN_PAIRS,
    MIN_PAIRS_FOR_A_TEST,
    Comparison,
    MetricResult,
)
from retrieval_eval.report.findings import coverage, name
from retrieval_eval.report.names import metric_name, reason_sentence
from retrieval_eval.report.numbers import p_value, plural


@dataclass(frozen=True, slots=True)
class Facts:
    """What the answer rests on.

    ``hurt`` is the task with the largest drop of the headline metric and that drop; ``flips``
    names views under which the sign of the mean difference turns; ``invalid`` says why an arm
    cannot be compared.
    """

    n_tasks: int
    n_paired: int
    n_trials: int
    n_degraded: int
    n_excluded: int
    n_without_ground_truth: int
    n_configs: int
    hurt: tuple[str, float] | None = None
    flips: tuple[str, ...] = ()
    invalid: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The headline, its three sentences, and the tone in which the box is drawn."""

    title: str
    sentences: tuple[str, ...]
    tone: str


def answer(comparison: Comparison | None, result: MetricResult | None, facts: Facts) -> Answer:
    """Return the answer to "did it help, how much, how sure, where did it hurt, can I trust it".

    Every case has its template: invalid arm, one config only, too few pairs, not computable,
    better, worse, interval and test that disagree, no detectable difference. Together the
    sentences have at most 90 words.
    """
    if facts.invalid is not None:
        return Answer(
            "No comparison: one arm is not valid",
            (
                f"{facts.invalid} A difference between the arms would describe that fault.",
                trust(facts),
            ),
            "none",
        )
    if comparison is None or result is None:
        return _no_pair(comparison, facts)
    if result.verdict in ("too_few_pairs", "not_computable"):
        return _no_statistic(comparison, result, facts)
    sentences = (_how_much(comparison, result), _where(result, facts))
    return Answer(
        _title(comparison, result),
        (*sentences, trust(facts)),
        {"better": "better", "worse": "worse"}.get(result.verdict, "none"),
    )


def _title(comparison: Comparison, result: MetricResult) -> str:
    metric = metric_name(result.metric)
    label = metric.label.lower()
    tasks = plural(result.n_pairs, "matched task")
    match result.verdict:
        case "no_difference":
            return f"No detectable difference in {label} over {tasks}"
        case "unclear":
            return f"No clear difference in {label} over {tasks}"
        case "too_few_for_a_test":
            return f"Too few matched tasks for a verdict: {result.n_pairs}"
    word = "higher" if (result.mean_difference or 0) > 0 else "lower"
    amount = metric.value(abs(result.mean_difference or 0))
    return f"{metric.label} is {amount} {word} with {name(comparison.comparison)}"


def _how_much(comparison: Comparison, result: MetricResult) -> str:
    metric = metric_name(result.metric)
    a, b = metric.value(result.mean_baseline), metric.value(result.mean_comparison)
    low, high = metric.difference(result.ci_low), metric.difference(result.ci_high)
    text = (
        f"On {plural(result.n_pairs, 'matched task')}, mean {metric.label.lower()} was {a} with "
        f"{name(comparison.baseline)} and {b} with {name(comparison.comparison)}: difference "
        f"{metric.difference(result.mean_difference)}, 95 % interval [{low}, {high}]"
    )
    if result.p_value is not None:
        text += f", p {p_value(result.p_value)}"
    if result.verdict == "too_few_for_a_test":
        return f"{text}; below {MIN_PAIRS_FOR_A_TEST} pairs no test can decide."
    if result.verdict in ("no_difference", "unclear") and result.smallest_detectable is not None:
        small = metric.value(result.smallest_detectable)
        return f"{text}; smallest detectable difference about {small}."
    return f"{text}."


def _where(result: MetricResult, facts: Facts) -> str:
    text = f"Higher on {result.wins}, equal on {result.ties}, lower on {result.losses}"
    if facts.hurt is not None and facts.hurt[1] < 0:
        task, drop = facts.hurt
        text += f", most on {name(task)} ({metric_name(result.metric).difference(drop)})"
    if facts.flips:
        views = " and ".join(view.replace("_", " ") for view in facts.flips)
        return f"{text}; the sign turns under the view {views}."
    return f"{text}."


def _no_pair(comparison: Comparison | None, facts: Facts) -> Answer:
    if facts.n_configs < 2:
        return Answer(
            "One configuration only: nothing to compare",
            (
                (
                    "All trials ran under one configuration, so this report describes how it "
                    "retrieves, not whether it does so better than another."
                ),
                trust(facts),
            ),
            "none",
        )
    why = f" ({reason_sentence(comparison.reason)})" if comparison and comparison.reason else ""
    return Answer(
        "No matched tasks: nothing to compare",
        (f"No two configurations share a task that can be compared{why}.", trust(facts)),
        "none",
    )


def _no_statistic(comparison: Comparison, result: MetricResult, facts: Facts) -> Answer:
    label = metric_name(result.metric).label.lower()
    if result.verdict == "too_few_pairs":
        return Answer(
            f"Too few matched tasks for a verdict: {result.n_pairs}",
            (
                (
                    f"{name(comparison.baseline)} and {name(comparison.comparison)} share "
                    f"{plural(result.n_pairs, 'task')} with computable {label}; below {MIN_PAIRS} "
                    "no statistic is given."
                ),
                trust(facts),
            ),
            "none",
        )
    return Answer(
        f"No verdict: the difference in {label} has no interval",
        (
            f"{plural(result.n_pairs, 'matched task')}, but {reason_sentence(result.reason)}.",
            trust(facts),
        ),
        "none",
    )


def trust(facts: Facts) -> str:
    """Return the sentence that says what the numbers rest on and what was left out."""
    if facts.n_configs < 2:
        text = f"{plural(facts.n_trials, 'trial')} of {plural(facts.n_tasks, 'task')} were found"
    else:
        text = coverage(facts.n_paired, facts.n_tasks, has_pair=True)
    left = [
        (n, what)
        for n, what in (
            (facts.n_without_ground_truth, "without ground truth"),
            (facts.n_degraded, "degraded"),
            (facts.n_excluded, "excluded"),
        )
        if n
    ]
    if not left:
        return f"{text}; no trial was left out."
    first = f"{plural(left[0][0], 'trial')} {left[0][1]}"
    return f"{text}; {', '.join([first, *(f'{n:,} {what}' for n, what in left[1:])])}."


def paired(comparison: Comparison | None, result: MetricResult | None) -> str:
    """Return the finding of the paired section."""
    if comparison is None or result is None:
        return "No two configurations share a task, so nothing can be paired"
    if result.verdict == "too_few_pairs":
        return f"Only {plural(result.n_pairs, 'matched task')}: too few for a statistic"
    if result.verdict == "not_computable":
        return f"No paired statistic: {reason_sentence(result.reason)}"
    return _title(comparison, result)
