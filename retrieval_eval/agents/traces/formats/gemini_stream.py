"""Gemini CLI's ``--output-format stream-json``: calls with what a person saw of their answers.

An answer's display text is empty for a file that was read whole and a count for a search, so that
reads are certain and what searches found is only possible. A session file of the same run, whose
calls have the same ids, states the answers themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from retrieval_eval.agents.traces.clock import unix_seconds
from retrieval_eval.agents.traces.dialects import tool_name
from retrieval_eval.agents.traces.dialects.gemini_cli import answer
from retrieval_eval.agents.traces.formats import FORMATS, LineFormat
from retrieval_eval.agents.traces.reading import Reading
from retrieval_eval.agents.traces.results.base import DISPLAY
from retrieval_eval.agents.traces.served import states_exit_status
from retrieval_eval.agents.traces.transcript import Transcript
from retrieval_eval.agents.traces.untrusted import at, count_at, dict_at, text_at
from retrieval_eval.io.files import Line
from retrieval_eval.records import ToolCall, ToolResult

FORMAT = "gemini-cli-stream-json"
_LONGEST_OUTPUT = 30_000
_MOST_LINES = 1000
"""Characters and lines of a command's output that every version shows to the agent whole."""


def read_gemini_stream(lines: Iterable[Line], name: str) -> Reading:
    """Return the reading of a stream-json file."""
    said = Transcript(name, harness="gemini-cli", is_digest=True)
    calls: dict[str, ToolCall] = {}
    has_begun, end = False, None
    for line in lines:
        event = line.value
        if not isinstance(event, dict):
            if has_begun:
                said.complaints.add(line)
            continue
        kind, time = event.get("type"), unix_seconds(event.get("timestamp"))
        is_answer = kind == "message" and event.get("role") == "assistant"
        said.at(f"{name}:{line.number}", time, by_agent=is_answer)
        match kind:
            case "init" if not has_begun:
                has_begun = True
                said.session(event.get("session_id"))
                said.model = text_at(event, "model")
            case "result":
                end = event
            case "tool_use":
                said.has_agent = True
                tool, call_id = event.get("tool_name"), event.get("tool_id")
                call = said.call(tool, event.get("parameters"), call_id)
                calls |= {call.call_id: call} if call is not None else {}
            case "tool_result":
                call = calls.get(text_at(event, "tool_id") or "")
                if call is None:
                    said.note("a tool result does not name its call")
                else:
                    said.answer(call.call_id, answer(replace(call, result=_result(event, call))))
    said.ending = ("no_result_event",) if end is None else ()
    if at(end, "status") == "error":
        said.ending = ("result_error",)
    stats = dict_at(end, "stats")
    total = count_at(stats, "total_tokens") or count_at(stats, "input_tokens", "output_tokens")
    return said.reading(FORMAT, declared_tokens=total or None)


def _result(event: Mapping[str, Any], call: ToolCall) -> ToolResult:
    shown = text_at(event, "output") or ""
    if event.get("status") == "error":
        text = shown or text_at(event, "error", "message") or ""
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
        return text_at(event, "session_id") is not None and "model" in event
    return kind in ("tool_use", "tool_result") and text_at(event, "tool_id") is not None


FORMATS.add(
    FORMAT,
    LineFormat(
        recognises=_is_stream_event,
        read=read_gemini_stream,
        keeps=("times", "tokens", "model"),
        counters=(
            "The totals that the last line states for this run, the cached tokens inside the "
            "input; whether sub-agents are in them is not known. No cost is kept."
        ),
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
