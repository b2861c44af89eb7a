"""Gold sets in other formats: BEIR folders, and TREC qrels, topics and runs."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import write_atomically
from retrieval_eval.io.user_files import read_user_text
from retrieval_eval.model.gold import (
    DEFAULT_CORPUS,
    DEFAULT_MAX_GRADE,
    GoldQuery,
    GoldSet,
)
from retrieval_eval.search.gold import refuse, unknown_documents
from retrieval_eval.search.gold.corpus import Corpus, Document, read_corpus
from retrieval_eval.search.gold.faults import kind, unusable_part, user_lines
from retrieval_eval.search.gold.identity import normalize_query
from retrieval_eval.values import MAX_GRADE, counted

_LOST: Final[tuple[tuple[Callable[[GoldQuery], bool], str], ...]] = (
    (lambda query: query.area is not None, "areas"),
    (lambda query: query.origin is not None, "origins"),
    (lambda query: bool(query.note), "notes"),
    (lambda query: bool(query.labels), "labels of single labellers"),
    (lambda query: bool(query.anchors), "anchors to source texts"),
    (lambda query: bool(query.digests), "digests of labelled documents"),
    (lambda query: bool(query.found_by), "the retrievers that found documents"),
    (lambda query: bool(query.extra), "further fields"),
)


@dataclass(frozen=True, slots=True)
class Imported:
    """Queries and documents from another format, and notes on what was changed."""

    queries: tuple[GoldQuery, ...]
    notes: tuple[str, ...]
    documents: tuple[Document, ...] | None = None

    @property
    def max_grade(self) -> int:
        """The top of the scale that holds all grades, at least the usual one."""
        grades = (grade for query in self.queries for grade in query.relevant.values())
        return max(DEFAULT_MAX_GRADE, *grades, 0)


def judged_queries(
    name: str, texts: Mapping[str, str], qrels: Mapping[str, Mapping[str, int]], corpus: str
) -> tuple[tuple[GoldQuery, ...], list[str]]:
    """Return queries (source ``chair``) with their grades, and notes on what was changed.

    Grades below 0, which some collections give to junk, become 0.

    Parameters
    ----------
    name
        What to call the file of the texts in messages.
    texts
        Query id to its text.
    qrels
        Query id to judged documents and grades.
    corpus
        The corpus of all queries.

    Raises
    ------
    BadInputError
        When judged queries have no text, or two ids ask the same; all are named.
    """
    faults = [
        f"{name}: no text for the judged query {key[:80]!r}" for key in qrels if key not in texts
    ]
    first: dict[str, str] = {}
    for key, text in texts.items():
        other = first.setdefault(normalize_query(text), key)
        if other != key:
            faults.append(
                f"{name}: {other[:80]!r} and {key[:80]!r} are the same query (case and white space"
                " do not count); keep one of them"
            )
    if faults:
        raise BadInputError("\n".join(faults))
    junk = sum(grade < 0 for judged in qrels.values() for grade in judged.values())
    notes = [f"{counted(junk, 'grade')} below 0 became 0"] if junk else []
    found = []
    for key, text in texts.items():
        relevant = {doc: max(grade, 0) for doc, grade in qrels.get(key, {}).items()}
        answerable = True if any(relevant.values()) else None
        query = GoldQuery(
            key, text, corpus, relevant=relevant, source="chair", answerable=answerable
        )
        found.append(query)
    return tuple(found), notes


def refuse_ids(gold: GoldSet, form: str, is_bad: Callable[[str], object], reason: str) -> None:
    """Raise `BadInputError` naming the ids of queries and documents that ``form`` cannot hold."""
    queries = [query.id for query in gold.queries]
    documents = [doc for query in gold.queries for doc in query.relevant]
    bad = [
        f"the {noun} id {key[:80]!r}"
        for noun, keys in (("query", queries), ("document", documents))
        for key in dict.fromkeys(keys)
        if is_bad(key)
    ]
    if bad:
        raise BadInputError(f"{form} cannot hold ids with {reason}: {_listed(bad, 20)}")


def losses(gold: GoldSet, form: str) -> list[str]:
    """Return a sentence for everything that ``form`` (the name of a format) does not keep.

    The formats of information retrieval hold queries, documents and grades of pairs. Everything
    else that this gold set has is named with its count.
    """
    queries, found = gold.queries, []
    for is_there, name in _LOST:
        n = sum(map(is_there, queries))
        if n:
            found.append(f"{name} of {counted(n, 'query')}: {form} has no place for them")
    bootstrap = sum(query.source == "bootstrap" for query in queries)
    if bootstrap:
        found.append(
            f"that {counted(bootstrap, 'query')} came from the bootstrap without a review:"
            " an import takes every row for reviewed"
        )
    corpora = sorted({query.corpus for query in queries})
    if corpora and corpora != [DEFAULT_CORPUS]:
        found.append(f"the names of the corpora ({_listed(corpora)}): all queries share one corpus")
    unanswerable = sum(query.answerable is False for query in queries)
    if unanswerable:
        found.append(
            f"that {counted(unanswerable, 'query')} cannot be answered: without a relevant"
            " document this reads like a query without judgements"
        )
    stated = sum(query.answerable is True and not query.n_relevant for query in queries)
    if stated:
        found.append(f"that {counted(stated, 'query')} can be answered by documents yet unknown")
    unjudged = sum(not query.relevant for query in queries)
    if unjudged:
        found.append(
            f"judgements of {counted(unjudged, 'query')}: there are none, so that an evaluation"
            " by qrels alone passes over them"
        )
    return found


def _listed(names: Iterable[str], most: int = 5) -> str:
    names = list(names)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(name[:120] for name in names[:most]) + more


BEIR_CORPUS: Final = "corpus.jsonl"
BEIR_QUERIES: Final = "queries.jsonl"
BEIR_QRELS: Final = "qrels/test.tsv"

_BEIR: Final = "a BEIR folder"
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
        When a tab-separated file cannot hold an id, two corpora have a document of the same
        id, or the corpus lacks a judged document. Nothing is written then.
    """
    reason = "tabs, line breaks, quotation marks or outer white space"
    refuse_ids(gold, _BEIR, lambda key: _BREAKS_A_CELL.search(key) or key != key.strip(), reason)
    rows = [
        [query.id, doc, str(grade)]
        for query in gold.queries
        for doc, grade in query.relevant.items()
    ]
    files = {
        BEIR_QUERIES: _jsonl({"_id": query.id, "text": query.query} for query in gold.queries),
        BEIR_QRELS: "".join("\t".join(row) + "\n" for row in (_HEAD, *rows)).encode(),
    }
    found = losses(gold, _BEIR)
    if corpus is None:
        found.append("the documents: no corpus was given, so there is no corpus.jsonl")
    else:
        refuse("gold set", unknown_documents(gold.queries, corpus))
        files[BEIR_CORPUS] = _jsonl(_documents(corpus))
        names = {document.corpus for document in corpus.documents}
        if len(names) > 1:
            found.append(f"which of the {len(names)} corpora a document is in: they become one")
    write_atomically({folder / name: data for name, data in files.items()})
    return found


