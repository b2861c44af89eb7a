"""pi: searches and listings relative to the searched folder, and notes behind what was cut."""

from __future__ import annotations

import posixpath
import re
from typing import Final

from msgspec.structs import replace

from retrieval_eval.agents.traces.dialects import DIALECTS, Dialect, Tool
from retrieval_eval.agents.traces.results.listing import list_names
from retrieval_eval.agents.traces.untrusted import text_at
from retrieval_eval.records import CUT_HERE, ToolCall, ToolResult

HARNESS: Final = "pi"

_NOTE: Final = re.compile(
    r"(?:\A|\n\n)\[(?:(?P<more>\d{1,9} more lines in file\.)|(?P<long>Line \d{1,9} is )"
    r"|Showing (?:lines|last) [^\]\n]{1,300}?(?:Full output: (?P<path>[^\]\n]{1,4096}))?(?=\])"
    r"|\d{1,9} \w{1,10} limit reached|[\d.]{1,12}\w{1,3} limit reached|Some lines truncated)"
    r"[^\]\n]{0,4096}\]\s*\Z"
)
_LONGEST_NOTE: Final = 9000
_STATUS: Final = re.compile(
    r"(?:\A|\n\n)Command (?:exited with code (?P<code>-?\d{1,9})|(?P<stop>timed out after "
    r"[^\n]{1,60}|aborted|terminated without an exit code))\s*\Z"
)
_SILENT: Final = "(no output)"


def answer(call: ToolCall) -> ToolResult:
    r"""Return the result of a call without the notes that pi adds to it.

    Names in the answers of searches are relative to the folder that was searched.

    Examples
    --------
    >>> failed = ToolResult("a\n\n\nCommand exited with code 3", is_error=True)
    >>> result = answer(ToolCall("c", "bash", {}, failed))
    >>> result.text, result.structured
    ('a\n', {'exit_code': 3})
    >>> answer(ToolCall("c", "grep", {"path": "src"}, ToolResult("a.py:2: x"))).text
    'src/a.py:2: x'
    """
    result = call.result or ToolResult("")
    if call.name == "bash":
        return _printed(result)
    if result.is_error or result.structured is not None:
        return result
    text, note = _parted(result.text)
    if call.name == "read":
        if note is not None and note["long"]:
            return replace(result, text="", is_error=True, is_unfinished=True)
        is_cut = note is not None and not note["more"]
        text = f"{text}\n{CUT_HERE}" if is_cut else text
        return replace(result, text=text, structured={"content": text})
    if call.name not in ("grep", "find"):
        return result if note is None else replace(result, text=f"{text}\n{CUT_HERE}")
    text = _placed(text, text_at(call.arguments, "path"))
    text = text if note is None else f"{text}\n{CUT_HERE}"
    mode = {"mode": "content"} if call.name == "grep" else None
    return replace(result, text=text, structured=mode)


def _parted(text: str) -> tuple[str, re.Match[str] | None]:
    note = _NOTE.search(text, max(0, len(text) - _LONGEST_NOTE))
    return (text, None) if note is None else (text[: note.start()], note)


def _placed(text: str, folder: str | None) -> str:
    """Return lines that begin with a name below a folder as lines that begin with its path."""
    if folder is None or text.startswith("No "):
        return text
    name = posixpath.basename(folder.rstrip("/"))
    lines = [line for line in text.split("\n") if line]
    # The folder may be a file, whose lines begin with its name alone.
    is_file = all(line.startswith((f"{name}:", f"{name}-")) for line in lines)
    base = posixpath.dirname(folder) if is_file else folder.rstrip("/")
    return "\n".join(f"{base}/{line}" for line in lines) if base else text


def _printed(result: ToolResult) -> ToolResult:
    """Return the result of a command; one that was cut shows its end."""
    text, is_stopped, code = result.text, False, None
    ended = _STATUS.search(text, max(0, len(text) - _LONGEST_NOTE)) if result.is_error else None
    if ended is not None:
        text, is_stopped = text[: ended.start()], ended["code"] is None
        code = int(ended["code"]) if ended["code"] else None
    text, note = _parted(text)
    path = None
    if note is not None:
        path = note["path"]
        text = f"{CUT_HERE}\n{text}"
    text = "" if text.strip() == _SILENT else text
    is_lost = result.is_error and ended is None
    return replace(
        result,
        text=text,
        structured=None if code is None else {"exit_code": code},
        is_stopped=is_stopped and bool(text.strip()),
        is_unfinished=is_lost or (is_stopped and not text.strip()),
        saved_to=path,
    )


DIALECTS.add(
    HARNESS,
    Dialect(
        harnesses=frozenset({HARNESS}),
        keeps_shell=False,
        refusals=(
            r"Tool [^\n]{1,200} not found\s*\Z",
            r"Invalid arguments for tool ",
            r"Validation failed for tool ",
        ),
        failures=(r"(?:ENOENT|EISDIR|EACCES): ", r"Offset \d{1,9} is beyond end of file"),
        empty=(r"\(empty directory\)", r"No (?:files found matching pattern|matches found)"),
        saved_files=(r"/pi-bash-[^/]{1,200}\.log$",),
        statuses=(r"Command exited with code -?\d+",),
        answer=answer,
        cut=(
            "A read keeps its beginning and a command its last 50 kB, with a note behind it that "
            "says which lines are shown; the whole output of a command is saved to a file that the "
            "note names."
        ),
        finished=(
            "A result states isError; a command that ran says below what it printed with which "
            "code it ended, or that it was stopped."
        ),
        delegated="none: it has no sub-agents",
        source=(
            "sessions, streams and requests of 0.73.1 and 1.6.0 compared; texts of its tools in "
            "1.6.0"
        ),
        tools=(Tool(("find",), "file_search", list_names),),
    ),
)
