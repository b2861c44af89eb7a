"""Gemini CLI: session files, and the stream of ``--output-format stream-json``.

Messages of a session hold the answers the agent saw. The file is a JSON document, or since version
0.40 a log of lines: a message with a known id replaces the earlier one, ``$set`` changes the
session and may state all messages anew, and ``$rewindTo`` takes a message and all behind it out of
the history: what they showed was shown. Sub-agents have files of their own. The folder of the
session is not stated.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from retrieval_eval.agents.traces.dialects import tool_name
from retrieval_eval.agents.traces.dialects.gemini_cli import answer
from retrieval_eval.agents.traces.formats import FORMATS, DocumentFormat, LineFormat
from retrieval_eval.agents.traces.reading import Reading, Unreadable, size
from retrieval_eval.agents.traces.results.base import DISPLAY
from retrieval_eval.agents.traces.served import states_exit_status
from retrieval_eval.agents.traces.tokens import is_misstated
from retrieval_eval.agents.traces.transcript import Transcript
from retrieval_eval.agents.traces.untrusted import (
    at,
    blocks_text,
    clean,
    count_at,
    dict_at,
    dicts_at,
    list_of,
    text_at,
    text_of,
    unix_seconds,
)
from retrieval_eval.io.files import Line
from retrieval_eval.io.spooled import Spooled
from retrieval_eval.records import ToolCall, ToolResult

FORMAT = "gemini-cli-session"
REWOUND = "history_rewound"
"""The flag of a file whose agent was put back to an earlier point of its history."""
_AGENTS = {"gemini": "gemini-cli", "qwen": "qwen-code"}
_ENDED = frozenset({"success", "error", "cancelled"})
_COUNTS = ("input", "output", "thoughts", "tool", "total")

_Message = tuple[dict[str, Any], str]
"""A message and where it is."""


class _Session(Transcript):
    """A session's transcript, which is complete only when all lines are known."""

    def __init__(self, name: str, unit: str) -> None:
        super().__init__(name, unit, answer=answer, is_native=True)
        self.meta: dict[str, Any] = {}
        self.kept: Spooled[_Message] = Spooled(_Message)
        self.messages: dict[str, int] = {}
        """Where the message with an id is among those that were kept."""
        self.present: dict[str, None] = {}
        """The messages that no rewind took out of the history."""
        self.summaries: set[str] = set()


def read_gemini_lines(lines: Iterable[Line], name: str) -> Reading:
    """Return the reading of a session that is a log of lines."""
    said = _Session(name, "line")
    for entry, where in said.complaints.objects(lines):
        _take(said, entry, where)
    return _reading(said)


def read_gemini_document(document: Mapping[str, Any], name: str) -> Reading | Unreadable:
    """Return the reading of a session that is one document."""
    if not isinstance(document.get("messages"), list):
        return Unreadable(f"{name}: a Gemini CLI session without a list of messages")
    said = _Session(name, "step")
    said.meta.update(document)
    for index, message in enumerate(document["messages"]):
        _keep(said, message, f"{name}#/messages/{index}", is_new=True)
    return _reading(said)


def _take(said: _Session, entry: Mapping[str, Any], where: str) -> None:
    change, target = entry.get("$set"), text_at(entry, "$rewindTo")
    if isinstance(change, dict):
        said.meta.update({key: value for key, value in change.items() if key != "messages"})
        messages = change.get("messages")
        if isinstance(messages, list):
            _restate(said, messages, where)
    elif target is not None:
        said.ending = (REWOUND,) if said.present else said.ending
        is_known = target in said.present
        while said.present and not (is_known and target not in said.present):
            said.present.popitem()
    elif "projectHash" in entry and "type" not in entry:
        said.meta.update(entry)
    else:
        _keep(said, entry, where, is_new=True)


def _restate(said: _Session, messages: list[Any], where: str) -> None:
    """Take the messages that a checkpoint adds: what it leaves out, the agent saw before."""
    kept = {text_at(message, "id") for message in messages}
    is_shorter = any(message_id not in kept for message_id in said.present)
    added = [_keep(said, message, where, is_new=False) for message in messages]
    first = next(filter(None, added), None)
    if is_shorter and first is not None:
        said.summaries.add(first)


