"""The pages of single queries and documents that lie beside a search report.

They are rendered without a kernel: each is a list of tables, one a query or document, which the
names in the report lead to.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from retrieval_eval.escape import visible
from retrieval_eval.io.files import remove, write_text
from retrieval_eval.model.gold import GoldSet
from retrieval_eval.model.search_run import QueryResult, RankedDocument
from retrieval_eval.model.search_run import SearchRun as StoredRun
from retrieval_eval.report import render, simulated
from retrieval_eval.report.exhibits import Block, Link, Table
from retrieval_eval.report.names import SHOWN, SOURCES
from retrieval_eval.report.notebook_files import markdown_cell
from retrieval_eval.report.numbers import MISSING, rate
from retrieval_eval.report.show import to_html
from retrieval_eval.values import counted

if TYPE_CHECKING:
    from retrieval_eval.report.searched import Searched

QUERIES_A_PAGE: Final = 200
DOCUMENTS_A_PAGE: Final = 300

TOP = 10
"""Documents listed of each ranking; relevant ones further down are named below the table."""
APPEARANCES = 25
"""Queries listed of each document."""
MOST_QUERIES: Final = 1000
MOST_DOCUMENTS: Final = 3000
"""Queries and documents with a place on these pages; of more, those that tell most are chosen."""
_CHOSEN_QUERIES: Final = (
    "Chosen: those that failed, then those that moved, then the lowest nDCG@10. "
    "The CSV files beside the report have every query."
)
_CHOSEN_DOCUMENTS: Final = (
    "Chosen: relevant ones of the queries shown, then those that came back for most of these."
)


@dataclass(frozen=True, slots=True)
class Places:
    """Where a report shows its queries and documents; what is shown nowhere leads nowhere.

    ``queries`` and ``documents`` are ids to places relative to the report.
    """

    queries: Mapping[str, str] = field(default_factory=dict)
    documents: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, queries: Iterable[str], documents: Iterable[str]) -> Places:
        """Return the places on as many pages as are needed."""
        return cls(
            dict(_placed("queries", "query", queries, QUERIES_A_PAGE)),
            dict(_placed("documents", "document", documents, DOCUMENTS_A_PAGE)),
        )

    def of_query(self, name: str) -> str:
        """Return where a query is shown; empty where it is not."""
        return self.queries.get(name, "")

    def of_document(self, name: object) -> str:
        """Return where the queries of a document are listed; empty where they are not."""
        return self.documents.get(name, "") if isinstance(name, str) else ""


def key(kind: str, name: str) -> str:
    """Return the id of a query's or document's place: safe in a page, and no two alike.

    Examples
    --------
    >>> key("query", 'g1"><script>')
    'query-g1-script-47a9fe17'
    """
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    words = re.sub(r"[^A-Za-z0-9]+", "-", name)[:32].strip("-").lower()
    return "-".join(filter(None, (kind, words, digest)))


def pages(kind: str, names: Sequence[str], size: int) -> list[tuple[str, Sequence[str]]]:
    """Return the files of the pages of one kind, each with the names on it."""
    starts = range(0, len(names), size)
    return [
        (f"{kind}{f'-{i}' if i > 1 else ''}.html", names[start : start + size])
        for i, start in enumerate(starts, start=1)
    ]


def _placed(kind: str, prefix: str, names: Iterable[str], size: int) -> Iterable[tuple[str, str]]:
    for file, own in pages(kind, list(dict.fromkeys(names)), size):
        for name in own:
            yield name, f"{file}#tbl-{key(prefix, name)}"


def shown_names(
    run: StoredRun, before: StoredRun | None, gold: GoldSet | None = None, *, both: bool = False
) -> tuple[list[str], list[str]]:
    """Return the ids of the queries and documents that have a place on these pages.

    Of more than :data:`MOST_QUERIES`, those that failed come first, then those that moved, then
    those with the lowest nDCG@10. With ``both`` the queries of ``before`` alone are there too.
    """
    old = {query.id: query for query in (before.queries if before else ())}
    found = {query.id: query for query in run.queries}
    found |= {name: query for name, query in old.items() if both and name not in found}
    names = list(found)
    if len(names) > MOST_QUERIES:
        names = sorted(names, key=lambda name: (*_urgency(found[name], old.get(name)), name))
        chosen = set(names[:MOST_QUERIES])
        names = [name for name in found if name in chosen]
    known = {query.id: query for query in (gold.queries if gold else ())}
    docs: Counter[str] = Counter()
    relevant: set[str] = set()
    for name in names:
        for one in (found[name], old.get(name)):
            top = one.ranking[:TOP] if one else ()
            docs.update(d.doc for d in top)
            relevant.update(d.doc for d in top if (d.grade or 0) >= 1)
        judged = known[name].relevant if name in known else {}
        relevant.update(doc for doc, grade in judged.items() if grade >= 1)
    docs.update(dict.fromkeys(relevant, 0))
    order = sorted(docs, key=lambda doc: (doc not in relevant, -docs[doc], doc))
    return names, sorted(order[:MOST_DOCUMENTS])


def _urgency(query: QueryResult, before: QueryResult | None) -> tuple[int, float]:
    """Return by what a query is chosen, the smallest first: failed, moved most, ranked worst."""
    if query.status == "failed" or (before is not None and before.status == "failed"):
        return 0, 0.0
    if before is not None and before is not query:
        moved = [
            abs(new - old)
            for name, new in query.metrics.items()
            if new is not None and (old := before.metrics.get(name)) is not None
        ]
        if any(moved):
            return 1, -max(moved)
    value = query.metrics.get("nDCG@10")
    return 2, 2.0 if value is None else value


def write_pages(view: Searched, folder: Path, *, title: str) -> list[tuple[str, str]]:
    """Write the pages of queries and documents; return file names and meanings.

    Parameters
    ----------
    view
        The run or difference; the queries are those of its later run, whose rankings stand beside
        those of the earlier one where that was read.
    folder
        That of the report, ``index.html`` of which the pages lead back to.
    title
        Of the report.
    """
    for former in (*folder.glob("queries*.html"), *folder.glob("documents*.html")):
        remove(former, folder)
    is_diff = len(view.runs) > 1
    old = {query.id: query for query in (view.before.queries if view.before else ())}
    new = {query.id: query for query in view.runs[-1].queries}
    every = new | {name: query for name, query in old.items() if is_diff and name not in new}
    places = view.places
    if not places.queries:
        places = Places.of(*shown_names(view.runs[-1], view.before, view.gold, both=is_diff))
    names = list(places.queries)
    docs = _appearances(view, names, new, old)
    docs = {doc: docs.get(doc, []) for doc in places.documents}
    side_by_side = _side_by_side(view, names)
    kinds = (
        ("queries", "Queries", pages("queries", names, QUERIES_A_PAGE)),
        ("documents", "Documents", pages("documents", list(docs), DOCUMENTS_A_PAGE)),
    )
    for kind, head, files in kinds:
        for place, (file, own) in enumerate(files):
            n = len(own)
            if kind == "queries":
                finding = f"{counted(n, 'query')}, each with the first {TOP} documents"
                said = _CHOSEN_QUERIES if len(names) < len(every) else ""
                found = [
                    side_by_side.get(name) or _query(view, every[name], old.get(name))
                    for name in own
                ]
                tables = [_index(view, [every[name] for name in own]), *found]
                if side_by_side:
                    finding = f"{counted(n, 'query')}, each with both rankings"
                if said:
                    finding += f"; these pages have {len(names):,} of {len(every):,}"
            else:
                finding = f"{counted(n, 'document')}, each with the queries it came back for"
                said = _CHOSEN_DOCUMENTS if len(docs) == MOST_DOCUMENTS else ""
                tables = [_document(view, doc, docs[doc]) for doc in own]
            around = [name for name, _ in files]
            page = _page(
                *(head, title, finding, said, tables, around, place),
                is_simulated=view.n_simulated > 0,
            )
            write_text(folder / file, page)
    which = {
        "queries": "every query" if len(names) == len(every) else counted(len(names), "query"),
        "documents": "their documents"
        if len(docs) == MOST_DOCUMENTS
        else "every document of these queries",
    }
    return [
        (files[0][0], f"{which[kind]} with rankings and grades")
        for kind, _, files in kinds
        if files
    ]


def _side_by_side(view: Searched, names: Sequence[str]) -> dict[str, Table]:
    """Return the tables of the queries of a difference by id; nothing for a run."""
    from retrieval_eval.report.search_diff import SearchDiff
    from retrieval_eval.report.side_by_side import ranking_table

    if not isinstance(view, SearchDiff):
        return {}
    return {
        query.id: ranking_table(view, query, key("query", query.id), whole=TOP)
        for query in view.compare(names)
    }


def _page(
    head: str,
    title: str,
    finding: str,
    said: str,
    tables: Sequence[Table],
    files: Sequence[str],
    place: int,
    *,
    is_simulated: bool,
) -> str:
    import nbformat

    library: Any = nbformat.v4
    ways = ["[Back to the report](index.html)"]
    ways += [
        f"[{i}]({file})" for i, file in enumerate(files, 1) if len(files) > 1 and i - 1 != place
    ]
    mark = simulated.TITLE if is_simulated else ""
    block = Block("section", finding, (said,) if said else (), tuple(tables))
    data = {"text/html": to_html(block)}
    output = library.new_output("display_data", data=data)
    cells = [
        markdown_cell(f"# {mark}{head}", "title"),
        markdown_cell(" · ".join(ways), "ways"),
        markdown_cell(f"## {head}", "head"),
        library.new_code_cell("", outputs=[output], id="tables"),
    ]
    notebook = library.new_notebook(cells=cells)
    return render.to_html(notebook, title=f"{head}: {title}", footer=title)


def _measures(view: Searched) -> list[str]:
    return [m for m in SHOWN if m in view.runs[-1].run.settings.measures]


def _index(view: Searched, own: Sequence[QueryResult]) -> Table:
    measures = _measures(view)
    rows = []
    for query in own:
        values = (rate(query.metrics.get(m)) for m in measures)
        is_moved = "yes" if query.id in view.moved else ""
        link = Link(view.title(query.id, 90), f"#tbl-{key('query', query.id)}")
        rows.append((link, visible(query.corpus, 30), *values, is_moved))
    return Table(
        "queries-index",
        f"{counted(len(own), 'query')} of this page",
        ("Query", "Corpus", *measures, "Moved"),
        tuple(rows),
        ("left", "left", *["right"] * len(measures), "left"),
    )


def _query(view: Searched, query: QueryResult, before: QueryResult | None) -> Table:
    now = query.ranking[:TOP]
    old = before.ranking[:TOP] if before is not None else ()
    rows = []
    for i in range(max(len(now), len(old))):
        row: list[str] = [str(i + 1), *_cells(view, now[i] if i < len(now) else None)]
        if before is not None:
            row += _cells(view, old[i] if i < len(old) else None)[:2]
        rows.append(tuple(row))
    head: tuple[str, ...] = ("Rank", view.names[1], "Grade", "Score")
    head += (view.names[0], "Its grade") if before is not None else ()
    facts = [f"corpus {query.corpus}"]
    facts += [f"area {query.area}"] if query.area else []
    facts += [f"labels {SOURCES.get(query.source, query.source)}"]
    facts += ["no document answers it"] if query.answerable is False else []
    return Table(
        key("query", query.id),
        f"{view.title(query.id, 300)} ({visible(query.id, 60)}): {visible(', '.join(facts), 160)}",
        head,
        tuple(rows),
        ("right", "left", "right", "right", "left", "right")[: len(head)],
        tuple(_notes(view, query, before)),
    )


def _cells(view: Searched, found: RankedDocument | None) -> tuple[str, str, str]:
    if found is None:
        return MISSING, "", ""
    grade = "unjudged" if found.grade is None else str(found.grade)
    place = view.places.of_document(found.doc)
    return Link(visible(found.doc, 60), place), grade, f"{found.score:.4g}"


def _notes(view: Searched, query: QueryResult, before: QueryResult | None) -> Iterator[str]:
    if query.status == "failed":
        yield "The query failed." if view.privacy else f"Failed: {visible(query.error, 200)}."
    elif query.is_refused:
        yield "Refused: everything found lay below the floor."
    elif not query.ranking:
        yield "Nothing was returned."
    values = []
    for measure in _measures(view):
        new = query.metrics.get(measure)
        old = before.metrics.get(measure) if before is not None else None
        was = f"{rate(old)} → " if before is not None and old != new else ""
        values.append(f"{measure} {was}{rate(new)}")
    yield f"{', '.join(values)}."
    deeper = [
        f"{visible(doc, 60)} (grade {grade}, {f'rank {rank}' if rank else 'not retrieved'})"
        for doc, grade, rank in view.relevant_of(query)
        if rank is None or rank > TOP
    ]
    if deeper:
        more = f" and {len(deeper) - 8} more" if len(deeper) > 8 else ""
        yield f"Relevant and not among the first {TOP}: {', '.join(deeper[:8])}{more}."
    codes = ", ".join(visible(code.replace("_", " "), 40) for code in query.problems[:8])
    if codes:
        yield f"Remarks: {codes}."


_Appearance = tuple[str, int | None, int | None, int | None]
"""Query, grade, rank now and rank before."""


def _appearances(
    view: Searched,
    names: Iterable[str],
    new: Mapping[str, QueryResult],
    old: Mapping[str, QueryResult],
) -> dict[str, list[_Appearance]]:
    found: dict[str, list[_Appearance]] = defaultdict(list)
    for name in names:
        rankings = [side[name].ranking if name in side else () for side in (new, old)]
        now, was = ({d.doc: i for i, d in enumerate(one, 1)} for one in rankings)
        grades = {d.doc: d.grade for one in rankings for d in one}
        if name in new:
            grades |= {doc: grade for doc, grade, _ in view.relevant_of(new[name])}
        for doc, grade in grades.items():
            if min(now.get(doc, TOP + 1), was.get(doc, TOP + 1)) <= TOP or (grade or 0) >= 1:
                found[doc].append((name, grade, now.get(doc), was.get(doc)))
    return {doc: found[doc] for doc in sorted(found)}


def _document(view: Searched, doc: str, found: Sequence[_Appearance]) -> Table:
    def order(one: _Appearance) -> tuple[float, float, str]:
        return (-(one[1] or 0), one[2] or 1e9, one[0])

    rows = [
        (
            Link(view.title(name, 120), view.places.of_query(name)),
            "unjudged" if grade is None else str(grade),
            *("not retrieved" if rank is None else str(rank) for rank in ranks),
        )
        for name, grade, *ranks in sorted(found, key=order)[:APPEARANCES]
    ]
    more = (f"The first {APPEARANCES} of {len(found):,} queries.",)
    return Table(
        key("document", doc),
        f"{visible(doc, 120)}: {counted(len(found), 'query')}",
        ("Query", "Grade", *(f"Rank, {side}" for side in reversed(view.names))),
        tuple(rows),
        ("left", "right", "right", "right"),
        more if len(found) > APPEARANCES else (),
    )
