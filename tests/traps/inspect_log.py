"""Inspect: what the tool events of a sample prove."""

from __future__ import annotations

from typing import Any

from tests.traps import Trap


def _sample(
    function: str,
    arguments: dict[str, Any],
    result: str,
    *,
    error: tuple[str, str] | None = None,
    **more: Any,
) -> dict[str, Any]:
    event: dict[str, Any] = {
        "event": "tool",
        "id": "c",
        "function": function,
        "arguments": arguments,
        "result": result,
        "error": {"type": error[0], "message": error[1]} if error else None,
    }
    sandbox = {"event": "sandbox", "action": "read_file", "file": "/workspace/src/b.py"}
    one = {"id": "t", "epoch": 1, "messages": [], "events": [sandbox, event | more]}
    return {"agent/trajectory.json": {"version": 2, "eval": {"model": "m"}, "samples": [one]}}


_CUT = (
    "\nThe output of your call to bash was too long to be displayed.\n"
    "Here is a truncated version:\n<START_TOOL_OUTPUT>\n{}\n<END_TOOL_OUTPUT>"
)

TRAPS = (
    Trap(
        situation="read",
        files=_sample("read_file", {"file_path": "/workspace/src/a.py"}, "1\timport os"),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The tool answered with numbered lines; what the sandbox did is not what was shown.",
    ),
    Trap(
        situation="read",
        files=_sample("bash", {"cmd": "cd /workspace && cat src/a.py"}, "import os\n"),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The command printed the file.",
    ),
    Trap(
        situation="search",
        files=_sample(
            "grep", {"pattern": "x", "path": "/workspace"}, "/workspace/src/a.py:3:x = 1"
        ),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The search answered with a path, a line number and the line.",
    ),
    Trap(
        situation="listing",
        files=_sample("list_files", {"path": "/workspace"}, "/workspace/src\n/workspace/src/a.py"),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The listing names the file.",
    ),
    Trap(
        situation="failed read",
        files=_sample(
            "read_file",
            {"file_path": "/workspace/src/a.py"},
            "",
            error=("unknown", "File not found: /workspace/src/a.py"),
        ),
        expected={"src/a.py": "none"},
        reason="The model saw the message of the error.",
    ),
    Trap(
        situation="denied",
        files=_sample(
            "bash", {"cmd": "cat /workspace/src/a.py"}, "", error=("approval", "rejected")
        ),
        expected={"src/a.py": "none"},
        reason="A call that was not approved did not run.",
    ),
    Trap(
        situation="timed out",
        files=_sample(
            "bash",
            {"cmd": "cat /workspace/src/a.py"},
            "",
            error=("timeout", "Command timed out before completing."),
        ),
        expected={"src/a.py": "none"},
        reason="The command was ended before its output was returned.",
    ),
    Trap(
        situation="truncated output",
        files=_sample(
            "bash",
            {"cmd": "cd /workspace && grep -rn x ."},
            _CUT.format("./src/a.py:3:x = 1\n./src/z.py:3:x = 1"),
        ),
        expected={"src/a.py": "certain", "src/b.py": "none", "src/z.py": "certain"},
        reason="The halves that were shown name two files.",
    ),
    Trap(
        situation="truncated output",
        files=_sample(
            "bash",
            {"cmd": "cd /workspace && cat src/a.py src/b.py src/z.py"},
            _CUT.format("a = 1\nz = 1"),
        ),
        expected={"src/b.py": "possible"},
        reason="The log joins the two halves, between which the file may be left out.",
    ),
    Trap(
        situation="listing",
        files=_sample("list_files", {"path": "src"}, "src/a.py\nsrc/my notes\nsrc/x\nsrc/x/y.py"),
        expected={"src/a.py": "certain", "src/my notes": "possible", "src/x": "none"},
        reason="Names with a space are names; those without an ending may be folders.",
    ),
    Trap(
        situation="write",
        files=_sample(
            "text_editor",
            {"command": "create", "path": "/workspace/src/a.py", "file_text": "x"},
            "File created successfully at: /workspace/src/a.py",
        ),
        expected={"src/a.py": "none"},
        reason="Writing a file does not show it to the agent.",
    ),
    Trap(
        situation="other",
        files=_sample("read_file", {"file_path": "/workspace/src/a.py"}, "", pending=True),
        expected={"src/a.py": "possible", "src/b.py": "none"},
        reason="The call was under way when the log was written.",
    ),
    Trap(
        situation="read",
        files=_sample("python", {"code": "print(open('/workspace/src/a.py').read())"}, "x = 1\n"),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The program opens a literal path and prints its content.",
    ),
    Trap(
        situation="sub-agent",
        files={
            "agent/trajectory.json": {
                "eval": {"model": "m"},
                "samples": [
                    {
                        "id": "t",
                        "epoch": 1,
                        "messages": [],
                        "events": [
                            {"event": "span_begin", "id": "s1", "type": "tool"},
                            {
                                "event": "span_begin",
                                "id": "s2",
                                "type": "agent",
                                "parent_id": "s1",
                            },
                            {
                                "event": "tool",
                                "id": "c",
                                "span_id": "s2",
                                "function": "read_file",
                                "arguments": {"file_path": "/workspace/src/a.py"},
                                "result": "1\timport os",
                            },
                        ],
                    }
                ],
            }
        },
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The log holds the calls of sub-agents beside those of the agent.",
    ),
    Trap(
        situation="other",
        files=_sample(
            "bash_session",
            {"action": "type_submit", "input": "cat /workspace/src/a.py"},
            "import os\n$ ",
        ),
        expected={"src/a.py": "possible", "src/b.py": "none"},
        reason="The keys that were typed name the file, and the session shows what it likes.",
    ),
    Trap(
        situation="background",
        files=_sample("bash", {"cmd": "cd /workspace && cat src/a.py &"}, ""),
        expected={"src/a.py": "possible"},
        reason="The shell did not wait for the command, and nothing of it was shown.",
    ),
    Trap(
        situation="two checkouts",
        files=_sample("bash", {"cmd": "cd /workspace/lib && cat src/a.py"}, "x = 1\n"),
        expected={"src/a.py": "none", "lib/src/a.py": "certain"},
        reason="The command ran in the other folder, whose file has the same name.",
    ),
    Trap(
        situation="other",
        files=_sample(
            "bash",
            {"cmd": "cd /workspace && cat src/a.py"},
            "",
            error=("limit", "Token limit exceeded. value: 1001; limit: 1000"),
        ),
        expected={"src/a.py": "none"},
        reason="Nothing but the message of the error was shown.",
    ),
)
