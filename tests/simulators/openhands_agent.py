"""How OpenHands does one thing: search, list, read, fail, write.

In the MCP arm finding goes through the code-search server; writing stays local.
"""

from __future__ import annotations

import json

from tests.simulators.dice import Dice
from tests.simulators.mcp_tools import SearchTools
from tests.simulators.moves import Call
from tests.simulators.openhands_tools import OpenHandsTools
from tests.simulators.reading import shell_read, span_of
from tests.simulators.shell import Shell
from tests.simulators.task import Task
from tests.simulators.workspace import Workspace


class OpenHandsAgent:
    """OpenHands, with local tools or with a code-search server."""

    def __init__(self, task: Task, dice: Dice, *, is_remote: bool) -> None:
        self._space = Workspace(task)
        self._dice = dice
        self._tools = OpenHandsTools(self._space)
        self._remote = SearchTools(self._space, "openhands") if is_remote else None
        self._shell = Shell(self._space)
        self._opened: set[str] = set()

    def opening(self) -> list[Call]:
        """Think first."""
        return [self._tools.think()]

    def search(self, labels: list[str]) -> Call:
        """Search by the server or a shell."""
        if self._remote:
            return self._remote.keyword(labels)
        if len(labels) == 1:
            return self._tools.bash(self._shell.grep_one(labels[0]))
        names = self._dice.chance(0.4, labels, "names")
        command = self._shell.grep_names(labels) if names else self._shell.grep_tree(labels)
        return self._tools.bash(command)

    def listing(self, labels: list[str]) -> Call:
        """List by the server or find."""
        if self._remote:
            return self._remote.listing(labels)
        return self._tools.bash(self._shell.find(labels))

    def read(self, label: str) -> Call:
        """Read by the server, a shell or the editor."""
        self._opened.add(label)
        span = span_of(self._space, label, self._dice)
        if self._remote:
            return self._remote.read(label, span)
        if self._dice.chance(0.6, label, "shell"):
            return self._tools.bash(shell_read(self._shell, label, span, self._dice))
        return self._tools.view(label, span)

    def failed_read(self, label: str) -> Call:
        """Fail by a wrong repository name or a wrong path."""
        return self._remote.failed_read(label) if self._remote else self._tools.failed_view(label)

    def edit(self, label: str) -> Call:
        """Edit a local file; one that was read may be changed by a shell."""
        if label in self._opened and self._dice.chance(0.3, label, "sed"):
            return self._tools.bash(self._shell.substitute(label))
        return self._tools.edit(label)

    def answer(self, labels: list[str]) -> Call:
        """Write the answer file with a here-document."""
        return self._tools.bash(self._shell.answer(json.dumps({"files": labels})))

    def closing(self) -> list[Call]:
        """Say that the work is done."""
        return [self._tools.finish()]
