"""Single queries of a difference: what each adds, which documents came and went, first ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from retrieval_eval.escape import visible
from retrieval_eval.report.exhibits import Block, Empty, Table, section
from retrieval_eval.report.numbers import MISSING, of, rate, signed
from retrieval_eval.report.search import tables
from retrieval_eval.report.search.diffs.facts import DiffFacts, Query
from retrieval_eval.report.search.figures import moved
from retrieval_eval.report.search.names import SHOWN, cutoff
from retrieval_eval.values import counted

DOC_LIMIT: Final = 32
MAX_DOCS: Final = 4
SUM: Final = (
    "0 is unchanged, 0.00 a change below 0.005 points. The contributions of all queries add up to "
    "the change."
)


def contributions(facts: DiffFacts) -> Block:
    """Return what each query adds to the change of a headline measure, the largest first."""
    n_both = facts.document["n_queries_in_both"]
    found = [query for query in facts.queries if query["contributions"]]
    finding = (
        f"{of(len(found), n_both)} queries moved a metric" if found else "No query moved any metric"
    )
    if not facts.headline:
        why = "The runs share no headline measure."
        return section(finding, Empty("moved", why))
    given = {
        m: [
            (facts.title(query, tables.TEXTS), query["contributions"][m])
            for query in sorted(
                (query for query in found if m in query["contributions"]),
                key=lambda query: (-abs(query["contributions"][m]), query["id"]),
            )
        ]
        for m in facts.headline
    }
    listed = _largest(facts, found)
    return section(finding, moved.draw(given, facts.changes), *([listed] if listed else []))


def _largest(facts: DiffFacts, found: Sequence[Query]) -> Table | None:
    top1 = {query["id"] for query in facts.document["top1_changed"]}
    shown = [m for m in SHOWN if m in facts.changes]
    found = [query for query in found if any(m in query["contributions"] for m in shown)]
    if not found:
        return None
    rows = [
        (
            facts.title(query),
            visible(query["corpus"], 30),
            *(
                signed(query["contributions"][m]) if m in query["contributions"] else "0"
                for m in shown
            ),
            "yes" if query["id"] in top1 else "",
        )
        for query in found[: tables.MAX_ROWS]
    ]
    return Table(
        "contributions",
        "Queries by what they add to the change, in points; the largest first",
        ("Query", "Corpus", *shown, "Other first document"),
        tuple(rows),
        ("left", "left", *["right"] * len(shown), "left"),
        (
            SUM,
            *tables.capped(len(found), "contributions.csv"),
        ),
    )


def documents(facts: DiffFacts) -> Block:
    """Return the documents that came and went within the cut-offs of the headline measures."""
    found = [(m, cutoff(m)[1]) for m in facts.headline]
    counts = {m: _relevant(facts.queries, k) for m, k in found}
    shown = [_documents(facts, m, k) for m, k in found]
    exhibits = [table for table in shown if table is not None]
    summary = [
        f"{came} relevant documents entered the first {k}, {went} left"
        for m, k in found
        for came, went in [counts[m]]
    ]
    if not exhibits:
        why = "Every query that was answered in both runs has the same documents at these cut-offs."
        return section("No document came or went", Empty("documents", why))
    return section("; ".join(summary), *exhibits)


def _relevant(queries: Sequence[Query], k: int | None) -> tuple[int, int]:
    sides = [query["documents"].get(str(k), {"gained": [], "lost": []}) for query in queries]
    came, went = (
        sum((doc["grade"] or 0) >= 1 for side in sides for doc in side[what])
        for what in ("gained", "lost")
    )
    return came, went


def _documents(facts: DiffFacts, measure: str, k: int | None) -> Table | None:
    moved_any = [q for q in facts.queries if str(k) in q["documents"]]
    found = [
        q for q in moved_any if measure in q["contributions"] or _is_judged(q["documents"][str(k)])
    ]
    found.sort(key=lambda q: (-abs(q["contributions"].get(measure, 0.0)), q["id"]))
    if not moved_any:
        return None
    rest = counted(len(moved_any) - len(found), "query")
    rows = []
    for query in found[: tables.MAX_ROWS]:
        side = query["documents"][str(k)]
        value = query["metrics"].get(measure)
        rows.append(
            (
                facts.title(query, tables.TEXTS),
                _graded(side["gained"]),
                _graded(side["lost"]),
                f"{rate(value['a'])} → {rate(value['b'])}" if value else "unchanged",
                signed(query["contributions"].get(measure, 0.0)),
            )
        )
    return Table(
        f"documents-{k}",
        f"Documents that came into or left the first {k}, by what the query adds to {measure}",
        ("Query", "Came (grade, rank before)", "Left (grade, rank now)", measure, "Points"),
        tuple(rows),
        ("left", "left", "left", "right", "right"),
        (
            *tables.capped(len(found), "documents.csv"),
            f"Not listed: {rest} in which only unjudged documents changed places.",
        ),
    )


def _is_judged(side: Mapping[str, Any]) -> bool:
    return any(doc["grade"] is not None for what in ("gained", "lost") for doc in side[what])


def _graded(found: Sequence[Mapping[str, Any]]) -> str:
    """Return the judged documents with grade and the rank they had or have; others by count."""
    judged = [doc for doc in found if doc["grade"] is not None]
    judged.sort(key=lambda doc: -doc["grade"])
    parts = [f"{visible(d['doc'], DOC_LIMIT)} ({d['grade']}, {_other(d)})" for d in judged]
    rest = parts[MAX_DOCS:]
    parts = parts[:MAX_DOCS] + ([f"{len(rest)} more judged"] if rest else [])
    n_others = len(found) - len(judged)
    return ", ".join([*parts, *([f"{n_others} unjudged"] if n_others else [])]) or MISSING


def _other(doc: Mapping[str, Any]) -> str:
    """Return the worse of the two ranks: the one outside of the cut-off."""
    ranks = (doc["rank_a"], doc["rank_b"])
    return "not retrieved" if None in ranks else f"rank {max(ranks)}"


def first_documents(facts: DiffFacts) -> Block:
    """Return the queries with another first document, in A and in B, with both grades."""
    found = list(facts.document["top1_changed"])
    finding = (
        f"{of(len(found), facts.document['n_queries_in_both'])} queries have another first document"
    )
    if not found:
        why = "Every query that was answered in both runs has the same first document."
        return section(finding, Empty("top1", why))
    by_id = {query["id"]: query for query in facts.queries}
    points = {
        q["id"]: by_id.get(q["id"], {"contributions": {}})["contributions"].get("RR", 0.0)
        for q in found
    }
    found.sort(key=lambda q: (-abs(points[q["id"]]), q["id"]))
    better = sum(_grade(q["b"]) > _grade(q["a"]) for q in found)
    worse = sum(_grade(q["b"]) < _grade(q["a"]) for q in found)
    said = (
        f"The grade is higher for {better:,}, lower for {worse:,} and the same for "
        f"{counted(len(found) - better - worse, 'query')}; unjudged counts as 0."
    )
    a, b = facts.names
    table = Table(
        "top1",
        "First documents that changed, with their grade, and what the query adds to RR",
        ("Query", a, b, "RR, points"),
        tuple(
            (
                facts.title(q),
                _first(q["a"]),
                _first(q["b"]),
                signed(points[q["id"]]) if points[q["id"]] else "0",
            )
            for q in found[: tables.MAX_ROWS]
        ),
        ("left", "left", "left", "right"),
        tables.capped(len(found), "first_documents.csv"),
    )
    return section(finding, table, sentences=[said])


def _grade(first: Mapping[str, Any] | None) -> int:
    return 0 if first is None else first["grade"] or 0


def _first(first: Mapping[str, Any] | None) -> str:
    if first is None:
        return "nothing"
    grade = "unjudged" if first["grade"] is None else f"grade {first['grade']}"
    return f"{visible(first['doc'], DOC_LIMIT)} ({grade})"
