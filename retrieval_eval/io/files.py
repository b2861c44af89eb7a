"""Reading of untrusted JSON and JSONL that never raises; whole-or-nothing writing; CSV and YAML.

Every reader returns a problem sentence instead of raising, so that one bad file degrades one
trial and not the batch. A file is only read when it really lies below ``root``: a link that
leads out of the tree is reported, not followed.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import stat
import tomllib
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from functools import lru_cache
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeVar, cast

import msgspec
from msgspec import Struct

from retrieval_eval.errors import BadInputError
from retrieval_eval.io.locks import alone, new_temporary, remove_leftovers

T = TypeVar("T")


class Text(Struct, frozen=True, gc=False):
    """The text of a file, or a sentence about why it cannot be read."""

    value: str | None
    problem: str | None = None


class Json(Struct, frozen=True, gc=False):
    """A decoded JSON document, or a sentence about why it cannot be read."""

    value: Any
    problem: str | None = None


class Line(Struct, frozen=True, gc=False):
    """One line of a JSONL file: its 1-based number and its value or problem."""

    number: int
    value: Any
    problem: str | None = None


_MOST_HELD: Final = 32 << 20
"""Bytes of files that are kept within one :func:`reading_once`; what is larger is read again."""
_DEVICES: Final = ("/dev", "/dev/fd")


class _Held:
    """Listings, checks of links and whole files of a few folders."""

    def __init__(self, folders: tuple[Path, ...]) -> None:
        self._folders = frozenset(map(str, folders))
        self._inside = tuple(f"{folder}{os.sep}" for folder in folders)
        self._room = _MOST_HELD
        self._files: dict[str, bytes] = {}
        # By the text of a path: paths themselves are slow to compare.
        self.found: dict[tuple[Callable[..., Any], str, str | None], Any] = {}

    def covers(self, name: str) -> bool:
        return name.startswith(self._inside) or name in self._folders

    def content(self, name: str) -> bytes | None:
        """Return the bytes of a file, or None where it is too large to be kept."""
        if name not in self._files:
            with Path(name).open("rb") as stream:
                status = os.fstat(stream.fileno())
                if not stat.S_ISREG(status.st_mode) or status.st_size > self._room:
                    return None
                data = stream.read()
            self._room -= len(data)
            self._files[name] = data
        return self._files[name]


_HELD: ContextVar[_Held | None] = ContextVar("held", default=None)


@contextmanager
def reading_once(*folders: Path) -> Iterator[None]:
    """List each folder and read each file below some folders once while the block runs.

    All that reads there sees the same listing and, of files that have 32 MB together, the same
    bytes, even where one changes meanwhile. What is larger is read again each time. A block within
    a block over the same folders shares what the outer one has read.
    """
    held = _HELD.get()
    if held is not None and all(held.covers(str(folder)) for folder in folders):
        yield
        return
    token = _HELD.set(_Held(folders))
    try:
        yield
    finally:
        _HELD.reset(token)


def _is_below(path: Path, folder: Path) -> bool:
    """Return whether a path begins with that of a folder; only their texts are compared."""
    text, start = str(path), str(folder)
    return text.startswith(start) and text[len(start) : len(start) + 1] in {"", os.sep}


def _once(look: Callable[..., T], path: Path, root: Path | None = None) -> T:
    held = _HELD.get()
    arguments = (path,) if root is None else (path, root)
    if held is None or not held.covers(name := str(path)):
        return look(*arguments)
    key = (look, name, None if root is None else str(root))
    if key not in held.found:
        held.found[key] = look(*arguments)
    return cast("T", held.found[key])


def opened(path: Path) -> BinaryIO:
    """Open a file for reading; within :func:`reading_once` with the bytes of the first time.

    Raises ``OSError`` where it cannot be opened.
    """
    held = _HELD.get()
    name = str(path)
    data = held.content(name) if held is not None and held.covers(name) else None
    return path.open("rb") if data is None else BytesIO(data)


def is_inside(path: Path, root: Path) -> bool:
    """Return whether ``path``, with all links resolved, lies at or below ``root``."""
    return _once(_is_inside, path, root)


def _is_inside(path: Path, root: Path) -> bool:
    try:
        if _is_below(path, root) and not _leaves(path, root):
            return True
        return path.resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError):
        return False


def _leaves(path: Path, root: Path) -> bool:
    """Return whether a path below a folder may lead out of it, by a link or by ``..``."""
    text, end = str(path), len(str(root))
    while len(text) > end:
        # False without access rights.
        if text.endswith("..") or os.path.islink(text):  # noqa: PTH114
            return True
        text = text[: max(text.rfind(os.sep), end)]
    return False


def probe(check: Callable[[], bool]) -> bool:
    """Call a predicate of a path, such as ``path.is_file``; False on ``OSError``."""
    try:
        return check()
    except OSError:
        return False


def is_there(path: Path) -> bool:
    """Return whether a file, a folder or a broken link has this name.

    A path without access rights counts as there: its reader reports why it cannot be read. A pipe
    or a device does not: opening it would wait for a writer.
    """
    try:
        mode = path.stat().st_mode
    except PermissionError:
        return True
    except (OSError, ValueError):
        return probe(path.is_symlink)
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)


def entries(folder: Path) -> list[Path]:
    """Return what lies in ``folder``, sorted; nothing where that cannot be read."""
    return list(_once(_entries, folder))


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def names_in(folder: Path) -> frozenset[str] | None:
    """Return the names of what lies in ``folder``, or None where that cannot be listed."""
    return _once(_names_in, folder)


def _names_in(folder: Path) -> frozenset[str] | None:
    try:
        return frozenset(os.listdir(folder))  # noqa: PTH208  names without a path for each
    except FileNotFoundError:
        return frozenset()
    except OSError:
        return None


def files_below(folder: Path) -> list[Path]:
    """Return every file below ``folder``, sorted; links and what cannot be read are not entered."""
    return list(_once(_files_below, folder))


def _files_below(folder: Path) -> list[Path]:
    return sorted(Path(place, name) for place, _, names in os.walk(folder) for name in names)


def label(path: Path, root: Path) -> str:
    """Return ``path`` as it is named in messages: relative to ``root`` where possible."""
    inside, name = f"{root}{os.sep}", str(path)
    if os.sep == "/" and name.startswith(inside):
        return name[len(inside) :]
    try:
        return path.relative_to(root).as_posix()
    except ValueError:
        return path.name


def read_bytes(path: Path, root: Path) -> tuple[bytes, str | None]:
    """Return a file's bytes and None, or empty bytes and a problem sentence."""
    if not is_inside(path, root):
        return b"", f"{label(path, root)}: a link that leads out of the tree is not followed"
    try:
        with opened(path) as stream:
            return stream.read(), None
    except OSError as error:
        return b"", f"{label(path, root)}: cannot be read ({error.strerror or error})"


