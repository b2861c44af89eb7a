"""Continue's sessions: a history whose entries hold calls with their results.

An entry holds a message and, of an assistant's, the state of each call: what it was answered and
how it ended. What a command prints while it runs is kept in its state before the model is given it.
A summary replaces the history. Nothing states a time or a version.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import unquote

from retrieval_eval.agents.traces.dialects.continue_dev import HARNESS, answer
from retrieval_eval.agents.traces.formats import FORMATS, DocumentFormat
from retrieval_eval.agents.traces.reading import Reading, Unreadable
from retrieval_eval.agents.traces.transcript import Transcript
from retrieval_eval.agents.traces.untrusted import (
    at,
    blocks_text,
    count_at,
    dict_at,
    dict_of,
    dicts_at,
    text_at,
)
from retrieval_eval.io.files import decode
from retrieval_eval.records import ToolResult

FORMAT: Final = "continue-session"
_ENDED: Final = ("done", "errored", "canceled")
_FILE: Final = "file://"
_BLOCKS: Final = '[{"type":"'


def read_continue(document: Mapping[str, Any], name: str) -> Reading | Unreadable:
    """Return the reading of a session."""
    history = document.get("history")
    if not isinstance(history, list):
        return Unreadable(f"{name}: a session of Continue without a list as its history")
    said = Transcript(name, "entry", answer=answer, harness=HARNESS, holds_run=True, is_native=True)
    said.session(document.get("sessionId"))
    said.cwd = _path(text_at(document, "workspaceDirectory") or "") or None
    said.paid(at(document, "usage", "totalCost"))
    for index, entry in enumerate(history):
        message = dict_at(entry, "message")
        is_agent = message.get("role") == "assistant"
        said.at(f"{name}#/history/{index}", by_agent=is_agent)
        if not message:
            said.note("expected a message")
            said.add_gap()
            continue
        if text_at(entry, "conversationSummary") is not None:
            said.note_summary()
        for item in dicts_at(entry, "contextItems"):
            _attach(said, item)
        if is_agent:
            said.spoke(blocks_text(message.get("content")))
            _take_calls(said, dict_of(entry), message)
    return said.reading(FORMAT)


def _take_calls(said: Transcript, entry: Mapping[str, Any], message: Mapping[str, Any]) -> None:
    """Log the calls of an answer, of which older versions kept the state of one, and its tokens."""
    states = [*dicts_at(entry, "toolCallStates")] or [dict_at(entry, "toolCallState")]
    known = {text_at(state, "toolCallId"): state for state in states}
    for number, call in enumerate(dicts_at(message, "toolCalls")):
        state = known.get(text_at(call, "id"), {})
        stated = at(call, "function", "arguments")
        parsed = state.get("parsedArgs", decode(stated)[0] if isinstance(stated, str) else stated)
        name, result = text_at(call, "function", "name"), _result(state)
        if name is not None and result is not None and result.text.startswith(_BLOCKS):
            # Only a server's tool is answered so; which server is not stated.
            name = f"mcp__unknown__{name}"
        said.call(
            name,
            parsed if isinstance(parsed, dict) else stated,
            call.get("id"),
            result=result,
            inside=f"/message/toolCalls/{number}",
        )
    usage = dict_at(message, "usage")
    said.model = text_at(usage, "model") or said.model
    said.used(None, count_at(usage, "prompt_tokens"), count_at(usage, "completion_tokens"))


def _result(state: Mapping[str, Any]) -> ToolResult | None:
    status = state.get("status")
    if status not in _ENDED:
        return None
    output = "\n".join(text_at(item, "content") or "" for item in dicts_at(state, "output"))
    has_failed = status != "done"
    return ToolResult(output, None, has_failed, is_unfinished=has_failed)


def _attach(said: Transcript, item: Mapping[str, Any]) -> None:
    """Note a file whose content stands beside a prompt, as an editor adds it."""
    path = _path(text_at(item, "uri", "value") or "")
    if path and text_at(item, "content"):
        said.attach(path, "named in the prompt")


def _path(address: str) -> str:
    return unquote(address.removeprefix(_FILE)) if address.startswith(_FILE) else address


def _is_session(document: Mapping[str, Any]) -> bool:
    entries = dicts_at(document, "history")
    has_place = "workspaceDirectory" in document and "sessionId" in document
    return has_place and any(isinstance(entry.get("contextItems"), list) for entry in entries)


_READ: Final[Mapping[str, Any]] = {
    "id": "c",
    "type": "function",
    "function": {"name": "Read", "arguments": '{"filepath": "a.py"}'},
}
FORMATS.add(
    FORMAT,
    DocumentFormat(
        recognises=_is_session,
        read=read_continue,
        keeps=("tokens", "cost", "model"),
        counters=(
            "Tokens of each answer, the cached ones inside the prompt's, and the cost of the "
            "session; resumed runs go on in it, and those of what a summary replaced are not kept."
        ),
        priority=2,
        file_names=("????????-????-????-????-????????????.json",),
        example={
            "sessionId": "s",
            "workspaceDirectory": "/w",
            "history": [
                {"message": {"role": "user", "content": "task"}, "contextItems": []},
                {
                    "message": {
                        "role": "assistant",
                        "content": "",
                        "toolCalls": [_READ],
                        "usage": {"prompt_tokens": 9, "completion_tokens": 1, "model": "m"},
                    },
                    "contextItems": [],
                    "toolCallStates": [
                        {
                            "toolCallId": "c",
                            "status": "done",
                            "output": [{"content": "Content of a.py:\nx = 1"}],
                        }
                    ],
                },
            ],
        },
    ),
)
