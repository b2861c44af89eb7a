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

from retrieval_eval.agents.traces.dialects import dialect_of, started_sub_agents
from retrieval_eval.agents.traces.formats import FORMATS, OF_VIBE, DocumentFormat, LineFormat
from retrieval_eval.agents.traces.formats.openhands import HARNESS as OPENHANDS
from retrieval_eval.agents.traces.formats.openhands import SDK as OPENHANDS_SDK
from retrieval_eval.agents.traces.reading import (
    Reading,
    Unreadable,
    arguments_of,
    chosen,
    is_summary,
    size,
)
from retrieval_eval.agents.traces.served import is_refusal
from retrieval_eval.agents.traces.tokens import ANTHROPIC_PROMPT, Item, Usage
from retrieval_eval.agents.traces.transcript import Transcript
from retrieval_eval.agents.traces.untrusted import (
    amount_of,
    at,
    blocks_text,
    clean,
    count_at,
    dict_at,
    dict_of,
    dicts_at,
    from_milliseconds,
    list_of,
    status_of,
    text_at,
    text_of,
    unix_seconds,
)
from retrieval_eval.io.files import Line, decode
from retrieval_eval.io.spooled import Spooled, like
from retrieval_eval.records import ToolCall, ToolResult

# --------------------------------------------------------------------------------------------------
# Calls as OpenAI's interfaces write them: items of Responses, and messages of Chat Completions.

_PAIR: Final = re.compile(r"[{ ]'(\w{1,60})': '([^'\\\n]{0,4000})'(?=[,}])")
_LONGEST: Final = 20_000


def _written_by_python(text: str) -> dict[str, str]:
    """Return the plain texts in arguments that a library wrote in Python's notation."""
    if not text.startswith("{'") or len(text) > _LONGEST:
        return {}
    return dict(_PAIR.findall(text))


def function_arguments(value: Any) -> Mapping[str, Any]:
    """Return the arguments of a function call, which are an object or one as JSON text.

    Anything else, such as text that was cut off, is kept under ``input``.

    Examples
    --------
    >>> function_arguments("{'path': 'a.py', 'line': 3}")
    {'path': 'a.py'}
    >>> function_arguments('{"cmd": "ls"}'), function_arguments('{"cmd": "l')
    ({'cmd': 'ls'}, {'input': '{"cmd": "l'})
    """
    if isinstance(value, str):
        decoded = decode(value)[0] if value.lstrip().startswith("{") else None
        if isinstance(decoded, dict):
            return arguments_of(decoded)
        written = _written_by_python(value)
        if written:
            return arguments_of(written)
        return arguments_of(value) if value.strip() else {}
    return arguments_of(value)


def output_text(output: Any) -> str:
    """Return the text of an output: a string, parts, one part, or an object with ``content``.

    Examples
    --------
    >>> output_text([{"type": "input_text", "text": "a"}, {"type": "input_image"}])
    'a'
    >>> output_text({"content": "a", "success": True}), output_text({"type": "text", "text": "a"})
    ('a', 'a')
    """
    if not isinstance(output, dict):
        return blocks_text(output)
    return blocks_text(output["content"] if "content" in output else output.get("text"))


# --------------------------------------------------------------------------------------------------
# Items of the Responses interface: a call and its output are items of their own.


def log_item(said: Transcript, item: Mapping[str, Any]) -> bool:
    """Log an item of a response; return whether it was a call or the output of one.

    Calls of servers that the interface asks itself (``mcp_call``) hold their own output.
    """
    kind, call_id = item.get("type"), text_at(item, "call_id") or text_at(item, "id")
    if text_of(kind) in _OUTPUTS:
        _join_output(said, item, call_id)
        return True
    if kind == "shell_call":
        commands = list_of(at(item, "action", "commands"))
        for n, command in enumerate(commands):
            said.call("shell", {"command": command}, _part(call_id or said.where, n))
        return bool(commands)
    called = _called(item)
    if called is None:
        return False
    name, arguments = called
    result = _own_result(item) if kind == "mcp_call" else None
    call = said.call(name, function_arguments(arguments), call_id, result=result)
    return call is not None


