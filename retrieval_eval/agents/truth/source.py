"""The content of one ground-truth source, before paths are normalised."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retrieval_eval.io.files import is_there, names_in, read_json, read_text
from retrieval_eval.records import Confidence


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
