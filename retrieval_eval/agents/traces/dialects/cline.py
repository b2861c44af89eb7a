"""Cline: tools whose calls older versions wrote as XML into the assistant's text."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any, Final

from msgspec.structs import replace

from retrieval_eval.agents.traces.dialects import DIALECTS, Dialect, Tool, read_nothing
from retrieval_eval.agents.traces.results.base import (
    Found,
    Seen,
    distinct,
    integer,
    joined,
    merged_ranges,
    text_argument,
)
from retrieval_eval.agents.traces.results.listing import list_names
from retrieval_eval.agents.traces.results.local_files import read_local, read_write
from retrieval_eval.agents.traces.results.payload import is_empty_answer
from retrieval_eval.agents.traces.untrusted import blocks_text, dict_of, list_of, text_of
from retrieval_eval.io.files import decode
from retrieval_eval.records import CUT_HERE, RawTarget, ToolCall, ToolResult

HARNESS: Final = "cline-cli"
DELEGATING: Final = frozenset({"spawn_agent", "use_subagents"})

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
_NUMBERED: Final = re.compile(r"^ {0,12}(\d{1,9}) \| ?", re.MULTILINE)
_EXITED: Final = re.compile(r"Command exited with code (-?\d{1,9})")
_CUT: Final = re.compile(r"^\[\.\.\. output truncated: [^\]\n]{1,1000}\]$", re.MULTILINE)
_SOME_LINES: Final = re.compile(
    r"\n\n\[Showing lines \d{1,9}-\d{1,9} of \d{1,9}\. [^\]\n]{1,200}\]\s*\Z"
)
_ERRORS: Final = "\n[stderr]\n"
_MOST_SENT: Final = 8000
_END_SENT: Final = 3980
"""Of a longer result the model is sent about so many characters of either end; all are kept."""

LISTS: Final[Mapping[str, tuple[str, ...]]] = {
    "read_files": ("files", "file_paths", "paths"),
    "search_codebase": ("queries",),
    "run_commands": ("commands", "command", "cmd"),
}
"""Tools that do several things in one call, and the arguments that may list them."""


def operations_of(name: str, arguments: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the arguments of each thing that a call does: of a file, a search, or a command.

    Examples
    --------
    >>> operations_of("read_files", {"files": ["a.py", {"path": "b.py", "start_line": 3}]})
    [{'path': 'a.py'}, {'path': 'b.py', 'start_line': 3}]
    >>> operations_of("run_commands", {"commands": ["ls", {"command": "cat", "args": ["a b"]}]})
    [{'command': 'ls'}, {'command': "cat 'a b'"}]
    >>> operations_of("editor", {"path": "a.py"})
    [{'path': 'a.py'}]
    """
    for key in LISTS.get(name, ()):
        stated = arguments.get(key)
        if stated is None:
            continue
        entries = stated if isinstance(stated, list) else [stated]
        found = [_operation(name, entry) for entry in entries]
        return [entry for entry in found if entry] or [dict(arguments)]
    return [dict(arguments)]


def _operation(name: str, entry: Any) -> dict[str, Any]:
    if name == "read_files":
        return {"path": entry} if isinstance(entry, str) else dict(dict_of(entry))
    if name == "search_codebase":
        return {"pattern": entry} if isinstance(entry, str) else {}
    if isinstance(entry, str):
        return {"command": entry}
    words = [entry.get("command"), *list_of(entry.get("args"))] if isinstance(entry, dict) else []
    first, *rest = [word for word in words if isinstance(word, str)] or [""]
    return {"command": " ".join((first, *map(shlex.quote, rest)))} if first else {}


def results_of(content: Any) -> list[ToolResult] | None:
    """Return the result of each thing that a call did, or None for an answer of another form.

    Each states its text, whether it succeeded and, where it did not, why; a command that ran and
    failed keeps its output.

    Examples
    --------
    >>> results_of([{"query": "ls", "result": "a.py", "success": True}])[0].text
    'a.py'
    >>> results_of("a.py") is None
    True
    """
    value = content
    text = blocks_text(content)
    if text[:1] in ("{", "["):
        value = decode(text)[0]
    entries = value if isinstance(value, list) else [value]
    if not entries or not all(
        isinstance(entry, dict) and "query" in entry and "success" in entry for entry in entries
    ):
        return None
    return [_result(entry) for entry in entries]


