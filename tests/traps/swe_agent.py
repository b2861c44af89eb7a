"""SWE-agent's trajectories: what their observations prove."""

from __future__ import annotations

from typing import Any

from tests.traps import Absent, Rows


def _trial(*steps: tuple[str, str], cwd: str = "/testbed") -> dict[str, Any]:
    trajectory = [
        {"action": action, "observation": text, "state": {"working_dir": cwd}}
        for action, text in steps
    ]
    info = {"exit_status": "submitted"}
    return {"agent/t.traj": {"trajectory": trajectory, "info": info, "history": []}}


_WINDOW = "[File: /testbed/src/a.py (2 lines total)]\n1:import os\n2:x = 1"


def _one(*step: Any) -> dict[str, Any]:
    return _trial(step)


TRAPS: Rows = {
    ("read", "+src/a.py, -src/b.py"): {
        "The window names its file and shows its lines.": _one("open src/a.py", _WINDOW)
    },
    ("read", "-src/a.py"): {
        "The sentence is the harness's: the command printed nothing.": _one(
            "cat src/a.py", "Your command ran successfully and did not produce any output."
        )
    },
    ("search", "+src/a.py, -src/b.py"): {
        "The answer lists the files with matches.": _one(
            "search_dir x src",
            'Found 1 matches for "x" in /testbed/src:\n/testbed/src/a.py (1 matches)',
        )
    },
    ("search", "-src/a.py"): {
        "The answer names no file.": _one(
            "search_dir x src",
            'More than 100 files matched for "x" in /testbed/src. Please narrow your search.',
        )
    },
    ("listing", "+src/a.py, -src/b.py"): {
        "The answer lists the names that were found.": _one(
            "find_file '*.py' src", 'Found 1 matches for "*.py" in /testbed/src:\n/testbed/src/a.py'
        )
    },
    ("listing", "+src/a.py, -src/b.py, ?src/lib"): {
        "No name is marked as a folder; one with an ending and nothing below it is a file.": _one(
            "str_replace_editor view /testbed",
            "Here's the files and directories up to 2 levels deep in /testbed, excluding "
            "hidden items:\n/testbed\n/testbed/src\n/testbed/src/a.py\n/testbed/src/lib",
        )
    },
    ("failed read", "-src/a.py"): {
        "A file that was not found was not shown.": _one("open src/a.py", "File src/a.py not found")
    },
    ("denied", "-src/a.py"): {
        "The environment did not run the command.": _one(
            "vim src/a.py", "Operation 'vim src/a.py' is not supported by this environment."
        )
    },
    ("timed out", "-src/a.py"): {
        "The command was killed before it printed anything.": _one(
            "cat src/a.py",
            "The command 'cat src/a.py' was cancelled because it took more than 30 seconds.",
        )
    },
    ("two checkouts", "+src/a.py, -lib/src/b.py"): {
        "The path names the file below the folder that the state names.": _one(
            "cat /testbed/src/a.py", "import os"
        )
    },
    ("truncated output", "+src/a.py"): {
        "The agent saw the lines before the cut.": _one(
            "str_replace_editor view /testbed/src/a.py",
            "Here's the result of running `cat -n` on /testbed/src/a.py:\n"
            "     1\timport os\n"
            "<response clipped><NOTE>To save on context only part was shown.</NOTE>",
        )
    },
    ("write", "-src/a.py"): {
        "A file that the agent creates is no file that it found.": _one(
            "create src/a.py", "[File: /testbed/src/a.py (1 lines total)]\n1:"
        ),
        "The agent created the file that it lists.": _trial(
            (
                "str_replace_editor create /testbed/src/a.py --file_text 'x = 1'",
                "File created successfully at: /testbed/src/a.py",
            ),
            ("ls src", "a.py"),
        ),
    },
    ("other", "-src/a.py"): {
        "The harness's own file is the record that the trajectory was made from.": {
            **_one("open src/a.py", "File src/a.py not found"),
            "agent/trajectory.json": {
                "schema_version": "ATIF-v1.5",
                "agent": {"name": "swe-agent", "version": "1"},
                "steps": [
                    {
                        "step_id": 1,
                        "source": "agent",
                        "tool_calls": [
                            {
                                "tool_call_id": "call_1",
                                "function_name": "swe_agent_action",
                                "arguments": {"raw_action": "open src/a.py"},
                            }
                        ],
                        "observation": {"results": [{"source_call_id": "call_1", "content": "x"}]},
                    }
                ],
            },
        }
    },
}

SHELL = _one

ABSENT: Absent = {"sub-agent": "No tool of the one agent hands work to another."}
