"""Trace formats: each module of this folder declares how its format is recognised and read.

A format is recognised by content and never by its file's name. Another distribution adds one
with an entry point of the group ``retrieval_eval.formats`` whose object is a :class:`LineFormat`,
a :class:`DocumentFormat`, a :class:`FileFormat` or a :class:`StoreFormat`.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as copy_of
from fnmatch import fnmatchcase
from functools import wraps
from io import BytesIO
from itertools import chain, islice
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, Literal, TypeVar

from msgspec.structs import replace

from retrieval_eval.agents.traces.reading import NEWEST_UNREAD, Reading, Several, Unreadable
from retrieval_eval.agents.traces.tokens import Item, Usage
from retrieval_eval.agents.traces.untrusted import dict_of, text_of
from retrieval_eval.io.files import (
    HEAD_BYTES,
    NOT_UTF8,
    TOO_MANY,
    Line,
    content_kind,
    decode,
    entries,
    first_bytes,
    is_inside,
    iter_jsonl,
    json_lines,
    label,
    probe,
    read_json,
)
from retrieval_eval.io.packed import PackedError, unpacked
from retrieval_eval.io.spooled import like
from retrieval_eval.io.sqlite import Database, DatabaseError, reading_database
from retrieval_eval.registry import Registry

_HEAD = 200
"""Lines that are looked at before a file counts as unknown."""

_SHOWN_FIELDS = 5

Mark = Callable[[Mapping[str, Any]], bool]
"""Whether a JSON object shows a format; the object is untrusted, any field may hold any type."""

Kept = Literal["times", "tokens", "cost", "model", "version", "sub-agents"]
"""What a format may keep besides calls and results: the version is the harness's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineFormat:
    """A format of JSON lines: events that the agent's harness wrote one after another.

    Parameters
    ----------
    recognises
        Whether one line, a decoded JSON object, proves the format. The first line of a file that
        any format recognises decides.
    read
        Reads the lines of a file, given its name for messages. Must not raise on their content:
        what cannot be used is collected with
        :class:`~retrieval_eval.agents.traces.reading.Complaints`.
    example
        A few lines with at least one call and its result.
    keeps
        What its files keep besides calls and results, for the table of formats.
    counters
        What its counts of tokens and costs count, in a sentence: of which run, with or without the
        cached tokens, the sub-agents and copied history. Empty: not known, so that none is stated.
    source
        What it was read from, where no dialect of a harness states it.
    may_be
        A weaker sign, used as the last resort when no line proves any format.
    priority
        The format with the higher priority is tried first on a line. Formats of this package
        have priorities from 0 to 9, those of bare messages -1.
    file_names
        Names of files to look into besides ``*.jsonl`` and ``*.txt``; a ``*`` is any text.
    folders
        Names of folders below which files with such names may lie, besides ``sessions``.
    event_folders
        Names of folders in which the harness writes each event to a JSON file of its own. Their
        files are read as the lines of one file, in the order of the numbers in their names.
    sub_agent_files
        Where the files of a session's sub-agents lie, seen from the folder of its own file:
        patterns in which ``{name}`` is that file's name without its ending, ``{session}`` an id of
        the session, and a folder ``**`` any depth. Without these two, files belong to the session
        that they name as theirs (:attr:`Reading.part_of`).
    placed
        Takes the path of a file, the folder out of which nothing is read, and the file's reading;
        returns the reading with what the place and the files beside it say of the sub-agent.
    has_workdirs
        Whether a command that did not run in the session's folder is with the folder it ran in.

    Examples
    --------
    >>> from retrieval_eval.records import ToolCall
    >>> def read(lines, name):
    ...     calls = (line.value for line in lines if isinstance(line.value, dict))
    ...     items = [ToolCall(str(c.get("id")), str(c.get("tool")), {}, None) for c in calls]
    ...     return Reading("my-agent", tuple(items))
    >>> my_agent = LineFormat(
    ...     recognises=lambda line: line.get("writer") == "my-agent",
    ...     read=read,
    ...     example=({"writer": "my-agent", "id": "1", "tool": "read_file"},),
    ... )
    >>> my_agent.recognises(my_agent.example[0])
    True
    """

    recognises: Mark
    read: Callable[[Iterable[Line], str], Reading | Unreadable]
    example: Sequence[Mapping[str, Any]]
    may_be: Mark | None = None
    priority: int = 0
    file_names: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    event_folders: tuple[str, ...] = ()
    sub_agent_files: tuple[str, ...] = ()
    placed: Callable[[Path, Path, Reading], Reading] | None = None
    has_workdirs: bool = True
    keeps: tuple[Kept, ...] = ()
    counters: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentFormat:
    """A format of one JSON document; the fields are those of :class:`LineFormat`.

    ``recognises`` and ``read`` take the whole document, which is an object: an array is read as
    the lines of a line format. ``file_names`` are read besides ``trajectory.json``.
    """

    recognises: Mark
    read: Callable[[Mapping[str, Any], str], Reading | Unreadable]
    example: Mapping[str, Any]
    may_be: Mark | None = None
    priority: int = 0
    file_names: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    sub_agent_files: tuple[str, ...] = ()
    keeps: tuple[Kept, ...] = ()
    counters: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFormat:
    """A format that is no JSON text, such as an archive or a database.

    ``recognises`` takes the first bytes of a file; ``read`` takes its path and its name for
    messages, and must not raise on what the file holds. ``example`` is the content of one.
    """

    recognises: Callable[[bytes], bool]
    read: Callable[[Path, str], Reading | Unreadable]
    example: bytes
    priority: int = 0
    file_names: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    keeps: tuple[Kept, ...] = ()
    counters: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """An SQLite database below ``trial_dir`` in which a harness keeps its sessions."""

    path: Path
    trial_dir: Path

    @property
    def name(self) -> str:
        """The file's name in messages."""
        return label(self.path, self.trial_dir)

    def reading(self, read: Callable[[Database], Reading | Unreadable]) -> Reading | Unreadable:
        """Return what ``read`` finds in the open database, with what is missing from it."""
        try:
            with reading_database(self.path, self.trial_dir) as database:
                found = read(database)
        except DatabaseError as error:
            return Unreadable(str(error))
        if not isinstance(found, Reading):
            return found
        flags, problems = list(found.flags), [*found.problems, *database.problems]
        if database.problems:
            flags.append("malformed_step")
        if database.is_log_unread:
            flags.append(NEWEST_UNREAD)
            log = "the write-ahead log beside it cannot be read: its last steps are missing"
            problems.append(f"{self.name}: {log}")
        return replace(found, flags=tuple(dict.fromkeys(flags)), problems=tuple(problems))


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreFormat:
    """A format of an SQLite database; the fields that others have too are those of FileFormat.

    ``tables`` names the tables that prove the format, and of each the columns it has to have.
    ``read`` takes the database, and must not raise on what its rows hold. ``example`` is a script
    that makes a database with one session.
    """

    tables: Mapping[str, tuple[str, ...]]
    read: Callable[[Store], Reading | Unreadable]
    example: str
    priority: int = 0
    file_names: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    keeps: tuple[Kept, ...] = ()
    counters: str = ""
    source: str = ""

    def recognises(self, database: Database) -> bool:
        """Return whether a database has the tables."""
        return all(
            set(columns) <= database.tables.get(table, frozenset())
            for table, columns in self.tables.items()
        )


