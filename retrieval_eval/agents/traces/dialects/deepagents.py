"""deepagents: files of a virtual root, a heading above what a read shows, lists of Python."""

from __future__ import annotations

import re
from typing import Final

from msgspec.structs import replace

from retrieval_eval.agents.traces.dialects import DIALECTS, Dialect, Tool, read_nothing
from retrieval_eval.records import CUT_HERE, ToolCall, ToolResult

_HEADING: Final = re.compile(
    r"(?:[^\n]{0,2000}\n){0,9}?"
    r"@@ lines (\d{1,9})-(\d{1,9})(?: of (\d{1,9}))?(?: \| [^\n|]{1,80}){0,4} @@\n"
)
_STATUS: Final = re.compile(
    r"\n\[Command (?:succeeded|failed) with exit code (-?\d{1,9})\]"
    r"(\n\[Output was truncated due to size limits\])?\s*\Z"
)
_EXIT_CODE: Final = re.compile(r"\n\nExit code: -?\d{1,9}\s*\Z")
_CUT: Final = re.compile(r"\n\n\.\.\. Output truncated at \d{1,12} bytes\.\s*\Z")
_OMITTED: Final = re.compile(r"\.\.\. \[\d{1,9} lines truncated\] \.\.\.")
_NUMBER: Final = re.compile(r"\A\d{1,9}  ?")
_STDERR: Final = re.compile(r"^\[stderr\] ", re.MULTILINE)
_BELOW: Final = "\n\n[stderr] "
_LATE: Final = "Error: Command timed out after "
_TOO_LARGE: Final = "Tool result too large, the result of this tool call "
_PREVIEW: Final = "\n\nHere is a preview"
_LONGEST_OPENING: Final = 20_000
_FILE: Final = re.compile(r"(\S[^\n]{0,4096}):")
_MATCH: Final = re.compile(r" {2}(\d{1,9})([:-]) (.*)")


def recognises(call: ToolCall) -> bool:
    """Whether the heading of a read or the last line of a command is this harness's."""
    text = call.result.text if call.result is not None else ""
    if call.name == "read_file":
        return text[:_LONGEST_OPENING].startswith("@@ ") and _HEADING.match(text) is not None
    return call.name == "execute" and _STATUS.search(text[-400:]) is not None


def answer(call: ToolCall) -> ToolResult:
    r"""Return what a file or a command showed, without the harness's words around it.

    Examples
    --------
    >>> shown = ToolResult("@@ lines 3-3 of 9 | next offset 3 @@\nc = 3")
    >>> found = answer(ToolCall("1", "read_file", {"file_path": "/a.py"}, shown))
    >>> found.text, found.structured["file"]
    ('c = 3', {'startLine': 3, 'numLines': 1, 'totalLines': 9})
    >>> shown = ToolResult("a\n\n[stderr] b\n\nExit code: 1\n[Command failed with exit code 1]")
    >>> answer(ToolCall("1", "execute", {}, shown)).text
    'a\nb'
    """
    result = call.result or ToolResult("")
    if result.text.startswith(_TOO_LARGE):
        return _saved(call, result)
    match call.name:
        case "read_file":
            return _read(result)
        case "grep" if call.arguments.get("output_mode") == "content":
            return replace(result, text=_searched(result.text))
        case "ls" | "glob" if result.text.startswith("["):
            return replace(result, text=result.text.partition("]\n\n")[0].rstrip("]") + "]")
        case "execute":
            return _executed(result)
        case _:
            return result


def _read(result: ToolResult) -> ToolResult:
    heading = _HEADING.match(result.text[:_LONGEST_OPENING])
    if heading is None:
        return result
    first, last = int(heading[1]), int(heading[2])
    file = {"startLine": first, "numLines": max(1, last - first + 1)}
    total = {"totalLines": int(heading[3])} if heading[3] and "mid-line" not in heading[0] else {}
    text = result.text[heading.end() :]
    return replace(result, text=text, structured={"file": {**file, **total}})


def _searched(text: str) -> str:
    """Return matches, which stand indented below their file, as grep prints them."""
    lines, file = [], ""
    for line in text.split("\n"):
        found = _MATCH.fullmatch(line)
        if found is not None and file:
            lines.append(f"{file}{found[2]}{found[1]}{found[2]}{found[3]}")
        elif (heading := _FILE.fullmatch(line)) is not None:
            file = heading[1]
        elif line.strip() != "--":
            lines.append(line)
    return "\n".join(lines)


def _executed(result: ToolResult) -> ToolResult:
    text = result.text
    status = _STATUS.search(text[-400:])
    code = int(status[1]) if status is not None else None
    text = _STATUS.sub("", text) if status is not None else text
    if text.startswith(_LATE):
        return replace(result, text="", is_error=True, is_unfinished=True)
    text = _EXIT_CODE.sub("", text)
    is_cut = status is not None and status[2] is not None
    if _CUT.search(text[-400:]) or is_cut:
        text = f"{_CUT.sub('', text)}\n{CUT_HERE}"
    text = _STDERR.sub("", text.replace(_BELOW, _BELOW[1:], 1))
    return replace(result, text=text, is_error=result.is_error or bool(code))


def _saved(call: ToolCall, result: ToolResult) -> ToolResult:
    """Return what the preview of a result shows that was too large."""
    head, _, preview = result.text.partition(_PREVIEW)
    place = head.partition("at this path: ")[2].split("\n", 1)[0].strip()
    rows = preview.partition("\n\n")[2].strip("\n").split("\n")
    shown = [CUT_HERE if _OMITTED.fullmatch(row) else _NUMBER.sub("", row) for row in rows]
    if CUT_HERE not in shown:
        shown.append(CUT_HERE)
    inner = replace(result, text="\n".join(shown))
    return replace(_executed(inner) if call.name == "execute" else inner, saved_to=place or None)


DIALECTS.add(
    "deepagents",
    Dialect(
        harnesses=frozenset({"deepagents"}),
        delegating=frozenset({"task"}),
        recognises=recognises,
        answer=answer,
        keeps_shell=False,
        refusals=(
            r"Error: permission denied for (?:read|write|\w{1,12}) on ",
            r"Tool call \w{1,80} with id \S{1,200} (?:could not be executed|did not complete)\b",
            r"\S{1,80} is not a valid tool, try one of \[",
            r"Error invoking tool '",
        ),
        failures=(r"Error: File '[^'\n]{1,4096}' not found",),
        empty=(r"System reminder: File exists but has empty contents",),
        saved_files=(r"/large_tool_results/[^/\s]{1,300}",),
        cut=(
            "a read says in its heading which lines it shows, 100 by default; a long answer is "
            "saved below /large_tool_results and a preview of its head and tail shown; a command "
            "is cut at 100,000 bytes, with a note"
        ),
        finished=(
            "the status of the message, but a command that failed or timed out is a success, whose "
            "exit status stands behind its output; what was printed before a timeout is lost"
        ),
        delegated="task; the messages of a sub-agent are not in the state, its spans are",
        source="deepagents 0.7.32, read in its source and run",
        tools=(Tool(("execute",), "other", read_nothing, is_shell=True),),
    ),
)
