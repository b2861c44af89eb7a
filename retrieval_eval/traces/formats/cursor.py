"""Cursor CLI: ``tool_call`` events, ``started`` and ``completed`` with one call id each.

The events come as JSONL or as the steps of a ``cursor-jsonl-v1`` document. The key inside
``tool_call`` names the tool; its ``result`` has one key, the status.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from retrieval_eval.io.files import Line
from retrieval_eval.io.spooled import Spooled
from retrieval_eval.records import ToolCall
from retrieval_eval.traces.clock import earliest, from_milliseconds, latest
from retrieval_eval.traces.dialects.cursor import result_of
from retrieval_eval.traces.formats import FORMATS, DocumentFormat, LineFormat
from retrieval_eval.traces.reading import Complaints, Reading, Unreadable, arguments_of, size
from retrieval_eval.traces.tokens import Gap, Item
from retrieval_eval.traces.truncated import (
    TRIMMED,
    TRUNCATED,
    is_placeholder,
    preview_of,
    whole_or_rest,
)
from retrieval_eval.traces.untrusted import clean, count_of, dict_of, text_of

FORMAT = "cursor-jsonl"


@dataclass(slots=True)
class _State:
    name: str
    complaints: Complaints
    items: Spooled[Item] = field(default_factory=lambda: Spooled(Item))
    places: dict[str, int] = field(default_factory=dict)
    flags: dict[str, None] = field(default_factory=dict)
    init: Mapping[str, Any] = field(default_factory=dict)
    result: Mapping[str, Any] | None = None
    started_at: float | None = None
    finished_at: float | None = None
    has_agent: bool = False


def read_cursor_document(document: Mapping[str, Any], name: str) -> Reading | Unreadable:
    """Return the reading of a ``cursor-jsonl-v1`` document."""
    steps = document.get("steps")
    if not isinstance(steps, list):
        return Unreadable(f"{name}: a Cursor trace without a list of steps")
    state = _State(name, Complaints(name))
    if document.get("_corpus_trim_applied"):
        state.flags[TRIMMED] = None
    for index, step in enumerate(steps):
        where = f"{name}#/steps/{index}"
        if isinstance(step, dict):
            _take(state, step, where)
        else:
            state.complaints.note(where, "expected a JSON object")
    return _reading(state)


def read_cursor_lines(lines: Iterable[Line], name: str) -> Reading:
    """Return the reading of a JSONL file of Cursor events."""
    state = _State(name, Complaints(name))
    for entry, where in state.complaints.objects(lines):
        _take(state, entry, where)
    return _reading(state)


def _reading(state: _State) -> Reading:
    if state.result is None:
        state.flags["no_result_event"] = None
    elif state.result.get("subtype") not in (None, "success"):
        state.flags[f"result_{str(clean(state.result['subtype']))[:60]}"] = None
    session = text_of(state.init.get("session_id"))
    usage = dict_of(dict_of(state.result).get("usage"))
    names = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")
    return Reading(
        format=FORMAT,
        items=state.items.done(),
        session_ids=frozenset({session} if session else ()),
        harness="cursor",
        model=text_of(state.init.get("model")),
        started_at=state.started_at,
        finished_at=state.finished_at,
        cwd=text_of(state.init.get("cwd")),
        declared_tokens=sum(count_of(usage.get(name)) for name in names) or None,
        flags=tuple(dict.fromkeys((*state.flags, *state.complaints.flags()))),
        problems=state.complaints.sentences(),
        has_agent=state.has_agent,
    )


def _take(state: _State, event: Mapping[str, Any], where: str) -> None:
    kind = event.get("type")
    timestamp = from_milliseconds(event.get("timestamp_ms"))
    state.finished_at = latest(state.finished_at, timestamp)
    if kind in ("thinking", "assistant", "tool_call"):
        state.has_agent = True
        state.started_at = earliest(state.started_at, timestamp)
    if is_placeholder(event):
        state.flags[TRIMMED] = None
        state.items.append(Gap())
    elif event.get("source") == "malformed":
        state.flags["malformed_line"] = None
        state.complaints.note(where, "a line that the harness could not read")
    elif kind == "system" and event.get("subtype") == "init":
        state.init = state.init or event
    elif kind == "result":
        state.result = event
    elif kind == "tool_call":
        call = _call(state, event, timestamp, where)
        if call is not None:
            _log(state, call)


def _call(
    state: _State, event: Mapping[str, Any], timestamp: float | None, where: str
) -> ToolCall | None:
    stated = event.get("tool_call")
    is_cut = preview_of(stated) is not None
    if is_cut:
        state.flags[TRUNCATED] = None
    name, sure = _tool(whole_or_rest(stated, keep_cut_text=False))
    if name is None:
        if not is_cut:
            state.complaints.note(where, "a tool call without a name")
        return None
    _, seen = _tool(whole_or_rest(stated, keep_cut_text=True)) if is_cut else (name, sure)
    has_result = event.get("subtype") == "completed"
    return ToolCall(
        call_id=text_of(event.get("call_id")) or where,
        name=name,
        arguments=arguments_of(sure.get("args")),
        result=result_of(seen.get("result"), is_cut) if has_result else None,
        timestamp=timestamp,
        cwd=text_of(state.init.get("cwd")),
        where=where,
    )


def _log(state: _State, call: ToolCall) -> None:
    """Complete the call that was started under this id, or append one."""
    place = state.places.get(call.call_id)
    known = None if place is None else state.items[place]
    if not isinstance(known, ToolCall) or place is None:
        state.places[call.call_id] = len(state.items)
        state.items.append(call, size(call.arguments))
    elif known.name == call.name and known.result is None and call.result is not None:
        is_whole = len(known.arguments) >= len(call.arguments)
        arguments = known.arguments if is_whole else call.arguments
        whole = replace(known, result=call.result, arguments=arguments)
        state.items.put(place, whole, size(call.result.text))
    elif (known.name, known.arguments) != (call.name, call.arguments):
        state.flags["repeated_call_id"] = None
        state.places[call.call_id] = len(state.items)
        state.items.append(call, size(call.arguments))


def _tool(tool_call: Any) -> tuple[str | None, Mapping[str, Any]]:
    for name, body in dict_of(tool_call).items():
        if isinstance(body, dict) and text_of(name):
            return text_of(name), body
    return None, {}


def _is_cursor_event(event: Mapping[str, Any]) -> bool:
    kind = event.get("type")
    if kind in ("tool_call", "thinking"):
        return True
    # An assistant's line with a message id is Claude Code's.
    is_claude = text_of(dict_of(event.get("message")).get("id"))
    return kind == "assistant" and "model_call_id" in event and not is_claude


def _may_be_cursor_event(event: Mapping[str, Any]) -> bool:
    return event.get("type") == "system" and event.get("subtype") == "init"


def _is_cursor_document(document: Mapping[str, Any]) -> bool:
    version = text_of(document.get("schema_version")) or ""
    return version.lower().startswith("cursor-jsonl-v1")


_EXAMPLE: tuple[Mapping[str, Any], ...] = (
    {"type": "system", "subtype": "init", "session_id": "s", "cwd": "/w"},
    {
        "type": "tool_call",
        "subtype": "started",
        "call_id": "c",
        "tool_call": {"globToolCall": {"args": {"globPattern": "*.py"}}},
    },
    {
        "type": "tool_call",
        "subtype": "completed",
        "call_id": "c",
        "tool_call": {"globToolCall": {"result": {"success": {"files": ["/w/a.py"]}}}},
    },
    {"type": "result", "subtype": "success"},
)

_COUNTERS = (
    "The totals that the last line states for the run, the cached tokens beside the input; whether "
    "sub-agents are in them is not known. No cost is kept."
)
_SOURCE = "Cursor CLI, which is closed: files seen, which state no version"

FORMATS.add(
    FORMAT,
    LineFormat(
        recognises=_is_cursor_event,
        read=read_cursor_lines,
        keeps=("times", "tokens", "model"),
        counters=_COUNTERS,
        source=_SOURCE,
        may_be=_may_be_cursor_event,
        priority=1,
        example=_EXAMPLE,
    ),
)
FORMATS.add(
    "cursor-jsonl-v1",
    DocumentFormat(
        recognises=_is_cursor_document,
        read=read_cursor_document,
        keeps=("times", "tokens", "model"),
        counters=_COUNTERS,
        source=_SOURCE,
        example={"schema_version": "cursor-jsonl-v1", "steps": list(_EXAMPLE)},
    ),
)
