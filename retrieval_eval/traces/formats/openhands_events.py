"""OpenHands' own events, of version 0 (an array, or a folder of one file each) and of the SDK.

The output of an evaluation holds the events of one task a line. Before 0.10 events came in pairs,
then without ids and with their arguments beside their kind; an observation follows its action.

An observation of version 0 names the action that caused it; arguments are those of the action and
never those in the model's message, which belong to the first of several calls. The SDK joins by the
id of the call. Costs and tokens of version 0 are running totals.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from msgspec.structs import replace

from retrieval_eval.io.files import Line, decode
from retrieval_eval.records import ToolCall, ToolResult
from retrieval_eval.traces.clock import earliest, latest, unix_seconds
from retrieval_eval.traces.dialects.openhands import (
    HARNESS,
    SDK,
    answer,
    is_unfinished_output,
    server_tool,
)
from retrieval_eval.traces.formats import FORMATS, LineFormat
from retrieval_eval.traces.formats.openhands import result as unwrapped
from retrieval_eval.traces.reading import (
    CallLog,
    Complaints,
    Reading,
    Unreadable,
    arguments_of,
    chosen,
)
from retrieval_eval.traces.tokens import Usage
from retrieval_eval.traces.untrusted import (
    amount_of,
    blocks_text,
    clean,
    count_of,
    dict_of,
    list_of,
    text_of,
)

_CALLS = {
    "run": "execute_bash",
    "run_ipython": "execute_ipython_cell",
    "read": "str_replace_editor",
    "edit": "str_replace_editor",
    "write": "write",
    "call_tool_mcp": "call_tool_mcp",
    "browse": "browse",
    "browse_interactive": "browse_interactive",
    "delegate": "delegate",
    "think": "think",
    "finish": "finish",
    "task_tracking": "task_tracker",
}
"""Actions of version 0 that are calls of tools, and the tools' names."""

_LONGEST_FOLDER = 1000
_ENDS = ("finished", "stopped", "rejected", "error")
_NOT_ARGUMENTS = frozenset(
    {"thought", "hidden", "confirmation_state", "security_risk", "translated_ipython_code"}
)


@dataclass(slots=True)
class _State:
    name: str
    log: CallLog
    version: str | None = None
    model: str | None = None
    cwd: str | None = None
    folder: str | None = None
    prompt: int = 0
    output: int = 0
    tokens: int | None = None
    cost: float | None = None
    has_agent: bool = False
    has_ended: bool = False
    started_at: float | None = None
    finished_at: float | None = None
    names: dict[str, str] = field(default_factory=dict)
    commands: dict[str, str] = field(default_factory=dict)
    running: str | None = None
    session_ids: set[str] = field(default_factory=set)
    servers: tuple[str, ...] = ()
    sub_agent: str | None = None


def _reading(state: _State, trace_format: str, harness: str) -> Reading:
    complaints = state.log.complaints
    items = state.log.items()
    # Every event is written at once: without an end, only a call under way shows a cut.
    last = next((item for item in reversed(items) if isinstance(item, ToolCall)), None)
    is_cut = not state.has_ended and last is not None and last.result is None
    return Reading(
        format=trace_format,
        items=items,
        session_ids=frozenset(state.session_ids),
        harness=harness,
        harness_version=state.version,
        model=state.model,
        started_at=state.started_at,
        finished_at=state.finished_at,
        cwd=state.folder,
        declared_tokens=state.tokens,
        declared_cost_usd=state.cost,
        flags=(
            *(("no_result_event",) if is_cut else ()),
            *state.log.flags,
            *complaints.flags(),
        ),
        problems=complaints.sentences(),
        has_agent=state.has_agent,
        holds_run=state.sub_agent is None,
        is_native=True,
        sub_agents=frozenset(filter(None, (state.sub_agent,))),
    )


def _log(
    state: _State,
    call_id: str,
    name: str,
    arguments: Mapping[str, Any],
    timestamp: float | None,
    where: str,
) -> None:
    state.names[call_id] = name
    call = ToolCall(
        call_id=call_id,
        name=name,
        arguments=arguments,
        result=None,
        timestamp=timestamp,
        is_subagent=state.sub_agent is not None,
        cwd=state.cwd,
        where=where,
        parent_id=state.sub_agent,
    )
    state.log.add(call)


