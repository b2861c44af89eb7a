"""Cline's history: messages with tool blocks or, in older versions, calls as XML in the text.

The command line keeps an object with ``messages`` and, beside it, one about the session; the
extension keeps an array, which is read as lines. In XML a message holds one call, and the next
user message answers it below a line that names the tool. A call of the newest tools does several
things, each with a result of its own, and is read as a call for each.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from msgspec.structs import replace

from retrieval_eval.io.files import Line, decode
from retrieval_eval.records import ToolCall, ToolResult
from retrieval_eval.traces.clock import earliest, from_milliseconds, latest
from retrieval_eval.traces.dialects.cline import HARNESS, LISTS, answer, operations_of, results_of
from retrieval_eval.traces.formats import FORMATS, DocumentFormat, LineFormat
from retrieval_eval.traces.reading import CallLog, Complaints, Reading, Unreadable, arguments_of
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

FORMAT = "cline-history"
_PARAMETERS: Final[Mapping[str, tuple[str, ...]]] = {
    "read_file": ("path",),
    "list_files": ("path", "recursive"),
    "search_files": ("path", "regex", "file_pattern"),
    "list_code_definition_names": ("path",),
    "write_to_file": ("path", "content"),
    "replace_in_file": ("path", "diff"),
    "execute_command": ("command", "requires_approval"),
    "use_mcp_tool": ("server_name", "tool_name", "arguments"),
    "access_mcp_resource": ("server_name", "uri"),
    "browser_action": ("action", "url"),
    "ask_followup_question": ("question",),
    "attempt_completion": ("result", "command"),
    "plan_mode_respond": ("response",),
    "new_task": ("context",),
}
"""The tools of older versions, which stand in the text as XML, with their parameters."""

_OPENING = re.compile(r"<(\w{4,40})>\s{0,40}<")
_HEADER = re.compile(r"\[(\w{4,40})(?: for [^\n]{0,4000})?\] Result:[ \t]*\n?")
_FOLDER = re.compile(r"# Current (?:Workspace|Working) Directory \(")
_LONGEST_PATH: Final = 4096
_DETAILS = "<environment_details>"


@dataclass(slots=True)
class _State:
    name: str
    log: CallLog
    names: dict[str, str] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    pending: ToolCall | None = None
    cwd: str | None = None
    model: str | None = None
    cost: float | None = None
    tokens: int = 0
    has_agent: bool = False
    started_at: float | None = None
    finished_at: float | None = None


def read_cline_document(document: Mapping[str, Any], name: str) -> Reading | Unreadable:
    """Return the reading of the history, or of the description, of a session."""
    if "messages" not in document:
        return _session(document)
    messages = document.get("messages")
    if not isinstance(messages, list):
        return Unreadable(f"{name}: a Cline history without a list of messages")
    state = _State(name, CallLog(Complaints(name, "message")))
    for index, message in enumerate(messages):
        _take(state, message, f"{name}#/messages/{index}")
    return _reading(state)


def read_cline_lines(lines: Iterable[Line], name: str) -> Reading:
    """Return the reading of the messages of an array."""
    state = _State(name, CallLog(Complaints(name, "message")))
    for line in lines:
        _take(state, line.value, f"{name}#/{line.number - 1}")
    return _reading(state)


def _reading(state: _State) -> Reading:
    return Reading(
        format=FORMAT,
        items=state.log.items(),
        harness=HARNESS,
        model=state.model,
        started_at=state.started_at,
        finished_at=state.finished_at,
        cwd=state.cwd,
        declared_tokens=state.tokens or None,
        declared_cost_usd=state.cost,
        flags=(*state.log.flags, *state.log.complaints.flags()),
        problems=state.log.complaints.sentences(),
        has_agent=state.has_agent,
        holds_run=True,
        is_native=True,
    )


def _session(document: Mapping[str, Any]) -> Reading:
    """Return what the file beside a history states: folder, model, tokens and cost."""
    usage = dict_of(document.get("usage"))
    names = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")
    model = document.get("model")
    return Reading(
        FORMAT,
        harness=HARNESS,
        model=text_of(clean(dict_of(model).get("id") if isinstance(model, dict) else model)),
        cwd=text_of(clean(document.get("cwd"))),
        declared_tokens=sum(count_of(usage.get(name)) for name in names) or None,
        declared_cost_usd=amount_of(usage.get("totalCost", usage.get("cost"))),
        has_agent=False,
        is_native=True,
    )


def _take(state: _State, message: Any, where: str) -> None:
    if not isinstance(message, dict):
        state.log.complaints.note(where, "expected an object")
        state.log.add_gap()
        return
    timestamp = from_milliseconds(message.get("ts"))
    state.finished_at = latest(state.finished_at, timestamp)
    stated = message.get("content")
    blocks = [{"type": "text", "text": stated}] if isinstance(stated, str) else list_of(stated)
    blocks = [dict_of(block) for block in blocks]
    if message.get("role") == "assistant":
        state.has_agent = True
        state.started_at = earliest(state.started_at, timestamp)
        state.pending = None
        info = dict_of(message.get("modelInfo"))
        state.model = text_of(clean(info.get("modelId", info.get("id")))) or state.model
        _take_metrics(state, dict_of(message.get("metrics")), where)
        for block in blocks:
            _call(state, block, timestamp, where)
    elif message.get("role") == "user":
        _take_answers(state, blocks, timestamp)


def _take_metrics(state: _State, metrics: Mapping[str, Any], where: str) -> None:
    tokens = dict_of(metrics.get("tokens")) or metrics
    prompt = count_of(tokens.get("prompt")) + count_of(tokens.get("inputTokens"))
    prompt += count_of(tokens.get("cached")) + count_of(tokens.get("cacheReadTokens"))
    prompt += count_of(tokens.get("cacheWriteTokens"))
    output = count_of(tokens.get("completion")) + count_of(tokens.get("outputTokens"))
    cost = amount_of(metrics.get("cost"))
    if cost is not None:
        state.cost = (state.cost or 0.0) + cost
    if prompt + output:
        state.tokens += prompt + output
        state.log.add_usage(Usage(where, prompt, output))


def _call(state: _State, block: Mapping[str, Any], timestamp: float | None, where: str) -> None:
    if block.get("type") == "text":
        found = _in_text(text_of(block.get("text")) or "")
        if found is None or state.pending is not None:
            return
        name, arguments, call_id = *found, where
    elif block.get("type") == "tool_use":
        stated = text_of(block.get("name"))
        if stated is None:
            state.log.complaints.note(where, "a tool call without a name")
            return
        name, arguments = stated, dict(arguments_of(block.get("input")))
        call_id = text_of(block.get("id")) or where
    else:
        return
    state.names[call_id] = name
    called, given = _unwrapped(name, arguments)
    operations = operations_of(called, given)
    state.counts[call_id] = len(operations)
    for number, one in enumerate(operations):
        own = call_id if number == 0 else f"{call_id}/{number}"
        call = ToolCall(own, called, one, None, timestamp, cwd=state.cwd, where=where)
        if block.get("type") == "text":
            state.pending = call
        state.log.add(call)


def _unwrapped(name: str, arguments: dict[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return the call of a server's tool that a call of ``use_mcp_tool`` is."""
    server, tool = text_of(arguments.get("server_name")), text_of(arguments.get("tool_name"))
    if name != "use_mcp_tool" or not server or not tool:
        return name, arguments
    inner = arguments.get("arguments")
    value = decode(inner)[0] if isinstance(inner, str) else inner
    return f"mcp__{server}__{tool}", arguments_of(value if isinstance(value, dict) else inner)


