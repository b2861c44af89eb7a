"""The verdict as terminal text, as a pull-request comment in Markdown and as JUnit XML.

Text of the run appears on one line and without control characters; what else is markup to a
reader is escaped by each format.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Final
from xml.etree import ElementTree as ET

from retrieval_eval.model.guard import GuardRow, GuardRuling, Justification, Mover
from retrieval_eval.search.markdown import escaped, table
from retrieval_eval.search.summary import DASH, number, points, signed_span
from retrieval_eval.values import counted

HEAD: Final = (
    *("metric", "baseline", "now", "points", "interval"),
    *("queries", "allowed", "decided by", "verdict"),
)

WORDS: Final[Mapping[str, str]] = {
    "pass": "pass",
    "within_noise": "pass (noise)",
    "breach": "BREACH",
    "overridden": "OVERRIDDEN",
    "no_verdict": "NO VERDICT",
    "skipped": "not applied",
}
"""The verdict on a threshold, in print."""

MARKER: Final = "<!-- retrieval-eval: search guard -->"
"""The first line of every comment, by which a bot finds the one to update."""
SUITE: Final = "retrieval-guard"

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_LONGEST: Final = 100
_CHANCE: Final = "more than chance would move, by a one-sided sign-flip test of the queries"
_NOISE: Final = "beyond the measured run-to-run noise"
_SIGNS: Final = {"pass": "✅", "breach": "❌", "no_verdict": "⚠️"}
# What XML 1.0 has no way to write, not even as a reference.
_ILLEGAL: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TAGS: Final = {"breach": "failure", "no_verdict": "error", "skipped": "skipped"}
_RULE_WORDS: Final[Mapping[str, str]] = {
    "threshold_and_real": f" when it is real: {_NOISE} or, where there is none and a system is not "
    f"deterministic, {_CHANCE}",
    "threshold": "",
    "threshold_and_significant": f" when it is {_CHANCE}",
    "threshold_and_beyond_noise": f" when it is {_NOISE}",
}


def headline(verdict: str, rows: Sequence[GuardRow]) -> str:
    """Return a verdict in one line: what it is, and how many thresholds have which."""
    counts = {name: sum(row.verdict == name for row in rows) for name in WORDS}
    overview = [f"{n} {WORDS[name].lower()}" for name, n in counts.items() if n]
    words = {"pass": "PASS", "breach": "BREACH", "no_verdict": "NO VERDICT"}[verdict]
    if verdict == "pass" and counts["overridden"]:
        words = f"PASS BY JUSTIFICATION of {counts['overridden']}"
    return f"{words}: {counted(len(rows), 'threshold')}: {', '.join(overview)}"


def cells(row: GuardRow) -> list[str]:
    """Return the cells of a row, under :data:`HEAD`."""
    before, now = row.baseline.value, row.current.value
    if row.n_queries is not None:
        before, now = row.paired_baseline, row.paired_current
    return [
        one_line(row.name),
        number(before),
        number(now),
        points(row.change_points),
        signed_span(row.ci_low_points, row.ci_high_points),
        queries(row),
        allowed(row),
        row.decided_by or DASH,
        WORDS[row.verdict],
    ]


def queries(row: GuardRow) -> str:
    """Return how many queries a row rests on, how many moved, and the change in whole queries."""
    if row.n_queries is None:
        return DASH if row.current.value is None else f"{row.current.n:,}"
    worse, better = row.n_down, row.n_up
    if row.direction == "up is bad":
        worse, better = better, worse
    if not worse and not better:
        return f"{row.n_queries:,}, none moved"
    net = abs(row.change_queries or 0.0)
    return f"{row.n_queries:,}: {worse} worse, {better} better, net {net:.1f}"


def allowed(row: GuardRow) -> str:
    """Return the bounds of a threshold, with the points as whole queries beside them."""
    found = []
    if row.max_change is not None:
        sign = "−" if row.direction == "down is bad" else "+"
        unit = "points" if row.unit == "points" else "% of the baseline"
        text = f"{sign}{row.max_change:g} {unit}"
        if row.limit_queries is not None:
            text += f" ({row.limit_queries:.1f} queries)"
        found.append(text)
    if row.floor is not None:
        found.append(f"≥ {row.floor:g}")
    if row.ceiling is not None:
        found.append(f"≤ {row.ceiling:g}")
    return ", ".join(found)


def remarks(verdict: GuardRuling) -> list[str]:
    """Return the sentences beside the table: what has no verdict and why, what was overridden."""
    found = [f"No verdict: {reason}." for reason in verdict.reasons]
    for row in () if verdict.reasons else verdict.rows:
        if row.reasons:
            found.append(f"{WORDS[row.verdict]}: {row.name}: {'; '.join(row.reasons)}.")
        if row.justification is not None:
            found.append(f"OVERRIDDEN: {row.name}: {excuse(row)}.")
    found += [f"Note: {note}." for note in verdict.notes]
    return [one_line(sentence) for sentence in found]


def excuse(row: GuardRow) -> str:
    """Return how much of how much was excused, why and by whom; empty where nothing was."""
    one = row.justification
    if one is None:
        return ""
    return (
        f"{one.excused_points:.2f} of at most {one.max_points:g} points excused: {one.reason} "
        f"(written by {one.author}, approved by {one.second_approver}, {_approval(one)}, "
        f"valid up to {one.expires})"
    )


def _approval(one: Justification) -> str:
    if one.approval == "verified" and one.approved_commit is not None:
        return f"approval of {one.approved_commit[:12]} verified"
    return "approval unverified"


def method(verdict: GuardRuling) -> str:
    """Return how the verdict was reached, in one sentence."""
    pinned, decision = verdict.n_pinned, verdict.decision
    which = f"{pinned:,} pinned queries" if pinned else "queries"
    rule = f"a change beyond its threshold is a breach{_RULE_WORDS[decision.rule]}"
    if decision.rule != "threshold":
        rule += f" (Holm over the rows, {decision.alpha:g}{_looks(verdict)})"
    overview = f"Paired over {which}{_means(verdict)}; {rule}; "
    overview += "a floor or ceiling applies whatever the baseline."
    if confidence := verdict.confidence:
        overview += f" Intervals: {confidence:.0%}, queries resampled."
    return f"{overview} {policy_words(verdict)}".rstrip()


def _looks(verdict: GuardRuling) -> str:
    """Return which part of its level a guard has, empty where that is all of it."""
    decision = verdict.decision
    if decision.looks is None or decision.look is None or decision.level is None:
        return ""
    which = f"guard {decision.look:,}" if decision.look > 1 else "this one"
    return f" over all guards against this baseline, {decision.level:.2g} of it for {which}"


def policy_words(verdict: GuardRuling) -> str:
    """Return the digests of the policy in short, empty where there is none."""
    policy = verdict.policy
    if policy is None:
        return ""
    excused = policy.justifications
    return f"Policy {policy.digest[:12]}" + (
        f", justifications {excused[:12]}." if excused else ", nothing justified."
    )


def _means(verdict: GuardRuling) -> str:
    here, there = ((side and side.n_runs) or 1 for side in (verdict.run, verdict.baseline))
    if here == there == 1:
        return ""
    return f", means of {counted(here, 'run')} against {there:,} of the baseline"


def mover_cells(mover: Mover) -> list[str]:
    """Return id, corpus, text, value before and now, and points of a query that moved."""
    return [
        *(one_line(text, _LONGEST) for text in (mover.id, mover.corpus, mover.query)),
        number(mover.before),
        number(mover.now),
        points(mover.points),
    ]


def to_text(verdict: GuardRuling) -> str:
    """Return the whole verdict as text with an aligned table, such as a failing test shows."""
    rows = [list(HEAD), *(cells(row) for row in verdict.rows)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(HEAD))]
    lines = [verdict.headline, ""]
    for line in rows:
        padded = [cell.ljust(width) for cell, width in zip(line, widths, strict=True)]
        lines.append("  ".join(padded).rstrip())
    overview = remarks(verdict)
    lines += ["", *overview] if overview else []
    for row in verdict.rows:
        if row.movers and row.verdict in ("breach", "no_verdict", "overridden"):
            lines += ["", f"Queries behind {one_line(row.name)}, the worst first:"]
            lines += ["  " + "  ".join(mover_cells(mover)) for mover in row.movers]
    return "\n".join([*lines, "", method(verdict)])


def one_line(text: str, longest: int | None = None) -> str:
    r"""Return untrusted text on one line, without control characters.

    Examples
    --------
    >>> one_line("a\nb\x1b[2J c"), one_line("abcdef", 4)
    ('a b�[2J c', 'abc…')
    """
    found = _CONTROL.sub("�", " ".join(text.split()))
    return found if longest is None or len(found) <= longest else f"{found[: longest - 1]}…"


def to_comment(verdict: GuardRuling) -> str:
    """Return the verdict as Markdown: marker, verdict line, table, remarks, queries that moved.

    Every text that comes from a query, a run or a justification is escaped.
    """
    parts = [
        f"## {_SIGNS[verdict.verdict]} Retrieval guard: {escaped(verdict.headline)}",
        table([list(HEAD), *(_cells(row) for row in verdict.rows)], n_left=1),
        "\n".join(f"- {escaped(remark)}" for remark in remarks(verdict)),
        *(_movers(row) for row in verdict.rows if row.movers),
        f"{_compared(verdict)}{escaped(method(verdict))}",
    ]
    return MARKER + "\n" + "\n\n".join(part for part in parts if part) + "\n"


def _cells(row: GuardRow) -> list[str]:
    shown = [escaped(cell) for cell in cells(row)]
    # A metric's own name, such as P@5, is no mention of a user.
    part = row.slice
    shown[0] = f"`{row.metric}`"
    if part is not None:
        shown[0] += f" {escaped(f'{part.dimension} {part.value}')}"
    if row.verdict not in ("pass", "skipped"):
        shown[-1] = f"**{shown[-1]}**"
    return shown


def _movers(row: GuardRow) -> str:
    n = (row.n_up or 0) + (row.n_down or 0)
    head = ["query", "corpus", "text", "baseline", "now", "points"]
    rows = [head]
    for mover in row.movers:
        name, corpus, text, *numbers = mover_cells(mover)
        rows.append([*map(escaped, (name, corpus, text)), *numbers])
    which = f"all {n}" if n == len(row.movers) else f"the worst {len(row.movers)} of {n}"
    title = f"<summary>{_html(row.name)}: {which} queries that moved</summary>"
    return f"<details>\n{title}\n\n{table(rows, n_left=3)}\n\n</details>"


def _html(text: str) -> str:
    # Inside an HTML block a backslash of Markdown would be shown.
    return escape(one_line(text)).replace("@", "&#64;")


def _compared(verdict: GuardRuling) -> str:
    if verdict.run is None or verdict.baseline is None:
        return ""
    now, then = (
        f"{escaped(side.label or 'no label')} of {side.generated_at}"
        for side in (verdict.run, verdict.baseline)
    )
    return f"{now} against {then}. "


def to_junit(verdict: GuardRuling) -> bytes:
    """Return the verdict as JUnit XML.

    A breach is a ``failure``, a threshold without verdict an ``error``, one that was not applied
    ``skipped``; an overridden one passes, with its justification in
    ``system-out``. Characters
    that XML cannot hold become U+FFFD.
    """
    tags = [_TAGS.get(row.verdict) for row in verdict.rows]
    suite = ET.Element(
        "testsuite",
        name=SUITE,
        tests=str(len(tags)),
        failures=str(tags.count("failure")),
        errors=str(tags.count("error")),
        skipped=str(tags.count("skipped")),
        time="0",
    )
    for row, tag in zip(verdict.rows, tags, strict=True):
        case = ET.SubElement(suite, "testcase", classname=SUITE, name=_legal(row.name), time="0")
        if tag is not None:
            message = "; ".join(row.reasons)
            found = ET.SubElement(case, tag, message=_legal(message))
            if tag != "skipped":
                found.set("type", row.verdict)
                found.text = _legal(_told(row))
        out = ET.SubElement(case, "system-out")
        out.text = _legal(_told(row))
    out = ET.SubElement(suite, "system-out")
    out.text = _legal("\n".join([verdict.headline, *remarks(verdict), method(verdict)]))
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    written: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return written + b"\n"


def _told(row: GuardRow) -> str:
    lines = [f"{name}: {cell}" for name, cell in zip(HEAD, cells(row), strict=True)]
    if row.justification is not None:
        lines.append(f"overridden: {excuse(row)}")
    lines += [f"{mover.id}: {points(mover.points)} points" for mover in row.movers]
    return "\n".join(lines)


def _legal(text: str) -> str:
    return _ILLEGAL.sub("\ufffd", text)
