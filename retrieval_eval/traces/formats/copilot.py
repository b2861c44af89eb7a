"""GitHub Copilot CLI's events: requests of tools, their starts and their ends, joined by id.

A result holds what the model got (``content``) and what a person was shown (``detailedContent``);
the first is read. Where the model is Anthropic's, the printed stream has flat ``tool_use`` and
``tool_result`` lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from retrieval_eval.io.files import Line, decode
from retrieval_eval.io.spooled import like
from retrieval_eval.records import ToolCall, ToolResult
from retrieval_eval.traces.clock import earliest, latest, unix_seconds
from retrieval_eval.traces.dialects.copilot_cli import HARNESS, answer, started_shell
from retrieval_eval.traces.formats import FORMATS, LineFormat
from retrieval_eval.traces.reading import CallLog, Complaints, Reading, arguments_of
from retrieval_eval.traces.tokens import Item
from retrieval_eval.traces.untrusted import blocks_text, clean, count_of, dict_of, list_of, text_of

FORMAT = "copilot-events"
_FETCHES = {"read_bash": "bash", "read_powershell": "powershell"}
"""Tools that fetch what a command printed, and the tools that ran it."""

_OWN = (
    *("session.start", "assistant.message", "tool.execution_start", "tool.execution_complete"),
    *("session.shutdown", "permission.requested", "permission.completed"),
)


@dataclass(slots=True)
class _State:
    name: str
    log: CallLog
    start: Mapping[str, Any] = field(default_factory=dict)
    end: Mapping[str, Any] | None = None
    tokens: int = 0
    model: str | None = None
    cwd: str | None = None
    names: dict[str, str] = field(default_factory=dict)
    servers: dict[str, str] = field(default_factory=dict)
    requests: dict[str, str] = field(default_factory=dict)
    commands: dict[str, str] = field(default_factory=dict)
    is_flat: bool = False
    has_agent: bool = False
    started_at: float | None = None
    finished_at: float | None = None


def read_copilot(lines: Iterable[Line], name: str) -> Reading:
    """Return the reading of a session's events, or of the printed stream."""
    complaints = Complaints(name)
    state = _State(name, CallLog(complaints))
    for entry, where in complaints.objects(lines):
        _take(state, entry, where)
    items = state.log.items()
    session = text_of(state.start.get("sessionId"))
    is_cut = state.end is None and not state.is_flat
    return Reading(
        format=FORMAT,
        items=like(items, Item, (_named(state, item) for item in items)),
        session_ids=frozenset({session} if session else ()),
        harness=HARNESS,
        harness_version=text_of(state.start.get("copilotVersion")),
        model=_model(state),
        started_at=state.started_at,
        finished_at=state.finished_at,
        cwd=text_of(clean(dict_of(state.start.get("context")).get("cwd"))),
        declared_tokens=state.tokens or None,
        flags=(
            *(("no_result_event",) if is_cut else ()),
            *state.log.flags,
            *complaints.flags(),
        ),
        problems=complaints.sentences(),
        has_agent=state.has_agent,
        holds_run=True,
        is_native=True,
    )


def _named(state: _State, item: Item) -> Item:
    """Give a call of an MCP tool the name with its server, which only its start states."""
    if isinstance(item, ToolCall) and item.call_id in state.servers:
        return replace(item, name=state.servers[item.call_id])
    return item


def _tokens(end: Mapping[str, Any]) -> int:
    models = dict_of(end.get("modelMetrics")).values()
    usages = [dict_of(dict_of(model).get("usage")) for model in models]
    names = ("inputTokens", "outputTokens")
    return sum(count_of(usage.get(name)) for usage in usages for name in names)


def _model(state: _State) -> str | None:
    """Return the model that was chosen, or that answered where the choice was left open."""
    chosen = text_of(clean(state.start.get("selectedModel")))
    return chosen if chosen not in (None, "auto") else state.model or chosen


def _take(state: _State, event: Mapping[str, Any], where: str) -> None:
    kind = event.get("type")
    timestamp = unix_seconds(event.get("timestamp"))
    state.finished_at = latest(state.finished_at, timestamp)
    data = dict_of(event.get("data"))
    if kind in ("tool_use", "tool_result"):
        _take_flat(state, event, timestamp, where)
    elif kind == "session.start":
        state.start = state.start or data
        state.cwd = text_of(clean(dict_of(data.get("context")).get("cwd")))
    elif kind == "session.context_changed":
        state.cwd = text_of(clean(data.get("cwd"))) or state.cwd
    elif kind == "session.shutdown":
        # A session that was resumed ends several times, each time with what it used since.
        state.end = data
        state.tokens += _tokens(data)
    elif kind == "session.compaction_complete":
        state.log.note_summary()
    elif kind == "assistant.message":
        state.has_agent = True
        state.started_at = earliest(state.started_at, timestamp)
        if event.get("agentId") is None:
            state.model = state.model or text_of(clean(data.get("model")))
        for request in map(dict_of, list_of(data.get("toolRequests"))):
            _request(state, event, request, request.get("name"), timestamp, where)
    elif kind == "tool.execution_start":
        _request(state, event, data, data.get("toolName"), timestamp, where)
        _note_server(state, data)
    elif kind == "tool.execution_complete":
        _complete(state, data, timestamp, where)
    elif kind in ("permission.requested", "permission.completed"):
        _permit(state, data)