def _in_text(text: str) -> tuple[str, dict[str, Any]] | None:
    """Return the first call that a text holds as XML, if its closing tag is there."""
    for found in _OPENING.finditer(text):
        name = found[1]
        if name not in _PARAMETERS:
            continue
        end = text.find(f"</{name}>", found.end() - 1)
        if end < 0:
            return None
        body = text[found.end() - 1 : end]
        values = {p: v for p in _PARAMETERS[name] if (v := _parameter(body, p)) is not None}
        return name, dict(clean(values))
    return None


def _parameter(body: str, name: str) -> str | None:
    start, end = body.find(f"<{name}>"), body.rfind(f"</{name}>")
    return body[start + len(name) + 2 : end].strip("\n") if 0 <= start < end else None


def _take_answers(state: _State, blocks: list[Mapping[str, Any]], timestamp: float | None) -> None:
    texts = [text_of(block.get("text")) for block in blocks if block.get("type") == "text"]
    known = [text for text in texts if text is not None]
    for text in known if state.cwd is None else ():
        heading = _FOLDER.search(text)
        if heading is not None:
            rest = text[heading.end() : heading.end() + _LONGEST_PATH]
            state.cwd = text_of(clean(rest.split(")", 1)[0].split("\n", 1)[0]))
    for block in blocks:
        call_id = text_of(block.get("tool_use_id"))
        if block.get("type") == "tool_result" and call_id is not None:
            for own, result in _results(state, call_id, block):
                call = ToolCall(own, state.names.get(call_id, ""), {}, result)
                state.log.join(own, answer(call), timestamp)
    if state.pending is not None:
        _answer_pending(state, state.pending, known, timestamp)


