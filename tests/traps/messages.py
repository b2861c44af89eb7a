"""Bare messages of Anthropic's and OpenAI's interfaces: what their results prove."""

from __future__ import annotations

import json
from typing import Any

from tests.traps import Rows


def _anthropic(
    name: str, arguments: dict[str, Any], text: str | None, *, is_error: bool = False
) -> dict[str, Any]:
    call = {"type": "tool_use", "id": "t", "name": name, "input": arguments}
    messages: list[dict[str, Any]] = [{"role": "assistant", "content": [call]}]
    if text is not None:
        answer = {"type": "tool_result", "tool_use_id": "t", "content": text, "is_error": is_error}
        messages.append({"role": "user", "content": [answer]})
    return {"agent/messages.jsonl": messages}


def _chat(name: str, arguments: dict[str, Any], text: str) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    messages = [
        {
            "role": "assistant",
            "tool_calls": [{"id": "c", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "c", "content": text},
    ]
    return {"agent/messages.jsonl": messages}


_VIEW = "str_replace_based_edit_tool"


def _bash(command: str, text: str, **more: Any) -> dict[str, Any]:
    return _anthropic("bash", {"command": command}, text, **more)


def _read(text: str) -> dict[str, Any]:
    return _chat("read_file", {"path": "/workspace/src/a.py"}, text)


def _cat(text: str) -> dict[str, Any]:
    return _chat("bash", {"command": "cat /workspace/src/a.py"}, text)


def _in_workspace(command: str, text: str) -> dict[str, Any]:
    return _bash(f"cd /workspace && {command}", text)


TRAPS: Rows = {
    ("read", "+src/a.py, -src/b.py"): {
        "The command printed the file, and the interface reports no error.": _bash(
            "cd /workspace && cat src/a.py", "import os\n"
        )
    },
    ("read", "+src/a.py"): {
        "The answer of a tool that reads files is the text of the file.": _read("import os\n"),
        "The record of the command holds what it printed.": _cat(
            '{"stdout": "import os", "stderr": "", "exit_code": 0}'
        ),
    },
    ("search", "+src/a.py, -src/b.py"): {
        "The search printed one match.": _chat(
            "shell", {"command": "cd /workspace && grep -rn x src"}, "src/a.py:3:x = 1\n"
        )
    },
    ("failed read", "-src/a.py"): {
        "The interface marks the result as an error, which is no content of a file.": _anthropic(
            _VIEW,
            {"command": "view", "path": "/workspace/src/a.py"},
            "Error: File not found: /workspace/src/a.py",
            is_error=True,
        ),
        "OpenAI's messages have no flag for errors; the answer opens as an error does.": _read(
            "Error: no such file"
        ),
        "The interface has no flag, and the answer is an object that states an error.": _read(
            '{"error": "file not found"}'
        ),
        "The answer is the exception that the tool raised.": _read(
            "FileNotFoundError: [Errno 2] No such file or directory: '/workspace/src/a.py'"
        ),
        "The library that called the tool says that it raised an exception.": _read(
            "An error occurred while running the tool. Please try again. Error: boom"
        ),
        "The answer is a record of the command, which printed an error only.": _cat(
            '{"stdout": "", "stderr": "cat: /workspace/src/a.py: No such file or directory", '
            '"exit_code": 1}'
        ),
    },
    ("failed read", "+src/a.py, -src/b.py"): {
        "A command that failed on one file had printed the other.": _bash(
            "cd /workspace && head -n 3 src/a.py src/b.py",
            "==> src/a.py <==\nimport os\nhead: cannot open 'src/b.py' for reading: No such file",
            is_error=True,
        )
    },
    ("failed read", "?src/a.py"): {
        "The record names the file and holds no content of it.": _read(
            '{"path": "/workspace/src/a.py", "content": null}'
        )
    },
    ("denied", "-src/a.py"): {
        "The user denied the call, so that it did not run.": _bash(
            "cat /workspace/src/a.py",
            "The user doesn't want to proceed with this tool use.",
            is_error=True,
        )
    },
    ("timed out", "-src/a.py"): {
        "The error says that the time was over, and nothing was printed before.": _bash(
            "cat /workspace/src/a.py", "Command timed out", is_error=True
        ),
        "The record says that the command timed out, and holds no output.": _cat(
            '{"stdout": "", "stderr": "", "exit_code": -1, "timed_out": true}'
        ),
    },
    ("background", "-src/a.py, -src/b.py"): {
        "The output went to a file that was not read.": _bash(
            "cd /workspace && cat src/a.py > /tmp/out &", "[1] 4711\n"
        )
    },
    ("sub-agent", "?src/a.py"): {
        "The calls of the sub-agent are not in the list; its answer names the file.": _anthropic(
            "task", {"prompt": "Find where the limit is set."}, "The limit is set in src/a.py."
        )
    },
    ("two checkouts", "+src/a.py"): {
        "The second command lies in the checkout of the task.": _bash(
            "cd /workspace/lib && cat src/b.py; cd /workspace && cat src/a.py", "x = 1\ny = 2\n"
        )
    },
    ("truncated output", "+src/a.py"): {
        "Part of a file is an access to it.": _anthropic(
            _VIEW,
            {"command": "view", "path": "/workspace/src/a.py", "view_range": [1, 2]},
            "     1\timport os\n     2\timport re\n",
        )
    },
    ("write", "-src/a.py"): {
        "Writing a file does not show it to the agent.": _anthropic(
            _VIEW,
            {"command": "create", "path": "/workspace/src/a.py", "file_text": "x"},
            "File created successfully at: /workspace/src/a.py",
        )
    },
    ("other", "?src/a.py, -src/b.py"): {
        "The list ends with the call, so that its answer is not known.": _anthropic(
            "read_file", {"path": "/workspace/src/a.py"}, None
        )
    },
}

SHELL = _in_workspace