_OUTPUTS = frozenset(
    {
        *("function_call_output", "custom_tool_call_output", "local_shell_call_output"),
        *("shell_call_output", "apply_patch_call_output", "mcp_tool_call_output"),
    }
)


def _called(item: Mapping[str, Any]) -> tuple[str | None, Any] | None:
    """Return the name and the arguments of the call that an item is, or None for another item."""
    action, name = dict_at(item, "action"), text_at(item, "name")
    match item.get("type"):
        case "function_call" | "custom_tool_call" | "mcp_call" if name is None:
            return None, None
        case "function_call":
            namespace = text_at(item, "namespace") or ""
            whole = name if not namespace.startswith("mcp__") else _in_server(namespace, name or "")
            return whole, item.get("arguments")
        case "custom_tool_call":
            return name, {"input": item.get("input")}
        case "mcp_call":
            server = text_at(item, "server_label") or "unknown"
            return f"mcp__{server}__{name}", item.get("arguments")
        case "local_shell_call":
            folder = text_at(action, "working_directory")
            where = {} if folder is None else {"workdir": folder}
            return "local_shell", {"command": action.get("command"), **where}
        case "apply_patch_call":
            return "apply_patch", item.get("operation")
        case "web_search_call":
            return "web_search", item.get("action")
    return None


def _in_server(namespace: str, name: str) -> str:
    """Return the name of a server's tool with the server's prefix, once."""
    return name if name.startswith(namespace) else f"{namespace.rstrip('_')}__{name}"


def _part(call_id: str, n: int) -> str:
    return call_id if n == 0 else f"{call_id}#{n}"


def _own_result(item: Mapping[str, Any]) -> ToolResult | None:
    error, output = item.get("error"), item.get("output")
    if error:
        text = text_of(error) or text_at(error, "message") or ""
        return ToolResult(text, is_error=True, is_unfinished=True)
    return None if output is None else ToolResult(output_text(output))


def _join_output(said: Transcript, item: Mapping[str, Any], call_id: str | None) -> None:
    output = item.get("output")
    if item.get("type") == "shell_call_output" and isinstance(output, list) and call_id is not None:
        for n, part in enumerate(output):
            said.answer(_part(call_id, n), _shell_result(dict_of(part)))
        return
    has_failed = item.get("status") == "failed"
    structured = clean(output) if isinstance(output, dict) else None
    result = ToolResult(output_text(output), structured, has_failed, is_unfinished=has_failed)
    said.answer(call_id, result)


def _shell_result(part: Mapping[str, Any]) -> ToolResult:
    """Return the result of one command, whose outcome is an exit status or that it timed out."""
    texts = (text_at(part, name) for name in ("stdout", "stderr"))
    outcome = dict_at(part, "outcome")
    text = "\n".join(filter(None, texts))
    is_late = outcome.get("type") == "timeout"
    is_error = is_late or bool(status_of(outcome.get("exit_code")))
    is_stopped = is_late and bool(text.strip())
    is_unfinished = is_late and not is_stopped
    return ToolResult(text, is_error=is_error, is_unfinished=is_unfinished, is_stopped=is_stopped)


# --------------------------------------------------------------------------------------------------
# Messages of Chat Completions: an assistant's calls, and a message of role ``tool`` for each.


