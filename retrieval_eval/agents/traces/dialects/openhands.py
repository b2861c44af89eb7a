"""OpenHands, and the editor it shares with the Anthropic API."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from retrieval_eval.agents.traces.dialects import (
    DIALECTS,
    Dialect,
    Tool,
    read_nothing,
    saved_path,
    tool_name,
)
from retrieval_eval.agents.traces.results.ipython import read_ipython
from retrieval_eval.agents.traces.results.local_files import editor_category, read_editor
from retrieval_eval.agents.traces.untrusted import dict_of, status_of
from retrieval_eval.records import CUT_HERE, ToolCall, ToolResult

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
# An `exit` ended the terminal, and what the command printed is lost.
_LOST: Final = "The terminal session was reset because "
# What stands before the text of a call that failed, where the model reads of it.
_FAILED: Final = "[An error occurred during execution.]\n"
_CLIPPED: Final = re.compile(
    r"\n?(?:\[\.\.\. Observation truncated due to length \.\.\.\]"
    r"|<response clipped>(?:<NOTE>[^<]{0,1000}</NOTE>)?"
    r"|\[Results truncated to [^\]\n]{0,200}\])\n?"
)
_NUMBERED: Final = "Here's the result of running `cat -n` on "
_EXECUTED: Final = re.compile(r"\A\[Tool '[^'\n]{1,300}' executed[^\]\n]{0,100}\](?:\n|\Z)")


def server_tool(name: str, arguments: Mapping[str, Any], servers: Sequence[str] = ()) -> str:
    """Return the name of a server's tool, which the harness leaves without its server.

    ``servers`` are those that are configured; where there are several, their tools begin with
    their names.

    Examples
    --------
    >>> server_tool("find_symbol", {}, ["docs"]), server_tool("docs_find", {}, ["docs", "web"])
    ('mcp__docs__find_symbol', 'mcp__docs__find')
    >>> server_tool("find_symbol", {})
    'mcp__unknown__find_symbol'
    """
    if len(servers) == 1:
        return f"mcp__{servers[0]}__{name}"
    for server in sorted(servers, key=len, reverse=True):
        if name.startswith(f"{server}_") and name != f"{server}_":
            return f"mcp__{server}__{name.removeprefix(f'{server}_')}"
    return name if tool_name(name, arguments).is_mcp else f"mcp__unknown__{name}"


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
    if result.text.startswith(_FAILED):
        failed = result.text.removeprefix(_FAILED).removeprefix("\n")
        result = replace(result, text=failed, is_error=True)
    if call.name in _SHELLS and result.text.startswith(_LOST):
        return replace(result, text="", is_error=True)
    lines, code, is_late = _without_notes(result.text)
    clipped = _CLIPPED.search(lines)
    if clipped is not None and result.saved_to is None:
        result = replace(result, saved_to=saved_path(clipped[0]))
    if clipped is not None and lines.startswith(_NUMBERED):
        # A view is clipped before its lines are numbered: behind that no number is a line's.
        lines = f"{lines[: clipped.start()]}\n{CUT_HERE}"
    lines = _CLIPPED.sub(f"\n{CUT_HERE}\n", lines)
    if call.name not in _SHELLS:
        return replace(result, text=_EXECUTED.sub("", lines, count=1))
    stated = status_of(dict_of(result.structured).get("exit_code"))
    if code is None and stated != -1:
        code = stated
    # The command was killed or goes on: what it printed so far was shown. A status of -1 alone
    # says that none is known.
    is_open = is_late or (code is None and stated == -1)
    has_output = bool(lines.strip())
    return replace(
        result,
        text=lines,
        is_error=result.is_error or is_late or bool(code),
        is_unfinished=is_late and not has_output,
        is_stopped=result.is_stopped or (is_open and has_output),
    )


_FUNCTION: Final = re.compile(r"<function=([^<>\n]{1,200})>")
_PARAMETER: Final = re.compile(r"<parameter=([^<>\n]{1,200})>")


def written(answer: str) -> tuple[str, Mapping[str, str]] | None:
    r"""Return the call that a model wrote into its answer, as it does where it is given no tools.

    Examples
    --------
    >>> written("<function=execute_bash>\n<parameter=command>ls</parameter>\n</function>")
    ('execute_bash', {'command': 'ls'})
    """
    found = _FUNCTION.search(answer)
    if found is None:
        return None
    body = answer[found.end() :].partition("</function")[0]
    given = {}
    for part in body.split("</parameter>")[:-1]:
        opening = _PARAMETER.search(part)
        if opening is not None:
            given[opening[1]] = part[opening.end() :].removeprefix("\n").removesuffix("\n")
    return found[1], given


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
        refusals=(
            r"(?:ERROR: )?Cannot execute multiple commands at once\b",
            r"\[Your command \"[\s\S]{0,350}?\bNOT executed\b|\[Your command \"[\s\S]{350}",
            # The reply to a message without a call: nothing was carried out.
            r"Please continue (?:working on the task )?on whatever approach you think\b",
        ),
        failures=(
            r"Invalid `[^`]{1,60}` parameter",
            r"No replacement was performed",
            r"Ran into [^\n]{1,1000} while trying to (?:read|write to) ",
            r"File validation failed for ",
        ),
        # The model is sent the number of a folder's entries, and not their names.
        empty=(r"Listed directory: [^\n]{1,4096} \(\d{1,9} entries\)\s*$",),
        saved=(r"(?:complete|full) (?:output|content) has been saved to (\S{1,1000})",),
        answer=answer,
        cut=(
            "of a long output the head and the tail: 'Observation truncated due to length' on a "
            "line, or '<response clipped>' within one; the file with the whole output is cut so too"
        ),
        finished=(
            "exit status -1, or a note behind the output that the command timed out or goes on; in "
            "the SDK's events only metadata.suffix holds the note; a later empty command shows the "
            "rest; rejections and errors of the agent are observations of their own"
        ),
        delegated=(
            "delegate and task; the SDK keeps the events of a sub-agent in subagents/ID/events of "
            "the conversation, and its tokens in the conversation's too"
        ),
        statuses=(r"\[(?:The c|C)ommand (?:completed|finished) with exit code -?\d+\b.*",),
        source=(
            "OpenHands at 156d0686 and its SDK 1.43 at 611629e6, read in their sources; "
            "trajectories of 1.4 and 1.5, outputs of evaluations with 0.9 and 0.35, events and "
            "messages of the SDK, and a run of its 1.58.2 seen"
        ),
        tools=(
            Tool(("execute_bash", "execute_command"), "other", read_nothing, is_shell=True),
            Tool(("execute_ipython_cell", "run_ipython"), "other", read_ipython),
            Tool(
                ("str_replace_editor", "str_replace_based_edit_tool", "planning_file_editor"),
                editor_category,
                read_editor,
            ),
        ),
    ),
)
