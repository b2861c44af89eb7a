"""Codex's ``exec --json``: events about items, each a call and its result in one.

The stream states neither model nor times nor any folder, also not the one that a command had
to run in, and has ids of its own, so that a session file of the same run takes its place. A
command's output is whole here, while the agent saw a long one without its middle.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from retrieval_eval.io.files import Line
from retrieval_eval.records import ToolCall, ToolResult
from retrieval_eval.traces.dialects.codex import seen_part
from retrieval_eval.traces.formats import FORMATS, LineFormat
from retrieval_eval.traces.formats.codex_rollout import mcp_result
from retrieval_eval.traces.formats.openai_calls import Place
from retrieval_eval.traces.reading import Reading
from retrieval_eval.traces.tokens import OPENAI_COUNTS, is_misstated, openai_usage
from retrieval_eval.traces.transcript import Transcript
from retrieval_eval.traces.untrusted import dict_at, dicts_at, status_of, text_at

FORMAT = "codex-exec-json"
_SILENT = frozenset({"agent_message", "reasoning", "plan", "todo_list", "error"})


def read_codex_exec(lines: Iterable[Line], name: str) -> Reading:
    """Return the reading of the events of ``exec --json``."""
    said = Transcript(name, harness="codex", is_digest=True)
    n_turns = n_tokens = 0
    ending: str | None = None
    for line in lines:
        event = line.value
        if not isinstance(event, dict):
            # What other programs wrote before the first event is no fault.
            if line.problem is None or n_turns or said.session_ids:
                said.complaints.add(line)
            continue
        kind = text_at(event, "type") or ""
        said.at(f"{name}:{line.number}")
        if kind == "thread.started":
            said.session(event.get("thread_id"))
        elif kind in ("turn.started", "turn.completed", "turn.failed"):
            n_turns += kind == "turn.started"
            ending = None if kind == "turn.started" else kind
            # The tokens of a turn are known only when it has ended.
            if is_misstated(event.get("usage"), OPENAI_COUNTS):
                said.used(None, 0, 0, is_misstated=True)
            elif (usage := openai_usage("", event.get("usage"))) is not None:
                n_tokens += usage.total
        elif kind.startswith("item."):
            _take_item(said, dict_at(event, "item"), n_turns, has_ended=kind == "item.completed")
    endings = {None: ("no_result_event",), "turn.failed": ("result_error",)}
    said.ending = endings.get(ending, ())
    return said.reading(FORMAT, declared_tokens=n_tokens or None)


def _take_item(said: Transcript, item: Mapping[str, Any], turn: int, *, has_ended: bool) -> None:
    kind, item_id = text_at(item, "type"), text_at(item, "id")
    said.has_agent = said.has_agent or kind != "error"
    if kind in _SILENT:
        return
    if item_id is None or kind is None:
        said.note("an item without an id or a type")
        return
    call = _call(item, kind, said.place, f"turn{turn}/{item_id}")
    if call is None:
        return
    if not said.has(call.call_id):
        said.add(call)
    result = _result(item, kind) if has_ended else None
    if result is not None:
        said.join(call.call_id, result)


def _call(item: Mapping[str, Any], kind: str, place: Place, call_id: str) -> ToolCall | None:
    match kind:
        case "command_execution":
            return place.call(call_id, "exec_command", {"cmd": item.get("command")})
        case "file_change":
            files = [{"path": change.get("path")} for change in dicts_at(item, "changes")]
            return place.call(call_id, "apply_patch", {"files": files})
        case "mcp_tool_call":
            name = f"mcp__{text_at(item, 'server')}__{text_at(item, 'tool')}"
            return place.call(call_id, name, item.get("arguments"))
        case "collab_tool_call":
            name = text_at(item, "tool") or "collab"
            return place.call(call_id, name, {"message": item.get("prompt")})
        case "web_search":
            return place.call(call_id, "web_search", {"query": item.get("query")})
    return None


def _result(item: Mapping[str, Any], kind: str) -> ToolResult | None:
    status, exit_status = text_at(item, "status"), status_of(item.get("exit_code"))
    if status == "in_progress":
        return None
    has_failed = status in ("failed", "declined") or bool(exit_status)
    if kind == "mcp_tool_call":
        return mcp_result(item)
    if kind == "command_execution":
        text, is_truncated = seen_part(text_at(item, "aggregated_output") or "")
        is_unfinished = status == "declined" or (has_failed and exit_status is None)
        return ToolResult(text, None, has_failed, is_truncated, is_unfinished)
    if kind == "web_search":
        return None
    return ToolResult("", is_error=has_failed, is_unfinished=has_failed)


def _is_exec_event(event: Mapping[str, Any]) -> bool:
    kind = text_at(event, "type") or ""
    if kind.startswith("item."):
        return isinstance(event.get("item"), dict)
    return kind == "thread.started" and text_at(event, "thread_id") is not None


FORMATS.add(
    FORMAT,
    LineFormat(
        recognises=_is_exec_event,
        read=read_codex_exec,
        has_workdirs=False,
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
