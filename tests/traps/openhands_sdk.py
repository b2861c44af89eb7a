"""OpenHands' SDK: what its events prove."""

from __future__ import annotations

from typing import Any

from tests.traps import Trap

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
_CAT = {"command": "cat src/a.py"}

TRAPS = (
    Trap(
        situation="failed read",
        files=_trial(
            "terminal",
            {"command": "cat src/a.py; exit 3"},
            _observed(
                "The terminal session was reset because the underlying tmux server/session "
                "disappeared while running the previous command.",
                is_error=True,
                exit_code=-1,
            ),
        ),
        expected={"src/a.py": "none"},
        reason="The exit ended the terminal, and what was printed before it is lost.",
    ),
    Trap(
        situation="read",
        files=_trial(
            "file_editor",
            _VIEW,
            _observed(
                "Here's the result of running `cat -n` on /workspace/src/a.py:\n     1\timport os"
            ),
        ),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The observation shows numbered lines of the file.",
    ),
    Trap(
        situation="search",
        files=_trial("grep", {"pattern": "x"}, _observed("1", matches=["/workspace/src/a.py"])),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The observation lists the files with matches.",
    ),
    Trap(
        situation="listing",
        files=_trial("glob", {"pattern": "*"}, _observed("1", files=["/workspace/src/a.py"])),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The observation lists the names that were found.",
    ),
    Trap(
        situation="failed read",
        files=_trial("file_editor", _VIEW, _observed("no such file", is_error=True)),
        expected={"src/a.py": "none"},
        reason="The observation is marked as an error.",
    ),
    Trap(
        situation="denied",
        files=_trial("terminal", _CAT, {"kind": "UserRejectObservation", "rejection_reason": "no"}),
        expected={"src/a.py": "none"},
        reason="The user or a hook rejected the action.",
    ),
    Trap(
        situation="timed out",
        files=_trial("terminal", _CAT, _observed("", timeout=True, exit_code=-1)),
        expected={"src/a.py": "none"},
        reason="The command printed nothing before the time was over.",
    ),
    Trap(
        situation="truncated output",
        files=_trial("terminal", _CAT, _observed("import os", timeout=True, exit_code=-1)),
        expected={"src/a.py": "certain"},
        reason="What the command printed before the time was over was shown.",
    ),
    Trap(
        situation="write",
        files=_trial(
            "file_editor",
            {"command": "create", "path": "/workspace/src/a.py", "file_text": "x"},
            _observed("File created successfully at: /workspace/src/a.py"),
        ),
        expected={"src/a.py": "none"},
        reason="A file that the agent creates is no file that it found.",
    ),
    Trap(
        situation="other",
        files=_trial("terminal", _CAT),
        expected={"src/a.py": "possible"},
        reason="The events end before the command's observation.",
    ),
    Trap(
        situation="background",
        files=_trial("terminal", {"command": "cat src/a.py &"}, _observed("", exit_code=0)),
        expected={"src/a.py": "possible"},
        reason="The shell did not wait for the command, and nothing of it was shown.",
    ),
    Trap(
        situation="sub-agent",
        files=_trial("task", {"prompt": "find x"}, _observed("It is in src/a.py")),
        expected={"src/a.py": "possible", "src/b.py": "possible"},
        reason="The events hold no call of the sub-agent, which may have seen any file.",
    ),
    Trap(
        situation="two checkouts",
        files=_trial("terminal", {"command": "cd lib && cat src/a.py"}, _observed("x = 1")),
        expected={"src/a.py": "none", "lib/src/a.py": "certain"},
        reason="The command ran in the other folder, whose file has the same name.",
    ),
    Trap(
        situation="denied",
        files=_trial(
            "terminal",
            _CAT,
            _observed(
                '[Your command "cat src/a.py" is NOT executed. The previous command is still '
                "running.]\n[Below is the output of the previous command.]\nhello",
                exit_code=-1,
            ),
        ),
        expected={"src/a.py": "none"},
        reason="The output is that of a command before, which went on.",
    ),
)
