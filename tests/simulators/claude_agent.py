"""How Claude Code does one thing: search, list, read, fail, write.

In the MCP arm finding goes through the code-search server; writing stays local.
"""

from __future__ import annotations

from tests.simulators.claude_tools import ClaudeTools
from tests.simulators.dice import Dice
from tests.simulators.mcp_tools import SearchTools
from tests.simulators.moves import Call
from tests.simulators.reading import shell_read, span_of
from tests.simulators.shell import Command, Shell
from tests.simulators.task import Task
from tests.simulators.workspace import Workspace


class ClaudeAgent:
    """Claude Code, with local tools or with a code-search server."""

    def __init__(self, task: Task, dice: Dice, *, is_remote: bool, shell_share: float) -> None:
        self._space = Workspace(task)
        self._dice = dice
        is_old = task.version.startswith("2.1.6")
        self._tools = ClaudeTools(self._space, is_old=is_old)
        self._remote = SearchTools(self._space, "old" if is_old else "new") if is_remote else None
        self._shell = Shell(self._space)
        self._share = shell_share
        self._reading = task.is_reading

    @property
    def is_local(self) -> bool:
        """Whether the agent finds its files without the code-search server."""
        return self._remote is None

    def opening(self) -> list[Call]:
        """Look up the server's tools, or plan with the to-do list."""
        if self._remote is None:
            return [self._tools.todo(0)]
        names = ["mcp__sourcegraph__keyword_search", "mcp__sourcegraph__read_file"]
        arguments = {"query": f"select:{','.join(names)}", "max_results": 5}
        return [Call("ToolSearch", arguments, "\n".join(names), structured={"matches": names})]

    def bash(self, command: Command, description: str = "Look at the code") -> Call:
        """Run a shell command."""
        return self._tools.bash(command, description)

    def search(self, labels: list[str]) -> Call:
        """Search by the server, a shell or Grep."""
        if self._remote:
            natural = self._dice.chance(0.25, labels, "natural")
            return self._remote.natural(labels) if natural else self._remote.keyword(labels)
        if self._dice.chance(self._share, labels, "shell"):
            if len(labels) == 1:
                return self.bash(self._shell.grep_one(labels[0]))
            names = self._dice.chance(0.4, labels, "names")
            return self.bash(
                self._shell.grep_names(labels) if names else self._shell.grep_tree(labels)
            )
        names = self._dice.chance(0.5, labels, "names")
        return self._tools.grep_names(labels) if names else self._tools.grep_lines(labels)

    def listing(self, labels: list[str]) -> Call:
        """List by the server, find or Glob."""
        if self._remote:
            return self._remote.listing(labels)
        if self._dice.chance(self._share, labels, "find"):
            return self.bash(self._shell.find(labels), "List the files")
        return self._tools.glob(labels)

    def read(self, label: str) -> Call:
        """Read by the server, a shell or Read."""
        span = span_of(self._space, label, self._dice)
        if self._remote:
            return self._remote.read(label, span)
        if self._dice.chance(self._share, label, "shell"):
            return self.bash(shell_read(self._shell, label, span, self._dice))
        return self._tools.read(label, span)

    def read_two(self, first: str, second: str) -> Call:
        """Read two files with one shell call."""
        return self.bash(self._shell.two_reads(first, second))

    def failed_read(self, label: str) -> Call:
        """Fail by a wrong repository name, a wrong path or a file that is too large."""
        if self._remote:
            return self._remote.failed_read(label)
        return self._tools.failed_read(label, is_missing=self._dice.chance(0.4, label, "missing"))

    def failed_cat(self, label: str) -> Call:
        """Fail in a shell."""
        return self.bash(self._shell.missing(f"{self._space.local(label)}.bak"))

    def references(self, asked: str, labels: list[str]) -> Call | None:
        """Find references, where there is a server to ask."""
        return self._remote.references(asked, labels) if self._remote else None

    def unresolvable(self) -> Call:
        """Run an opaque script."""
        return self.bash(self._shell.unresolvable(), "Measure the files")

    def edit(self, label: str) -> Call:
        """Edit a local file."""
        return self._tools.edit(label)

    def create(self, label: str) -> Call:
        """Write a new local file."""
        return self._tools.create(label)

    def answer(self, labels: list[str]) -> Call:
        """Write the answer file."""
        return self._tools.answer({"files": labels})

    def delegate(self, children: tuple[Call, ...]) -> Call:
        """Hand the calls to a sub-agent."""
        return self._tools.delegate(children)

    def closing(self) -> list[Call]:
        """Tick off the to-do list."""
        return [] if self._reading else [self._tools.todo(3)]
