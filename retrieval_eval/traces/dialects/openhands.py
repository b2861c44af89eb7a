"""OpenHands, and the editor it shares with the Anthropic API."""

from __future__ import annotations

from retrieval_eval.traces.dialects import DIALECTS, Dialect, Tool, read_nothing
from retrieval_eval.traces.results.local_files import editor_category, read_editor

DIALECTS.add(
    "openhands",
    Dialect(
        harnesses=frozenset({"openhands"}),
        refusals=(r"ERROR: Cannot execute multiple commands at once",),
        failures=(r"Invalid `[^`]{1,60}` parameter", r"No replacement was performed"),
        tools=(
            Tool(("execute_bash", "execute_command"), "other", read_nothing, is_shell=True),
            Tool(
                ("str_replace_editor", "str_replace_based_edit_tool"),
                editor_category,
                read_editor,
            ),
        ),
    ),
)
