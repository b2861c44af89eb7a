"""Qwen Code: session files and the stream of headless runs.

Lines of a session look like Claude Code's, but their messages hold ``parts`` as Gemini's do, and
each names the line before it: lines that the last one does not follow from were left behind when
the agent was put back; what they showed was shown. The stream is Claude Code's in form, but its
tokens of the input include the cached ones, and a resumed run ends with the totals of the session;
in some versions a result there is what a person saw of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from retrieval_eval.agents.traces.dialects import DIALECTS, Dialect
from retrieval_eval.agents.traces.formats import FORMATS, LineFormat
from retrieval_eval.agents.traces.formats.claude_code import read_claude_stream
from retrieval_eval.agents.traces.formats.gemini_cli import (
    REWOUND,
    answer,
    attach_sections,
    response_result,
)
from retrieval_eval.agents.traces.reading import Reading, size
from retrieval_eval.agents.traces.tokens import Item, Usage, is_misstated
from retrieval_eval.agents.traces.transcript import Transcript
from retrieval_eval.agents.traces.untrusted import (
    at,
    count_at,
    dict_at,
    dict_of,
    list_of,
    text_at,
    text_of,
    unix_seconds,
)
from retrieval_eval.io.files import Line
from retrieval_eval.io.spooled import Spooled, like
from retrieval_eval.records import ToolCall, ToolResult

# --------------------------------------------------------------------------------------------------
# Qwen Code, which shares tools, envelopes and refusals with Gemini CLI.

DIALECTS.add(
    "qwen-code",
    Dialect(
        harnesses=frozenset({"qwen-code", "qwen-coder", "qwen"}),
        delegating=frozenset({"agent", "task"}),
        keeps_shell=False,
        own_files=(r"/\.qwen/projects/",),
        answer=answer,
        cut=(
            "A large answer is cut to its beginning and its end, with a line of dots between them, "
            "and the whole is saved to a file that it names; a read states which lines it shows."
        ),
        finished=(
            "The status of a call is success, error or cancelled; a command that failed keeps its "
            "output in the error, one that timed out what it printed before, and one in the "
            "background names the file that it writes to."
        ),
        delegated=(
            "`agent` and `task` start a sub-agent, whose session is a file in subagents/SESSION/ "
            "beside the chats; the stream holds its calls with parent_tool_use_id."
        ),
        source=(
            "QwenLM/qwen-code 015346f, tool names 00ac46f; session, stream and requests of 0.24.4 "
            "compared"
        ),
    ),
)


# --------------------------------------------------------------------------------------------------
# Qwen Code: session files and the stream of headless runs.

SESSION = "qwen-code-session-jsonl"
STREAM = "qwen-code-stream-json"
HARNESS = "qwen-code"
_COMPRESSED = "chat_compression"
_COUNTS = ("promptTokenCount", "candidatesTokenCount", "totalTokenCount")

_Entry = tuple[dict[str, Any], str]
"""A line and where it is."""


def read_qwen_session(lines: Iterable[Line], name: str) -> Reading:
    """Return the reading of a session file."""
    said = Transcript(name, answer=_answer, harness=HARNESS, is_native=True)
    entries: Spooled[_Entry] = Spooled(_Entry)
    for entry, where in said.complaints.objects(lines):
        entries.append((entry, where), size(entry))
    left_behind = _left_behind(entries)
    said.ending = (REWOUND,) if left_behind else ()
    folder: str | None = None
    for entry, where in entries:
        said.is_abandoned = text_at(entry, "uuid") in left_behind
        said.cwd = text_at(entry, "cwd")
        folder = folder or said.cwd
        _take(said, entry, where)
    return said.reading(SESSION, cwd=folder)


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


def _take(said: Transcript, entry: Mapping[str, Any], where: str) -> None:
    kind, agent = entry.get("type"), _agent(entry)
    said.at(where, unix_seconds(entry.get("timestamp")), by_agent=kind == "assistant")
    said.by(agent)
    said.session(entry.get("sessionId"))
    said.version = said.version or text_at(entry, "version")
    parts = list_of(at(entry, "message", "parts"))
    if kind == "system" and entry.get("subtype") == _COMPRESSED:
        said.note_summary()
    elif kind == "user":
        attach_sections(said, "\n".join(text_at(part, "text") or "" for part in parts))
    elif kind == "assistant":
        said.sub_agents.update(filter(None, (agent,)))
        said.model = said.model or (text_at(entry, "model") if agent is None else None)
        _take_usage(said, entry)
        for index, part in enumerate(parts):
            stated = dict_at(part, "functionCall")
            if stated:
                call_id = text_at(stated, "id") or f"{where}#{index}"
                said.call(stated.get("name"), stated.get("args"), call_id)
    elif kind == "tool_result":
        _take_result(said, entry, parts)


def _take_usage(said: Transcript, entry: Mapping[str, Any]) -> None:
    counts = entry.get("usageMetadata")
    is_wrong = is_misstated(counts, _COUNTS)
    prompt, total = count_at(counts, "promptTokenCount"), count_at(counts, "totalTokenCount")
    output = max(total - prompt, count_at(counts, "candidatesTokenCount"))
    used = (0, 0) if is_wrong else (prompt, output)
    said.used(entry.get("uuid"), *used, is_misstated=is_wrong)


def _take_result(said: Transcript, entry: Mapping[str, Any], parts: list[Any]) -> None:
    record = dict_at(entry, "toolCallResult")
    responses = [dict_at(part, "functionResponse") for part in parts]
    callers = [text_at(response, "id") for response in responses]
    if len(parts) == 1 and callers == [None]:
        callers = [text_at(record, "callId")]
    has_failed = record.get("status") in ("error", "cancelled")
    for part, response, caller in zip(parts, responses, callers, strict=True):
        is_answer = has_failed or not response or "response" in response
        if caller is None and response:
            said.note("a tool result does not name its call")
        elif caller is not None and is_answer:
            said.answer(caller, response_result([part], has_failed=has_failed))


def _answer(call: ToolCall) -> ToolResult:
    result = call.result or ToolResult("")
    if result.is_unfinished and "\nExit Code: " in result.text:
        result = replace(result, is_unfinished=False)
    return answer(replace(call, result=result))


def _answered(item: Item) -> Item:
    if not isinstance(item, ToolCall) or item.result is None:
        return item
    return replace(item, result=_answer(item))


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
        counters=(
            "Tokens of each message, the cached ones inside the prompt; a resumed run goes on in "
            "the file, so that it counts the whole session, with branches that were left behind; "
            "sub-agents count in their own files. No cost is kept."
        ),
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
        counters=(
            "Tokens of each message of this run and of its sub-agents, the cached ones inside the "
            "input. The totals of the last line are those of the session, which a resumed run goes "
            "on with, and count only where no message states tokens. No cost is kept."
        ),
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
