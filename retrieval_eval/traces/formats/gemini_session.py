"""Gemini CLI's session files: messages whose tool calls hold the answers the agent saw.

The file is a JSON document, or since version 0.40 a log of lines: a message with a known id
replaces the earlier one, ``$set`` changes the session and may state all messages anew, and
``$rewindTo`` drops a message and all behind it. Sub-agents have files of their own. The folder of
the session is not stated.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from retrieval_eval.io.files import Line
from retrieval_eval.io.spooled import Spooled
from retrieval_eval.records import ToolCall, ToolResult
from retrieval_eval.traces.clock import earliest, latest, unix_seconds
from retrieval_eval.traces.dialects.gemini_cli import answer
from retrieval_eval.traces.formats import FORMATS, DocumentFormat, LineFormat
from retrieval_eval.traces.reading import (
    CallLog,
    Complaints,
    Reading,
    Unreadable,
    arguments_of,
    size,
)
from retrieval_eval.traces.served import states_exit_status
from retrieval_eval.traces.tokens import Usage, is_misstated
from retrieval_eval.traces.untrusted import (
    blocks_text,
    clean,
    count_of,
    dict_of,
    list_of,
    text_of,
)

FORMAT = "gemini-cli-session"
REWOUND = "history_rewound"
"""The flag of a file whose agent was put back to an earlier point; what followed is left out."""
_AGENTS = {"gemini": "gemini-cli", "qwen": "qwen-code"}
_ENDED = frozenset({"success", "error", "cancelled"})
_COUNTS = ("input", "output", "thoughts", "tool", "total")

_Message = tuple[dict[str, Any], str]
"""A message and where it is."""


@dataclass(slots=True)
class _State:
    name: str
    complaints: Complaints
    meta: dict[str, Any] = field(default_factory=dict)
    kept: Spooled[_Message] = field(default_factory=lambda: Spooled(_Message))
    messages: dict[str, int] = field(default_factory=dict)
    """Where the message with an id is among those that were kept."""
    summaries: set[str] = field(default_factory=set)
    is_rewound: bool = False


def read_gemini_lines(lines: Iterable[Line], name: str) -> Reading:
    """Return the reading of a session that is a log of lines."""
    state = _State(name, Complaints(name))
    for entry, where in state.complaints.objects(lines):
        _take(state, entry, where)
    return _reading(state)


def read_gemini_document(document: Mapping[str, Any], name: str) -> Reading | Unreadable:
    """Return the reading of a session that is one document."""
    if not isinstance(document.get("messages"), list):
        return Unreadable(f"{name}: a Gemini CLI session without a list of messages")
    state = _State(name, Complaints(name, "step"))
    state.meta.update(document)
    for index, message in enumerate(document["messages"]):
        _keep(state, message, f"{name}#/messages/{index}", is_new=True)
    return _reading(state)


def _take(state: _State, entry: Mapping[str, Any], where: str) -> None:
    change, target = entry.get("$set"), text_of(entry.get("$rewindTo"))
    if isinstance(change, dict):
        state.meta.update({key: value for key, value in change.items() if key != "messages"})
        messages = change.get("messages")
        if isinstance(messages, list):
            _restate(state, messages, where)
    elif target is not None:
        state.is_rewound = state.is_rewound or bool(state.messages)
        is_known = target in state.messages
        while state.messages and not (is_known and target not in state.messages):
            state.messages.popitem()
    elif "projectHash" in entry and "type" not in entry:
        state.meta.update(entry)
    else:
        _keep(state, entry, where, is_new=True)


def _restate(state: _State, messages: list[Any], where: str) -> None:
    """Take the messages that a checkpoint adds: what it leaves out, the agent saw before."""
    kept = {text_of(dict_of(message).get("id")) for message in messages}
    is_shorter = any(message_id not in kept for message_id in state.messages)
    added = [_keep(state, message, where, is_new=False) for message in messages]
    first = next(filter(None, added), None)
    if is_shorter and first is not None:
        state.summaries.add(first)


def _keep(state: _State, message: Any, where: str, *, is_new: bool) -> str | None:
    """Keep a message; return its id where the file did not hold one with this id before."""
    if not isinstance(message, dict):
        state.complaints.note(where, "expected a message")
        return None
    message_id = text_of(message.get("id")) or where
    known = state.messages.get(message_id)
    if known is None or is_new:
        state.messages[message_id] = len(state.kept)
        first = where if known is None else state.kept[known][1]
        state.kept.append((message, first), size(message))
    return message_id if known is None else None


def _reading(state: _State) -> Reading:
    meta = state.meta
    is_subagent = meta.get("kind") == "subagent"
    session = text_of(meta.get("sessionId"))
    log = CallLog(state.complaints)
    harness = model = None
    times: list[float | None] = []
    for message_id, place in state.messages.items():
        message, where = state.kept[place]
        if message_id in state.summaries:
            log.note_summary()
        kind = text_of(message.get("type"))
        if kind in _AGENTS:
            harness = harness or _AGENTS[kind]
            model = model or text_of(message.get("model"))
            times.append(unix_seconds(message.get("timestamp")))
            _log_usage(log, message, message_id, where, is_subagent=is_subagent)
            for call in list_of(message.get("toolCalls")):
                _log_call(log, message, call, where, session if is_subagent else None)
    folders = list_of(meta.get("directories"))
    rewound = (REWOUND,) if state.is_rewound else ()
    return Reading(
        format=FORMAT,
        items=log.items(),
        session_ids=frozenset({session} if session else ()),
        harness=harness or "gemini-cli",
        model=None if is_subagent else model,
        started_at=earliest(*times, log.first_time),
        finished_at=latest(*times, unix_seconds(meta.get("lastUpdated"))),
        cwd=text_of(clean(folders[0])) if len(folders) == 1 else None,
        flags=(*rewound, *log.flags, *state.complaints.flags()),
        problems=state.complaints.sentences(),
        has_agent=bool(times),
        is_native=True,
    )


def _log_usage(
    log: CallLog, message: Mapping[str, Any], message_id: str, where: str, *, is_subagent: bool
) -> None:
    """Log the tokens of a message: cached ones are part of its input, thoughts are not."""
    stated = message.get("tokens")
    if is_misstated(stated, _COUNTS):
        log.complaints.note(where, "the token counts are no numbers")
        log.add_gap()
        return
    counts = dict_of(stated)
    prompt = count_of(counts.get("input")) + count_of(counts.get("tool"))
    output = count_of(counts.get("output")) + count_of(counts.get("thoughts"))
    if prompt + output:
        log.add_usage(Usage(message_id, prompt, output, is_subagent))


def _log_call(
    log: CallLog, message: Mapping[str, Any], call: Any, where: str, agent: str | None
) -> None:
    entry = dict_of(call)
    name = text_of(entry.get("name"))
    if name is None:
        log.complaints.note(where, "a tool call without a name")
        return
    call_id = text_of(entry.get("id")) or f"{where}#{log.n_calls}"
    made = ToolCall(
        call_id=call_id,
        name=name,
        arguments=arguments_of(entry.get("args")),
        result=None,
        timestamp=unix_seconds(message.get("timestamp")) or unix_seconds(entry.get("timestamp")),
        is_subagent=agent is not None,
        where=where,
        parent_id=agent,
    )
    log.add(made)
    result = _result(entry)
    if result is not None:
        log.join(call_id, answer(replace(made, result=result)))


def _result(entry: Mapping[str, Any]) -> ToolResult | None:
    """Return the result in a record of a call, None where the call has not ended."""
    status = text_of(entry.get("status"))
    parts = entry.get("result")
    if status not in _ENDED and not parts:
        return None
    return response_result(parts, has_failed=status in ("error", "cancelled"))


def response_result(parts: Any, *, has_failed: bool = False) -> ToolResult:
    """Return the result that the parts of a function's response hold.

    An error did not run or did not finish, unless it states the exit status of a command.
    """
    responses = [
        dict_of(dict_of(part).get("functionResponse"))
        for part in (parts if isinstance(parts, list) else [parts])
    ]
    answers = [dict_of(response.get("response")) for response in responses if response]
    texts, is_error, structured = [], has_failed, None
    for stated in answers:
        error, output = stated.get("error"), stated.get("output")
        is_error = is_error or bool(error)
        texts.append(_text(output) if output is not None else _text(error))
        if output is None and not error and stated:
            texts[-1], structured = blocks_text(stated.get("content")), clean(stated)
    texts += [blocks_text([part]) for part in list_of(parts)]
    text = "\n".join(filter(None, texts)) or (parts if isinstance(parts, str) else "")
    is_unfinished = is_error and not states_exit_status(text) and "\nExit Code: " not in text
    return ToolResult(blocks_text(text), structured, is_error, is_unfinished=is_unfinished)


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return text_of(value.get("message")) or blocks_text(value.get("content"))
    return blocks_text(value)


def _is_session_line(line: Mapping[str, Any]) -> bool:
    if text_of(line.get("sessionId")) and text_of(line.get("projectHash")):
        return "messages" not in line
    return line.get("type") == "gemini" and text_of(line.get("id")) is not None


def _is_session(document: Mapping[str, Any]) -> bool:
    return "projectHash" in document and isinstance(document.get("messages"), list)


_CALL: Mapping[str, Any] = {
    "id": "m1",
    "timestamp": "2026-01-01T00:00:01Z",
    "type": "gemini",
    "model": "gemini-3-pro",
    "tokens": {"input": 9, "output": 1, "cached": 4},
    "toolCalls": [
        {
            "id": "c1",
            "name": "glob",
            "args": {"pattern": "*.py"},
            "status": "success",
            "result": [{"functionResponse": {"id": "c1", "response": {"output": "/w/a.py"}}}],
        }
    ],
}

FORMATS.add(
    FORMAT,
    LineFormat(
        recognises=_is_session_line,
        read=read_gemini_lines,
        keeps=("times", "tokens", "model", "sub-agents"),
        priority=3,
        example=(
            {"sessionId": "s", "projectHash": "h", "startTime": "2026-01-01T00:00:00Z"},
            {"id": "m0", "type": "gemini", "content": ""},
            _CALL,
            {"$set": {"lastUpdated": "2026-01-01T00:00:02Z", "messages": [_CALL]}},
            {"$rewindTo": "m9"},
            _CALL,
        ),
    ),
)
FORMATS.add(
    "gemini-cli-session-json",
    DocumentFormat(
        recognises=_is_session,
        read=read_gemini_document,
        keeps=("times", "tokens", "model", "sub-agents"),
        example={"sessionId": "s", "projectHash": "h", "messages": [_CALL]},
        file_names=("gemini-cli.trajectory.json", "session-*.json"),
    ),
)
