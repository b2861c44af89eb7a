"""A search run as Markdown: what one attaches to a change of the retrieval layer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import structs

from retrieval_eval.escape import visible
from retrieval_eval.model.search_run import Delta, QueryContribution, SearchRun
from retrieval_eval.search.run import HEADLINE
from retrieval_eval.search.run.abstention import sentences
from retrieval_eval.search.run.composite import sentence as composite_sentence
from retrieval_eval.search.run.random_documents import random_sentences
from retrieval_eval.search.run.summary import (
    delta_rows,
    delta_sentences,
    header,
    metric_rows,
    no_delta,
    notices,
    number,
    points,
    shown_measures,
)

_FEW_MEASURES: Final = (*HEADLINE, "RR", "nDCG@10")
_LEGEND: Final = (
    "Intervals: queries resampled. Ties: range over orders of documents with equal scores. "
    "Unjudged: the largest mean there could be if unjudged documents were relevant; the "
    "smallest is the mean itself."
)
_MOST_QUERIES: Final = 20
_LONGEST: Final = 120

# Marks that mean something wherever they stand, and those that only do next to others.
_MARKUP: Final = re.compile(r"([\\`*{}\[\]#~$^]|(?<![^\W_])_|_(?![^\W_])|:(?=[\w/]))")
_MEASURE: Final = re.compile(r"[A-Za-z0-9()=]+(@[0-9]+)?")
_LINK: Final = re.compile(r"\bwww\.", re.IGNORECASE)
# Such as @name and #12, but not the @ of a measure such as P@5.
_REFERENCE: Final = re.compile(r"@(?=[\w-])(?!(?<=\w@)\d+(?![\w-]|\.\w))|#(?=\d)")
# All that is markup within a line, and behind what a host may begin a mention or a link.
_INLINE: Final = re.compile(r"[!\"#$&'*/:<>@\[\\\]^_`{|}~]")
_BREAKS: Final = re.compile(r"(?<=@)|(?<=#)(?=\d)|(?<=\bGH)(?=-)|(?<=://)|(?<=\bwww)|(?<=\bWWW)")
# Inside a table cell a backslash does not protect from all readers, an entity does.
_ENTITIES: Final = {ord(c): f"&#{ord(c)};" for c in "&<>|@\"'"}


def to_markdown(document: SearchRun) -> str:
    """Return a search run as Markdown with tables, the change against the baseline included.

    Every text that comes from a query, a document or a retriever is escaped: it shows as it
    stands and cannot become markup.
    """
    title = f"Search run: {document.label}" if document.label else "Search run"
    parts = [f"# {escaped(title)}", f"Measured {document.generated_at}."]
    parts += [f"**{escaped(notice)}**" for notice in notices(document)]
    facts = [[name, escaped(value)] for name, value in header(document)]
    parts.append(table([["", ""], *facts], n_left=2))
    confidence = document.run.settings.confidence
    parts += [
        "## Measures",
        _by_measure(metric_rows(document.metrics, list(document.metrics), confidence=confidence)),
        _LEGEND,
        *map(escaped, random_sentences(document, HEADLINE)),
    ]
    parts += _abstention(document)
    parts += _delta(document, confidence)
    parts += _slices(document)
    parts += _queries(document)
    parts += _backlog(document.backlog)
    return "\n\n".join(part for part in parts if part) + "\n"


def _delta(document: SearchRun, confidence: float) -> list[str]:
    parts, delta = ["## Change against the baseline"], document.delta
    if delta is None:
        # Reasons may hold words of a retriever; our own sentence has code in it.
        why = no_delta(document.delta_withheld)
        return [*parts, escaped(why) if document.delta_withheld else why]
    parts.append("\n".join(f"- {escaped(line)}" for line in delta_sentences(delta)))
    if delta.is_comparable:
        names = shown_measures(document)
        parts.append(_by_measure(delta_rows(delta.metrics, names, confidence=confidence)))
    return parts


def _abstention(document: SearchRun) -> list[str]:
    lines = sentences(document.abstention)
    if not lines:
        return []
    if composite := composite_sentence(document.composite):
        lines.append(composite)
    return ["## Queries without an answer", "\n".join(f"- {escaped(line)}" for line in lines)]


def escaped(text: object) -> str:
    r"""Return untrusted text for a Markdown paragraph or table cell, on one line and in full view.

    Examples
    --------
    >>> escaped("a|b `c` <i>")
    'a&#124;b \\`c\\` &#60;i&#62;'
    """
    # Hosts look for mentions and issues in what a page shows: an invisible space parts them.
    shown = _REFERENCE.sub(lambda found: found[0] + "\1", visible(text))
    protected = _LINK.sub(lambda found: found[0][:-1] + "\0", _MARKUP.sub(r"\\\1", shown))
    return protected.translate(_ENTITIES).replace("\0", r"\.").replace("\1", "&#8203;")


def as_code(text: str, longest: int | None = None) -> str:
    """Return untrusted text as code in a Markdown paragraph or cell, in full view.

    What could be markup is an entity. In code, hosts look for no mention, issue or emoji, and an
    invisible space keeps addresses from becoming links.

    Examples
    --------
    >>> as_code("a|<b>")
    '<code>a&#124;&#60;b&#62;</code>'
    """
    return f"<code>{entities(text, longest)}</code>"


def entities(text: str, longest: int | None = None) -> str:
    """Return untrusted text for HTML inside Markdown, on one line and at most so long.

    Examples
    --------
    >>> entities("@team <b>")
    '&#64;&#8203;team &#60;b&#62;'
    """
    line = " ".join(text.split())
    if longest is not None and len(line) > longest:
        line = f"{line[: longest - 1]}…"
    parts = _BREAKS.split(visible(line))
    return "&#8203;".join(_INLINE.sub(lambda hit: f"&#{ord(hit[0])};", part) for part in parts)


def table(rows: Sequence[Sequence[str]], *, n_left: int = 1) -> str:
    """Return a table of safe cells; all but the first ``n_left`` columns align to the right."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    ruler = ["---" if place < n_left else "---:" for place in range(len(rows[0]))]
    return "\n".join([lines[0], "| " + " | ".join(ruler) + " |", *lines[1:]])


