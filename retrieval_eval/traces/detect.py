"""Which format a file of lines has, told by its content and never by its name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import chain, islice
from typing import Any

from retrieval_eval.io.files import Line
from retrieval_eval.traces.claude_session import read_claude_session
from retrieval_eval.traces.claude_stream import read_claude_stream
from retrieval_eval.traces.cursor import read_cursor_lines
from retrieval_eval.traces.foreign import dict_of, text_of
from retrieval_eval.traces.reading import Reading, Unreadable

_HEAD = 200
"""Lines that are looked at before a file counts as unknown."""

_Reader = Callable[[Iterable[Line], str], Reading]


def read_lines(lines: Iterable[Line], name: str) -> Reading | Unreadable:
    """Read a file of JSON lines in whichever known format it has.

    Parameters
    ----------
    lines
        The file's lines; each is decoded once and they are not kept.
    name
        The file's name in messages.
    """
    rest = iter(lines)
    head = list(islice(rest, _HEAD))
    reader = _reader_for([line.value for line in head if isinstance(line.value, dict)])
    if reader is not None:
        return reader(chain(head, rest), name)
    if not head:
        return Unreadable(f"{name}: the file is empty")
    if len(head) == 1 and head[0].number == 0:
        return Unreadable(head[0].problem or f"{name}: cannot be read")
    return Unreadable(f"{name}: not a known trace format ({_description(head)})")


def _reader_for(entries: list[Mapping[str, Any]]) -> _Reader | None:
    """Return the reader whose mark is found first; a bare start line decides last."""
    for entry in entries:
        kind = entry.get("type")
        if text_of(entry.get("sessionId")) and text_of(kind):
            return read_claude_session
        if kind in ("tool_call", "thinking"):
            return read_cursor_lines
        if kind == "assistant" and text_of(dict_of(entry.get("message")).get("id")):
            return read_claude_stream
        if kind == "assistant" and "model_call_id" in entry:
            return read_cursor_lines
        if "parent_tool_use_id" in entry or ("tools" in entry and kind == "system"):
            return read_claude_stream
    for entry in entries:
        if entry.get("type") == "system" and entry.get("subtype") == "init":
            return read_cursor_lines
        if entry.get("type") == "assistant" and isinstance(entry.get("message"), dict):
            return read_claude_stream
    return None


def _description(head: list[Line]) -> str:
    kinds = [
        kind[:40] for line in head if (kind := text_of(dict_of(line.value).get("type"))) is not None
    ]
    if kinds:
        return "lines of type " + ", ".join(sorted(set(kinds))[:4])
    if any(isinstance(line.value, dict) for line in head):
        return "JSON lines without a type"
    return "no JSON lines"
