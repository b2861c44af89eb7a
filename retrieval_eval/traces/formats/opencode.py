"""OpenCode: the stream of ``run --format json`` and the document of ``export``.

Both consist of parts, and a part of type ``tool`` is a call with its result. A step's tokens and
cost follow its calls. The calls of a sub-agent are in a session of their own, which neither holds.
The sessions themselves are in a database that is not read: ``export`` gives one as a document.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from retrieval_eval.io.files import Line
from retrieval_eval.records import ToolCall, ToolResult
from retrieval_eval.traces.clock import earliest, from_milliseconds, latest
from retrieval_eval.traces.dialects.opencode import answer
from retrieval_eval.traces.formats import FORMATS, DocumentFormat, LineFormat
from retrieval_eval.traces.reading import CallLog, Complaints, Reading, Unreadable, arguments_of
from retrieval_eval.traces.tokens import Usage, is_misstated
from retrieval_eval.traces.untrusted import (
    amount_of,
    clean,
    count_of,
    dict_of,
    list_of,
    text_of,
)

STREAM = "opencode-run-json"
EXPORT = "opencode-export"
_KINDS = frozenset({"step_start", "tool_use", "text", "reasoning", "step_finish"})
_COUNTS = ("input", "output", "reasoning")


@dataclass(slots=True)
class _State:
    name: str
    log: CallLog
    session_ids: set[str] = field(default_factory=set)
    waiting: list[tuple[ToolCall, ToolResult | None]] = field(default_factory=list)
    costs: list[float] = field(default_factory=list)
    model: str | None = None
    cwd: str | None = None
    started_at: float | None = None
    finished_at: float | None = None
    ending: str | None = None
    has_agent: bool = False


def read_opencode_stream(lines: Iterable[Line], name: str) -> Reading:
    """Return the reading of a stream of events."""
    complaints = Complaints(name)
    state = _State(name, CallLog(complaints))
    for line in lines:
        if isinstance(line.value, dict):
            _take(state, line.value, f"{name}:{line.number}")
        elif state.has_agent:
            complaints.add(line)
    endings = {"stop": (), "error": ("result_error",)}
    return _reading(state, STREAM, endings.get(state.ending or "", ("no_result_event",)), {})


def _take(state: _State, event: Mapping[str, Any], where: str) -> None:
    timestamp = from_milliseconds(event.get("timestamp"))
    state.finished_at = latest(state.finished_at, timestamp)
    session = text_of(event.get("sessionID"))
    if session:
        state.session_ids.add(session)
    kind, part = text_of(event.get("type")), dict_of(event.get("part"))
    if kind in _KINDS:
        state.has_agent = True
        state.started_at = earliest(state.started_at, timestamp)
    if kind == "error":
        state.ending = "error"
    elif kind == "tool_use":
        state.ending = None
        _take_call(state, part, where, timestamp)
    elif kind == "step_finish":
        state.ending = text_of(part.get("reason"))
        _take_usage(state, part, where)


def read_opencode_export(document: Mapping[str, Any], name: str) -> Reading | Unreadable:
    """Return the reading of an exported session."""
    if not isinstance(document.get("messages"), list):
        return Unreadable(f"{name}: an exported OpenCode session without a list of messages")
    state = _State(name, CallLog(Complaints(name, "step")))
    info = dict_of(document.get("info"))
    state.cwd = text_of(info.get("directory"))
    session = text_of(info.get("id"))
    state.session_ids |= {session} if session else set()
    for index, message in enumerate(document["messages"]):
        _take_message(state, message, f"{name}#/messages/{index}")
    return _reading(state, EXPORT, (), info)


def _take_message(state: _State, message: Any, where: str) -> None:
    info = dict_of(dict_of(message).get("info"))
    if not info:
        state.log.complaints.note(where, "expected a message")
        return
    if info.get("role") != "assistant":
        return
    times = dict_of(info.get("time"))
    started = from_milliseconds(times.get("created"))
    state.has_agent = True
    state.started_at = earliest(state.started_at, started)
    state.finished_at = latest(state.finished_at, from_milliseconds(times.get("completed")))
    state.model = state.model or text_of(info.get("modelID"))
    state.cwd = text_of(dict_of(info.get("path")).get("cwd")) or state.cwd
    if info.get("summary") is True:
        state.log.note_summary()
    parts = [dict_of(part) for part in list_of(dict_of(message).get("parts"))]
    for index, part in enumerate(parts):
        if part.get("type") == "tool":
            _take_call(state, part, f"{where}/parts/{index}", started)
        elif part.get("type") == "step-finish":
            _take_usage(state, part, f"{where}/parts/{index}")
    _flush(state)


def _take_call(state: _State, part: Mapping[str, Any], where: str, timestamp: float | None) -> None:
    name, stated = text_of(part.get("tool")), dict_of(part.get("state"))
    if name is None:
        state.log.complaints.note(where, "a tool call without a name")
        return
    call = ToolCall(
        call_id=text_of(part.get("callID")) or text_of(part.get("id")) or where,
        name=name,
        arguments=arguments_of(stated.get("input")),
        result=None,
        timestamp=from_milliseconds(dict_of(stated.get("time")).get("start")) or timestamp,
        cwd=state.cwd,
        where=where,
    )
    state.waiting.append((call, _result(stated)))


def _result(stated: Mapping[str, Any]) -> ToolResult | None:
    """Return the result in a call's state, None while it is pending or running."""
    metadata = clean(stated.get("metadata"))
    metadata = metadata if isinstance(metadata, dict) and "exit" in metadata else None
    match stated.get("status"):
        case "completed":
            return ToolResult(text_of(stated.get("output")) or "", metadata)
        case "error":
            text = text_of(stated.get("error")) or ""
            return ToolResult(text, is_error=True, is_unfinished=True)
    return None


