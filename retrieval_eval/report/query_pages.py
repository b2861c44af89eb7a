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
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from retrieval_eval.escape import visible
from retrieval_eval.io.files import remove, write_text
from retrieval_eval.model.gold import GoldSet
from retrieval_eval.model.search_diff import ComparedQuery, PlacedDocument
from retrieval_eval.model.search_run import QueryResult, RankedDocument
from retrieval_eval.model.search_run import SearchRun as StoredRun
from retrieval_eval.report import render, simulated
from retrieval_eval.report.exhibits import Block, Empty, Exhibit, Link, Links, Strong, Table
from retrieval_eval.report.names import MISSING, SHOWN, SOURCES, contribution, of, rate
from retrieval_eval.report.notebook_files import markdown_cell
from retrieval_eval.report.show import to_html
from retrieval_eval.search.change.diff_text import OUTCOMES, side_by_side
from retrieval_eval.values import counted

if TYPE_CHECKING:
    from retrieval_eval.report.search_diff import SearchDiff
    from retrieval_eval.report.searched import Searched

# --------------------------------------------------------------------------------------------------
# Both rankings of a query side by side, as a table: on a difference and on pages of queries.

CARRIERS: Final = 2
"""Queries shown with both rankings on the page of a difference."""

WHOLE: Final = 3
"""Ranks shown whatever they hold; deeper ones where a document is relevant."""

DEEPER: Final = 5
"""Rows shown of deeper ranks."""


MOST_CAUSES: Final = 5


def causes(view: Searched) -> Block:
    """Return what explains a change, as the difference names it; an empty block without one."""
    diff = view.difference
    if diff is None or not diff.moved:
        why = "Without two runs that can be compared there is no change to explain."
        return Block("section", exhibits=(Empty("causes", why, is_expected=True),))
    # Differences of earlier versions name none.
    found = [str(one.sentence) for one in getattr(diff.document, "causes", ())]
    if view.privacy or not found:
        why = "No pattern of queries, documents or ranks explains the change."
        return Block("section", exhibits=(Empty("causes", why, is_expected=True),))
    first, *rest = (f"{visible(text, 300)}." for text in found[:MOST_CAUSES])
    return Block("section", first.rstrip("."), tuple(rest))


def carriers(view: Searched, most: int = CARRIERS) -> Block:
    """Return the queries that carry the change, each with both rankings side by side.

    Parameters
    ----------
    view
        The difference, or a run with its baseline.
    most
        How many queries are shown, see `leading`.

    Returns
    -------
    Block
        The finding counts the queries that moved each headline metric, up and down.
    """
    diff = view.difference
    if diff is None:
        why = "Both rankings are shown when the file of a baseline that can be compared is read."
        return Block("section", exhibits=(Empty("carriers", why, is_expected=True),))
    names = leading(diff, most)
    shown = diff.compare(names)
    exhibits: tuple[Exhibit, ...] = tuple(
        ranking_table(diff, query, f"carrier-{place}", place=place)
        for place, query in enumerate(shown, 1)
    )
    if not exhibits:
        why = "No metric of any ranking has another value, so there is no query to show."
        return Block("section", "No query moved", (), (Empty("carriers", why),))
    return Block("section", _finding(diff), tuple(_sentences(diff, names)), exhibits)


def leading(diff: SearchDiff, most: int) -> list[str]:
    """Return the ids of queries that moved, those that add most to each headline metric in turn."""
    size = [[(-abs(own[m]), q) for q, own in diff.moved.items() if m in own] for m in diff.headline]
    turns = zip_longest(*(sorted(own) for own in size))
    found = [one[1] for turn in turns for one in turn if one is not None]
    rest = [row.id for row in diff.document.queries if row.id in diff.moved]
    return list(dict.fromkeys([*found, *rest]))[:most]


def _finding(diff: SearchDiff) -> str:
    parts = [f"{of(len(diff.moved), diff.n_compared)} queries moved"]
    for metric in diff.headline:
        change = diff.document.metrics[metric]
        ways = f"{change.n_up:,} up, {change.n_down:,} down"
        parts.append(f"{change.n_up + change.n_down:,} moved {metric} ({ways})")
    return "; ".join(parts)


def _sentences(diff: SearchDiff, names: list[str]) -> Iterator[str]:
    if diff.withheld is not None:
        yield (
            "There is no verdict: what follows shows single queries, and their sum is no measured "
            "difference."
        )
    shares = []
    for metric in diff.headline:
        points = {name: abs(own[metric]) for name, own in diff.moved.items() if metric in own}
        if total := sum(points.values()):
            part = sum(points.get(name, 0.0) for name in names)
            shares.append(f"{100 * part / total:.0f} % ({metric})")
    if len(diff.moved) > len(names):
        text = f"Below are the {len(names)} that add most to the change of "
        text += " and of ".join(diff.headline) or "a metric"
        made = f"; they make {' and '.join(shares)} of all movement up and down" if shares else ""
        yield f"{text}{made}."
    yield (
        f"The first {WHOLE} ranks are shown, and deeper ones with a relevant document (grade 1 or "
        "more). An unjudged document counts as not relevant."
    )


