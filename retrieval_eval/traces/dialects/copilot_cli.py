"""GitHub Copilot CLI."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from retrieval_eval.records import ToolCall, ToolResult
from retrieval_eval.traces.dialects import DIALECTS, Dialect, Tool, read_nothing, read_unknown
from retrieval_eval.traces.results.grep import grep_category, read_grep

HARNESS: Final = "copilot-cli"

_EXITED: Final = re.compile(r"(?:\A|\n)<exited with exit code (-?\d{1,9})>\s*\Z")
_STARTED: Final = re.compile(r"\s*<command (?:started|is still running|with \w+: \S+ is still)")
_SHELL: Final = re.compile(r"\b(?:shellId|sessionId):? ([\w-]{1,100})")
_TAIL: Final = 200


def started_shell(text: str) -> str | None:
    """Return the name of the shell in which an answer says that a command goes on, or None.

    Examples
    --------
    >>> started_shell("<command started in background with shellId: 7>")
    '7'
    """
    head = text[:_TAIL]
    found = _SHELL.search(head) if _STARTED.match(head) else None
    return found[1] if found is not None else None


def answer(call: ToolCall) -> ToolResult:
    r"""Return the result of a command without its last line, with the exit status that it states.

    Examples
    --------
    >>> found = answer(ToolCall("1", "bash", {}, ToolResult("a\n<exited with exit code 0>")))
    >>> found.text, found.is_error
    ('a', False)
    """
    result = call.result or ToolResult("")
    found = _EXITED.search(result.text[-_TAIL:])
    if found is not None:
        code = int(found[1])
        return replace(
            result,
            text=result.text[: len(result.text) - len(found[0])],
            structured=result.structured or {"exit_code": code},
            is_error=result.is_error or code != 0,
            is_unfinished=False,
        )
    return replace(result, doubt="background") if _STARTED.match(result.text[:_TAIL]) else result


DIALECTS.add(
    HARNESS,
    Dialect(
        harnesses=frozenset({HARNESS, "copilot"}),
        refusals=(
            r"Permission denied and could not request permission from user",
            r"The user rejected this tool call",
        ),
        answer=answer,
        statuses=(r"<exited with exit code -?\d+>",),
        source="generated event types of copilot-sdk at 0139612; tool names from reports",
        tools=(
            Tool(("powershell",), "other", read_nothing, is_shell=True),
            Tool(("read_bash", "read_powershell"), "other", read_unknown),
            Tool(("rg",), grep_category, read_grep),
            Tool(
                ("write_bash", "stop_bash", "report_intent", "list_bash"),
                "other",
                read_nothing,
                is_retrieval=False,
            ),
        ),
    ),
)
