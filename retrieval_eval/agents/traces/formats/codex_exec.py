"""Codex's ``exec --json``: events about items, each a call and its result in one.

The stream states neither model nor times nor any folder, also not the one that a command had
to run in, and has ids of its own, so that a session file of the same run takes its place. A
command's output is whole here, while the agent saw a long one without its middle. Where the model
works in code mode (the default of the newest models), a script ran the commands and decided what
the agent was shown of them. Nothing in the stream tells such commands from others; only streams of
versions before these models are known to hold none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from retrieval_eval.agents.traces.dialects.codex import STATUS_OF_TIMEOUT, seen_part, timed_out
from retrieval_eval.agents.traces.formats import FORMATS, LineFormat
from retrieval_eval.agents.traces.formats.codex_rollout import mcp_result
from retrieval_eval.agents.traces.formats.openai_calls import function_arguments
from retrieval_eval.agents.traces.reading import Reading
from retrieval_eval.agents.traces.tokens import Item
from retrieval_eval.agents.traces.transcript import Transcript
from retrieval_eval.agents.traces.untrusted import (
    dict_at,
    dicts_at,
    list_of,
    status_of,
    text_at,
    text_of,
)
from retrieval_eval.io.files import Line
from retrieval_eval.io.spooled import like
from retrieval_eval.records import ToolCall, ToolResult

FORMAT = "codex-exec-json"
_SILENT = frozenset({"agent_message", "reasoning", "plan", "todo_list", "error"})


def read_codex_exec(lines: Iterable[Line], name: str) -> Reading:
    """Return the reading of the events of ``exec --json``."""
    said = Transcript(name, harness="codex", is_digest=True)
    n_turns, knows_code_mode = 0, True
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
            usage = dict_at(event, "usage")
            # Only versions that know models of code mode state what was written to the cache.
            knows_code_mode = "cache_write_input_tokens" in usage if usage else knows_code_mode
        elif kind.startswith("item."):
            _take_item(said, dict_at(event, "item"), n_turns, has_ended=kind == "item.completed")
    endings = {None: ("no_result_event",), "turn.failed": ("result_error",)}
    said.ending = endings.get(ending, ())
    if not knows_code_mode:
        return said.reading(FORMAT)
    items = said.items()
    return said.reading(FORMAT, items=like(items, Item, _as_displayed(items)))


def _as_displayed(items: Sequence[Item]) -> Iterator[Item]:
    """Yield commands and calls of servers as what a person was shown of them."""
    for item in items:
        result = item.result if isinstance(item, ToolCall) else None
        if isinstance(item, ToolCall) and result is not None and item.name != "apply_patch":
            shown = result.text.strip() and not result.is_unfinished and result.doubt is None
            yield replace(item, result=replace(result, doubt="display_only")) if shown else item
        else:
            yield item


def _take_item(said: Transcript, item: Mapping[str, Any], turn: int, *, has_ended: bool) -> None:
    kind, item_id = text_at(item, "type"), text_at(item, "id")
    said.has_agent = said.has_agent or kind != "error"
    if kind in _SILENT:
        return
    if item_id is None or kind is None:
        said.note("an item without an id or a type")
        return
    called = _called(item, kind)
    if called is None:
        return
    call = said.made(*called, f"turn{turn}/{item_id}")
    if not said.has(call.call_id):
        said.add(call)
    if kind == "collab_tool_call" and has_ended:
        _link(said, call, item)
    result = _result(item, kind) if has_ended else None
    if result is not None:
        said.join(call.call_id, result)


def _called(item: Mapping[str, Any], kind: str) -> tuple[str, Mapping[str, Any]] | None:
    """Return the name and the arguments of the call that an item is, or None for another item."""
    match kind:
        case "command_execution":
            return "exec_command", {"cmd": item.get("command")}
        case "file_change":
            changes = dicts_at(item, "changes")
            files = [{"path": change.get("path"), "kind": change.get("kind")} for change in changes]
            return "apply_patch", {"files": files}
        case "mcp_tool_call":
            name = f"mcp__{text_at(item, 'server')}__{text_at(item, 'tool')}"
            return name, function_arguments(item.get("arguments"))
        case "collab_tool_call":
            tool = text_at(item, "tool") or "sub_agent"
            name = "wait_agent" if tool == "wait" else tool
            return name, {"message": item.get("prompt")}
        case "web_search":
            return "web_search", {"query": item.get("query")}
    return None


def _link(said: Transcript, call: ToolCall, item: Mapping[str, Any]) -> None:
    """Note the sub-agent that a call is the first to name.

    In code mode the start of a sub-agent leaves no item.
    """
    known = set(said.delegated.values())
    agents = [text_of(agent) for agent in list_of(item.get("receiver_thread_ids"))]
    new = next((agent for agent in agents if agent is not None and agent not in known), None)
    if new is not None:
        said.delegated[call.call_id] = new


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
        late = timed_out(text) if exit_status == STATUS_OF_TIMEOUT else None
        return ToolResult(
            text if late is None else late,
            None,
            has_failed,
            is_truncated,
            is_unfinished or late == "",
            is_stopped=bool(late),
        )
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
        counters=(
            "`turn.completed` counts the thread since it began, also before it was resumed or "
            "forked, and nothing tells such a thread from a new one: no count is stated."
        ),
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
