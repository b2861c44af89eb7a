"""GitHub's MCP server."""

from __future__ import annotations

from retrieval_eval.agents.traces.dialects import DIALECTS, Dialect, Tool
from retrieval_eval.agents.traces.results.remote import read_remote

DIALECTS.add(
    "github",
    Dialect(
        offered_by="server",
        cut="by the harness that asks the server, in its own way",
        finished="by the harness that asks the server; an error is marked or a sentence",
        delegated="none: a server's tool starts no agent whose calls a trace keeps",
        own_names=frozenset({"get_file_contents", "get_repository_tree", "search_code"}),
        tools=(Tool(("get_file_contents",), "file_read", read_remote),),
    ),
)
