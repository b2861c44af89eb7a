"""The search runs in a folder: which can be read, newest first, and which cannot, and why."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from stat import S_ISREG
from typing import Any, Final

from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import json_bytes
from retrieval_eval.search.run_files import read_search_run

PATTERN: Final = "eval-report-*.json"

_NUMBERED: Final = re.compile(r"Z-(\d{1,9})\.")

_KEPT = 2048  # far more runs than a folder holds; fewer would read all of them every time


@dataclass(frozen=True, slots=True)
class Run:
    """One valid search run: its file name, when it was made, and its artefact without queries.

    ``n_top1_changed`` is the number of queries whose first document differs from the baseline's;
    None when the run was not compared with one.
    """

    name: str
    label: str
    generated_at: datetime
    document: Mapping[str, Any]
    n_top1_changed: int | None


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that looks like a search run by name and is none, and the reason."""

    name: str
    reason: str

    def to_json(self) -> dict[str, str]:
        """Return the entry as the dashboard shows it."""
        return {"name": self.name, "reason": self.reason}


def read_runs(root: Path) -> tuple[tuple[Run, ...], tuple[Skipped, ...]]:
    """Return the valid search runs directly in ``root``, newest first, and what was skipped.

    Newest is the latest ``generated_at``; among equals, the last by its number, then by file name.
    A folder that does not exist holds no run. Files are read again only after they changed.
    """
    runs, skipped = [], []
    for path in sorted(root.glob(PATTERN)):
        found = _read(path)
        if isinstance(found, Run):
            runs.append(found)
        else:
            skipped.append(found)
    runs.sort(key=lambda run: (run.generated_at, _number(run.name), run.name), reverse=True)
    return tuple(runs), tuple(skipped)


def _number(name: str) -> int:
    """Return which report of its second a file is, by its name; the first has no number.

    Examples
    --------
    >>> [_number(f"eval-report-20260131T120000Z{end}.json") for end in ("", "-2", "-10.claims")]
    [1, 2, 10]
    """
    found = _NUMBERED.search(name)
    return int(found[1]) if found else 1


def _read(path: Path) -> Run | Skipped:
    try:
        state = path.stat()
    except OSError as error:
        return Skipped(path.name, f"cannot be read ({error.strerror or error})")
    if not S_ISREG(state.st_mode):  # opening a pipe would wait for somebody to write
        return Skipped(path.name, "is not a regular file")
    return _load(path, (state.st_ino, state.st_size, state.st_mtime_ns))


@lru_cache(maxsize=_KEPT)
def _load(path: Path, _state: tuple[int, int, int]) -> Run | Skipped:
    try:
        document = read_search_run(path)
    except BadInputError as error:
        # Where the folder lies is nobody's business who only reads the dashboard.
        reason = str(error).removeprefix(f"{path}: ").replace(str(path), path.name)
        return Skipped(path.name, reason)
    return _run(path.name, document)


def _run(name: str, document: Mapping[str, Any]) -> Run | Skipped:
    try:
        moment = datetime.fromisoformat(document["generated_at"])
    except ValueError:
        return Skipped(name, "/generated_at: expected a time such as '2026-01-31T12:00:00Z'")
    light = {key: value for key, value in document.items() if key != "queries"}
    delta, n_changed = document["delta"], None
    if delta is not None:
        n_changed = len(delta["queries_top1_changed"]) if delta["is_comparable"] else None
        by_query = ("queries", "queries_top1_changed")
        light["delta"] = {key: value for key, value in delta.items() if key not in by_query}
    try:
        json_bytes(light)
    except ValueError:
        return Skipped(name, "holds NaN or infinity, which no artefact may hold")
    # A time without a zone is read as UTC, so that all can be ordered.
    known = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return Run(name, document["label"], known, light, n_changed)
