"""Cursor's grepToolCall: file names, counts or matches, grouped by workspace folder."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from retrieval_eval.records import RawTarget
from retrieval_eval.traces.results.base import (
    Found,
    Seen,
    distinct,
    integer,
    joined,
    strings,
    text_argument,
)
from retrieval_eval.traces.results.grep import read_grep


def read_cursor_grep(seen: Seen) -> Found:
    """Return the files that ``workspaceResults`` names, relative to their workspace folder."""
    results = seen.value.get("workspaceResults") if isinstance(seen.value, dict) else None
    if not isinstance(results, dict):
        return read_grep(seen)
    found = [t for root, result in results.items() for t in _in_workspace(root, result)]
    return Found(distinct(found), is_opaque=seen.is_truncated)


def _in_workspace(root: str, result: Any) -> Iterator[RawTarget]:
    if not isinstance(result, dict):
        return
    for name in strings(_member(result, "files", "files")):
        yield RawTarget(joined(root, name), "matched")
    for key, inner in (("content", "matches"), ("count", "counts")):
        records = _member(result, key, inner)
        for record in records if isinstance(records, list) else []:
            path = text_argument(record, ("file",)) if isinstance(record, dict) else None
            if path is not None:
                yield RawTarget(joined(root, path), "matched", None, _lines(record) or None)


def _lines(record: dict[str, Any]) -> tuple[tuple[int, int], ...]:
    matches = record.get("matches")
    rows = [m for m in matches if isinstance(m, dict)] if isinstance(matches, list) else []
    numbers = [n for m in rows if (n := integer(m.get("lineNumber"))) is not None]
    return tuple((n, n) for n in numbers)


def _member(value: dict[str, Any], key: str, inner: str) -> Any:
    block = value.get(key)
    return block.get(inner) if isinstance(block, dict) else None
