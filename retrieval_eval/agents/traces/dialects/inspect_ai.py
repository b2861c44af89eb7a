"""Inspect: outputs that were too long are shown in part, between marks."""

from __future__ import annotations

import posixpath
import re
from typing import Final

from msgspec.structs import replace

from retrieval_eval.agents.traces.dialects import (
    DIALECTS,
    Dialect,
    Tool,
    read_nothing,
    read_unknown,
)
from retrieval_eval.agents.traces.results.base import (
    NOTHING,
    Found,
    Seen,
    distinct,
    joined,
    text_argument,
)
from retrieval_eval.agents.traces.results.ipython import read_ipython
from retrieval_eval.agents.traces.results.mentions import looks_like_file
from retrieval_eval.agents.traces.results.payload import is_empty_answer
from retrieval_eval.agents.traces.results.remote import list_remote
from retrieval_eval.agents.traces.shell.output import is_error_line
from retrieval_eval.records import CUT_HERE, RawTarget, ToolCall, ToolResult

_CUT: Final = re.compile(
    r"\s*The output of your call to [^\n]{1,200} was too long to be displayed\.\s{1,20}"
    r"Here is a truncated version:\s{1,20}<START_TOOL_OUTPUT>\n"
)
_LONGEST_OPENING: Final = 1000
_TO_STDERR: Final = re.compile(r">&2\b|/dev/stderr\b")
_END: Final = "<END_TOOL_OUTPUT>"


def has_marks(text: str) -> bool:
    """Whether a text is an output that was cut, between its marks."""
    return _CUT.match(text[:_LONGEST_OPENING]) is not None


def cut_in_the_middle(text: str) -> str:
    r"""Return the two halves of an output that was cut, which the log joins without a mark.

    Examples
    --------
    >>> cut_in_the_middle("a.py\nz.py\n").split("\n")
    ['a.py', '[... output truncated ...]', 'z.py', '']
    """
    data = text.encode("utf-8", errors="replace")
    middle = len(data) // 2
    head, tail = (part.decode("utf-8", errors="ignore") for part in (data[:middle], data[middle:]))
    return "\n".join((head.removesuffix("\n"), CUT_HERE, tail.removeprefix("\n")))


def list_found(seen: Seen) -> Found:
    """Return what was found below a folder; nothing marks which names are folders.

    One that holds others is a folder; another without an ending may be one. Names that do not begin
    with the folder are those of another harness's tool of this name.
    """
    if is_empty_answer(seen.text):
        return NOTHING
    lines = seen.text.split("\n")
    names = [line for line in lines if line.strip() and line != CUT_HERE]
    folder = (text_argument(seen.arguments, ("path",)) or ".").rstrip("/")
    if not all(name.startswith(f"{folder}/") for name in names):
        return list_remote(seen)
    names = [name.removeprefix("./") for name in names]
    parents = {posixpath.dirname(name) for name in names}
    targets = [
        RawTarget(
            joined(seen.cwd, name), "listed", doubt=None if looks_like_file(name) else "opaque_call"
        )
        for name in names
        if name not in parents
    ]
    return Found(distinct(targets), is_opaque=seen.is_truncated)


def answer(call: ToolCall) -> ToolResult:
    r"""Return the result of a call without the marks around an output that was cut.

    Examples
    --------
    >>> opening = "The output of your call to bash was too long to be displayed.\n"
    >>> opening += "Here is a truncated version:\n<START_TOOL_OUTPUT>\n"
    >>> shown = ToolResult(f"{opening}a.py:3:x\nz.py:3:x\n<END_TOOL_OUTPUT>")
    >>> answer(ToolCall("c", "bash", {}, shown)).text
    'a.py:3:x\n[... output truncated ...]\nz.py:3:x'
    """
    result = call.result or ToolResult("")
    if call.name == "grep" and not call.arguments.get("output_mode"):
        # The mode of its searches is that of content, where nothing else is requested.
        result = replace(result, structured={"mode": "content"})
    opening = _CUT.match(result.text[:_LONGEST_OPENING])
    if opening is None:
        return _without_gap(call, result) if call.name == "bash" else result
    shown = result.text[opening.end() :].rstrip().removesuffix(_END).removesuffix("\n")
    return replace(result, text=cut_in_the_middle(shown))


def _without_gap(call: ToolCall, result: ToolResult) -> ToolResult:
    """Return a command's output without the empty line behind what it wrote to stderr.

    What it wrote there stands first; it is known where each line is an error, or where the command
    says that it writes there. Else the empty line may be one of a file.
    """
    errors, gap, shown = result.text.partition("\n\n")
    command = text_argument(call.arguments, ("command", "cmd")) or ""
    is_stated = _TO_STDERR.search(command) is not None
    if not gap or not (is_stated or all(map(is_error_line, errors.split("\n")))):
        return result
    return replace(result, text=f"{errors}\n{shown}")


DIALECTS.add(
    "inspect-ai",
    Dialect(
        harnesses=frozenset({"inspect-ai", "inspect_ai", "inspect"}),
        answer=answer,
        delegating=frozenset({"handoff"}),
        cut=(
            "an output of more than 16 KiB stands between marks: half of that from its beginning "
            "and half from its end, joined without a mark (before 0.3.130 its beginning alone)"
        ),
        finished=(
            "the event's error, whose type is approval, parsing, timeout, cancelled or limit; what "
            "was printed before a timeout is lost; bash states no exit status"
        ),
        delegated=(
            "handoff, agents as tools and deepagent's agent; their calls are events of the same "
            "log, below spans of their own"
        ),
        # The reply to an answer without a call: nothing was carried out.
        refusals=(r"Please proceed to the next step using your best judgement\b",),
        failures=(r"Path is a directory, not a file: ", r"Error (?:reading|listing): "),
        empty=(r"No files found in: ",),
        tools=(
            Tool(("transfer_to_*", "web_browser*"), "other", read_nothing),
            Tool(("python",), "other", read_ipython),
            # Keystrokes may have shown any file.
            Tool(("bash_session",), "other", read_unknown),
            Tool(("list_files",), "file_search", list_found),
        ),
        source=(
            "UKGovernmentBEIS/inspect_ai 499e6152 (0.3.260) and 0.3.285, read in their sources; "
            "20 logs of 0.3.41 to 0.3.154 seen, two of them with calls of tools"
        ),
    ),
)
