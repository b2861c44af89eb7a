"""Single queries: nothing found, ranked worst, and those that no document answers."""

from __future__ import annotations

from typing import Final

from retrieval_eval.escape import visible
from retrieval_eval.report.exhibits import Block, Empty, Table, section
from retrieval_eval.report.numbers import MISSING, finite, of, rate
from retrieval_eval.report.search import tables
from retrieval_eval.report.search.facts import Facts, Query, median
from retrieval_eval.report.search.reading import members
from retrieval_eval.values import counted

WORST_BY: Final = "nDCG@10"
MAX_DOCS: Final = 4
DOC_LIMIT: Final = 32


def nothing_found(facts: Facts) -> Block:
    """Return the scored queries without any relevant document in their ranking."""
    missed = [query for query in facts.scored if not _hits(query)]
    depth = facts.run.document["run"]["settings"]["depth"]
    n_empty = sum(not query["ranking"] for query in missed)
    finding = f"{of(len(missed), len(facts.scored))} scored queries found nothing relevant"
    if not missed:
        why = f"Every scored query has a relevant document among its first {depth}."
        return section(finding, Empty("nothing-found", why if facts.scored else _UNSCORED))
    missed.sort(key=lambda query: (bool(query["ranking"]), query["id"]))
    table = Table(
        "nothing-found",
        f"Scored queries without a relevant document among the first {depth}",
        ("Query", "Corpus", "Area", "Returned", "First document", "Relevant documents"),
        tuple(
            (
                facts.title(query),
                visible(query["corpus"], 30),
                visible(query["area"] or MISSING, 30),
                _returned(query),
                _first(query),
                _relevant(facts, query),
            )
            for query in missed[: tables.MAX_ROWS]
        ),
        ("left", "left", "left", "right", "left", "left"),
        (*tables.capped(len(missed), "queries.csv"), *_unknown(facts)),
    )
    said = f"{counted(n_empty, 'query')} came back empty, which scores 0."
    return section(finding, table, sentences=[said] if n_empty else [])


_UNSCORED: Final = "No query could be scored, so none can be said to have found nothing."


def worst(facts: Facts) -> Block:
    """Return the queries that found something, lowest nDCG@10 first."""
    found = [
        (value, query)
        for query in facts.scored
        if _hits(query) and (value := finite(query["metrics"].get(WORST_BY))) is not None
    ]
    found.sort(key=lambda item: (item[0], item[1]["id"]))
    if not found:
        why = "No scored query found a relevant document."
        return section(f"{WORST_BY} cannot be ranked by query", Empty("worst", why))
    below = sum(value < 0.5 for value, _ in found)
    table = Table(
        "worst",
        f"Queries that found something, by {WORST_BY}, with the ranks of relevant documents",
        ("Query", "Corpus", WORST_BY, "P@5", "Recall@20", "Relevant documents"),
        tuple(
            (
                facts.title(query),
                visible(query["corpus"], 30),
                rate(value),
                *(rate(query["metrics"].get(m)) for m in ("P@5", "Recall@20")),
                _relevant(facts, query),
            )
            for value, query in found[: tables.MAX_ROWS]
        ),
        ("left", "left", "right", "right", "right", "left"),
        (*tables.capped(len(found), "queries.csv"), *_unknown(facts)),
    )
    return section(
        f"{of(below, len(found))} queries that found something have {WORST_BY} below 0.50", table
    )


def unanswerable(facts: Facts) -> Block:
    """Return what came back for queries that no document answers."""
    asked = facts.unanswerable
    if not asked:
        why = "The gold set has no query that is marked as not answerable."
        return section("No unanswerable query was asked", Empty("unanswerable", why))
    answered = [query for query in asked if query["ranking"]]
    rest = [query for query in facts.queries if query["answerable"] is True]
    finding = f"{of(len(answered), len(asked))} unanswerable queries got documents all the same"
    said = "They have no ranking measure. Scores of different queries are often not comparable."
    block = members(facts.run.document.get("abstention"))
    caught = members(block.get("true_positive_rate")).get("n_refused")
    if block.get("threshold") is not None and isinstance(caught, int):
        said += f" The threshold of {block['threshold']:g} refuses {of(caught, len(asked))}."
    return section(finding, _scores(asked, rest), _listed(facts, asked), sentences=[said])


def _scores(asked: list[Query], rest: list[Query]) -> Table:
    rows = []
    for name, group in (("Unanswerable", asked), ("Answerable", rest)):
        tops = [q["ranking"][0]["score"] for q in group if q["ranking"]]
        rows.append(
            (
                name,
                str(len(group)),
                str(sum(q["status"] == "failed" for q in group)),
                str(sum(q["status"] == "ok" and not q["ranking"] for q in group)),
                *(
                    rate(v)
                    for v in (min(tops, default=None), median(tops), max(tops, default=None))
                ),
            )
        )
    return Table(
        "scores",
        "First scores of unanswerable queries beside those of answerable ones",
        ("Queries", "n", "Failed", "Nothing returned", "Lowest", "Median", "Highest first score"),
        tuple(rows),
    )


def _listed(facts: Facts, asked: list[Query]) -> Table:
    def order(query: Query) -> tuple[float, str]:
        score = finite(query["ranking"][0]["score"]) if query["ranking"] else None
        return (float("inf") if score is None else -score, query["id"])

    return Table(
        "unanswerable",
        "Unanswerable queries by the score of their first document",
        ("Query", "Corpus", "Returned", "First document", "Its score"),
        tuple(
            (
                facts.title(query),
                visible(query["corpus"], 30),
                _returned(query),
                _first(query),
                rate(query["ranking"][0]["score"]) if query["ranking"] else MISSING,
            )
            for query in sorted(asked, key=order)[: tables.MAX_ROWS]
        ),
        ("left", "left", "right", "left", "right"),
        tables.capped(len(asked), "queries.csv"),
    )


def _hits(query: Query) -> bool:
    return any((found["grade"] or 0) >= 1 for found in query["ranking"])


def _returned(query: Query) -> str:
    if query["status"] == "failed":
        return "failed"
    if query["is_refused"]:
        return "refused"
    return f"{len(query['ranking']):,}" if query["ranking"] else "nothing"


def _first(query: Query) -> str:
    return visible(query["ranking"][0]["doc"], DOC_LIMIT) if query["ranking"] else MISSING


def _relevant(facts: Facts, query: Query) -> str:
    """Return the relevant documents of a query with their ranks, the first few by name."""
    found = facts.run.relevant_of(query)
    shown = [
        f"{visible(doc, DOC_LIMIT)} {f'(rank {place})' if place else '(not retrieved)'}"
        for doc, _, place in found[:MAX_DOCS]
    ]
    more = len(found) - MAX_DOCS
    return ", ".join([*shown, *([f"{more} more"] if more > 0 else [])]) or MISSING


def _unknown(facts: Facts) -> tuple[str, ...]:
    if facts.run.gold is not None:
        return ()
    return ("Relevant documents that were not retrieved are named when the gold set is read.",)
