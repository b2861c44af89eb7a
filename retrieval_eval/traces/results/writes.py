"""Writes: the named file of a write that succeeded, or the files of an applied patch."""

from __future__ import annotations

import re
from typing import Final

from retrieval_eval.records import RawTarget
from retrieval_eval.traces.results.base import (
    PATH_ARGUMENTS,
    Found,
    Seen,
    distinct,
    joined,
    repository_argument,
    text_argument,
)

_PATCH_FILE: Final = re.compile(
    r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (\S[^\n]*)$", re.MULTILINE
)
_DIFF_FILE: Final = re.compile(r"^(?:---|\+\+\+) [ab]/([^\t\n]+)", re.MULTILINE)
_PATCH_ARGUMENTS: Final = ("input", "patch", "patchText", "diff")


def read_write(seen: Seen) -> Found:
    """Return the file written; opaque when a successful write names none."""
    path = text_argument(seen.arguments, PATH_ARGUMENTS)
    if path is None and isinstance(seen.value, dict):
        path = text_argument(seen.value, PATH_ARGUMENTS)
    files = seen.arguments.get("files")
    paths = [path] if path is not None else []
    if not paths and isinstance(files, list):
        named = [text_argument(f, PATH_ARGUMENTS) for f in files if isinstance(f, dict)]
        paths = [p for p in named if p is not None]
    repository = repository_argument(seen.arguments)
    base = None if repository is not None else seen.cwd
    return _written(paths, base, repository)


def read_patch(seen: Seen) -> Found:
    """Return the files named by the headers of an applied patch."""
    patch = text_argument(seen.arguments, _PATCH_ARGUMENTS) or ""
    paths = [m[1].strip() for m in _PATCH_FILE.finditer(patch)]
    paths = paths or [m[1].strip() for m in _DIFF_FILE.finditer(patch)]
    return _written(paths, seen.cwd, None) if paths else read_write(seen)


def _written(paths: list[str], base: str | None, repository: str | None) -> Found:
    targets = distinct(RawTarget(joined(base, p), "written", repository) for p in paths)
    return Found(targets, is_opaque=not targets)