HEAD_BYTES = 65_536

_OPENINGS: tuple[tuple[bytes, str], ...] = (
    (b"PK\x03\x04", "a zip archive"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"\x1f\x8b", "a gzip file"),
    (b"\x28\xb5\x2f\xfd", "a zstd file"),
    (b"\xff\xfe", "UTF-16 text"),
    (b"\xfe\xff", "UTF-16 text"),
)
_ARRAY = re.compile(r"\[\s*[\[{\"\]]")


def first_bytes(path: Path, root: Path) -> tuple[bytes, str | None]:
    """Return the beginning of a file and None, or empty bytes and a problem sentence."""
    if not is_inside(path, root):
        return b"", f"{label(path, root)}: a link that leads out of the tree is not followed"
    try:
        with opened(path) as stream:
            return stream.read(HEAD_BYTES), None
    except OSError as error:
        return b"", f"{label(path, root)}: cannot be read ({error.strerror or error})"


def last_bytes(path: Path, root: Path) -> tuple[bytes, str | None]:
    """Return the end of a file and None, or empty bytes and a problem sentence."""
    if not is_inside(path, root):
        return b"", f"{label(path, root)}: a link that leads out of the tree is not followed"
    try:
        with opened(path) as stream:
            stream.seek(max(0, stream.seek(0, os.SEEK_END) - HEAD_BYTES))
            return stream.read(), None
    except OSError as error:
        return b"", f"{label(path, root)}: cannot be read ({error.strerror or error})"


