"""Gemini CLI's ``--output-format stream-json``: calls with what a person saw of their answers.

An answer's display text is empty for a file that was read whole and a count for a search, so that
reads are certain and what searches found is only possible. A session file of the same run, whose
calls have the same ids, states the answers themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from retrieval_eval.io.files import Line
from retrieval_eval.records import ToolCall, ToolResult
from retrieval_eval.traces.clock import earliest, latest, unix_seconds
from retrieval_eval.traces.dialects import tool_name
from retrieval_eval.traces.dialects.gemini_cli import answer
from retrieval_eval.traces.formats import FORMATS, LineFormat
from retrieval_eval.traces.reading import CallLog, Complaints, Reading, arguments_of
from retrieval_eval.traces.results.base import DISPLAY
from retrieval_eval.traces.served import states_exit_status
from retrieval_eval.traces.untrusted import count_of, dict_of, text_of

FORMAT = "gemini-cli-stream-json"
_LONGEST_OUTPUT = 30_000
_MOST_LINES = 1000
"""Characters and lines of a command's output that every version shows to the agent whole."""


@dataclass(slots=True)
class _State:
    log: CallLog
    calls: dict[str, ToolCall] = field(default_factory=dict)
    init: Mapping[str, Any] = field(default_factory=dict)
    result: Mapping[str, Any] | None = None
    started_at: float | None = None
    finished_at: float | None = None
    has_agent: bool = False


def read_gemini_stream(lines: Iterable[Line], name: str) -> Reading:
    """Return the reading of a stream-json file."""
    complaints = Complaints(name)
    state = _State(CallLog(complaints))
    for line in lines:
        if isinstance(line.value, dict):
            _take(state, line.value, f"{name}:{line.number}")
        elif state.init:
            complaints.add(line)
    session = text_of(state.init.get("session_id"))
    stats = dict_of(dict_of(state.result).get("stats"))
    counted = count_of(stats.get("input_tokens")) + count_of(stats.get("output_tokens"))
    ending = ("no_result_event",) if state.result is None else ()
    if state.result is not None and state.result.get("status") == "error":
        ending = ("result_error",)
    return Reading(
        format=FORMAT,
        items=state.log.items(),
        session_ids=frozenset({session} if session else ()),
        harness="gemini-cli",
        model=text_of(state.init.get("model")),
        started_at=earliest(state.started_at, state.log.first_time),
        finished_at=state.finished_at,
        declared_tokens=count_of(stats.get("total_tokens")) or counted or None,
        flags=(*ending, *state.log.flags, *complaints.flags()),
        problems=complaints.sentences(),
        has_agent=state.has_agent,
        is_digest=True,
    )


def _take(state: _State, event: Mapping[str, Any], where: str) -> None:
    kind, timestamp = event.get("type"), unix_seconds(event.get("timestamp"))
    state.finished_at = latest(state.finished_at, timestamp)
    if kind == "init":
        state.init = state.init or event
    elif kind == "result":
        state.result = event
    elif kind == "message" and event.get("role") == "assistant":
        state.has_agent = True
        state.started_at = earliest(state.started_at, timestamp)
    elif kind == "tool_use":
        state.has_agent = True
        _log_call(state, event, where, timestamp)
    elif kind == "tool_result":
        call = state.calls.get(text_of(event.get("tool_id")) or "")
        if call is None:
            state.log.complaints.note(where, "a tool result does not name its call")
        else:
            result = answer(replace(call, result=_result(event, call)))
            state.log.join(call.call_id, result, timestamp)


def _log_call(state: _State, event: Mapping[str, Any], where: str, timestamp: float | None) -> None:
    name = text_of(event.get("tool_name"))
    if name is None:
        state.log.complaints.note(where, "a tool call without a name")
        return
    call = ToolCall(
        call_id=text_of(event.get("tool_id")) or where,
        name=name,
        arguments=arguments_of(event.get("parameters")),
        result=None,
        timestamp=timestamp,
        where=where,
    )
    state.calls[call.call_id] = call
    state.log.add(call)


def _result(event: Mapping[str, Any], call: ToolCall) -> ToolResult:
    shown = text_of(event.get("output")) or ""
    if event.get("status") == "error":
        text = shown or text_of(dict_of(event.get("error")).get("message")) or ""
        return ToolResult(text, is_error=True, is_unfinished=not states_exit_status(text))
    if call.name == "run_shell_command":
        is_long = len(shown) > _LONGEST_OUTPUT or shown.count("\n") > _MOST_LINES
        return ToolResult(shown, doubt="display_only" if is_long else None)
    if tool_name(call.name, call.arguments).is_mcp:
        return ToolResult(shown, doubt="display_only")
    return ToolResult(shown, {DISPLAY: shown})


def _is_stream_event(event: Mapping[str, Any]) -> bool:
    kind = event.get("type")
    if kind == "init":
        return text_of(event.get("session_id")) is not None and "model" in event
    return kind in ("tool_use", "tool_result") and text_of(event.get("tool_id")) is not None


FORMATS.add(
    FORMAT,
    LineFormat(
        recognises=_is_stream_event,
        read=read_gemini_stream,
        keeps=("times", "tokens", "model"),
        priority=3,
        example=(
            {
                "type": "init",
                "timestamp": "2026-01-01T00:00:00Z",
                "session_id": "s",
                "model": "gemini-3-pro",
            },
            {
                "type": "tool_use",
                "timestamp": "2026-01-01T00:00:01Z",
                "tool_name": "read_file",
                "tool_id": "c",
                "parameters": {"file_path": "a.py"},
            },
            {"type": "tool_result", "tool_id": "c", "status": "success", "output": ""},
            {"type": "result", "status": "success", "stats": {"total_tokens": 10}},
        ),
    ),
)
