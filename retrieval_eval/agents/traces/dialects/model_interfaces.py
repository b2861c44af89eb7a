"""Tools that a model's interface itself offers: they run at the provider, not in the checkout."""

from __future__ import annotations

from retrieval_eval.agents.traces.dialects import DIALECTS, Dialect, Tool, read_nothing

DIALECTS.add(
    "model-interfaces",
    Dialect(
        tools=(
            Tool(
                (
                    *("code_execution", "bash_code_execution", "text_editor_code_execution"),
                    *("code_interpreter", "image_generation", "computer", "computer_use_preview"),
                    *("memory", "tool_search_tool_*"),
                ),
                "other",
                read_nothing,
            ),
        ),
        cut="not known to be cut: the tools run at the provider and show no file of the checkout",
        finished="by the item's status, or an error in place of its output",
        delegated="none: the tools start no agent",
        source="public interface descriptions of Anthropic and OpenAI; no file was seen",
    ),
)
