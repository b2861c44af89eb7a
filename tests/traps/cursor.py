"""Cursor's command line: what its events prove."""

from __future__ import annotations

from typing import Any

from tests.traps import Rows


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


def _ran(command: str, text: str) -> dict[str, Any]:
    result = {"success": {"exitCode": 0, "stdout": text}}
    return _trial("shellToolCall", {"command": command}, result)


def _transcript(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    block = {"type": "tool_use", "name": name, "input": arguments}
    said = {"role": "assistant", "message": {"content": [{"type": "text", "text": "I."}, block]}}
    return {"agent/transcript.jsonl": [said, {"type": "turn_ended", "status": "success"}]}


TRAPS: Rows = {
    ("read", "+src/a.py, -src/b.py"): {
        "The call succeeded and holds the content of the file.": _trial(
            "readToolCall", _PATH, {"success": {"content": "import os\n"}}
        )
    },
    ("read", "+src/a.py"): {
        "The harness states success, so that the sentence is what the file holds.": _trial(
            "readToolCall", _PATH, {"success": {"content": "Tool call denied by user"}}
        )
    },
    ("search", "+src/a.py, -src/b.py"): {
        "The record names the file with matches below its folder.": _trial(
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
        )
    },
    ("listing", "+src/a.py, -src/b.py"): {
        "The listing names one file.": _trial(
            "globToolCall",
            {"globPattern": "**/*.py"},
            {"success": {"files": ["/workspace/src/a.py"]}},
        )
    },
    ("failed read", "-src/a.py"): {
        "The result is a failure.": _trial(
            "readToolCall", _PATH, {"failure": {"error": "File not found"}}
        )
    },
    ("denied", "-src/a.py"): {
        "The call was rejected and did not run.": _trial(
            "readToolCall", _PATH, {"rejected": {"reason": "The user said no"}}
        )
    },
    ("timed out", "-src/a.py"): {
        "The time was over before anything was printed.": _trial(
            "shellToolCall", {"command": "cat src/a.py"}, {"timeout": {"timeoutMs": 30000}}
        )
    },
    ("sub-agent", "?src/a.py, ?src/b.py"): {
        "The events hold no call of the sub-agent, which may have seen any file.": _trial(
            "taskToolCall", {"prompt": "find x"}, {"success": {"content": "It is in src/a.py"}}
        )
    },
    ("two checkouts", "-src/a.py, +lib/src/a.py"): {
        "The record names the folder that the path lies in.": _trial(
            "grepToolCall",
            {"pattern": "x"},
            {
                "success": {
                    "workspaceResults": {"/workspace/lib": {"files": {"files": ["src/a.py"]}}}
                }
            },
        )
    },
    ("truncated output", "+src/a.py"): {
        "The first line of the file was shown.": _trial(
            "shellToolCall",
            {"command": "cat src/a.py | head -1"},
            {"success": {"exitCode": 0, "stdout": "import os\n"}},
        )
    },
    ("write", "-src/a.py"): {
        "Writing a file does not show it to the agent.": _trial(
            "editToolCall", {**_PATH, "streamContent": "x"}, {"success": {}}
        )
    },
    ("other", "?src/a.py, -src/b.py"): {
        "The call was started, and its end is not in the file.": _trial("readToolCall", _PATH, None)
    },
    ("other", "?src/a.py"): {
        "A transcript holds no result, so that the file may have been read.": [
            _transcript("Read", {"path": "/workspace/src/a.py"}),
            _transcript("Grep", {"pattern": "x", "path": "/workspace/src"}),
            _transcript("Shell", {"command": "cd /workspace && cat src/a.py"}),
            _transcript("Task", {"prompt": "Find the limit.", "subagent_type": "explore"}),
        ],
    },
}

SHELL = _ran