def _sent(text: str) -> str:
    """Return what the model was sent of a result, without the marks around what it printed."""
    if len(text) > _MOST_SENT:
        text = f"{text[:_END_SENT]}\n{CUT_HERE}\n{text[-_END_SENT:]}"
    ended = re.match(rf"\[{_EXITED.pattern}\]\n", text)
    shown, _, errors = (text if ended is None else text[ended.end() :]).rpartition(_ERRORS)
    return shown + errors


def _result(entry: Mapping[str, Any]) -> ToolResult:
    text = _sent(blocks_text(entry.get("result")))
    if entry.get("success") is True:
        return ToolResult(text)
    error = text_of(entry.get("error")) or ""
    exited = _EXITED.match(error)
    if exited is None:
        return ToolResult(text or error, None, True, is_unfinished=not text)
    return ToolResult(text, {"exit_code": int(exited[1])}, True)


def answer(call: ToolCall) -> ToolResult:
    r"""Return the output of a command without the sentences around it.

    Examples
    --------
    >>> found = answer(ToolCall("1", "execute_command", {}, ToolResult("Command executed.\nx")))
    >>> found.text, found.is_error
    ('x', False)
    """
    result = call.result or ToolResult("")
    if "[... output truncated: " in result.text:
        result = replace(result, text=_CUT.sub(CUT_HERE, result.text, count=1))
    if call.name == "read_files" and not result.is_error:
        text = _SOME_LINES.sub(f"\n{CUT_HERE}", result.text)
        return replace(result, text=_NUMBERED.sub(r"\1: ", text))
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
        is_silent = not text.strip()
        return replace(
            result, text=text, is_error=True, is_unfinished=is_silent, is_stopped=not is_silent
        )
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


_PLACE: Final = re.compile(r"^([^\n]{1,4096}?):(\d{1,9}):\d{1,9}$", re.MULTILINE)


def read_places(seen: Seen) -> Found:
    """Return the files and lines that a search found, each in a line of its own."""
    places = [(found[1], integer(found[2])) for found in _PLACE.finditer(seen.text)]
    is_nothing = is_empty_answer(seen.text) or seen.text.startswith(("Found 0 ", "No results "))
    lines: dict[str, list[int]] = {}
    for path, line in places:
        lines.setdefault(path, []).extend([line] if line else [])
    targets = [
        RawTarget(joined(seen.cwd, path), "matched", None, merged_ranges((n, n) for n in numbers))
        for path, numbers in lines.items()
    ]
    return Found(distinct(targets), is_opaque=not targets and not is_nothing)


DIALECTS.add(
    HARNESS,
    Dialect(
        harnesses=frozenset({"cline", HARNESS}),
        delegating=DELEGATING,
        refusals=(
            r"The user denied this operation",
            r"The tool execution failed with the following error",
            r"Access to [^\n]{1,1000} is blocked by the \.clineignore",
            r"Tool \[?\w{1,100}\]? was not executed because a tool has already been used",
        ),
        answer=answer,
        cut=(
            "A long output keeps its beginning and its end, with `[... output truncated: N chars "
            "total ...]` between them; the rest is kept nowhere. Version 3 sends the model the "
            "first and the last 4,000 characters of each result, which the record does not show."
        ),
        finished=(
            "Each thing that a call did states success, and an error where it failed; a command "
            "that exceeded its time limit keeps nothing of what it printed."
        ),
        delegated=(
            "`spawn_agent` starts a sub-agent, whose history is the file agent_*.messages.json "
            "beside the agent's own; the printed stream holds its calls."
        ),
        source=(
            "Cline: responses 008b035, ExtensionMessage 0014234, its SDK's tools 21cb8d2; XML "
            "results from reports; histories and requests of its command line 3.0.65 compared"
        ),
        tools=(
            Tool(("read_files",), "file_read", read_local),
            Tool(("list_files_top_level", "list_files_recursive"), "file_search", list_names),
            Tool(("search_files",), "code_search", read_sections),
            Tool(("search_codebase",), "code_search", read_places),
            Tool(("run_commands",), "other", read_nothing, is_shell=True),
            Tool(("editor",), "file_write", read_write),
            Tool(("list_code_definition_names",), "symbol_navigation", read_sections),
            Tool(("write_to_file", "replace_in_file"), "file_write", read_write),
            Tool(("new_task", "browser_action", "team_*"), "other", read_nothing),
            Tool(("plan_mode_respond", "ask_question"), "other", read_nothing, is_retrieval=False),
        ),
    ),
)
