"""Copilot CLI's events: what the ends of its calls prove."""

from __future__ import annotations

from typing import Any

from tests.traps import Trap

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

TRAPS = (
    Trap(
        situation="read",
        files=_trial(("view", _FILE, _done("1. import os"))),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The call succeeded and its content is the file's.",
    ),
    Trap(
        situation="search",
        files=_trial(
            (
                "rg",
                {"pattern": "x", "path": "/workspace/src", "output_mode": "files_with_matches"},
                _done("/workspace/src/a.py"),
            )
        ),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The answer lists the files with matches.",
    ),
    Trap(
        situation="listing",
        files=_trial(("glob", {"pattern": "**/*.py"}, _done("/workspace/src/a.py"))),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The answer lists the names that were found.",
    ),
    Trap(
        situation="failed read",
        files=_trial(("view", _FILE, _failed("Path does not exist"))),
        expected={"src/a.py": "none"},
        reason="The call is marked as failed.",
    ),
    Trap(
        situation="denied",
        files=_trial(("bash", {"command": "cat src/a.py"}, _failed("Permission denied"))),
        expected={"src/a.py": "none"},
        reason="A failure without an exit status means that the command did not run.",
    ),
    Trap(
        situation="timed out",
        files=_trial(("bash", {"command": "cat src/a.py"}, _failed("timed out"))),
        expected={"src/a.py": "none"},
        reason="The command was killed before it printed anything.",
    ),
    Trap(
        situation="sub-agent",
        files=_trial(("view", _FILE, _done("1. import os")), agent="agent-1"),
        expected={"src/a.py": "certain"},
        reason="The events keep the calls of sub-agents.",
    ),
    Trap(
        situation="truncated output",
        files=_trial(
            ("bash", {"command": "cat src/a.py"}, _done("import os\n<exited with exit code 1>"))
        ),
        expected={"src/a.py": "certain"},
        reason="The command printed the file before it failed.",
    ),
    Trap(
        situation="write",
        files=_trial(("create", _FILE, _done("Created file"))),
        expected={"src/a.py": "none"},
        reason="A file that the agent creates is no file that it found.",
    ),
    Trap(
        situation="background",
        files=_trial(("bash", {"command": "cat src/a.py", "mode": "async"}, _done(_STARTED))),
        expected={"src/a.py": "possible", "src/b.py": "none"},
        reason="The output of the command was not fetched.",
    ),
    Trap(
        situation="background",
        files=_trial(
            ("bash", {"command": "cat src/a.py", "mode": "async"}, _done(_STARTED)),
            ("read_bash", {"shellId": "7"}, _done("import os\n<exited with exit code 0>")),
        ),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="A later call fetched the output of the command.",
    ),
    Trap(
        situation="sub-agent",
        files=_trial(("task", {"prompt": "find x"}, _done("x is in src/a.py"))),
        expected={"src/a.py": "possible"},
        reason="No event is of the sub-agent, only its answer is there.",
    ),
    Trap(
        situation="sub-agent",
        files=_trial(
            ("view", _FILE, _done("1. import os")),
            ("read_agent", {"agent_id": "look"}, _done("x is in src/b.py")),
        ),
        expected={"src/a.py": "certain", "src/b.py": "possible"},
        reason="A sub-agent whose answer is read was at work, and none of its events is there.",
    ),
    Trap(
        situation="denied",
        files=_trial(
            ("view", _FILE, _done("Permission denied and could not request permission from user"))
        ),
        expected={"src/a.py": "none"},
        reason="The user could not be requested to permit the call, so that it did not run.",
    ),
    Trap(
        situation="listing",
        files=_trial(("view", {"path": "/workspace/src"}, _done("a.py\nlib"))),
        expected={"src/a.py": "possible", "src/b.py": "none"},
        reason="The path may be a folder's, and the answer the names in it.",
    ),
    Trap(
        situation="two checkouts",
        files=_trial(("bash", {"command": "cd lib && cat src/a.py"}, _done("x = 1"))),
        expected={"src/a.py": "none", "lib/src/a.py": "certain"},
        reason="The command ran in the other folder, whose file has the same name.",
    ),
    Trap(
        situation="search",
        files=_trial(
            (
                "grep",
                {"pattern": "x", "output_mode": "content"},
                _done("./src/a.py:x = 1\n./src/a.py-y = {x: 2}\n--\n./src/b.py:x = 3"),
            )
        ),
        expected={"src/a.py": "certain", "src/b.py": "certain", "src/c.py": "none"},
        reason="Names that begin with a dot and a slash are relative to the working directory.",
    ),
    Trap(
        situation="search",
        files=_trial(
            (
                "grep",
                {"pattern": "x", "output_mode": "content", "paths": "src/a.py"},
                _done("src/a.py:x = 1"),
            )
        ),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The line begins with the name of the file that was searched.",
    ),
    Trap(
        situation="truncated output",
        files=_trial(
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
        ),
        expected={"src/a.py": "certain", "src/e.py": "certain", "src/z.py": "none"},
        reason="The preview shows the first lines, and the view another one of the same output.",
    ),
    Trap(
        situation="read",
        files=_trial(("view", {}, _done("1. import os"))),
        expected={"src/a.py": "possible"},
        reason="A file was shown, and nothing names it.",
    ),
    Trap(
        situation="read",
        files=_trial(
            ("view", {"path": "/workspace/logo.png"}, _done("Viewed image file successfully."))
        ),
        expected={"logo.png": "possible"},
        reason="Whether the model takes images is not stated.",
    ),
)