def content_kind(head: bytes) -> str:
    r"""Return what a file holds, judged by its beginning, as words for a message.

    Examples
    --------
    >>> content_kind(b'{"a": 1}\n{"a": 2}\n'), content_kind(b'{\n "a": 1\n}')
    ('JSON lines', 'a JSON object')
    >>> content_kind(b"PK\x03\x04..."), content_kind(b"[12:00] started"), content_kind(b"")
    ('a zip archive', 'text', 'an empty file')
    """
    for opening, kind in _OPENINGS:
        if head.startswith(opening):
            return kind
    if b"\x00" in head:
        return "binary data"
    text = head.removeprefix(BOM_UTF8).decode("utf-8", "replace").strip()
    if not text:
        return "an empty file"
    if text[0] == "{":
        line, _, rest = text.partition("\n")
        is_whole = decode(line)[1] is None
        if is_whole and rest.strip():
            return "JSON lines"
        return "a JSON object" if is_whole or rest else "JSON"
    if _ARRAY.match(text):
        return "a JSON array"
    return "a page of HTML" if text[:9].lower().startswith(("<!doctype", "<html")) else "text"


def read_text(path: Path, root: Path) -> Text:
    """Return the UTF-8 text of ``path`` (a byte-order mark is dropped)."""
    data, problem = read_bytes(path, root)
    return Text(None, problem) if problem is not None else _text_in(data, label(path, root))