def ranking_table(
    diff: SearchDiff, query: ComparedQuery, key: str, *, place: int = 0, whole: int = WHOLE
) -> Table:
    """Return both rankings of a query as a table with what it adds to metrics.

    Parameters
    ----------
    diff
        The difference.
    query
        The compared query.
    key
        Key of the table.
    place
        Printed before the query, from 1; 0: none.
    whole
        Ranks shown whatever they hold.
    """
    a, b = diff.names
    rows: list[tuple[str, ...]] = []
    every = side_by_side(query, whole)
    for row in every[: whole + DEEPER]:
        if row.n_skipped:
            ranks = f"{row.rank - row.n_skipped}–{row.rank - 1}"
            ranks = ranks if row.n_skipped > 1 else str(row.rank - 1)
            rows.append((ranks, "none relevant", "none relevant"))
        sides = ((row.a, "now", f"not in {b}"), (row.b, "was", "new"))
        rows.append((str(row.rank), *(_cell(diff, *side) for side in sides)))
    number = f"{place}. " if place else ""
    return Table(
        key,
        f"{number}{diff.title(query.id, 300)} ({visible(query.id, 60)}, "
        f"{visible(query.corpus, 30)}): {points_of(query)}",
        ("Rank", _head(a, query.a.outcome), _head(b, query.b.outcome)),
        tuple(rows),
        ("right", "left", "left"),
        tuple(_side_notes(diff, query, whole + DEEPER if len(every) > whole + DEEPER else 0)),
        "rankings",
    )


def _head(name: str, outcome: str) -> str:
    words = {code: text for code, text in OUTCOMES.items() if code != "answered"}
    return f"{name} ({words[outcome]})" if outcome in words else name


def points_of(query: ComparedQuery) -> str:
    """Return the metrics of a query that moved, before and after, with the points it adds."""
    moved = [name for name, found in query.metrics.items() if found.points]
    shown = [m for m in SHOWN if m in moved] or moved[:4]
    parts = [
        f"{m} {rate(found.a)} → {rate(found.b)} ({contribution(found.points)} points)"
        for m in shown
        for found in [query.metrics[m]]
    ]
    unknown = sum((found.a is None) != (found.b is None) for found in query.metrics.values())
    if not parts and unknown:
        return f"{counted(unknown, 'metric')} with a value in one run only"
    return ", ".join(parts) or _unmoved(query)


def _unmoved(query: ComparedQuery) -> str:
    known = [(m, query.metrics[m].b) for m in SHOWN if m in query.metrics]
    parts = [f"{m} {rate(value)}" for m, value in known if value is not None]
    return f"no metric moved ({', '.join(parts)})" if parts else "it has no metric of the ranking"


def _cell(diff: SearchDiff, found: PlacedDocument | None, was: str, absent: str) -> str:
    """Return a document with its grade in words, and its rank in the other run."""
    if found is None:
        return MISSING
    link = Link(visible(found.doc, 60), diff.places.of_document(found.doc))
    if found.other_rank is None:
        move = f", {absent}"
    else:
        move = "" if found.other_rank == found.rank else f", {was} {found.other_rank}"
    if found.grade is None:
        return Links(link, f": unjudged{move}")
    if found.grade < 1:
        return Links(link, f": not relevant (grade {found.grade}){move}")
    return Links(link, ": ", Strong(f"relevant (grade {found.grade})"), move)


def _side_notes(diff: SearchDiff, query: ComparedQuery, n_shown: int) -> Iterator[str]:
    for name, side in zip(diff.names, (query.a, query.b), strict=True):
        match side.outcome:
            case "failed":
                why = "" if diff.privacy else f": {visible(side.error or 'no reason', 200)}"
                yield f"{name}: the query failed{why}. It has no metric, and counts as no 0."
            case "not_asked":
                yield f"{name}: the query was not asked, so it has no metric."
            case "refused" if not side.ranking:
                yield f"{name}: refused, as everything found lay below the floor."
            case "refused":
                yield f"{name}: refused, as its top score lies below the threshold of refusals."
            case "empty":
                yield f"{name}: nothing was returned, which scores 0 where a document is relevant."
    seconds = [
        f"{name} {side.seconds:.3g} s"
        for name, side in zip(diff.names, (query.a, query.b), strict=True)
        if side.seconds is not None
    ]
    if seconds:
        yield f"Time: {', '.join(seconds)}."
    if n_shown:
        yield f"The first {n_shown} rows; rankings.csv has every rank."


# --------------------------------------------------------------------------------------------------
# The pages of single queries and documents that lie beside a search report.

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
