"""Terminus-2's trajectories: what a joint screen proves of each command that was typed."""

from __future__ import annotations

from typing import Any

from tests.traps import Absent, Rows

_PROMPT = "root@5f1c:/workspace# "


def _trial(*steps: tuple[list[str], str | None]) -> dict[str, Any]:
    document: dict[str, Any] = {
        "schema_version": "ATIF-v1.6",
        "agent": {"name": "terminus-2", "version": "2.0.0"},
        "steps": [],
    }
    for number, (keys, screen) in enumerate(steps):
        calls = [
            {
                "tool_call_id": f"call_{number}_{place}",
                "function_name": "bash_command",
                "arguments": {"keystrokes": typed, "duration": 0.1},
            }
            for place, typed in enumerate(keys)
        ]
        step: dict[str, Any] = {"step_id": number + 1, "source": "agent", "tool_calls": calls}
        if screen is not None:
            step["observation"] = {"results": [{"content": screen}]}
        document["steps"].append(step)
    return {"agent/trajectory.json": document}


def _screen(*parts: tuple[str, str]) -> str:
    rows = [f"{_PROMPT}{command}\n{output}" for command, output in parts]
    return "New Terminal Output:\n\n" + "".join(rows) + _PROMPT


def _one(*step: Any) -> dict[str, Any]:
    return _trial(step)


def _ran(command: str, output: str) -> dict[str, Any]:
    return _one([f"{command}\n"], _screen((command, output)))


TRAPS: Rows = {
    ("read", "+src/a.py, -src/b.py"): {
        "The screen shows the output behind the echo of the command.": _ran(
            "cat src/a.py", "import os\n"
        )
    },
    ("read", "+src/a.py, +src/b.py"): {
        "The echoes of the commands part the joint screen.": _one(
            ["cat src/a.py\n", "cat src/b.py\n"],
            _screen(("cat src/a.py", "import os\n"), ("cat src/b.py", "x = 1\n")),
        )
    },
    ("failed read", "-src/a.py"): {
        "The output is cat's message that there is no such file.": _ran(
            "cat src/a.py", "cat: src/a.py: No such file or directory\n"
        )
    },
    ("timed out", "?src/a.py, -src/b.py"): {
        "The screen of the command's own step shows no output and no end.": _trial(
            (["make; cat src/a.py\n"], _screen(("make; cat src/a.py", ""))[: -len(_PROMPT)]),
            (["C-c"], "New Terminal Output:\n\n^C\n" + _PROMPT),
        )
    },
    ("timed out", "?src/a.py"): {
        "The command goes on, and what it printed so far may be its first part's.": _one(
            ["make && cat src/a.py\n"],
            f"New Terminal Output:\n\n{_PROMPT}make && cat src/a.py\ngcc main.c\n",
        )
    },
    ("background", "+src/a.py, -src/b.py"): {
        "A step that waits shows more of the command that is running.": _trial(
            (["make; cat src/a.py\n"], _screen(("make; cat src/a.py", ""))[: -len(_PROMPT)]),
            ([""], "New Terminal Output:\n\nimport os\n" + _PROMPT),
        )
    },
    ("two checkouts", "+src/a.py, -lib/src/b.py"): {
        "The command names the file below the folder of the prompt.": _ran(
            "cat /workspace/src/a.py", "x\n"
        )
    },
    ("truncated output", "+src/a.py"): {
        "The agent saw the lines that were left.": _ran(
            "cat src/a.py", "import os\n[... output limited to 10 bytes; 9 omitted ...]\n"
        )
    },
    ("truncated output", "+src/a.py, -src/b.py, +src/c.py"): {
        "The harness left out the middle, so that the agent did not see it either.": _ran(
            "grep -rn x src", "src/a.py:1:x\n[... output limited to 9 bytes ...]\nsrc/c.py:3:x\n"
        )
    },
    ("write", "-src/a.py"): {"A file that is written is not shown.": _ran("echo x > src/a.py", "")},
    ("other", "-src/a.py"): {
        "Text without a line end was typed and not run.": _one(
            ["cat src/a.py"], "New Terminal Output:\n\n" + _PROMPT + "cat src/a.py"
        )
    },
}

SHELL = _ran

ABSENT: Absent = {
    "denied": "Nothing stands between the keys and the terminal that could refuse them.",
    "sub-agent": "Only a summary is written by another agent, in a trajectory of its own.",
}
