"""Terminus-2's trajectories: what a joint screen proves of each command that was typed."""

from __future__ import annotations

from typing import Any

from tests.traps import Absent, Trap

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


TRAPS = (
    Trap(
        situation="read",
        files=_trial((["cat src/a.py\n"], _screen(("cat src/a.py", "import os\n")))),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The screen shows the output behind the echo of the command.",
    ),
    Trap(
        situation="read",
        files=_trial(
            (
                ["cat src/a.py\n", "cat src/b.py\n"],
                _screen(("cat src/a.py", "import os\n"), ("cat src/b.py", "x = 1\n")),
            )
        ),
        expected={"src/a.py": "certain", "src/b.py": "certain"},
        reason="The echoes of the commands part the joint screen.",
    ),
    Trap(
        situation="search",
        files=_trial((["grep -rn x src\n"], _screen(("grep -rn x src", "src/a.py:1:x\n")))),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="Each line of the output names its file.",
    ),
    Trap(
        situation="listing",
        files=_trial((["ls src\n"], _screen(("ls src", "a.py\n")))),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The output lists the folder.",
    ),
    Trap(
        situation="failed read",
        files=_trial(
            (
                ["cat src/a.py\n"],
                _screen(("cat src/a.py", "cat: src/a.py: No such file or directory\n")),
            )
        ),
        expected={"src/a.py": "none"},
        reason="The output is cat's message that there is no such file.",
    ),
    Trap(
        situation="other",
        files=_trial((["cat src/a.py"], "New Terminal Output:\n\n" + _PROMPT + "cat src/a.py")),
        expected={"src/a.py": "none"},
        reason="Text without a line end was typed and not run.",
    ),
    Trap(
        situation="truncated output",
        files=_trial(
            (
                ["cat src/a.py\n"],
                _screen(
                    ("cat src/a.py", "import os\n[... output limited to 10 bytes; 9 omitted ...]\n")
                ),
            )
        ),
        expected={"src/a.py": "certain"},
        reason="The agent saw the lines that were left.",
    ),
    Trap(
        situation="two checkouts",
        files=_trial((["cat /workspace/src/a.py\n"], _screen(("cat /workspace/src/a.py", "x\n")))),
        expected={"src/a.py": "certain", "lib/src/b.py": "none"},
        reason="The command names the file below the folder of the prompt.",
    ),
    Trap(
        situation="write",
        files=_trial((["echo x > src/a.py\n"], _screen(("echo x > src/a.py", "")))),
        expected={"src/a.py": "none"},
        reason="A file that is written is not shown.",
    ),
    Trap(
        situation="timed out",
        files=_trial(
            (["make; cat src/a.py\n"], _screen(("make; cat src/a.py", ""))[: -len(_PROMPT)]),
            (["C-c"], "New Terminal Output:\n\n^C\n" + _PROMPT),
        ),
        expected={"src/a.py": "possible", "src/b.py": "none"},
        reason="The screen of the command's own step shows no output and no end.",
    ),
    Trap(
        situation="background",
        files=_trial(
            (["make; cat src/a.py\n"], _screen(("make; cat src/a.py", ""))[: -len(_PROMPT)]),
            ([""], "New Terminal Output:\n\nimport os\n" + _PROMPT),
        ),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="A step that waits shows more of the command that is running.",
    ),
    Trap(
        situation="timed out",
        files=_trial(
            (
                ["make && cat src/a.py\n"],
                f"New Terminal Output:\n\n{_PROMPT}make && cat src/a.py\ngcc main.c\n",
            )
        ),
        expected={"src/a.py": "possible"},
        reason="The command goes on, and what it printed so far may be its first part's.",
    ),
    Trap(
        situation="truncated output",
        files=_trial(
            (
                ["grep -rn x src\n"],
                _screen(
                    (
                        "grep -rn x src",
                        "src/a.py:1:x\n[... output limited to 9 bytes ...]\nsrc/c.py:3:x\n",
                    )
                ),
            )
        ),
        expected={"src/a.py": "certain", "src/b.py": "none", "src/c.py": "certain"},
        reason="The harness left out the middle, so that the agent did not see it either.",
    ),
)

ABSENT: Absent = {
    "denied": "Nothing stands between the keys and the terminal that could refuse them.",
    "sub-agent": "Only a summary is written by another agent, in a trajectory of its own.",
}
