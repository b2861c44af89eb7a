"""Bare messages as a model's interface takes them, without a harness around them.

Three shapes: Anthropic's messages with ``tool_use`` and ``tool_result`` blocks, OpenAI's chat
messages with ``tool_calls``, and the items of its Responses. They come as an array, as lines, or
under ``messages`` (``input`` and ``output``) of one object, which may be a request or a response as
a proxy logs them. A history that is repeated counts once, by the ids of its calls.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from retrieval_eval.agents.traces.clock import from_milliseconds, unix_seconds
from retrieval_eval.agents.traces.dialects import dialect_of
from retrieval_eval.agents.traces.dialects.openhands import HARNESS as OPENHANDS
from retrieval_eval.agents.traces.formats import FORMATS, DocumentFormat, LineFormat
from retrieval_eval.agents.traces.formats.openai_calls import (
    function_arguments,
    log_item,
    log_message,
)
from retrieval_eval.agents.traces.reading import Reading, Unreadable, chosen, is_summary, size
from retrieval_eval.agents.traces.served import is_refusal
from retrieval_eval.agents.traces.tokens import ANTHROPIC_PROMPT, Item
from retrieval_eval.agents.traces.transcript import Transcript
from retrieval_eval.agents.traces.untrusted import (
    amount_of,
    blocks_text,
    count_at,
    dict_at,
    dict_of,
    list_of,
    text_at,
    text_of,
)
from retrieval_eval.io.files import Line
from retrieval_eval.io.spooled import Spooled, like
from retrieval_eval.records import ToolCall, ToolResult

ANTHROPIC: Final = "anthropic-messages"
CHAT: Final = "openai-chat"
RESPONSES: Final = "openai-responses"

_ROLES: Final = ("system", "developer", "user", "assistant", "tool", "function")
_ITEMS: Final = frozenset(
    {
        *("function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output"),
        *("local_shell_call", "local_shell_call_output", "shell_call", "shell_call_output"),
        *("apply_patch_call", "apply_patch_call_output", "mcp_call", "web_search_call"),
    }
)
_BLOCK_CALLS: Final = frozenset({"tool_use", "mcp_tool_use", "server_tool_use"})
_INSIDE: Final = ("request", "body", "kwargs", "params", "response")
"""Members under which a log keeps a request and its response, in the order of time."""
_WITH_CALLS: Final = {"messages": "fncall_messages", "response": "fncall_response"}
"""Members beside those of a log of OpenHands that hold the same with the calls apart."""
_DEEPEST: Final = 6
_LONGEST_KEY: Final = 2_000
_LONGEST_OPENING: Final = 20_000
_UPLOADED: Final = re.compile(
    r"<uploaded_files>\s{0,9}((?:[A-Za-z]:)?/[^\s<>]{1,1000})\s{0,9}</uploaded_files>"
)
"""The folder of the task in the first message of OpenHands and SWE-agent."""


class _Messages(Transcript):
    """The transcript of messages, of which the first with a call or a result tells the shape."""

    def __init__(self, name: str) -> None:
        super().__init__(name, holds_run=True)
        self.shape: str | None = None
        self.folder: str | None = None
        self.harness: str | None = None


def read_message_lines(lines: Iterable[Line], name: str) -> Reading | Unreadable:
    """Return the reading of lines that are messages, or objects that hold some."""
    kept: Spooled[Line] = Spooled(Line)
    groups: dict[str, list[int]] = {}
    for line in lines:
        key = _conversation(line.value)
        if key is not None:
            groups.setdefault(key, []).append(len(kept))
        kept.append(line, size(line.value))
    if len(groups) > 1:
        # Lines that hold whole conversations: those that begin alike are one, which grew.
        named = {f"line {kept[group[0]].number}": group for group in groups.values()}

        def read(which: str) -> Reading | Unreadable:
            return _read((kept[place] for place in named[which]), name)

        return chosen(name, tuple(named), read)
    return _read(kept, name)


def read_message_document(document: Mapping[str, Any], name: str) -> Reading | Unreadable:
    """Return the reading of one object that holds messages."""
    return _read([Line(1, document)], name, is_document=True)


def _read(lines: Iterable[Line], name: str, *, is_document: bool = False) -> Reading | Unreadable:
    said = _Messages(name)
    for line in lines:
        if isinstance(line.value, dict):
            where = f"{name}" if is_document else f"{name}:{line.number}"
            _take(said, line.value, where, None, _DEEPEST)
        else:
            said.complaints.add(line)
    if said.shape is None and not said.complaints.flags() and said.may_have_worked:
        # An agent that wrote its calls as text would look like one that did nothing.
        return Unreadable(
            f"{name}: messages without any call of a tool; calls that an agent writes into its "
            "text are not read"
        )
    return said.reading(
        said.shape or ANTHROPIC, items=_as_seen(said), harness=said.harness, cwd=said.folder
    )


def _as_seen(said: _Messages) -> Sequence[Item]:
    """Return what was logged, with answers that are without the envelope of a known harness."""
    items = said.items()
    dialect = dialect_of(said.harness)
    answer = dialect.answer if dialect is not None else None
    if answer is None:
        return items
    seen = (
        replace(item, result=answer(item)) if isinstance(item, ToolCall) and item.result else item
        for item in items
    )
    return like(items, Item, seen)


def _take(
    said: _Messages, entry: Mapping[str, Any], where: str, moment: float | None, depth: int
) -> None:
    """Log what one object holds: a message, an item, or members that hold some."""
    moment = _time(entry) or moment
    said.at(where, moment, starts=True)
    if entry.get("role") != "user":
        said.model = text_at(entry, "model") or said.model
    _take_usage(said, entry)
    if _is_item(entry):
        said.shape = said.shape or RESPONSES
        said.has_agent = True
        log_item(said, entry)
    elif entry.get("role") in _ROLES:
        _take_message(said, entry)
    elif depth:
        if any(name in entry for name in _WITH_CALLS.values()):
            said.harness = OPENHANDS
        for member, value in _members(entry):
            inside = f"{where}/{member}"
            if isinstance(value, dict):
                _take(said, value, inside, moment, depth - 1)
            for n, message in enumerate(list_of(value)):
                if isinstance(message, dict):
                    _take(said, message, f"{inside}/{n}", moment, depth - 1)
                elif not isinstance(message, str):
                    said.complaints.note(f"{inside}/{n}", "expected a JSON object")


def _members(entry: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the members that hold messages, requests before responses."""
    for member in ("messages", "input", *_INSIDE, "choices", "output", "items"):
        kind = dict if member in _INSIDE else list
        with_calls = _WITH_CALLS.get(member, member)
        member = with_calls if isinstance(entry.get(with_calls), kind) else member
        if isinstance(entry.get(member), kind):
            yield member, entry[member]
    if "finish_reason" in entry and isinstance(entry.get("message"), dict):
        yield "message", entry["message"]


