"""Gold sets on disk: the field names of a file, and reading, checking and writing of rows."""

from __future__ import annotations

import codecs
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import decode, decode_toml, read_text, write_bytes
from retrieval_eval.io.locks import alone
from retrieval_eval.io.user_files import followed, read_user_bytes
from retrieval_eval.model.gold import (
    DEFAULT_CORPUS,
    DEFAULT_MAX_GRADE,
    FIELDS,
    ORIGINS,
    SOURCES,
    STYLES,
    Anchor,
    FieldMap,
    GoldQuery,
    GoldSet,
    Label,
    RowStyle,
    Source,
    Written,
)
from retrieval_eval.search.gold.corpus import Corpus
from retrieval_eval.search.gold.faults import LineFault, kind, pointer, unusable_part
from retrieval_eval.search.gold.identity import fingerprint, normalize_query, query_id
from retrieval_eval.values import MAX_GRADE

SETTINGS_FILE: Final = "gold.toml"
HEADER_KEY: Final = "gold_set"

_HEADER_HAS: Final = ("fields", "max_grade", "names")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_PATIENCE: Final = 30.0
SEVERAL: Final = "(several)"
"""What found a document, where that was more than one retriever."""

_TENTHS: Final = 1000
"""Shares are printed in tenths of a percent."""


def load_gold_set(path: str | Path, *, fields: FieldMap | None = None) -> GoldSet:
    r"""Return the gold set in a JSONL file: queries with their judged documents.

    A byte-order mark, CRLF, blank lines and a missing line feed at the end are fine. A missing
    ``id`` is derived with :func:`~retrieval_eval.search.gold.identity.query_id`, a plain list of
    documents means grade 1, and ``answerable`` follows from a relevant document where it is not
    stated. All other fields are kept in ``extra``.

    Parameters
    ----------
    path : str or Path
        The file, one query a line.
    fields : FieldMap, optional
        How the file names its fields, and its scale of grades; by default what
        :func:`field_map` finds in the first line and in ``gold.toml`` beside the file.

    Returns
    -------
    GoldSet
        ``queries`` in the order of the file, ``qrels`` (query id to document to grade), and the
        ``fingerprint`` of everything that can move a metric.

    Raises
    ------
    BadInputError
        When the file cannot be read or a line has a fault; the message names every fault, each
        on a line of its own.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "gold-set.jsonl")
    >>> _ = path.write_text('{"query": "late fees", "relevant": {"d1": 2}, "source": "chair"}\n')
    >>> gold = load_gold_set(path)
    >>> gold.queries[0].relevant, gold.queries[0].is_answerable, gold.is_provisional
    ({'d1': 2}, True, False)
    >>> _ = path.write_text('{"query": "late fees", "relevant": {"d1": "high"}}\n')
    >>> load_gold_set(path)
    Traceback (most recent call last):
    retrieval_eval.errors.BadInputError: gold-set.jsonl: line 1: /relevant/d1: expected a whole
    number as grade, found the text 'high'
    ...
    """
    path = Path(path)
    queries, faults = parse_gold(read_user_bytes(path), fields or field_map(path))
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
        queries, faults = parse_gold(read_user_bytes(path), fields or field_map(path))
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
        # A row is one line, and its number is in the message already.
        return None, text, problem.replace("(line 1, ", "(", 1)
    # Decoding keeps the last of two equal keys, which would silently drop a judgement.
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


def field_map(path: Path) -> FieldMap:
    """Return the field names and scale of the gold set at ``path``; the file need not exist.

    Our names and those of :data:`ALSO_UNDERSTOOD` need no setting. Others, and a scale other than
    0 to 2, are stated in ``gold.toml`` beside the file::

        max_grade = 3
        [fields]
        relevant = "answers"

    or in its first line, which goes before ``gold.toml``::

        {"gold_set": {"max_grade": 3, "fields": {"relevant": "answers"}}}

    ``names = "case-law"`` in either place makes new rows use ``practice_area`` and
    ``relevant_case_law_ids``, as rows of a file do that uses them already.

    Raises
    ------
    BadInputError
        When a setting cannot be used; the message names the file and the setting.
    """
    # Tables of other names are settings of other commands.
    field = {
        name: value
        for name, value in gold_toml(path).items()
        if name in _HEADER_HAS or not isinstance(value, dict)
    }
    names, stated, preset = _checked(field, f"{path.parent / SETTINGS_FILE}:")
    max_grade = stated or DEFAULT_MAX_GRADE
    header = _first_line(path)
    value: Any = decode(header)[0]
    if not is_header(value):
        return FieldMap(names, max_grade, None, STYLES[preset or "standard"])
    settings = value[HEADER_KEY]
    own_names, own_max_grade, own_preset = _checked(settings, f"{path}: line 1: /{HEADER_KEY}")
    return FieldMap(
        {**names, **own_names},
        own_max_grade or max_grade,
        header,
        STYLES[own_preset or preset or "standard"],
    )