def _by_measure(rows: Sequence[Sequence[str]]) -> str:
    return table([[_measure(name), *cells] for name, *cells in rows])


def _measure(name: str) -> str:
    return name if _MEASURE.fullmatch(name) else escaped(name)


def _slices(document: SearchRun) -> list[str]:
    parts = []
    for dimension, slices in structs.asdict(document.slices).items():
        rows = [[dimension, "queries", *(f"{name} (n)" for name in _FEW_MEASURES)]]
        for name, part in slices.items():
            means = [part.metrics[measure] for measure in _FEW_MEASURES]
            cells = [f"{number(mean.value)} ({mean.n})" for mean in means]
            rows.append([escaped(name), str(part.n_queries), *cells])
        parts += [f"## By {dimension}", table(rows)]
    return parts


def _queries(document: SearchRun) -> list[str]:
    texts = {query.id: shortened(query.query) for query in document.queries}
    parts = []
    failed = [query for query in document.queries if query.status == "failed"]
    if failed:
        rows = [["query", "text", "error"]]
        rows += [[escaped(q.id), texts[q.id], shortened(q.error or "")] for q in failed]
        parts += ["## Failed queries", table(rows[: _MOST_QUERIES + 1], n_left=3), _more(failed)]
    moved = _most_moved(document.delta)
    if moved:
        rows = [["query", "text", *(f"{name}, points" for name in _FEW_MEASURES)]]
        for query in moved:
            given = [points(query.contributions.get(name, 0.0)) for name in _FEW_MEASURES]
            rows.append([escaped(query.id), texts.get(query.id, ""), *given])
        shown = table(rows[: _MOST_QUERIES + 1], n_left=2)
        parts += ["## Queries behind the change", shown, _more(moved)]
    return parts


def _most_moved(delta: Delta | None) -> list[QueryContribution]:
    """Return the queries that moved one of the few measures, those that moved one most first."""
    if delta is None:
        return []

    def size(query: QueryContribution) -> float:
        given = query.contributions
        return max(abs(given.get(name, 0.0)) for name in _FEW_MEASURES)

    moved = [query for query in delta.queries if size(query)]
    return sorted(moved, key=lambda query: (-size(query), query.id))


def _backlog(backlog: Mapping[str, Any] | None) -> list[str]:
    if backlog is None:
        return []
    names = ("pending_review", "approved", "rejected", "published", "other", "total")
    counts = ", ".join(f"{name.replace('_', ' ')} {backlog[name]}" for name in names)
    oldest = backlog["oldest_pending_at"]
    since = f"; the oldest pending since {escaped(oldest)}" if oldest else ""
    return ["## Backlog", f"{counts}{since}."]


def _more(rows: Sequence[object]) -> str:
    n_left = len(rows) - _MOST_QUERIES
    return f"And {n_left} more; the JSON report has them all." if n_left > 0 else ""


def shortened(text: str) -> str:
    """Return untrusted text for a Markdown cell, not longer than a row can bear."""
    return escaped(text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…")
