"""Messages of LangChain and LangGraph: a state, or one message a line.

They come as ``messages_to_dict`` writes them (``{"type": "ai", "data": {…}}``), as their fields
alone (``{"type": "ai", "content": …}``), and as the constructors of ``dumpd`` (``{"lc": 1, "id":
[…, "AIMessage"], "kwargs": {…}}``); states and snapshots of a graph hold them below ``messages``.
A message that several states repeat counts once, by its id or those of its calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec.structs import replace

from retrieval_eval.agents.traces.dialects import dialect_of, harness_of
from retrieval_eval.agents.traces.formats import FORMATS, DocumentFormat, LineFormat
from retrieval_eval.agents.traces.formats.messages import function_arguments, log_message
from retrieval_eval.agents.traces.reading import Reading
from retrieval_eval.agents.traces.served import is_refusal
from retrieval_eval.agents.traces.tokens import Item, openai_usage
from retrieval_eval.agents.traces.transcript import Transcript
from retrieval_eval.agents.traces.untrusted import (
    blocks_text,
    dict_at,
    dict_of,
    dicts_at,
    is_picture,
    list_of,
    text_at,
    text_of,
)
from retrieval_eval.io.files import Line
from retrieval_eval.io.spooled import like
from retrieval_eval.records import ToolCall, ToolResult

FORMAT: Final = "langchain-messages"

_KINDS: Final[Mapping[str, str]] = {
    "ai": "ai",
    "AIMessage": "ai",
    "AIMessageChunk": "ai",
    "human": "human",
    "HumanMessage": "human",
    "tool": "tool",
    "ToolMessage": "tool",
    "system": "system",
    "SystemMessage": "system",
}
_HOLDERS: Final = (
    "messages",
    "values",
    "channel_values",
    "checkpoint",
    "kwargs",
    "state",
    "output",
)
"""Members of states, snapshots and checkpoints below which messages lie."""
_DEEPEST: Final = 6
_SUMMARY: Final = "Here is a summary of the conversation to date:"

_Message = tuple[str, Mapping[str, Any]]


class _Messages(Transcript):
    """The transcript of messages, and what a model called so that it could not be read."""

    def __init__(self, name: str) -> None:
        super().__init__(name, holds_run=False)
        self.invalid: dict[str, str] = {}


def read_langchain_lines(lines: Iterable[Line], name: str) -> Reading:
    """Return the reading of lines that are messages, or states that hold some."""
    said = _Messages(name)
    for entry, where in said.complaints.objects(lines):
        _take(said, entry, where)
    return _reading(said)


def read_langchain_document(document: Mapping[str, Any], name: str) -> Reading:
    """Return the reading of a state that holds messages."""
    said = _Messages(name)
    _take(said, document, name)
    return _reading(said)


def _reading(said: _Messages) -> Reading:
    for call_id, text in said.invalid.items():
        said.join(call_id, ToolResult(text, is_error=True, is_unfinished=True))
    items = said.items()
    harness = harness_of(item for item in items if isinstance(item, ToolCall))
    dialect = dialect_of(harness)
    answer = dialect.answer if dialect is not None else None
    if answer is not None:
        seen = (
            replace(item, result=answer(item))
            if isinstance(item, ToolCall) and item.result is not None
            else item
            for item in items
        )
        items = like(items, Item, seen)
    return said.reading(FORMAT, items=items, harness=harness)


def _take(said: _Messages, value: Mapping[str, Any], where: str) -> None:
    for message, place in _messages(value, where, _DEEPEST):
        known = _message(message)
        if known is None:
            said.complaints.note(place, "expected a message")
            continue
        said.at(place)
        _take_message(said, *known)


def _messages(value: Any, where: str, depth: int) -> Iterator[tuple[Any, str]]:
    """Yield what stands where messages are expected, and its place."""
    entry = dict_of(value)
    if _message(entry) is not None:
        yield entry, where
        return
    holders = list(_HOLDERS)
    if len(entry) == 1:  # A stream of updates names the node before its state.
        holders += [key for key in entry if key not in _HOLDERS]
    for name in holders if depth else ():
        inner, place = entry.get(name), f"{where}/{name}"
        if isinstance(inner, dict):
            yield from _messages(inner, place, depth - 1)
        elif name == "messages":
            for n, message in enumerate(list_of(inner)):
                yield message, f"{place}/{n}"


def _message(value: Any) -> _Message | None:
    """Return the kind and the fields of a message in any of its forms, None for another value."""
    entry = dict_of(value)
    names = list_of(entry.get("id")) if entry.get("type") == "constructor" else []
    kind = text_of(names[-1]) if names else text_at(entry, "type")
    fields = entry.get("kwargs") if names else entry.get("data", entry)
    if kind is None or kind not in _KINDS:
        return None
    if not isinstance(fields, dict) or "content" not in fields:
        return None
    return _KINDS[kind], fields


def _take_message(said: _Messages, kind: str, fields: Mapping[str, Any]) -> None:
    text = blocks_text(fields.get("content"))
    match kind:
        case "ai":
            said.has_agent = True
            said.spoke(text)
            _take_answer(said, fields)
        case "tool":
            said.heard(text, is_users=False)
            said.answer(fields.get("tool_call_id"), _result(fields, text))
        case "human":
            said.heard(text)
            if text.startswith(_SUMMARY):
                said.note_summary()


def _take_answer(said: _Messages, fields: Mapping[str, Any]) -> None:
    """Log the calls of a model's message and what it used."""
    about = dict_at(fields, "response_metadata")
    said.model = text_at(about, "model_name") or text_at(about, "model") or said.model
    counts = (fields.get("usage_metadata"), about.get("token_usage"), about.get("usage"))
    usage = next(filter(None, (openai_usage("", stated) for stated in counts)), None)
    if usage is not None:
        said.used(fields.get("id"), usage.prompt, usage.output)
    said.begin_step()
    calls, invalid = dicts_at(fields, "tool_calls"), dicts_at(fields, "invalid_tool_calls")
    for call in calls:
        said.call(call.get("name"), call.get("args"), call.get("id"))
    for call in invalid:
        made = said.call(call.get("name"), function_arguments(call.get("args")), call.get("id"))
        if made is not None:
            said.invalid[made.call_id] = text_at(call, "error") or ""
    beside = dict_at(fields, "additional_kwargs")
    if not calls and not invalid and (beside.get("tool_calls") or beside.get("function_call")):
        # Before tool calls had a field of their own they stood as the model's interface has them.
        log_message(said, {**beside, "role": "assistant"})


