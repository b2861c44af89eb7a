"""Corpora: the documents that queries search, one a line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import field

from retrieval_eval.errors import BadInputError
from retrieval_eval.model.common import Record
from retrieval_eval.model.gold import DEFAULT_CORPUS
from retrieval_eval.search.gold.faults import kind, pointer, unusable_part, user_lines
from retrieval_eval.search.gold.identity import of_parts

_MOST_FAULTS: Final = 100
_OURS: Final = frozenset({"id", "_id", "title", "text", "corpus"})


class Document(Record, frozen=True):
    """One document or block of a corpus; ``extra`` keeps all other fields."""

    id: str
    corpus: str
    title: str
    text: str
    extra: Mapping[str, Any] = field(default_factory=dict)


class Corpus(Record, frozen=True):
    """Documents in the order of the file.

    ``fingerprint`` is the SHA-256 of all of their content, whatever their order.
    """

    documents: tuple[Document, ...]
    fingerprint: str
    path: Path

    def ids(self) -> dict[str, frozenset[str]]:
        """Return the document ids of each corpus."""
        found: dict[str, set[str]] = {}
        for document in self.documents:
            found.setdefault(document.corpus, set()).add(document.id)
        return {name: frozenset(ids) for name, ids in found.items()}


def read_corpus(path: Path) -> Corpus:
    """Return the documents of a JSONL file.

    A line is an object with ``id`` (or BEIR's ``_id``), ``text``, and perhaps ``title`` and
    ``corpus`` (``"default"`` when absent). Other keys are kept in ``extra``.

    Raises
    ------
    BadInputError
        When the file cannot be read, holds no document, or a line has a fault: broken JSON, a
        wrong type, or an id for the second time in its corpus. The message names the first 100
        faults by line.
    """
    documents: list[Document] = []
    faults: list[str] = []
    seen: dict[tuple[str, str], int] = {}
    for line in user_lines(path):
        if line.problem is not None:
            faults.append(line.problem)
            continue
        document, messages = _document(line.value)
        if document is not None:
            key = document.corpus, document.id
            first = seen.setdefault(key, line.number)
            if first != line.number:
                messages = [f"the id {document.id[:80]!r} is on line {first} already"]
            documents.append(document)
        faults += [f"{path}: line {line.number}: {message}" for message in messages]
    if faults:
        more = len(faults) - _MOST_FAULTS
        tail = [f"{path}: and {more} more faults"] if more > 0 else []
        raise BadInputError("\n".join([*faults[:_MOST_FAULTS], *tail]))
    if not documents:
        raise BadInputError(f"{path}: holds no document; expected one JSON object a line")
    return Corpus(tuple(documents), corpus_fingerprint(documents), path)


def corpus_fingerprint(documents: Iterable[Document]) -> str:
    """Return the SHA-256 (hexadecimal) of the documents' content, whatever their order."""
    return of_parts(
        json.dumps([d.id, d.corpus, d.title, d.text, d.extra], sort_keys=True).encode()
        for d in documents
    )


def corpus_bytes(documents: Iterable[Document]) -> bytes:
    """Return the bytes of a file that :func:`read_corpus` reads the same documents from."""
    rows = (
        {
            "id": document.id,
            **({"corpus": document.corpus} if document.corpus != DEFAULT_CORPUS else {}),
            **({"title": document.title} if document.title else {}),
            "text": document.text,
            **document.extra,
        }
        for document in documents
    )
    lines = [json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows]
    return "".join(lines).encode("utf-8")


def _document(value: Any) -> tuple[Document | None, list[str]]:
    if not isinstance(value, dict):
        return None, [f"expected an object, found {kind(value)}"]
    unusable = unusable_part(value)
    if unusable is not None:
        return None, [unusable]
    if "id" in value and "_id" in value:
        return None, [f"{pointer('_id')}: says the same as 'id'; keep one of them"]
    id_name = "_id" if "_id" in value else "id"
    faults = []
    for name in (id_name, "text"):
        found = value.get(name)
        if name not in value:
            faults.append(f"{pointer(name)}: is missing; expected text")
        elif not isinstance(found, str) or (name != "text" and not found.strip()):
            faults.append(f"{pointer(name)}: expected text, found {kind(found)}")
    for name in ("title", "corpus"):
        found = value.get(name)
        is_empty_corpus = name == "corpus" and isinstance(found, str) and not found.strip()
        if found is not None and (not isinstance(found, str) or is_empty_corpus):
            faults.append(f"{pointer(name)}: expected text, found {kind(found)}")
    if faults:
        return None, faults
    extra = {name: item for name, item in value.items() if name not in _OURS}
    corpus, title = value.get("corpus") or DEFAULT_CORPUS, value.get("title") or ""
    return Document(value[id_name], corpus, title, value["text"], extra), []
