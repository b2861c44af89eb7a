"""Goose, whose tools have the name of their extension before them."""

from __future__ import annotations

from retrieval_eval.traces.dialects import DIALECTS, Dialect, Tool, read_unknown

DIALECTS.add(
    "goose",
    Dialect(
        namespaces=frozenset(
            {
                *("developer", "computercontroller", "memory", "autovisualiser", "chatrecall"),
                *("extensionmanager", "platform", "todo", "dynamic_task", "subagent", "summon"),
                *("analyze", "skills", "code_execution", "orchestrator"),
            }
        ),
        delegating=frozenset(
            {
                *("delegate", "dynamic_task__create_task"),
                *("subagent__execute_task", "summon__delegate"),
            }
        ),
        tools=(Tool(("analyze",), "symbol_navigation", read_unknown),),
    ),
)
