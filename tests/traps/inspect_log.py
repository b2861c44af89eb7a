"""Inspect: what the tool events of a sample prove."""

from __future__ import annotations

from typing import Any

from tests.traps import Rows


def _sample(
    function: str,
    arguments: dict[str, Any],
    result: str,
    *,
    error: tuple[str, str] | None = None,
    **more: Any,
) -> dict[str, Any]:
    event: dict[str, Any] = {
        "event": "tool",
        "id": "c",
        "function": function,
        "arguments": arguments,
        "result": result,
        "error": {"type": error[0], "message": error[1]} if error else None,
    }
    sandbox = {"event": "sandbox", "action": "read_file", "file": "/workspace/src/b.py"}
    one = {"id": "t", "epoch": 1, "messages": [], "events": [sandbox, event | more]}
    return {"agent/trajectory.json": {"version": 2, "eval": {"model": "m"}, "samples": [one]}}


_CUT = (
    "\nThe output of your call to bash was too long to be displayed.\n"
    "Here is a truncated version:\n<START_TOOL_OUTPUT>\n{}\n<END_TOOL_OUTPUT>"
)


def _bash(command: str, result: str, **more: Any) -> dict[str, Any]:
    return _sample("bash", {"cmd": command}, result, **more)


def _read(result: str, **more: Any) -> dict[str, Any]:
    return _sample("read_file", {"file_path": "/workspace/src/a.py"}, result, **more)


def _in_workspace(command: str, text: str) -> dict[str, Any]:
    return _bash(f"cd /workspace && {command}", text)


TRAPS: Rows = {
    ("read", "+src/a.py, -src/b.py"): {
        "The tool answered with numbered lines; what the sandbox did is not what was shown.": _read(
            "1\timport os"
        ),
        "The command printed the file.": _bash("cd /workspace && cat src/a.py", "import os\n"),
        "The program opens a literal path and prints its content.": _sample(
            "python", {"code": "print(open('/workspace/src/a.py').read())"}, "x = 1\n"
        ),
    },
    ("search", "+src/a.py, -src/b.py"): {
        "The search answered with a path, a line number and the line.": _sample(
            "grep", {"pattern": "x", "path": "/workspace"}, "/workspace/src/a.py:3:x = 1"
        )
    },
    ("listing", "+src/a.py, -src/b.py"): {
        "The listing names the file.": _sample(
            "list_files", {"path": "/workspace"}, "/workspace/src\n/workspace/src/a.py"
        )
    },
    ("listing", "+src/a.py, ?src/my notes, -src/x"): {
        "Names with a space are names; those without an ending may be folders.": _sample(
            "list_files", {"path": "src"}, "src/a.py\nsrc/my notes\nsrc/x\nsrc/x/y.py"
        )
    },
    ("failed read", "-src/a.py"): {
        "The model saw the message of the error.": _read(
            "", error=("unknown", "File not found: /workspace/src/a.py")
        )
    },
    ("denied", "-src/a.py"): {
        "A call that was not approved did not run.": _bash(
            "cat /workspace/src/a.py", "", error=("approval", "rejected")
        )
    },
    ("timed out", "-src/a.py"): {
        "The command was ended before its output was returned.": _bash(
            "cat /workspace/src/a.py", "", error=("timeout", "Command timed out before completing.")
        )
    },
    ("sub-agent", "+src/a.py, -src/b.py"): {
        "The log holds the calls of sub-agents beside those of the agent.": {
            "agent/trajectory.json": {
                "eval": {"model": "m"},
                "samples": [
                    {
                        "id": "t",
                        "epoch": 1,
                        "messages": [],
                        "events": [
                            {"event": "span_begin", "id": "s1", "type": "tool"},
                            {"event": "span_begin", "id": "s2", "type": "agent", "parent_id": "s1"},
                            {
                                "event": "tool",
                                "id": "c",
                                "span_id": "s2",
                                "function": "read_file",
                                "arguments": {"file_path": "/workspace/src/a.py"},
                                "result": "1\timport os",
                            },
                        ],
                    }
                ],
            }
        }
    },
    ("truncated output", "+src/a.py, -src/b.py, +src/z.py"): {
        "The halves that were shown name two files.": _bash(
            "cd /workspace && grep -rn x .", _CUT.format("./src/a.py:3:x = 1\n./src/z.py:3:x = 1")
        )
    },
    ("truncated output", "?src/b.py"): {
        "The log joins the two halves, between which the file may be left out.": _bash(
            "cd /workspace && cat src/a.py src/b.py src/z.py", _CUT.format("a = 1\nz = 1")
        )
    },
    ("write", "-src/a.py"): {
        "Writing a file does not show it to the agent.": _sample(
            "text_editor",
            {"command": "create", "path": "/workspace/src/a.py", "file_text": "x"},
            "File created successfully at: /workspace/src/a.py",
        )
    },
    ("other", "?src/a.py, -src/b.py"): {
        "The call was under way when the log was written.": _read("", pending=True),
        "The keys that were typed name the file, and the session shows what it likes.": _sample(
            "bash_session",
            {"action": "type_submit", "input": "cat /workspace/src/a.py"},
            "import os\n$ ",
        ),
    },
    ("other", "-src/a.py"): {
        "Nothing but the message of the error was shown.": _bash(
            "cd /workspace && cat src/a.py",
            "",
            error=("limit", "Token limit exceeded. value: 1001; limit: 1000"),
        )
    },
}

SHELL = _in_workspace
