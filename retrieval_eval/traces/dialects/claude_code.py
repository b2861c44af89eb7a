"""Claude Code: the names that only it has; shared ones are in ``common``."""

from __future__ import annotations

from retrieval_eval.traces.dialects import DIALECTS, Dialect, Tool, read_nothing
from retrieval_eval.traces.results.local_files import read_local, read_write

DIALECTS.add(
    "claude-code",
    Dialect(
        delegating=frozenset({"Agent", "Task"}),
        tools=(
            Tool(("bash",), "other", read_nothing, is_shell=True),
            Tool(("notebook_read",), "file_read", read_local),
            Tool(("multi_edit", "notebook_edit"), "file_write", read_write),
        ),
    ),
)