def _text_in(data: bytes, name: str) -> Text:
    try:
        return Text(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return Text(None, f"{name}: line {line} is not UTF-8")


def read_json(path: Path, root: Path) -> Json:
    """Return the JSON document in ``path``; ``problem`` names file, line and column."""
    data, problem = read_bytes(path, root)
    return Json(None, problem) if problem is not None else json_in(data, label(path, root))


def json_in(data: bytes, name: str) -> Json:
    """Return the JSON document in the bytes of a file; ``name`` is its name in messages."""
    value, problem = decode(data.removeprefix(BOM_UTF8))
    if problem == NOT_UTF8:
        return Json(None, _text_in(data, name).problem)
    return Json(value, f"{name}: {problem}" if problem else None)


def iter_jsonl(path: Path, root: Path) -> Iterator[Line]:
    """Yield the non-blank lines of a JSONL file one at a time.

    A line that is not JSON carries a problem naming file and line. A file that cannot be opened
    yields one line numbered 0.
    """
    name = label(path, root)
    if not is_inside(path, root):
        yield Line(0, None, f"{name}: a link that leads out of the tree is not followed")
        return
    try:
        with opened(path) as stream:
            yield from json_lines(stream, name)
    except OSError as error:
        yield Line(0, None, f"{name}: cannot be read ({error.strerror or error})")


def json_lines(stream: Iterable[bytes], name: str) -> Iterator[Line]:
    """Yield the non-blank lines of JSON in an open file; ``name`` is its name in messages."""
    for number, raw in enumerate(stream, start=1):
        if number == 1:
            raw = raw.removeprefix(BOM_UTF8)
        if not raw or raw.isspace():
            continue
        value, problem = decode(raw)
        if problem == NOT_UTF8:
            yield Line(number, None, f"{name}: line {number} is not UTF-8")
        else:
            yield Line(number, value, f"{name}: line {number}: {problem}" if problem else None)


MOST_GROUPS: Final = 4_000_000
"""Objects and lists of one piece of JSON. Traces with the probabilities of every token have some
hundred thousand; a few kilobytes that unpack to millions of empty objects take gigabytes."""
MOST_VALUES: Final = 40_000_000
"""Values of one piece of JSON, such as the numbers of all tokens."""
_SMALL: Final = 4 << 20
"""Bytes below which there cannot be so many."""
_BLOCK: Final = 1 << 20

_DECODER: Final = msgspec.json.Decoder()
NOT_UTF8: Final = "not UTF-8"
TOO_MANY: Final = "holds more than"
"""How the problem of a piece of JSON with too many values begins."""


def decode(text: str | bytes) -> tuple[Any, str | None]:
    r"""Return ``(value, None)`` or ``(None, problem)`` for a piece of JSON, text or its UTF-8.

    What the fast decoder refuses is decoded by the standard library, which takes more than JSON
    (``NaN``, lone surrogates, line breaks inside a text, numbers beyond every float) and says where
    a text is not valid. What has more than :data:`MOST_GROUPS` objects and lists, or
    :data:`MOST_VALUES` values, is refused before one of them is made.

    Examples
    --------
    >>> decode('{"a": [1, NaN]}')[0], decode(b'["\\ud800"]')[0] == ["\ud800"]
    ({'a': [1, nan]}, True)
    >>> decode("[1,")
    (None, 'not valid JSON (line 1, column 4: Expecting value)')
    """
    if len(text) >= _SMALL and (problem := _too_many(text)) is not None:
        return None, problem
    try:
        return _DECODER.decode(text), None
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return _decode_slowly(text)


def _too_many(text: str | bytes) -> str | None:
    """Return that a piece of JSON has too many values, or None."""
    data = text.encode("utf-8", "replace") if isinstance(text, str) else text
    n_groups, n_values = data.count(b"{") + data.count(b"["), data.count(b",")
    if n_groups <= MOST_GROUPS and n_values <= MOST_VALUES:
        return None
    # Texts hold such characters, too: only those outside of quotes count.
    n_groups = n_values = start = 0
    is_text = False
    while start < len(data):
        end = min(start + _BLOCK, len(data))
        while end < len(data) and data[end - 1] == ord("\\"):  # not between it and what it escapes
            end += 1
        block = data[start:end].replace(rb"\\", b"").replace(rb"\"", b"")
        parts = block.split(b'"')
        plain = b"".join(parts[is_text::2])
        n_groups += plain.count(b"{") + plain.count(b"[")
        n_values += plain.count(b",")
        is_text ^= len(parts) % 2 == 0
        start = end
    if n_groups > MOST_GROUPS:
        return f"{TOO_MANY} {MOST_GROUPS:,} objects and lists, which no trace does"
    if n_values > MOST_VALUES:
        return f"{TOO_MANY} {MOST_VALUES:,} values, which no trace does"
    return None


def _decode_slowly(text: str | bytes) -> tuple[Any, str | None]:
    try:
        decoded = text.decode("utf-8") if isinstance(text, bytes) else text
        return json.loads(decoded, strict=False), None
    except UnicodeDecodeError:
        return None, NOT_UTF8
    except json.JSONDecodeError as error:
        return None, f"not valid JSON (line {error.lineno}, column {error.colno}: {error.msg})"
    except RecursionError:
        return None, "not valid JSON (nested too deeply)"
    except ValueError as error:
        return None, f"not valid JSON ({error})"


def decode_strict(text: str) -> tuple[Any, str | None]:
    """Do what :func:`decode` does, and find what readers of JSON disagree about a problem.

    Examples
    --------
    >>> decode_strict('{"a": 1, "a": 2}'), decode_strict("[NaN]")
    ((None, 'a name stands twice in one object'), (None, 'NaN is no number of JSON'))
    """

    def members(found: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(found)) < len(found):
            raise _StrictError("a name stands twice in one object")
        return dict(found)

    def constant(name: str) -> Any:
        raise _StrictError(f"{name} is no number of JSON")

    value, problem = decode(text)
    if problem is not None:
        return value, problem
    try:
        return json.loads(text, object_pairs_hook=members, parse_constant=constant), None
    except _StrictError as error:
        return None, str(error)
    except json.JSONDecodeError as error:
        return None, f"not valid JSON (line {error.lineno}, column {error.colno}: {error.msg})"


class _StrictError(ValueError):
    """JSON that readers of it understand differently."""


def decode_toml(text: str) -> tuple[dict[str, Any], str | None]:
    """Return ``(table, None)`` or ``({}, problem)`` for the text of a TOML file."""
    try:
        return tomllib.loads(text), None
    except (ValueError, RecursionError) as error:
        return {}, f"not valid TOML ({error})"


def json_bytes(value: Any, *, indent: int | None = None) -> bytes:
    """Return the canonical bytes of an artefact: UTF-8, key order kept.

    Compact by default, for a trial's documents are many and indenting costs three times as much.
    Raises ``ValueError`` on NaN or infinity, which no artefact may hold. Lone surrogates, which
    JSON escapes can smuggle into text, become U+FFFD.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n"
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError:
        data = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode("utf-8")
    # Laid out afterwards, because with an indent the standard library encodes in plain Python.
    return data if indent is None else msgspec.json.format(data, indent=indent) + b"\n"


def write_bytes(
    path: Path, data: bytes, *, mode: int | None = None, is_synced: bool = True
) -> None:
    """Write ``data`` to ``path`` whole or not at all, creating its folder.

    Without ``mode`` it is that of :func:`rights_of`. One of many files need not be synced: whoever
    writes them calls :func:`settle` at the end, and until then a machine that loses power may
    leave an empty or a half one. Raises :class:`~retrieval_eval.errors.BadInputError` when the
    place cannot be written to.
    """
    try:
        replace_bytes(path, data, mode=mode, is_synced=is_synced)
    except OSError as error:
        raise BadInputError(f"{path}: cannot be written ({error.strerror or error})") from error


def replace_bytes(
    path: Path, data: bytes, *, mode: int | None = None, is_synced: bool = True
) -> None:
    """Do what :func:`write_bytes` does, but raise ``OSError`` unchanged.

    Until the file is complete only its owner may open it. A device (`is_device`) is written to.
    """
    if is_device(path):
        with path.open("wb") as stream:
            stream.write(data)
        return
    with staged(path, data, mode=mode, is_synced=is_synced) as temporary:
        temporary.replace(path)


@contextmanager
def staged(
    path: Path, data: bytes, *, mode: int | None = None, is_synced: bool = True
) -> Iterator[Path]:
    """Write ``data`` to a temporary file beside ``path``, whole and on the disk; yield its path.

    It is to be moved to ``path``; otherwise it is deleted after the block. Leftovers of killed
    writers in the folder are deleted when this process first writes there. Raises ``OSError``.
    """
    mode = rights_of(path) if mode is None else mode
    _tidy(path.parent.absolute())
    try:
        handle, temporary = new_temporary(path.parent)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = new_temporary(path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            if is_synced:
                os.fsync(stream.fileno())
            temporary.chmod(mode)
            if os.name == "posix":
                yield temporary
        if os.name != "posix":  # where an open file cannot be moved
            yield temporary
    finally:
        # Most often it has been moved, and an attempt that fails costs more than a look.
        if os.path.lexists(temporary):
            temporary.unlink(missing_ok=True)


@lru_cache(maxsize=4096)
def _tidy(folder: Path) -> None:
    remove_leftovers(folder)


_MOST_SYNCED_ALONE: Final = 64
"""Files that are synced one by one, some milliseconds each; more are synced with the system."""


def settle(files: Iterable[Path]) -> None:
    """Return when files that were written without a sync are on the disk, with their names.

    What has been removed meanwhile is left out. Raises
    :class:`~retrieval_eval.errors.BadInputError` when the disk refuses one.
    """
    files = list(files)
    if len(files) > _MOST_SYNCED_ALONE and hasattr(os, "sync"):
        os.sync()
        return
    folders = sorted({path.parent for path in files}) if os.name == "posix" else []
    for path in (*files, *folders):
        try:
            handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
        except OSError:
            continue
        try:
            os.fsync(handle)
        except OSError as error:
            raise BadInputError(f"{path}: cannot be written ({error.strerror or error})") from error
        finally:
            os.close(handle)


def is_device(path: Path) -> bool:
    """Return whether a path is a device such as ``/dev/stdout``, which no file may replace.

    Only what lies in the folders of devices counts: anywhere else, such as among runs, a pipe may
    be planted, and opening it would wait forever.
    """
    return str(path.absolute().parent) in _DEVICES and path.exists()


def rights_of(path: Path) -> int:
    """Return the mode of a file, or 0644 when it does not exist: a private file stays private."""
    try:
        return stat.S_IMODE(path.stat().st_mode) & 0o777
    except OSError:
        return 0o644


def append_line(path: Path, line: bytes) -> None:
    """Append one whole line to ``path``, creating it; for journals of work in progress.

    The line is handed to the system at once, so it survives a crash of this process; only a crash
    of the machine can leave half of it, which readers of journals drop.
    """
    with path.open("ab") as stream:
        stream.write(line)


def remove(path: Path, root: Path) -> None:
    """Delete a file that really lies below ``root``; folders and links out of it are left alone.

    Raises :class:`~retrieval_eval.errors.BadInputError` when the file cannot be deleted.
    """
    if not is_inside(path.parent, root) or (probe(path.is_dir) and not path.is_symlink()):
        return
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise BadInputError(f"{path}: cannot be removed ({error.strerror or error})") from error


def write_text(path: Path, text: str) -> None:
    """Write ``text`` as UTF-8, whole or not at all."""
    write_bytes(path, text.encode("utf-8"))


def write_json(path: Path, value: Any, *, indent: int | None = None) -> None:
    """Write ``value`` as JSON (see :func:`json_bytes`), whole or not at all."""
    write_bytes(path, json_bytes(value, indent=indent))


# --------------------------------------------------------------------------------------------------
# Write several files or none: files that only make sense together.

_PATIENCE = 30.0


def write_atomically(files: Mapping[Path, bytes]) -> None:
    """Write all files or none, creating their folders.

    Everything that can fail for lack of space or rights happens in temporary files beside the
    files; then each of them replaces its target. Another process that writes the same files waits
    until then, so that none of its files lies beside one of these. A process that is killed just
    between two replacements leaves files of both; writing them again makes them whole.

    Parameters
    ----------
    files
        Path to content.

    Raises
    ------
    BadInputError
        When one of them cannot be written; then none is.
    """
    devices = [path for path in files if is_device(path)]
    paths = [path for path in files if path not in devices]
    try:
        for path in paths:
            if path.is_dir():
                raise BadInputError(f"{path}: cannot be written (is a folder)")
        with ExitStack() as stack:
            temporary = {path: stack.enter_context(staged(path, files[path])) for path in paths}
            if paths:
                stack.enter_context(alone(min(paths), "writes it", patience=_PATIENCE))
            for path in devices:
                replace_bytes(path, files[path])
            for path in paths:
                temporary[path].replace(path)
    except OSError as error:
        names = ", ".join(map(str, files))
        raise BadInputError(f"cannot be written: {names} ({error.strerror or error})") from error


# --------------------------------------------------------------------------------------------------
# Writes CSV whose cells no spreadsheet executes and no terminal interprets, without loss.

# What a spreadsheet would execute as a formula, also after white space, which some drop. Full-width
# forms are read as their plain ones.
_FORMULA: Final = re.compile(r"'*(?:[\t\r\n]|\s*[=+\-@＝＋－＠])")

# Controls but for tab and line ends, the two direction overrides, and halves of characters, which
# have no bytes.
_CONTROLS: Final = r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202d\u202e\ud800-\udfff"
_CONTROL: Final = re.compile(f"[{_CONTROLS}]")
# A text may hold such an escape itself; then its backslash is escaped.
_ESCAPE: Final = re.compile(
    r"\\u(00[01][0-9a-f]|007f|00[89][0-9a-f]|202[de]|d[89a-f][0-9a-f]{2}|005c)"
)


def cell(text: str) -> str:
    r"""Return a text as a cell that is shown and never run.

    Examples
    --------
    >>> cell("=1+1"), cell("1+1"), cell("a\x1b[2J"), cell_text(cell("'=x"))
    ("'=1+1", '1+1', 'a\\u001b[2J', "'=x")
    """
    if text[:1].isalnum() and "\\" not in text and text.isascii() and text.isprintable():
        return text  # nearly all of them, and the rest is slow
    shown = _ESCAPE.sub(r"\\u005cu\1", text)
    shown = _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", shown)
    return f"'{shown}" if _FORMULA.match(shown) else shown


def cell_text(shown: str) -> str:
    """Return the original text of a cell that :func:`cell` made."""
    if shown.startswith("'") and _FORMULA.match(shown, 1):
        shown = shown[1:]
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), shown)


def csv_text(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """Return a table as CSV (RFC 4180); None is an empty cell.

    Only what ends a line is quoted: with a line feed alone, a carriage return would start a row.
    """
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\r\n")
    for row in chain((head,), rows):
        writer.writerow([cell(value) if isinstance(value, str) else value for value in row])
    return buffer.getvalue()


# --------------------------------------------------------------------------------------------------
# Writing YAML: the parameters that a page was made with, for papermill to read again.


def yaml_text(values: Mapping[str, Any]) -> str:
    """Return a mapping as YAML, in its order; invisible characters are escaped."""
    import yaml

    def dumped(*, is_readable: bool) -> str:
        options = {"sort_keys": False, "width": 4096, "allow_unicode": is_readable}
        return str(yaml.safe_dump(dict(values), **options))

    text = dumped(is_readable=True)
    return text if text.replace("\n", "").isprintable() else dumped(is_readable=False)
