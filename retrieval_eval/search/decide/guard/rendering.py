"""The verdict as terminal text, and as a pull-request comment in Markdown.

Text of the run appears on one line and without control characters; what else is markup to a
reader is escaped by each format.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Final

from retrieval_eval.model.guard import GuardRow, GuardRuling, Mover
from retrieval_eval.search.change.causes import TITLE
from retrieval_eval.search.run.markdown import as_code, entities, escaped, table
from retrieval_eval.search.run.named_metrics import BLOCK_OF
from retrieval_eval.search.run.summary import DASH, number, points, signed_span
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

LONGEST_COMMENT: Final = 65_536
"""What GitHub takes as one comment, in characters; here it bounds the bytes."""

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_LONGEST: Final = 100
_LONGEST_NAME: Final = 48
_LONGEST_REASON: Final = 240
_LONGEST_REMARK: Final = 400
_MOST_LEADING: Final = 3
_MOST_CARRIERS: Final = 5
_MOST_LOST: Final = 3
_MOST_REMARKS: Final = 20
_MOST_SLICES: Final = 30
_CUT: Final = "\nCut to the length of a comment; `--json` prints the rest.\n"
_CHANCE: Final = "more than chance would move, by a one-sided sign-flip test of the queries"
_NOISE: Final = "beyond the measured run-to-run noise"
_SIGNS: Final = {"pass": "✅", "breach": "❌", "no_verdict": "⚠️"}
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
        f"(written by {one.author}, approved by {one.second_approver}, "
        f"valid up to {one.expires})"
    )


def method(verdict: GuardRuling) -> str:
    """Return how the verdict was reached, in one sentence."""
    pinned, decision = verdict.n_pinned, verdict.decision
    which = f"{pinned:,} pinned queries" if pinned else "queries"
    rule = f"a change beyond its threshold is a breach{_RULE_WORDS[decision.rule]}"
    if decision.rule != "threshold":
        rule += f" (Holm over the rows, {decision.alpha:g})"
    overview = f"Paired over {which}{_means(verdict)}; {rule}; "
    overview += "a floor or ceiling applies whatever the baseline."
    if confidence := verdict.confidence:
        overview += f" Intervals: {confidence:.0%}, queries resampled."
    return overview


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
    if verdict.causes:
        lines += ["", f"{TITLE}:", *(f"- {one_line(one.sentence)}." for one in verdict.causes)]
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


def sentence(verdict: GuardRuling) -> str:
    """Return the verdict as one sentence: what it rests on, and how many other thresholds do.

    Examples
    --------
    >>> from datetime import date
    >>> from retrieval_eval.search.decide.guard import no_verdict
    >>> from retrieval_eval.search.decide.thresholds import shipped_thresholds
    >>> sentence(no_verdict(shipped_thresholds(), ["the run is empty"], date(2026, 1, 1)))
    'NO VERDICT: the run is empty'
    """
    head = verdict.headline.partition(":")[0]
    if verdict.reasons:
        return f"{head}: {one_line(verdict.reasons[0], _LONGEST_REASON)}"
    leading = led_by(verdict)
    if not leading:
        return f"{head}: {_held(verdict)}"
    more = len(leading) - 1
    others = f"; the same holds for {counted(more, 'further threshold')}" if more else ""
    return f"{head}: {_row_sentence(leading[0])}{others}"


def led_by(verdict: GuardRuling) -> list[GuardRow]:
    """Return the rows that carry a verdict, the worst first; none of a plain pass."""
    code = "overridden" if verdict.verdict == "pass" else verdict.verdict
    rows = [row for row in verdict.rows if row.verdict == code]
    return sorted(rows, key=lambda row: -((row.harm_points or 0.0) - (row.limit_points or 0.0)))


def _held(verdict: GuardRuling) -> str:
    found = [row.verdict for row in verdict.rows]
    n_noise = found.count("within_noise")
    n = found.count("pass") + n_noise
    parts = [f"{counted(n, 'threshold')} {'holds' if n == 1 else 'hold'}"]
    parts += [f"{n_noise} of them with a change that may be chance"] if n_noise else []
    n_skipped = found.count("skipped")
    return ", ".join(parts) + (f"; {n_skipped} not applied" if n_skipped else "")


def _row_sentence(row: GuardRow) -> str:
    name, moved, limit = one_line(row.name, _LONGEST), row.change_points, row.limit_points
    if moved is None or limit is None or (row.harm_points or 0.0) <= limit:
        return f"{name}: {one_line('; '.join(row.reasons), _LONGEST_REASON)}"
    text = f"{name} {'fell' if moved < 0 else 'rose'} by {abs(moved):.2f} points"
    worse = row.n_up if row.direction == "up is bad" else row.n_down
    text += f" ({worse} of {counted(row.n_queries, 'query')} got worse)" if row.n_queries else ""
    text += f", and {limit:g} are allowed"
    if row.verdict == "no_verdict":
        text += ", which may be chance"
    if row.justification is not None:
        excused = row.justification
        text += f"; up to {excused.max_points:g} are excused"
    return text


def to_comment(verdict: GuardRuling, *, longest: int = LONGEST_COMMENT) -> str:
    """Return the verdict as Markdown for a pull request, of at most ``longest`` bytes.

    The verdict in one sentence; what explains it; the queries that carried it, with the ranks of
    their documents; the thresholds; and folded, the rest. Every text that comes from a query, a
    document, a run or a justification is escaped: it shows as it stands, and mentions or links
    nothing. What does not fit is left out from the end.
    """
    title = f"## {_SIGNS[verdict.verdict]} Retrieval guard: {escaped(sentence(verdict))}"
    loud, quiet = _remarks(verdict)
    parts = [
        _explained(verdict),
        *(_carried(row) for row in led_by(verdict)[:_MOST_LEADING] if row.movers),
        _thresholds(verdict),
        _list(loud),
        _folded("Notes and method", f"{_list(quiet)}\n\n{_foot(verdict)}"),
        *(_slices(row) for row in verdict.rows if row.slices),
        *(_movers(row) for row in verdict.rows if row.movers),
    ]
    text, n_left_out = f"{MARKER}\n{title}\n", 0
    for part in filter(None, parts):
        if len(f"{text}\n{part}\n".encode()) > longest - len(_CUT):
            n_left_out += 1
        else:
            text += f"\n{part}\n"
    return text + (_CUT if n_left_out else "")


def _explained(verdict: GuardRuling) -> str:
    """Return what explains the change as a list; empty where nothing does."""
    rows = [f"- {escaped(one_line(one.sentence))}." for one in verdict.causes]
    return "\n".join([f"**{TITLE}**", "", *rows]) if rows else ""


def _carried(row: GuardRow) -> str:
    """Return the queries that carried a row, with where their documents went."""
    sign = -1 if row.direction == "down is bad" else 1
    worse = [mover for mover in row.movers if sign * mover.points > 0][:_MOST_CARRIERS]
    n_worse = (row.n_down if sign < 0 else row.n_up) or 0
    if not worse:
        return ""
    is_ranked = row.metric not in BLOCK_OF
    head = ["query", *(["first relevant document", "lost"] if is_ranked else [row.metric])]
    rows = [[*head, "points", "id"]]
    for mover in worse:
        cells = [_ranks(mover), _lost(mover)] if is_ranked else [_values(row, mover)]
        rows.append(
            [
                as_code(mover.query, _LONGEST),
                *cells,
                points(mover.points),
                as_code(mover.id, _LONGEST_NAME),
            ]
        )
    which = "all" if len(worse) == n_worse else f"the worst {len(worse)} of"
    title = f"**{_name(row)}: {which} {counted(n_worse, 'query')} that got worse**"
    return f"{title}\n\n{table(rows, n_left=3 if is_ranked else 1)}"


def _ranks(mover: Mover) -> str:
    before, now = (
        "none" if rank is None else f"rank {rank:,}" for rank in (mover.rank_before, mover.rank_now)
    )
    return f"{before} → {now}"


def _lost(mover: Mover) -> str:
    shown = ", ".join(as_code(doc, _LONGEST_NAME) for doc in mover.lost[:_MOST_LOST])
    more = len(mover.lost) - _MOST_LOST
    return (f"{shown} and {more} more" if more > 0 else shown) or DASH


def _values(row: GuardRow, mover: Mover) -> str:
    if BLOCK_OF[row.metric].block == "abstention":
        before, now = ("refused" if value else "answered" for value in (mover.before, mover.now))
        return f"{before} → {now}"
    return f"{number(mover.before)} → {number(mover.now)}"


def _thresholds(verdict: GuardRuling) -> str:
    rows = [_cells(row) for row in sorted(verdict.rows, key=_place)]
    sizes = accumulate(len(" | ".join(row).encode()) + 8 for row in rows)
    shown = [row for row, size in zip(rows, sizes, strict=True) if size <= LONGEST_COMMENT // 3]
    text = table([list(HEAD), *shown], n_left=1)
    more = len(rows) - len(shown)
    return f"{text}\n\nAnd {counted(more, 'threshold')} more." if more else text


def _place(row: GuardRow) -> int:
    # What decided comes first, else as in the file.
    return 0 if row.verdict in ("breach", "no_verdict", "overridden") else 1


def _remarks(verdict: GuardRuling) -> tuple[list[str], list[str]]:
    """Return the sentences that a reader must see, and those that may be folded."""
    loud, quiet = list[str](), list[str]()
    for remark in remarks(verdict):
        is_loud = remark.startswith(("No verdict", "NO VERDICT", "BREACH", "OVERRIDDEN"))
        (loud if is_loud else quiet).append(one_line(remark, _LONGEST_REMARK))
    return loud, quiet


def _list(sentences: Sequence[str]) -> str:
    shown = [f"- {escaped(remark)}" for remark in sentences[:_MOST_REMARKS]]
    more = len(sentences) - _MOST_REMARKS
    return "\n".join([*shown, f"- and {more} more"] if more > 0 else shown)


def _foot(verdict: GuardRuling) -> str:
    n = verdict.n_queries_moved
    moved = "" if n is None else f"{counted(n, 'query')} moved. "
    return f"{_compared(verdict)}{moved}{escaped(method(verdict))}"


def _folded(title: str, body: str) -> str:
    return f"<details>\n<summary>{title}</summary>\n\n{body.strip()}\n\n</details>"


def _slices(row: GuardRow) -> str:
    rows = [["slice", "queries", "points", "adjusted p", "verdict"]]
    for one in (row.slices or ())[:_MOST_SLICES]:
        p = DASH if one.p_adjusted is None else f"{one.p_adjusted:.3f}"
        name = escaped(one_line(f"{one.dimension} {one.value}", _LONGEST))
        cells = [f"{one.n_queries:,}", points(one.change_points), p, WORDS[one.verdict]]
        rows.append([name, *cells])
    n = len(row.slices or ())
    which = f"all {n} slices" if n < len(rows) else f"the worst {_MOST_SLICES} of {n} slices"
    return _folded(f"{_html(row)}: {which}", table(rows, n_left=1))


def _name(row: GuardRow) -> str:
    # A metric's own name, such as P@5, is no mention of a user.
    rest = row.name.removeprefix(row.metric).strip(" []")
    return f"`{row.metric}`" + (f" {escaped(one_line(rest, _LONGEST))}" if rest else "")


def _cells(row: GuardRow) -> list[str]:
    shown = [escaped(cell) for cell in cells(row)]
    shown[0] = _name(row)
    if row.verdict not in ("pass", "skipped"):
        shown[-1] = f"**{shown[-1]}**"
    return shown


def _movers(row: GuardRow) -> str:
    n = (row.n_up or 0) + (row.n_down or 0)
    head = ["query", "corpus", "text", "baseline", "now", "points"]
    rows = [head]
    for mover in row.movers:
        name, corpus, text, *numbers = mover_cells(mover)
        rows.append([*map(as_code, (name, corpus, text)), *numbers])
    which = f"all {n}" if n == len(row.movers) else f"the worst {len(row.movers)} of {n}"
    return _folded(f"{_html(row)}: {which} queries that moved", table(rows, n_left=3))


def _html(row: GuardRow) -> str:
    # Inside an HTML block a backslash of Markdown would be shown.
    rest = row.name.removeprefix(row.metric)
    return f"{row.metric.replace('@', '&#64;')}{entities(rest, _LONGEST)}".rstrip()


def _compared(verdict: GuardRuling) -> str:
    if verdict.run is None or verdict.baseline is None:
        return ""
    now, then = (
        f"{escaped(one_line(side.label or 'no label', _LONGEST))} of {escaped(side.generated_at)}"
        for side in (verdict.run, verdict.baseline)
    )
    return f"{now} against {then}. "
