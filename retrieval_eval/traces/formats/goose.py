"""Goose: the messages of a session file before 1.10, and of the stream it prints.

A message's content holds requests of tools and, in the next user message, their responses, joined
by id. The chunks of one message share its id.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from retrieval_eval.io.files import Line
from retrieval_eval.records import ToolCall, ToolResult
from retrieval_eval.traces.clock import earliest, from_seconds, latest
from retrieval_eval.traces.dialects.goose import HARNESS, answer
from retrieval_eval.traces.formats import FORMATS, LineFormat
from retrieval_eval.traces.reading import CallLog, Complaints, Reading, arguments_of
from retrieval_eval.traces.untrusted import (
    amount_of,
    blocks_text,
    clean,
    count_of,
    dict_of,
    list_of,
    text_of,
)

FORMAT = "goose"
_CONTENTS = ("toolRequest", "toolResponse")


@dataclass(slots=True)
class _State:
    name: str
    log: CallLog
    names: dict[str, str] = field(default_factory=dict)
    head: Mapping[str, Any] = field(default_factory=dict)
    end: Mapping[str, Any] | None = None
    is_stream: bool = False
    has_agent: bool = False
    started_at: float | None = None
    finished_at: float | None = None


def read_goose(lines: Iterable[Line], name: str) -> Reading:
    """Return the reading of a session file or of a printed stream."""
    complaints = Complaints(name)
    state = _State(name, CallLog(complaints))
    for entry, where in complaints.objects(lines):
        _take(state, entry, where)
    # A session file has no end of its own.
    is_cut = state.is_stream and state.end is None
    return Reading(
        format=FORMAT,
        items=state.log.items(),
        harness=HARNESS,
        model=text_of(clean(dict_of(state.head.get("model_config")).get("model_name"))),
        started_at=state.started_at,
        finished_at=state.finished_at,
        cwd=text_of(clean(state.head.get("working_dir"))),
        declared_tokens=_tokens(state),
        declared_cost_usd=amount_of(dict_of(state.end).get("cost_usd")),
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


def _tokens(state: _State) -> int | None:
    end = dict_of(state.end)
    stated = count_of(end.get("input_tokens")) + count_of(end.get("output_tokens"))
    further = (
        end.get("total_tokens"),
        state.head.get("accumulated_total_tokens"),
        state.head.get("total_tokens"),
    )
    return stated or next((n for value in further if (n := count_of(value))), None)


def _take(state: _State, line: Mapping[str, Any], where: str) -> None:
    kind = line.get("type")
    if kind == "complete":
        state.is_stream, state.end = True, line
    elif kind == "message":
        state.is_stream = True
        if not isinstance(line.get("message"), dict):
            state.log.complaints.note(where, "a message that is no object")
        _message(state, dict_of(line.get("message")), where)
    elif "content" in line and "role" in line:
        _message(state, line, where)
    elif "working_dir" in line:
        state.head = line


def _message(state: _State, message: Mapping[str, Any], where: str) -> None:
    timestamp = from_seconds(message.get("created"))
    state.finished_at = latest(state.finished_at, timestamp)
    if message.get("role") == "assistant":
        state.has_agent = True
        state.started_at = earliest(state.started_at, timestamp)
    for content in list_of(message.get("content")):
        block = dict_of(content)
        call_id = text_of(block.get("id"))
        if block.get("type") == "toolRequest":
            _request(state, dict_of(block.get("toolCall")), call_id, timestamp, where)
        elif block.get("type") == "toolResponse" and call_id is not None:
            result = _result(dict_of(block.get("toolResult")))
            call = ToolCall(call_id, state.names.get(call_id, ""), {}, result)
            state.log.join(call_id, answer(call), timestamp)


def _request(
    state: _State,
    stated: Mapping[str, Any],
    call_id: str | None,
    timestamp: float | None,
    where: str,
) -> None:
    """Log a request; one that goose could not decode has an error in place of its call."""
    value = dict_of(stated.get("value"))
    name = text_of(value.get("name"))
    if name is None:
        if stated.get("status") != "error":
            state.log.complaints.note(where, "a tool call without a name")
        return
    own = call_id or where
    state.names[own] = name
    arguments = arguments_of(value.get("arguments"))
    state.log.add(ToolCall(own, name, arguments, None, timestamp, where=where))


def _result(stated: Mapping[str, Any]) -> ToolResult:
    if stated.get("status") == "error" or ("error" in stated and "value" not in stated):
        return ToolResult(text_of(stated.get("error")) or "", None, True, is_unfinished=True)
    value = stated.get("value")
    wrapper = dict_of(value)
    blocks = list_of(wrapper.get("content")) if isinstance(value, dict) else list_of(value)
    seen = [block for block in blocks if _is_for_agent(block)]
    structured = wrapper.get("structuredContent")
    return ToolResult(
        blocks_text(seen),
        clean(structured) if isinstance(structured, dict | list) else None,
        wrapper.get("isError") is True,
    )


def _is_for_agent(block: Any) -> bool:
    """Return whether a block is shown to the agent: some are copies for the person only."""
    entry = dict_of(block)
    audience = dict_of(entry.get("annotations")).get("audience", entry.get("audience"))
    return not isinstance(audience, list) or not audience or "assistant" in audience


def _is_goose(line: Mapping[str, Any]) -> bool:
    message = line.get("message") if line.get("type") == "message" else line
    contents = list_of(dict_of(message).get("content"))
    if any(dict_of(content).get("type") in _CONTENTS for content in contents):
        return True
    names = ("message_count", "description", "total_tokens")
    return isinstance(line.get("working_dir"), str) and any(name in line for name in names)


def _may_be_goose(line: Mapping[str, Any]) -> bool:
    message = dict_of(line.get("message"))
    return line.get("type") == "message" and "role" in message and "created" in message


FORMATS.add(
    FORMAT,
    LineFormat(
        recognises=_is_goose,
        read=read_goose,
        keeps=("times", "tokens", "cost", "model"),
        may_be=_may_be_goose,
        example=(
            {"working_dir": "/w", "message_count": 2, "accumulated_total_tokens": 12},
            {
                "role": "assistant",
                "created": 1_700_000_000,
                "content": [
                    {
                        "type": "toolRequest",
                        "id": "c",
                        "toolCall": {
                            "status": "success",
                            "value": {"name": "developer__shell", "arguments": {"command": "ls"}},
                        },
                    }
                ],
            },
            {
                "role": "user",
                "created": 1_700_000_001,
                "content": [
                    {
                        "type": "toolResponse",
                        "id": "c",
                        "toolResult": {
                            "status": "success",
                            "value": [{"type": "text", "text": "a.py"}],
                        },
                    }
                ],
            },
        ),
    ),
)
