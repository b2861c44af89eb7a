"""Gemini CLI and its relatives."""

from __future__ import annotations

from retrieval_eval.traces.dialects import DIALECTS, Dialect, Tool, read_nothing
from retrieval_eval.traces.results.local_files import read_write

DIALECTS.add(
    "gemini-cli",
    Dialect(
        harnesses=frozenset({"gemini-cli"}),
        delegating=frozenset({"invoke_agent"}),
        refusals=(
            r"Tool execution denied by policy",
            r"\[Operation Cancelled\]",
            r"User denied execution",
            r"Command was (?:cancelled by user|automatically cancelled)",
        ),
        tools=(
            Tool(("run_shell_command",), "other", read_nothing, is_shell=True),
            Tool(("invoke_agent",), "other", read_nothing),
            Tool(("google_web_search",), "other", read_nothing),
            Tool(("replace",), "file_write", read_write),
        ),
    ),
)