def style_of(queries: Iterable[GoldQuery], fields: FieldMap) -> RowStyle:
    """Return how new rows of a gold set are written: as most of the rows that were read.

    A field that no row has is called as ``fields`` states.

    Examples
    --------
    >>> row = {"query": "late fees", "relevant_case_law_ids": ["d1"], "source": "chair"}
    >>> query, _ = read_row(row, FieldMap(), text=json.dumps(row))
    >>> style_of([query], FieldMap()).names["area"]
    'practice_area'
    """
    known = fields.meanings()
    used: dict[str, Counter[str]] = {}
    lists: Counter[bool] = Counter()
    for query in queries:
        if query.written is None:
            continue
        for name, value in json.loads(query.written.text).items():
            field = known.get(name)
            if field is None or query.written.fields.meanings().get(name) != field:
                continue
            used.setdefault(field, Counter())[name] += 1
            # Other grades have to be written with their documents, whatever the style.
            if field == "relevant" and query.relevant and set(query.relevant.values()) == {1}:
                lists[isinstance(value, list)] += 1
    found = {field: names.most_common(1)[0][0] for field, names in used.items()}
    style = fields.style
    for preset in STYLES.values():
        if any(found.get(field) == name for field, name in preset.names.items()):
            style = preset
    names = {**style.names, **fields.names, **found}
    has_lists = lists[True] > lists[False] if lists else style.has_lists
    is_renamed = names.get("relevant", "relevant") != "relevant"
    return replace(style, names=names, has_lists=has_lists and is_renamed)


def max_grade_of(gold: GoldSet) -> int:
    """Return the top of the scale of a gold set."""
    return field_map(gold.path).max_grade if gold.path else DEFAULT_MAX_GRADE


def is_header(value: Any) -> bool:
    """Return whether a decoded line states settings and is no row."""
    return isinstance(value, dict) and set(value) == {HEADER_KEY}


