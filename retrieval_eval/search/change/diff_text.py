"""A diff as tables of plain text, for a terminal, and as Markdown to attach to a change.

Text of the runs stands in the tables as it is; whoever prints them escapes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from retrieval_eval.model.search_diff import (
    DiffSide,
    DiffSlice,
    MovedDocument,
    MovedDocuments,
    Outcome,
    SearchDiff,
    TopDocument,
)
from retrieval_eval.search.change.diff import movers
from retrieval_eval.search.run.markdown import escaped, shortened, table
from retrieval_eval.search.run.named_metrics import moved_queries
from retrieval_eval.search.run.scoring import DIMENSIONS
from retrieval_eval.search.run.settings import BASE_MEASURES, HEADLINE
from retrieval_eval.search.run.summary import DASH, moved_words, number, points, signed_span
from retrieval_eval.values import contribution, counted

Rows = list[list[str]]

TEXT: Final = "text"
"""The head of the column that holds queries, which may be cut off."""

OUTCOMES: Final[Mapping[Outcome, str]] = {
    "answered": "answered",
    "refused": "refused",
    "empty": "nothing returned",
    "failed": "failed",
    "not_asked": "not asked",
}
"""Outcomes in words."""

MEANINGS: Final = (
    "A query moved when a metric of its ranking has another value; its ranking is another one when "
    "documents or their order differ."
)

_MOST_QUERIES: Final = 20
_FLAG: Final = "moved"


def side_lines(diff: SearchDiff) -> list[tuple[str, str]]:
    """Return what the two runs are, and what else differs between their set-ups."""
    lines = [(name, _side(side)) for name, side in (("A", diff.a), ("B", diff.b))]
    lines += [("changed", change) for change in diff.changes]
    only = f"{diff.n_queries_only_a} only in A, {diff.n_queries_only_b} only in B"
    lines.append(("queries", f"{diff.n_queries_in_both} in both, {only}"))
    return lines


def summary_sentences(diff: SearchDiff) -> list[str]:
    """Return what moved in a few sentences: metrics beyond the flag level, and queries."""
    level = f"{diff.settings.flag_points:g} points"
    flagged = [f"{name} {points(diff.metrics[name].delta_points)}" for name in diff.flagged]
    found = [
        f"Changed by more than {level}: {', '.join(flagged)}."
        if flagged
        else f"No metric moved by more than {level}."
    ]
    moved = {name: len(movers(diff.queries, name)) for name in headline(diff)}
    words = "".join(f"; {n:,} moved {name}" for name, n in moved.items())
    n_moved = len(moved_queries(diff.queries))
    found.append(f"{moved_words(n_moved, len(diff.top1_changed))}{words}.")
    if (others := diff.n_queries_other_ranking) is not None:
        found.append(f"{counted(others, 'query')} {_have(others)} another ranking. {MEANINGS}")
    return found


def _have(n: int) -> str:
    return "has" if n == 1 else "have"


def shown_metrics(diff: SearchDiff) -> list[str]:
    """Return the metrics of the short list: the base ones, those flagged, and all but measures."""
    return [
        name
        for name in diff.metrics
        if name in BASE_MEASURES or name in diff.flagged or "@" not in name
    ]


def headline(diff: SearchDiff) -> list[str]:
    """Return the headline measures that the runs have."""
    return [name for name in HEADLINE if name in diff.metrics]


def metric_changes(diff: SearchDiff, names: Sequence[str]) -> Rows:
    """Return the changes of metrics; the head comes first."""
    interval = f"{diff.settings.confidence:.0%} interval"
    rows = [["metric", "A", "B", "points", interval, "p", "up", "down", "pairs", ""]]
    for name in names:
        change = diff.metrics[name]
        counts = (change.n_up, change.n_down, change.n_pairs)
        paired = [str(count) if change.is_paired else DASH for count in counts]
        rows.append(
            [
                name,
                number(change.a),
                number(change.b),
                points(change.delta_points),
                signed_span(change.ci_low_points, change.ci_high_points),
                number(change.p_value),
                *paired,
                _FLAG if change.is_flagged else "",
            ]
        )
    return rows


def mover_rows(diff: SearchDiff, name: str) -> Rows:
    """Return the queries that moved a metric, the largest contribution first, and documents.

    The documents are those that entered (+) and left (-) the cut-off of the metric, the judged
    ones with their grades; the others are counted.
    """
    cutoff = name.rpartition("@")[2]
    rows = [["query", TEXT, "judged documents, and others", "A", "B", "points"]]
    for query in movers(diff.queries, name):
        value = query.metrics.get(name)
        rows.append(
            [
                query.id,
                query.query,
                _documents(query.documents.get(cutoff)),
                number(value.a if value else None),
                number(value.b if value else None),
                contribution(query.contributions[name]),
            ]
        )
    return rows


def split_rows(diff: SearchDiff) -> Rows:
    """Return what labels and retrieval did to each metric; no row where it was not split."""
    if diff.label_split is None:
        return []
    rows = [["metric", "change", "labels", "retrieval", "queries", "left out"]]
    for name, part in diff.label_split.metrics.items():
        if name in BASE_MEASURES:
            moved = (part.total, part.labels, part.retrieval)
            rows.append([name, *map(points, moved), str(part.n), str(part.n_left_out)])
    return rows


def outcome_rows(diff: SearchDiff) -> Rows:
    """Return the queries that failed, or that one run alone was asked, refused or left empty."""
    rows = ([one.id, one.query, OUTCOMES[one.a], OUTCOMES[one.b]] for one in diff.outcomes)
    return [["query", TEXT, "A", "B"], *rows]


def top1_rows(diff: SearchDiff) -> Rows:
    """Return the queries with another first document, and both documents with their grades."""
    head = ["query", TEXT, "A", "B"]
    rows = (
        [query.id, query.query, _first(query.a), _first(query.b)] for query in diff.top1_changed
    )
    return [head, *rows]


def sliced_by(diff: SearchDiff) -> list[str]:
    """Return by what the queries are sliced."""
    return [*DIMENSIONS, *(["pinned"] if diff.slices.pinned else [])]


def slice_rows(diff: SearchDiff, dimension: str) -> Rows:
    """Return the changes of the headline measures by slice, and the pairs they rest on."""
    names = headline(diff)
    rows = [[dimension, "queries", *(f"{name}, points (pairs)" for name in names)]]
    parts: Mapping[str, DiffSlice] = getattr(diff.slices, dimension)
    for value, part in parts.items():
        changes = [part.metrics[name] for name in names]
        cells = [f"{points(c.delta_points)} ({c.n_pairs})" for c in changes]
        rows.append([value, str(part.n_queries), *cells])
    return rows


def _side(side: DiffSide) -> str:
    gold = side.gold_set
    return (
        f"{side.label or 'no label'}, measured {side.generated_at}, {side.retriever}, "
        f"{gold.name} {gold.fingerprint[:12]}, n_queries={side.n_queries:,}"
    )


def _first(found: TopDocument | None) -> str:
    return "nothing" if found is None else _graded(found)


def _graded(found: TopDocument | MovedDocument) -> str:
    grade = found.grade
    return f"{found.doc} ({'unjudged' if grade is None else f'grade {grade}'})"


def _documents(moved: MovedDocuments | None) -> str:
    if moved is None:
        return DASH
    parts = []
    for sign, found in (("+", moved.gained), ("−", moved.lost)):
        parts += [f"{sign}{_graded(doc)}" for doc in found if doc.grade is not None]
        n_others = sum(doc.grade is None for doc in found)
        if n_others:
            parts.append(f"{sign}{n_others} unjudged")
    return ", ".join(parts)


def diff_markdown(diff: SearchDiff) -> str:
    """Return a diff as Markdown.

    A banner heads it where fingerprints differ. Every text that comes from a query, a document or
    a retriever is escaped: it is shown unchanged and cannot become markup.
    """
    names = [side.label or "no label" for side in (diff.a, diff.b)]
    parts = [f"# Search diff: {escaped(names[0])} → {escaped(names[1])}"]
    if diff.banner:
        parts.append(f"> **{escaped(diff.banner)}**")
    parts += [f"**{escaped(notice)}**" for notice in diff.notices]
    parts.append(_safe([["", ""], *map(list, side_lines(diff))], n_left=2))
    parts.append("\n".join(f"- {escaped(line)}" for line in summary_sentences(diff)))
    for name in headline(diff):
        rows = mover_rows(diff, name)
        if len(rows) > 1:
            parts += [f"## Queries behind {name}", *_first_rows(rows, n_left=3)]
    for title, rows in (
        ("Failed, refused, empty or asked in one run only", outcome_rows(diff)),
        ("By labels and by retrieval, in points", split_rows(diff)),
    ):
        if len(rows) > 1:
            parts += [f"## {title}", *_first_rows(rows, n_left=4 if TEXT in rows[0] else 1)]
    rows = top1_rows(diff)
    if len(rows) > 1:
        parts += ["## Another first document", *_first_rows(rows, n_left=4)]
    parts += ["## Metrics", _safe(metric_changes(diff, shown_metrics(diff)))]
    for dimension in sliced_by(diff):
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
