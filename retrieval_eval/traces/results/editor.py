"""The view/create/str_replace/insert/undo_edit tool of OpenHands and the Anthropic API.

Arguments of parallel calls can belong to another call in OpenHands traces, so where the result
names its file, the result is believed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from retrieval_eval.records import RawTarget
from retrieval_eval.traces.results.base import (
    NOTHING,
    PATH_ARGUMENTS,
    Found,
    Seen,
    distinct,
    joined,
    text_argument,
)
from retrieval_eval.traces.results.decorations import is_empty_answer
from retrieval_eval.traces.results.numbered import line_ranges
from retrieval_eval.traces.results.requested import requested_range, shown_range

_FILE_VIEW: Final = re.compile(r"Here's the result of running `cat -n` on ([^\n]{1,4096}):\n")
_FOLDER_VIEW: Final = re.compile(r"Here(?:'|i)s the files and directories up to \d levels deep in ")
_WRITTEN: Final = re.compile(
    r"(?:File created successfully at: |The file |Last edit to )"
    r"(\S[^\n]{0,4095}?)(?: has been edited| undone successfully|\.?$)",
    re.MULTILINE,
)
_CUT: Final = ("<response clipped>", "[... Observation truncated", "<NOTE>")


def editor_category(arguments: Mapping[str, Any]) -> str:
    """Return ``file_write`` for the writing commands, else ``file_read``."""
    command = arguments.get("command")
    writes = ("create", "str_replace", "insert", "undo_edit", "write")
    return "file_write" if command in writes else "file_read"


def read_editor(seen: Seen) -> Found:
    """Return the file viewed or written, or the files of a folder view as ``listed``."""
    text = seen.text
    view = _FILE_VIEW.match(text[:4200])
    if view is not None:
        return _file_view(seen, view[1], text[view.end() :])
    if _FOLDER_VIEW.match(text[:200]) is not None:
        return _folder_view(seen)
    if editor_category(seen.arguments) == "file_write":
        written = _WRITTEN.match(text[:4400])
        path = written[1] if written is not None else _path(seen)
        if path is None:
            return NOTHING
        return Found((RawTarget(joined(seen.cwd, path), "written"),))
    path = _path(seen)
    if path is None or is_empty_answer(text):
        return Found(is_opaque=not is_empty_answer(text))
    return _file_view(seen, path, text)


def _file_view(seen: Seen, path: str, body: str) -> Found:
    lines = line_ranges(body)
    asked = requested_range(seen.arguments)
    is_cut = any(mark in body for mark in _CUT)
    if seen.is_truncated:
        # The arguments may be another call's; then the first line shown is not the one asked for.
        is_own = asked is not None and lines is not None and asked[0] == lines[0][0]
        lines = (shown_range(asked) if is_own else None) or lines
    target = RawTarget(
        joined(seen.cwd, path),
        "opened",
        None,
        lines,
        is_whole=not (asked or is_cut or seen.is_truncated) and (not lines or lines[0][0] == 1),
    )
    return Found((target,), category="file_read")


def _folder_view(seen: Seen) -> Found:
    """Folders end in a slash; a view that marks none cannot tell files from folders."""
    names = [line.strip() for line in seen.text.split("\n")[1:]]
    if seen.is_truncated and names:
        names.pop()
    names = [n for n in names if n.startswith("/")]
    if not any(n.endswith("/") for n in names):
        return Found(is_opaque=bool(names), category="file_search")
    files = distinct(RawTarget(n, "listed") for n in names)
    return Found(files, is_opaque=seen.is_truncated, category="file_search")


def _path(seen: Seen) -> str | None:
    return text_argument(seen.arguments, PATH_ARGUMENTS)
