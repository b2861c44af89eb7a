"""Corrects arguments and unwraps results in ATIF trajectories of OpenHands.

When the model issues several calls in one message, the arguments written for one of them can
belong to another. The step's ``message`` and the observation agree with each other, so the
arguments are corrected from them. Results of MCP tools are JSON text around the tool's own text.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Mapping
from typing import Any

from retrieval_eval.agents.traces.results.payload import states_failure, unwrapped
from retrieval_eval.agents.traces.truncated import CUT_MARKER, complete_json
from retrieval_eval.agents.traces.untrusted import blocks_text, clean, dict_of
from retrieval_eval.io.files import decode
from retrieval_eval.records import ToolResult

HARNESS = "openhands"
_SHELL, _EDITOR = "execute_bash", "str_replace_editor"
_RUNNING = "Running command: "
_EDITED = re.compile(r"(?:Reading file: |I edited the file )([^\n]{1,4096})")
_MCP = re.compile(r"with name:\n```\n([^\n`]{1,200})\n```\nand arguments:\n```\n")
_NUMBERED = re.compile(r"^ {0,8}(\d{1,9})\t", re.MULTILINE)
_LONGEST_LITERAL = 20_000
_REFUSED = "ERROR: Cannot execute multiple commands at once."
_ERRORS = ("ERROR:", "Invalid `", "Missing required parameter", "No replacement was performed")


def repaired(
    name: str, arguments: Mapping[str, Any], message: Any, observed: str | None
) -> Mapping[str, Any] | None:
    """Return the true arguments of a call, or None when the recorded ones are right.

    Parameters
    ----------
    name, arguments
        The call as written.
    message
        The step's message; one that was cut off proves nothing.
    observed
        The text of the call's result, if the step has exactly one.

    Examples
    --------
    >>> repaired("execute_bash", {"command": "ls a"}, "Running command: ls b", None)
    {'command': 'ls b'}
    """
    if not isinstance(message, str) or CUT_MARKER in message:
        return None
    if name == _SHELL:
        return _command(arguments, message)
    if name == _EDITOR:
        return _edit(arguments, message, observed or "")
    return _mcp(name, arguments, message)


def _command(arguments: Mapping[str, Any], message: str) -> Mapping[str, Any] | None:
    announced = message.removeprefix(_RUNNING)
    if announced == message or not announced.strip() or arguments.get("is_input") in (True, "true"):
        return None
    written = arguments.get("command")
    if isinstance(written, str) and written.strip() == announced.strip():
        return None
    return {"command": clean(announced)}


def _edit(arguments: Mapping[str, Any], message: str, observed: str) -> Mapping[str, Any] | None:
    announced = _EDITED.match(message)
    if announced is None:
        return None
    is_view = message.startswith("Reading")
    path = clean(announced[1].strip() if is_view else announced[1].strip().removesuffix("."))
    numbers = _NUMBERED.findall(observed) if is_view else []
    seen = [int(numbers[0]), int(numbers[-1])] if numbers else None
    if arguments.get("path") == path:
        stated = arguments.get("view_range")
        if seen is None or not isinstance(stated, list) or stated[:1] == seen[:1]:
            return None
        return {**arguments, "view_range": seen}
    if is_view:
        return {"command": "view", "path": path} | ({"view_range": seen} if seen else {})
    command = "create" if observed.startswith("File created") else "str_replace"
    return {"command": command, "path": path}


def _mcp(name: str, arguments: Mapping[str, Any], message: str) -> Mapping[str, Any] | None:
    announced = _MCP.search(message)
    if announced is None or announced[1] != name:
        return None
    literal = message[announced.end() :].rstrip().removesuffix("```").rstrip()
    if literal == str(arguments) or len(literal) > _LONGEST_LITERAL:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = ast.literal_eval(literal)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    is_usable = isinstance(value, dict) and all(isinstance(key, str) for key in value)
    return clean(value) if is_usable and value != arguments else None


def result(name: str, text: str, is_truncated: bool) -> ToolResult:
    """Return the result of a call, unwrapped where it is MCP's JSON around a text.

    Examples
    --------
    >>> result(
    ...     "read_file", '{"content": [{"type": "text", "text": "1: x"}], "isError": false}', False
    ... ).text
    '1: x'
    """
    if name == _EDITOR:
        return ToolResult(text, None, text.startswith(_ERRORS), is_truncated)
    if name == _SHELL:
        return ToolResult(text, None, text.startswith(_REFUSED), is_truncated)
    if not text.startswith("{"):
        return ToolResult(text, None, text.startswith("ERROR:"), is_truncated)
    wrapper = dict_of(_decoded(text, is_truncated))
    if not isinstance(wrapper.get("content"), list):
        return ToolResult(text, None, False, is_truncated)
    inner, _ = unwrapped("", wrapper["content"])
    return ToolResult(
        inner or blocks_text(wrapper["content"]),
        clean(wrapper.get("structuredContent")),
        states_failure("", wrapper),
        is_truncated,
    )


def _decoded(text: str, is_truncated: bool) -> Any:
    return complete_json(text, keep_cut_text=True) if is_truncated else decode(text)[0]
