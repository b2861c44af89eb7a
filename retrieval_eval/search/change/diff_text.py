"""A diff as tables of plain text, for a terminal, and as Markdown to attach to a change.

Text of the runs stands in the tables as it is; whoever prints them escapes it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple
from unicodedata import east_asian_width

from retrieval_eval.errors import BadInputError
from retrieval_eval.escape import visible
from retrieval_eval.model.search_diff import (
    ComparedQueries,
    ComparedQuery,
    DiffSide,
    DiffSlice,
    MetricOfQuery,
    MovedDocument,
    MovedDocuments,
    Outcome,
    PlacedDocument,
    QueryDifference,
    SearchDiff,
    SideOfQuery,
    TopDocument,
)
from retrieval_eval.model.search_run import QueryResult, SearchRun
from retrieval_eval.schema import SCHEMA_VERSION
from retrieval_eval.search.change import movers, outcome_of
from retrieval_eval.search.change.causes import TITLE
from retrieval_eval.search.run import BASE_MEASURES, HEADLINE, deepest_cutoff
from retrieval_eval.search.run.markdown import escaped, shortened, table
from retrieval_eval.search.run.named_metrics import (
    BLOCK_OF,
    WHOLE_RUN_ONLY,
    moved_queries,
    per_query,
)
from retrieval_eval.search.run.scoring import DIMENSIONS
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


def moved_sentence(diff: SearchDiff) -> str:
    """Return how many queries moved, and how many of them each headline metric."""
    moved = {name: len(movers(diff.queries, name)) for name in headline(diff)}
    words = "".join(f"; {n:,} moved {name}" for name, n in moved.items())
    return f"{moved_words(len(moved_queries(diff.queries)), len(diff.top1_changed))}{words}."


def short_metrics(diff: SearchDiff) -> list[str]:
    """Return the metrics that are looked at first, and those that are no measures of rankings."""
    return [n for n in diff.metrics if n in ("P@1", *HEADLINE, "RR", "nDCG@10") or "@" not in n]


def summary_sentences(diff: SearchDiff) -> list[str]:
    """Return what moved in a few sentences: metrics beyond the flag level, and queries."""
    level = f"{diff.settings.flag_points:g} points"
    flagged = [f"{name} {points(diff.metrics[name].delta_points)}" for name in diff.flagged]
    found = [
        f"Changed by more than {level}: {', '.join(flagged)}."
        if flagged
        else f"No metric moved by more than {level}."
    ]
    found.append(moved_sentence(diff))
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
    if diff.causes:
        listed = "\n".join(f"- {escaped(one.sentence)}." for one in diff.causes)
        parts += [f"## {TITLE}", listed]
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


# --------------------------------------------------------------------------------------------------
# Single queries of two search runs: both rankings side by side, with grades and what moved.

DEEP: Final = deepest_cutoff(HEADLINE)
"""Ranks shown of every ranking; relevant documents below them are shown too."""

WIDTH: Final = 80
_RANK, _GRADE, _MOVE, _GAP = 4, 8, 4, 1
_DOC: Final = (WIDTH - _RANK - 2 * (3 * _GAP + _GRADE + _MOVE)) // 2


def compare_queries(
    diff: SearchDiff, a: SearchRun, b: SearchRun, names: Sequence[str]
) -> ComparedQueries:
    """Return some queries of a difference with both rankings and all their metrics.

    Parameters
    ----------
    diff
        The difference of ``a`` and ``b``.
    a, b
        The two runs.
    names
        Ids of queries; one that is named twice is returned once.

    Raises
    ------
    BadInputError
        When neither run has one of them; the closest ids are named.
    """
    sides = [{query.id: query for query in run.queries} for run in (a, b)]
    known = sides[0] | sides[1]
    if unknown := [name for name in names if name not in known]:
        close = difflib.get_close_matches(unknown[0], known, n=3, cutoff=0.4)
        hint = f"the closest: {', '.join(map(repr, close))}" if close else "no id is like it"
        raise BadInputError(
            f"neither run has a query {unknown[0]!r}; {hint} "
            f"({counted(len(known), 'query')} in all)"
        )
    rows = {row.id: row for row in diff.queries}
    moved = moved_queries(diff.queries)
    values = {
        metric: (per_query(a, metric), per_query(b, metric))
        for metric in diff.metrics
        if metric not in WHOLE_RUN_ONLY
    }
    found = []
    for name in dict.fromkeys(names):
        old, new = (side.get(name) for side in sides)
        query = known[name]
        found.append(
            ComparedQuery(
                **{key: getattr(query, key) for key in _SHOWN},
                is_moved=name in moved,
                a=_side_of(a, old, new),
                b=_side_of(b, new, old),
                metrics=dict(_metrics(name, values, rows.get(name))),
            )
        )
    return ComparedQueries(
        schema_version=SCHEMA_VERSION,
        a=diff.a,
        b=diff.b,
        banner=diff.banner,
        n_queries_in_both=diff.n_queries_in_both,
        n_queries_moved=diff.n_queries_moved,
        queries=tuple(found),
    )


_SHOWN: Final = ("id", "query", "corpus", "area", "origin", "source", "answerable")
_Values = Mapping[str, tuple[Mapping[str, float], Mapping[str, float]]]


def _metrics(
    name: str, values: _Values, row: QueryDifference | None
) -> Iterator[tuple[str, MetricOfQuery]]:
    for metric, (before, after) in values.items():
        old, new = before.get(name), after.get(name)
        if old is not None or new is not None:
            both = old is not None and new is not None
            given = row.contributions.get(metric, 0.0) if row else 0.0
            yield metric, MetricOfQuery(a=old, b=new, points=given if both else None)


def _side_of(run: SearchRun, own: QueryResult | None, other: QueryResult | None) -> SideOfQuery:
    ranks = {d.doc: rank for rank, d in enumerate(other.ranking if other else (), 1)}
    return SideOfQuery(
        outcome=outcome_of(run, own),
        error=own.error if own else None,
        seconds=own.seconds if own else None,
        ranking=tuple(
            PlacedDocument(
                rank=rank, doc=d.doc, score=d.score, grade=d.grade, other_rank=ranks.get(d.doc)
            )
            for rank, d in enumerate(own.ranking if own else (), 1)
        ),
    )


class Shown(NamedTuple):
    """A row of two rankings side by side; ``n_skipped`` rows above it hold nothing relevant."""

    rank: int
    a: PlacedDocument | None
    b: PlacedDocument | None
    n_skipped: int


def side_by_side(query: ComparedQuery, whole: int = DEEP) -> list[Shown]:
    """Return the first ranks of both rankings, and deeper ones that hold a relevant document.

    Parameters
    ----------
    query
        The compared query.
    whole
        How many ranks are returned whatever they hold.
    """
    a, b = query.a.ranking, query.b.ranking
    found: list[Shown] = []
    for i in range(max(len(a), len(b))):
        pair = a[i] if i < len(a) else None, b[i] if i < len(b) else None
        if i < whole or any(d is not None and (d.grade or 0) >= 1 for d in pair):
            above = found[-1].rank if found else 0
            found.append(Shown(i + 1, *pair, n_skipped=i - above))
    return found


def where_now(document: PlacedDocument) -> str:
    """Return where the other run has a document: its rank there, ``=`` for the same one.

    Examples
    --------
    >>> where_now(PlacedDocument(rank=2, doc="a", score=1.0, grade=1, other_rank=None))
    'none'
    """
    if document.other_rank is None:
        return "none"
    return "=" if document.other_rank == document.rank else str(document.other_rank)


def metrics_of_query(query: ComparedQuery) -> list[str]:
    """Return the metrics of a query that are printed: the base ones, and those that moved."""
    return [
        name
        for name, found in query.metrics.items()
        if name in BASE_MEASURES or name in BLOCK_OF or found.points
    ]


def query_lines(compared: ComparedQueries) -> Iterator[str]:
    """Yield the lines of a terminal of at most 80 columns: each query with both rankings.

    Text of runs is made visible here: it cannot move the cursor or begin a line of its own.
    """
    if compared.banner:
        yield from _wrapped(compared.banner)
        yield ""
    for side, run in (("A", compared.a), ("B", compared.b)):
        label = visible(run.label, 40) or "no label"
        yield f"{side}: {label}, {visible(run.generated_at, 30)}"
    for query in compared.queries:
        yield ""
        yield from _query(query)


def _query(query: ComparedQuery) -> Iterator[str]:
    yield from _wrapped(f"{query.id}: {query.query}")
    facts = [f"corpus {query.corpus}", *([f"area {query.area}"] if query.area else [])]
    facts += ["no document answers it"] if query.answerable is False else []
    facts.append("it moved" if query.is_moved else "it did not move")
    yield from _wrapped(", ".join(facts))
    yield ""
    rows = [["", "A", "B", "points"]]
    sides = (query.a, query.b)
    rows.append(["status", *(OUTCOMES[side.outcome] for side in sides), ""])
    if any(side.seconds is not None for side in sides):
        rows.append(["seconds", *(number(side.seconds) for side in sides), ""])
    for name in metrics_of_query(query):
        found = query.metrics[name]
        rows.append(
            [
                name,
                number(found.a),
                number(found.b),
                DASH if found.points is None else contribution(found.points),
            ]
        )
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    for name, *cells in rows:
        numbers = (cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))
        yield "  ".join([name.ljust(widths[0]), *numbers]).rstrip()
    for letter, side in zip("AB", sides, strict=True):
        if side.error:
            yield from _wrapped(f"{letter} failed: {visible(side.error, 400)}")
    shown = side_by_side(query)
    if not shown:
        return
    yield ""
    head = ("A", "grade", "in B"), ("B", "grade", "in A")
    yield from _line("rank", *head)
    for row in shown:
        if row.n_skipped:
            yield f"{'':{_RANK}} {counted(row.n_skipped, 'rank')} without a relevant document"
        yield from _line(str(row.rank), *(_cells(d) for d in (row.a, row.b)))
    longest = max(len(side.ranking) for side in sides)
    if rest := longest - shown[-1].rank:
        yield f"{'':{_RANK}} {counted(rest, 'rank')} without a relevant document; --json has all"
    yield "Grade 1 and more is relevant. in A, in B: the rank there; =: the same one."


_Cells = tuple[str, str, str]


def _cells(document: PlacedDocument | None) -> _Cells:
    if document is None:
        return DASH, "", ""
    grade = "unjudged" if document.grade is None else str(document.grade)
    return document.doc, grade, where_now(document)


def _line(rank: str, *sides: _Cells) -> Iterator[str]:
    """Yield the lines of a row: long document ids go on below, so that none is cut."""
    names = [_cut(visible(doc), _DOC) for doc, *_ in sides]
    for i in range(max(map(len, names))):
        line = rank.rjust(_RANK) if i == 0 else " " * _RANK
        for name, (_, grade, move) in zip(names, sides, strict=True):
            part = name[i] if i < len(name) else ""
            line += " " + part + " " * (_DOC - _columns(part))
            line += f" {grade if i == 0 else '':>{_GRADE}} {move if i == 0 else '':>{_MOVE}}"
        yield line.rstrip()


def _wrapped(text: str) -> Iterator[str]:
    """Yield text in lines of at most 80 columns, broken between words where that can be."""
    line = ""
    for word in visible(text).split(" "):
        for part in _cut(word, WIDTH):
            if line and _columns(line) + 1 + _columns(part) > WIDTH:
                yield line
                line = part
            else:
                line = f"{line} {part}" if line else part
    yield line


def _cut(text: str, width: int) -> list[str]:
    """Return text in pieces of at most so many columns."""
    pieces = [""]
    for character in text:
        if _columns(pieces[-1]) + _columns(character) > width:
            pieces.append("")
        pieces[-1] += character
    return pieces


def _columns(text: str) -> int:
    """Return how many columns of a terminal a text takes: wide characters take two."""
    if text.isascii():
        return len(text)
    return sum(2 if east_asian_width(character) in "WF" else 1 for character in text)
