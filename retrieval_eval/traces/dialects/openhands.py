"""OpenHands, and the editor it shares with the Anthropic API."""

from __future__ import annotations

import re
from typing import Final

from msgspec.structs import replace

from retrieval_eval.records import ToolCall, ToolResult
from retrieval_eval.traces.dialects import DIALECTS, Dialect, Tool, read_nothing
from retrieval_eval.traces.results.ipython import read_ipython
from retrieval_eval.traces.results.local_files import editor_category, read_editor
from retrieval_eval.traces.untrusted import dict_of

HARNESS: Final = "openhands"
SDK: Final = "openhands-sdk"
"""The names by which traces call the two generations of the harness."""

_SHELLS: Final = frozenset({"execute_bash", "terminal"})
_NOTES: Final = re.compile(
    r"\[(?:The command|Command) (?:completed|finished) with exit code (?P<code>-?\d{1,9})[^\n]*"
    r"|\[Current working directory: [^\n]*\]"
    r"|\[Python interpreter: [^\n]*\]"
    r"|\[Jupyter (?:current working directory|Python interpreter): [^\n]*\]"
    r"|(?P<late>\[The command (?:timed out after|has no new output after) [^\n]*)"
)
_LAST_LINES: Final = 8


def answer(call: ToolCall) -> ToolResult:
    r"""Return the result of a command without the notes behind it, with what they state.

    Examples
    --------
    >>> text = "a.py\n[The command completed with exit code 1.]"
    >>> found = answer(ToolCall("1", "execute_bash", {}, ToolResult(text)))
    >>> found.text, found.is_error
    ('a.py', True)
    """
    result = call.result or ToolResult("")
    if result.is_unfinished:
        return result
    lines, code, is_late = _without_notes(result.text)
    stated = dict_of(result.structured).get("exit_code")
    if code is None and isinstance(stated, int) and stated != -1:
        code = stated
    if call.name not in _SHELLS:
        return replace(result, text=lines)
    # The command goes on: what it printed so far was shown.
    is_nothing = is_late and not lines.strip()
    is_error = result.is_error or is_late or bool(code)
    return replace(
        result, text=lines, is_error=is_error, is_unfinished=is_nothing or result.is_unfinished
    )


def is_unfinished_output(text: str) -> bool:
    """Return whether a note behind an output says that its command goes on."""
    return _without_notes(text)[2]


def _without_notes(text: str) -> tuple[str, int | None, bool]:
    """Return the text before the notes at its end, the exit status, and whether it is not over."""
    code: int | None = None
    is_late = False
    for _ in range(_LAST_LINES):
        head, _, last = text.rstrip().rpartition("\n")
        note = _NOTES.match(last)
        if note is None:
            break
        code = int(note["code"]) if note["code"] else code
        is_late = is_late or note["late"] is not None
        text = head
    return text, code, is_late


DIALECTS.add(
    HARNESS,
    Dialect(
        harnesses=frozenset({HARNESS, SDK}),
        delegating=frozenset({"delegate", "task"}),
        refusals=(r"(?:ERROR: )?Cannot execute multiple commands at once\b",),
        failures=(
            r"Invalid `[^`]{1,60}` parameter",
            r"No replacement was performed",
            r"Ran into [^\n]{1,1000} while trying to (?:read|write to) ",
        ),
        saved=(r"(?:complete|full) (?:output|content) has been saved to (\S{1,1000})",),
        answer=answer,
        statuses=(r"\[(?:The c|C)ommand (?:completed|finished) with exit code -?\d+\b.*",),
        source=(
            "OpenHands at 156d0686 and its SDK 1.43 at 611629e6, read in their sources; "
            "trajectories of 1.4 and 1.5, outputs of evaluations with 0.9 and 0.35, events and "
            "messages of the SDK seen"
        ),
        tools=(
            Tool(("execute_bash", "execute_command"), "other", read_nothing, is_shell=True),
            Tool(("execute_ipython_cell", "run_ipython"), "other", read_ipython),
            Tool(
                ("str_replace_editor", "str_replace_based_edit_tool"),
                editor_category,
                read_editor,
            ),
        ),
    ),
)