Format = LineFormat | DocumentFormat | FileFormat | StoreFormat


class _Formats(Registry[Format]):
    def add(self, name: str, entry: Format) -> Format:
        if not isinstance(entry, Format):
            raise TypeError(
                f"{entry!r} is no LineFormat, DocumentFormat, FileFormat or StoreFormat"
            )
        return super().add(name, entry if entry.counters else _uncounted(entry))


def _uncounted(entry: Format) -> Format:
    """Return a format of which nothing is known about its counters, without what they count."""
    read: Callable[..., Reading | Unreadable] = entry.read

    @wraps(read)
    def without_counts(*given: Any) -> Reading | Unreadable:
        return _without_counts(read(*given))

    kept: dict[str, Any] = {"read": without_counts}
    return copy_of(entry, **kept)


def _without_counts(found: Reading | Unreadable) -> Reading | Unreadable:
    if isinstance(found, Several):
        read = found.read
        return copy_of(found, read=lambda name: _without_counts(read(name)))
    if not isinstance(found, Reading):
        return found
    kept = (item for item in found.items if not isinstance(item, Usage))
    items = like(found.items, Item, kept)
    return replace(found, items=items, declared_tokens=None, declared_cost_usd=None)


FORMATS = _Formats(
    "retrieval_eval.formats",
    "trace format",
    tuple(f"{__name__}.{module.name}" for module in iter_modules(__path__)),
)

_F = TypeVar("_F", LineFormat, DocumentFormat)


def _recognised(kind: type[_F], values: Sequence[Mapping[str, Any]]) -> _F | None:
    """Return the format of the first value that proves one, else of the first weaker sign."""
    known = [entry for _, entry in FORMATS.items() if isinstance(entry, kind)]
    known.sort(key=lambda entry: -entry.priority)
    for value in values:
        for entry in known:
            if entry.recognises(value):
                return entry
    for value in values:
        for entry in known:
            if entry.may_be is not None and entry.may_be(value):
                return entry
    return None


def is_file_name(name: str) -> bool:
    """Whether some format may be found in a file of this name, whatever its ending."""
    patterns = (pattern for _, entry in FORMATS.items() for pattern in entry.file_names)
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def folder_names() -> list[str]:
    """Return the names of the folders below which the files of sessions may lie."""
    return sorted({"sessions", *(name for _, e in FORMATS.items() for name in e.folders)})