def _take_message(said: _Messages, message: Mapping[str, Any]) -> None:
    role, content = message.get("role"), message.get("content")
    said.has_agent = said.has_agent or role == "assistant"
    text = blocks_text(content)
    if role == "assistant":
        said.spoke(text)
    elif role in ("user", "tool", "function"):
        said.heard(text, is_users=role == "user")
    if role == "user":
        if is_summary(text):
            said.note_summary()
        if said.folder is None and not said.has_agent:
            uploaded = _UPLOADED.search(text[:_LONGEST_OPENING])
            said.folder = uploaded[1] if uploaded is not None else None
    if role in ("tool", "function") or message.get("tool_calls") or message.get("function_call"):
        said.shape = said.shape or CHAT
        log_message(said, message)
        return
    if role == "assistant":
        said.take_recent()
    blocks = [block for block in list_of(content) if isinstance(block, dict)]
    for n, block in enumerate(blocks):
        if text_at(block, "type") in _BLOCK_CALLS:
            said.shape = said.shape or ANTHROPIC
            name = text_at(block, "name")
            if name is not None and block.get("type") == "mcp_tool_use":
                name = f"mcp__{text_at(block, 'server_name') or 'unknown'}__{name}"
            arguments = function_arguments(block.get("input"))
            said.call(name, arguments, text_at(block, "id") or f"{said.where}#{n}")
    results = [block for block in blocks if block.get("type") in _BLOCK_RESULTS]
    before = said.take_recent() if results else []
    is_only = len(results) == len(before) == 1
    for block in results:
        call_id = text_at(block, "tool_use_id") or (before[0].call_id if is_only else None)
        said.answer(call_id, _block_result(block))


_BLOCK_RESULTS: Final = ("tool_result", "mcp_tool_result")


def _block_result(block: Mapping[str, Any]) -> ToolResult:
    """Return the result in a block; an error may still show what a command printed before."""
    text = blocks_text(block.get("content"))
    is_error = block.get("is_error") is True
    return ToolResult(text, None, is_error, is_unfinished=is_error and is_refusal(text))


def _is_item(entry: Mapping[str, Any]) -> bool:
    kind = entry.get("type")
    return isinstance(kind, str) and kind in _ITEMS and "role" not in entry


def _take_usage(said: _Messages, entry: Mapping[str, Any]) -> None:
    """Log the tokens of a response, which is an object with a usage beside its content."""
    usage = dict_at(entry, "usage")
    if "prompt_tokens" in usage or "input_tokens_details" in usage or "output" in entry:
        prompt = count_at(usage, "prompt_tokens") or count_at(usage, "input_tokens")
        output = count_at(usage, "completion_tokens") or count_at(usage, "output_tokens")
    else:
        prompt, output = count_at(usage, *ANTHROPIC_PROMPT), count_at(usage, "output_tokens")
    said.used(entry.get("id"), prompt, output)


