"""Continue: headings above what its tools show, and notes where it was cut."""

from __future__ import annotations

import re
from typing import Final

from msgspec.structs import replace

from retrieval_eval.agents.traces.dialects import DIALECTS, Dialect, Tool, read_nothing
from retrieval_eval.agents.traces.results.grep import read_grep
from retrieval_eval.agents.traces.untrusted import blocks_text
from retrieval_eval.io.files import decode
from retrieval_eval.records import CUT_HERE, ToolCall, ToolResult

HARNESS: Final = "continue"

_ERROR: Final = re.compile(r"Error executing tool [^\n:]{1,200}: ")
_STATUS: Final = re.compile(r"Error \(exit code (-?\d{1,9})\): ")
_CONTENT: Final = re.compile(r"Content of [^\n]{1,4096}:\n")
_FILES: Final = re.compile(r"Files in [^\n]{1,4096}:\n")
_ENTRY: Final = re.compile(r" \((?:file|(directory))(?:, \d{1,15} bytes)?\)$", re.MULTILINE)
_FOUND: Final = re.compile(r"Search results for pattern [^\n]{1,4096}:\n\n")
_WARNING: Final = re.compile(r"Warning during search: [^\n]{1,4000}\n{1,3}")
_RESULTS_CUT: Final = re.compile(r"\n\n\[Results truncated: [^\]\n]{1,200}\]\s*\Z")
_BEFORE: Final = re.compile(r"\((?:previous [^)\n]{1,200}|[^)\n]{1,100} lines truncated)\)\n\n")
_BEHIND: Final = re.compile(r"\n\n\([\d,]{1,20} characters(?: of [^)\n]{1,100})? truncated\)\s*\Z")
_LATE: Final = re.compile(r"\n\n\[Command timed out after [\d.]{1,12} seconds of no output\]\s*\Z")
_LATER: Final = re.compile(r"Command moved to background\. Job ID: [^\n]{1,200}\nOutput so far:\n")
_JOB: Final = re.compile(r"\nUse CheckBackgroundJob\([^\n]{1,200}\Z")
_ERRORS: Final = "\nStderr: "
_LONGEST_NOTE: Final = 5000


def answer(call: ToolCall) -> ToolResult:
    r"""Return the result of a call without the headings and notes of Continue.

    Of a command that failed only what it wrote to stderr was shown, if that is not empty.

    Examples
    --------
    >>> failed = ToolResult("Error executing tool Bash: Error (exit code 3): bad\n", None, True)
    >>> result = answer(ToolCall("c", "Bash", {"command": "cat a; exit 3"}, failed))
    >>> result.text, result.structured, result.is_unfinished
    ('bad\n', {'exit_code': 3}, False)
    """
    result = call.result or ToolResult("")
    if call.name == "Bash":
        return _printed(result)
    if result.is_error:
        return result
    text = result.text
    if call.name in ("Read", "read_file"):
        heading = _CONTENT.match(text)
        text = _cut(text[heading.end() :] if heading is not None else text)
        return replace(result, text=text, structured={"content": text})
    if call.name == "List":
        heading = _FILES.match(text)
        listed = text[heading.end() :] if heading is not None else text
        return replace(result, text=_ENTRY.sub(lambda m: "/" if m[1] else "", listed))
    if call.name.startswith("mcp__"):
        return replace(result, text=blocks_text(decode(text)[0]) or text)
    if call.name != "Search":
        return result
    opening = _FOUND.match(text) or _WARNING.match(text[:_LONGEST_NOTE])
    if opening is None:
        return result
    shown = _RESULTS_CUT.sub(f"\n{CUT_HERE}", text[opening.end() :])
    return replace(result, text=shown, structured={"mode": "content"})


def _cut(text: str) -> str:
    before = _BEFORE.match(text)
    text = f"{CUT_HERE}\n{text[before.end() :]}" if before is not None else text
    behind = _BEHIND.search(text, max(0, len(text) - _LONGEST_NOTE))
    return text if behind is None else f"{text[: behind.start()]}\n{CUT_HERE}"


def _printed(result: ToolResult) -> ToolResult:
    text = result.text
    failed = _ERROR.match(text) if result.is_error else None
    if failed is not None:
        text = text[failed.end() :]
        status = _STATUS.match(text)
        if status is None:
            return replace(result, text=text)
        code = {"exit_code": int(status[1])}
        shown = text[status.end() :]
        return replace(result, text=shown, structured=code, is_unfinished=False)
    later = _LATER.match(text)
    if later is not None:
        text = _JOB.sub("", text[later.end() :])
        is_silent = not text.strip()
        return replace(
            result,
            text=_cut(text),
            is_stopped=not is_silent,
            doubt="background" if is_silent else None,
        )
    late = _LATE.search(text, max(0, len(text) - _LONGEST_NOTE))
    text = _cut(text if late is None else text[: late.start()])
    shown, _, errors = text.rpartition(_ERRORS)
    text = shown + errors
    is_silent = late is not None and not text.strip()
    return replace(
        result,
        text=text,
        is_error=result.is_error or late is not None,
        is_stopped=late is not None and not is_silent,
        is_unfinished=result.is_unfinished or is_silent,
    )


DIALECTS.add(
    HARNESS,
    Dialect(
        harnesses=frozenset({HARNESS}),
        delegating=frozenset({"Subagent"}),
        keeps_shell=False,
        refusals=(
            r"Command blocked by security policy",
            r"Permission denied by user",
            r"Tool [^\n]{1,200} not found\s*\Z",
            r"Required parameter [^\n]{1,200} missing for tool ",
        ),
        failures=(r"Error executing tool ",),
        answer=answer,
        cut=(
            "A command's output keeps its end, behind a note of how many lines and characters were "
            "removed; a file that is too large is not read at all."
        ),
        finished=(
            "The state of a call is done, errored or canceled. A command that failed shows what it "
            "wrote to stderr alone, or else its output without its status; one that printed "
            "nothing for its time has a line about that below its output."
        ),
        delegated="`Subagent` starts a sub-agent, whose calls the session does not keep.",
        source=(
            "sessions and requests of its command line 1.5.47 compared, and texts of its tools; "
            "what editors add was not seen"
        ),
        tools=(
            Tool(("search",), "code_search", read_grep),
            Tool(("checklist", "check_background_job"), "other", read_nothing, is_retrieval=False),
        ),
    ),
)
