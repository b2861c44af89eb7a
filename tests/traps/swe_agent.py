"""SWE-agent's trajectories: what their observations prove."""

from __future__ import annotations

from typing import Any

from tests.traps import Absent, Trap


def _trial(*steps: tuple[str, str], cwd: str = "/testbed") -> dict[str, Any]:
    trajectory = [
        {"action": action, "observation": text, "state": {"working_dir": cwd}}
        for action, text in steps
    ]
    info = {"exit_status": "submitted"}
    return {"agent/t.traj": {"trajectory": trajectory, "info": info, "history": []}}


_WINDOW = "[File: /testbed/src/a.py (2 lines total)]\n1:import os\n2:x = 1"

TRAPS = (
    Trap(
        situation="read",
        files=_trial(("open src/a.py", _WINDOW)),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The window names its file and shows its lines.",
    ),
    Trap(
        situation="search",
        files=_trial(
            (
                "search_dir x src",
                'Found 1 matches for "x" in /testbed/src:\n/testbed/src/a.py (1 matches)',
            ),
        ),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The answer lists the files with matches.",
    ),
    Trap(
        situation="listing",
        files=_trial(
            (
                "find_file '*.py' src",
                'Found 1 matches for "*.py" in /testbed/src:\n/testbed/src/a.py',
            )
        ),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The answer lists the names that were found.",
    ),
    Trap(
        situation="failed read",
        files=_trial(("open src/a.py", "File src/a.py not found")),
        expected={"src/a.py": "none"},
        reason="A file that was not found was not shown.",
    ),
    Trap(
        situation="denied",
        files=_trial(
            ("vim src/a.py", "Operation 'vim src/a.py' is not supported by this environment.")
        ),
        expected={"src/a.py": "none"},
        reason="The environment did not run the command.",
    ),
    Trap(
        situation="timed out",
        files=_trial(
            (
                "cat src/a.py",
                "The command 'cat src/a.py' was cancelled because it took more than 30 seconds.",
            )
        ),
        expected={"src/a.py": "none"},
        reason="The command was killed before it printed anything.",
    ),
    Trap(
        situation="truncated output",
        files=_trial(
            (
                "str_replace_editor view /testbed/src/a.py",
                (
                    "Here's the result of running `cat -n` on /testbed/src/a.py:\n"
                    "     1\timport os\n"
                    "<response clipped><NOTE>To save on context only part was shown.</NOTE>"
                ),
            ),
        ),
        expected={"src/a.py": "certain"},
        reason="The agent saw the lines before the cut.",
    ),
    Trap(
        situation="two checkouts",
        files=_trial(("cat /testbed/src/a.py", "import os")),
        expected={"src/a.py": "certain", "lib/src/b.py": "none"},
        reason="The path names the file below the folder that the state names.",
    ),
    Trap(
        situation="write",
        files=_trial(("create src/a.py", "[File: /testbed/src/a.py (1 lines total)]\n1:")),
        expected={"src/a.py": "none"},
        reason="A file that the agent creates is no file that it found.",
    ),
    Trap(
        situation="other",
        files={
            **_trial(("open src/a.py", "File src/a.py not found")),
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
        },
        expected={"src/a.py": "none"},
        reason="The harness's own file is the record that the trajectory was made from.",
    ),
    Trap(
        situation="read",
        files=_trial(
            ("cat src/a.py", "Your command ran successfully and did not produce any output."),
        ),
        expected={"src/a.py": "none"},
        reason="The sentence is the harness's: the command printed nothing.",
    ),
    Trap(
        situation="search",
        files=_trial(
            (
                "search_dir x src",
                'More than 100 files matched for "x" in /testbed/src. Please narrow your search.',
            )
        ),
        expected={"src/a.py": "none"},
        reason="The answer names no file.",
    ),
    Trap(
        situation="listing",
        files=_trial(
            (
                "str_replace_editor view /testbed",
                (
                    "Here's the files and directories up to 2 levels deep in /testbed, excluding "
                    "hidden items:\n/testbed\n/testbed/src\n/testbed/src/a.py\n/testbed/src/lib"
                ),
            )
        ),
        expected={"src/a.py": "certain", "src/b.py": "none", "src/lib": "possible"},
        reason="No name is marked as a folder; one with an ending and nothing below it is a file.",
    ),
    Trap(
        situation="background",
        files=_trial(("cat src/a.py &", "")),
        expected={"src/a.py": "possible"},
        reason="The shell did not wait for the command, and nothing of it was shown.",
    ),
    Trap(
        situation="write",
        files=_trial(
            (
                "str_replace_editor create /testbed/src/a.py --file_text 'x = 1'",
                "File created successfully at: /testbed/src/a.py",
            ),
            ("ls src", "a.py"),
        ),
        expected={"src/a.py": "none"},
        reason="The agent created the file that it lists.",
    ),
)

ABSENT: Absent = {
    "sub-agent": "No tool of the one agent hands work to another.",
}
