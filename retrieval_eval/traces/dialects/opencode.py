"""OpenCode with its agents plug-in."""

from __future__ import annotations

from retrieval_eval.traces.dialects import DIALECTS, Dialect, Tool, read_nothing

DIALECTS.add(
    "opencode",
    Dialect(
        delegating=frozenset({"call_omo_agent"}),
        tools=(Tool(("call_omo_agent",), "other", read_nothing),),
    ),
)
