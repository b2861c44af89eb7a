"""Tool dialects: the tool names of harnesses and MCP servers, one table each.

The table of a harness stands with its formats, in ``agents.traces.formats``; this folder has those
of what no format is of. Another distribution adds one with an entry point of the group
``retrieval_eval.dialects`` whose object is a :class:`Dialect`; a server's entry has the server's
name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase, translate
from functools import cache, lru_cache
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, Final, Literal

from retrieval_eval.agents.traces.results.base import Found, Parser, Seen
from retrieval_eval.agents.traces.untrusted import text_of
from retrieval_eval.records import ToolCall, ToolCategory, ToolResult
from retrieval_eval.registry import Registry


@dataclass(frozen=True, slots=True)
class Tool:
    """One row: what kind of action a tool is and how its results are read.

    Parameters
    ----------
    names
        Names in lower-case snake form without the decorations of a harness, so that
        ``readToolCall``, ``Read`` and ``read`` are one name. A ``*`` is any text.
    category
        One of the eight categories, or a function of the arguments where these decide.
    parser
        Reads a successful result.
    is_retrieval
        False for a harness's own housekeeping, which becomes no event.
    is_shell
        Whether the tool runs a command text.
    """

    names: tuple[str, ...]
    category: ToolCategory | Callable[[Mapping[str, Any]], ToolCategory]
    parser: Parser
    is_retrieval: bool = True
    is_shell: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """The tools that one harness, or one MCP server, offers.

    Parameters
    ----------
    tools
        Rows; whole names come before patterns.
    guesses
        Rows for tools that are in no dialect, by what their names suggest; looked at last.
    offered_by
        Whether the rows are about a harness's own tools, a server's, or both.
    namespaces
        Prefixes before ``__`` that mark a harness's own tools; any other prefix names a server.
    own_names
        Bare names of a server's tools that no harness uses, for harnesses that drop prefixes.
    own_names_with_repository
        Bare names that are the server's only when the arguments name a repository.
    underscored
        Names, with ``*`` for any text, of the harness's own tools that hold an underscore, of a
        harness that calls a server's tool SERVER_TOOL without a mark: any other such name is a
        server's. Empty for a harness that marks them.
    delegating
        Names, as traces have them, of tools that hand work to a sub-agent.
    delegates
        Takes a call of another tool and returns how many sub-agents it started at least, by its
        arguments or its answer; 0 where it started none.
    addresses
        Takes a call and returns the names of the sub-agents to which it turns, which an earlier
        call started; an empty name where it states none, and nothing for any other call.
    own_files
        Regular expressions found in the absolute paths of files that are the harness's own, such
        as its memory and the results it saved.
    blocks
        Opening and closing mark of text that the harness adds to results.
    saved_files
        Regular expressions found in the paths of files to which the harness saves results that are
        too large to show.
    saved
        Regular expressions, each with one group for the path, of the words by which an answer says
        to which file the harness saves the result. They hold ``saved to``, ``written to``,
        ``output see`` or ``output file``.
    preview
        Takes an answer and returns what it shows of such a result; any other answer as it is.
    statuses
        Regular expressions for a whole line at the beginning or the end of an answer in which the
        harness states the exit status of a command.
    keeps_shell
        Whether a command finds the folder and the variables that the command of an earlier call
        left; otherwise each command starts in the folder that is stated for its call.
    harnesses
        Names by which traces call the harness, in lower case.
    recognises
        Takes a call with its raw result and returns whether the result has a wording that only this
        harness has, for traces that name none.
    refusals
        Regular expressions for the beginning of an answer that says that the call did not run or
        did not finish.
    failures
        The same for a call that ran and failed, so that its answer is no content.
    empty
        The same for an answer that says that nothing was found.
    answer
        Takes a call with its raw result and returns the result without the harness's envelope,
        with what the envelope states (exit status, cut, time-out) in its fields.
    cut
        How the harness cuts what it shows of an answer, in a sentence, as ``answer`` or
        :mod:`retrieval_eval.agents.traces.received` knows it. Empty: not known, so that no long
        answer is taken for a whole one.
    finished
        How the record shows that a call did not run, or not to its end, in a sentence. Empty: not
        known, so that what a failed call printed is only possible.
    delegated
        By which tools work goes to sub-agents, and where their calls are kept, in a sentence.
        Empty: not known, so that every tool with such a name counts as delegating.
    source
        What the rows were read from: project, version or commit.

    Examples
    --------
    >>> from retrieval_eval.agents.traces.results.local_files import read_local
    >>> my_agent = Dialect(tools=(Tool(("peek",), "file_read", read_local),))
    """

    tools: tuple[Tool, ...] = ()
    guesses: tuple[Tool, ...] = ()
    offered_by: Literal["harness", "server", "both"] = "harness"
    namespaces: frozenset[str] = frozenset()
    own_names: frozenset[str] = frozenset()
    own_names_with_repository: frozenset[str] = frozenset()
    underscored: tuple[str, ...] = ()
    delegating: frozenset[str] = frozenset()
    delegates: Callable[[ToolCall], int] | None = None
    addresses: Callable[[ToolCall], Sequence[str]] | None = None
    keeps_shell: bool = True
    harnesses: frozenset[str] = frozenset()
    recognises: Callable[[ToolCall], bool] | None = None
    refusals: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    empty: tuple[str, ...] = ()
    own_files: tuple[str, ...] = ()
    blocks: tuple[tuple[str, str], ...] = ()
    saved_files: tuple[str, ...] = ()
    saved: tuple[str, ...] = ()
    preview: Callable[[str], str] | None = None
    statuses: tuple[str, ...] = ()
    answer: Callable[[ToolCall], ToolResult] | None = None
    cut: str = ""
    finished: str = ""
    delegated: str = ""
    source: str = ""


class _Dialects(Registry[Dialect]):
    def add(self, name: str, entry: Dialect) -> Dialect:
        if not isinstance(entry, Dialect):
            raise TypeError(f"{entry!r} is no Dialect")
        return super().add(name, entry)


_FOLDERS: Final = {
    __name__: [*__path__],
    "retrieval_eval.agents.traces.formats": [str(Path(__file__).parents[1] / "formats")],
}
_MODULES: Final = [
    (module.name, package) for package, path in _FOLDERS.items() for module in iter_modules(path)
]

DIALECTS = _Dialects(
    "retrieval_eval.dialects",
    "tool dialect",
    tuple(f"{package}.{name}" for name, package in sorted(_MODULES)),
)


def read_nothing(_seen: Seen) -> Found:
    """Return no file, for tools whose result is not about files."""
    return Found()


def read_unknown(seen: Seen) -> Found:
    """Return an opaque result: an answer of an unknown tool may have shown any file."""
    return Found(is_opaque=bool(seen.text.strip()) or bool(seen.value))


_UNKNOWN: Final = Tool(("*",), "other", read_unknown)


@lru_cache(maxsize=1024)
def tool_row(name: str, is_mcp: bool) -> Tool:
    """Return the row of a tool by its snake-case name; unknown names are ``other``.

    Examples
    --------
    >>> tool_row("nls_search", True).category
    'code_search'
    >>> tool_row("read_file_lines", False).category
    'file_read'
    >>> tool_row("make_coffee", True).category
    'other'
    """
    named, patterns = _rows(is_mcp)
    if name in named:
        return named[name]
    return next((tool for pattern, tool in patterns if pattern.fullmatch(name)), _UNKNOWN)


@cache
def _rows(is_mcp: bool) -> tuple[Mapping[str, Tool], tuple[tuple[re.Pattern[str], Tool], ...]]:
    """Return the rows of all dialects by name and, behind each other, by pattern."""
    other = "harness" if is_mcp else "server"
    dialects = [dialect for _, dialect in DIALECTS.items() if dialect.offered_by != other]
    rows = [tool for dialect in dialects for tool in dialect.tools]
    guesses = [tool for dialect in dialects for tool in dialect.guesses]
    named = {name: tool for tool in reversed(rows) for name in tool.names}
    patterns = [(name, tool) for tool in (*rows, *guesses) for name in tool.names]
    patterns.sort(key=lambda row: row[0] == "*")  # The row of every other tool comes last.
    return named, tuple((re.compile(translate(name)), tool) for name, tool in patterns)


@cache
def _by_harness() -> Mapping[str, Dialect]:
    return {name: dialect for _, dialect in DIALECTS.items() for name in dialect.harnesses}


def dialect_of(harness: str | None) -> Dialect | None:
    """Return the dialect of a harness by the name that a trace gives it, or None.

    Examples
    --------
    >>> dialect_of("no-such-harness") is None
    True
    """
    return _by_harness().get(harness.lower()) if harness else None


def harness_of(calls: Iterable[ToolCall]) -> str | None:
    r"""Return the harness whose wording the result of one of some calls has, or None.

    Examples
    --------
    >>> harness_of([ToolCall("1", "read_file", {}, ToolResult("@@ lines 1-1 of 1 @@\nx = 1"))])
    'deepagents'
    """
    known = [(name, d.recognises) for name, d in DIALECTS.items() if d.recognises is not None]
    return next(
        (name for call in calls for name, recognises in known if call.result and recognises(call)),
        None,
    )


@cache
def wording(
    kind: Literal["refusals", "failures", "empty", "own_files", "saved_files", "saved"],
) -> re.Pattern[str]:
    """Return one expression for what all dialects state of a kind."""
    found = [text for _, dialect in DIALECTS.items() for text in getattr(dialect, kind)]
    return re.compile("|".join(f"(?:{text})" for text in found))


_SAYS_WHERE: Final = ("aved to", "written to", "output see", "output file")
_BEFORE_IT: Final = 700
_BEHIND_IT: Final = 4300
_MOST_PLACES: Final = 20


def saved_path(text: str) -> str | None:
    r"""Return the file to which an answer says that its result is saved, or None.

    Examples
    --------
    >>> saved_path("...\n\nFull output saved to: /home/u/.local/share/opencode/tool-output/t1\n")
    '/home/u/.local/share/opencode/tool-output/t1'
    >>> saved_path("saved to: /tmp/a.txt") is None
    True
    """
    for hint in _SAYS_WHERE:
        place, n_places = text.find(hint), 0
        while place >= 0 and n_places < _MOST_PLACES:
            found = wording("saved").search(text, max(0, place - _BEFORE_IT), place + _BEHIND_IT)
            if found is not None:
                path = next(group for group in found.groups() if group is not None)
                return path.strip().rstrip(".")
            place, n_places = text.find(hint, place + 1), n_places + 1
    return None


@cache
def exit_statuses() -> re.Pattern[str]:
    """Return one expression for the lines in which harnesses state an exit status."""
    found = [text for _, dialect in DIALECTS.items() for text in dialect.statuses]
    return re.compile(rf"^(?:{'|'.join(found)})\s*$", re.MULTILINE)


@cache
def previews() -> tuple[Callable[[str], str], ...]:
    """Return what takes the previews of saved results out of answers."""
    return tuple(d.preview for _, d in DIALECTS.items() if d.preview is not None)


@cache
def added_blocks() -> tuple[tuple[str, str], ...]:
    """Return the marks of text that any harness adds to results."""
    return tuple(
        dict.fromkeys(block for _, dialect in DIALECTS.items() for block in dialect.blocks)
    )


@cache
def delegating_tools() -> frozenset[str]:
    """Return the tools that delegate to a sub-agent, whose calls a trace may not keep."""
    return frozenset(name for _, dialect in DIALECTS.items() for name in dialect.delegating)


_SOUNDS_DELEGATING: Final = re.compile(
    r"(?:^|_)(?:sub_?agents?|agents?|delegat\w{0,5}|spawn\w{0,3})(?:_|$)"
)
_ABOUT_AGENTS: Final = re.compile(r"(?:list|read|get|wait|stop|close|kill|check|send|write)_")


def started_sub_agents(call: ToolCall, harness: str | None = None) -> int:
    """Return how many sub-agents a call started, at least; 0 where it delegates nothing.

    Where the dialect of the harness does not say by which tools work is delegated, every tool
    counts whose name sounds like that.

    Examples
    --------
    >>> started_sub_agents(ToolCall("1", "Agent", {}, None))
    1
    >>> started_sub_agents(ToolCall("1", "Read", {"file_path": "a.py"}, None))
    0
    >>> started_sub_agents(ToolCall("1", "run_subagent", {}, None), "no-such-harness")
    1
    """
    by_answer = max((delegates(call) for delegates in _delegates()), default=0)
    dialect = dialect_of(harness)
    is_known = dialect is not None and bool(dialect.delegated)
    is_by_name = _delegates_by_name(call.name) or (not is_known and _may_delegate(call.name))
    return max(by_answer, int(is_by_name))


_TURNS_TO_ONE: Final = re.compile(
    r"(?:read|wait(?:_for)?|write(?:_to)?|send(?:_to)?|resume|stop|close|kill|interrupt)"
    r"_(?:sub_?)?agents?"
)
_ADDRESSEES: Final = (
    *("agent_id", "agentId", "agent_ids", "id", "ids", "target", "targets", "agent", "name", "to"),
    *("agents", "receiver_thread_ids"),
)
_MOST_ADDRESSEES: Final = 100


def addressed_sub_agents(call: ToolCall, harness: str | None = None) -> Sequence[str]:
    """Return the names of the sub-agents to which a call turns, which other calls started.

    An empty name is one that the call does not state.

    Examples
    --------
    >>> addressed_sub_agents(ToolCall("1", "wait_agent", {"ids": ["a7"]}, None))
    ('a7',)
    >>> addressed_sub_agents(ToolCall("1", "Read", {"id": "a7"}, None))
    ()
    """
    dialect = dialect_of(harness)
    if dialect is not None and dialect.delegated:
        return () if dialect.addresses is None else dialect.addresses(call)
    split = tool_name(call.name, {})
    is_about_one = not split.is_mcp and _TURNS_TO_ONE.fullmatch(split.bare) is not None
    return addressees(call.arguments) if is_about_one else ()


def addressees(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """Return whom a call that turns to sub-agents names, or one empty name.

    Examples
    --------
    >>> addressees({"target": "look", "message": "go on"}), addressees({})
    (('look',), ('',))
    """
    stated = [arguments.get(name) for name in _ADDRESSEES]
    listed = [value if isinstance(value, list) else [value] for value in stated]
    names = [name for value in listed for name in value[:_MOST_ADDRESSEES] if name]
    return tuple(filter(None, map(text_of, names))) or ("",)


@lru_cache(maxsize=1024)
def _may_delegate(name: str) -> bool:
    split = tool_name(name, {})
    if split.is_mcp or _ABOUT_AGENTS.match(split.bare):
        return False
    return _SOUNDS_DELEGATING.search(split.bare) is not None


@cache
def _delegates() -> tuple[Callable[[ToolCall], int], ...]:
    return tuple(d.delegates for _, d in DIALECTS.items() if d.delegates is not None)


@lru_cache(maxsize=1024)
def _delegates_by_name(name: str) -> bool:
    """Return whether a tool delegates; harnesses may write its namespace before its name."""
    known = delegating_tools()
    split = tool_name(name, {})
    return name in known or (not split.is_mcp and "__" in name and split.bare in known)


_LONGEST: Final = 200
_NAMESPACED: Final = re.compile(r"(?P<server>[A-Za-z][\w-]*?)__(?P<tool>\w.*)")
_MCP_NAMES: Final = (
    re.compile(r"mcp__(?P<server>.+?)__(?P<tool>.+)"),
    re.compile(r"mcp_(?P<server>[^_]+)_(?P<tool>.+)"),
    _NAMESPACED,
)
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SEPARATORS: Final = re.compile(r"[\s.\-/]+")


@dataclass(frozen=True, slots=True)
class ToolName:
    """The bare snake-case name of a tool and the MCP server that offers it, if one does."""

    bare: str
    server: str | None

    @property
    def is_mcp(self) -> bool:
        """Whether an MCP server offers the tool."""
        return self.server is not None


@dataclass(frozen=True, slots=True)
class _Names:
    """Names in all dialects: own namespaces, and servers by bare name."""

    namespaces: frozenset[str]
    servers: Mapping[str, str]
    servers_with_repository: Mapping[str, str]


@cache
def _names() -> _Names:
    dialects = DIALECTS.items()
    return _Names(
        frozenset(name for _, dialect in dialects for name in dialect.namespaces),
        {name: server for server, dialect in dialects for name in dialect.own_names},
        {n: server for server, dialect in dialects for n in dialect.own_names_with_repository},
    )


def tool_name(name: str, arguments: Mapping[str, Any]) -> ToolName:
    """Split a tool's name, as the trace has it, into its bare name and its server.

    Some harnesses drop the prefix of MCP tools. A name that no harness uses is then its server's;
    one that native tools share counts as a server's only when a repository is requested.

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
    return _split(name.strip()[:_LONGEST], isinstance(arguments.get("repo"), str))


