"""Reads of local files: Claude Code's Read, Cursor's readToolCall and their relatives.

The file is the named one, provided that content came back; the lines are those the result
shows, else those that were asked for.
"""

from __future__ import annotations

from typing import Any, Final

from retrieval_eval.records import LineRange, RawTarget
from retrieval_eval.traces.results.base import (
    NOTHING,
    PATH_ARGUMENTS,
    Found,
    Seen,
    integer,
    joined,
    repository_argument,
    strings,
    text_argument,
)
from retrieval_eval.traces.results.decorations import is_empty_answer, is_saved_result
from retrieval_eval.traces.results.numbered import has_content, line_ranges
from retrieval_eval.traces.results.requested import (
    OPEN_END,
    is_from_end,
    requested_range,
    shown_range,
)

_WITHOUT_LINES: Final = ("image", "notebook", "pdf", "parts")
_DEFAULT_LIMIT: Final = 2000
"""Lines that Claude Code's Read returns when no limit is given; more means it was cut."""


def read_local(seen: Seen) -> Found:
    """Return the file a local read opened; nothing when no content came back."""
    several = strings(seen.arguments.get("paths"))
    if several:
        return _several(seen, several)
    path = text_argument(seen.arguments, PATH_ARGUMENTS)
    block = seen.value.get("file") if isinstance(seen.value, dict) else None
    file = block if isinstance(block, dict) else None
    if path is None and file is not None:
        path = text_argument(file, PATH_ARGUMENTS)
    if path is None:
        return Found(is_opaque=not is_empty_answer(seen.text))
    if is_saved_result(path):
        return Found(is_opaque=True)
    if _is_warning(seen.text):
        return NOTHING
    if file is not None and integer(file.get("numLines")) is not None:
        lines, is_whole = _declared(file)
    elif has_content(seen.text):
        lines, is_whole = _shown(seen)
    elif _is_not_text(seen.value):
        lines, is_whole = None, True
    else:
        return NOTHING
    target = RawTarget(
        joined(seen.cwd, path), "opened", repository_argument(seen.arguments), lines, is_whole
    )
    return Found((target,))


def _declared(file: dict[str, Any]) -> tuple[tuple[LineRange, ...] | None, bool]:
    """Read Claude Code's ``{startLine, numLines, totalLines}``."""
    start, count = integer(file.get("startLine")) or 1, integer(file.get("numLines")) or 1
    total = integer(file.get("totalLines"))
    return ((start, start + count - 1),), start == 1 and total is not None and count >= total


def _shown(seen: Seen) -> tuple[tuple[LineRange, ...] | None, bool]:
    asked = requested_range(seen.arguments)
    numbered = None if _is_raw(seen) else line_ranges(seen.text)
    if is_from_end(seen.arguments):
        return numbered, False
    if seen.is_truncated:
        return shown_range(asked) or numbered, False
    if numbered is not None:
        limit = _DEFAULT_LIMIT if asked is None else asked[1] - asked[0] + 1
        shown = sum(end - start + 1 for start, end in numbered)
        return numbered, numbered[0][0] == 1 and len(numbered) == 1 and shown < limit
    if asked is None:
        is_cut = isinstance(seen.value, dict) and bool(seen.value.get("exceededLimit"))
        return None, not is_cut
    last = asked[0] + seen.text.removesuffix("\n").count("\n")
    if asked[1] == OPEN_END:
        return ((asked[0], last),), asked[0] == 1
    return ((asked[0], min(last, asked[1])),), False


def _is_raw(seen: Seen) -> bool:
    """Whether the text is the file's own, as Cursor answers, so that no number is a line's."""
    return isinstance(seen.value, dict) and seen.value.get("content") == seen.text


def _several(seen: Seen, paths: list[str]) -> Found:
    """Read the answer to a list of paths: sections that start with the path and a colon."""
    starts = {section.split("\n", 1)[0].strip() for section in seen.text.split("\n---\n")}
    repository = repository_argument(seen.arguments)
    opened = tuple(
        RawTarget(joined(seen.cwd, path), "opened", repository, None, True)
        for path in paths
        if f"{path}:" in starts
    )
    return Found(opened, is_opaque=not opened and not is_empty_answer(seen.text))


def _is_warning(text: str) -> bool:
    return text.lstrip().startswith("<system-reminder>Warning:")


def _is_not_text(value: Any) -> bool:
    """Whether Claude Code answered with an image, a notebook or a PDF, which has no lines."""
    return isinstance(value, dict) and value.get("type") in _WITHOUT_LINES
