"""The last resort: strings that look like paths in a task's instruction or test script."""

from __future__ import annotations

import re
from pathlib import Path

from retrieval_eval.ground_truth.source import Entry, Source, load_text
from retrieval_eval.records import Confidence

_LONGEST_TEXT = 200_000
_TOKEN = re.compile(r"[^\s`'\"()\[\]{}<>|,;:=*?!]{3,300}")
_FILE = re.compile(r"[\w.@+~/-]+/[\w.@+~-]+\.[A-Za-z][A-Za-z0-9]{0,9}")
_VARIABLE = re.compile(r"^\$\w+/")
_OUTSIDE = re.compile(
    r"^/(tests?|logs?|tmp|usr|bin|sbin|etc|dev|proc|sys|opt|var|root|home|solution|oracle)/"
)
_DOMAIN = re.compile(r"^[\w-]+(\.[\w-]+)*\.(com|org|net|io|dev|gov|edu)/", re.IGNORECASE)
_PLACEHOLDER = re.compile(r"(^|/)(path/to|your|foo|example)(/|$)", re.IGNORECASE)


def read_instruction(task_dir: Path) -> Source | None:
    """Return path-like strings of ``instruction.md`` with medium confidence, or None."""
    return _read(task_dir, "", "instruction.md", "medium")


def read_test_script(task_dir: Path) -> Source | None:
    """Return path-like strings of ``tests/test.sh`` with low confidence, or None."""
    return _read(task_dir, "tests", "test.sh", "low")


def _read(task_dir: Path, folder: str, file_name: str, confidence: Confidence) -> Source | None:
    loaded = load_text(task_dir, folder, file_name)
    if loaded is None:
        return None
    name, text, problems = loaded
    entries = tuple(Entry(path) for path in path_like(text))
    return Source(name, confidence, entries=entries, problems=problems)


def path_like(text: str) -> list[str]:
    """Return the strings of a text that look like the path of a repository's file, each once.

    A path has a folder and an extension; web addresses, system folders and stand-ins such as
    ``path/to/file.ext`` do not count.

    Examples
    --------
    >>> path_like("Fix `src/core/a.py`, see https://example.org/x/b.html and /tmp/c/d.txt.")
    ['src/core/a.py']
    """
    found: dict[str, None] = {}
    for token in _TOKEN.findall(text[:_LONGEST_TEXT]):
        path = _VARIABLE.sub("", token.rstrip("."))
        if (
            _FILE.fullmatch(path)
            and not path.startswith("//")
            and not _OUTSIDE.match(path)
            and not _DOMAIN.match(path)
            and not _PLACEHOLDER.search(path)
        ):
            found[path] = None
    return list(found)
