"""Codex's ``exec --json``: events about items, each a call and its result in one.

The stream states neither folder, model nor times, and has ids of its own, so that a session file of
the same run takes its place. A command's output is whole here, while the agent saw a long one
without its middle.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from retrieval_eval.io.files import Line
from retrieval_eval.records import ToolCall, ToolResult
from retrieval_eval.traces.dialects.codex import seen_part
from retrieval_eval.traces.formats import FORMATS, LineFormat
from retrieval_eval.traces.formats.codex_rollout import mcp_result
from retrieval_eval.traces.formats.openai_calls import Place
from retrieval_eval.traces.reading import CallLog, Complaints, Reading
from retrieval_eval.traces.tokens import OPENAI_COUNTS, is_misstated, openai_usage
from retrieval_eval.traces.untrusted import dict_of, list_of, status_of, text_of

FORMAT = "codex-exec-json"
_SILENT = frozenset({"agent_message", "reasoning", "plan", "todo_list", "error"})


@dataclass(slots=True)
class _State:
    log: CallLog
    session_ids: set[str] = field(default_factory=set)
    n_turns: int = 0
    n_tokens: int = 0
    ending: str | None = None
    has_agent: bool = False


def read_codex_exec(lines: Iterable[Line], name: str) -> Reading:
    """Return the reading of the events of ``exec --json``."""
    complaints = Complaints(name)
    state = _State(CallLog(complaints))
    for line in lines:
        if isinstance(line.value, dict):
            _take(state, line.value, f"{name}:{line.number}")
        elif line.problem is not None and not state.n_turns and not state.session_ids:
            continue  # What other programs wrote before the first event.
        else:
            complaints.add(line)
    endings = {None: ("no_result_event",), "turn.failed": ("result_error",)}
    return Reading(
        format=FORMAT,
        items=state.log.items(),
        session_ids=frozenset(state.session_ids),
        harness="codex",
        declared_tokens=state.n_tokens or None,
        flags=(*endings.get(state.ending, ()), *state.log.flags, *complaints.flags()),
        problems=complaints.sentences(),
        has_agent=state.has_agent,
        is_digest=True,
    )


def _take(state: _State, event: Mapping[str, Any], where: str) -> None:
    kind = text_of(event.get("type")) or ""
    thread = text_of(event.get("thread_id"))
    if kind == "thread.started" and thread:
        state.session_ids.add(thread)
    elif kind in ("turn.started", "turn.completed", "turn.failed"):
        state.n_turns += kind == "turn.started"
        state.ending = None if kind == "turn.started" else kind
        _take_usage(state, event.get("usage"), where)
    elif kind.startswith("item."):
        _take_item(state, dict_of(event.get("item")), where, has_ended=kind == "item.completed")


def _take_usage(state: _State, usage: Any, where: str) -> None:
    """Add the tokens of a turn, which are known only when it has ended."""
    if is_misstated(usage, OPENAI_COUNTS):
        state.log.complaints.note(where, "the token counts are no numbers")
        state.log.add_gap()
        return
    stated = openai_usage(where, usage)
    state.n_tokens += stated.total if stated is not None else 0


def _take_item(state: _State, item: Mapping[str, Any], where: str, *, has_ended: bool) -> None:
    kind, item_id = text_of(item.get("type")), text_of(item.get("id"))
    state.has_agent = state.has_agent or kind != "error"
    if kind in _SILENT:
        return
    if item_id is None or kind is None:
        state.log.complaints.note(where, "an item without an id or a type")
        return
    call = _call(item, kind, Place(where=where), f"turn{state.n_turns}/{item_id}")
    if call is None:
        return
    if not state.log.has(call.call_id):
        state.log.add(call)
    if has_ended:
        result = _result(item, kind)
        if result is not None:
            state.log.join(call.call_id, result)


def _call(item: Mapping[str, Any], kind: str, place: Place, call_id: str) -> ToolCall | None:
    match kind:
        case "command_execution":
            return place.call(call_id, "exec_command", {"cmd": item.get("command")})
        case "file_change":
            changes = [dict_of(change) for change in list_of(item.get("changes"))]
            files = [{"path": change.get("path")} for change in changes]
            return place.call(call_id, "apply_patch", {"files": files})
        case "mcp_tool_call":
            name = f"mcp__{text_of(item.get('server'))}__{text_of(item.get('tool'))}"
            return place.call(call_id, name, item.get("arguments"))
        case "collab_tool_call":
            name = text_of(item.get("tool")) or "collab"
            return place.call(call_id, name, {"message": item.get("prompt")})
        case "web_search":
            return place.call(call_id, "web_search", {"query": item.get("query")})
    return None


def _result(item: Mapping[str, Any], kind: str) -> ToolResult | None:
    status, exit_status = text_of(item.get("status")), status_of(item.get("exit_code"))
    if status == "in_progress":
        return None
    has_failed = status in ("failed", "declined") or bool(exit_status)
    if kind == "mcp_tool_call":
        return mcp_result(item)
    if kind == "command_execution":
        text, is_truncated = seen_part(text_of(item.get("aggregated_output")) or "")
        is_unfinished = status == "declined" or (has_failed and exit_status is None)
        return ToolResult(text, None, has_failed, is_truncated, is_unfinished)
    if kind == "web_search":
        return None
    return ToolResult("", is_error=has_failed, is_unfinished=has_failed)


def _is_exec_event(event: Mapping[str, Any]) -> bool:
    kind = text_of(event.get("type")) or ""
    if kind.startswith("item."):
        return isinstance(event.get("item"), dict)
    return kind == "thread.started" and text_of(event.get("thread_id")) is not None


FORMATS.add(
    FORMAT,
    LineFormat(
        recognises=_is_exec_event,
        read=read_codex_exec,
        keeps=("tokens",),
        priority=3,
        example=(
            {"type": "thread.started", "thread_id": "t"},
            {"type": "turn.started"},
            {
                "type": "item.completed",
                "item": {
                    "id": "item_0",
                    "type": "command_execution",
                    "command": "bash -lc 'cat a.py'",
                    "aggregated_output": "import os",
                    "exit_code": 0,
                    "status": "completed",
                },
            },
            {"type": "turn.completed", "usage": {"input_tokens": 9, "output_tokens": 1}},
        ),
    ),
)
