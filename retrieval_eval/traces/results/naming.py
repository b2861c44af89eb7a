"""Who offers a tool: a native tool of the harness or an MCP server, and under which bare name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

_LONGEST: Final = 200
_NAMESPACED: Final = re.compile(r"(?P<server>[A-Za-z][\w-]*?)__(?P<tool>\w.*)")
_MCP_NAMES: Final = (
    re.compile(r"mcp__(?P<server>.+?)__(?P<tool>.+)"),
    re.compile(r"mcp_(?P<server>[^_]+)_(?P<tool>.+)"),
    _NAMESPACED,
)
_OWN_NAMESPACES: Final = frozenset(
    {
        *("developer", "computercontroller", "memory", "autovisualiser", "chatrecall"),
        *("extensionmanager", "platform", "todo", "dynamic_task", "subagent", "summon"),
        *("analyze", "skills", "code_execution", "orchestrator", "functions"),
    }
)
"""Namespaces of tools that a harness (goose) or a model's format brings; others name servers."""

_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SEPARATORS: Final = re.compile(r"[\s.\-/]+")

_ONLY_THERE: Final[dict[str, str]] = {
    **dict.fromkeys(
        (
            *("keyword_search", "nls_search", "deepsearch", "deepsearch_read", "commit_search"),
            *("diff_search", "compare_revisions", "list_repos", "get_contributor_repos"),
            "evaluator",
        ),
        "sourcegraph",
    ),
    **dict.fromkeys(("get_file_contents", "get_repository_tree", "search_code"), "github"),
    **dict.fromkeys(("codebase_retrieval", "augment_code_search"), "augment"),
}
"""Tools that no harness has of its own, with the server that offers them."""

_SOURCEGRAPH_WITH_REPOSITORY: Final = frozenset(
    {"read_file", "list_files", "find_references", "go_to_definition"}
)


@dataclass(frozen=True, slots=True)
class ToolName:
    """The bare snake-case name of a tool and the MCP server that offers it, if one does."""

    bare: str
    server: str | None

    @property
    def is_mcp(self) -> bool:
        """Whether an MCP server offers the tool."""
        return self.server is not None


def tool_name(name: str, arguments: Mapping[str, Any]) -> ToolName:
    """Take a tool's name as the trace has it apart.

    Some harnesses drop the prefix of MCP tools. A name that no harness uses is then its
    server's; one that native tools share is taken for Sourcegraph's only when a repository is
    asked for.

    Examples
    --------
    >>> tool_name("mcp__sourcegraph__sg_read_file", {})
    ToolName(bare='read_file', server='sourcegraph')
    >>> tool_name("readToolCall", {})
    ToolName(bare='read', server=None)
    >>> tool_name("read_file", {"repo": "acme/w"}).server, tool_name("read_file", {}).server
    ('sourcegraph', None)
    >>> tool_name("developer__shell", {}), tool_name("search__grep", {}).server
    (ToolName(bare='shell', server=None), 'search')
    """
    name = name.strip()[:_LONGEST].removeprefix("functions.")
    for pattern in _MCP_NAMES:
        match = pattern.fullmatch(name)
        if (
            match is not None
            and pattern is _NAMESPACED
            and match["server"].lower() in _OWN_NAMESPACES
        ):
            return ToolName(_snake(match["tool"]), None)
        if match is not None:
            return ToolName(_snake(match["tool"]).removeprefix("sg_"), match["server"])
    bare = _snake(name.removesuffix("ToolCall"))
    short = bare.removeprefix("sg_")
    if short != bare or short in _ONLY_THERE:
        return ToolName(short, _ONLY_THERE.get(short, "sourcegraph"))
    if bare in _SOURCEGRAPH_WITH_REPOSITORY and isinstance(arguments.get("repo"), str):
        return ToolName(bare, "sourcegraph")
    return ToolName(bare, None)


def _snake(name: str) -> str:
    return _SEPARATORS.sub("_", _HUMP.sub("_", name)).lower()