def event_folder_names() -> frozenset[str]:
    """Return the names of folders whose JSON files are one event each."""
    known = (entry for _, entry in FORMATS.items() if isinstance(entry, LineFormat))
    return frozenset(name for entry in known for name in entry.event_folders)


def has_workdirs(name: str) -> bool:
    """Return whether the traces of a format tell of each command in which folder it ran."""
    known = (entry for key, entry in FORMATS.items() if key == name)
    return all(entry.has_workdirs for entry in known if isinstance(entry, LineFormat))


def tried() -> str:
    """Return the names of all formats that are tried, for a message."""
    return "formats tried: " + ", ".join(sorted(FORMATS))


def read_file(path: Path, trial_dir: Path) -> Reading | Unreadable:
    """Read a file in whichever known format it has: lines, a document, an archive, a database.

    Links that lead out of ``trial_dir`` are not followed.
    """
    name = label(path, trial_dir)
    head, problem = first_bytes(path, trial_dir)
    if problem is not None:
        return Unreadable(problem)
    for entry in FORMATS.values():
        if isinstance(entry, FileFormat) and entry.recognises(head):
            return entry.read(path, name)
    kind = content_kind(head)
    if kind == "an SQLite database":
        return _read_store(Store(path=path, trial_dir=trial_dir))
    if kind in ("a gzip file", "a zstd file"):
        return _read_packed(path, trial_dir)
    if kind in _NO_JSON:
        return _unknown(name, f"{kind}{_ADVICE.get(kind, '')}")
    if head.lstrip().startswith(_AIDER):
        return _unknown(name, "a chat history of aider: prose without tool calls")
    if kind in {"JSON lines", "text"}:
        return read_line_file(path, trial_dir)
    document = read_document_file(path, trial_dir)
    if isinstance(document, Reading | Several):
        return document
    lines = read_line_file(path, trial_dir)
    return lines if isinstance(lines, Reading | Several) else document


def _read_store(store: Store) -> Reading | Unreadable:
    formats: list[StoreFormat] = []

    def recognise(database: Database) -> Unreadable:
        entries = (entry for entry in FORMATS.values() if isinstance(entry, StoreFormat))
        formats.extend(entry for entry in entries if entry.recognises(database))
        tables = ", ".join(table[:40] for table in sorted(database.tables)[:_SHOWN_FIELDS])
        return _unknown(store.name, f"an SQLite database with the tables {tables}")

    found = store.reading(recognise)
    return formats[0].read(store) if formats else found


def _read_packed(path: Path, trial_dir: Path) -> Reading | Unreadable:
    """Read a packed file of lines or of one document."""
    name = label(path, trial_dir)
    try:
        data = unpacked(path, trial_dir)
    except PackedError as error:
        return Unreadable(f"{name}: {error}")
    kind = content_kind(data[:HEAD_BYTES])
    if kind in _NO_JSON or "file" in kind or "database" in kind:
        return _unknown(name, f"{kind} that is packed")
    if kind not in ("JSON lines", "text"):
        value, problem = decode(data.removeprefix(BOM_UTF8))
        if problem == NOT_UTF8:
            return Unreadable(f"{name}: {NOT_UTF8}")
        if problem is None:
            return read_document(value, name)
        if problem.startswith(TOO_MANY):
            return Unreadable(f"{name}: {problem}")
    return read_lines(json_lines(BytesIO(data), name), name)


OF_VIBE = frozenset({"generationStatus", "inputEntryId", "turnId"})
"""Members of the entries that Mistral Vibe prints."""
_AIDER = b"# aider chat started at"
_NO_JSON = frozenset(
    {"a zip archive", "UTF-16 text", "binary data", "an empty file", "a page of HTML"}
)


_ADVICE = {"UTF-16 text": ", which has to be saved as UTF-8"}


def _unknown(name: str, found: str) -> Unreadable:
    if found == "an empty file":
        return Unreadable(f"{name}: the file is empty")
    return Unreadable(f"{name}: not a known trace format (found {found})", is_unknown=True)


def read_document_file(path: Path, trial_dir: Path) -> Reading | Unreadable:
    """Read a file that should hold one document; one with the lines of a line format is read too.

    Links that lead out of ``trial_dir`` are not followed.
    """
    name = label(path, trial_dir)
    document = read_json(path, trial_dir)
    if document.problem is not None:
        lines = read_line_file(path, trial_dir)
        return lines if isinstance(lines, Reading) else Unreadable(document.problem)
    return read_document(document.value, name)