def import_beir(folder: Path, *, corpus: str = DEFAULT_CORPUS) -> Imported:
    """Return queries with grades of the split ``test``, and the documents if the folder has them.

    Queries that only another split judges are left out and counted; queries that no split judges
    are kept as queries without known relevant documents. Otherwise as
    :func:`~retrieval_eval.search.gold.exchange.import_trec`.

    Raises
    ------
    BadInputError
        When a file is missing or has a broken line; every fault is named by file and line.
    """
    texts, extras = _beir_queries(folder / BEIR_QUERIES)
    qrels = _beir_qrels(folder / BEIR_QRELS)
    elsewhere = _judged_elsewhere(folder) - set(qrels)
    left_out = [key for key in texts if key in elsewhere]
    kept = {key: text for key, text in texts.items() if key not in elsewhere}
    queries, notes = judged_queries(str(folder / BEIR_QUERIES), kept, qrels, corpus)
    queries = tuple(replace(query, extra=extras[query.id]) for query in queries)
    if left_out:
        notes.append(f"{counted(len(left_out), 'query')} only judged in other splits left out")
    documents = None
    if (folder / BEIR_CORPUS).exists():
        documents = tuple(
            replace(document, corpus=corpus)
            for document in read_corpus(folder / BEIR_CORPUS).documents
        )
        known = {document.id for document in documents}
        judged = {doc for query in queries for doc in query.relevant}
        if judged - known:
            n = counted(len(judged - known), "judged document")
            notes.append(f"{n} not in {BEIR_CORPUS}, such as {min(judged - known)[:80]!r}")
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
                f"{_BEIR} has one corpus: the document id {document.id[:80]!r} is in"
                f" {other.corpus[:80]!r} and in {document.corpus[:80]!r}"
            )
    return [
        {"_id": document.id, "title": document.title, "text": document.text, **document.extra}
        for document in corpus.documents
    ]