def log_message(said: Transcript, message: Mapping[str, Any]) -> bool:
    """Log the calls of an assistant's message or the result in a tool's message.

    A result without an id belongs to the only call of the message before, or to none. Returns
    whether the message held a call or a result.
    """
    role = message.get("role")
    before = said.take_recent() if role in ("tool", "function", "assistant") else []
    if role in ("tool", "function"):
        own = before[0].call_id if len(before) == 1 else None
        call_id = text_at(message, "tool_call_id") or own
        said.answer(call_id, ToolResult(blocks_text(message.get("content"))))
        return True
    if role != "assistant":
        return False
    stated = message.get("tool_calls")
    if stated is not None and not isinstance(stated, list):
        said.note("the tool calls are no list")
    calls = dicts_at(message, "tool_calls")
    legacy = message.get("function_call")
    if isinstance(legacy, dict) and not calls:
        calls = [{"function": legacy}]
    for n, call in enumerate(calls):
        custom = dict_at(call, "custom")
        function = custom or dict_at(call, "function")
        arguments = {"input": custom.get("input")} if custom else function.get("arguments")
        call_id = text_at(call, "id") or _part(said.where, n)
        said.call(function.get("name"), function_arguments(arguments), call_id)
    return bool(calls)


# --------------------------------------------------------------------------------------------------
# The formats.

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
_OF_SDK: Final = {"usage_summary", "latency_sec"}
"""Members of a log of OpenHands' SDK, which has the calls apart only where they were text."""
_DEEPEST: Final = 6
_LONGEST_KEY: Final = 2_000
_LONGEST_OPENING: Final = 20_000
_UPLOADED: Final = re.compile(
    r"<uploaded_files>\s{0,9}((?:[A-Za-z]:)?/[^\s<>]{1,1000})\s{0,9}</uploaded_files>"
)
"""The folder of the task in the first message of OpenHands and SWE-agent."""


class _Messages(Transcript):
    """The transcript of messages, of which the first with a call or a result tells the shape.

    A document that holds a whole conversation has the time of its last request, which is none of
    the messages before it; a log of lines has that of every request.
    """

    def __init__(self, name: str, *, is_document: bool = False) -> None:
        super().__init__(name, holds_run=True)
        self.is_document = is_document
        self.shape: str | None = None
        self.folder: str | None = None
        self.harness: str | None = None
        self.n_responses = 0
        self.n_earlier = 0
        """The most answers of the model that a request shows to have gone before it."""
        self.prompts: dict[str, str] = {}
        """What calls handed to sub-agents, and the ids of the calls."""

    def add(self, call: ToolCall) -> None:
        """Append ``call`` unless it repeats one."""
        super().add(call)
        if started_sub_agents(call, self.harness):
            given = (text_of(value) for value in call.arguments.values())
            self.prompts.update(dict.fromkeys(filter(None, given), call.call_id))


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
        whole = _with_sub_agents(kept, list(groups.values()), name)
        if whole is not None:
            return whole
        named = {f"line {kept[group[0]].number}": group for group in groups.values()}

        def read(which: str) -> Reading | Unreadable:
            return _read((kept[place] for place in named[which]), name)

        return chosen(name, tuple(named), read)
    return _read(kept, name)


def _with_sub_agents(kept: Spooled[Line], groups: list[list[int]], name: str) -> Reading | None:
    """Return conversations as one if all but the first begin with what a call handed on."""
    said = _Messages(name)
    for n, group in enumerate(groups):
        if n:
            opening = _opening(kept[group[0]].value).lstrip()
            begun = (call for prompt, call in said.prompts.items() if opening.startswith(prompt))
            call_id = next(begun, None)
            if call_id is None:
                return None
            agent = f"line {kept[group[0]].number}"
            said.by(agent)
            said.sub_agents.add(agent)
            said.delegated[call_id] = agent
        for place in group:
            line = kept[place]
            _take(said, dict_of(line.value), f"{name}:{line.number}", None, _DEEPEST)
    return _reading(said)


def read_message_document(document: Mapping[str, Any], name: str) -> Reading | Unreadable:
    """Return the reading of one object that holds messages."""
    return _read([Line(1, document)], name, is_document=True)


def _read(lines: Iterable[Line], name: str, *, is_document: bool = False) -> Reading | Unreadable:
    said = _Messages(name, is_document=is_document)
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
    return _reading(said)


