"""Calls as OpenAI's interfaces write them: items of Responses, and messages of Chat Completions.

Arguments are JSON in a string, and neither interface marks an output as an error. Codex keeps
items of Responses in its session files; other harnesses keep messages or items in theirs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from retrieval_eval.agents.traces.reading import arguments_of
from retrieval_eval.agents.traces.transcript import Transcript
from retrieval_eval.agents.traces.untrusted import (
    at,
    blocks_text,
    clean,
    dict_at,
    dict_of,
    dicts_at,
    list_of,
    status_of,
    text_at,
    text_of,
)
from retrieval_eval.io.files import decode
from retrieval_eval.records import ToolResult

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
