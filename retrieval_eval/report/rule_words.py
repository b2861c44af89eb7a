"""The rules of the validity gate, the ways out of the ledger and the verdicts, in words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Final

from retrieval_eval.report.comparison import Comparison
from retrieval_eval.report.findings import listed, name
from retrieval_eval.report.gate import ArmLedger, Ledger, Rule
from retrieval_eval.report.names import reason_sentence
from retrieval_eval.report.numbers import of
from retrieval_eval.report.whole_run import Passed
from retrieval_eval.study.gate import RULES
from retrieval_eval.values import counted

NOT_PASSED: Final = "not_passed"
"""Stands for the rule that failed where a gate did not pass and names none."""

MAX_DETAIL: Final = 160
"""Characters of a rule's detail in a sentence: two configs with their counts."""


def title(rule: str) -> str:
    """Return the printed name of a rule; an unknown one is printed as it is named."""
    if rule in RULES:
        return RULES[rule].title
    return "Validity gate" if rule == NOT_PASSED else rule.replace("_", " ").capitalize()


def inside(text: str) -> str:
    """Return a title as it stands inside a sentence; an abbreviation keeps its capitals.

    Examples
    --------
    >>> inside("Another model"), inside("MCP calls in the control arm")
    ('another model', 'MCP calls in the control arm')
    """
    return text if text[1:2].isupper() else f"{text[:1].lower()}{text[1:]}"


def finding(rule: Rule | None, fallback: str, comparison: Comparison) -> str:
    """Return what a rule found as a clause with its count.

    Trials are counted of all trials of their arm; ``fallback`` names a rule without data.
    """
    if rule is None:
        return f"the rule “{inside(title(fallback))}” failed"
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


def _who(rule: Rule, comparison: Comparison) -> str:
    by_arm = Counter(trial.config_name for trial in rule.trials)
    ledger = comparison.ledger
    if ledger is None or by_arm.total() != rule.count:
        return counted(rule.count, "trial")
    arms = zip((comparison.baseline, comparison.comparison), ledger.arms, strict=True)
    parts = [
        f"{of(by_arm[config], arm.trials)} trials of {name(config)}"
        for config, arm in arms
        if by_arm[config]
    ]
    return " and ".join(parts) or counted(rule.count, "trial")


def failed_sentence(comparison: Comparison, limit: int = 2) -> str:
    """Return the failed rules in one sentence, the gravest first."""
    gravity = {rule: words.gravity for rule, words in RULES.items()}
    ordered = sorted(comparison.failed, key=lambda rule: gravity.get(rule, math.inf))
    gate = comparison.gate
    clauses = [finding(gate.rule(r) if gate else None, r, comparison) for r in ordered[:limit]]
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


def counted_trials(found: Sequence[Passed]) -> list[str]:
    """Return the sentence that says which trials count, or none when that is not recorded.

    Examples
    --------
    >>> from retrieval_eval.report.whole_run import Passed
    >>> counted_trials([Passed("base", 3, 3, {})])
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


def left_out(ledger: Ledger, limit: int = 3) -> str:
    """Return the ways on which trials left with their numbers, the most frequent first."""
    total: Counter[str] = Counter()
    for arm in ledger.arms:
        for way, n in ways_out(arm).items():
            total[way.split(": ", 1)[1]] += n
    ordered = sorted(total.items(), key=lambda item: (-item[1], item[0]))
    parts = [f"{name(way)} ({n:,})" for way, n in ordered[:limit]]
    rest = sum(n for _, n in ordered[limit:])
    if rest:
        parts.append(f"other reasons ({rest:,})")
    return ", ".join(parts)