def _see(state: _State, event: Mapping[str, Any]) -> float | None:
    timestamp = unix_seconds(event.get("timestamp"))
    state.finished_at = latest(state.finished_at, timestamp)
    if event.get("source") == "agent":
        is_prompt = event.get("kind") == "SystemPromptEvent" or event.get("action") == "system"
        state.has_agent = state.has_agent or not is_prompt
        state.started_at = earliest(state.started_at, timestamp)
    return timestamp


def _join(
    state: _State,
    call_id: str,
    result: ToolResult,
    timestamp: float | None,
    *,
    is_running: bool = False,
) -> None:
    call = ToolCall(call_id, state.names.get(call_id, ""), {}, result)
    if call_id in state.commands:
        goes_on = is_running or is_unfinished_output(result.text)
        state.running = state.commands[call_id] if goes_on else None
    state.log.join(call_id, answer(call), timestamp)


def _typed(state: _State, call_id: str, arguments: dict[str, Any]) -> None:
    """Note the command of a call; an empty one waits for the command that is running."""
    command = text_of(arguments.get("command")) or ""
    if not command.strip() and state.running is not None:
        arguments["command"] = command = state.running
        arguments.pop("is_input", None)
    if str(arguments.get("is_input", "")).lower() != "true":
        state.commands[call_id] = command
        if state.cwd is not None:
            arguments["workdir"] = state.cwd


# --------------------------------------------------------------------------------------------------
# Version 0


def read_openhands_events(lines: Iterable[Line], name: str) -> Reading:
    """Return the reading of events of version 0."""
    state = _State(name, CallLog(Complaints(name, "event")))
    for entry, where in state.log.complaints.objects(lines):
        _take(state, entry, where)
    return _reading(state, "openhands-events", HARNESS)


def _take(state: _State, event: Mapping[str, Any], where: str) -> None:
    timestamp = _see(state, event)
    _take_totals(state, dict_of(event.get("llm_metrics")), where)
    action = text_of(event.get("action"))
    arguments = dict_of(event.get("args"))
    if action == "system":
        state.version = text_of(arguments.get("openhands_version")) or state.version
    elif action == "condensation":
        state.log.note_summary()
    elif action in _CALLS and event.get("source") == "agent":
        state.has_ended = state.has_ended or action == "finish"
        if not isinstance(event.get("args"), dict):
            state.log.complaints.note(where, f"the arguments of {action} are no object")
        _add(state, event, action, arguments, timestamp, where)
    elif text_of(event.get("observation")) is not None:
        _observe(state, event, timestamp)


def _take_totals(state: _State, metrics: Mapping[str, Any], where: str) -> None:
    """Log what was used since the last totals."""
    state.cost = latest(state.cost, amount_of(metrics.get("accumulated_cost")))
    usage = dict_of(metrics.get("accumulated_token_usage"))
    prompt, output = count_of(usage.get("prompt_tokens")), count_of(usage.get("completion_tokens"))
    state.model = state.model or text_of(clean(usage.get("model")))
    if prompt + output > state.prompt + state.output:
        used = (max(0, prompt - state.prompt), max(0, output - state.output))
        state.log.add_usage(Usage(where, *used))
        state.prompt, state.output, state.tokens = prompt, output, prompt + output


def _add(
    state: _State,
    event: Mapping[str, Any],
    action: str,
    stated: Mapping[str, Any],
    timestamp: float | None,
    where: str,
) -> None:
    metadata = dict_of(event.get("tool_call_metadata"))
    state.model = state.model or text_of(
        clean(dict_of(metadata.get("model_response")).get("model"))
    )
    name = _CALLS[action]
    arguments = {k: v for k, v in arguments_of(stated).items() if k not in _NOT_ARGUMENTS}
    if action == "call_tool_mcp":
        tool = text_of(arguments.get("name"))
        arguments = dict(arguments_of(arguments.get("arguments")))
        name = server_tool(tool, arguments) if tool is not None else name
    elif action in ("read", "edit"):
        name, arguments = _editor(action, arguments)
    call_id = text_of(metadata.get("tool_call_id")) or _id(event.get("id")) or where
    if action == "run":
        _typed(state, call_id, arguments)
    own = _id(event.get("id"))
    if own is not None:
        state.names[f"event {own}"] = call_id
    _log(state, call_id, name, arguments, timestamp, where)


