"""Gemini CLI: what its session files and its stream prove."""

from __future__ import annotations

from typing import Any

from tests.traps import Trap

META = {"sessionId": "s", "projectHash": "h", "startTime": "2026-02-03T10:00:00Z"}
GREP = 'Found 1 match for pattern "x" in path "src":\n---\nFile: a.py\nL3: x\n---'
CUT = (
    "\nIMPORTANT: The file content has been truncated.\n"
    "Status: Showing lines 1-2 of 900 total lines.\nAction: read more.\n\n"
    "--- FILE CONTENT (truncated) ---\nimport os"
)


def _call(
    name: str, arguments: dict[str, Any], output: str | None, status: str = "success", n: int = 0
) -> dict[str, Any]:
    key = "output" if status == "success" else "error"
    call: dict[str, Any] = {"id": f"c{n}", "name": name, "args": arguments, "status": status}
    if output is not None:
        call["result"] = [{"functionResponse": {"response": {key: output}}}]
    return call


def _trial(*calls: dict[str, Any], **meta: Any) -> dict[str, Any]:
    message = {"id": "m", "timestamp": "2026-02-03T10:00:01Z", "type": "gemini"}
    lines = [{**META, **meta}, {**message, "toolCalls": list(calls)}]
    return {"agent/gemini-cli.trajectory.jsonl": lines}


def _stream(name: str, parameters: dict[str, Any], output: str | None) -> dict[str, Any]:
    result = {"type": "tool_result", "tool_id": "c", "status": "success"}
    return {
        "agent/gemini-cli.txt": [
            {"type": "init", "session_id": "s", "model": "gemini-3-pro"},
            {"type": "tool_use", "tool_name": name, "tool_id": "c", "parameters": parameters},
            result if output is None else {**result, "output": output},
            {"type": "result", "status": "success", "stats": {"total_tokens": 10}},
        ]
    }


def _shell(command: str, output: str | None, **more: Any) -> dict[str, Any]:
    return _call("run_shell_command", {"command": command, **more}, output)


def _trajectory(name: str, arguments: dict[str, Any], content: str | None) -> dict[str, Any]:
    """Return a trajectory made from a session, with one call."""
    call = {"tool_call_id": "c", "function_name": name, "arguments": arguments}
    result = {"source_call_id": "c", "content": content}
    step = {"step_id": 1, "source": "agent", "tool_calls": [call]}
    return {
        "agent/trajectory.json": {
            "schema_version": "ATIF-v1.7",
            "agent": {"name": "gemini-cli"},
            "steps": [{**step, "observation": {"results": [result]}}],
        }
    }