def _keep(said: _Session, message: Any, where: str, *, is_new: bool) -> str | None:
    """Keep a message; return its id where the file did not hold one with this id before."""
    if not isinstance(message, dict):
        said.complaints.note(where, "expected a message")
        return None
    message_id = text_at(message, "id") or where
    known = said.messages.get(message_id)
    said.present.setdefault(message_id)
    if known is None or is_new:
        said.messages[message_id] = len(said.kept)
        first = where if known is None else said.kept[known][1]
        said.kept.append((message, first), size(message))
    return message_id if known is None else None


def _reading(said: _Session) -> Reading:
    meta = said.meta
    said.session(meta.get("sessionId"))
    is_inner = meta.get("kind") == "subagent"
    said.by(text_at(meta, "sessionId") if is_inner else None, is_subagent=is_inner)
    said.sub_agents.update(filter(None, (said.agent,)))
    harness = None
    for message_id, place in said.messages.items():
        message, where = said.kept[place]
        if message_id in said.summaries:
            said.note_summary()
        kind = text_at(message, "type")
        said.is_abandoned = message_id not in said.present
        if kind == "user":
            said.at(where, unix_seconds(message.get("timestamp")))
            attach_sections(said, blocks_text(message.get("content")))
        if kind in _AGENTS:
            harness = harness or _AGENTS[kind]
            said.model = said.model or text_at(message, "model")
            said.at(where, unix_seconds(message.get("timestamp")), by_agent=True)
            tokens = message.get("tokens")
            is_wrong = is_misstated(tokens, _COUNTS)
            # Cached tokens are part of the input, thoughts are not part of the output.
            prompt, output = ("input", "tool"), ("output", "thoughts")
            counts = (0, 0) if is_wrong else (count_at(tokens, *prompt), count_at(tokens, *output))
            said.used(message_id, *counts, is_misstated=is_wrong)
            for call in dicts_at(message, "toolCalls"):
                said.call(
                    call.get("name"),
                    call.get("args"),
                    text_at(call, "id") or f"{where}#{said.n_calls}",
                    result=_result(call),
                    time=said.time or unix_seconds(call.get("timestamp")),
                )
    said.until(unix_seconds(meta.get("lastUpdated")))
    folders = list_of(meta.get("directories"))
    return said.reading(
        FORMAT,
        harness=harness or "gemini-cli",
        model=None if is_inner else said.model,
        cwd=text_of(clean(folders[0])) if len(folders) == 1 else None,
    )


_SECTION = re.compile(
    r"^(?:--- Context from: (?P<context>[^\n]{1,4096}?) ---"
    r"|Content from @?(?P<named>[^\n]{1,4096}):)$",
    re.MULTILINE,
)


def attach_sections(said: Transcript, text: str) -> None:
    """Note the files that a message of the user holds: instructions, and files that it names."""
    for found in _SECTION.finditer(text):
        how = "instructions" if found["context"] else "named by the prompt"
        said.attach(found["context"] or found["named"], how)


def _result(entry: Mapping[str, Any]) -> ToolResult | None:
    """Return the result in a record of a call, None where the call has not ended."""
    status = text_at(entry, "status")
    parts = entry.get("result")
    if status not in _ENDED and not parts:
        return None
    return response_result(parts, has_failed=status in ("error", "cancelled"))


def response_result(parts: Any, *, has_failed: bool = False) -> ToolResult:
    """Return the result that the parts of a function's response hold.

    An error did not run or did not finish, unless it states the exit status of a command.
    """
    responses = [
        dict_at(part, "functionResponse")
        for part in (parts if isinstance(parts, list) else [parts])
    ]
    answers = [dict_at(response, "response") for response in responses if response]
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
        return text_at(value, "message") or blocks_text(value.get("content"))
    return blocks_text(value)


def _is_session_line(line: Mapping[str, Any]) -> bool:
    if text_at(line, "sessionId") and text_at(line, "projectHash"):
        return "messages" not in line
    return line.get("type") == "gemini" and text_at(line, "id") is not None


def _is_session(document: Mapping[str, Any]) -> bool:
    return "projectHash" in document and isinstance(document.get("messages"), list)