def _beir_queries(path: Path) -> tuple[dict[str, str], dict[str, dict[str, Any]]]:
    """Return the text of each query and its other fields."""
    texts: dict[str, str] = {}
    extras: dict[str, dict[str, Any]] = {}
    faults: list[str] = []
    for line in user_lines(path):
        if line.problem is not None:
            faults.append(line.problem)
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
    for path in sorted((folder / BEIR_QRELS).parent.glob("*.tsv")):
        if path.name != Path(BEIR_QRELS).name:
            found |= set(_beir_qrels(path))
    return found


def _beir_qrels(path: Path) -> Qrels:
    found: Qrels = {}
    faults: list[str] = []
    for number, line in enumerate(read_user_text(path).split("\n"), start=1):
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


TREC_QRELS: Final = "qrels.txt"
TREC_TOPICS: Final = "topics.tsv"
TREC_RUN: Final = "run.txt"

_TREC: Final = "a TREC file"
# Fields end at white space; a byte-order mark at the start of a file is no part of an id.
_BREAKS_A_FIELD: Final = re.compile("[\\s\\x00-\\x20\ud800-\udfff]|^\ufeff")
_BREAKS_A_LINE: Final = re.compile(r"[\t\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")


def export_trec(gold: GoldSet, folder: Path, *, run: bytes | None = None) -> list[str]:
    """Write ``qrels.txt`` and ``topics.tsv`` (id, tab, query) and return what they do not hold.

    With the bytes of a ``run`` (see :func:`run_bytes`) there is a ``run.txt`` too.

    Raises
    ------
    BadInputError
        When an id of a query or document holds white space; nothing is written then.
    """
    refuse_ids(gold, _TREC, _BREAKS_A_FIELD.search, "white space or control characters")
    qrels = [
        f"{query.id} 0 {doc} {grade}\n"
        for query in gold.queries
        for doc, grade in query.relevant.items()
    ]
    topics = [f"{query.id}\t{_BREAKS_A_LINE.sub(' ', query.query)}\n" for query in gold.queries]
    files = {TREC_QRELS: "".join(qrels).encode(), TREC_TOPICS: "".join(topics).encode()}
    if run is not None:
        files[TREC_RUN] = run
    write_atomically({folder / name: data for name, data in files.items()})
    found = losses(gold, _TREC)
    n_broken = sum(bool(_BREAKS_A_LINE.search(query.query)) for query in gold.queries)
    if n_broken:
        found.append(f"tabs and line breaks in {counted(n_broken, 'query')}: they became spaces")
    return found


