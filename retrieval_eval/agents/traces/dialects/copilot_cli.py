"""GitHub Copilot CLI."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from retrieval_eval.agents.traces.dialects import (
    DIALECTS,
    Dialect,
    Tool,
    addressees,
    read_nothing,
    read_unknown,
    tool_name,
)
from retrieval_eval.agents.traces.results.grep import grep_category, read_grep
from retrieval_eval.records import CUT_HERE, ToolCall, ToolResult

HARNESS: Final = "copilot-cli"

_EXITED: Final = re.compile(
    r"(?:\A|\n)<(?:exited|shellId: \S{1,100} completed)(?: with exit code (-?\d{1,9}))?>\s*\Z"
)
_GOES_ON: Final = (
    r"<command (?:started|is still running|with \w+: \S+ (?:is (?:still )?running|moved))"
)
_STARTED: Final = re.compile(rf"\s*{_GOES_ON}")
_LATER: Final = re.compile(rf"\n{_GOES_ON}[^<]*\Z")
_TAKEN: Final = re.compile(r"<command with \w+: \S+ is already running\b")
_SHELL: Final = re.compile(r"\b(?:shellId|sessionId):? ([\w-]{1,100})")
_SAVED: Final = re.compile(
    r"Output too large to read at once \([^)\n]{1,60}\)\. Saved to: [^\n]{1,4096}\n"
    r"(?:[^\n]{0,1000}\n){0,8}?Preview \(first (?P<length>\d{1,9}) char\w{0,10}\):\n"
)
_PICTURE: Final = re.compile(r"Viewed image file successfully\.?\s*")
_TAIL: Final = 200
_HEAD: Final = 10_000
_LONGEST_NOTE: Final = 1000


def _note(text: str) -> int | None:
    """Return where an answer says that the command goes on: at its end or its beginning."""
    if _STARTED.match(text[:_TAIL]):
        return 0
    found = _LATER.search(text, max(0, len(text) - _LONGEST_NOTE))
    return None if found is None else found.start()


def started_shell(text: str) -> str | None:
    r"""Return the name of the shell in which an answer says that a command goes on, or None.

    Examples
    --------
    >>> started_shell("<command started in background with shellId: 7>")
    '7'
    >>> started_shell("a.py\n<command with shellId: x is still running after 30 seconds.>")
    'x'
    """
    note = _note(text)
    found = _SHELL.search(text, note) if note is not None else None
    return found[1] if found is not None else None


def _preview(shown: str, length: int) -> str:
    """Return the beginning of a result of which the agent was shown so many characters."""
    is_full = len(shown.rstrip("\n")) >= length
    whole = shown.rpartition("\n")[0] if is_full else shown.rstrip("\n")
    return f"{whole}\n{CUT_HERE}" if whole else CUT_HERE


def answer(call: ToolCall) -> ToolResult:
    r"""Return the result of a command without its last line, with the exit status that it states.

    What a command printed before it went on in the background was shown.

    Examples
    --------
    >>> text = "a\n<shellId: 0 completed with exit code 1>"
    >>> found = answer(ToolCall("1", "bash", {}, ToolResult(text)))
    >>> found.text, found.is_error
    ('a', True)
    """
    result = call.result or ToolResult("")
    if call.name == "view" and _PICTURE.fullmatch(result.text):
        # Whether the model takes images is not stated.
        return replace(result, doubt="display_only")
    found = _EXITED.search(result.text[-_TAIL:])
    saved = _SAVED.match(result.text[:_HEAD])
    if saved is not None:
        shown = result.text[saved.end() : len(result.text) - len(found[0] if found else "")]
        result = replace(result, text=_preview(shown, int(saved["length"])))
    if found is not None:
        code = int(found[1]) if found[1] else None
        length = len(result.text) if saved else len(result.text) - len(found[0])
        return replace(
            result,
            text=result.text[:length],
            structured=result.structured or (None if code is None else {"exit_code": code}),
            is_error=result.is_error or bool(code),
            is_unfinished=False,
        )
    if saved is not None:
        return result
    if _TAKEN.match(result.text[:_TAIL]):
        return replace(result, is_error=True, is_unfinished=True)
    note = _note(result.text)
    if note is None:
        return result
    shown = result.text[:note]
    if not shown.strip():
        return replace(result, doubt="background")
    return replace(result, text=shown, is_stopped=True)


def addresses(call: ToolCall) -> Sequence[str]:
    """Return the sub-agents to which a call turns.

    Examples
    --------
    >>> addresses(ToolCall("c", "read_agent", {"agent_id": "look"}, None))
    ('look',)
    """
    turns = tool_name(call.name, {}).bare in ("read_agent", "write_agent")
    return addressees(call.arguments) if turns else ()


DIALECTS.add(
    HARNESS,
    Dialect(
        harnesses=frozenset({HARNESS, "copilot"}),
        refusals=(
            r"Permission denied and could not request permission from user",
            r"The user rejected this tool call",
            r"Denied by preToolUse hook\b",
            r"Tool '[^'\n]{1,200}' does not exist\. Available tools that can be called are ",
        ),
        failures=(
            r"Path [^\n]{1,4096} does not exist\. Please provide a valid path",
            r"File too large to read at once \(",
        ),
        saved_files=(r"copilot-tool-output-[^/]{1,200}$",),
        saved=(r"Output too large to read at once \([^)\n]{1,60}\)\. Saved to: ([^\n]{1,4096})",),
        answer=answer,
        cut=(
            "An answer that is too large is saved to a file, which it names, and its first 500 "
            "characters are shown."
        ),
        finished=(
            "tool.execution_complete states success, and an error with its code, also for a call "
            "that was denied; a command states its exit code, or that it goes on in a shell, below "
            "what it printed."
        ),
        delegated=(
            "`task` starts a sub-agent, whose events are in the same file and carry its agentId; "
            "`read_agent` and `write_agent` turn to one."
        ),
        delegating=frozenset({"task"}),
        addresses=addresses,
        statuses=(r"<(?:exited|shellId: \S{1,100} completed) with exit code -?\d+>",),
        source=(
            "generated event types of copilot-sdk at 0139612; sessions of 1.0.65 and answers of "
            "its tools seen; session, stream and requests of 1.0.102 compared"
        ),
        tools=(
            Tool(("powershell",), "other", read_nothing, is_shell=True),
            Tool(("read_bash", "read_powershell"), "other", read_unknown),
            Tool(("rg",), grep_category, read_grep),
            Tool(("read_agent", "write_agent"), "other", read_nothing),
            Tool(
                (
                    *("write_bash", "stop_bash", "report_intent", "list_bash"),
                    *("write_powershell", "stop_powershell", "list_powershell", "sql"),
                ),
                "other",
                read_nothing,
                is_retrieval=False,
            ),
        ),
    ),
)
