"""The verdict of the guard as the beginning of a title: what a page leads with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from retrieval_eval.escape import visible
from retrieval_eval.model.guard import GuardRow, GuardRuling
from retrieval_eval.report.numbers import rate
from retrieval_eval.report.search.names import WORDS
from retrieval_eval.search.paired_change import POINTS
from retrieval_eval.values import counted

NOT_ASKED: Final = "Guard not asked"
_HEADS: Final[Mapping[str, str]] = {
    "breach": "Guard breached",
    "pass": "Guard passed",
    "no_verdict": "No verdict of the guard",
}
_NAME_LIMIT: Final = 48
_REASON_LIMIT: Final = 110


def of(verdict: GuardRuling) -> tuple[str, str]:
    """Return the verdict, and what it rests on: the worst threshold, or how many hold."""
    head, code = _HEADS[verdict.verdict], verdict.verdict
    if code == "no_verdict" and verdict.reasons:
        return head, visible(verdict.reasons[0], _REASON_LIMIT)
    if code != "pass":
        return head, _worst(verdict, code)
    if any(row.verdict == "overridden" for row in verdict.rows):
        return f"{head} by justification", _worst(verdict, "overridden")
    return head, _held(verdict)


def is_breach(verdict: GuardRuling | None) -> bool:
    """Whether the guard was asked, and a threshold is breached."""
    return verdict is not None and verdict.verdict == "breach"


def tone(verdict: GuardRuling, change: str) -> str:
    """Return the tone of a page: that of the change where the guard passed, and no alarm then."""
    if verdict.verdict == "pass":
        return "none" if change == "worse" else change
    return "worse" if is_breach(verdict) else "none"


def _worst(verdict: GuardRuling, code: str) -> str:
    """Return the worst threshold of a verdict in words, and how many more there are."""
    rows = sorted((row for row in verdict.rows if row.verdict == code), key=_beyond, reverse=True)
    more = f", and {len(rows) - 1} more" if len(rows) > 1 else ""
    return (
        f"{_row(rows[0])}{more}" if rows else "no threshold applies to what the baseline recorded"
    )


def _row(row: GuardRow) -> str:
    name = _named(row)
    if row.reasons and _out_of_bounds(row):
        return f"{name} {visible(row.reasons[0], _REASON_LIMIT)}"
    if row.reasons and not _excess(row):
        # What follows in brackets is a command.
        return f"{name} ({visible(row.reasons[0].partition(' (')[0], _REASON_LIMIT)})"
    moved, limit = row.change_points or 0.0, row.limit_points or 0.0
    text = f"{name} {'fell' if moved < 0 else 'rose'} by {rate(abs(moved))} points"
    text += f" (limit {limit:.3g})"
    return f"{text}, which may be chance" if row.verdict == "no_verdict" else text


def _named(row: GuardRow) -> str:
    """Return the metric of a row, and of which part of the queries, in words where it has some."""
    metric = row.metric
    return visible(row.name.replace(metric, WORDS.get(metric, metric), 1), _NAME_LIMIT)


def _beyond(row: GuardRow) -> float:
    return max(_excess(row), _out_of_bounds(row))


def _out_of_bounds(row: GuardRow) -> float:
    """Return by how many points the value lies outside of its bounds; 0 where it does not."""
    value = row.current.value
    if value is None:
        return 0.0
    below = 0.0 if row.floor is None else row.floor - value
    above = 0.0 if row.ceiling is None else value - row.ceiling
    return POINTS * max(below, above, 0.0)


def _excess(row: GuardRow) -> float:
    """Return by how many points a change is worse than its limit; 0 where it is not."""
    harm, limit = row.harm_points, row.limit_points
    return 0.0 if harm is None or limit is None else max(harm - limit, 0.0)


def _held(verdict: GuardRuling) -> str:
    counts = Counter(row.verdict for row in verdict.rows)
    n = counts["pass"] + counts["within_noise"]
    text = f"{counted(n, 'threshold')} {'holds' if n == 1 else 'hold'}"
    if counts["within_noise"]:
        text += f", {counts['within_noise']} of them with a change that may be chance"
    return f"{text}, {counts['skipped']} not applied" if counts["skipped"] else text