def _request(
    state: _State,
    event: Mapping[str, Any],
    stated: Mapping[str, Any],
    called: Any,
    timestamp: float | None,
    where: str,
) -> None:
    """Log a call; the message that requests it and its start are one call."""
    name, call_id = text_of(called), text_of(stated.get("toolCallId"))
    if name is None:
        state.log.complaints.note(where, "a tool call without a name")
        return
    if call_id in state.names:
        state.log.touch(call_id, timestamp)
        return
    state.has_agent = True
    own = call_id or where
    name, arguments = _fetched(state, name, _arguments(stated.get("arguments")))
    state.names[own] = name
    command = text_of(arguments.get("command"))
    if command is not None:
        state.commands |= dict.fromkeys((own, *_shells(arguments)), command)
    agent = text_of(event.get("agentId")) or text_of(stated.get("parentToolCallId"))
    state.log.add(
        ToolCall(
            call_id=own,
            name=name,
            arguments=arguments,
            result=None,
            timestamp=timestamp,
            is_subagent=agent is not None,
            cwd=state.cwd,
            where=where,
            parent_id=agent,
        )
    )


def _shells(arguments: Mapping[str, Any]) -> list[str]:
    """Return under which names of shells a call runs or reads a command."""
    names = (text_of(arguments.get(name)) for name in ("shellId", "sessionId"))
    return [f"shell {name}" for name in names if name is not None]


def _fetched(
    state: _State, name: str, arguments: Mapping[str, Any]
) -> tuple[str, Mapping[str, Any]]:
    """Return the call of the command whose output a call fetches, where that is known."""
    known = [state.commands[shell] for shell in _shells(arguments) if shell in state.commands]
    if name not in _FETCHES or not known:
        return name, arguments
    return _FETCHES[name], {**arguments, "command": known[0]}


def _arguments(stated: Any) -> Mapping[str, Any]:
    value = decode(stated)[0] if isinstance(stated, str) else stated
    return arguments_of(value if isinstance(value, dict) else stated)


def _note_server(state: _State, data: Mapping[str, Any]) -> None:
    server, tool = text_of(data.get("mcpServerName")), text_of(data.get("mcpToolName"))
    call_id = text_of(data.get("toolCallId"))
    if server and tool and call_id:
        state.servers[call_id] = f"mcp__{server}__{tool}"


def _complete(state: _State, data: Mapping[str, Any], timestamp: float | None, where: str) -> None:
    call_id = text_of(data.get("toolCallId"))
    if call_id is None:
        state.log.complaints.note(where, "a tool result does not name its call")
        return
    stated = data.get("result")
    if stated is None and data.get("success") is True:
        # Editors record that a call ended, and not what it returned.
        state.log.touch(call_id, timestamp)
        return
    text = blocks_text(dict_of(stated).get("content") if isinstance(stated, dict) else stated)
    error = dict_of(data.get("error"))
    is_error = data.get("success") is not True
    code = _exit_code(dict_of(stated))
    shell = started_shell(text)
    if shell is not None and call_id in state.commands:
        state.commands[f"shell {shell}"] = state.commands[call_id]
    text = text or text_of(error.get("message")) or ""
    result = ToolResult(
        text,
        None if code is None else {"exit_code": code},
        is_error or bool(code),
        is_unfinished=is_error and code is None,
    )
    call = ToolCall(call_id, state.names.get(call_id, ""), {}, result)
    state.log.join(call_id, answer(call), timestamp)


def _exit_code(result: Mapping[str, Any]) -> int | None:
    codes = (dict_of(block).get("exitCode") for block in list_of(result.get("contents")))
    return next((c for c in codes if isinstance(c, int) and not isinstance(c, bool)), None)


def _permit(state: _State, data: Mapping[str, Any]) -> None:
    """Note which call a permission is about; one that was denied did not run."""
    request = text_of(data.get("requestId")) or ""
    about = dict_of(data.get("permissionRequest"))
    call_id = text_of(data.get("toolCallId")) or text_of(about.get("toolCallId"))
    call_id = call_id or state.requests.get(request)
    if call_id is None:
        return
    state.requests[request] = call_id
    kind = text_of(dict_of(data.get("result")).get("kind")) or ""
    if kind.startswith("denied"):
        state.log.join(call_id, ToolResult(kind[:200], None, True, is_unfinished=True))


def _take_flat(state: _State, line: Mapping[str, Any], timestamp: float | None, where: str) -> None:
    state.is_flat = True
    if line.get("type") == "tool_use":
        stated = {"toolCallId": line.get("id"), "arguments": line.get("input")}
        _request(state, {}, stated, line.get("name"), timestamp, where)
        return
    call_id = text_of(line.get("tool_use_id"))
    if call_id is not None:
        is_error = line.get("is_error") is True
        result = ToolResult(
            blocks_text(line.get("content")), None, is_error, is_unfinished=is_error
        )
        call = ToolCall(call_id, state.names.get(call_id, ""), {}, result)
        state.log.join(call_id, answer(call), timestamp)


def _is_copilot(line: Mapping[str, Any]) -> bool:
    kind = line.get("type")
    if kind in _OWN and isinstance(line.get("data"), dict):
        return True
    return kind == "tool_use" and "input" in line and isinstance(line.get("name"), str)


FORMATS.add(
    FORMAT,
    LineFormat(
        recognises=_is_copilot,
        read=read_copilot,
        keeps=("times", "tokens", "model", "version", "sub-agents"),
        folders=("copilot",),
        example=(
            {
                "type": "session.start",
                "data": {"sessionId": "s", "copilotVersion": "1", "context": {"cwd": "/w"}},
            },
            {
                "type": "tool.execution_start",
                "data": {"toolCallId": "c", "toolName": "view", "arguments": {"path": "/w/a.py"}},
            },
            {
                "type": "tool.execution_complete",
                "data": {"toolCallId": "c", "success": True, "result": {"content": "1. x = 1"}},
            },
            {"type": "session.shutdown", "data": {"modelMetrics": {}}},
        ),
    ),
)