def import_trec(qrels: Path, topics: Path, *, corpus: str = DEFAULT_CORPUS) -> Imported:
    """Return the queries of a topics file (TSV: id, tab, text) with the grades of a qrels file.

    All rows are of the source ``chair``, so that no bootstrap drops them. Grades below 0 become 0.
    A topic without judgements becomes a query without known relevant documents.

    Raises
    ------
    BadInputError
        When a file cannot be read, has a broken line, or judges a query that has no topic.
    """
    from retrieval_eval.ranking.trec import read_trec

    texts = _topics(topics)
    judged = read_trec(qrels, "qrels")
    queries, notes = judged_queries(str(topics), texts, judged, corpus)
    return Imported(queries, tuple(notes))


def run_bytes(doc: Mapping[str, Any], tag: str) -> tuple[bytes, list[str]]:
    """Return the rankings of a search run document as a TREC run, and what that does not keep.

    Parameters
    ----------
    doc
        A search run document; of its ``queries`` only ``id``, ``status`` and ``ranking`` are read.
    tag
        The name of the run, without white space.

    Raises
    ------
    BadInputError
        When an id or the tag holds white space, or the document is not shaped like a search run.
    """
    if not tag or _BREAKS_A_FIELD.search(tag):
        raise BadInputError(f"the tag {tag[:80]!r}: expected a word without white space")
    queries = doc.get("queries")
    if not isinstance(queries, list):
        raise BadInputError("/queries: expected the list of queries of a search run")
    lines: list[str] = []
    n_failed = n_empty = n_reordered = 0
    for place, query in enumerate(queries):
        name, ranking = _ranking(query, f"/queries/{place}")
        n_failed += query.get("status") == "failed"
        n_empty += not ranking and query.get("status") != "failed"
        n_reordered += ranking != sorted(ranking, key=lambda pair: pair[::-1], reverse=True)
        lines += [
            f"{name} Q0 {key} {rank} {score!r} {tag}\n"
            for rank, (key, score) in enumerate(ranking, start=1)
        ]
    found = ["everything but documents and scores: settings, versions, metrics, grades"]
    if n_failed:
        found.append(f"that {counted(n_failed, 'query')} failed: they have no line")
    if n_empty:
        found.append(f"that {counted(n_empty, 'query')} found nothing: they have no line")
    if n_reordered:
        found.append(
            f"the order of {counted(n_reordered, 'ranking')}: readers order by score, then by id"
        )
    return "".join(lines).encode(), found


def _topics(path: Path) -> dict[str, str]:
    text = read_user_text(path)
    if text.lstrip().lower().startswith("<top"):
        raise BadInputError(
            f"{path}: SGML topics; expected a query a line: its id, a tab, its text"
        )
    found: dict[str, str] = {}
    faults: list[str] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        key, _, query = line.removesuffix("\r").partition("\t")
        key = key.strip()
        if not (key and query.strip()):
            faults.append(f"{path}: line {number}: expected an id, a tab and the query")
        elif key in found:
            faults.append(f"{path}: line {number}: the id {key[:80]!r} for the second time")
        else:
            found[key] = query
    if faults:
        raise BadInputError("\n".join(faults))
    return found


def _ranking(query: Any, where: str) -> tuple[str, list[tuple[str, float]]]:
    """Return a query's id and its (document, score) pairs."""
    if not isinstance(query, dict) or not isinstance(query.get("ranking"), list):
        raise BadInputError(f"{where}: expected a query with 'id' and 'ranking'")
    name = _field(query.get("id"), f"{where}/id")
    found = []
    for place, item in enumerate(query["ranking"]):
        spot = f"{where}/ranking/{place}"
        if not isinstance(item, dict):
            raise BadInputError(f"{spot}: expected an object with 'doc' and 'score'")
        found.append((_field(item.get("doc"), f"{spot}/doc"), _score(item.get("score"), spot)))
    return name, found


def _score(value: Any, where: str) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not abs(value) <= sys.float_info.max:
        raise BadInputError(f"{where}/score: expected a number; a run is ordered by scores")
    return float(value)


def _field(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value or _BREAKS_A_FIELD.search(value):
        raise BadInputError(f"{where}: {str(value)[:80]!r} is no id without white space")
    return value
