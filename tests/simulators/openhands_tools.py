"""The tools of OpenHands on local files, with results as that harness prints them."""

from __future__ import annotations

from typing import Any

from tests.simulators.moves import Call, Deed, Touch
from tests.simulators.shell import Command
from tests.simulators.workspace import Workspace


class OpenHandsTools:
    """Local tools: a shell and an editor."""

    def __init__(self, workspace: Workspace) -> None:
        self._space = workspace

    def bash(self, command: Command) -> Call:
        """Run a shell command."""
        return Call(
            "execute_bash",
            {"command": command.line, "security_risk": "LOW"},
            command.output,
            command.deeds,
            is_opaque=command.is_opaque,
        )

    def view(self, label: str, span: tuple[int, int] | None) -> Call:
        """View a file, whole or from a line to a line."""
        path, lines = self._space.local(label), self._space.lines(label)
        first, last = span or (1, len(lines))
        body = "\n".join(f"{n:>6}\t{lines[n - 1]}" for n in range(first, last + 1))
        arguments: dict[str, Any] = {"command": "view", "path": path}
        if span:
            arguments["view_range"] = [first, last]
        touch = Touch(label, "opened", (span,) if span else None, is_whole=span is None)
        return Call(
            "str_replace_editor",
            {**arguments, "security_risk": "LOW"},
            f"Here's the result of running `cat -n` on {path}:\n{body}\n",
            (Deed("file_read", (touch,)),),
        )

    def failed_view(self, label: str) -> Call:
        """Fail to view a file that is not there."""
        path = f"{self._space.local(label)}.orig"
        text = (
            f"ERROR:\nInvalid `path` parameter: {path}. The path {path} does not exist. "
            "Please provide a valid path."
        )
        return Call(
            "str_replace_editor",
            {"command": "view", "path": path, "security_risk": "LOW"},
            text,
            (Deed("file_read"),),
            is_error=True,
        )

    def edit(self, label: str) -> Call:
        """Replace a line of a file."""
        path, number = self._space.local(label), self._space.hits(label)[0]
        old = self._space.lines(label)[number - 1]
        text = (
            f"The file {path} has been edited. Here's the result of running `cat -n` on a snippet "
            f"of {path}:\n{number:>6}\t{old}  \nReview the changes and make sure they are as "
            "expected. Edit the file again if necessary."
        )
        arguments = {"command": "str_replace", "path": path, "old_str": old, "new_str": f"{old}  "}
        # The answer shows a line of the file.
        shown = Touch(label, "matched", ((number, number),))
        deed = Deed("file_write", (Touch(label, "written"), shown))
        return Call("str_replace_editor", {**arguments, "security_risk": "LOW"}, text, (deed,))

    def think(self) -> Call:
        """Note a thought."""
        thought = f"The {self._space.topic} code has several callers; look at them first."
        return Call("think", {"thought": thought}, "Your thought has been logged.")

    def finish(self) -> Call:
        """Say that the work is done."""
        return Call("finish", {"message": f"The {self._space.topic} task is complete."}, "")