@lru_cache(maxsize=1024)
def _split(name: str, has_repository: bool) -> ToolName:
    known = _names()
    name = name.removeprefix("functions.")
    for pattern in _MCP_NAMES if "__" in name or name.startswith("mcp_") else ():
        match = pattern.fullmatch(name)
        if match is None:
            continue
        if pattern is _NAMESPACED and match["server"].lower() in known.namespaces:
            return ToolName(_snake(match["tool"]), None)
        return ToolName(_snake(match["tool"]).removeprefix("sg_"), match["server"])
    bare = _snake(name.removesuffix("ToolCall"))
    short = bare.removeprefix("sg_")
    if short != bare or short in known.servers:
        return ToolName(short, known.servers.get(short, "sourcegraph"))
    if has_repository and bare in known.servers_with_repository:
        return ToolName(bare, known.servers_with_repository[bare])
    return ToolName(bare, None)


NO_SUCH_TOOL: Final = re.compile(
    r"\s{0,9}(?:Error: )?(?:Model tried to call unavailable tool|(?:Unknown|No such) tool)\b"
)
"""How an answer begins that says that no tool has the name of the call."""


@lru_cache(maxsize=1024)
def marked_name(name: str, harness: str | None) -> str:
    """Return the name of a tool, with the mark of a server where its harness leaves that out.

    Examples
    --------
    >>> marked_name("docs_lookup", "opencode"), marked_name("docs_lookup", "claude-code")
    ('mcp__docs__lookup', 'docs_lookup')
    >>> marked_name("apply_patch", "opencode")
    'apply_patch'
    """
    dialect = dialect_of(harness)
    own = dialect.underscored if dialect is not None else ()
    server, _, tool = name[:_LONGEST].partition("_")
    is_marked = not own or "__" in name or not server or not tool
    if is_marked or any(fnmatchcase(name, pattern) for pattern in own):
        return name
    return f"mcp__{server}__{tool}"


def _snake(name: str) -> str:
    if name.isidentifier() and (name.islower() or name[1:].islower()):
        return name.lower()
    return _SEPARATORS.sub("_", _HUMP.sub("_", name)).lower()
