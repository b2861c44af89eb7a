"""MCP servers of code search: Sourcegraph in both of its generations, Augment, GitHub."""

from __future__ import annotations

from retrieval_eval.agents.traces.dialects import DIALECTS, Dialect, Tool, read_nothing
from retrieval_eval.agents.traces.results.mentions import read_mentions
from retrieval_eval.agents.traces.results.remote import list_remote, read_remote, read_script

DIALECTS.add(
    "sourcegraph",
    Dialect(
        offered_by="server",
        cut="by the harness that asks the server, in its own way",
        finished="by the harness that asks the server; an error is marked or a sentence",
        delegated="none: a server's tool starts no agent whose calls a trace keeps",
        failures=(r"repo(?:sitory)? not found", r"script execution failed"),
        own_names=frozenset(
            {
                *("keyword_search", "nls_search", "deepsearch", "deepsearch_read"),
                *("commit_search", "diff_search", "compare_revisions", "list_repos"),
                *("get_contributor_repos", "evaluator"),
            }
        ),
        own_names_with_repository=frozenset(
            {"read_file", "list_files", "find_references", "go_to_definition"}
        ),
        tools=(
            Tool(("list_repos", "get_contributor_repos"), "other", read_nothing),
            Tool(("read_file",), "file_read", read_remote),
            Tool(("list_files",), "file_search", list_remote),
            Tool(("keyword_search", "nls_search"), "code_search", read_mentions),
            Tool(("find_references", "go_to_definition"), "symbol_navigation", read_mentions),
            Tool(
                ("commit_search", "diff_search", "compare_revisions"),
                "commit_search",
                read_mentions,
            ),
            Tool(("deepsearch", "deepsearch_read"), "deep_search", read_mentions),
            Tool(("evaluator",), "code_search", read_script),
        ),
    ),
)


# --------------------------------------------------------------------------------------------------
# Augment's MCP server.

DIALECTS.add(
    "augment",
    Dialect(
        offered_by="server",
        empty=(r"The following code sections were retrieved:\s*$",),
        own_names=frozenset({"codebase_retrieval", "augment_code_search"}),
        tools=(Tool(("codebase_retrieval", "augment_code_search"), "code_search", read_mentions),),
    ),
)


# --------------------------------------------------------------------------------------------------
# GitHub's MCP server.

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
