"""Copilot CLI's events: what the ends of its calls prove."""

from __future__ import annotations

from typing import Any

from tests.traps import Rows

_Step = tuple[str, dict[str, Any], dict[str, Any]]


def _trial(*steps: _Step, agent: str | None = None) -> dict[str, Any]:
    context = {"cwd": "/workspace"}
    lines: list[dict[str, Any]] = [{"type": "session.start", "data": {"context": context}}]
    for number, (name, arguments, end) in enumerate(steps):
        call = {"toolCallId": f"c{number}", "toolName": name, "arguments": arguments}
        start: dict[str, Any] = {"type": "tool.execution_start", "data": call}
        lines.append(start | ({"agentId": agent} if agent else {}))
        data = {"toolCallId": f"c{number}", **end}
        lines.append({"type": "tool.execution_complete", "data": data})
    lines.append({"type": "session.shutdown", "data": {}})
    return {"agent/copilot/session-state/s/events.jsonl": lines}


def _done(text: str, **more: Any) -> dict[str, Any]:
    return {"success": True, "result": {"content": text, **more}}


def _failed(text: str) -> dict[str, Any]:
    return {"success": False, "error": {"message": text, "code": "failure"}}


_STARTED = "<command started in background with shellId: 7>"
_FILE = {"path": "/workspace/src/a.py"}


def _one(*step: Any) -> dict[str, Any]:
    return _trial(step)


def _bash(command: str, end: str | dict[str, Any], **more: Any) -> dict[str, Any]:
    done = _done(end) if isinstance(end, str) else end
    return _one("bash", {"command": command, **more}, done)


def _view(end: dict[str, Any]) -> dict[str, Any]:
    return _one("view", _FILE, end)


TRAPS: Rows = {
    ("read", "+src/a.py, -src/b.py"): {
        "The call succeeded and its content is the file's.": _view(_done("1. import os"))
    },
    ("read", "?src/a.py"): {
        "A file was shown, and nothing names it.": _one("view", {}, _done("1. import os"))
    },
    ("read", "?logo.png"): {
        "Whether the model takes images is not stated.": _one(
            "view", {"path": "/workspace/logo.png"}, _done("Viewed image file successfully.")
        )
    },
    ("search", "+src/a.py, -src/b.py"): {
        "The answer lists the files with matches.": _one(
            "rg",
            {"pattern": "x", "path": "/workspace/src", "output_mode": "files_with_matches"},
            _done("/workspace/src/a.py"),
        ),
        "The line begins with the name of the file that was searched.": _one(
            "grep",
            {"pattern": "x", "output_mode": "content", "paths": "src/a.py"},
            _done("src/a.py:x = 1"),
        ),
    },
    ("search", "+src/a.py, +src/b.py, -src/c.py"): {
        "Names that begin with a dot and a slash are relative to the working directory.": _one(
            "grep",
            {"pattern": "x", "output_mode": "content"},
            _done("./src/a.py:x = 1\n./src/a.py-y = {x: 2}\n--\n./src/b.py:x = 3"),
        )
    },
    ("listing", "+src/a.py, -src/b.py"): {
        "The answer lists the names that were found.": _one(
            "glob", {"pattern": "**/*.py"}, _done("/workspace/src/a.py")
        )
    },
    ("listing", "?src/a.py, -src/b.py"): {
        "The path may be a folder's, and the answer the names in it.": _one(
            "view", {"path": "/workspace/src"}, _done("a.py\nlib")
        )
    },
    ("failed read", "-src/a.py"): {
        "The call is marked as failed.": _view(_failed("Path does not exist"))
    },
    ("denied", "-src/a.py"): {
        "A failure without an exit status means that the command did not run.": _bash(
            "cat src/a.py", _failed("Permission denied")
        ),
        "The user could not be requested to permit the call, so that it did not run.": _view(
            _done("Permission denied and could not request permission from user")
        ),
    },
    ("timed out", "-src/a.py"): {
        "The command was killed before it printed anything.": _bash(
            "cat src/a.py", _failed("timed out")
        )
    },
    ("background", "?src/a.py, -src/b.py"): {
        "The output of the command was not fetched.": _bash(
            "cat src/a.py", _done(_STARTED), mode="async"
        )
    },
    ("background", "+src/a.py, -src/b.py"): {
        "A later call fetched the output of the command.": _trial(
            ("bash", {"command": "cat src/a.py", "mode": "async"}, _done(_STARTED)),
            ("read_bash", {"shellId": "7"}, _done("import os\n<exited with exit code 0>")),
        )
    },
    ("sub-agent", "+src/a.py"): {
        "The events keep the calls of sub-agents.": _trial(
            ("view", _FILE, _done("1. import os")), agent="agent-1"
        )
    },
    ("sub-agent", "?src/a.py"): {
        "No event is of the sub-agent, only its answer is there.": _one(
            "task", {"prompt": "find x"}, _done("x is in src/a.py")
        )
    },
    ("sub-agent", "+src/a.py, ?src/b.py"): {
        "A sub-agent whose answer is read was at work, and none of its events is there.": _trial(
            ("view", _FILE, _done("1. import os")),
            ("read_agent", {"agent_id": "look"}, _done("x is in src/b.py")),
        )
    },
    ("truncated output", "+src/a.py"): {
        "The command printed the file before it failed.": _bash(
            "cat src/a.py", _done("import os\n<exited with exit code 1>")
        )
    },
    ("truncated output", "+src/a.py, +src/e.py, -src/z.py"): {
        "The preview shows the first lines, and the view another one of the same output.": _trial(
            (
                "bash",
                {"command": "grep -rn x src"},
                _done(
                    "Output too large to read at once (9 KB). Saved to: "
                    "/tmp/1-copilot-tool-output-2.txt\nConsider using grep.\n\n"
                    "Preview (first 30 chars):\nsrc/a.py:1:x = 1\nsrc/bcd.py:2:\n\n"
                    "<shellId: 7 completed with exit code 0>"
                ),
            ),
            (
                "view",
                {"path": "/tmp/1-copilot-tool-output-2.txt", "view_range": [9, 9]},
                _done("src/e.py:9:x"),
            ),
        )
    },
    ("write", "-src/a.py"): {
        "A file that the agent creates is no file that it found.": _one(
            "create", _FILE, _done("Created file")
        )
    },
}

SHELL = _bash
