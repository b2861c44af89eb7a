"""Qwen Code: what its session files and its stream prove beyond what Gemini CLI's do."""

from __future__ import annotations

from typing import Any

from tests.traps import Trap


def _session(*steps: tuple[str, dict[str, Any], dict[str, Any]]) -> dict[str, Any]:
    lines: list[dict[str, Any]] = []

    def add(kind: str, part: dict[str, Any]) -> None:
        before = lines[-1]["uuid"] if lines else None
        line = {"uuid": f"u{len(lines)}", "parentUuid": before, "sessionId": "s", "cwd": "/w"}
        lines.append({**line, "type": kind, "message": {"parts": [part]}})

    for n, (name, arguments, response) in enumerate(steps):
        add("assistant", {"functionCall": {"id": f"c{n}", "name": name, "args": arguments}})
        add("tool_result", {"functionResponse": {"id": f"c{n}", "response": response}})
    return {"agent/qwen-sessions/s.jsonl": lines}


def _stream(name: str, arguments: dict[str, Any], content: str) -> dict[str, Any]:
    call = {"type": "tool_use", "id": "c", "name": name, "input": arguments}
    result = {"type": "tool_result", "tool_use_id": "c", "content": content}
    own = {"parent_tool_use_id": None}
    return {
        "agent/qwen.txt": [
            {"type": "system", "subtype": "init", "cwd": "/w", "qwen_code_version": "0.14.0"},
            {"type": "assistant", **own, "message": {"id": "m", "content": [call]}},
            {"type": "user", **own, "message": {"content": [result]}},
            {"type": "result", "subtype": "success"},
        ]
    }


