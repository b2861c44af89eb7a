"""Calls as OpenAI's interfaces write them: items of Responses, and messages of Chat Completions.

Arguments are JSON in a string, and neither interface marks an output as an error. Codex keeps
items of Responses in its session files; other harnesses keep messages or items in theirs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from retrieval_eval.io.files import decode
from retrieval_eval.records import ToolCall, ToolResult
from retrieval_eval.traces.reading import CallLog, arguments_of
from retrieval_eval.traces.untrusted import (
    blocks_text,
    clean,
    dict_of,
    list_of,
    status_of,
    text_of,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an item or a message was found, and what is known about all calls in it."""

    where: str
    timestamp: float | None = None
    cwd: str | None = None
    is_subagent: bool = False
    parent_id: str | None = None

    def call(
        self, call_id: str | None, name: str, arguments: Any, result: ToolResult | None = None
    ) -> ToolCall:
        """Return a call made here; one without an id has the place for its id."""
        return ToolCall(
            call_id=call_id or self.where,
            name=name,
            arguments=function_arguments(arguments),
            result=result,
            timestamp=self.timestamp,
            is_subagent=self.is_subagent,
            cwd=self.cwd,
            where=self.where,
            parent_id=self.parent_id,
        )


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


def log_item(log: CallLog, item: Mapping[str, Any], place: Place) -> bool:
    """Log an item of a response; return whether it was a call or the output of one.

    Calls of servers that the interface asks itself (``mcp_call``) hold their own output.
    """
    if text_of(item.get("type")) in _OUTPUTS:
        _join_output(log, item, place)
        return True
    calls = _item_calls(log, item, place)
    for call in calls:
        log.add(call)
    return bool(calls)


_OUTPUTS = frozenset(
    {
        *("function_call_output", "custom_tool_call_output", "local_shell_call_output"),
        *("shell_call_output", "apply_patch_call_output", "mcp_tool_call_output"),
    }
)


def _item_calls(log: CallLog, item: Mapping[str, Any], place: Place) -> Sequence[ToolCall]:
    call_id = text_of(item.get("call_id")) or text_of(item.get("id"))
    action, name = dict_of(item.get("action")), text_of(item.get("name")) or ""
    match item.get("type"):
        case "function_call" | "custom_tool_call" | "mcp_call" if not name:
            log.complaints.note(place.where, "a tool call without a name")
            return ()
        case "function_call":
            namespace = text_of(item.get("namespace")) or ""
            whole = name if not namespace.startswith("mcp__") else _in_server(namespace, name)
            return (place.call(call_id, whole, item.get("arguments")),)
        case "custom_tool_call":
            return (place.call(call_id, name, {"input": item.get("input")}),)
        case "mcp_call":
            server = text_of(item.get("server_label")) or "unknown"
            result = _own_result(item)
            return (place.call(call_id, f"mcp__{server}__{name}", item.get("arguments"), result),)
        case "local_shell_call":
            arguments = {"command": action.get("command")}
            if text_of(action.get("working_directory")):
                arguments["workdir"] = action.get("working_directory")
            return (place.call(call_id, "local_shell", arguments),)
        case "shell_call":
            commands = list_of(action.get("commands"))
            return tuple(
                place.call(_part(call_id or place.where, n), "shell", {"command": command})
                for n, command in enumerate(commands)
            )
        case "apply_patch_call":
            return (place.call(call_id, "apply_patch", item.get("operation")),)
        case "web_search_call":
            return (place.call(call_id, "web_search", item.get("action")),)
    return ()


def _in_server(namespace: str, name: str) -> str:
    """Return the name of a server's tool with the server's prefix, once."""
    return name if name.startswith(namespace) else f"{namespace.rstrip('_')}__{name}"


def _part(call_id: str, n: int) -> str:
    return call_id if n == 0 else f"{call_id}#{n}"


def _own_result(item: Mapping[str, Any]) -> ToolResult | None:
    error, output = item.get("error"), item.get("output")
    if error:
        text = error if isinstance(error, str) else dict_of(error).get("message")
        return ToolResult(text_of(text) or "", is_error=True, is_unfinished=True)
    return None if output is None else ToolResult(output_text(output))


def _join_output(log: CallLog, item: Mapping[str, Any], place: Place) -> None:
    call_id = text_of(item.get("call_id")) or text_of(item.get("id"))
    if call_id is None:
        log.complaints.note(place.where, "a tool result does not name its call")
        return
    output = item.get("output")
    if item.get("type") == "shell_call_output" and isinstance(output, list):
        for n, part in enumerate(output):
            log.join(_part(call_id, n), _shell_result(dict_of(part)), place.timestamp)
        return
    has_failed = item.get("status") == "failed"
    structured = clean(output) if isinstance(output, dict) else None
    result = ToolResult(output_text(output), structured, has_failed, is_unfinished=has_failed)
    log.join(call_id, result, place.timestamp)


def _shell_result(part: Mapping[str, Any]) -> ToolResult:
    """Return the result of one command, whose outcome is an exit status or that it timed out."""
    texts = (text_of(part.get(name)) for name in ("stdout", "stderr"))
    outcome = dict_of(part.get("outcome"))
    text = "\n".join(filter(None, texts))
    is_late = outcome.get("type") == "timeout"
    is_error = is_late or bool(status_of(outcome.get("exit_code")))
    is_stopped = is_late and bool(text.strip())
    is_unfinished = is_late and not is_stopped
    return ToolResult(text, is_error=is_error, is_unfinished=is_unfinished, is_stopped=is_stopped)


# --------------------------------------------------------------------------------------------------
# Messages of Chat Completions: an assistant's calls, and a message of role ``tool`` for each.


def log_message(log: CallLog, message: Mapping[str, Any], place: Place) -> bool:
    """Log the calls of an assistant's message or the result in a tool's message.

    A result without an id belongs to the only call of the message before, or to none. Returns
    whether the message held a call or a result.
    """
    role = message.get("role")
    if role in ("tool", "function"):
        _join_message(log, message, place)
        return True
    if role != "assistant":
        return False
    log.take_recent()
    stated = message.get("tool_calls")
    if stated is not None and not isinstance(stated, list):
        log.complaints.note(place.where, "the tool calls are no list")
    calls = [dict_of(call) for call in list_of(stated)]
    legacy = message.get("function_call")
    if isinstance(legacy, dict) and not calls:
        calls = [{"function": legacy}]
    for n, call in enumerate(calls):
        _log_call(log, call, n, place)
    return bool(calls)


def _log_call(log: CallLog, call: Mapping[str, Any], n: int, place: Place) -> None:
    custom = dict_of(call.get("custom"))
    function = custom or dict_of(call.get("function"))
    name = text_of(function.get("name"))
    if name is None:
        log.complaints.note(place.where, "a tool call without a name")
        return
    arguments = {"input": custom.get("input")} if custom else function.get("arguments")
    call_id = text_of(call.get("id")) or _part(place.where, n)
    log.add(place.call(call_id, name, arguments))


def _join_message(log: CallLog, message: Mapping[str, Any], place: Place) -> None:
    call_id = text_of(message.get("tool_call_id"))
    before = log.take_recent()
    if call_id is None and len(before) == 1:
        call_id = before[0].call_id
    if call_id is None:
        log.complaints.note(place.where, "a tool result does not name its call")
        return
    log.join(call_id, ToolResult(blocks_text(message.get("content"))), place.timestamp)
