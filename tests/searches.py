"""A small gold set, answers to it and search runs, for tests of the search side."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from retrieval_eval.model import Record, to_builtins
from retrieval_eval.model.gold import GoldQuery, GoldSet
from retrieval_eval.model.search_run import CorpusFacts, RocPoint, SearchRun
from retrieval_eval.model.search_run import QueryResult as StoredQuery
from retrieval_eval.search.ask import QueryResult, ScoredDoc
from retrieval_eval.search.measure import Request, measure_request
from retrieval_eval.search.run import Settings
from retrieval_eval.search.run.abstention import abstention_of
from retrieval_eval.search.run.document import retriever_facts, search_run
from retrieval_eval.search.run.scoring import score_run

GENERATED_AT = "2026-01-05T10:00:00Z"


def gold_query(name: str, relevant: Mapping[str, int] | None = None, **fields: Any) -> GoldQuery:
    relevant = relevant or {}
    given = {"query": f"text of {name}", "corpus": "docs", **fields}
    return GoldQuery(id=name, relevant=relevant, **given)


def gold_set(*queries: GoldQuery) -> GoldSet:
    meaning = repr(sorted((q.id, q.query, sorted(q.relevant.items())) for q in queries))
    return GoldSet(queries, hashlib.sha256(meaning.encode()).hexdigest())


def answer(name: str, ranking: Mapping[str, float] | Sequence[str] = (), **fields: Any):
    """An answer; documents without scores get falling ones."""
    if not isinstance(ranking, Mapping):
        ranking = {doc: float(len(ranking) - place) for place, doc in enumerate(ranking)}
    ordered = sorted(ranking.items(), key=lambda item: (item[1], item[0]), reverse=True)
    docs = tuple(ScoredDoc(doc, score) for doc, score in ordered)
    return QueryResult(**{"id": name, "status": "ok", "ranking": docs, **fields})


def failure(name: str, error: str = "the retriever raised KeyError: 'x'") -> QueryResult:
    return QueryResult(id=name, status="failed", error=error)


def run_of(gold: GoldSet, answers: Sequence[QueryResult], **fields: Any) -> dict[str, Any]:
    """The search run of these answers, as plain objects."""
    told = {"generated_at": GENERATED_AT, "label": ""}
    told |= {name: fields.pop(name) for name in told if name in fields}
    asked = repr((gold, [*answers], sorted(fields.items())))
    if asked not in _MADE:
        if len(_MADE) > 200:
            _MADE.clear()
        _MADE[asked] = json.dumps(to_builtins(_run_of(gold, answers, **fields)))
    document: dict[str, Any] = json.loads(_MADE[asked])
    return document | told


_MADE: dict[str, str] = {}
"""Runs by what they are of: tests ask for the same ones again and again, and change them."""


def _run_of(gold: GoldSet, answers: Sequence[QueryResult], **fields: Any) -> SearchRun:
    settings = fields.pop("settings", Settings())
    options = fields.pop("options", {})
    facts = fields.pop("facts", {"name": "fake"})
    n_documents = fields.pop("n_documents", None)
    corpora = [
        CorpusFacts(corpus=name, n_documents=n_documents, fingerprint=None)
        for name in sorted({query.corpus for query in gold.queries})
    ]
    return search_run(
        gold,
        score_run(gold, answers, settings),
        retriever=retriever_facts("tests:fake", options, facts),
        corpora=corpora,
        generated_at=GENERATED_AT,
        label="",
        **fields,
    )


def stored_queries(queries: Sequence[Mapping[str, Any]]) -> list[StoredQuery]:
    """Queries of a run from plain objects, which may lack what does not matter."""
    absent = {
        **dict.fromkeys(("query", "corpus", "source"), ""),
        **dict.fromkeys(("area", "origin", "error", "answerable")),
        "is_refused": False,
        "problems": [],
        "n_retrieved": 0,
        "metrics": {},
        "reasons": {},
    }
    whole = [absent | query for query in queries]
    for query in whole:
        query["ranking"] = [{"doc": "", "grade": None, **found} for found in query["ranking"]]
    return msgspec.convert(whole, list[StoredQuery])


def abstention_block(queries: Sequence[Mapping[str, Any]], **fields: Any) -> dict[str, Any] | None:
    """The refusals of queries that are plain objects."""
    found = abstention_of(stored_queries(queries), **fields)
    return None if found is None else written(found)


def written(record: Record) -> Any:
    """A record as it is read back from the document that it becomes."""
    return json.loads(json.dumps(to_builtins(record)))


def measure(gold: Path, retriever: str, *, progress: Any = None, **fields: Any) -> dict[str, Any]:
    """The search run of a request, whose reports are written."""
    return written(measure_request(Request(gold, retriever, **fields), progress=progress).run)


def point(threshold: float | None, caught: float, refused: float) -> RocPoint:
    return RocPoint(threshold=threshold, true_positive_rate=caught, false_refusal_rate=refused)
