"""The tools of Claude Code on local files, with results as that harness prints them."""

from __future__ import annotations

import json
from typing import Any

from tests.simulators.moves import OWN_OUTPUT, Call, Deed, Touch
from tests.simulators.shell import Command
from tests.simulators.workspace import Workspace


class ClaudeTools:
    """Local tools; ``is_old`` is the generation that prints absolute paths."""

    def __init__(self, workspace: Workspace, *, is_old: bool) -> None:
        self._space = workspace
        self._is_old = is_old

    def _printed(self, label: str) -> str:
        return self._space.local(label) if self._is_old else self._space.relative(label)

    def todo(self, done: int) -> Call:
        """Keep the to-do list."""
        names = ("Find the code", "Read it", "Finish the task")
        todos = [
            {
                "content": name,
                "status": "completed" if i < done else "in_progress" if i == done else "pending",
                "activeForm": name,
            }
            for i, name in enumerate(names)
        ]
        text = "Todos have been modified successfully. Ensure that you continue to use them"
        return Call("TodoWrite", {"todos": todos}, text, structured={"newTodos": todos})

    def read(self, label: str, span: tuple[int, int] | None) -> Call:
        """Read a file, whole or from a line to a line."""
        path, lines = self._space.local(label), self._space.lines(label)
        first, last = span or (1, len(lines))
        shown = lines[first - 1 : last]
        arguments: dict[str, Any] = {"file_path": path}
        if span:
            arguments |= {"offset": first, "limit": last - first + 1}
        gap = "→" if self._is_old else "\t"
        width = 6 if self._is_old else 0
        text = "\n".join(f"{n:>{width}}{gap}{x}" for n, x in enumerate(shown, start=first))
        file = {
            "filePath": path,
            "content": "\n".join(shown),
            "numLines": len(shown),
            "startLine": first,
            "totalLines": len(lines),
        }
        touch = Touch(label, "opened", (span,) if span else None, is_whole=span is None)
        deed = Deed("file_read", (touch,))
        return Call("Read", arguments, text, (deed,), {"type": "text", "file": file})

    def failed_read(self, label: str, *, is_missing: bool) -> Call:
        """Fail to read a file: it is not there, or it is too large to be read whole."""
        path = self._space.local(label)
        text = (
            "File content (11873 tokens) exceeds maximum allowed tokens (10000). Use offset and "
            "limit parameters to read specific portions of the file."
        )
        if is_missing:
            path, text = f"{path}.orig", "File does not exist."
        return Call(
            "Read", {"file_path": path}, text, (Deed("file_read"),), f"Error: {text}", is_error=True
        )

    def grep_names(self, labels: list[str]) -> Call:
        """Search for the topic and get the names of the files."""
        names = [self._printed(label) for label in labels]
        text = "\n".join([f"Found {len(names)} file{'s' * (len(names) != 1)}", *names])
        return Call(
            "Grep",
            {
                "pattern": self._space.topic,
                "path": self._space.folder(labels),
                "output_mode": "files_with_matches",
            },
            text,
            (Deed("file_search", tuple(Touch(label, "matched") for label in labels)),),
            {"mode": "files_with_matches", "filenames": names, "numFiles": len(names)},
        )

    def grep_lines(self, labels: list[str]) -> Call:
        """Search for the topic and get the lines; paths are shown only for several files."""
        shown, touches = [], []
        for label in labels:
            lines, numbers = self._space.lines(label), self._space.hits(label)
            path = "" if len(labels) == 1 else f"{self._printed(label)}:"
            shown += [f"{path}{n}:{lines[n - 1]}" for n in numbers]
            touches.append(Touch(label, "matched", tuple((n, n) for n in numbers)))
        one = len(labels) == 1
        text = "\n".join(shown)
        structured = {
            "mode": "content",
            "numFiles": 0,
            "filenames": [],
            "content": text,
            "numLines": len(shown),
        }
        arguments = {
            "pattern": self._space.topic,
            "path": self._space.local(labels[0]) if one else self._space.folder(labels),
            "output_mode": "content",
            "-n": True,
        }
        return Call("Grep", arguments, text, (Deed("code_search", tuple(touches)),), structured)

    def glob(self, labels: list[str]) -> Call:
        """List files by a name pattern."""
        names = [self._printed(label) for label in labels]
        folder = self._space.folder(labels).removeprefix(self._space.root).strip("/")
        return Call(
            "Glob",
            {"pattern": f"{folder}/**/*" if folder else "**/*"},
            "\n".join(names),
            (Deed("file_search", tuple(Touch(label, "listed") for label in labels)),),
            {"filenames": names, "durationMs": 38, "numFiles": len(names), "truncated": False},
        )

    def bash(self, command: Command, description: str) -> Call:
        """Run a shell command."""
        text = command.output or "(Bash completed with no output)"
        structured: Any = {
            "stdout": command.output,
            "stderr": "",
            "interrupted": False,
            "isImage": False,
            "noOutputExpected": not command.output,
        }
        if command.is_error:
            text = f"Exit code 1\n{command.output}"
            structured = f"Error: {text}"
        return Call(
            "Bash",
            {"command": command.line, "description": description},
            text,
            command.deeds,
            structured,
            is_error=command.is_error,
            is_opaque=command.is_opaque,
        )

    def edit(self, label: str) -> Call:
        """Replace a line of a file."""
        path = self._space.local(label)
        old = self._space.lines(label)[self._space.hits(label)[0] - 1]
        arguments = {"file_path": path, "old_string": old, "new_string": f"{old}  "}
        structured = {
            "filePath": path,
            "oldString": old,
            "newString": f"{old}  ",
            "userModified": False,
            "replaceAll": False,
        }
        text = f"The file {path} has been updated successfully."
        deed = Deed("file_write", (Touch(label, "written"),))
        return Call("Edit", arguments, text, (deed,), structured)

    def create(self, label: str) -> Call:
        """Write a file that was not there before."""
        return self._write(self._space.local(label), f"{self._space.topic}\n", label)

    def answer(self, body: dict[str, Any]) -> Call:
        """Write the answer file."""
        return self._write(OWN_OUTPUT, json.dumps(body, indent=1), OWN_OUTPUT)

    def _write(self, path: str, content: str, label: str) -> Call:
        structured = {"type": "create", "filePath": path, "content": content, "structuredPatch": []}
        return Call(
            "Write",
            {"file_path": path, "content": content},
            f"File created successfully at: {path}",
            (Deed("file_write", (Touch(label, "written"),)),),
            structured,
        )

    def delegate(self, children: tuple[Call, ...]) -> Call:
        """Let a sub-agent search."""
        report = f"The {self._space.topic} code is spread over a few modules; details follow."
        arguments = {
            "description": f"Explore {self._space.topic} handling",
            "subagent_type": "Explore",
            "prompt": f"Find everything that deals with {self._space.topic}.",
        }
        structured = {
            "status": "completed",
            "content": [{"type": "text", "text": report}],
            "totalToolUseCount": len(children),
        }
        return Call("Agent", arguments, report, (Deed("other"),), structured, children=children)
