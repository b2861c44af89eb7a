"""The verdict in rows and sentences of plain text, for a terminal, a comment and a test alike.

Text of the run stands in them on one line, without control characters; what else is markup to a
reader is for whoever writes it to make safe.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from retrieval_eval.search.guard.rule import Rule
from retrieval_eval.search.guard.thresholds import Threshold
from retrieval_eval.search.guard.verdict import WORDS, Mover, Row, Verdict
from retrieval_eval.search.summary import DASH, number, points, signed_span
from retrieval_eval.values import counted

HEAD: Final = (
    *("metric", "baseline", "now", "points", "interval"),
    *("queries", "allowed", "decided by", "verdict"),
)

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_LONGEST: Final = 100
_CHANCE: Final = "more than chance would move, by a one-sided sign-flip test of the queries"
_NOISE: Final = "beyond the measured run-to-run noise"
_RULE_WORDS: Final[Mapping[Rule, str]] = {
    "threshold_and_real": f" when it is real: {_NOISE} or, where there is none, {_CHANCE}",
    "threshold": "",
    "threshold_and_significant": f" when it is {_CHANCE}",
    "threshold_and_beyond_noise": f" when it is {_NOISE}",
}


def cells(row: Row) -> list[str]:
    """Return the cells of a row, under :data:`HEAD`."""
    m, change = row.measured, row.measured.change
    before, now = m.baseline.value, m.current.value
    if change is not None:
        before, now = change.before, change.after
    low, high = (None, None) if change is None else (change.ci_low_points, change.ci_high_points)
    return [
        one_line(row.name),
        number(before),
        number(now),
        points(m.change_points),
        signed_span(low, high),
        queries(row),
        allowed(m.threshold, m.limit_points, m.n_pairs),
        row.decided_by or DASH,
        WORDS[row.verdict],
    ]


def queries(row: Row) -> str:
    """Return how many queries a row rests on, how many moved, and the change in whole queries."""
    m, change = row.measured, row.measured.change
    if change is None:
        return DASH if m.current.value is None else f"{m.current.n:,}"
    worse, better = change.n_down, change.n_up
    if m.threshold.direction == "up is bad":
        worse, better = better, worse
    if not worse and not better:
        return f"{change.n_pairs:,}, none moved"
    net = abs(m.change_points or 0.0) * change.n_pairs / 100
    return f"{change.n_pairs:,}: {worse} worse, {better} better, net {net:.1f}"


def allowed(threshold: Threshold, limit: float | None, n: int) -> str:
    """Return the bounds of a threshold, with the points as whole queries beside them."""
    found = []
    if threshold.max_change is not None:
        sign = "−" if threshold.direction == "down is bad" else "+"
        unit = "points" if threshold.unit == "points" else "% of the baseline"
        text = f"{sign}{threshold.max_change:g} {unit}"
        if limit is not None and n:
            text += f" ({limit * n / 100:.1f} queries)"
        found.append(text)
    if threshold.floor is not None:
        found.append(f"≥ {threshold.floor:g}")
    if threshold.ceiling is not None:
        found.append(f"≤ {threshold.ceiling:g}")
    return ", ".join(found)


def remarks(verdict: Verdict) -> list[str]:
    """Return the sentences beside the table: what has no verdict and why, what was overridden."""
    found = [f"No verdict: {reason}." for reason in verdict.reasons]
    for row in () if verdict.reasons else verdict.rows:
        if row.reasons:
            found.append(f"{WORDS[row.verdict]}: {row.name}: {'; '.join(row.reasons)}.")
        if row.justification is not None:
            found.append(f"OVERRIDDEN: {row.name}: {excuse(row)}.")
    found += [f"Note: {note}." for note in verdict.notes]
    return [one_line(sentence) for sentence in found]


def excuse(row: Row) -> str:
    """Return how much of how much was excused, why and by whom; empty where nothing was."""
    one = row.justification
    if one is None:
        return ""
    size = one.metrics[row.measured.threshold.metric]
    return (
        f"{row.measured.breach_points:.2f} of at most {size:g} points excused: {one.reason} "
        f"(written by {one.author}, approved by {one.second_approver}, names not verified, "
        f"valid up to {one.expires})"
    )


def method(verdict: Verdict) -> str:
    """Return how the verdict was reached, in one sentence."""
    pinned = verdict.sides.get("n_pinned")
    which = f"{pinned:,} pinned queries" if pinned else "queries"
    rule = f"a change beyond its threshold is a breach{_RULE_WORDS[verdict.rule]}"
    if verdict.rule != "threshold":
        rule += f" (Holm over the rows, {verdict.alpha:g})"
    told = f"Paired over {which}{_means(verdict)}; {rule}; "
    told += "a floor or ceiling holds whatever the baseline."
    confidence = verdict.sides.get("confidence")
    return f"{told} Intervals: {confidence:.0%}, queries resampled." if confidence else told


def _means(verdict: Verdict) -> str:
    run, baseline = (verdict.sides.get(name) or {"n_runs": 1} for name in ("run", "baseline"))
    if run["n_runs"] == baseline["n_runs"] == 1:
        return ""
    here, there = counted(run["n_runs"], "run"), f"{baseline['n_runs']:,} of the baseline"
    return f", means of {here} against {there}"


def mover_cells(mover: Mover) -> list[str]:
    """Return id, corpus, text, value before and now, and points of a query that moved."""
    return [
        *(one_line(text, _LONGEST) for text in (mover.id, mover.corpus, mover.query)),
        number(mover.before),
        number(mover.now),
        points(mover.points),
    ]


def to_text(verdict: Verdict) -> str:
    """Return the whole verdict as text with an aligned table, such as a failing test shows."""
    rows = [list(HEAD), *(cells(row) for row in verdict.rows)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(HEAD))]
    lines = [verdict.headline, ""]
    for line in rows:
        padded = [cell.ljust(width) for cell, width in zip(line, widths, strict=True)]
        lines.append("  ".join(padded).rstrip())
    told = remarks(verdict)
    lines += ["", *told] if told else []
    for row in verdict.rows:
        if row.movers and row.verdict in ("breach", "no_verdict", "overridden"):
            lines += ["", f"Queries behind {one_line(row.name)}, the worst first:"]
            lines += ["  " + "  ".join(mover_cells(mover)) for mover in row.movers]
    return "\n".join([*lines, "", method(verdict)])


def one_line(text: str, longest: int | None = None) -> str:
    r"""Return foreign text on one line, without characters that a terminal would obey.

    Examples
    --------
    >>> one_line("a\nb\x1b[2J c"), one_line("abcdef", 4)
    ('a b�[2J c', 'abc…')
    """
    found = _CONTROL.sub("�", " ".join(text.split()))
    return found if longest is None or len(found) <= longest else f"{found[: longest - 1]}…"