def _editor(action: str, arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the call of the editor that an action is; older reads state a start and an end."""
    path = {"path": arguments["path"]} if "path" in arguments else {}
    if action == "edit":
        command = text_of(arguments.get("command")) or "str_replace"
        return "str_replace_editor", {"command": command, **path}
    lines = arguments.get("view_range")
    start, end = arguments.get("start"), arguments.get("end")
    if not isinstance(lines, list) and isinstance(start, int) and isinstance(end, int) and end > 0:
        lines = [start + 1, end]
    is_range = isinstance(lines, list)
    return "str_replace_editor", {"command": "view", **path} | (
        {"view_range": lines} if is_range else {}
    )


def _id(value: Any) -> str | None:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return str(value) if is_number else text_of(value)


def _observe(state: _State, event: Mapping[str, Any], timestamp: float | None) -> None:
    kind = event["observation"]
    extras = dict_of(event.get("extras"))
    metadata = dict_of(extras.get("metadata"))
    cause = _id(event.get("cause"))
    call_id = state.names.get(f"event {cause}") if cause is not None else None
    if call_id is not None and kind != "agent_state_changed":
        result = _result(state, event, kind, call_id, metadata)
        _join(state, call_id, result, timestamp)
    folder = text_of(clean(metadata.get("working_dir")))
    state.cwd = folder or state.cwd
    state.folder = state.folder or folder
    if kind == "agent_state_changed":
        state.has_ended = state.has_ended or extras.get("agent_state") in _ENDS


def _result(
    state: _State,
    event: Mapping[str, Any],
    kind: str,
    call_id: str,
    metadata: Mapping[str, Any],
) -> ToolResult:
    text = blocks_text(event.get("content"))
    if kind in ("error", "user_rejected"):
        return ToolResult(text, None, True, is_unfinished=True)
    if kind == "mcp":
        return unwrapped(state.names.get(call_id, ""), text, False)
    stated = {"exit_code": metadata["exit_code"]} if "exit_code" in metadata else None
    return ToolResult(_with_suffix(text, metadata), stated)


def _is_event(line: Mapping[str, Any]) -> bool:
    has_kind = isinstance(line.get("action"), str) or isinstance(line.get("observation"), str)
    return has_kind and line.get("source") in ("agent", "user", "environment") and "id" in line


# --------------------------------------------------------------------------------------------------
# The output of an evaluation


def read_openhands_output(lines: Iterable[Line], name: str) -> Reading | Unreadable:
    """Return the reading of the only task, or the tasks among which to choose."""
    tasks: dict[str, Mapping[str, Any]] = {}
    for line in lines:
        if isinstance(line.value, dict) and _is_output(line.value):
            tasks.setdefault(_task_name(line), line.value)

    def read(task: str) -> Reading:
        return _read_task(tasks[task], f"{name}/{task}")

    return chosen(name, tuple(tasks), read)


def _task_name(line: Line) -> str:
    """Return the task of a line; that of an issue on the web has the issue's number."""
    issue = dict_of(line.value.get("issue"))
    known = text_of(clean(line.value.get("instance_id"))) or _id(issue.get("number"))
    return known or f"line-{line.number}"


def _read_task(task: Mapping[str, Any], name: str) -> Reading:
    metrics = dict_of(task.get("metrics"))
    events = list_of(task.get("history"))
    flat = [event for entry in events for event in (entry if isinstance(entry, list) else [entry])]
    lines = [Line(number, event) for number, event in enumerate(_with_ids(flat), start=1)]
    reading = read_openhands_events(lines, name)
    usage = dict_of(metrics.get("accumulated_token_usage"))
    tokens = count_of(usage.get("prompt_tokens")) + count_of(usage.get("completion_tokens"))
    model = dict_of(dict_of(task.get("metadata")).get("llm_config")).get("model")
    cost = reading.declared_cost_usd
    return replace(
        reading,
        format="openhands-output",
        submission=_patch(task),
        model=reading.model or text_of(clean(model)),
        declared_tokens=reading.declared_tokens or tokens or None,
        declared_cost_usd=amount_of(metrics.get("accumulated_cost")) if cost is None else cost,
    )


def _patch(task: Mapping[str, Any]) -> str | None:
    """Return the patch that the task was handed in with."""
    stated = (dict_of(task.get("test_result")).get("git_patch"), task.get("git_patch"))
    return next(filter(None, (text_of(clean(patch)) for patch in stated)), None)


def _with_ids(events: list[Any]) -> Iterator[Any]:
    """Yield events in the form of today."""
    action: int | None = None
    for number, event in enumerate(events):
        if not isinstance(event, dict) or "id" in event:
            yield event
            continue
        rest = {k: v for k, v in event.items() if k not in ("action", "observation", "content")}
        if isinstance(event.get("action"), str):
            is_agent = event["action"] in _CALLS
            action = number if is_agent else None
            source = "agent" if is_agent else "user"
            yield {"id": number, "source": source, "action": event["action"], "args": rest}
            continue
        extras = {"metadata": {k: rest[k] for k in ("exit_code",) if k in rest}}
        yield {**event, "id": number, "cause": action, "extras": extras}
        action = None


def _is_output(line: Mapping[str, Any]) -> bool:
    history = line.get("history")
    first = history[0] if isinstance(history, list) and history else None
    event = dict_of(first[0] if isinstance(first, list) and first else first)
    is_event = isinstance(event.get("action"), str) or isinstance(event.get("observation"), str)
    return is_event and any(key in line for key in ("instance_id", "git_patch", "test_result"))


# --------------------------------------------------------------------------------------------------
# The SDK


def read_openhands_sdk(lines: Iterable[Line], name: str) -> Reading:
    """Return the reading of the SDK's events; the state of the session may stand before them."""
    state = _State(name, CallLog(Complaints(name, "event")))
    for entry, where in state.log.complaints.objects(lines):
        _take_sdk(state, entry, where)
    return _reading(state, "openhands-sdk-events", SDK)


def _take_sdk(state: _State, event: Mapping[str, Any], where: str) -> None:
    kind = event.get("kind")
    if "workspace" in event and "agent" in event:
        _take_session(state, event)
        return
    if kind == "ConversationStateUpdateEvent":
        _take_update(state, event, where)
        return
    timestamp = _see(state, event)
    call_id = text_of(event.get("tool_call_id"))
    if kind == "ActionEvent":
        _add_sdk(state, event, timestamp, where)
    elif kind == "Condensation":
        state.log.note_summary()
    elif call_id is None:
        return
    elif kind == "ObservationEvent":
        observation = dict_of(event.get("observation"))
        is_running = observation.get("timeout") is True
        _join(state, call_id, _observed(state, observation), timestamp, is_running=is_running)
    elif kind == "UserRejectObservation":
        text = text_of(event.get("rejection_reason")) or ""
        _join(state, call_id, ToolResult(text, None, True, is_unfinished=True), timestamp)
    elif kind == "AgentErrorEvent":
        text = text_of(event.get("error")) or ""
        _join(state, call_id, ToolResult(text, None, True, is_unfinished=True), timestamp)


def _take_session(state: _State, session: Mapping[str, Any]) -> None:
    agent = dict_of(session.get("agent"))
    state.model = text_of(clean(dict_of(agent.get("llm")).get("model")))
    state.folder = text_of(clean(dict_of(session.get("workspace")).get("working_dir")))
    state.cwd = state.folder
    own = text_of(session.get("id"))
    state.session_ids |= {own} if own else set()
    state.servers = _servers(dict_of(agent.get("mcp_config")))
    state.sub_agent, parent = _place_in_run(text_of(session.get("persistence_dir")) or "")
    state.session_ids |= {parent} if parent else set()
    if state.sub_agent is None:
        # What a sub-agent used is in the totals of the conversation that started it.
        state.cost, state.tokens, *_ = _totals(session)
    state.has_ended = session.get("execution_status", session.get("agent_status")) == "finished"


def _servers(config: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the servers that are configured, which may lie one level deeper."""
    inner = config.get("mcpServers")
    return tuple(clean(name) for name in (inner if isinstance(inner, dict) else config))


_SUB_AGENT = re.compile(r"([^/\\]{1,200})[/\\]subagents[/\\]([^/\\]{1,200})[/\\]?\Z")
_HEXADECIMAL = re.compile(r"[0-9a-f]{32}")


def _place_in_run(folder: str) -> tuple[str | None, str | None]:
    """Return which sub-agent keeps its events in a folder, and the session that started it."""
    found = _SUB_AGENT.search(folder[-_LONGEST_FOLDER:])
    if found is None:
        return None, None
    parent, agent = clean(found[1]), clean(found[2])
    is_uuid = _HEXADECIMAL.fullmatch(parent) is not None
    return agent, str(UUID(hex=parent)) if is_uuid else parent


def _take_update(state: _State, event: Mapping[str, Any], where: str) -> None:
    """Take over what changed in a session: its totals, its end, or the whole of it."""
    key, value = event.get("key"), event.get("value")
    if key == "stats":
        cost, tokens, prompt, output = _totals({"stats": value})
        state.cost = latest(state.cost, cost)
        state.tokens = max(state.tokens or 0, tokens or 0) or None
        metrics = dict_of(_usages({"stats": value}))
        names = (text_of(clean(dict_of(m).get("model_name"))) for m in metrics.values())
        state.model = state.model or next(filter(None, names), None)
        if prompt + output > state.prompt + state.output:
            used = (max(0, prompt - state.prompt), max(0, output - state.output))
            state.log.add_usage(Usage(where, *used))
            state.prompt, state.output = prompt, output
    elif key == "execution_status":
        state.has_ended = value == "finished"
    elif key == "full_state" and state.folder is None:
        _take_session(state, dict_of(value))


def _totals(session: Mapping[str, Any]) -> tuple[float | None, int | None, int, int]:
    """Return cost, tokens, and the tokens of prompts and of outputs, of all models together."""
    metrics = [dict_of(m) for m in dict_of(_usages(session)).values()]
    costs = [c for m in metrics if (c := amount_of(m.get("accumulated_cost"))) is not None]
    usages = [dict_of(m.get("accumulated_token_usage")) for m in metrics]
    prompt = sum(count_of(usage.get("prompt_tokens")) for usage in usages)
    output = sum(count_of(usage.get("completion_tokens")) for usage in usages)
    return sum(costs) if costs else None, prompt + output or None, prompt, output


def _usages(session: Mapping[str, Any]) -> Any:
    stats = dict_of(session.get("stats"))
    return stats.get("usage_to_metrics", stats.get("service_to_metrics"))


def _add_sdk(state: _State, event: Mapping[str, Any], timestamp: float | None, where: str) -> None:
    requested = dict_of(event.get("tool_call"))
    name = text_of(event.get("tool_name")) or text_of(requested.get("name"))
    if name is None:
        state.log.complaints.note(where, "a tool call without a name")
        return
    stated = event.get("action")
    if not isinstance(stated, dict):
        text = requested.get("arguments")
        stated = decode(text)[0] if isinstance(text, str) else text
    arguments = {
        k: v for k, v in arguments_of(stated).items() if k not in ("kind", "security_risk")
    }
    if isinstance(arguments.get("data"), dict) and set(arguments) == {"data"}:
        arguments = arguments["data"]
        name = server_tool(name, arguments, state.servers)
    state.has_ended = state.has_ended or name == "finish"
    call_id = text_of(event.get("tool_call_id")) or where
    if name == "terminal":
        _typed(state, call_id, arguments)
    _log(state, call_id, name, arguments, timestamp, where)


def _observed(state: _State, observation: Mapping[str, Any]) -> ToolResult:
    text = blocks_text(observation.get("content"))
    text = text or text_of(observation.get("output")) or ""
    metadata = dict_of(observation.get("metadata"))
    structured: dict[str, Any] = {}
    code = observation.get("exit_code", metadata.get("exit_code"))
    if code is not None:
        structured["exit_code"] = code
    for stated, known in (("matches", "filenames"), ("files", "files")):
        names = [clean(v) for v in list_of(observation.get(stated)) if isinstance(v, str)]
        if names:
            structured[known] = names
    state.cwd = text_of(clean(metadata.get("working_dir"))) or state.cwd
    is_error = observation.get("is_error") is True
    is_late = observation.get("timeout") is True
    is_nothing = is_late and not text.strip()
    text = _with_suffix(text, metadata)
    return ToolResult(
        text,
        structured or None,
        is_error or is_late,
        is_unfinished=is_nothing,
        is_stopped=is_late and not is_nothing,
    )


def _with_suffix(text: str, metadata: Mapping[str, Any]) -> str:
    """Return an output with the note behind it that the model was sent."""
    suffix = (text_of(metadata.get("suffix")) or "").strip()
    return f"{text}\n{suffix}" if suffix and suffix not in text else text


def _is_sdk_event(line: Mapping[str, Any]) -> bool:
    kind = line.get("kind")
    if kind in ("MessageEvent", "SystemPromptEvent"):
        # A conversation without a call has no other events.
        return isinstance(line.get("llm_message", line.get("system_prompt")), dict)
    return "tool_call_id" in line and kind in (
        *("ActionEvent", "ObservationEvent", "UserRejectObservation", "AgentErrorEvent"),
    )


FORMATS.add(
    "openhands-events",
    LineFormat(
        recognises=_is_event,
        read=read_openhands_events,
        keeps=("times", "tokens", "cost", "model", "version"),
        counters=(
            "running totals of the session, cached tokens inside the prompt; those of delegates "
            "are not known to be inside"
        ),
        file_names=("openhands.trajectory.json",),
        event_folders=("events",),
        example=(
            {
                "id": 1,
                "timestamp": "2025-01-01T00:00:00",
                "source": "agent",
                "action": "run",
                "args": {"command": "cat a.py"},
                "tool_call_metadata": {"function_name": "execute_bash", "tool_call_id": "c"},
            },
            {
                "id": 2,
                "source": "agent",
                "cause": 1,
                "observation": "run",
                "content": "x = 1",
                "extras": {"metadata": {"exit_code": 0, "working_dir": "/w"}},
            },
            {"id": 3, "source": "agent", "action": "finish", "args": {}},
        ),
    ),
)
FORMATS.add(
    "openhands-output",
    LineFormat(
        recognises=_is_output,
        read=read_openhands_output,
        keeps=("times", "tokens", "cost", "model", "version"),
        counters=(
            "running totals of the session, cached tokens inside the prompt; those of delegates "
            "are not known to be inside"
        ),
        priority=1,
        example=(
            {
                "instance_id": "acme__widgets-1",
                "metrics": {"accumulated_cost": 0.5},
                "metadata": {"llm_config": {"model": "m"}},
                "history": [
                    {"action": "message", "content": "Fix it."},
                    {"action": "run", "command": "cat a.py"},
                    {"observation": "run", "content": "x = 1", "exit_code": 0},
                    {"action": "finish", "outputs": {}},
                ],
            },
        ),
    ),
)
FORMATS.add(
    "openhands-sdk-events",
    LineFormat(
        recognises=_is_sdk_event,
        read=read_openhands_sdk,
        keeps=("times", "tokens", "cost", "model", "sub-agents"),
        counters=(
            "totals of the conversation over all its runs, by model and sub-agent, cached tokens "
            "inside the prompt; a sub-agent's own folder states its share again, which is left out"
        ),
        folders=("conversations", "subagents"),
        event_folders=("events",),
        example=(
            {
                "kind": "ActionEvent",
                "source": "agent",
                "tool_name": "file_editor",
                "tool_call_id": "c",
                "action": {"kind": "FileEditorAction", "command": "view", "path": "/w/a.py"},
            },
            {
                "kind": "ObservationEvent",
                "source": "environment",
                "tool_call_id": "c",
                "observation": {"content": [{"type": "text", "text": "1\tx"}], "is_error": False},
            },
        ),
    ),
)
