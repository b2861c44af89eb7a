"""Cursor: the names that only it has; shared ones are in ``common``."""

from __future__ import annotations

from retrieval_eval.traces.dialects import DIALECTS, Dialect, Tool, read_nothing
from retrieval_eval.traces.results.mentions import read_mentions

DIALECTS.add(
    "cursor",
    Dialect(
        delegating=frozenset({"taskToolCall"}),
        tools=(
            Tool(
                ("run_terminal_cmd", "run_terminal_command", "run_in_terminal"),
                "other",
                read_nothing,
                is_shell=True,
            ),
            Tool(("sem_search",), "code_search", read_mentions),
        ),
    ),
)
