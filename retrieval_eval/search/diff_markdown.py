"""A diff as Markdown: what one attaches to a change, queries before means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from retrieval_eval.search.diff_tables import (
    TEXT,
    headline,
    metric_changes,
    mover_rows,
    shown_metrics,
    side_lines,
    slice_rows,
    summary_sentences,
    top1_rows,
)
from retrieval_eval.search.markdown import escaped, shortened, table

Document = Mapping[str, Any]

_MOST_QUERIES: Final = 20


def diff_markdown(diff: Document) -> str:
    """Return a diff as Markdown.

    A banner heads it where fingerprints differ. Every text that comes from a query, a document or
    a retriever is escaped: it shows as it stands and cannot become markup.
    """
    names = [side["label"] or "no label" for side in (diff["a"], diff["b"])]
    parts = [f"# Search diff: {escaped(names[0])} → {escaped(names[1])}"]
    if diff["banner"]:
        parts.append(f"> **{escaped(diff['banner'])}**")
    parts += [f"**{escaped(notice)}**" for notice in diff["notices"]]
    parts.append(_safe([["", ""], *map(list, side_lines(diff))], n_left=2))
    parts.append("\n".join(f"- {escaped(line)}" for line in summary_sentences(diff)))
    for name in headline(diff):
        rows = mover_rows(diff, name)
        if len(rows) > 1:
            parts += [f"## Queries behind {name}", *_first_rows(rows, n_left=3)]
    rows = top1_rows(diff)
    if len(rows) > 1:
        parts += ["## Another first document", *_first_rows(rows, n_left=4)]
    parts += ["## Metrics", _safe(metric_changes(diff, shown_metrics(diff)))]
    for dimension in diff["slices"]:
        parts += [f"## By {dimension}", _safe(slice_rows(diff, dimension))]
    return "\n\n".join(parts) + "\n"


def _first_rows(rows: Sequence[Sequence[str]], *, n_left: int) -> list[str]:
    left_out = len(rows) - 1 - _MOST_QUERIES
    shown = [_safe(rows[: _MOST_QUERIES + 1], n_left=n_left)]
    return shown + ([f"And {left_out} more; the JSON has them all."] if left_out > 0 else [])


def _safe(rows: Sequence[Sequence[str]], *, n_left: int = 1) -> str:
    may_be_cut = [head == TEXT for head in rows[0]]
    return table(
        [
            [
                shortened(cell) if cut else escaped(cell)
                for cell, cut in zip(row, may_be_cut, strict=True)
            ]
            for row in rows
        ],
        n_left=n_left,
    )
