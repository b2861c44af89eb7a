"""Goose, whose tools have the name of their extension before them."""

from __future__ import annotations

import re
from typing import Final

from msgspec.structs import replace

from retrieval_eval.agents.traces.dialects import DIALECTS, Dialect, Tool, read_unknown
from retrieval_eval.agents.traces.results.base import Found, Seen, joined, text_argument
from retrieval_eval.agents.traces.results.listing import FOLDER_ARGUMENTS, INDENTED, list_tree
from retrieval_eval.records import CUT_HERE, ToolCall, ToolResult

HARNESS: Final = "goose"

LOCAL: Final = frozenset(
    {
        *("developer", "computercontroller", "memory", "autovisualiser", "chatrecall"),
        *("extensionmanager", "platform", "todo", "dynamic_task", "subagent", "summon"),
        *("analyze", "skills", "code_execution", "orchestrator"),
    }
)
"""The extensions that are part of goose; any other is a server."""

_EXITED: Final = re.compile(r"(?:\A|\n)Command exited with code (-?\d{1,9})\.?\s*\Z")
_LATE: Final = re.compile(r"\s*Command timed out after\b")
_TAIL: Final = 200
_LONGEST_NOTE: Final = 9000
_EXCEEDED: Final = re.compile(
    r"\n\n\[Output exceeded [\d,]{1,15} (?:line|byte) limit[^\n]{1,4500}\](?=\s*\Z|\n\nCommand )"
)
"""What goose writes below the last 50 lines of an output of more than 2,000 lines or 50 kB."""

_LAST_ROWS: Final = re.compile(
    r"\s*private note: output was [\d,]{1,15} lines and we are only showing the most recent lines, "
    r"remainder of lines in (?P<path>\S{1,4000}) do not show [^\n]{1,300}?truncated output: ?\n?"
)
"""What versions before 1.20 write above the last lines of a long output."""
_STORED: Final = re.compile(
    r"\s*The response returned from the tool call was larger \([^)\n]{1,60}\) and is stored in the "
    r"file [^\n]{1,200}?: (?P<path>\S{1,4000})\s*\Z"
)


def answer(call: ToolCall) -> ToolResult:
    r"""Return the result of a command without its last line, with the exit status that it states.

    Examples
    --------
    >>> found = answer(ToolCall("1", "shell", {}, ToolResult("a\nCommand exited with code 1")))
    >>> found.text, found.is_error
    ('a', True)
    """
    result = call.result or ToolResult("")
    rows = _LAST_ROWS.match(result.text[:_LONGEST_NOTE])
    if rows is not None:
        shown = f"{CUT_HERE}\n{CUT_HERE}\n{result.text[rows.end() :]}"
        result = replace(result, text=shown, saved_to=rows["path"])
    stored = _STORED.match(result.text[:_LONGEST_NOTE])
    if stored is not None:
        return replace(result, text=CUT_HERE, saved_to=stored["path"])
    exceeded = _EXCEEDED.search(result.text)
    if exceeded is not None:
        shown = result.text[: exceeded.start()] + result.text[exceeded.end() :]
        result = replace(result, text=f"{CUT_HERE}\n{shown}")
    found = _EXITED.search(result.text[-_TAIL:])
    if found is None:
        if _LATE.match(result.text[:_TAIL]):
            return replace(result, is_error=True, is_unfinished=True)
        return result
    text = result.text[: len(result.text) - len(found[0])] if found[0] else result.text
    code = int(found[1])
    return replace(
        result,
        text=text,
        structured=result.structured if result.structured is not None else {"exit_code": code},
        is_error=result.is_error or code != 0,
    )


_ENTRY: Final = re.compile(r"(?P<name>\s*\S.{0,4000}?)(?:/|\s+\[[\d.,]{1,12}[KkMm]?\])\s*")


def read_tree(seen: Seen) -> Found:
    """Return the files of a tree in which folders end in a slash and files in their line count."""
    entries = [_ENTRY.fullmatch(line) for line in seen.text.split("\n") if line.strip()]
    known = [entry for entry in entries if entry is not None]
    if not known or len(known) < len(entries):
        return read_unknown(seen)
    folder = joined(seen.cwd, text_argument(seen.arguments, FOLDER_ARGUMENTS) or ".")
    names = (entry["name"] + "/" * entry[0].rstrip().endswith("/") for entry in known)
    return list_tree(replace(seen, text="\n".join([f"{INDENTED}{folder}", *names])))


DIALECTS.add(
    HARNESS,
    Dialect(
        harnesses=frozenset({HARNESS}),
        namespaces=LOCAL,
        delegating=frozenset(
            {
                *("delegate", "dynamic_task__create_task", "subagent"),
                *("subagent__execute_task", "summon__delegate"),
            }
        ),
        refusals=(
            r"Command timed out after\b",
            r"The user has declined to run this tool",
            r"The command attempts to access '[^'\n]{1,1000}' which is restricted by \.gooseignore",
            r"(?:File|The file) '[^'\n]{1,1000}' is restricted by \.gooseignore",
        ),
        saved=(r"limit \([^)\n]{1,60}\)\. Full output saved to (\S{1,1000})\. ",),
        answer=answer,
        cut=(
            "Of an output of more than 2,000 lines or 50 kB the last 50 lines are shown, above the "
            "name of the file to which all of it was saved."
        ),
        finished=(
            "A response states success or error; a command's last line states its exit code, or "
            "that it timed out, below what it printed until then."
        ),
        delegated=(
            "`delegate`, `create_task` and `execute_task` start sub-agents, whose sessions only "
            "the database holds."
        ),
        statuses=(r"Command exited with code -?\d+",),
        source=(
            "goose: message 6416fe7, shell 2f4773c, developer bc55f68, session_manager dbec165 "
            "(schema 9), read in its source; names of extensions from a reader of its database"
        ),
        tools=(
            Tool(("analyze",), "symbol_navigation", read_unknown),
            Tool(("tree",), "file_search", read_tree),
        ),
    ),
)
