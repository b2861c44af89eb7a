"""Inspect: outputs that were too long are shown in part, between marks."""

from __future__ import annotations

import re
from typing import Final

from msgspec.structs import replace

from retrieval_eval.records import ToolCall, ToolResult
from retrieval_eval.traces.dialects import DIALECTS, Dialect, Tool, read_nothing, read_unknown
from retrieval_eval.traces.results.ipython import read_ipython

_CUT: Final = re.compile(
    r"\s*The output of your call to [^\n]{1,200} was too long to be displayed\.\s{1,20}"
    r"Here is a truncated version:\s{1,20}<START_TOOL_OUTPUT>\n"
)
_END: Final = "<END_TOOL_OUTPUT>"


def answer(call: ToolCall) -> ToolResult:
    r"""Return the result of a call without the marks around an output that was cut.

    Examples
    --------
    >>> opening = "The output of your call to bash was too long to be displayed.\n"
    >>> opening += "Here is a truncated version:\n<START_TOOL_OUTPUT>\n"
    >>> shown = ToolResult(f"{opening}a.py:3:x\n<END_TOOL_OUTPUT>")
    >>> answer(ToolCall("c", "bash", {}, shown)).text
    'a.py:3:x\n'
    """
    result = call.result or ToolResult("")
    if call.name == "grep" and not call.arguments.get("output_mode"):
        # The mode of its searches is that of content, where nothing else is requested.
        result = replace(result, structured={"mode": "content"})
    opening = _CUT.match(result.text[:1000])
    if opening is None:
        return result
    return replace(result, text=result.text[opening.end() :].rstrip().removesuffix(_END))


DIALECTS.add(
    "inspect-ai",
    Dialect(
        harnesses=frozenset({"inspect-ai", "inspect_ai", "inspect"}),
        answer=answer,
        delegating=frozenset({"handoff"}),
        failures=(r"Path is a directory, not a file: ", r"Error (?:reading|listing): "),
        empty=(r"No files found in: ",),
        tools=(
            Tool(("transfer_to_*", "web_browser*"), "other", read_nothing),
            Tool(("python",), "other", read_ipython),
            # Keystrokes may have shown any file.
            Tool(("bash_session",), "other", read_unknown),
        ),
        source=(
            "UKGovernmentBEIS/inspect_ai 499e6152 (0.3.260), read in its source; 20 logs of 0.3.41 "
            "to 0.3.154 seen, two of them with calls of tools"
        ),
    ),
)