def _first_line(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            for raw in stream:
                text = raw.decode("utf-8-sig").strip()
                if text:
                    return text
    except (OSError, UnicodeDecodeError):
        # Reading the rows reports it, with the line.
        return ""
    return ""


def gold_toml(path: Path) -> dict[str, Any]:
    """Return the settings in the ``gold.toml`` beside a gold set, none without that file.

    Raises
    ------
    BadInputError
        When the file cannot be read or is not TOML.
    """
    settings = path.parent / SETTINGS_FILE
    if not settings.exists():
        return {}
    text = read_text(settings, settings.parent)
    if text.value is None:
        raise BadInputError(text.problem)
    document, problem = decode_toml(text.value)
    if problem is not None:
        raise BadInputError(f"{settings}: {problem}")
    return document


def _checked(settings: Any, where: str) -> tuple[dict[str, str], int | None, str | None]:
    known = ", ".join(_HEADER_HAS)
    if not isinstance(settings, dict):
        raise BadInputError(f"{where}: expected an object with some of {known}")
    for key in settings:
        if key not in _HEADER_HAS:
            raise BadInputError(f"{where} unknown setting {key[:80]!r}; known: {known}")
    preset = settings.get("names")
    if preset is not None and (not isinstance(preset, str) or preset not in STYLES):
        raise BadInputError(
            f"{where} names: expected one of {', '.join(STYLES)}, not {str(preset)[:40]!r}"
        )
    max_grade = settings.get("max_grade")
    if max_grade is not None and not _is_scale(max_grade):
        raise BadInputError(
            f"{where} max_grade: expected a whole number from 1 to {MAX_GRADE},"
            f" not {str(max_grade)[:40]}"
        )
    return _checked_names(settings.get("fields", {}), f"{where} fields"), max_grade, preset


def _is_scale(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MAX_GRADE


def _checked_names(names: Any, where: str) -> dict[str, str]:
    if not isinstance(names, dict):
        raise BadInputError(f"{where}: expected standard field names with the names in the file")
    for field, theirs in names.items():
        if field not in FIELDS:
            raise BadInputError(
                f"{where}: unknown field {field[:80]!r}; known: {', '.join(FIELDS)}"
            )
        if not isinstance(theirs, str) or not theirs:
            raise BadInputError(f"{where}: {field}: expected a field name as text")
    if len(set(names.values())) < len(names):
        raise BadInputError(f"{where}: two fields have the same name in the file")
    return dict(names)


def read_row(
    value: Any, fields: FieldMap, *, text: str | None = None, line: int = 0
) -> tuple[GoldQuery | None, list[str]]:
    """Return the query of a decoded row, or None, and a sentence for each fault of the row.

    Parameters
    ----------
    value
        The decoded JSON of one line.
    fields
        How the file names its fields, and its scale of grades.
    text, line
        The line exactly as in the file, and its number.
    """
    if not isinstance(value, dict):
        return None, [f"expected an object, found {kind(value)}"]
    unusable = unusable_part(value)
    if unusable is not None:
        return None, [unusable]
    row = _Row(value, fields)
    query = row.build(None if text is None else Written(text, fields), line)
    return (None if row.faults else query), row.faults


class _Row:
    """A row under inspection; faults are collected so that all of them can be named at once."""

    def __init__(self, row: dict[str, Any], fields: FieldMap) -> None:
        self.max_grade = fields.max_grade
        self.faults: list[str] = []
        self.values: dict[str, Any] = {}
        self.names = {name: name for name in FIELDS}
        self.extra: dict[str, Any] = {}
        meanings = fields.meanings()
        for name, value in row.items():
            field = meanings.get(name)
            if field is None:
                self.extra[name] = value
            elif field in self.values:
                self.fault(f"says the same as {self.names[field]!r}; keep one of them", name)
            else:
                self.names[field], self.values[field] = name, value

    def build(self, written: Written | None, line: int) -> GoldQuery:
        query = self.text("query", is_required=True) or ""
        corpus = self.text("corpus") or DEFAULT_CORPUS
        relevant = self.relevant()
        return GoldQuery(
            id=self.text("id") or query_id(corpus, query),
            query=query,
            corpus=corpus,
            area=self.area(),
            relevant=relevant,
            source=self.source(),
            origin=self.choice("origin", ORIGINS),
            answerable=self.answerable(relevant),
            note=self.note(),
            labels=self.labels(),
            anchors=self.anchors(),
            digests=self.digests(),
            found_by=self.found_by(),
            extra=self.extra,
            line=line,
            written=written,
        )

    def fault(self, message: str, *parts: object) -> None:
        self.faults.append(f"{pointer(*parts)}: {message}")

    def get(self, field: str) -> tuple[Any, str]:
        """Return the value of a field, None without one, and what the file calls it."""
        return self.values.get(field), self.names[field]

    def text(self, field: str, *, is_required: bool = False) -> str | None:
        value, name = self.get(field)
        if is_required and field not in self.values:
            self.fault("is missing; expected text", name)
        elif value is not None or is_required:
            return value if self.is_text(value, "text", name) else None
        return None

    def is_text(self, value: Any, what: str, *parts: object) -> bool:
        is_text = isinstance(value, str) and bool(value.strip())
        if not is_text:
            self.fault(f"expected {what}, found {kind(value)}", *parts)
        return is_text

    def is_document(self, value: Any, *parts: object) -> bool:
        return self.is_text(value, "a document id as text", *parts)

    def area(self) -> str | None:
        # Some exports write "" for a query without an area.
        return None if self.get("area")[0] == "" else self.text("area")

    def note(self) -> str:
        value, name = self.get("note")
        if value is None or isinstance(value, str):
            return value or ""
        self.fault(f"expected text, found {kind(value)}", name)
        return ""

    def choice(self, field: str, known: tuple[Any, ...]) -> Any:
        value, name = self.get(field)
        if value is None or (isinstance(value, str) and value in known):
            return value
        found = repr(value[:80]) if isinstance(value, str) else kind(value)
        self.fault(f"{found} is unknown; expected one of {', '.join(known)}", name)
        return None

    def source(self) -> Source:
        if self.values.get("source") is None:
            # There is no default: bootstrap rows may be overwritten, and chair claims a review.
            self.fault(
                "is missing; use 'chair' for a reviewed row, 'bootstrap' for a generated one",
                self.names["source"],
            )
        return self.choice("source", SOURCES) or "bootstrap"

    def grade(self, value: Any, *parts: object) -> int:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or value != math.floor(value):
            self.fault(f"expected a whole number as grade, found {kind(value)}", *parts)
        elif not 0 <= value <= self.max_grade:
            self.fault(
                f"the grade {str(value)[:40]} is off the scale 0 to {self.max_grade}"
                " (max_grade in gold.toml or in the header line)",
                *parts,
            )
        else:
            return int(value)
        return 0

    def relevant(self) -> dict[str, int]:
        value, name = self.get("relevant")
        if isinstance(value, dict):
            return {
                doc: self.grade(grade, name, doc)
                for doc, grade in value.items()
                if self.is_document(doc, name, doc)
            }
        found: dict[str, int] = {}
        if value is not None and not isinstance(value, list):
            self.fault(f"expected a list of ids or ids with grades, found {kind(value)}", name)
            return found
        for place, doc in enumerate(value or ()):
            if self.is_document(doc, name, place):
                if doc in found:
                    self.fault(f"the document {doc[:80]!r} is listed twice", name, place)
                found[doc] = 1
        return found

    def answerable(self, relevant: dict[str, int]) -> bool | None:
        value, name = self.get("answerable")
        has_relevant = any(relevant.values())
        if value is None:
            return True if has_relevant else None
        if not isinstance(value, bool):
            self.fault(f"expected true or false, found {kind(value)}", name)
            return None
        if not value and has_relevant:
            self.fault("is false, yet a document is judged relevant; one of them is wrong", name)
        return bool(value)

    def labels(self) -> tuple[Label, ...]:
        value, name = self.get("labels")
        if value is not None and not isinstance(value, list):
            self.fault(f"expected a list, found {kind(value)}", name)
            return ()
        labels: list[Label] = []
        seen: set[tuple[str, str]] = set()
        for place, item in enumerate(value or ()):
            if not self.has_members(item, Label, name, place):
                continue
            labeller, doc = item["labeller"], item["doc"]
            if not self.is_document(doc, name, place, "doc"):
                continue
            if not self.is_text(labeller, "text", name, place, "labeller"):
                continue
            if (labeller, doc) in seen:
                self.fault(f"{labeller[:80]!r} labels {doc[:80]!r} a second time", name, place)
            seen.add((labeller, doc))
            labels.append(Label(labeller, doc, self.grade(item["grade"], name, place, "grade")))
        return tuple(labels)

    def anchors(self) -> dict[str, Anchor]:
        value, name = self.get("anchors")
        if value is not None and not isinstance(value, dict):
            self.fault(f"expected documents with their anchors, found {kind(value)}", name)
            return {}
        anchors = {doc: self.anchor(item, name, doc) for doc, item in (value or {}).items()}
        return {doc: anchor for doc, anchor in anchors.items() if anchor is not None}

    def anchor(self, item: Any, *parts: object) -> Anchor | None:
        if not self.has_members(item, Anchor, *parts):
            return None
        n_faults = len(self.faults)
        for key in ("start", "end"):
            if not isinstance(item[key], int) or isinstance(item[key], bool) or item[key] < 0:
                self.fault(f"expected a whole number from 0, found {kind(item[key])}", *parts, key)
        self.is_text(item["source"], "the path of a text", *parts, "source")
        if not isinstance(item["sha256"], str) or not _DIGEST.fullmatch(item["sha256"]):
            self.fault("expected 64 hexadecimal digits in lower case", *parts, "sha256")
        if len(self.faults) == n_faults and item["end"] < item["start"]:
            self.fault(f"ends at {item['end']}, before its start {item['start']}", *parts)
        return Anchor(**item) if len(self.faults) == n_faults else None

    def digests(self) -> dict[str, str]:
        digests = {}
        for doc, value in self.by_document("digests", "documents with their digests").items():
            digest = text_digest_of(value)
            if digest is None:
                self.fault(
                    "expected 64 hexadecimal digits in lower case", self.names["digests"], doc
                )
            else:
                digests[doc] = digest
        return digests

    def found_by(self) -> dict[str, tuple[str, ...]]:
        found = {}
        for doc, names in self.by_document("found_by", "documents with their retrievers").items():
            place = self.names["found_by"], doc
            if not isinstance(names, list):
                self.fault(f"expected a list of names, found {kind(names)}", *place)
            elif all(
                self.is_text(name, "a name as text", *place, n) for n, name in enumerate(names)
            ):
                found[doc] = tuple(sorted(set(names)))
        return found

    def by_document(self, field: str, expected: str) -> dict[str, Any]:
        value, name = self.get(field)
        if value is None or isinstance(value, dict):
            return {doc: item for doc, item in (value or {}).items() if self.is_document(doc, name)}
        self.fault(f"expected {expected}, found {kind(value)}", name)
        return {}

    def has_members(self, item: Any, struct: type[Label | Anchor], *parts: object) -> bool:
        if not isinstance(item, dict):
            self.fault(f"expected an object, found {kind(item)}", *parts)
            return False
        expected = struct.__struct_fields__
        for key in expected:
            if key not in item:
                self.fault("is missing", *parts, key)
        for key in item:
            if key not in expected:
                self.fault(f"is unknown; expected {', '.join(expected)}", *parts, key)
        return set(item) == set(expected)


def text_digest_of(value: Any) -> str | None:
    """Return the digest that an untrusted value states, or None where it is none.

    Earlier versions wrote an object, with further facts about the text.
    """
    stated = value.get("sha256") if isinstance(value, dict) else value
    return stated if isinstance(stated, str) and _DIGEST.fullmatch(stated) else None


def query_line(query: GoldQuery, *, fields: FieldMap | None = None) -> str:
    """Return the line of a query, without a line feed.

    A query that was read and not changed gives exactly the line it came from. A changed one keeps
    the other fields as they were, and the field names of its file. Any other query is written in
    the style of ``fields``: by default under the standard names in their order, defaults left out,
    documents by falling grade.

    Parameters
    ----------
    query
        What to write.
    fields
        How the file that the line goes to names its fields; by default as the file that the
        query came from.

    Examples
    --------
    >>> query_line(GoldQuery("g1", "late fees", "law", relevant={"d2": 1, "d1": 2}, source="chair"))
    '{"id":"g1","query":"late fees","corpus":"law","relevant":{"d1":2,"d2":1},"source":"chair"}'
    """
    written = query.written
    if written is not None:
        row = json.loads(written.text)
        if fields is None or _is_read_alike(row, written.fields, fields):
            changed = _changed(row, written.fields, query)
            return written.text if _dumps(changed) == _dumps(row) else _dumps(changed)
    style = RowStyle() if fields is None else fields.style
    values = _values(query)
    needed = {*style.always, *_stated(query)}
    order = dict.fromkeys([*style.first, *FIELDS])
    stated = {style.names.get(name, name): values[name] for name in order if name in needed}
    if style.has_lists and all(grade == 1 for grade in query.relevant.values()):
        stated[style.names.get("relevant", "relevant")] = list(values["relevant"])
    return _dumps({**stated, **query.extra})


def changing(path: Path) -> AbstractContextManager[None]:
    """Return a block within which no other process of this package changes a gold set.

    What reads a gold set, adds to it and writes it does so within one block, or it would undo what
    another process adds meanwhile. It waits for up to half a minute; raises `BadInputError`.
    """
    return alone(followed(path), "changes it", patience=_PATIENCE)


def write_gold_set(
    path: Path, queries: Iterable[GoldQuery], *, max_grade: int | None = None
) -> None:
    """Write a gold set, whole or not at all, in the order of ``queries``.

    The header line of a file that is replaced stays, and so does the meaning of ``gold.toml``
    beside it. A link stays a link, and what it leads to is written.

    Parameters
    ----------
    path
        The file to write or replace.
    queries
        Its rows.
    max_grade
        The top of the scale; a header line declares it where the file or ``gold.toml`` states a
        lower one.

    Raises
    ------
    BadInputError
        When the file cannot be written, or could not be read back as it is, for instance with two
        queries of one id or a grade off the scale. Nothing is written then.
    """
    data = gold_set_bytes(path, queries, max_grade=max_grade)
    write_bytes(followed(path), data)


def gold_set_bytes(
    path: Path, queries: Iterable[GoldQuery], *, max_grade: int | None = None
) -> bytes:
    """Return what :func:`write_gold_set` would write; raises the same errors."""
    fields = field_map(path)
    if max_grade is not None and max_grade > fields.max_grade:
        fields = _with_scale(fields, max_grade)
    queries = list(queries)
    fields = replace(fields, style=style_of(queries, fields))
    lines = [query_line(query, fields=fields) for query in queries]
    head = [] if fields.header is None else [fields.header]
    data = "".join(f"{line}\n" for line in (*head, *lines)).encode("utf-8", "surrogatepass")
    back, faults = parse_gold(data, fields)
    refuse(f"{path.name} (not written)", faults)
    for query, read in zip(queries, back, strict=True):
        if not says_same(query, read):
            raise BadInputError(
                f"{path.name} (not written): the query {query.id[:80]!r} could not be read back as"
                " it is; one of its pass-through fields has the name of a gold field"
            )
    return data


def _with_scale(fields: FieldMap, max_grade: int) -> FieldMap:
    header = json.loads(fields.header) if fields.header is not None else {HEADER_KEY: {}}
    header[HEADER_KEY]["max_grade"] = max_grade
    return replace(fields, max_grade=max_grade, header=_dumps(header))


def _is_read_alike(row: dict[str, Any], one: FieldMap, other: FieldMap) -> bool:
    here, there = one.meanings(), other.meanings()
    return all(here.get(name) == there.get(name) for name in row)


def _changed(row: dict[str, Any], fields: FieldMap, query: GoldQuery) -> dict[str, Any]:
    """Return the row with the fields that differ between the query as read and as it is now."""
    was, _ = read_row(row, fields)
    assert was is not None
    old, new, meanings = _values(was), _values(query), fields.meanings()
    style = style_of([query], fields)
    found: dict[str, Any] = {}
    for name, value in row.items():
        field = meanings.get(name)
        if field is not None:
            found[name] = value if old[field] == new[field] else new[field]
            if field == "relevant" and isinstance(value, list):
                found[name] = _as_list(value, new[field])
        elif name in query.extra:
            found[name] = query.extra[name]
    stated = _stated(query) - {meanings.get(name) for name in row}
    for field in FIELDS:
        if field in stated:
            found[fields.names.get(field) or style.names.get(field, field)] = new[field]
    return {**found, **query.extra}


def _as_list(old: list[str], grades: Mapping[str, int]) -> Any:
    """Return the documents in the order they had, new ones last; the grades where one is not 1."""
    if any(grade != 1 for grade in grades.values()):
        return grades
    return [*(doc for doc in old if doc in grades), *(doc for doc in grades if doc not in old)]


def _stated(query: GoldQuery) -> set[str]:
    """Return the fields whose values do not follow from the others, and are no defaults."""
    plain = GoldQuery(
        query_id(query.corpus, query.query), query.query, query.corpus, relevant=query.relevant
    )
    default, values = _values(plain), _values(query)
    return {name for name in FIELDS if values[name] != default[name]}


def says_same(query: GoldQuery, other: GoldQuery) -> bool:
    """Return whether two rows have the same meaning, fields that are passed through included."""
    return _values(query) == _values(other) and query.extra == other.extra


def _values(query: GoldQuery) -> dict[str, Any]:
    """Return the JSON values of all fields, each in the one form that has its meaning."""
    relevant = sorted(query.relevant.items(), key=lambda pair: (-pair[1], pair[0]))
    plain = replace(
        query,
        relevant=dict(relevant),
        answerable=query.is_answerable,
        anchors=dict(sorted(query.anchors.items())),
        digests=dict(sorted(query.digests.items())),
        found_by=dict(sorted(query.found_by.items())),
    )
    return {name: msgspec.to_builtins(getattr(plain, name)) for name in FIELDS}


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def gold_stats(gold: GoldSet) -> dict[str, Any]:
    """Return the composition of a gold set as a JSON-able document.

    ``composition`` has queries by ``corpus``, ``area``, ``origin``, ``source`` and
    ``answerable``, judged pairs of query and document by ``grade``, and relevant ones by the one
    retriever that had found them (``found_by``). Each is an object with
    what it counts (``unit``), its total ``n``, and its ``parts``: the ``value`` (null where the
    queries say nothing), ``n``, ``share`` of the total, and ``percent``, which is the share
    rounded by largest remainder so that the parts add up to 100.0.

    ``n_unlabelled`` counts the queries without a relevant document that are not marked as
    unanswerable. A set without queries has no parts.
    """
    queries = gold.queries
    grades = Counter(grade for query in queries for grade in query.relevant.values())
    answerable = Counter(query.answerable for query in queries)
    return {
        "fingerprint": gold.fingerprint,
        "is_provisional": gold.is_provisional,
        "n_queries": len(queries),
        "n_labelled_pairs": grades.total(),
        "n_relevant_pairs": sum(query.n_relevant for query in queries),
        "n_unlabelled": sum(
            query.n_relevant == 0 and query.answerable is not False for query in queries
        ),
        "n_labels": sum(len(query.labels) for query in queries),
        "n_anchors": sum(len(query.anchors) for query in queries),
        "composition": {
            "corpus": _parts("queries", Counter(query.corpus for query in queries)),
            "area": _parts("queries", Counter(query.area for query in queries)),
            "origin": _parts("queries", Counter(query.origin for query in queries), ORIGINS),
            "source": _parts("queries", Counter(query.source for query in queries), SOURCES),
            "answerable": _parts("queries", answerable, (True, False)),
            "grade": _parts("judged pairs", grades),
            "found_by": _parts("relevant pairs", _finders(queries)),
        },
    }


def _finders(queries: Iterable[GoldQuery]) -> Counter[str | None]:
    """Return relevant pairs by the only retriever that found them; None where it is not known."""
    found: Counter[str | None] = Counter()
    for query in queries:
        for doc, grade in query.relevant.items():
            names = query.found_by.get(doc)
            if grade >= 1:
                found[(names[0] if len(names) == 1 else SEVERAL) if names else None] += 1
    return found


def percents(counts: Sequence[int]) -> list[float]:
    """Return each count's share of their sum in percent, to one decimal, adding up to 100.0.

    Shares are cut to a tenth of a percent; the tenths left over go to the largest remainders, on
    a tie to the earlier one (the method of Hare and Niemeyer). Empty when the sum is 0.

    Examples
    --------
    >>> percents([1, 1, 1])
    [33.4, 33.3, 33.3]
    """
    total = sum(counts)
    if total == 0:
        return []
    tenths = [count * _TENTHS // total for count in counts]
    remainders = [count * _TENTHS % total for count in counts]
    by_remainder = sorted(range(len(counts)), key=lambda place: -remainders[place])
    for place in by_remainder[: _TENTHS - sum(tenths)]:
        tenths[place] += 1
    return [count / 10 for count in tenths]


def _parts(unit: str, counts: Mapping[Any, int], order: Iterable[Any] = ()) -> dict[str, Any]:
    """Return the parts in the given order, else by value; unstated values come last."""
    known = [value for value in order if value in counts]
    rest = sorted(value for value in counts if value is not None and value not in known)
    values = [*known, *rest, *([None] if None in counts else [])]
    total = sum(counts.values())
    rounded = percents([counts[value] for value in values])
    return {
        "unit": unit,
        "n": total,
        "parts": [
            {"value": value, "n": counts[value], "share": counts[value] / total, "percent": percent}
            for value, percent in zip(values, rounded, strict=True)
        ],
    }