_COUNTERS = (
    "Tokens of each message, the cached ones inside the input, thoughts beside the output; a "
    "resumed run goes on in the file, so that it counts the whole session, with rewound branches; "
    "sub-agents count in their own files. No cost is kept."
)

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
        sub_agent_files=("{session}/*.jsonl",),
        keeps=("times", "tokens", "model", "sub-agents"),
        counters=_COUNTERS,
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
        counters=_COUNTERS,
        example={"sessionId": "s", "projectHash": "h", "messages": [_CALL]},
        file_names=("gemini-cli.trajectory.json", "session-*.json"),
        sub_agent_files=("{session}/*.json",),
    ),
)


# --------------------------------------------------------------------------------------------------
# Gemini CLI's ``--output-format stream-json``: calls with what a person saw of their answers.

STREAM = "gemini-cli-stream-json"
_LONGEST_OUTPUT = 30_000
_MOST_LINES = 1000
"""Characters and lines of a command's output that every version shows to the agent whole."""


def read_gemini_stream(lines: Iterable[Line], name: str) -> Reading:
    """Return the reading of a stream-json file."""
    said = Transcript(name, harness="gemini-cli", is_digest=True)
    calls: dict[str, ToolCall] = {}
    has_begun, end = False, None
    for line in lines:
        event = line.value
        if not isinstance(event, dict):
            if has_begun:
                said.complaints.add(line)
            continue
        kind, time = event.get("type"), unix_seconds(event.get("timestamp"))
        is_answer = kind == "message" and event.get("role") == "assistant"
        said.at(f"{name}:{line.number}", time, by_agent=is_answer)
        match kind:
            case "init" if not has_begun:
                has_begun = True
                said.session(event.get("session_id"))
                said.model = text_at(event, "model")
            case "result":
                end = event
            case "tool_use":
                said.has_agent = True
                tool, call_id = event.get("tool_name"), event.get("tool_id")
                call = said.call(tool, event.get("parameters"), call_id)
                calls |= {call.call_id: call} if call is not None else {}
            case "tool_result":
                call = calls.get(text_at(event, "tool_id") or "")
                if call is None:
                    said.note("a tool result does not name its call")
                else:
                    said.answer(call.call_id, answer(replace(call, result=_shown(event, call))))
    said.ending = ("no_result_event",) if end is None else ()
    if at(end, "status") == "error":
        said.ending = ("result_error",)
    stats = dict_at(end, "stats")
    total = count_at(stats, "total_tokens") or count_at(stats, "input_tokens", "output_tokens")
    return said.reading(STREAM, declared_tokens=total or None)


def _shown(event: Mapping[str, Any], call: ToolCall) -> ToolResult:
    shown = text_at(event, "output") or ""
    if event.get("status") == "error":
        text = shown or text_at(event, "error", "message") or ""
        return ToolResult(text, is_error=True, is_unfinished=not states_exit_status(text))
    if call.name == "run_shell_command":
        is_long = len(shown) > _LONGEST_OUTPUT or shown.count("\n") > _MOST_LINES
        return ToolResult(shown, doubt="display_only" if is_long else None)
    if tool_name(call.name, call.arguments).is_mcp:
        return ToolResult(shown, doubt="display_only")
    return ToolResult(shown, {DISPLAY: shown})


def _is_stream_event(event: Mapping[str, Any]) -> bool:
    kind = event.get("type")
    if kind == "init":
        return text_at(event, "session_id") is not None and "model" in event
    return kind in ("tool_use", "tool_result") and text_at(event, "tool_id") is not None


FORMATS.add(
    STREAM,
    LineFormat(
        recognises=_is_stream_event,
        read=read_gemini_stream,
        keeps=("times", "tokens", "model"),
        counters=(
            "The totals that the last line states for this run, the cached tokens inside the "
            "input; whether sub-agents are in them is not known. No cost is kept."
        ),
        priority=3,
        example=(
            {
                "type": "init",
                "timestamp": "2026-01-01T00:00:00Z",
                "session_id": "s",
                "model": "gemini-3-pro",
            },
            {
                "type": "tool_use",
                "timestamp": "2026-01-01T00:00:01Z",
                "tool_name": "read_file",
                "tool_id": "c",
                "parameters": {"file_path": "a.py"},
            },
            {"type": "tool_result", "tool_id": "c", "status": "success", "output": ""},
            {"type": "result", "status": "success", "stats": {"total_tokens": 10}},
        ),
    ),
)
