"""Qwen Code: what its session files and its stream prove beyond what Gemini CLI's do."""

from __future__ import annotations

from typing import Any

from tests.traps import Rows

_Step = tuple[str, dict[str, Any], str | dict[str, Any]]


def _session(*steps: _Step) -> dict[str, Any]:
    """Return a session of calls: name, arguments, and the output or the whole response."""
    lines: list[dict[str, Any]] = []

    def add(kind: str, part: dict[str, Any]) -> None:
        before = lines[-1]["uuid"] if lines else None
        line = {"uuid": f"u{len(lines)}", "parentUuid": before, "sessionId": "s", "cwd": "/w"}
        lines.append({**line, "type": kind, "message": {"parts": [part]}})

    for n, (name, arguments, said) in enumerate(steps):
        response = {"output": said} if isinstance(said, str) else said
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


def _error(text: str) -> dict[str, Any]:
    return {"error": text}


def _one(*step: Any) -> dict[str, Any]:
    return _session(step)


def _shell(command: str, said: str | dict[str, Any], **more: Any) -> _Step:
    return "run_shell_command", {"command": command, **more}, said


def _ran(*details: Any, **more: Any) -> dict[str, Any]:
    return _session(_shell(*details, **more))


def _read(said: str | dict[str, Any]) -> dict[str, Any]:
    return _one("read_file", {"file_path": "/w/src/a.py"}, said)


TRAPS: Rows = {
    ("read", "+src/a.py, -src/b.py"): {
        "The tool answered with the content of the file.": _read("import os")
    },
    ("read", "-logo.png"): {
        "The model was sent a sentence in place of the image.": _one(
            "read_file",
            {"file_path": "/w/logo.png"},
            '[Unsupported image file: "logo.png". This model takes no images.]',
        )
    },
    ("read", "-src/a.py"): {
        "The range lies behind the end of the file.": _one(
            "read_file",
            {"file_path": "/w/src/a.py", "offset": 100},
            "Showing lines 101-101 of 7 total lines.\n\n---\n\n",
        ),
        "The answer refers to an earlier one, which the file does not hold.": _read(
            "[File src/a.py unchanged since last read in this session — see above]"
        ),
    },
    ("search", "?src/a.py, -lib/a.py"): {
        "The stream counts what the search found below the folder.": _stream(
            "grep_search", {"pattern": "x", "path": "/w/src"}, "Found 2 matches"
        )
    },
    ("search", "+src/a.py, +src/b.py"): {
        "The call is one of a server's tool, whose answer consists of hits.": _one(
            "tool_call",
            {"name": "mcp__files__find", "arguments": {"query": "x"}},
            "src/a.py:3: x = 1\nsrc/b.py:4: x = 2",
        )
    },
    ("listing", "+src/a.py, -src/b.py"): {
        "The listing names the folder and the file in it.": _one(
            "list_directory",
            {"path": "/w/src"},
            "Directory listing for /w/src:\n[DIR] lib\na.py (12 bytes)",
        )
    },
    ("listing", "+src/a.py, ----"): {
        "The line of dashes divides the heading from the names.": _one(
            "glob", {"pattern": "*.py"}, 'Found 1 file(s) matching "*.py":\n---\n/w/src/a.py'
        )
    },
    ("failed read", "-src/a.py"): {"The response is an error.": _read(_error("File not found"))},
    ("denied", "-src/a.py"): {
        "The user did not let the command run.": _ran(
            "cat src/a.py", _error("[Operation Cancelled] Reason: User did not allow tool call")
        )
    },
    ("timed out", "-src/a.py"): {
        "The command printed nothing before it was cancelled.": _ran(
            "cat src/a.py",
            "Command was automatically cancelled as it exceeded the timeout."
            " There was no output before it was cancelled.",
        )
    },
    ("timed out", "+src/a.py"): {
        "The answer shows what the command printed before.": _ran(
            "cat src/a.py; sleep 30",
            _error(
                "Command timed out after 2000ms before it could complete. Below is "
                "the output before it timed out:\nimport os"
            ),
        )
    },
    ("background", "?src/a.py, -src/b.py"): {
        "The output of the command was not fetched.": _ran(
            "cat src/a.py", "Command is running in background. PID: 71", is_background=True
        )
    },
    ("background", "?src/a.py"): {
        "Nothing shows whether the output was fetched.": _ran(
            "cat src/a.py", "Background command started. PID: 12", is_background=True
        ),
        "The command writes to a file, and nothing shows that the agent read it.": _ran(
            "cat src/a.py",
            "Background shell started.\nid: bg_1\npid: 7\n"
            "output file: /h/.qwen/tmp/p/background-shells/s/shell-bg_1.output\n"
            "To inspect: /tasks",
            is_background=True,
        ),
    },
    ("background", "+src/a.py"): {
        "The agent read the file to which the command wrote.": _session(
            _shell(
                "cat src/a.py",
                "Background shell started.\nid: bg_1\npid: 7\n"
                "output file: /h/.qwen/tmp/p/background-shells/s/shell-bg_1.output\n",
                is_background=True,
            ),
            (
                "read_file",
                {"file_path": "/h/.qwen/tmp/p/background-shells/s/shell-bg_1.output"},
                "import os",
            ),
        )
    },
    ("sub-agent", "?src/a.py"): {
        "The calls of the sub-agent are not in the file.": _one(
            "task", {"prompt": "look"}, "It is in src/a.py."
        )
    },
    ("two checkouts", "+src/a.py, -lib/src/a.py"): {
        "A command starts in the session's folder, not where another one ended.": _session(
            _shell("cd lib && ls", "Output: README.md"), _shell("cat src/a.py", "Output: import os")
        )
    },
    ("truncated output", "+src/a.py"): {
        "The agent saw the lines that the answer states.": _read(
            "\nIMPORTANT: The file content has been truncated.\n"
            "Status: Showing lines 1-2 of 9 total lines.\n\n"
            "--- FILE CONTENT (truncated) ---\nimport os"
        )
    },
    ("truncated output", "+src/a.py, -src/b.py"): {
        "The second command shows a further line of what the first one printed.": _session(
            _shell(
                "grep -rn x src",
                "Tool output was too large and has been truncated.\nThe full "
                "output has been saved to: /h/.qwen/tmp/p/run_shell_command_1.output\nTo read "
                "it, use read_file.\nTruncated part of the output:\nsrc/c.py:1:x\n"
                "... [CONTENT TRUNCATED] ...\nsrc/d.py:1:x",
            ),
            _shell(
                "grep a.py /h/.qwen/tmp/p/run_shell_command_1.output",
                "Output: src/a.py:3:x\nExit Code: 0",
            ),
        )
    },
    ("write", "-src/a.py"): {
        "Editing a file does not show it to the agent.": _one(
            "edit", {"file_path": "/w/src/a.py"}, "The file was edited."
        )
    },
}

SHELL = _ran
