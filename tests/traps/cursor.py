"""Cursor's command line: what its events prove."""

from __future__ import annotations

from typing import Any

from tests.traps import Trap


def _trial(name: str, arguments: dict[str, Any], result: dict[str, Any] | None) -> dict[str, Any]:
    """Return a session with one call; without a result it was started and never completed."""
    events: list[dict[str, Any]] = [
        {"type": "system", "subtype": "init", "session_id": "s", "cwd": "/workspace", "model": "m"},
        _event("started", {name: {"args": arguments}}),
    ]
    if result is not None:
        events.append(_event("completed", {name: {"args": arguments, "result": result}}))
    return {"agent/cursor-cli.txt": [*events, {"type": "result", "subtype": "success"}]}


def _event(subtype: str, call: dict[str, Any]) -> dict[str, Any]:
    return {"type": "tool_call", "subtype": subtype, "call_id": "c", "tool_call": call}


_PATH = {"path": "/workspace/src/a.py"}

TRAPS = (
    Trap(
        situation="read",
        files=_trial("readToolCall", _PATH, {"success": {"content": "import os\n"}}),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The call succeeded and holds the content of the file.",
    ),
    Trap(
        situation="read",
        files=_trial("readToolCall", _PATH, {"success": {"content": "Tool call denied by user"}}),
        expected={"src/a.py": "certain"},
        reason="The harness states success, so that the sentence is what the file holds.",
    ),
    Trap(
        situation="listing",
        files=_trial(
            "globToolCall",
            {"globPattern": "**/*.py"},
            {"success": {"files": ["/workspace/src/a.py"]}},
        ),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The listing names one file.",
    ),
    Trap(
        situation="failed read",
        files=_trial("readToolCall", _PATH, {"failure": {"error": "File not found"}}),
        expected={"src/a.py": "none"},
        reason="The result is a failure.",
    ),
    Trap(
        situation="denied",
        files=_trial("readToolCall", _PATH, {"rejected": {"reason": "The user said no"}}),
        expected={"src/a.py": "none"},
        reason="The call was rejected and did not run.",
    ),
    Trap(
        situation="write",
        files=_trial("editToolCall", {**_PATH, "streamContent": "x"}, {"success": {}}),
        expected={"src/a.py": "none"},
        reason="Writing a file does not show it to the agent.",
    ),
    Trap(
        situation="other",
        files=_trial("readToolCall", _PATH, None),
        expected={"src/a.py": "possible", "src/b.py": "none"},
        reason="The call was started, and its end is not in the file.",
    ),
    Trap(
        situation="search",
        files=_trial(
            "grepToolCall",
            {"pattern": "x"},
            {
                "success": {
                    "workspaceResults": {
                        "/workspace": {
                            "content": {"matches": [{"file": "src/a.py", "matches": []}]}
                        }
                    }
                }
            },
        ),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The record names the file with matches below its folder.",
    ),
    Trap(
        situation="two checkouts",
        files=_trial(
            "grepToolCall",
            {"pattern": "x"},
            {
                "success": {
                    "workspaceResults": {"/workspace/lib": {"files": {"files": ["src/a.py"]}}}
                }
            },
        ),
        expected={"src/a.py": "none", "lib/src/a.py": "certain"},
        reason="The record names the folder that the path lies in.",
    ),
    Trap(
        situation="timed out",
        files=_trial(
            "shellToolCall", {"command": "cat src/a.py"}, {"timeout": {"timeoutMs": 30000}}
        ),
        expected={"src/a.py": "none"},
        reason="The time was over before anything was printed.",
    ),
    Trap(
        situation="background",
        files=_trial(
            "shellToolCall",
            {"command": "cat src/a.py & sleep 1"},
            {"success": {"exitCode": 0, "stdout": ""}},
        ),
        expected={"src/a.py": "possible"},
        reason="The shell did not wait for the command, and nothing of it was shown.",
    ),
    Trap(
        situation="sub-agent",
        files=_trial(
            "taskToolCall", {"prompt": "find x"}, {"success": {"content": "It is in src/a.py"}}
        ),
        expected={"src/a.py": "possible", "src/b.py": "possible"},
        reason="The events hold no call of the sub-agent, which may have seen any file.",
    ),
    Trap(
        situation="truncated output",
        files=_trial(
            "shellToolCall",
            {"command": "cat src/a.py | head -1"},
            {"success": {"exitCode": 0, "stdout": "import os\n"}},
        ),
        expected={"src/a.py": "certain"},
        reason="The first line of the file was shown.",
    ),
)
