"""Augment's MCP server."""

from __future__ import annotations

from retrieval_eval.agents.traces.dialects import DIALECTS, Dialect, Tool
from retrieval_eval.agents.traces.results.mentions import read_mentions

DIALECTS.add(
    "augment",
    Dialect(
        offered_by="server",
        empty=(r"The following code sections were retrieved:\s*$",),
        own_names=frozenset({"codebase_retrieval", "augment_code_search"}),
        tools=(Tool(("codebase_retrieval", "augment_code_search"), "code_search", read_mentions),),
    ),
)
