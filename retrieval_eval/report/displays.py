"""How a comparison shows itself: as the answer of a page, and as a few lines in a terminal."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from typing import Any, Final

from retrieval_eval.agents.metrics.catalog import BY_NAME
from retrieval_eval.agents.study.compare import Comparison
from retrieval_eval.agents.study.frames import DISPLAYS
from retrieval_eval.agents.study.threats import threat_title
from retrieval_eval.agents.study.trials import Trial, known_values
from retrieval_eval.agents.study.verdict import deciding_estimate, has_no_estimate
from retrieval_eval.model.impact import ComparisonDocument, PairedEstimate
from retrieval_eval.report import style, words
from retrieval_eval.report.exhibits import Block, Exhibit
from retrieval_eval.report.headings import percent
from retrieval_eval.report.names import leading, leading_interval, metric_name, rate, side_of
from retrieval_eval.stats.resampling import MIN_PAIRS_FOR_P
from retrieval_eval.values import counted

LEADING: Final = (
    *("file_recall", "reward", "cost_usd", "elapsed_seconds", "ttfr_seconds"),
    "context_efficiency",
)
"""The metrics of the first screen: what was found, whether it paid, its price, and how soon."""

LABELS: Final = {
    "file_recall": "File recall",
    "reward": "Reward",
    "cost_usd": "Cost",
    "elapsed_seconds": "Time",
    "ttfr_seconds": "First expected file after",
    "context_efficiency": "Context efficiency",
}
"""What they are called there."""

SIDES: Final = {"better": "better", "worse": "WORSE", "unclear": "no clear difference"}
MOST_RISKS: Final = 2
SMALL: Final = 5
"""Trials up to which a run shows these themselves, where it is too small for a comparison."""

_DIGITS: Final = {"cost_usd": 3, "elapsed_seconds": 0, "ttfr_seconds": 1}
_WIDTH: Final = 100


def is_small(study: Comparison) -> bool:
    """Return whether the trials themselves are shown in place of statistics."""
    return bool(study.why_not) and 0 < len(study.trials) <= SMALL and not study.withheld


def value_text(metric: str, value: float | None) -> str:
    """Return a value of a leading metric with the decimals that it needs."""
    return rate(value, _DIGITS.get(metric, metric_name(metric).digits))


def has_no_truth(study: Comparison) -> bool:
    """Return whether no task says what was to be found, so that nothing can be scored."""
    return bool(study.trials) and all(trial.lacks_ground_truth for trial in study.trials)


def label_of(study: Comparison) -> str:
    """Return the state of a comparison in a word or two."""
    if has_no_truth(study):
        return "not scored"
    if is_small(study):
        return counted(len(study.trials), "trial")
    if not study.comparison:
        return "one configuration"
    return words.VERDICTS.get(study.record.verdict, study.record.verdict)


@DISPLAYS.register("headline")
def headline(study: Comparison) -> dict[str, str]:
    """Return what was found, at what price, and whether it paid, in a sentence."""
    return {"text/plain": headline_of(study)}


def headline_of(study: Comparison) -> str:
    """Return the sentence of the answer, without a full stop."""
    if has_no_truth(study):
        return "No task states what was to be found"
    if is_small(study):
        return _few(study.trials)
    if not study.comparison:
        known = known_values(study.trials, "file_recall")
        name = words.name(study.baseline)
        if not known:
            return f"No trial of {name} could be scored"
        mean = sum(known) / len(known)
        return f"{name} finds {percent(round(mean, 2))} of the expected files on average"
    return _of_pair(study.record)


def _of_pair(record: ComparisonDocument) -> str:
    baseline, other = map(words.name, words.arms(record))
    if record.gate.failed:
        return f"{baseline} and {other} cannot be compared"
    alpha, found = words.alpha_of(record), record.metrics.get("file_recall")
    is_recall = record.verdict_metric == "file_recall" and record.verdict in words.CLEAR
    if not is_recall or found is None or found.mean_comparison is None:
        verdict = words.VERDICTS.get(record.verdict, "")
        title = _title(record)
        short = title.removeprefix(f"{verdict.capitalize()}: ")
        return title if short == title else f"{short[:1].upper()}{short[1:]}"
    shares = (found.mean_comparison, found.mean_baseline or 0.0)
    after, before = (percent(round(share, 2)) for share in shares)
    text = f"{other} finds {after} of the expected files instead of {before}"
    text += _price(record, alpha)
    reward = record.metrics.get("reward")
    if reward is not None and deciding_estimate(reward).estimate is not None:
        side = side_of(reward, alpha)
        said = {"better": "reward rises", "worse": "reward falls"}
        text += f"; {said.get(side, 'reward is not clearly different')}"
    return text


def _title(record: ComparisonDocument) -> str:
    result = record.metrics.get(record.verdict_metric)
    lead = deciding_estimate(result) if result is not None else None
    if record.verdict == "too_few_pairs" and (result is None or not has_no_estimate(result)):
        untold = next((r.count for r in record.gate.rules if r.name == "no_ground_truth"), 0)
        if untold and not (lead and lead.n):
            return (
                "No task that both ran states what was to be found: name a --truth, or with "
                "--metric what needs none, such as reward"
            )
        n = counted(lead.n if lead else 0, "matched task")
        return f"Too few matched tasks for a verdict: {n} of at least {MIN_PAIRS_FOR_P}"
    if record.verdict == "no_verdict" or lead is None or lead.estimate is None:
        return words.sentence(record.verdict_reason, 200).rstrip(".")
    return words.verdict_title(record)


def _price(record: ComparisonDocument, alpha: float) -> str:
    """Return what a result costs, where that is clearly more, or less."""
    paid: dict[str, list[str]] = {"worse": [], "better": []}
    for metric, noun in (("cost_usd", "cost"), ("elapsed_seconds", "time")):
        block = record.metrics.get(metric)
        if block is None or deciding_estimate(block).quantity != "ratio":
            continue
        if (side := side_of(block, alpha)) in paid:
            times = leading(metric, block).removeprefix("×")
            paid[side].append(f"{times} times the {noun}")
    parts = [f"{word} {' and '.join(paid[side])}" for side, word in _FOR.items() if paid[side]]
    return f", {' and '.join(parts)}" if parts else ""


_FOR: Final = {"worse": "for", "better": "with only"}


def _few(trials: Sequence[Trial]) -> str:
    """Return what a few trials found, each by its count."""
    known = [t for t in trials if "file_recall" in t.numbers and t.n_ground_truth]
    if not known:
        return "Nothing could be scored"
    found = [round(t.numbers["file_recall"] * (t.n_ground_truth or 0)) for t in known]
    totals = [t.n_ground_truth or 0 for t in known]
    said = {f"{n} of {total}" for n, total in zip(found, totals, strict=True)}
    if len(said) == 1:
        who = "The scored trial" if len(known) == 1 else f"All {len(known)} scored trials"
        who = "It" if len(trials) == 1 else who
        noun = "expected file" if set(totals) == {1} else "expected files"
        return f"{who} found {said.pop()} {noun}"
    noun = counted(len(known), "scored trial")
    return f"{noun} found {sum(found)} of {sum(totals)} expected files in all"


def short(study: Comparison, text: str, marks: Sequence[str] = style.GLYPHS) -> str:
    """Return a text in which the marks of the two configurations replace their names."""
    for name, mark in sorted(zip(study.arms, marks, strict=False), key=lambda p: -len(p[0])):
        if len(name) > 2:
            text = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", mark, text)
    return text


def risks(study: Comparison, marks: Sequence[str] = style.GLYPHS) -> list[str]:
    """Return what could overturn the verdict, from the threats that change it."""
    strong = [t for t in study.record.threats if t.effect != "none"]
    said = [
        f"{threat_title(t.name)}: overturned {t.overturn}" if t.overturn else t.sentence
        for t in strong
    ]
    return [words.sentence(short(study, text, marks)) for text in said[:MOST_RISKS]]


def _answer(study: Comparison) -> Block:
    label, title = label_of(study), headline_of(study)
    sentences: list[str] = []
    record, tone, has_power = study.record, "", False
    if has_no_truth(study):
        n = counted(len(study.trials), "session")
        said = f"{n} read. To score them, name a table of what each task expects with --truth."
        return Block("answer", title, (said,), (), (("Verdict", label),), tone)
    if study.why_not:
        sentences.append(_reason(study))
    else:
        is_doubtful = words.depends_on_view(record) or words.contrary_reward(record)
        is_plain = record.verdict in ("better", "worse") and not is_doubtful
        tone = record.verdict if is_plain else ""
        found = risks(study)
        n = counted(len(study.record.threats), "threat")
        nothing = f"None of {n} that were found changes the verdict."
        sentences += found or [nothing]
        if words.depends_on_view(record):
            sentences.append(words.caution(record))
        if record.overturn and not found:
            sentences.append(words.sentence(short(study, record.overturn)))
            # What would overturn it is then a difference that such studies find.
            has_power = record.verdict == "no_detectable_difference"
    if not is_small(study):
        sentences.append(integrity(study, has_power=has_power))
    badges = (("Verdict", label),)
    return Block("answer", title, tuple(sentences), _others(study), badges, tone)


def _others(study: Comparison) -> tuple[Exhibit, ...]:
    """Return the table of every pair of configurations, where there are more than one."""
    from retrieval_eval.report.registered import table

    if len({trial.config_name for trial in study.trials}) < 3 or is_small(study):
        return ()
    return table.show(study.every_pair).block().exhibits


def _reason(study: Comparison) -> str:
    record = study.record
    if study.withheld:
        asked = words.statement_asked(record)
        return f"{words.failed_sentence(record)}{f' {asked}' if asked else ''}"
    if is_small(study):
        tasks = counted(len({t.task for t in study.trials}), "task")
        trials = counted(len(study.trials), "trial")
        return f"{trials} of {tasks}: too few for means, intervals or tests."
    return study.why_not


def integrity(study: Comparison, *, has_power: bool = False) -> str:
    """Return in a line what the numbers rest on; ``has_power``: others state its power."""
    n = len(study.trials)
    scored = len(known_values(study.trials, "file_recall"))
    text = f"{counted(n, 'trial')} found, {scored:,} scored"
    if not study.comparison:
        return f"{text}."
    record = study.record
    lead = record.metrics.get(record.verdict_metric)
    text += f", {counted(lead.n_pairs if lead else 0, 'matched task')}"
    if n > scored:
        text += f"; {n - scored} without a score, listed at the end"
    state = f"{len(record.gate.failed)} failed" if record.gate.failed else "passed"
    text += f"; {counted(len(record.gate.rules), 'comparability rule')}: {state}."
    n_configs = len({trial.config_name for trial in study.trials})
    if n_configs > 2:
        text += f" One of {n_configs * (n_configs - 1) // 2} pairs of configurations."
    power = deciding_estimate(lead).detectable if lead is not None else None
    if power is None or study.why_not or has_power:
        return text
    size = value_text(record.verdict_metric, power)
    return f"{text} So many tasks can show a difference from {size} on (80 % power)."


@DISPLAYS.register("comparison")
def comparison(study: Comparison) -> dict[str, Any]:
    """Return the answer as a notebook takes it."""
    return _answer(study)._repr_mimebundle_()


def answer(study: Comparison) -> Block:
    """Return the answer: a verdict in a word, a sentence, and what it rests on."""
    return _answer(study)


# In a terminal


@DISPLAYS.register("comparison text")
def comparison_text(study: Comparison) -> dict[str, str]:
    """Return what ``print`` shows of a comparison: at most twelve lines."""
    return {"text/plain": "\n".join(lines_of(study, LEADING[:4], 88)[:12])}


def lines_of(
    study: Comparison, metrics: Sequence[str] = LEADING, width: int = _WIDTH, more: str = ""
) -> list[str]:
    """Return a comparison in at most fifteen lines: verdict, leading metrics, what overturns it."""
    record, names = study.record, [words.name(name, 40) for name in study.arms]
    lines = [f"{names[1]} (B) against {names[0]} (A)"] if len(names) > 1 else names[:1]
    lines += _wrapped(f"{label_of(study).upper()}: {headline_of(study)}", width, "", 2)
    if study.withheld:
        lines += _wrapped(_reason(study), width, "  ", 5)
    elif not study.why_not:
        lines += _rows(record, metrics)
        for said in risks(study, "AB"):
            lines += _wrapped(said, width, "  ! ", 2)
    else:
        lines += _few_pairs(study)
        lines += [] if study.comparison else _wrapped(integrity(study), width, "  ", 1)
    lead = record.metrics.get(record.verdict_metric)
    if more and study.comparison:
        tasks = counted(lead.n_pairs if lead else 0, "matched task")
        n = len(study.trials) or sum(arm.trials for arm in words.ledgers(record))
        lines.append(f"  {tasks} · {counted(n, 'trial')} · more: {more}")
    return lines


def _wrapped(text: str, width: int, start: str, most: int) -> list[str]:
    indent = " " * (len(start) if start.strip() else len(start) or 2)
    found = textwrap.wrap(
        text, width, initial_indent=start, subsequent_indent=indent, break_on_hyphens=False
    )
    return found if len(found) <= most else [*found[: most - 1], f"{found[most - 1].rstrip()} …"]


def _rows(record: ComparisonDocument, metrics: Sequence[str]) -> list[str]:
    alpha = words.alpha_of(record)
    lines = [f"  {'':26}{'A':>9}{'B':>9}   {'difference':>11}  {words.interval_name(record)}"]
    for metric in dict.fromkeys((record.verdict_metric, *metrics)):
        found = record.metrics.get(metric)
        if found is None or deciding_estimate(found).estimate is None:
            continue
        before, after = (value_text(metric, v) for v in means_of(found))
        label, text = label_of_metric(metric), leading(metric, found, has_unit=True)
        ends, side = leading_interval(metric, found), SIDES[side_of(found, alpha)]
        lines.append(f"  {label:26}{before:>9}{after:>9}   {text:>11}  {ends:18} {side}")
    return lines


def _few_pairs(study: Comparison) -> list[str]:
    metric = study.record.verdict_metric
    lines = []
    for pair in study.record.pairs:
        sides = pair.metrics.get(metric)
        if sides is not None and sides.difference is not None:
            ends = f"{value_text(metric, sides.baseline)} (A)"
            ends += f"  {value_text(metric, sides.comparison)} (B)"
            name = words.name(pair.task_name, 48)
            lines.append(f"  {name:48}  {label_of_metric(metric)} {ends}")
    return lines[:5]


def means_of(found: PairedEstimate) -> tuple[float | None, float | None]:
    """Return the means of both sides."""
    return found.mean_baseline, found.mean_comparison


def label_of_metric(metric: str) -> str:
    """Return what a metric is called where space is short."""
    label = LABELS.get(metric)
    return label or (BY_NAME[metric].label if metric in BY_NAME else words.name(metric, 24))
