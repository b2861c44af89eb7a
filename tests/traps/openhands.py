"""OpenHands' events of version 0: what their observations prove."""

from __future__ import annotations

from typing import Any

from tests.traps import Rows

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


def _one(*step: Any) -> dict[str, Any]:
    return _trial(step)


def _ran(command: str, text: str, code: int = 0) -> dict[str, Any]:
    return _one("run", {"command": command}, _run(text, code))


def _seen(observation: str, content: str) -> dict[str, Any]:
    return {"observation": observation, "content": content}


TRAPS: Rows = {
    ("read", "+src/a.py, -src/b.py"): {
        "The observation shows numbered lines of the file.": _one(
            "read", {"path": "/workspace/src/a.py"}, _seen("read", _VIEW)
        ),
        "The cell opens a literal path and prints what it read.": _one(
            "run_ipython",
            {"code": "print(open('/workspace/src/a.py').read())"},
            _seen("run_ipython", "import os"),
        ),
    },
    ("failed read", "-src/a.py"): {
        "The observation is an error.": _one(
            "read",
            {"path": "/workspace/src/a.py"},
            _seen("error", "The path /workspace/src/a.py does not exist."),
        )
    },
    ("denied", "-src/a.py"): {
        "The user rejected the action.": _one(
            "run", {"command": "cat src/a.py"}, _seen("user_rejected", "no")
        )
    },
    ("timed out", "-src/a.py"): {
        "The command printed nothing before the time was over.": _ran(
            "cat src/a.py", "[The command timed out after 30.0 seconds. Try again.]", -1
        )
    },
    ("background", "+src/a.py, -src/b.py"): {
        "An empty command waits for the one that is running and shows its output.": _trial(
            (
                "run",
                {"command": "make && cat src/a.py"},
                _run("[The command has no new output after 10.0 seconds. Wait.]", -1),
            ),
            ("run", {"command": "", "is_input": "true"}, _run("import os")),
        )
    },
    ("sub-agent", "?src/a.py"): {
        "The calls of the sub-agent are in a session of its own, which is not there.": {
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
        }
    },
    ("two checkouts", "+src/a.py, -lib/src/b.py"): {
        "The command names the file below the folder of the shell.": _trial(
            ("run", {"command": "cd /other"}, {**_run(""), "content": ""}),
            ("run", {"command": "cat /workspace/src/a.py"}, _run("import os")),
        )
    },
    ("truncated output", "+src/a.py"): {
        "The agent saw the beginning and the end of the file.": _ran(
            "cat /workspace/src/a.py",
            "import os\n[... Observation truncated due to length ...]\nx = 1",
        )
    },
    ("write", "-src/a.py"): {
        "A file that the agent creates is no file that it found.": _one(
            "edit",
            {"command": "create", "path": "/workspace/src/a.py", "file_text": "x"},
            _seen("edit", "File created successfully at: /workspace/src/a.py"),
        )
    },
    ("other", "?src/a.py, -src/b.py"): {
        "The cell printed something that it made out of the file.": _one(
            "run_ipython",
            {"code": "import re\nprint(re.findall('x', open('/workspace/src/a.py').read()))"},
            _seen("run_ipython", "['x']"),
        )
    },
}

SHELL = _ran