def _result(fields: Mapping[str, Any], text: str) -> ToolResult:
    is_error = fields.get("status") == "error"
    shown = {"type": "image"} if is_picture(fields.get("content")) else None
    return ToolResult(text, shown, is_error, is_unfinished=is_error and is_refusal(text))


def _proves(value: Mapping[str, Any]) -> bool:
    """Whether a value holds a message with a call, or the answer to one."""
    return any(_is_of_call(message) for message, _ in _messages(value, "", _DEEPEST))


def _is_of_call(value: Any) -> bool:
    kind, fields = _message(value) or ("", {})
    if kind == "tool":
        return text_of(fields.get("tool_call_id")) is not None
    stated = [*dicts_at(fields, "tool_calls"), *dicts_at(fields, "invalid_tool_calls")]
    return kind == "ai" and any("args" in call for call in stated)


def _may_be(value: Mapping[str, Any]) -> bool:
    return any((_message(message) or ("",))[0] == "ai" for message, _ in _messages(value, "", 3))


_CALL: Final = {"name": "read_file", "args": {"path": "a.py"}, "id": "c", "type": "tool_call"}
_USED: Final = {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12}
_EXAMPLE: Final[tuple[Mapping[str, Any], ...]] = (
    {"type": "human", "data": {"content": "Where is the limit set?"}},
    {
        "type": "ai",
        "data": {
            "content": "",
            "id": "m",
            "tool_calls": [_CALL],
            "usage_metadata": _USED,
            "response_metadata": {"model_name": "m"},
        },
    },
    {"type": "tool", "data": {"content": "x = 1", "tool_call_id": "c", "status": "success"}},
)
_COUNTERS: Final = (
    "each answer's own usage, the cached tokens inside the input; those of sub-agents are not there"
)
_SOURCE: Final = "langchain-core 1 as deepagents 0.7.32 uses it, run"

FORMATS.add(
    FORMAT,
    LineFormat(
        recognises=_proves,
        read=read_langchain_lines,
        example=_EXAMPLE,
        keeps=("tokens", "model"),
        counters=_COUNTERS,
        source=_SOURCE,
        may_be=_may_be,
    ),
)
FORMATS.add(
    "langchain-state",
    DocumentFormat(
        recognises=_proves,
        read=read_langchain_document,
        example={
            "messages": [{**dict_of(line["data"]), "type": line["type"]} for line in _EXAMPLE]
        },
        keeps=("tokens", "model"),
        counters=_COUNTERS,
        source=_SOURCE,
        may_be=_may_be,
        file_names=("messages.json", "state.json"),
    ),
)
