"""Reading gold sets: every fault of every line is found before anything is refused."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from retrieval_eval.errors import BadInputError
from retrieval_eval.gold.corpus import Corpus
from retrieval_eval.gold.faults import LineFault
from retrieval_eval.gold.fields import FieldMap, field_map, is_header
from retrieval_eval.gold.fingerprint import fingerprint
from retrieval_eval.gold.ids import normalize_query
from retrieval_eval.gold.model import GoldQuery, GoldSet
from retrieval_eval.gold.rows import read_row
from retrieval_eval.io.files import decode
from retrieval_eval.io.named import named_bytes

__all__ = [
    "LineFault",
    "gold_faults",
    "parse_gold",
    "raw_lines",
    "read_gold_set",
    "refuse",
    "unknown_documents",
]


def read_gold_set(path: Path, *, fields: FieldMap | None = None) -> GoldSet:
    """Return the gold set in a JSONL file.

    A byte-order mark, CRLF, blank lines and a missing line feed at the end are fine. A missing
    ``id`` is derived with :func:`~retrieval_eval.gold.ids.query_id`, a plain list of documents
    means grade 1, and ``answerable`` follows from a relevant document where it is not stated.

    Parameters
    ----------
    path
        The file, one query a line.
    fields
        How the file names its fields; by default what :func:`~retrieval_eval.gold.fields.field_map`
        finds.

    Raises
    ------
    BadInputError
        When the file cannot be read or a line has a fault; the message names every fault, each
        on a line of its own.
    """
    data = named_bytes(path)
    queries, faults = parse_gold(data, fields or field_map(path))
    refuse(path.name, faults)
    return GoldSet(tuple(queries), fingerprint(queries), path)


def gold_faults(
    path: Path, *, fields: FieldMap | None = None, corpus: Corpus | None = None
) -> list[LineFault]:
    """Return every fault of a gold set by line, none for a usable one.

    With a corpus, documents and corpora that it does not hold are faults too. What concerns the
    file as a whole has line 0.
    """
    try:
        queries, faults = parse_gold(named_bytes(path), fields or field_map(path))
    except BadInputError as error:
        return [LineFault(0, str(error))]
    if corpus is not None:
        faults += unknown_documents(queries, corpus)
    return sorted(faults)


def parse_gold(data: bytes, fields: FieldMap) -> tuple[list[GoldQuery], list[LineFault]]:
    """Return the queries of a file's bytes in their order, and the faults of the other lines."""
    queries: list[GoldQuery] = []
    faults: list[LineFault] = []
    for place, (number, raw) in enumerate(raw_lines(data)):
        value, text, problem = _decoded(raw)
        if problem is None and is_header(value):
            if place:
                faults.append(LineFault(number, "a header can only be the first line"))
            continue
        if problem is not None:
            faults.append(LineFault(number, problem))
            continue
        query, messages = read_row(value, fields, text=text, line=number)
        faults += [LineFault(number, message) for message in messages]
        if query is not None:
            queries.append(query)
    faults += _repeated(queries)
    return queries, sorted(faults)


def raw_lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the number and the bytes of each line that is not blank, without its line end."""
    lines = data.removeprefix(codecs.BOM_UTF8).split(b"\n")
    for number, raw in enumerate(lines, start=1):
        if raw.strip():
            yield number, raw.removesuffix(b"\r")


def refuse(name: str, faults: Iterable[LineFault]) -> None:
    """Raise `BadInputError` with all faults of a file, one a line, if there are any."""
    sentences = [f"{name}: {fault}" for fault in faults]
    if sentences:
        raise BadInputError("\n".join(sentences))


def _decoded(raw: bytes) -> tuple[Any, str, str | None]:
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return None, "", "is not UTF-8"
    value, problem = decode(text)
    if problem is not None:
        # A row is one line, and which one is said elsewhere.
        return None, text, problem.replace("(line 1, ", "(", 1)
    # Decoding keeps the last of two equal keys, and a judgement would vanish unseen.
    repeated: list[str] = []
    try:
        json.loads(text, object_pairs_hook=_watch(repeated))
    except RecursionError:
        return None, text, "is nested too deeply"
    if repeated:
        problem = f"the key {repeated[0][:80]!r} stands twice in one object; keep one of them"
    return value, text, problem


def _watch(repeated: list[str]) -> Callable[[list[tuple[str, Any]]], None]:
    def look(pairs: list[tuple[str, Any]]) -> None:
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                repeated.append(key)
            seen.add(key)

    return look


def _repeated(queries: Iterable[GoldQuery]) -> Iterator[LineFault]:
    by_id: dict[str, int] = {}
    by_query: dict[tuple[str, str], int] = {}
    for query in queries:
        key = query.corpus, normalize_query(query.query)
        first = by_query.setdefault(key, query.line)
        first_id = by_id.setdefault(query.id, query.line)
        if first != query.line:
            yield LineFault(
                query.line,
                f"the same query for the corpus {query.corpus[:80]!r} is on line {first}"
                " (case and white space do not count); keep one of them",
            )
        elif first_id != query.line:
            yield LineFault(query.line, f"the id {query.id[:80]!r} is on line {first_id} already")


def unknown_documents(queries: Iterable[GoldQuery], corpus: Corpus) -> Iterator[LineFault]:
    """Yield a fault for each judged document and each corpus that ``corpus`` does not hold."""
    known = corpus.ids()
    for query in queries:
        ids = known.get(query.corpus)
        if ids is None:
            message = f"the corpus {query.corpus[:80]!r} has no document in {corpus.path.name}"
            yield LineFault(query.line, message)
            continue
        documents = {**query.relevant, **dict.fromkeys(label.doc for label in query.labels)}
        for doc in documents:
            if doc not in ids:
                others = [name for name, members in known.items() if doc in members]
                place = f"only in the corpus {others[0][:80]!r}" if others else "unknown"
                message = f"the document {doc[:80]!r} is {place} in {corpus.path.name}"
                yield LineFault(query.line, message)