def _reading(said: _Messages) -> Reading:
    items = _as_seen(said)
    if said.n_earlier >= max(said.n_responses, 1):
        # Some responses are not here, and the tokens and cost of the others are not those of all.
        items, said.cost = like(items, Item, (i for i in items if not isinstance(i, Usage))), None
    return said.reading(said.shape or ANTHROPIC, items=items, harness=said.harness, cwd=said.folder)


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
    is_message = entry.get("role") in _ROLES or _is_item(entry)
    moment = (_time(entry) if is_message or not said.is_document else None) or moment
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
        is_sdk = entry.keys() >= _OF_SDK
        if is_sdk or any(name in entry for name in _WITH_CALLS.values()):
            said.harness = OPENHANDS_SDK if is_sdk else OPENHANDS
            said.paid(entry.get("cost"))
        for member, value in _members(entry):
            inside = f"{where}/{member}"
            if isinstance(value, dict):
                _take(said, value, inside, moment, depth - 1)
            for n, message in enumerate(list_of(value)):
                if isinstance(message, dict):
                    _take(said, message, f"{inside}/{n}", moment, depth - 1)
                elif not isinstance(message, str):
                    said.complaints.note(f"{inside}/{n}", "expected a JSON object")
        if "response" in entry:
            answers = sum(dict_of(m).get("role") == "assistant" for m in _history(entry, 2) or ())
            said.n_earlier = max(said.n_earlier, answers)


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
    said.n_responses += bool(prompt + output)
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
    first = _first(value)
    if first is None:
        return None
    try:
        return json.dumps(first, sort_keys=True, default=str)[:_LONGEST_KEY]
    except (ValueError, RecursionError):
        return ""


def _first(value: Any) -> Any:
    messages = _history(value, _DEEPEST) or ()
    own = (m for m in messages if dict_of(m).get("role") not in ("system", "developer"))
    return next(own, None)


def _opening(value: Any) -> str:
    """Return the text that the conversation begins with which a line holds."""
    return blocks_text(dict_of(_first(value)).get("content"))


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
    is_said = line.get("role") == "assistant" and isinstance(line.get("content"), (str, list))
    return is_said and not line.keys() >= OF_VIBE


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

_CHAT_EXAMPLE: Final[tuple[Mapping[str, Any], ...]] = (
    {"role": "user", "content": "Where is the limit set?"},
    {
        "role": "assistant",
        "tool_calls": [
            {"id": "c", "function": {"name": "read_file", "arguments": '{"path": "a.py"}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "c", "content": "x = 1"},
)

_SOURCE = "public interface descriptions of Anthropic and OpenAI; no file was seen"

FORMATS.add(
    "messages-jsonl",
    LineFormat(
        recognises=_proves,
        read=read_message_lines,
        keeps=("times", "tokens", "cost", "model", "sub-agents"),
        counters=(
            "each response's own usage where it is kept: OpenAI's prompt holds the cached tokens, "
            "Anthropic's are added; a repeated response counts once by its id; logs of OpenHands "
            "state what each request cost; of a log that lacks requests neither is known"
        ),
        source=_SOURCE,
        may_be=_may_be_message,
        priority=-1,
        event_folders=("completions", "llm_completions"),
        example=_EXAMPLE,
    ),
)
FORMATS.add(
    "messages-json",
    DocumentFormat(
        recognises=_proves,
        read=read_message_document,
        keeps=("times", "tokens", "cost", "model"),
        counters=(
            "each response's own usage where it is kept: OpenAI's prompt holds the cached tokens, "
            "Anthropic's are added; a repeated response counts once by its id; logs of OpenHands "
            "state what each request cost; of a log that lacks requests neither is known"
        ),
        source=_SOURCE,
        may_be=_may_be_document,
        priority=-1,
        file_names=("messages.json",),
        example={"model": "m", "messages": list(_CHAT_EXAMPLE)},
    ),
)