TRAPS = (
    Trap(
        situation="read",
        files=_session(("read_file", {"file_path": "/w/src/a.py"}, {"output": "import os"})),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The tool answered with the content of the file.",
    ),
    Trap(
        situation="search",
        files=_stream("grep_search", {"pattern": "x", "path": "/w/src"}, "Found 2 matches"),
        expected={"src/a.py": "possible", "lib/a.py": "none"},
        reason="The stream counts what the search found below the folder.",
    ),
    Trap(
        situation="failed read",
        files=_session(("read_file", {"file_path": "/w/src/a.py"}, {"error": "File not found"})),
        expected={"src/a.py": "none"},
        reason="The response is an error.",
    ),
    Trap(
        situation="denied",
        files=_session(
            (
                "run_shell_command",
                {"command": "cat src/a.py"},
                {"error": "[Operation Cancelled] Reason: User did not allow tool call"},
            )
        ),
        expected={"src/a.py": "none"},
        reason="The user did not let the command run.",
    ),
    Trap(
        situation="write",
        files=_session(("edit", {"file_path": "/w/src/a.py"}, {"output": "The file was edited."})),
        expected={"src/a.py": "none"},
        reason="Editing a file does not show it to the agent.",
    ),
    Trap(
        situation="two checkouts",
        files=_session(
            ("run_shell_command", {"command": "cd lib && ls"}, {"output": "Output: README.md"}),
            ("run_shell_command", {"command": "cat src/a.py"}, {"output": "Output: import os"}),
        ),
        expected={"src/a.py": "certain", "lib/src/a.py": "none"},
        reason="A command starts in the session's folder, not where another one ended.",
    ),
    Trap(
        situation="listing",
        files=_session(
            (
                "list_directory",
                {"path": "/w/src"},
                {"output": "Directory listing for /w/src:\n[DIR] lib\na.py (12 bytes)"},
            )
        ),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The listing names the folder and the file in it.",
    ),
    Trap(
        situation="timed out",
        files=_session(
            (
                "run_shell_command",
                {"command": "cat src/a.py"},
                {
                    "output": "Command was automatically cancelled as it exceeded the timeout."
                    " There was no output before it was cancelled."
                },
            )
        ),
        expected={"src/a.py": "none"},
        reason="The command printed nothing before it was cancelled.",
    ),
    Trap(
        situation="background",
        files=_session(
            (
                "run_shell_command",
                {"command": "cat src/a.py", "is_background": True},
                {"output": "Command is running in background. PID: 71"},
            )
        ),
        expected={"src/a.py": "possible", "src/b.py": "none"},
        reason="The output of the command was not fetched.",
    ),
    Trap(
        situation="sub-agent",
        files=_session(("task", {"prompt": "look"}, {"output": "It is in src/a.py."})),
        expected={"src/a.py": "possible"},
        reason="The calls of the sub-agent are not in the file.",
    ),
    Trap(
        situation="truncated output",
        files=_session(
            (
                "read_file",
                {"file_path": "/w/src/a.py"},
                {
                    "output": "\nIMPORTANT: The file content has been truncated.\n"
                    "Status: Showing lines 1-2 of 9 total lines.\n\n"
                    "--- FILE CONTENT (truncated) ---\nimport os"
                },
            )
        ),
        expected={"src/a.py": "certain"},
        reason="The agent saw the lines that the answer states.",
    ),
    Trap(
        situation="background",
        files=_session(
            (
                "run_shell_command",
                {"command": "cat src/a.py", "is_background": True},
                {"output": "Background command started. PID: 12"},
            )
        ),
        expected={"src/a.py": "possible"},
        reason="Nothing shows whether the output was fetched.",
    ),
    Trap(
        situation="timed out",
        files=_session(
            (
                "run_shell_command",
                {"command": "cat src/a.py; sleep 30"},
                {
                    "error": "Command timed out after 2000ms before it could complete. Below is "
                    "the output before it timed out:\nimport os"
                },
            )
        ),
        expected={"src/a.py": "certain"},
        reason="The answer shows what the command printed before.",
    ),
    Trap(
        situation="background",
        files=_session(
            (
                "run_shell_command",
                {"command": "cat src/a.py", "is_background": True},
                {
                    "output": "Background shell started.\nid: bg_1\npid: 7\n"
                    "output file: /h/.qwen/tmp/p/background-shells/s/shell-bg_1.output\n"
                    "To inspect: /tasks"
                },
            )
        ),
        expected={"src/a.py": "possible"},
        reason="The command writes to a file, and nothing shows that the agent read it.",
    ),
    Trap(
        situation="background",
        files=_session(
            (
                "run_shell_command",
                {"command": "cat src/a.py", "is_background": True},
                {
                    "output": "Background shell started.\nid: bg_1\npid: 7\n"
                    "output file: /h/.qwen/tmp/p/background-shells/s/shell-bg_1.output\n"
                },
            ),
            (
                "read_file",
                {"file_path": "/h/.qwen/tmp/p/background-shells/s/shell-bg_1.output"},
                {"output": "import os"},
            ),
        ),
        expected={"src/a.py": "certain"},
        reason="The agent read the file to which the command wrote.",
    ),
    Trap(
        situation="read",
        files=_session(
            (
                "read_file",
                {"file_path": "/w/logo.png"},
                {"output": '[Unsupported image file: "logo.png". This model takes no images.]'},
            )
        ),
        expected={"logo.png": "none"},
        reason="The model was sent a sentence in place of the image.",
    ),
    Trap(
        situation="read",
        files=_session(
            (
                "read_file",
                {"file_path": "/w/src/a.py", "offset": 100},
                {"output": "Showing lines 101-101 of 7 total lines.\n\n---\n\n"},
            )
        ),
        expected={"src/a.py": "none"},
        reason="The range lies behind the end of the file.",
    ),
    Trap(
        situation="read",
        files=_session(
            (
                "read_file",
                {"file_path": "/w/src/a.py"},
                {"output": "[File src/a.py unchanged since last read in this session — see above]"},
            )
        ),
        expected={"src/a.py": "none"},
        reason="The answer refers to an earlier one, which the file does not hold.",
    ),
    Trap(
        situation="listing",
        files=_session(
            (
                "glob",
                {"pattern": "*.py"},
                {"output": 'Found 1 file(s) matching "*.py":\n---\n/w/src/a.py'},
            )
        ),
        expected={"src/a.py": "certain", "---": "none"},
        reason="The line of dashes divides the heading from the names.",
    ),
    Trap(
        situation="search",
        files=_session(
            (
                "tool_call",
                {"name": "mcp__files__find", "arguments": {"query": "x"}},
                {"output": "src/a.py:3: x = 1\nsrc/b.py:4: x = 2"},
            )
        ),
        expected={"src/a.py": "certain", "src/b.py": "certain"},
        reason="The call is one of a server's tool, whose answer consists of hits.",
    ),
    Trap(
        situation="truncated output",
        files=_session(
            (
                "run_shell_command",
                {"command": "grep -rn x src"},
                {
                    "output": "Tool output was too large and has been truncated.\nThe full output "
                    "has been saved to: /h/.qwen/tmp/p/run_shell_command_1.output\nTo read it, use "
                    "read_file.\nTruncated part of the output:\nsrc/c.py:1:x\n"
                    "... [CONTENT TRUNCATED] ...\nsrc/d.py:1:x"
                },
            ),
            (
                "run_shell_command",
                {"command": "grep a.py /h/.qwen/tmp/p/run_shell_command_1.output"},
                {"output": "Output: src/a.py:3:x\nExit Code: 0"},
            ),
        ),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The second command shows a further line of what the first one printed.",
    ),
)
