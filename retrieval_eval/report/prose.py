"""Sentences from numbers: pure, associational, and the same for the same numbers.

No sentence says that a config caused anything: the same tasks were run under both, and what is
reported is how their measurements differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from retrieval_eval.report.comparison import (
    MIN_PAIRS,
    MIN_PAIRS_FOR_A_TEST,
    Comparison,
    MetricResult,
)
from retrieval_eval.report.escape import visible
from retrieval_eval.report.names import metric_name, reason_sentence
from retrieval_eval.report.numbers import of, p_value, plural, rate, signed

NAME_LIMIT: Final = 36


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


def name(text: str) -> str:
    """Return a foreign name as it appears in a sentence."""
    return visible(text, NAME_LIMIT)


def answer(comparison: Comparison | None, result: MetricResult | None, facts: Facts) -> Answer:
    """Return the answer to "did it help, how much, how sure, where did it hurt, can I trust it".

    Every case has its template: invalid arm, one config only, too few pairs, not computable,
    better, worse, interval and test that disagree, no detectable difference. Together the sentences have at most 90 words.
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
        f"{plural(n, 'trial')} {what}"
        for n, what in (
            (facts.n_without_ground_truth, "without ground truth"),
            (facts.n_degraded, "degraded"),
            (facts.n_excluded, "excluded"),
        )
        if n
    ]
    return f"{text}; {', '.join(left)}." if left else f"{text}; no trial was left out."


def coverage(n_paired: int, n_tasks: int, has_pair: bool) -> str:
    """Return the finding of the coverage section."""
    if has_pair:
        verb = "enters" if n_paired == 1 else "enter"
        return f"{n_paired} of {plural(n_tasks, 'task')} {verb} the paired analysis"
    return f"{plural(n_tasks, 'task')} found, none of them paired"


def shares(label: str, values: Sequence[tuple[str, int, int]]) -> str:
    """Return the finding that gives a count of a whole for each config: name, part, whole.

    Examples
    --------
    >>> shares("Opaque calls", [("a", 1, 300)])
    'Opaque calls: 1 of 300 with a'
    """
    parts = [f"{of(part, whole)} with {name(config)}" for config, part, whole in values[:4]]
    return f"{label}: {', '.join(parts)}"


def ranked(label: str, values: Sequence[tuple[str, float, int]]) -> str:
    """Return the finding that orders configs by a value: name, value, n.

    Examples
    --------
    >>> ranked("Median file recall", [("a", 0.5, 10), ("b", 0.6, 12)])
    'Median file recall: 0.60 with b (n = 12), 0.50 with a (n = 10)'
    """
    ordered = sorted(values, key=lambda v: (-v[1], v[0]))
    if not ordered:
        return f"{label} is not computable for any trial"
    parts = [f"{rate(value)} with {name(config)} (n = {n})" for config, value, n in ordered[:4]]
    return f"{label}: {', '.join(parts)}"


def paired(comparison: Comparison | None, result: MetricResult | None) -> str:
    """Return the finding of the paired section."""
    if comparison is None or result is None:
        return "No two configurations share a task, so nothing can be paired"
    if result.verdict == "too_few_pairs":
        return f"Only {plural(result.n_pairs, 'matched task')}: too few for a statistic"
    if result.verdict == "not_computable":
        return f"No paired statistic: {reason_sentence(result.reason)}"
    return _title(comparison, result)


def never_hit(values: Sequence[tuple[str, int, int]]) -> str:
    """Return the finding about trials that never found a relevant file: config, never, total."""
    shown = [(c, never, total) for c, never, total in values if total]
    if not shown:
        return "No trial has ground truth and a trace, so no time to a relevant file exists"
    parts = [f"{never} of {plural(total, 'trial')} with {name(c)}" for c, never, total in shown[:4]]
    return f"Never found a relevant file: {', '.join(parts)}"


def used(values: Sequence[tuple[str, int, int]]) -> str:
    """Return the finding about use: config, ground-truth files used, ground-truth files."""
    shown = [(c, part, whole) for c, part, whole in values if whole]
    if not shown:
        return "No trial has ground truth, so use cannot be measured"
    parts = [f"{part / whole:.2f} with {name(c)}" for c, part, whole in shown[:4]]
    return f"Share of ground-truth files retrieved and used: {', '.join(parts)}"


def associations(n_strong: int, n_computable: int, n_flips: int) -> str:
    """Return the finding of the association section."""
    if not n_computable:
        return "No association with outcomes rests on enough trials"
    text = (
        f"{n_strong} of {plural(n_computable, 'pooled association')} "
        f"{'stands' if n_strong == 1 else 'stand'} out after adjustment (q < 0.05)"
    )
    if n_flips:
        text += f"; {n_flips} {'turns' if n_flips == 1 else 'turn'} sign within a config"
    return text


def slices(cells: Mapping[tuple[str, str], tuple[float, int]], min_n: int) -> str:
    """Return the finding about slices: (suite, size) to mean difference and matched tasks."""
    if not cells:
        return "No matched task, so there is nothing to slice"
    large = {key: value for key, value in cells.items() if value[1] >= min_n}
    small = len(cells) - len(large)
    if not large:
        return f"Every cell holds fewer than {min_n} matched tasks, so none is interpreted"
    suite, size = max(sorted(large), key=lambda key: abs(large[key][0]))
    difference, n = large[suite, size]
    text = f"Largest difference: {signed(difference)} in {name(suite)}, {size} sets (n = {n})"
    return f"{text}; {plural(small, 'cell')} too small to interpret" if small else text


def intervals(results: Sequence[MetricResult]) -> str:
    """Return the finding about all metrics of a pair: how many intervals exclude 0."""
    known = [r for r in results if r.ci_low is not None and r.ci_high is not None]
    if not known:
        return "No metric has a paired interval"
    clear = sum(r.verdict in ("better", "worse") for r in known)
    verb = "is" if clear == 1 else "are"
    return (
        f"{clear} of {plural(len(known), 'paired difference')} {verb} clear: interval without 0 "
        "and p < 0.05, not adjusted for their number"
    )