def _take_usage(state: _State, part: Mapping[str, Any], where: str) -> None:
    """Log what a step took, before the calls it made."""
    tokens = part.get("tokens")
    counts, cache = dict_of(tokens), dict_of(dict_of(tokens).get("cache"))
    if is_misstated(tokens, _COUNTS) or is_misstated(cache, ("read", "write")):
        state.log.complaints.note(where, "the token counts are no numbers")
        state.log.add_gap()
    prompt = sum(map(count_of, (counts.get("input"), cache.get("read"), cache.get("write"))))
    output = count_of(counts.get("output")) + count_of(counts.get("reasoning"))
    if prompt + output:
        state.log.add_usage(Usage(text_of(part.get("id")) or where, prompt, output))
    cost = amount_of(part.get("cost"))
    if cost is not None:
        state.costs.append(cost)
    _flush(state)


def _flush(state: _State) -> None:
    waiting, state.waiting = state.waiting, []
    for call, result in waiting:
        state.log.add(call)
        if result is not None:
            state.log.join(call.call_id, answer(replace(call, result=result)))


def _reading(state: _State, name: str, flags: tuple[str, ...], info: Mapping[str, Any]) -> Reading:
    _flush(state)
    complaints = state.log.complaints
    return Reading(
        format=name,
        items=state.log.items(),
        session_ids=frozenset(state.session_ids),
        harness="opencode",
        harness_version=text_of(info.get("version")),
        model=state.model,
        started_at=earliest(state.started_at, state.log.first_time),
        finished_at=state.finished_at,
        cwd=state.cwd,
        declared_cost_usd=sum(state.costs) if state.costs else None,
        flags=(*flags, *state.log.flags, *complaints.flags()),
        problems=complaints.sentences(),
        has_agent=state.has_agent,
        is_native=True,
    )


def _is_event(event: Mapping[str, Any]) -> bool:
    is_part = text_of(event.get("type")) in _KINDS and isinstance(event.get("part"), dict)
    return is_part and text_of(event.get("sessionID")) is not None


def _is_export(document: Mapping[str, Any]) -> bool:
    messages = list_of(document.get("messages"))
    return isinstance(document.get("info"), dict) and any(
        isinstance(dict_of(message).get("parts"), list) for message in messages
    )


_CALL: Mapping[str, Any] = {
    "id": "p1",
    "type": "tool",
    "callID": "c",
    "tool": "glob",
    "state": {
        "status": "completed",
        "input": {"pattern": "*.py"},
        "output": "/w/a.py",
        "metadata": {"count": 1},
        "time": {"start": 1770112801000, "end": 1770112802000},
    },
}
_STEP: Mapping[str, Any] = {
    "id": "p2",
    "type": "step-finish",
    "reason": "stop",
    "cost": 0.01,
    "tokens": {"input": 9, "output": 1, "reasoning": 0, "cache": {"read": 4, "write": 0}},
}

FORMATS.add(
    STREAM,
    LineFormat(
        recognises=_is_event,
        read=read_opencode_stream,
        keeps=("times", "tokens", "cost"),
        priority=3,
        example=(
            {"type": "tool_use", "timestamp": 1770112802000, "sessionID": "s", "part": _CALL},
            {"type": "step_finish", "timestamp": 1770112803000, "sessionID": "s", "part": _STEP},
        ),
    ),
)
FORMATS.add(
    EXPORT,
    DocumentFormat(
        recognises=_is_export,
        read=read_opencode_export,
        keeps=("times", "tokens", "cost", "model", "version"),
        example={
            "info": {"id": "s", "directory": "/w", "version": "1.2.0"},
            "messages": [
                {
                    "info": {"role": "assistant", "modelID": "m", "time": {"created": 1}},
                    "parts": [_CALL, _STEP],
                }
            ],
        },
        file_names=("opencode*.json", "ses_*.json"),
    ),
)
