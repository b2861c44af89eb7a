"""What a source of ground truth lists: files, symbols and line ranges, in the shapes of benchmarks.

Shapes are data: the first group of keys that yields a file wins, because the other keys of a
document that lists ``files`` only explain them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retrieval_eval.io.files import is_there, names_in, read_json, read_text
from retrieval_eval.records import Confidence

# --------------------------------------------------------------------------------------------------
# The content of one ground-truth source, before paths are normalised.


@dataclass(frozen=True, slots=True)
class Entry:
    """A file as the source writes it, and the repository the source names beside it."""

    path: str
    repository: str | None = None


@dataclass(frozen=True, slots=True)
class RawSymbol:
    """A symbol and the entry of its file."""

    entry: Entry
    symbol: str


@dataclass(frozen=True, slots=True)
class RawChunk:
    """A line range and the entry of its file; lines are 1-based and inclusive."""

    entry: Entry
    line_start: int
    line_end: int
    annotation: str | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """All ground truth in one file of a task.

    ``edit_entries`` is None where the source does not state files to edit; ``added_entries`` are
    those of them that did not exist before. ``problems`` name what could not be read; ``notes``
    name what was left out and are reported when the source is used. ``fix_lines`` are the lines
    that only the reference change adds.
    """

    name: str
    confidence: Confidence
    entries: tuple[Entry, ...] = ()
    symbols: tuple[RawSymbol, ...] = ()
    chunks: tuple[RawChunk, ...] = ()
    edit_entries: tuple[Entry, ...] | None = None
    added_entries: tuple[Entry, ...] = ()
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    fix_lines: tuple[str, ...] = ()


def locate(task_dir: Path, folder: str, name: str) -> Path | None:
    """Return ``task_dir/folder/name``, else ``task_dir/name``, else None."""
    for place in (task_dir / folder, task_dir):
        names = names_in(place)
        if (names is None or name in names) and is_there(place / name):
            return place / name
    return None


def load_json(task_dir: Path, folder: str, name: str) -> tuple[str, Any, tuple[str, ...]] | None:
    """Return the source name, the document and the problems of a JSON file, or None."""
    path = locate(task_dir, folder, name)
    if path is None:
        return None
    document = read_json(path, task_dir)
    problems = (document.problem,) if document.problem else ()
    return path.relative_to(task_dir).as_posix(), document.value, problems


def load_text(task_dir: Path, folder: str, name: str) -> tuple[str, str, tuple[str, ...]] | None:
    """Return the source name, the text and the problems of a text file, or None."""
    path = locate(task_dir, folder, name)
    if path is None:
        return None
    text = read_text(path, task_dir)
    problems = (text.problem,) if text.problem else ()
    return path.relative_to(task_dir).as_posix(), text.value or "", problems


def items(value: Any) -> Iterator[Any]:
    """Yield the items of a list; nothing for any other JSON value."""
    if isinstance(value, list):
        yield from value


def table(value: Any, key: str) -> dict[str, Any]:
    """Return ``value[key]`` when both are JSON objects, else an empty one."""
    inner = value.get(key) if isinstance(value, dict) else None
    return inner if isinstance(inner, dict) else {}


def text_of(value: Any) -> str | None:
    """Return a non-blank string, or None for any other JSON value."""
    return value if isinstance(value, str) and value.strip() else None


# --------------------------------------------------------------------------------------------------
# The shapes in which benchmark files list relevant files, symbols and line ranges.

FILE_KEYS: tuple[tuple[str, ...], ...] = (
    ("files",),
    ("required_files",),
    ("buggy_files",),
    ("entries",),
    ("steps",),
    ("file_references",),
    ("fix_files",),
    ("producer_changed_files", "consumer_affected_files"),
    ("dependency_chain",),
    ("chain",),
    ("affected_files",),
    ("canonical_path",),
    ("file_path",),
    ("root_cause",),
    ("symbols",),
    ("chunks",),
)
"""Groups of keys in order of precedence; keys of one group are read together."""

_OBJECTS_ONLY = frozenset({"entries", "steps", "dependency_chain", "chain", "root_cause"})
"""Keys under which a plain string is text, not a path."""

_PARTS = frozenset(
    {"primary", "secondary", "required", "optional", "essential", "important", "supporting"}
    | {"related", "relevant", "expected", "edited", "modified", "must_read"}
)
"""Keys that group files by purpose; they are not names of repositories."""

_PATH_KEYS = ("path", "file", "file_path", "canonical_path", "manifest")
_DEEPEST = 4
_LONGEST_ANNOTATION = 200
_ESCAPED = re.compile(r"\\([^A-Za-z0-9])")
_OR = re.compile(r"(?<!\\)\|")
_REGEX_OPERATOR = re.compile(r"\\|[*+?\[\](){}|^$]")


def file_entries(document: Any) -> tuple[Entry, ...]:
    """Return the relevant files a ground-truth document lists, in its order.

    Examples
    --------
    >>> file_entries({"steps": [{"repo": "kafka", "file": "a/B.java"}]})
    (Entry(path='a/B.java', repository='kafka'),)
    """
    if isinstance(document, list):
        return tuple(_entries(document, None))
    if not isinstance(document, dict):
        return ()
    for keys in FILE_KEYS:
        found = tuple(
            entry
            for key in keys
            for entry in _entries(
                document.get(key), _default_repository(document, key), key not in _OBJECTS_ONLY
            )
        )
        if found:
            return found
    return ()


def entries(value: Any) -> tuple[Entry, ...]:
    """Return the entries of one list of files, written as strings or objects."""
    return tuple(_entries(value, None)) if isinstance(value, list) else ()


def symbols(value: Any) -> tuple[RawSymbol, ...]:
    """Return the symbols of a list of objects with a file and a symbol name."""
    found = []
    for item in items(value):
        if isinstance(item, dict):
            entry = _object_entry(item, None)
            name = text_of(item.get("symbol")) or text_of(item.get("name"))
            if entry is not None and name is not None:
                found.append(RawSymbol(entry, name.strip()))
    return tuple(found)


def chunks(value: Any) -> tuple[RawChunk, ...]:
    """Return the line ranges of a list of objects; invalid ranges are left out."""
    found = []
    for item in items(value):
        if not isinstance(item, dict):
            continue
        entry = _object_entry(item, None)
        start, end = _line(item.get("line_start")), _line(item.get("line_end"))
        if entry is not None and start is not None and end is not None and start <= end:
            found.append(RawChunk(entry, start, end, _annotation(item)))
    return tuple(found)


def are_placeholders(ranges: tuple[RawChunk, ...]) -> bool:
    """Return whether all ranges are the same one from line 1 on, as generators fill them in."""
    return len({(c.line_start, c.line_end) for c in ranges}) == 1 and ranges[0].line_start == 1


def literal_path(pattern: str) -> str | None:
    r"""Return the path a regular expression means, or None when it is not literal.

    Examples
    --------
    >>> literal_path(r"pandas/core/masked\.py")
    'pandas/core/masked.py'
    >>> literal_path(r"pandas/.*\.py") is None
    True
    """
    text = pattern.strip().removeprefix("^").removesuffix("$")
    if _REGEX_OPERATOR.search(_ESCAPED.sub("", text)):
        return None
    text = _ESCAPED.sub(r"\1", text)
    return text if "/" in text and "." in text.rsplit("/", 1)[-1] else None


def _entries(
    value: Any, repository: str | None, is_path: bool = True, depth: int = 0
) -> Iterator[Entry]:
    if isinstance(value, str):
        if is_path and value.strip():
            yield Entry(value.strip(), repository)
    elif depth < _DEEPEST and isinstance(value, list):
        for item in value:
            yield from _entries(item, repository, is_path, depth + 1)
    elif depth < _DEEPEST and isinstance(value, dict):
        yield from _from_object(value, repository, is_path, depth)


def _from_object(
    value: dict[str, Any], repository: str | None, is_path: bool, depth: int
) -> Iterator[Entry]:
    entry = _object_entry(value, repository)
    if entry is not None:
        yield entry
    elif isinstance(value.get("patterns"), list):
        yield from (Entry(path, repository) for path in _alternatives(value["patterns"]))
    elif is_path and depth == 0:
        # Files by repository; in an item of a list these would be tags, aliases, keywords.
        for name, inner in value.items():
            if isinstance(inner, list):
                whose = repository if name.strip().lower() in _PARTS else name
                yield from _entries(inner, whose, is_path, depth + 1)


def _alternatives(patterns: list[Any]) -> list[str]:
    """Return the literal paths of one reference without those that only shorten another.

    A pattern may itself list alternatives; an alternative inside brackets is not literal.
    """
    texts = (
        text for pattern in patterns if isinstance(pattern, str) for text in _OR.split(pattern)
    )
    literal = (literal_path(text) for text in texts)
    found = list(dict.fromkeys(path for path in literal if path is not None))
    tails = {
        path[position + 1 :]
        for path in found
        for position, character in enumerate(path)
        if character == "/"
    }
    return [path for path in found if path not in tails]


def _object_entry(value: dict[str, Any], repository: str | None) -> Entry | None:
    for key in _PATH_KEYS:
        path = text_of(value.get(key))
        if path is not None:
            stated = text_of(value.get("repo")) or text_of(value.get("repository"))
            if key == "manifest":
                stated = stated or text_of(value.get("to"))
            return Entry(path.strip(), stated or repository)
    return None


def _default_repository(document: dict[str, Any], key: str) -> str | None:
    return text_of(document.get("producer_repo")) if key == "producer_changed_files" else None


def _line(value: Any) -> int | None:
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit():
        value = int(value.strip()[:12])
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if value >= 1 and value == value // 1 else None


def _annotation(item: dict[str, Any]) -> str | None:
    for key in ("annotation", "defect_type", "type", "description"):
        text = text_of(item.get(key))
        if text is not None:
            return text.strip()[:_LONGEST_ANNOTATION]
    return None