def _results(state: _State, call_id: str, block: Mapping[str, Any]) -> list[tuple[str, ToolResult]]:
    """Return the results that a block holds, each with the id of its call."""
    results = results_of(block.get("content"))
    if results is None:
        text = blocks_text(block.get("content"))
        header = _HEADER.match(text)
        text = text[header.end() :] if header is not None else text
        is_error = block.get("is_error") is True
        result = ToolResult(text, None, is_error, is_unfinished=is_error)
        if state.names.get(call_id) in LISTS and not is_error:
            result = replace(result, doubt="unlinked_result")
        results = [result] * state.counts.get(call_id, 1)
    return [
        (call_id if number == 0 else f"{call_id}/{number}", result)
        for number, result in enumerate(results)
    ]


def _answer_pending(
    state: _State, pending: ToolCall, texts: list[str], timestamp: float | None
) -> None:
    """Join the text below the line that names the tool; without such a line nothing is known."""
    state.pending = None
    for place, text in enumerate(texts):
        header = _HEADER.match(text)
        if header is None or header[1] != state.names[pending.call_id]:
            continue
        parts = [text[header.end() :]]
        for further in texts[place + 1 :]:
            if further.lstrip().startswith((_DETAILS, "[")):
                break
            parts.append(further)
        body = "\n".join(part for part in parts if part).split(f"\n{_DETAILS}", 1)[0]
        call = ToolCall(pending.call_id, pending.name, {}, ToolResult(body))
        state.log.join(pending.call_id, answer(call), timestamp)
        return


def _is_history(message: Mapping[str, Any]) -> bool:
    if message.get("role") not in ("user", "assistant") or "content" not in message:
        return False
    if "modelInfo" in message or ("metrics" in message and "ts" in message):
        return True
    blocks = list_of(message.get("content"))
    texts = (text_of(dict_of(block).get("text")) or "" for block in blocks)
    return any(
        text.startswith(_DETAILS) or _in_text(text) is not None or _HEADER.match(text)
        for text in texts
    )


def _is_document(document: Mapping[str, Any]) -> bool:
    messages = list_of(document.get("messages"))
    if messages:
        return any(_is_history(dict_of(message)) for message in messages[:50])
    has_state = isinstance(document.get("cwd"), str) and "usage" in document
    return has_state and ("session_id" in document or "sessionId" in document)


_EXAMPLE: tuple[Mapping[str, Any], ...] = (
    {"role": "user", "content": [{"type": "text", "text": "task"}], "ts": 1_700_000_000_000},
    {
        "role": "assistant",
        "ts": 1_700_000_001_000,
        "modelInfo": {"modelId": "m"},
        "metrics": {"tokens": {"prompt": 5, "completion": 2}, "cost": 0.5},
        "content": [
            {"type": "tool_use", "id": "c", "name": "read_file", "input": {"path": "a.py"}}
        ],
    },
    {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "c", "content": "x = 1"}],
    },
)

FORMATS.add(
    FORMAT,
    LineFormat(
        recognises=_is_history,
        read=read_cline_lines,
        keeps=("times", "tokens", "cost", "model"),
        priority=2,
        file_names=("api_conversation_history.json",),
        folders=("tasks",),
        example=_EXAMPLE,
    ),
)
FORMATS.add(
    "cline-session",
    DocumentFormat(
        recognises=_is_document,
        read=read_cline_document,
        keeps=("times", "tokens", "cost", "model"),
        file_names=("*.messages.json",),
        example={"messages": list(_EXAMPLE)},
    ),
)
