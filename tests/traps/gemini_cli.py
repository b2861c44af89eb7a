"""Gemini CLI: what its session files and its stream prove."""

from __future__ import annotations

from typing import Any

from tests.traps import Rows

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


def _one(*call: Any) -> dict[str, Any]:
    return _trial(_call(*call))


def _ran(command: str, output: str, **more: Any) -> dict[str, Any]:
    return _trial(_shell(command, output, **more))


def _read(*result: str) -> dict[str, Any]:
    return _one("read_file", {"file_path": "src/a.py"}, *result)


TRAPS: Rows = {
    ("read", "+src/a.py, -src/b.py"): {
        "The tool answered with the content of the file.": _read("import os"),
        "A read that succeeded displays nothing for a whole file, which the agent got.": _stream(
            "read_file", {"file_path": "src/a.py"}, ""
        ),
        "The output of a command that names the file is not empty.": _ran(
            "cat src/a.py", "Output: import os\nProcess Group PGID: 9"
        ),
    },
    ("search", "+src/a.py, -a.py"): {
        "Paths are relative to the folder that was searched.": _one(
            "grep_search", {"pattern": "x", "dir_path": "src"}, GREP
        ),
        "A trajectory keeps the answer; its paths are relative to the searched one.": _trajectory(
            "grep_search", {"pattern": "x", "dir_path": "src"}, GREP
        ),
    },
    ("search", "?src/a.py, -lib/a.py"): {
        "The stream does not keep what a search found below the folder.": _stream(
            "grep_search", {"pattern": "x", "dir_path": "src"}, None
        )
    },
    ("search", "-src/a.py"): {
        "The answer says that nothing was found.": _one(
            "grep_search", {"pattern": "x"}, 'No matches found for pattern "x" in path ".".'
        )
    },
    ("listing", "+src/a.py, -src/b.py"): {
        "The listing names the folder and the file in it.": _one(
            "list_directory",
            {"dir_path": "/workspace/src"},
            "Directory listing for /workspace/src:\n[DIR] lib\na.py (12 bytes)",
        )
    },
    ("listing", "?src/lib/a.py, -src/a.md"): {
        "The stream counts the files that fit the pattern and does not name them.": _stream(
            "glob", {"pattern": "src/**/*.py"}, "Found 3 matching file(s)"
        )
    },
    ("listing", "?src/a.py, -lib/a.py"): {
        "The stream keeps nothing of a listing.": _stream(
            "list_directory", {"dir_path": "src"}, None
        )
    },
    ("failed read", "-src/a.py"): {
        "The status is an error.": _read("File not found: src/a.py", "error")
    },
    ("failed read", "?src/a.py"): {
        "A trajectory loses the text of an error, so that none is known.": _trajectory(
            "read_file", {"file_path": "src/a.py"}, None
        )
    },
    ("denied", "-src/a.py"): {
        "A policy denied the call.": _read("Tool execution denied by policy.", "error"),
        "The status says that the call was cancelled.": _one(
            "run_shell_command",
            {"command": "cat src/a.py"},
            "[Operation Cancelled] Reason: User did not allow tool call",
            "cancelled",
        ),
    },
    ("timed out", "-src/a.py"): {
        "The command printed nothing before it was cancelled.": _ran(
            "cat src/a.py",
            "Command was automatically cancelled because it exceeded the timeout of 5.0 minutes"
            " without output. There was no output before it was cancelled.",
        )
    },
    ("timed out", "+src/a.py"): {
        "What was printed before the command was cancelled was seen.": _ran(
            "cat src/a.py && sleep 999",
            "Command was automatically cancelled because it exceeded the timeout of 5.0 minutes"
            " without output. Below is the output before it was cancelled:\nimport os",
        )
    },
    ("timed out", "+src/a.py, ?src/b.py"): {
        "Where the command was when it was killed is not stated.": _ran(
            "cat src/a.py; make; cat src/b.py",
            "Output: import os\nError: Command was killed\nExit Code: (none)\nSignal: 9",
        )
    },
    ("background", "?src/a.py, -src/b.py"): {
        "The output of the command was not fetched.": _ran(
            "cat src/a.py", "Command is running in background. PID: 71", is_background=True
        )
    },
    ("sub-agent", "+src/a.py, ?src/b.py"): {
        "Older versions delegate by this name, and the sub-agent's session is not there.": _trial(
            _call("read_file", {"file_path": "src/a.py"}, "import os"),
            _call("delegate_to_agent", {"agent_name": "x", "objective": "look"}, "Done.", n=1),
        )
    },
    ("sub-agent", "+src/a.py"): {
        "The sub-agent's own file is beside that of the main agent.": {
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
        }
    },
    ("two checkouts", "+src/a.py, -lib/src/a.py"): {
        "A command starts in the project's folder, not where another one ended.": _trial(
            _shell("cd lib && ls", "Output: README.md"),
            _call("run_shell_command", {"command": "cat src/a.py"}, "Output: import os", n=1),
            directories=["/workspace"],
        )
    },
    ("truncated output", "+src/a.py"): {
        "The agent saw the lines that the answer states.": _read(CUT)
    },
    ("write", "+src/a.py, -src/b.py"): {
        "The answer shows the lines around the edit, and of a new file the agent's own.": _trial(
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
        )
    },
    ("write", "-src/a.py"): {
        "Writing a file does not show it to the agent.": _one(
            "write_file",
            {"file_path": "/workspace/src/a.py", "content": "x"},
            "Successfully created",
        ),
        "The agent created the file that it lists.": _trial(
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
    },
    ("other", "+src/a.py"): {
        "The agent read the file before its history was replaced by a summary.": {
            "agent/gemini-cli.trajectory.jsonl": [
                META,
                {
                    "id": "m1",
                    "type": "gemini",
                    "toolCalls": [_call("read_file", {"file_path": "src/a.py"}, "import os")],
                },
                {"$set": {"messages": [{"id": "m2", "type": "user", "content": "a summary"}]}},
            ]
        }
    },
}

SHELL = _ran
