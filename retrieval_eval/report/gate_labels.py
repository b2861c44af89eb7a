"""Labels and sentences for the rules of the validity gate, and for why trials were left out."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Final

from retrieval_eval.model.impact import ArmLedger, ComparisonDocument, GateRule, LetThrough
from retrieval_eval.report.comparison import arms, ledgers
from retrieval_eval.report.findings import listed, name
from retrieval_eval.report.names import reason_sentence
from retrieval_eval.report.numbers import of
from retrieval_eval.study.gate import RULES
from retrieval_eval.values import counted

MAX_DETAIL: Final = 160
"""Characters of a rule's detail in a sentence: two configs with their counts."""


def title(rule: str) -> str:
    """Return the printed name of a rule; an unknown one is printed as it is named."""
    if rule in RULES:
        return RULES[rule].title
    return rule.replace("_", " ").capitalize()


def inside(text: str) -> str:
    """Return a title as it stands inside a sentence; an abbreviation keeps its capitals.

    Examples
    --------
    >>> inside("Another model"), inside("MCP calls in the control arm")
    ('another model', 'MCP calls in the control arm')
    """
    return text if text[1:2].isupper() else f"{text[:1].lower()}{text[1:]}"


def finding(rule: GateRule, comparison: ComparisonDocument) -> str:
    """Return what a rule found as a clause with its count of all trials of the arm."""
    if rule.name not in RULES:
        return f"{_who(rule, comparison)} fall under the rule “{inside(title(rule.name))}”"
    words = RULES[rule.name]
    if words.subject == "tasks":
        tasks = counted(len({t.task_name for t in rule.trials}) or rule.count, "task")
        return words.clause.format(tasks=tasks)
    if words.subject == "arms":
        detail = f" ({name(rule.detail, MAX_DETAIL)})" if rule.detail else ""
        return f"{words.clause}{detail}"
    return f"{_who(rule, comparison)} {words.clause}"


def _who(rule: GateRule, comparison: ComparisonDocument) -> str:
    by_arm = Counter(trial.config_name for trial in rule.trials)
    if by_arm.total() != rule.count:
        return counted(rule.count, "trial")
    parts = [
        f"{of(by_arm[config], arm.trials)} trials of {name(config)}"
        for config, arm in zip(arms(comparison), ledgers(comparison), strict=True)
        if by_arm[config]
    ]
    return " and ".join(parts) or counted(rule.count, "trial")


def failed_sentence(comparison: ComparisonDocument, limit: int = 2) -> str:
    """Return the failed rules in one sentence, the gravest first."""
    gravity = {rule: words.gravity for rule, words in RULES.items()}
    failed = [rule for rule in comparison.gate.rules if rule.failed]
    ordered = sorted(failed, key=lambda rule: gravity.get(rule.name, math.inf))
    clauses = [finding(rule, comparison) for rule in ordered[:limit]]
    rest = len(ordered) - len(clauses)
    if rest:
        clauses.append(f"{counted(rest, 'further rule')} failed")
    text = "; ".join(clauses)
    return f"{text[:1].upper()}{text[1:]}."


def ways_out(arm: ArmLedger) -> dict[str, int]:
    """Return how many trials of an arm left on each way, by its printed name."""
    found: Counter[str] = Counter()
    for rule, n in arm.removed.items():
        found[f"removed: {inside(title(rule))}"] += n
    for reason, n in arm.unmatched.items():
        found[f"not matched: {reason_sentence(reason).replace('_', ' ')}"] += n
    return dict(found)


def counted_trials(found: Sequence[LetThrough]) -> list[str]:
    """Return the sentence that says which trials count, or none when that is not recorded.

    Examples
    --------
    >>> from retrieval_eval.model.impact import LetThrough
    >>> counted_trials([LetThrough(config_name="base", n_trials=3, n_used=3, removed={})])
    ['Counted here: all 3 trials; the validity gate let every one through.']
    """
    if not found:
        return []
    total, used = sum(p.n_trials for p in found), sum(p.n_used for p in found)
    if used == total:
        return [f"Counted here: all {total:,} trials; the validity gate let every one through."]
    removed: Counter[str] = Counter()
    for passed in found:
        removed.update(passed.removed)
    ordered = sorted(removed.items(), key=lambda item: (-item[1], item[0]))
    text = f"Counted here: {of(used, total)} trials, those that the validity gate let through"
    out = ", ".join(f"{name(inside(title(rule)))} ({n:,})" for rule, n in ordered)
    none = [name(p.config_name) for p in found if not p.n_used]
    left = f"{text}; left out: {out}." if out else f"{text}."
    return [f"{left} No trial is left of {listed(none)}."] if none else [left]


def left_out(comparison: ComparisonDocument, limit: int = 3) -> str:
    """Return the ways on which trials left with their numbers, the most frequent first."""
    total: Counter[str] = Counter()
    for arm in ledgers(comparison):
        for way, n in ways_out(arm).items():
            total[way.split(": ", 1)[1]] += n
    ordered = sorted(total.items(), key=lambda item: (-item[1], item[0]))
    parts = [f"{name(way)} ({n:,})" for way, n in ordered[:limit]]
    rest = sum(n for _, n in ordered[limit:])
    if rest:
        parts.append(f"other reasons ({rest:,})")
    return ", ".join(parts)
