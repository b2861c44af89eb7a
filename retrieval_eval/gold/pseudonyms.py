"""Pseudonyms for a gold set and its corpus, so that both can leave the house."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from retrieval_eval.errors import BadInputError
from retrieval_eval.gold.corpus import read_corpus
from retrieval_eval.gold.fields import DEFAULT_MAX_GRADE, HEADER_KEY, FieldMap, field_map, is_header
from retrieval_eval.gold.ids import query_id
from retrieval_eval.gold.pseudonym_list import read_listed
from retrieval_eval.gold.pseudonym_mapping import mapping_bytes, new_mapping, read_mapping
from retrieval_eval.gold.pseudonym_text import Hider, entities_found
from retrieval_eval.gold.reading import parse_gold, read_gold_set, refuse
from retrieval_eval.gold.rows import DEFAULT_CORPUS
from retrieval_eval.io.files import is_inside, is_there, iter_jsonl
from retrieval_eval.io.private import write_private
from retrieval_eval.io.together import write_together

GOLD_FILE: Final = "gold-set.jsonl"
CORPUS_FILE: Final = "corpus.jsonl"

_ENUMERATED: Final = frozenset({"source", "origin", "answerable"})
_LABEL: Final = frozenset({"labeller", "doc", "grade"})
_DOCUMENT: Final = frozenset({"id", "_id", "title", "text", "corpus"})
_LONG: Final = 10**7

Text = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class PseudonymResult:
    """What was written, and how often something was replaced, by kind.

    ``n_found`` of the ``n_entities`` listed occurred at all. ``n_anchors`` were left out, and
    ``n_ids`` ids that were digests of their query are digests of the new one.
    """

    gold: Path
    corpus: Path | None
    mapping: Path
    n_hidden: Mapping[str, int]
    n_entities: int
    n_found: int
    n_queries: int
    n_documents: int
    n_anchors: int
    n_ids: int


def pseudonymize(
    gold: Path, entities: Path, out: Path, mapping: Path, *, corpus: Path | None = None
) -> PseudonymResult:
    """Write a gold set and its corpus with pseudonyms for names and stand-ins for identifiers.

    An entity has one pseudonym wherever it occurs: in queries, texts, document ids, notes,
    labels, paths and fields of others; in any case, with any punctuation between its words, and
    where markup, invisible characters or escapes split it. Ids are renamed alike on both
    sides, so that judgements still match. Anchors are left out: their places belong to the
    original sources, and their digests would let anyone check a guess.

    Parameters
    ----------
    gold, corpus
        The files to read.
    entities
        The list of names and of further patterns (see :func:`read_listed`).
    out
        The folder for ``gold-set.jsonl`` and ``corpus.jsonl``.
    mapping
        The secret file with the key and who is who, outside ``out``. If it exists it is used and
        extended: the same input then gives the same bytes. Its mode is 0600.

    Raises
    ------
    BadInputError
        When a file has faults, the mapping would lie beside what is given away, or two ids
        would become one. No pseudonymised file is written then.
    """
    _check_places(gold, out, mapping, corpus)
    # Read for their faults: every one is named by line before anything is written.
    n_queries = len(read_gold_set(gold).queries)
    documents = 0 if corpus is None else len(read_corpus(corpus).documents)
    listed = read_listed(entities)
    secret = read_mapping(mapping) if is_there(mapping) else new_mapping()
    fields = field_map(gold)
    gold_rows = [row for row in _rows(gold) if not is_header(row)]
    corpus_rows = [] if corpus is None else _rows(corpus)
    hider = Hider(listed, secret)
    for row in gold_rows:
        _gold_row(row, fields, _collecting(hider))
    for row in corpus_rows:
        _corpus_row(row, _collecting(hider))
    hider.draw()
    _check_field_names(fields, hider)
    new_gold = [_gold_row(row, fields, hider.hide) for row in gold_rows]
    new_corpus = [_corpus_row(row, hider.hide) for row in corpus_rows]
    _check_ids(corpus_rows, new_corpus)
    target = out / GOLD_FILE
    lines = _lines([*_header(fields), *new_gold])
    refuse(
        f"{target.name} (not written)",
        parse_gold(lines, FieldMap(fields.names, fields.max_grade))[1],
    )
    files = {target: lines}
    if corpus is not None:
        files[out / CORPUS_FILE] = _lines(new_corpus)
    # The mapping first: without it, what was written could never be extended.
    write_private(mapping, mapping_bytes(secret))
    write_together(files)
    return PseudonymResult(
        gold=target,
        corpus=None if corpus is None else out / CORPUS_FILE,
        mapping=mapping,
        n_hidden=dict(sorted(hider.n_hidden.items())),
        n_entities=len(listed.entities),
        n_found=entities_found(listed, hider),
        n_queries=n_queries,
        n_documents=documents,
        n_anchors=sum(len(_named(row, fields).get("anchors") or ()) for row in gold_rows),
        n_ids=sum(_is_derived(_named(row, fields)) for row in gold_rows),
    )


def _check_places(gold: Path, out: Path, mapping: Path, corpus: Path | None) -> None:
    if is_inside(mapping, out):
        raise BadInputError(f"{mapping}: lies in {out}, the folder to give away; keep it elsewhere")
    written = {os.path.realpath(out / name) for name in (GOLD_FILE, CORPUS_FILE)}
    for path in (gold, corpus):
        if path is not None and os.path.realpath(path) in written:
            raise BadInputError(f"{path}: would be replaced; choose another folder than {out}")


def _rows(path: Path) -> list[dict[str, Any]]:
    real = Path(os.path.realpath(path))
    return [line.value for line in iter_jsonl(real, real.parent)]


def _lines(rows: Iterable[Mapping[str, Any]]) -> bytes:
    texts = (json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows)
    return "".join(f"{text}\n" for text in texts).encode("utf-8")


def _header(fields: FieldMap) -> list[dict[str, Any]]:
    """Return the header line that says what ``gold.toml`` said beside the original."""
    if not fields.names and fields.max_grade == DEFAULT_MAX_GRADE:
        return []
    settings: dict[str, Any] = {"max_grade": fields.max_grade}
    if fields.names:
        settings["fields"] = dict(fields.names)
    return [{HEADER_KEY: settings}]


def _collecting(hider: Hider) -> Text:
    def collect(text: str) -> str:
        hider.collect(text)
        return text

    return collect


def _named(row: Mapping[str, Any], fields: FieldMap) -> dict[str, Any]:
    """Return the values of a row under our names."""
    meanings = fields.meanings()
    return {meanings[name]: value for name, value in row.items() if name in meanings}


def _is_derived(named: Mapping[str, Any]) -> bool:
    corpus = named.get("corpus") or DEFAULT_CORPUS
    return named.get("id") == query_id(corpus, named["query"])


def _gold_row(row: Mapping[str, Any], fields: FieldMap, text: Text) -> dict[str, Any]:
    meanings = fields.meanings()
    named = _named(row, fields)
    new: dict[str, Any] = {}
    for name, value in row.items():
        ours = meanings.get(name)
        if ours is None:
            _put(new, text(name), _hidden(value, text))
        elif ours in _ENUMERATED:
            new[name] = value
        elif ours == "labels" and value is not None:
            new[name] = [{key: _hidden(label[key], text) for key in label} for label in value]
        elif ours == "id" and _is_derived(named):
            # A digest of the query that was: anyone could check a guess with it.
            corpus = text(named.get("corpus") or DEFAULT_CORPUS)
            new[name] = query_id(corpus, text(named["query"]))
        elif ours != "anchors":
            new[name] = _hidden(value, text)
    return new


def _corpus_row(row: Mapping[str, Any], text: Text) -> dict[str, Any]:
    new: dict[str, Any] = {}
    for name, value in row.items():
        _put(new, name if name in _DOCUMENT else text(name), _hidden(value, text))
    return new


def _put(row: dict[str, Any], name: str, value: Any) -> None:
    if name in row:
        raise BadInputError(f"two fields would be called {name[:80]!r}; rename one of them first")
    row[name] = value


def _hidden(value: Any, text: Text) -> Any:
    if isinstance(value, str):
        return text(value)
    if isinstance(value, dict):
        new = {text(key): _hidden(item, text) for key, item in value.items()}
        if len(new) < len(value):
            raise BadInputError(_clash(value, text))
        return new
    if isinstance(value, list):
        return [_hidden(item, text) for item in value]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and value == int(value) and abs(value) >= _LONG:
        # An account number may be stored as a number, 1234567890.0 as well as 1234567890.
        changed = text(str(int(value)))
        return int(changed) if changed.lstrip("-").isdigit() else changed
    return value


def _clash(names: Iterable[str], text: Text) -> str:
    first: dict[str, str] = {}
    for name in names:
        other = first.setdefault(text(name), name)
        if other != name:
            return (
                f"{other[:80]!r} and {name[:80]!r} would become the same;"
                " list them as entities of their own, or rename one"
            )
    return "two names would become the same"


def _check_ids(old: Iterable[Mapping[str, Any]], new: Iterable[Mapping[str, Any]]) -> None:
    first: dict[tuple[str, str], str] = {}
    for before, after in zip(old, new, strict=True):
        name = "_id" if "_id" in after else "id"
        key = after.get("corpus") or DEFAULT_CORPUS, after[name]
        if key in first:
            raise BadInputError(
                f"the documents {first[key][:80]!r} and {before[name][:80]!r} would get the same"
                " id; list their names as entities of their own, or rename one"
            )
        first[key] = before[name]


def _check_field_names(fields: FieldMap, hider: Hider) -> None:
    for name in fields.names.values():
        if hider.holds_name(name):
            raise BadInputError(
                f"the field {name[:80]!r} has a listed name in it; rename the field first"
            )
