"""The verdict as Markdown for a comment on a pull request."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final

from retrieval_eval.search.guard.table import HEAD, cells, method, mover_cells, one_line, remarks
from retrieval_eval.search.guard.verdict import Row, Verdict
from retrieval_eval.search.markdown import escaped

MARKER: Final = "<!-- retrieval-eval: search guard -->"
"""The first line of every comment, by which a bot finds the one to update."""

_SIGNS: Final = {"pass": "✅", "breach": "❌", "no_verdict": "⚠️"}


def to_comment(verdict: Verdict) -> str:
    """Return the verdict as Markdown: marker, verdict line, table, remarks, queries that moved.

    Every text that comes from a query, a run or a justification is escaped.
    """
    parts = [
        f"## {_SIGNS[verdict.verdict]} Retrieval guard: {escaped(verdict.headline)}",
        _table([list(HEAD), *(_cells(row) for row in verdict.rows)], n_left=1),
        "\n".join(f"- {escaped(remark)}" for remark in remarks(verdict)),
        *(_movers(row) for row in verdict.rows if row.movers),
        f"{_compared(verdict)}{escaped(method(verdict))}",
    ]
    return MARKER + "\n" + "\n\n".join(part for part in parts if part) + "\n"


def _cells(row: Row) -> list[str]:
    shown = [escaped(cell) for cell in cells(row)]
    # A metric's own name, such as P@5, mentions nobody.
    name = row.measured.threshold.metric
    shown[0] = f"`{name}`" + (f" {escaped(row.measured.threshold.part)}" if row.has_part else "")
    if row.verdict not in ("pass", "skipped"):
        shown[-1] = f"**{shown[-1]}**"
    return shown


def _movers(row: Row) -> str:
    change = row.measured.change
    n = 0 if change is None else change.n_up + change.n_down
    head = ["query", "corpus", "text", "baseline", "now", "points"]
    rows = [head]
    for mover in row.movers:
        name, corpus, text, *numbers = mover_cells(mover)
        rows.append([*map(escaped, (name, corpus, text)), *numbers])
    which = f"all {n}" if n == len(row.movers) else f"the worst {len(row.movers)} of {n}"
    title = f"<summary>{_html(row.name)}: {which} queries that moved</summary>"
    return f"<details>\n{title}\n\n{_table(rows, n_left=3)}\n\n</details>"


def _html(text: str) -> str:
    # Inside an HTML block a backslash of Markdown would be shown.
    return escape(one_line(text)).replace("@", "&#64;")


def _compared(verdict: Verdict) -> str:
    run, baseline = verdict.sides.get("run"), verdict.sides.get("baseline")
    if not run or not baseline:
        return ""
    now, then = (
        f"{escaped(side['label'] or 'no label')} of {side['generated_at']}"
        for side in (run, baseline)
    )
    return f"{now} against {then}. "


def _table(rows: Sequence[Sequence[str]], *, n_left: int) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    ruler = ["---" if place < n_left else "---:" for place in range(len(rows[0]))]
    return "\n".join([lines[0], "| " + " | ".join(ruler) + " |", *lines[1:]])