def _time(entry: Mapping[str, Any]) -> float | None:
    for name in ("timestamp", "created_at", "created", "ts", "time"):
        value = entry.get(name)
        stated = unix_seconds(value)
        if stated is not None:
            return stated
        number = amount_of(value)
        if number is not None and number > _YEAR_2001:
            is_milliseconds = number > _YEAR_2001 * 1000
            return from_milliseconds(number if is_milliseconds else number * 1000)
    return None


_YEAR_2001: Final = 1_000_000_000


def _conversation(value: Any) -> str | None:
    """Return what distinguishes the conversation that a line holds, or None for a line inside one.

    It is the first message that is no instruction of the system.
    """
    messages = _history(value, _DEEPEST)
    for message in messages or ():
        if dict_of(message).get("role") not in ("system", "developer"):
            try:
                return json.dumps(message, sort_keys=True, default=str)[:_LONGEST_KEY]
            except (ValueError, RecursionError):
                return ""
    return None


def _history(value: Any, depth: int) -> list[Any] | None:
    entry = dict_of(value)
    if not depth or entry.get("role") in _ROLES:
        return None
    for member in ("messages", "input"):
        found = entry.get(member)
        if isinstance(found, list) and any(_holds_call(message) for message in found):
            return found
        if isinstance(found, list) and any(dict_of(m).get("role") in _ROLES for m in found):
            return found
    inside = (_history(entry.get(member), depth - 1) for member in _INSIDE)
    return next((found for found in inside if found), None)


def _holds_call(value: Any) -> bool:
    """Return whether an object is a message or item with a call or a result."""
    entry = dict_of(value)
    if _is_item(entry):
        return any(text_of(entry.get(name)) for name in ("call_id", "id", "name"))
    role, content = entry.get("role"), entry.get("content")
    if role == "assistant" and any(
        "function" in dict_of(c) for c in list_of(entry.get("tool_calls"))
    ):
        return True
    if role == "tool":
        return text_of(entry.get("tool_call_id")) is not None
    kinds = {text_of(dict_of(block).get("type")) for block in list_of(content)}
    if role == "assistant":
        return bool(kinds & _BLOCK_CALLS)
    return role == "user" and "tool_result" in kinds


def _proves(entry: Mapping[str, Any]) -> bool:
    """Whether an object holds a call or a result of a tool in one of the shapes."""
    return _holds(entry, _DEEPEST)


def _holds(value: Any, depth: int) -> bool:
    entry = dict_of(value)
    if _holds_call(entry):
        return True
    if not depth or "schema_version" in entry:
        return False
    return any(
        any(_holds(message, depth - 1) for message in (list_of(inner) or [inner]))
        for _, inner in _members(entry)
    )


def _may_be_message(line: Mapping[str, Any]) -> bool:
    """Whether a line is a message of the agent, which may have called nothing."""
    return line.get("role") == "assistant" and isinstance(line.get("content"), (str, list))


def _may_be_document(document: Mapping[str, Any]) -> bool:
    messages = [dict_of(message) for message in list_of(document.get("messages"))]
    return any(_may_be_message(message) for message in messages)


_EXAMPLE: Final[tuple[Mapping[str, Any], ...]] = (
    {"role": "user", "content": "Where is the limit set?"},
    {
        "role": "assistant",
        "content": [
            {"type": "tool_use", "id": "t", "name": "read_file", "input": {"path": "a.py"}}
        ],
    },
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x = 1"}]},
)

_SOURCE = "public interface descriptions of Anthropic and OpenAI; no file was seen"

FORMATS.add(
    "messages-jsonl",
    LineFormat(
        recognises=_proves,
        read=read_message_lines,
        keeps=("times", "tokens", "model"),
        counters=(
            "each response's own usage where it is kept: OpenAI's prompt holds the cached tokens, "
            "Anthropic's are added; a repeated response counts once by its id"
        ),
        source=_SOURCE,
        may_be=_may_be_message,
        priority=-1,
        example=_EXAMPLE,
    ),
)
FORMATS.add(
    "messages-json",
    DocumentFormat(
        recognises=_proves,
        read=read_message_document,
        keeps=("times", "tokens", "model"),
        counters=(
            "each response's own usage where it is kept: OpenAI's prompt holds the cached tokens, "
            "Anthropic's are added; a repeated response counts once by its id"
        ),
        source=_SOURCE,
        may_be=_may_be_document,
        priority=-1,
        file_names=("messages.json",),
        example={"model": "m", "messages": list(_EXAMPLE)},
    ),
)
