"""Qwen Code: session files and the stream of headless runs.

Lines of a session look like Claude Code's, but their messages hold ``parts`` as Gemini's do, and
each names the line before it: lines that the last one does not follow from were left behind when
the agent was put back; what they showed was shown. The stream is Claude Code's in form, but its
tokens of the input include the cached ones, and a resumed run ends with the totals of the session;
in some versions a result there is what a person saw of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from retrieval_eval.io.files import Line
from retrieval_eval.io.spooled import Spooled, like
from retrieval_eval.records import ToolCall
from retrieval_eval.traces.clock import earliest, latest, unix_seconds
from retrieval_eval.traces.dialects.gemini_cli import answer
from retrieval_eval.traces.formats import FORMATS, LineFormat
from retrieval_eval.traces.formats.claude_stream import read_claude_stream
from retrieval_eval.traces.formats.gemini_session import REWOUND, response_result
from retrieval_eval.traces.reading import CallLog, Complaints, Reading, arguments_of, size
from retrieval_eval.traces.tokens import Item, Usage, is_misstated
from retrieval_eval.traces.untrusted import count_of, dict_of, list_of, text_of

SESSION = "qwen-code-session-jsonl"
STREAM = "qwen-code-stream-json"
HARNESS = "qwen-code"
_COMPRESSED = "chat_compression"
_COUNTS = ("promptTokenCount", "candidatesTokenCount", "totalTokenCount")

_Entry = tuple[dict[str, Any], str]
"""A line and where it is."""


@dataclass(slots=True)
class _State:
    log: CallLog
    session_ids: set[str] = field(default_factory=set)
    version: str | None = None
    model: str | None = None
    cwd: str | None = None
    started_at: float | None = None
    finished_at: float | None = None
    has_agent: bool = False
    is_abandoned: bool = False
    sub_agents: set[str] = field(default_factory=set)


def read_qwen_session(lines: Iterable[Line], name: str) -> Reading:
    """Return the reading of a session file."""
    complaints = Complaints(name)
    state = _State(CallLog(complaints))
    entries: Spooled[_Entry] = Spooled(_Entry)
    for entry, where in complaints.objects(lines):
        entries.append((entry, where), size(entry))
    left_behind = _left_behind(entries)
    for entry, where in entries:
        state.is_abandoned = (text_of(entry.get("uuid")) or "") in left_behind
        _take(state, entry, where)
    rewound = (REWOUND,) if left_behind else ()
    items = state.log.items()
    return Reading(
        format=SESSION,
        items=like(items, Item, map(_answered, items)),
        session_ids=frozenset(state.session_ids),
        harness=HARNESS,
        harness_version=state.version,
        model=state.model,
        started_at=earliest(state.started_at, state.log.first_time),
        finished_at=state.finished_at,
        cwd=state.cwd,
        flags=(*rewound, *state.log.flags, *complaints.flags()),
        problems=complaints.sentences(),
        has_agent=state.has_agent,
        is_native=True,
        sub_agents=frozenset(state.sub_agents),
    )


def _left_behind(entries: Iterable[_Entry]) -> set[str]:
    """Return the lines of the main thread that the last of them does not follow from.

    A line whose predecessor is not in the file hides where its thread came from; then none is.
    """
    parents: dict[str, Any] = {}
    last: str | None = None
    for entry, _ in entries:
        line = text_of(entry.get("uuid"))
        if line is not None and not _agent(entry):
            parents[line] = entry.get("parentUuid")
            last = line
    kept: set[str] = set()
    current: Any = last
    while isinstance(current, str) and current in parents and current not in kept:
        kept.add(current)
        current = parents[current]
    return set(parents) - kept if current is None and last is not None else set()


def _agent(entry: Mapping[str, Any]) -> str | None:
    """Return the sub-agent that a line is of, or None for one of the main thread."""
    agent = text_of(entry.get("agentId"))
    return agent or ("sub-agent" if entry.get("isSidechain") is True else None)


def _take(state: _State, entry: Mapping[str, Any], where: str) -> None:
    timestamp = unix_seconds(entry.get("timestamp"))
    session, kind = text_of(entry.get("sessionId")), entry.get("type")
    if session:
        state.session_ids.add(session)
    state.version = state.version or text_of(entry.get("version"))
    state.cwd = state.cwd or text_of(entry.get("cwd"))
    state.finished_at = latest(state.finished_at, timestamp)
    parts = list_of(dict_of(entry.get("message")).get("parts"))
    if kind == "system" and entry.get("subtype") == _COMPRESSED:
        state.log.note_summary()
    elif kind == "assistant":
        state.has_agent = True
        state.started_at = earliest(state.started_at, timestamp)
        agent = _agent(entry)
        state.sub_agents.update(filter(None, (agent,)))
        state.model = state.model or (text_of(entry.get("model")) if agent is None else None)
        _take_usage(state, entry, where, is_subagent=agent is not None)
        for index, part in enumerate(parts):
            _take_call(state, entry, dict_of(dict_of(part).get("functionCall")), f"{where}#{index}")
    elif kind == "tool_result":
        _take_result(state, entry, parts, where, timestamp)


def _take_usage(state: _State, entry: Mapping[str, Any], where: str, *, is_subagent: bool) -> None:
    stated = entry.get("usageMetadata")
    if is_misstated(stated, _COUNTS):
        state.log.complaints.note(where, "the token counts are no numbers")
        state.log.add_gap()
        return
    counts = dict_of(stated)
    prompt, total = (
        count_of(counts.get("promptTokenCount")),
        count_of(counts.get("totalTokenCount")),
    )
    output = max(total - prompt, count_of(counts.get("candidatesTokenCount")))
    if prompt + output:
        message = text_of(entry.get("uuid")) or where
        state.log.add_usage(Usage(message, prompt, output, is_subagent))


def _take_call(
    state: _State, entry: Mapping[str, Any], stated: Mapping[str, Any], where: str
) -> None:
    if not stated:
        return
    name, agent = text_of(stated.get("name")), _agent(entry)
    if name is None:
        state.log.complaints.note(where.partition("#")[0], "a tool call without a name")
        return
    state.log.add(
        ToolCall(
            call_id=text_of(stated.get("id")) or where,
            name=name,
            arguments=arguments_of(stated.get("args")),
            result=None,
            timestamp=unix_seconds(entry.get("timestamp")),
            is_subagent=agent is not None,
            cwd=text_of(entry.get("cwd")),
            where=where.partition("#")[0],
            parent_id=agent,
            is_abandoned=state.is_abandoned,
        )
    )


def _take_result(
    state: _State,
    entry: Mapping[str, Any],
    parts: list[Any],
    where: str,
    timestamp: float | None,
) -> None:
    record = dict_of(entry.get("toolCallResult"))
    responses = [dict_of(dict_of(part).get("functionResponse")) for part in parts]
    callers = [text_of(response.get("id")) for response in responses]
    if len(parts) == 1 and callers == [None]:
        callers = [text_of(record.get("callId"))]
    has_failed = record.get("status") in ("error", "cancelled")
    for part, response, caller in zip(parts, responses, callers, strict=True):
        if caller is not None:
            result = response_result([part], has_failed=has_failed)
            if has_failed or not response or "response" in response:
                state.log.join(caller, result, timestamp)
        elif response:
            state.log.complaints.note(where, "a tool result does not name its call")


def _answered(item: Item) -> Item:
    if not isinstance(item, ToolCall) or item.result is None:
        return item
    if item.result.is_unfinished and "\nExit Code: " in item.result.text:
        item = replace(item, result=replace(item.result, is_unfinished=False))
    return replace(item, result=answer(item))


# --------------------------------------------------------------------------------------------------
# The stream of a headless run.


def read_qwen_stream(lines: Iterable[Line], name: str) -> Reading:
    """Return the reading of a stream: Claude Code's with Qwen Code's tools and envelopes."""
    versions: list[str] = []
    reading = read_claude_stream(_as_claude_codes(lines, versions), name)
    is_counted = any(isinstance(item, Usage) for item in reading.items)
    return replace(
        reading,
        format=STREAM,
        harness=HARNESS,
        harness_version=next(iter(versions), None),
        items=like(reading.items, Item, map(_answered, reading.items)),
        # The totals of a run that was resumed are those of its session.
        declared_tokens=None if is_counted else reading.declared_tokens,
    )


def _as_claude_codes(lines: Iterable[Line], versions: list[str]) -> Iterable[Line]:
    """Yield the lines with tokens counted as Claude Code does; note the version."""
    for line in lines:
        entry = dict_of(line.value)
        version = text_of(entry.get("qwen_code_version"))
        if version is not None:
            versions.append(version)
        message = dict_of(entry.get("message"))
        if isinstance(message.get("usage"), dict):
            message = {**message, "usage": _without_cached(message["usage"])}
            line = replace(line, value={**entry, "message": message})
        elif entry.get("type") == "result" and isinstance(entry.get("usage"), dict):
            line = replace(line, value={**entry, "usage": _without_cached(entry["usage"])})
        yield line


def _without_cached(usage: Mapping[str, Any]) -> Mapping[str, Any]:
    return {key: value for key, value in usage.items() if not key.startswith("cache_")}


def _is_session_line(line: Mapping[str, Any]) -> bool:
    if not text_of(line.get("sessionId")):
        return False
    has_parts = isinstance(dict_of(line.get("message")).get("parts"), list)
    return has_parts or "systemPayload" in line or line.get("type") == "tool_result"


def _is_stream_line(line: Mapping[str, Any]) -> bool:
    return line.get("type") == "system" and text_of(line.get("qwen_code_version")) is not None


FORMATS.add(
    SESSION,
    LineFormat(
        recognises=_is_session_line,
        read=read_qwen_session,
        keeps=("times", "tokens", "model", "version", "sub-agents"),
        priority=4,
        folders=("qwen-sessions",),
        sub_agent_files=("../subagents/{session}/agent-*.jsonl",),
        example=(
            {
                "uuid": "u1",
                "parentUuid": None,
                "sessionId": "s",
                "timestamp": "2026-01-01T00:00:00Z",
                "type": "assistant",
                "cwd": "/w",
                "version": "0.14.0",
                "model": "qwen3-coder",
                "usageMetadata": {"promptTokenCount": 9, "totalTokenCount": 10},
                "message": {
                    "role": "model",
                    "parts": [{"functionCall": {"id": "c", "name": "glob", "args": {}}}],
                },
            },
            {
                "uuid": "u2",
                "parentUuid": "u1",
                "sessionId": "s",
                "type": "tool_result",
                "message": {
                    "role": "user",
                    "parts": [{"functionResponse": {"id": "c", "response": {"output": "/w/a.py"}}}],
                },
                "toolCallResult": {"callId": "c", "status": "success"},
            },
        ),
    ),
)
FORMATS.add(
    STREAM,
    LineFormat(
        recognises=_is_stream_line,
        read=read_qwen_stream,
        keeps=("tokens", "model", "version", "sub-agents"),
        priority=4,
        example=(
            {
                "type": "system",
                "subtype": "init",
                "session_id": "s",
                "cwd": "/w",
                "tools": [],
                "qwen_code_version": "0.14.0",
            },
            {
                "type": "assistant",
                "parent_tool_use_id": None,
                "message": {
                    "id": "m",
                    "content": [{"type": "tool_use", "id": "c", "name": "glob", "input": {}}],
                },
            },
            {
                "type": "user",
                "parent_tool_use_id": None,
                "message": {
                    "content": [{"type": "tool_result", "tool_use_id": "c", "content": "/w/a.py"}]
                },
            },
            {"type": "result", "subtype": "success"},
        ),
    ),
)
