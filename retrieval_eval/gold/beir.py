"""Gold sets as BEIR folders: corpus.jsonl, queries.jsonl and qrels/test.tsv."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from retrieval_eval.errors import BadInputError
from retrieval_eval.gold.corpus import Corpus, Document, read_corpus
from retrieval_eval.gold.exchange import Imported, judged_queries, losses, refuse_ids
from retrieval_eval.gold.faults import kind, line_problem, unusable_part
from retrieval_eval.gold.model import GoldSet
from retrieval_eval.gold.reading import refuse, unknown_documents
from retrieval_eval.gold.rows import DEFAULT_CORPUS
from retrieval_eval.io.files import iter_jsonl
from retrieval_eval.io.named import named_text
from retrieval_eval.io.together import write_together
from retrieval_eval.metrics.ranking.measures import MAX_GRADE
from retrieval_eval.values import counted

CORPUS_FILE: Final = "corpus.jsonl"
QUERIES_FILE: Final = "queries.jsonl"
QRELS_FILE: Final = "qrels/test.tsv"

_FORM: Final = "a BEIR folder"
_HEAD: Final = ["query-id", "corpus-id", "score"]
# Readers of this format split at tabs, and some of them treat quotes as CSV does.
_BREAKS_A_CELL: Final = re.compile(
    '[\\t\\n\\r"\\x0b\\x0c\\x1c-\\x1e\\x85\u2028\u2029\ud800-\udfff]'
)

Qrels = dict[str, dict[str, int]]


def export_beir(gold: GoldSet, folder: Path, *, corpus: Corpus | None = None) -> list[str]:
    """Write a BEIR folder and return what it does not hold of the gold set and the corpus.

    Parameters
    ----------
    gold, corpus
        What to write; without a corpus there is no ``corpus.jsonl``.
    folder
        Where to write; created if need be.

    Raises
    ------
    BadInputError
        When an id cannot stand in a tab-separated file, two corpora have a document of the same
        id, or the corpus lacks a judged document. Nothing is written then.
    """
    reason = "tabs, line breaks, quotation marks or outer white space"
    refuse_ids(gold, _FORM, lambda key: _BREAKS_A_CELL.search(key) or key != key.strip(), reason)
    rows = [
        [query.id, doc, str(grade)]
        for query in gold.queries
        for doc, grade in query.relevant.items()
    ]
    files = {
        QUERIES_FILE: _jsonl({"_id": query.id, "text": query.query} for query in gold.queries),
        QRELS_FILE: "".join("\t".join(row) + "\n" for row in (_HEAD, *rows)).encode(),
    }
    found = losses(gold, _FORM)
    if corpus is None:
        found.append("the documents: no corpus was given, so there is no corpus.jsonl")
    else:
        refuse("gold set", unknown_documents(gold.queries, corpus))
        files[CORPUS_FILE] = _jsonl(_documents(corpus))
        names = {document.corpus for document in corpus.documents}
        if len(names) > 1:
            found.append(f"which of the {len(names)} corpora a document is in: they become one")
    write_together({folder / name: data for name, data in files.items()})
    return found


def import_beir(folder: Path, *, corpus: str = DEFAULT_CORPUS) -> Imported:
    """Return queries, grades of the split ``test``, and the documents if the folder has them.

    Queries that only another split judges are left out and counted; queries that no split judges
    are kept, for nothing relevant is known of them. Otherwise as
    :func:`~retrieval_eval.gold.trec.import_trec`.

    Raises
    ------
    BadInputError
        When a file is missing or has a broken line; every fault is named by file and line.
    """
    texts, extras = _queries(folder / QUERIES_FILE)
    qrels = _qrels(folder / QRELS_FILE)
    elsewhere = _judged_elsewhere(folder) - set(qrels)
    left_out = [key for key in texts if key in elsewhere]
    kept = {key: text for key, text in texts.items() if key not in elsewhere}
    queries, notes = judged_queries(str(folder / QUERIES_FILE), kept, qrels, corpus)
    queries = tuple(replace(query, extra=extras[query.id]) for query in queries)
    if left_out:
        notes.append(f"{counted(len(left_out), 'query')} only judged in other splits left out")
    documents = None
    if (folder / CORPUS_FILE).exists():
        documents = tuple(
            replace(document, corpus=corpus)
            for document in read_corpus(folder / CORPUS_FILE).documents
        )
        known = {document.id for document in documents}
        judged = {doc for query in queries for doc in query.relevant}
        if judged - known:
            n = counted(len(judged - known), "judged document")
            notes.append(f"{n} not in {CORPUS_FILE}, such as {min(judged - known)[:80]!r}")
    return Imported(queries, tuple(notes), documents)


def _jsonl(rows: Iterable[dict[str, Any]]) -> bytes:
    lines = [json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows]
    return "".join(lines).encode("utf-8")


def _documents(corpus: Corpus) -> list[dict[str, Any]]:
    seen: dict[str, Document] = {}
    for document in corpus.documents:
        other = seen.setdefault(document.id, document)
        if other is not document:
            raise BadInputError(
                f"{_FORM} has one corpus: the document id {document.id[:80]!r} is in"
                f" {other.corpus[:80]!r} and in {document.corpus[:80]!r}"
            )
    return [
        {"_id": document.id, "title": document.title, "text": document.text, **document.extra}
        for document in corpus.documents
    ]


def _queries(path: Path) -> tuple[dict[str, str], dict[str, dict[str, Any]]]:
    """Return the text of each query and its other fields."""
    real = Path(os.path.realpath(path))
    texts: dict[str, str] = {}
    extras: dict[str, dict[str, Any]] = {}
    faults: list[str] = []
    for line in iter_jsonl(real, real.parent):
        if line.problem is not None:
            faults.append(f"{path}: {line_problem(line.problem, real)}")
            continue
        problem = _query_fault(line.value)
        if problem is not None:
            faults.append(f"{path}: line {line.number}: {problem}")
            continue
        key: str = line.value["_id"]
        if key in texts:
            faults.append(f"{path}: line {line.number}: the id {key[:80]!r} for the second time")
        texts[key] = line.value["text"]
        rest = {name: value for name, value in line.value.items() if name not in ("_id", "text")}
        extras[key] = {name: value for name, value in rest.items() if value not in ({}, "", None)}
    if faults:
        raise BadInputError("\n".join(faults))
    return texts, extras


def _query_fault(value: Any) -> str | None:
    if not isinstance(value, dict):
        return f"expected an object, found {kind(value)}"
    for name in ("_id", "text"):
        found = value.get(name)
        if not isinstance(found, str) or not found.strip():
            return f"/{name}: expected text, found {kind(found)}"
    return unusable_part(value)


def _judged_elsewhere(folder: Path) -> set[str]:
    """Return the queries that splits other than ``test`` judge."""
    found: set[str] = set()
    for path in sorted((folder / QRELS_FILE).parent.glob("*.tsv")):
        if path.name != Path(QRELS_FILE).name:
            found |= set(_qrels(path))
    return found


def _qrels(path: Path) -> Qrels:
    found: Qrels = {}
    faults: list[str] = []
    for number, line in enumerate(named_text(path).split("\n"), start=1):
        cells = [cell.strip() for cell in line.split("\t")]
        if not line.strip() or (number == 1 and cells == _HEAD):
            continue
        problem = _judge(found, cells)
        if problem is not None:
            faults.append(f"{path}: line {number}: {problem}")
    if faults:
        raise BadInputError("\n".join(faults))
    return found


def _judge(qrels: Qrels, cells: list[str]) -> str | None:
    """Add one row, or return what is wrong with it."""
    if len(cells) != len(_HEAD) or not all(cells):
        return f"expected {', '.join(_HEAD)} with tabs between them"
    query, doc, grade = cells
    if not re.fullmatch(r"[+-]?[0-9]{1,9}", grade) or abs(int(grade)) > MAX_GRADE:
        return f"{grade[:40]!r} is not a grade (a whole number up to {MAX_GRADE})"
    if doc in qrels.setdefault(query, {}):
        return f"the document {doc[:80]!r} for the second time for the query {query[:80]!r}"
    qrels[query][doc] = int(grade)
    return None
