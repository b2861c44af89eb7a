"""OpenHands' events of version 0: what their observations prove."""

from __future__ import annotations

from typing import Any

from tests.traps import Trap

_Step = tuple[str, dict[str, Any], dict[str, Any] | None]


def _run(text: str, code: int = 0) -> dict[str, Any]:
    metadata = {"exit_code": code, "working_dir": "/workspace"}
    return {"observation": "run", "content": text, "extras": {"metadata": metadata}}


def _trial(*steps: _Step, name: str = "agent/sessions/s/events/{}.json") -> dict[str, Any]:
    files: dict[str, Any] = {}
    for number, (action, arguments, result) in enumerate(steps):
        event = {"id": 2 * number, "source": "agent", "action": action, "args": arguments}
        files[name.format(2 * number)] = event
        if result is not None:
            answer = {"id": 2 * number + 1, "source": "agent", "cause": 2 * number, **result}
            files[name.format(2 * number + 1)] = answer
    return files


_VIEW = "Here's the result of running `cat -n` on /workspace/src/a.py:\n     1\timport os\n"

TRAPS = (
    Trap(
        situation="read",
        files=_trial(
            ("read", {"path": "/workspace/src/a.py"}, {"observation": "read", "content": _VIEW}),
        ),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The observation shows numbered lines of the file.",
    ),
    Trap(
        situation="read",
        files=_trial(
            (
                "run_ipython",
                {"code": "print(open('/workspace/src/a.py').read())"},
                {"observation": "run_ipython", "content": "import os"},
            ),
        ),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The cell opens a literal path and prints what it read.",
    ),
    Trap(
        situation="other",
        files=_trial(
            (
                "run_ipython",
                {"code": "import re\nprint(re.findall('x', open('/workspace/src/a.py').read()))"},
                {"observation": "run_ipython", "content": "['x']"},
            ),
        ),
        expected={"src/a.py": "possible", "src/b.py": "none"},
        reason="The cell printed something that it made out of the file.",
    ),
    Trap(
        situation="search",
        files=_trial(("run", {"command": "grep -rn x src"}, _run("src/a.py:1:x"))),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="Each line of the output names its file.",
    ),
    Trap(
        situation="listing",
        files=_trial(("run", {"command": "ls /workspace/src"}, _run("a.py"))),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The output lists the folder.",
    ),
    Trap(
        situation="failed read",
        files=_trial(
            (
                "read",
                {"path": "/workspace/src/a.py"},
                {"observation": "error", "content": "The path /workspace/src/a.py does not exist."},
            ),
        ),
        expected={"src/a.py": "none"},
        reason="The observation is an error.",
    ),
    Trap(
        situation="denied",
        files=_trial(
            (
                "run",
                {"command": "cat src/a.py"},
                {"observation": "user_rejected", "content": "no"},
            ),
        ),
        expected={"src/a.py": "none"},
        reason="The user rejected the action.",
    ),
    Trap(
        situation="timed out",
        files=_trial(
            (
                "run",
                {"command": "cat src/a.py"},
                _run("[The command timed out after 30.0 seconds. Try again.]", -1),
            ),
        ),
        expected={"src/a.py": "none"},
        reason="The command printed nothing before the time was over.",
    ),
    Trap(
        situation="truncated output",
        files=_trial(
            (
                "run",
                {"command": "cat /workspace/src/a.py"},
                _run("import os\n[... Observation truncated due to length ...]\nx = 1"),
            ),
        ),
        expected={"src/a.py": "certain"},
        reason="The agent saw the beginning and the end of the file.",
    ),
    Trap(
        situation="write",
        files=_trial(
            (
                "edit",
                {"command": "create", "path": "/workspace/src/a.py", "file_text": "x"},
                {
                    "observation": "edit",
                    "content": "File created successfully at: /workspace/src/a.py",
                },
            ),
        ),
        expected={"src/a.py": "none"},
        reason="A file that the agent creates is no file that it found.",
    ),
    Trap(
        situation="two checkouts",
        files=_trial(
            ("run", {"command": "cd /other"}, {**_run(""), "content": ""}),
            ("run", {"command": "cat /workspace/src/a.py"}, _run("import os")),
        ),
        expected={"src/a.py": "certain", "lib/src/b.py": "none"},
        reason="The command names the file below the folder of the shell.",
    ),
    Trap(
        situation="background",
        files=_trial(
            (
                "run",
                {"command": "make && cat src/a.py"},
                _run("[The command has no new output after 10.0 seconds. Wait.]", -1),
            ),
            ("run", {"command": "", "is_input": "true"}, _run("import os")),
        ),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="An empty command waits for the one that is running and shows its output.",
    ),
    Trap(
        situation="sub-agent",
        files={
            "agent/sessions/s/events/event-00001-1.json": {
                "kind": "ActionEvent",
                "source": "agent",
                "tool_name": "delegate",
                "tool_call_id": "c",
                "action": {"command": "delegate", "tasks": {"look": "find x"}},
            },
            "agent/sessions/s/events/event-00002-2.json": {
                "kind": "ObservationEvent",
                "source": "environment",
                "tool_call_id": "c",
                "observation": {
                    "content": [{"type": "text", "text": "x is in src/a.py"}],
                    "is_error": False,
                },
            },
        },
        expected={"src/a.py": "possible"},
        reason="The calls of the sub-agent are in a session of its own, which is not there.",
    ),
)