def read_document(document: Any, name: str) -> Reading | Unreadable:
    """Read a decoded JSON document in whichever known format it has.

    The entries of an array are read as the lines of a line format, and so is an object that could
    be a line of one.
    """
    if isinstance(document, list):
        lines = read_lines((Line(n, entry) for n, entry in enumerate(document, start=1)), name)
        is_known = isinstance(lines, Reading | Several) or not lines.is_unknown
        return lines if is_known else _unknown(name, _description(document, "an array of entries"))
    if not isinstance(document, dict):
        return _unknown(name, f"JSON that is no object: {str(document)[:40]!r}")
    found = _of_object(document)
    if isinstance(found, LineFormat):
        return found.read([Line(1, document)], name)
    if found is None:
        fields = ", ".join(str(key)[:40] for key in islice(document, _SHOWN_FIELDS))
        return _unknown(name, f"a JSON object with the fields {fields}" if fields else "{}")
    return found.read(document, name)


def _of_object(
    document: Mapping[str, Any], *, is_line: bool = False
) -> LineFormat | DocumentFormat | None:
    """Return the format of one object, which may be a document or the only line of a file."""
    whole = _recognised(DocumentFormat, [document])
    line = _recognised(LineFormat, [document])
    if whole is None or line is None:
        return whole or line
    # A format that is sure comes before one for which there is only a weaker sign.
    doubts = (not whole.recognises(document), not line.recognises(document))
    if doubts[0] != doubts[1]:
        return whole if doubts[1] else line
    return line if line.priority >= whole.priority + (not is_line) else whole


_NUMBER = re.compile(r"\d{1,9}")
_STATE = "base_state.json"
"""A file beside a folder of events that describes their session."""


def read_event_folder(folder: Path, trial_dir: Path) -> Reading | Unreadable:
    """Read a folder of one JSON file for each event as the lines of one file.

    A line has the number in its file's name. Links out of ``trial_dir`` are not followed.
    """
    files = [path for path in entries(folder) if path.suffix == ".json" and probe(path.is_file)]
    numbered = [(_number_in(path.name), path) for path in files]
    numbered.sort(key=lambda entry: (entry[0], entry[1].name))
    state = folder.parent / _STATE
    if probe(state.is_file) and is_inside(state, trial_dir):
        numbered.insert(0, (0, state))
    return read_lines(_lines(numbered, trial_dir), label(folder, trial_dir))


def _number_in(name: str) -> int:
    found = _NUMBER.search(name)
    return int(found[0]) if found is not None else 0


def _lines(numbered: Iterable[tuple[int, Path]], trial_dir: Path) -> Iterator[Line]:
    for number, path in numbered:
        document = read_json(path, trial_dir)
        yield Line(number, document.value, document.problem)


def read_line_file(path: Path, trial_dir: Path) -> Reading | Unreadable:
    """Read a file of JSON lines; a link that leads out of ``trial_dir`` is not followed."""
    name = label(path, trial_dir)
    if not is_inside(path, trial_dir):
        return Unreadable(f"{name}: a link that leads out of the trial is not followed")
    return read_lines(iter_jsonl(path, trial_dir), name)


def read_lines(lines: Iterable[Line], name: str) -> Reading | Unreadable:
    """Read JSON lines in whichever known format they have.

    Parameters
    ----------
    lines
        The file's lines; each is decoded once and they are not kept.
    name
        The file's name in messages.
    """
    rest = iter(lines)
    head = list(islice(rest, _HEAD))
    values = [line.value for line in head if isinstance(line.value, dict)]
    found = _recognised(LineFormat, values)
    if len(head) == len(values) == 1:
        whole = _of_object(values[0], is_line=True)
        if isinstance(whole, DocumentFormat):
            return whole.read(values[0], name)
    if found is not None:
        only = head[0].value if len(head) == 1 else None
        whole = _recognised(DocumentFormat, [only]) if isinstance(only, dict) else None
        if whole is not None and whole.priority > found.priority:
            # A document on one line, which also looks like a line of another format.
            return whole.read(head[0].value, name)
        return found.read(chain(head, rest), name)
    if not head:
        return Unreadable(f"{name}: the file is empty")
    if len(head) == 1 and head[0].number == 0:
        return Unreadable(head[0].problem or f"{name}: cannot be read")
    return _unknown(name, _description([line.value for line in head]))


def _description(values: list[Any], unit: str = "JSON lines") -> str:
    if any(dict_of(value).keys() >= OF_VIBE for value in values[:_HEAD]):
        return "what Mistral Vibe prints: its journal says what the model was given"
    kinds = [kind[:40] for value in values[:_HEAD] if (kind := text_of(dict_of(value).get("type")))]
    if kinds:
        return f"{unit} of type {', '.join(sorted(set(kinds))[:4])}"
    if any(isinstance(value, dict) for value in values):
        return f"{unit} without a type"
    return f"{unit} that are no objects" if unit != "JSON lines" else "text, no JSON lines"