TRAPS = (
    Trap(
        situation="read",
        files=_trial(_call("read_file", {"file_path": "src/a.py"}, "import os")),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The tool answered with the content of the file.",
    ),
    Trap(
        situation="read",
        files=_stream("read_file", {"file_path": "src/a.py"}, ""),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="A read that succeeded displays nothing for a whole file, which the agent got.",
    ),
    Trap(
        situation="read",
        files=_trial(_shell("cat src/a.py", "Output: import os\nProcess Group PGID: 9")),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The output of a command that names the file is not empty.",
    ),
    Trap(
        situation="search",
        files=_trial(_call("grep_search", {"pattern": "x", "dir_path": "src"}, GREP)),
        expected={"src/a.py": "certain", "a.py": "none"},
        reason="Paths are relative to the folder that was searched.",
    ),
    Trap(
        situation="search",
        files=_stream("grep_search", {"pattern": "x", "dir_path": "src"}, None),
        expected={"src/a.py": "possible", "lib/a.py": "none"},
        reason="The stream does not keep what a search found below the folder.",
    ),
    Trap(
        situation="search",
        files=_trial(
            _call("grep_search", {"pattern": "x"}, 'No matches found for pattern "x" in path ".".')
        ),
        expected={"src/a.py": "none"},
        reason="The answer says that nothing was found.",
    ),
    Trap(
        situation="listing",
        files=_trial(
            _call(
                "list_directory",
                {"dir_path": "/workspace/src"},
                "Directory listing for /workspace/src:\n[DIR] lib\na.py (12 bytes)",
            )
        ),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The listing names the folder and the file in it.",
    ),
    Trap(
        situation="listing",
        files=_stream("glob", {"pattern": "src/**/*.py"}, "Found 3 matching file(s)"),
        expected={"src/lib/a.py": "possible", "src/a.md": "none"},
        reason="The stream counts the files that fit the pattern and does not name them.",
    ),
    Trap(
        situation="failed read",
        files=_trial(
            _call("read_file", {"file_path": "src/a.py"}, "File not found: src/a.py", "error")
        ),
        expected={"src/a.py": "none"},
        reason="The status is an error.",
    ),
    Trap(
        situation="denied",
        files=_trial(
            _call(
                "read_file", {"file_path": "src/a.py"}, "Tool execution denied by policy.", "error"
            )
        ),
        expected={"src/a.py": "none"},
        reason="A policy denied the call.",
    ),
    Trap(
        situation="denied",
        files=_trial(
            _call(
                "run_shell_command",
                {"command": "cat src/a.py"},
                "[Operation Cancelled] Reason: User did not allow tool call",
                "cancelled",
            )
        ),
        expected={"src/a.py": "none"},
        reason="The status says that the call was cancelled.",
    ),
    Trap(
        situation="timed out",
        files=_trial(
            _shell(
                "cat src/a.py",
                "Command was automatically cancelled because it exceeded the timeout of 5.0 minutes"
                " without output. There was no output before it was cancelled.",
            )
        ),
        expected={"src/a.py": "none"},
        reason="The command printed nothing before it was cancelled.",
    ),
    Trap(
        situation="timed out",
        files=_trial(
            _shell(
                "cat src/a.py && sleep 999",
                "Command was automatically cancelled because it exceeded the timeout of 5.0 minutes"
                " without output. Below is the output before it was cancelled:\nimport os",
            )
        ),
        expected={"src/a.py": "certain"},
        reason="What was printed before the command was cancelled was seen.",
    ),
    Trap(
        situation="write",
        files=_trial(
            _call(
                "replace",
                {"file_path": "/w/src/a.py", "old_string": "x = 1", "new_string": "x = 2"},
                "Successfully modified file: /w/src/a.py (1 replacements).\n"
                "Here is the updated code:\nimport os\n\nx = 2\ny = 3",
            ),
            _call(
                "write_file",
                {"file_path": "/w/src/b.py", "content": "z = 1"},
                "Successfully created and wrote to new file: /w/src/b.py. "
                "Here is the updated code:\nz = 1",
                n=1,
            ),
            directories=["/w"],
        ),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The answer shows the lines around the edit, and of a new file the agent's own.",
    ),
    Trap(
        situation="sub-agent",
        files=_trial(
            _call("read_file", {"file_path": "src/a.py"}, "import os"),
            _call("delegate_to_agent", {"agent_name": "x", "objective": "look"}, "Done.", n=1),
        ),
        expected={"src/a.py": "certain", "src/b.py": "possible"},
        reason="Older versions delegate by this name, and the sub-agent's session is not there.",
    ),
    Trap(
        situation="sub-agent",
        files={
            "agent/sessions/session-a.jsonl": [
                META,
                {
                    "id": "m",
                    "type": "gemini",
                    "toolCalls": [_call("invoke_agent", {"agent_name": "x"}, "It is in src.")],
                },
            ],
            "agent/sessions/s/sub.jsonl": [
                {**META, "sessionId": "sub", "kind": "subagent"},
                {
                    "id": "n",
                    "type": "gemini",
                    "toolCalls": [_call("read_file", {"file_path": "src/a.py"}, "x", n=9)],
                },
            ],
        },
        expected={"src/a.py": "certain"},
        reason="The sub-agent's own file is beside that of the main agent.",
    ),
    Trap(
        situation="two checkouts",
        files=_trial(
            _shell("cd lib && ls", "Output: README.md"),
            _call("run_shell_command", {"command": "cat src/a.py"}, "Output: import os", n=1),
            directories=["/workspace"],
        ),
        expected={"src/a.py": "certain", "lib/src/a.py": "none"},
        reason="A command starts in the project's folder, not where another one ended.",
    ),
    Trap(
        situation="truncated output",
        files=_trial(_call("read_file", {"file_path": "src/a.py"}, CUT)),
        expected={"src/a.py": "certain"},
        reason="The agent saw the lines that the answer states.",
    ),
    Trap(
        situation="write",
        files=_trial(
            _call(
                "write_file",
                {"file_path": "/workspace/src/a.py", "content": "x"},
                "Successfully created",
            )
        ),
        expected={"src/a.py": "none"},
        reason="Writing a file does not show it to the agent.",
    ),
    Trap(
        situation="other",
        files={
            "agent/gemini-cli.trajectory.jsonl": [
                META,
                {
                    "id": "m1",
                    "type": "gemini",
                    "toolCalls": [_call("read_file", {"file_path": "src/a.py"}, "import os")],
                },
                {"$set": {"messages": [{"id": "m2", "type": "user", "content": "a summary"}]}},
            ]
        },
        expected={"src/a.py": "certain"},
        reason="The agent read the file before its history was replaced by a summary.",
    ),
    Trap(
        situation="background",
        files=_trial(
            _shell(
                "cat src/a.py",
                "Command is running in background. PID: 71",
                is_background=True,
            )
        ),
        expected={"src/a.py": "possible", "src/b.py": "none"},
        reason="The output of the command was not fetched.",
    ),
    Trap(
        situation="search",
        files=_trajectory("grep_search", {"pattern": "x", "dir_path": "src"}, GREP),
        expected={"src/a.py": "certain", "a.py": "none"},
        reason="A trajectory keeps the answer, whose paths are relative to the searched folder.",
    ),
    Trap(
        situation="failed read",
        files=_trajectory("read_file", {"file_path": "src/a.py"}, None),
        expected={"src/a.py": "possible"},
        reason="A trajectory loses the text of an error, so that it is not known to have failed.",
    ),
    Trap(
        situation="timed out",
        files=_trial(
            _shell(
                "cat src/a.py; make; cat src/b.py",
                "Output: import os\nError: Command was killed\nExit Code: (none)\nSignal: 9",
            )
        ),
        expected={"src/a.py": "certain", "src/b.py": "possible"},
        reason="Where the command was when it was killed is not stated.",
    ),
    Trap(
        situation="write",
        files=_trial(
            _call(
                "write_file",
                {"file_path": "/workspace/src/a.py", "content": "x = 1"},
                "Successfully created and wrote to new file: /workspace/src/a.py. "
                "Here is the updated code:\nx = 1",
            ),
            _call(
                "list_directory", {"dir_path": "/workspace/src"}, "Directory listing:\na.py", n=1
            ),
        ),
        expected={"src/a.py": "none"},
        reason="The agent created the file that it lists.",
    ),
)
