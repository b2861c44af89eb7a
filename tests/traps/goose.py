"""Goose's stream: what its responses prove."""

from __future__ import annotations

from typing import Any

from tests.traps import Rows

_Step = tuple[str, dict[str, Any], dict[str, Any]]


def _done(text: str, **more: Any) -> dict[str, Any]:
    return {"status": "success", "value": {"content": [{"type": "text", "text": text}], **more}}


def _trial(*steps: _Step) -> dict[str, Any]:
    lines: list[dict[str, Any]] = [{"working_dir": "/workspace", "message_count": len(steps)}]
    for number, (name, arguments, result) in enumerate(steps):
        call = {"status": "success", "value": {"name": name, "arguments": arguments}}
        request = {"type": "toolRequest", "id": f"c{number}", "toolCall": call}
        response = {"type": "toolResponse", "id": f"c{number}", "toolResult": result}
        lines.append({"role": "assistant", "created": 1, "content": [request]})
        lines.append({"role": "user", "created": 2, "content": [response]})
    return {"agent/goose.txt": lines}


def _shell(command: str, text: str, **more: Any) -> _Step:
    return "developer__shell", {"command": command}, _done(text, **more)


_MISSING = "cat: src/b.py: No such file or directory\nCommand exited with code 1"
_EDITOR = "developer__text_editor"


def _one(*step: Any) -> dict[str, Any]:
    return _trial(step)


def _ran(command: str, text: str, **more: Any) -> dict[str, Any]:
    return _trial(_shell(command, text, **more))


TRAPS: Rows = {
    ("read", "+src/a.py, -src/b.py"): {
        "The response shows numbered lines of the file.": _one(
            _EDITOR,
            {"command": "view", "path": "/workspace/src/a.py"},
            _done("### /workspace/src/a.py\n```py\n1: import os\n```"),
        )
    },
    ("listing", "+src/a.py, +src/lib/d.py, -src/b.py"): {
        "The tree indents the names in a folder below it.": _one(
            "tree", {"path": "/workspace/src"}, _done("a.py [10]\nlib/\n  d.py [3]")
        )
    },
    ("failed read", "-src/a.py"): {
        "The response is marked as an error.": _one(
            _EDITOR,
            {"command": "view", "path": "/workspace/src/a.py"},
            _done("The path does not exist", isError=True),
        )
    },
    ("denied", "-src/a.py"): {
        "A response with the status of an error means that the call did not run.": _one(
            "developer__shell",
            {"command": "cat src/a.py"},
            {"status": "error", "error": "the call was declined"},
        ),
        "The user did not let the tool run.": _ran(
            "cat src/a.py", "The user has declined to run this tool. Stop."
        ),
        "The command was refused because of the file that it names.": _ran(
            "cat src/a.py",
            "The command attempts to access 'src/a.py' which is restricted by .gooseignore",
        ),
    },
    ("timed out", "-src/a.py"): {
        "The command was killed before it printed anything.": _ran(
            "cat src/a.py", "Command timed out after 300 seconds"
        )
    },
    ("background", "?src/a.py"): {
        "The shell did not wait for the search, and nothing of it was shown.": _ran(
            "grep -rn x src &", ""
        )
    },
    ("sub-agent", "?src/a.py"): {
        "The session keeps no calls of the sub-agent, only what it answered.": _one(
            "delegate", {"instructions": "find x"}, _done("x is in src/a.py")
        )
    },
    ("truncated output", "+src/a.py, -src/b.py"): {
        "Two files were requested, one was printed before the error of the other.": _ran(
            "cat src/a.py src/b.py", "import os\n" + _MISSING
        )
    },
    ("truncated output", "?src/a.py, +src/b.py"): {
        "Only the end of the output was shown, which is that of the last file.": _ran(
            "cat src/a.py src/b.py",
            "y = 1\nz = 2\n\n[Output exceeded 2000 line limit (2500 lines total). Full output "
            "saved to /tmp/.tmpX. Read it with shell commands up to 2000 lines at a time.]",
        ),
        "The last lines are of the second file; the rest lies in a file that was searched.": _trial(
            _shell(
                "cat src/a.py; cat src/b.py",
                "private note: output was 900 lines and we are only showing the most recent "
                "lines, remainder of lines in /tmp/.tmpQ do not show tmp file to user, that file "
                "can be searched if extra context needed to fulfill request. truncated output: \n"
                "y = 1\nz = 2\n",
            ),
            _shell("grep -n os /tmp/.tmpQ", "1:import os"),
        ),
    },
    ("write", "-src/a.py"): {
        "A file that the agent writes is no file that it found.": _one(
            _EDITOR,
            {"command": "write", "path": "/workspace/src/a.py", "file_text": "x"},
            _done("Successfully wrote to /workspace/src/a.py"),
        )
    },
}

SHELL = _ran
