"""Mistral Vibe: answers as JSON, of a large one an excerpt beside the file that holds it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from msgspec.structs import replace

from retrieval_eval.agents.traces.dialects import DIALECTS, Dialect, Tool, read_nothing
from retrieval_eval.agents.traces.dialects.codex import read_cell
from retrieval_eval.agents.traces.results.mentions import looks_like_file
from retrieval_eval.agents.traces.untrusted import count_at, dict_at, dict_of, status_of, text_at
from retrieval_eval.io.files import decode
from retrieval_eval.records import CUT_HERE, ToolCall, ToolResult

HARNESS: Final = "mistral-vibe"

_LARGE: Final = "<system>The tool output is large."
_SAVED: Final = re.compile(r"saved to the file system under (\S{1,4096}?)\.\n")
_EXCERPT: Final = ("<truncated-output>\n", "\n</truncated-output>")
_OMITTED: Final = re.compile(r"\n?\[\.\.\. \d{1,15} characters omitted \.\.\.\]\n?")
_NOT_RUN: Final = "InvalidToolCall"
_LONGEST_HEADING: Final = 8000


def answer(call: ToolCall) -> ToolResult:
    r"""Return what a call showed, without the object that it stands in.

    Examples
    --------
    >>> shown = '{"returncode": 1, "stdout": "a\\n", "stderr": "", "timed_out": false}'
    >>> found = answer(ToolCall("1", "bash", {}, ToolResult(shown)))
    >>> found.text, found.is_error, found.structured
    ('a\n', True, {'exit_code': 1})
    """
    result = call.result or ToolResult("")
    text = result.text
    if text.startswith(_LARGE):
        saved = _SAVED.search(text[:_LONGEST_HEADING])
        text = text.partition(_EXCERPT[0])[2].rpartition(_EXCERPT[1])[0]
        result = replace(result, text=_cut(text), saved_to=saved[1] if saved is not None else None)
    value = dict_of(decode(text)[0])
    failed = dict_at(value, "result", "error")
    if failed:
        said, is_refused = text_at(failed, "message"), failed.get("name") == _NOT_RUN
        return replace(result, text=said or "", is_error=True, is_unfinished=is_refused)
    if call.name == "bash" and "stdout" in value:
        return _printed(result, value)
    if call.name == "read_file" and "content" in value:
        return _read(call, result, value)
    return result


def _printed(result: ToolResult, value: Mapping[str, Any]) -> ToolResult:
    shown = _cut(text_at(value, "stdout") or "")
    if value.get("was_truncated") is True and CUT_HERE not in shown:
        shown = f"{shown}\n{CUT_HERE}"
    errors = text_at(value, "stderr") or ""
    code = status_of(value.get("returncode"))
    is_late = value.get("timed_out") is True
    return replace(
        result,
        text=f"{shown}{errors}" if shown.endswith("\n") or not shown else f"{shown}\n{errors}",
        structured=None if code is None else {"exit_code": code},
        is_error=is_late or bool(code),
        is_stopped=is_late and bool(shown.strip()),
        is_unfinished=is_late and not shown.strip(),
    )


def _read(call: ToolCall, result: ToolResult, value: Mapping[str, Any]) -> ToolResult:
    text = _cut(text_at(value, "content") or "")
    first, shown = count_at(value, "offset") + 1, count_at(value, "lines_read")
    file = {"startLine": first, "numLines": shown, "totalLines": count_at(value, "total_lines")}
    # A folder is answered as a file whose lines are its names.
    is_file = shown > 0 and "\0" not in text and looks_like_file(str(call.arguments.get("path")))
    return replace(result, text=text, structured={"file": file} if is_file else None)


def _cut(text: str) -> str:
    return _OMITTED.sub(f"\n{CUT_HERE}\n", text)


DIALECTS.add(
    HARNESS,
    Dialect(
        harnesses=frozenset({HARNESS, "vibe"}),
        delegating=frozenset({"task", "delegate"}),
        saved_files=(r"/\.vibe/logs/session/[^\s]{1,300}/tool-results/[^/\s]{1,300}",),
        answer=answer,
        keeps_shell=False,
        cut=(
            "A read states which lines it shows and how many there are. Of an answer above 16,000 "
            "characters the model is given the ends of each long text, with a note between them "
            "of how many characters were left out, and the name of the file that holds the whole."
        ),
        finished=(
            "A call that failed is answered with an error, InvalidToolCall where it did not run; "
            "a command states its status and whether its time was over."
        ),
        delegated="No sub-agent was seen.",
        source="sessions, printed output and requests of 3.0.3 compared",
        tools=(
            Tool(("run_typescript",), "other", read_cell),
            Tool(
                ("search_tool_functions", "unified_harness_scratchpad"),
                "other",
                read_nothing,
                is_retrieval=False,
            ),
        ),
    ),
)
