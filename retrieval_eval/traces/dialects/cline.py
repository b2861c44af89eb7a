"""Cline: tools whose calls older versions wrote as XML into the assistant's text."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from retrieval_eval.records import RawTarget, ToolCall, ToolResult
from retrieval_eval.traces.dialects import DIALECTS, Dialect, Tool, read_nothing
from retrieval_eval.traces.results.base import Found, Seen, distinct, joined, text_argument
from retrieval_eval.traces.results.decorations import is_empty_answer
from retrieval_eval.traces.results.listing import list_names
from retrieval_eval.traces.results.local_files import read_local, read_write

HARNESS: Final = "cline-cli"

_COMMAND: Final = re.compile(
    r"\s*Command (?P<how>executed|completed|failed)[^\n]{0,200}\n"
    r"(?:Exit code: (?P<code>-?\d{1,9})[^\n]{0,200}\n)?(?:Output:\n)?",
    re.IGNORECASE,
)
_RUNNING: Final = re.compile(
    r"\s*Command is still running in the user's terminal\.[^\n]{0,300}"
    r"(?:\n(?:Here's the output so far:\n)?)?"
)
_STATUS: Final = re.compile(r"exit code:? (-?\d{1,9})", re.IGNORECASE)
_UPDATED: Final = "You will be updated on the terminal status"
_FEEDBACK: Final = "\n\nThe user provided the following feedback:"
_HEAD: Final = 1000


def answer(call: ToolCall) -> ToolResult:
    r"""Return the output of a command without the sentences around it.

    Examples
    --------
    >>> found = answer(ToolCall("1", "execute_command", {}, ToolResult("Command executed.\nx")))
    >>> found.text, found.is_error
    ('x', False)
    """
    result = call.result or ToolResult("")
    if call.name != "execute_command":
        return result
    head = result.text[:_HEAD]
    ended, running = _COMMAND.match(head), _RUNNING.match(head)
    opening = ended or running
    if opening is None:
        return result
    text = result.text[opening.end() :].split(_UPDATED, 1)[0].split(_FEEDBACK, 1)[0]
    if ended is None:
        text = text.rstrip()
    if ended is None:
        return replace(result, text=text, is_error=True, is_unfinished=not text.strip())
    status = _STATUS.search(ended[0])
    failed = ended["how"].lower() == "failed" or bool(status and int(status[1]))
    return replace(result, text=text, is_error=result.is_error or failed)


_BAR: Final = "│"
_NOTE: Final = ("Found ", "Showing first ", "[Results ", "(Results ", "(File list truncated")


def read_sections(seen: Seen) -> Found:
    """Return the files whose names stand above lines that begin with a bar.

    Names in matches are relative to the working directory, whatever folder was searched; those of
    definitions to the folder that was requested.
    """
    if is_empty_answer(seen.text) or seen.text.lstrip().startswith("Found 0 "):
        return Found()
    lines = [line.strip() for line in seen.text.split("\n")]
    is_bar = [line.startswith((_BAR, "|")) for line in lines]
    names = [
        line.removeprefix("# ")
        for line, follows, is_own in zip(lines, [*is_bar[1:], False], is_bar, strict=True)
        if line and follows and not is_own and not line.startswith(_NOTE)
    ]
    base = seen.cwd
    if seen.category == "symbol_navigation":
        base = joined(seen.cwd, text_argument(seen.arguments, ("path",)) or ".")
    targets = distinct(RawTarget(joined(base, name), "matched") for name in names)
    return Found(targets, is_opaque=seen.is_truncated or not targets)


DIALECTS.add(
    HARNESS,
    Dialect(
        harnesses=frozenset({"cline", HARNESS}),
        refusals=(
            r"The user denied this operation",
            r"The tool execution failed with the following error",
            r"Access to [^\n]{1,1000} is blocked by the \.clineignore",
            r"Tool \[?\w{1,100}\]? was not executed because a tool has already been used",
        ),
        answer=answer,
        source="Cline: responses 008b035, ExtensionMessage 0014234; XML results from reports",
        tools=(
            Tool(("read_files",), "file_read", read_local),
            Tool(("list_files_top_level", "list_files_recursive"), "file_search", list_names),
            Tool(("search_files",), "code_search", read_sections),
            Tool(("list_code_definition_names",), "symbol_navigation", read_sections),
            Tool(("write_to_file", "replace_in_file"), "file_write", read_write),
            Tool(("new_task", "browser_action"), "other", read_nothing),
            Tool(("plan_mode_respond",), "other", read_nothing, is_retrieval=False),
        ),
    ),
)
