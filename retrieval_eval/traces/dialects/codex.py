"""Codex: shells of several generations, and sub-agents."""

from __future__ import annotations

from retrieval_eval.traces.dialects import DIALECTS, Dialect, Tool, read_nothing

DIALECTS.add(
    "codex",
    Dialect(
        harnesses=frozenset({"codex"}),
        delegating=frozenset({"spawn_agent"}),
        refusals=(r"exec command rejected by user", r"aborted by user after"),
        tools=(
            Tool(
                ("local_shell", "container_exec", "exec_command", "shell_command"),
                "other",
                read_nothing,
                is_shell=True,
            ),
            Tool(("spawn_agent",), "other", read_nothing),
        ),
    ),
)
