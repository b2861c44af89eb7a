"""OpenHands' SDK: what its events prove."""

from __future__ import annotations

from typing import Any

from tests.traps import Rows

_FOLDER = "agent/sessions/s/events"


def _trial(tool: str, arguments: dict[str, Any], *ends: dict[str, Any]) -> dict[str, Any]:
    action = {"kind": "ActionEvent", "source": "agent", "tool_name": tool, "tool_call_id": "c"}
    state = {"agent": {}, "workspace": {"working_dir": "/workspace"}}
    events = [{**action, "action": arguments}, *({**end, "tool_call_id": "c"} for end in ends)]
    files = {f"{_FOLDER}/event-{n:05}-x.json": event for n, event in enumerate(events)}
    return {"agent/sessions/s/base_state.json": state, **files}


def _observed(text: str, **more: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    observation = {"content": content, "is_error": False, **more}
    return {"kind": "ObservationEvent", "source": "environment", "observation": observation}


_VIEW = {"command": "view", "path": "/workspace/src/a.py"}


def _cat(*ends: dict[str, Any]) -> dict[str, Any]:
    return _trial("terminal", {"command": "cat src/a.py"}, *ends)


def _ran(command: str, text: str) -> dict[str, Any]:
    return _trial("terminal", {"command": command}, _observed(text, exit_code=0))


TRAPS: Rows = {
    ("read", "+src/a.py, -src/b.py"): {
        "The observation shows numbered lines of the file.": _trial(
            "file_editor",
            _VIEW,
            _observed(
                "Here's the result of running `cat -n` on /workspace/src/a.py:\n     1\timport os"
            ),
        )
    },
    ("search", "+src/a.py, -src/b.py"): {
        "The observation lists the files with matches.": _trial(
            "grep", {"pattern": "x"}, _observed("1", matches=["/workspace/src/a.py"])
        )
    },
    ("listing", "+src/a.py, -src/b.py"): {
        "The observation lists the names that were found.": _trial(
            "glob", {"pattern": "*"}, _observed("1", files=["/workspace/src/a.py"])
        )
    },
    ("failed read", "-src/a.py"): {
        "The observation is marked as an error.": _trial(
            "file_editor", _VIEW, _observed("no such file", is_error=True)
        ),
        "The exit ended the terminal, and what was printed before it is lost.": _trial(
            "terminal",
            {"command": "cat src/a.py; exit 3"},
            _observed(
                "The terminal session was reset because the underlying tmux server/session "
                "disappeared while running the previous command.",
                is_error=True,
                exit_code=-1,
            ),
        ),
    },
    ("denied", "-src/a.py"): {
        "The user or a hook rejected the action.": _cat(
            {"kind": "UserRejectObservation", "rejection_reason": "no"}
        ),
        "The output is that of a command before, which went on.": _cat(
            _observed(
                '[Your command "cat src/a.py" is NOT executed. The previous command is still '
                "running.]\n[Below is the output of the previous command.]\nhello",
                exit_code=-1,
            )
        ),
    },
    ("timed out", "-src/a.py"): {
        "The command printed nothing before the time was over.": _cat(
            _observed("", timeout=True, exit_code=-1)
        )
    },
    ("sub-agent", "?src/a.py, ?src/b.py"): {
        "The events hold no call of the sub-agent, which may have seen any file.": _trial(
            "task", {"prompt": "find x"}, _observed("It is in src/a.py")
        )
    },
    ("truncated output", "+src/a.py"): {
        "What the command printed before the time was over was shown.": _cat(
            _observed("import os", timeout=True, exit_code=-1)
        )
    },
    ("write", "-src/a.py"): {
        "A file that the agent creates is no file that it found.": _trial(
            "file_editor",
            {"command": "create", "path": "/workspace/src/a.py", "file_text": "x"},
            _observed("File created successfully at: /workspace/src/a.py"),
        )
    },
    ("other", "?src/a.py"): {"The events end before the command's observation.": _cat()},
}

SHELL = _ran
