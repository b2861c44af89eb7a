"""Bare messages of Anthropic's and OpenAI's interfaces: what their results prove."""

from __future__ import annotations

import json
from typing import Any

from tests.traps import Trap


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


_BASH, _VIEW = "bash", "str_replace_based_edit_tool"

TRAPS = (
    Trap(
        situation="read",
        files=_anthropic(_BASH, {"command": "cd /workspace && cat src/a.py"}, "import os\n"),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The command printed the file, and the interface reports no error.",
    ),
    Trap(
        situation="read",
        files=_chat("read_file", {"path": "/workspace/src/a.py"}, "import os\n"),
        expected={"src/a.py": "certain"},
        reason="The answer of a tool that reads files is the text of the file.",
    ),
    Trap(
        situation="search",
        files=_chat("shell", {"command": "cd /workspace && grep -rn x src"}, "src/a.py:3:x = 1\n"),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The search printed one match.",
    ),
    Trap(
        situation="listing",
        files=_anthropic(_BASH, {"command": "cd /workspace && ls src"}, "a.py\n"),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The listing names the file.",
    ),
    Trap(
        situation="failed read",
        files=_anthropic(
            _VIEW,
            {"command": "view", "path": "/workspace/src/a.py"},
            "Error: File not found: /workspace/src/a.py",
            is_error=True,
        ),
        expected={"src/a.py": "none"},
        reason="The interface marks the result as an error, which is no content of a file.",
    ),
    Trap(
        situation="failed read",
        files=_anthropic(
            _BASH,
            {"command": "cd /workspace && head -n 3 src/a.py src/b.py"},
            "==> src/a.py <==\nimport os\nhead: cannot open 'src/b.py' for reading: No such file",
            is_error=True,
        ),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="A command that failed on one file had printed the other.",
    ),
    Trap(
        situation="failed read",
        files=_chat("read_file", {"path": "/workspace/src/a.py"}, "Error: no such file"),
        expected={"src/a.py": "none"},
        reason="OpenAI's messages have no flag for errors; the answer opens as an error does.",
    ),
    Trap(
        situation="denied",
        files=_anthropic(
            _BASH,
            {"command": "cat /workspace/src/a.py"},
            "The user doesn't want to proceed with this tool use.",
            is_error=True,
        ),
        expected={"src/a.py": "none"},
        reason="The user denied the call, so that it did not run.",
    ),
    Trap(
        situation="write",
        files=_anthropic(
            _VIEW,
            {"command": "create", "path": "/workspace/src/a.py", "file_text": "x"},
            "File created successfully at: /workspace/src/a.py",
        ),
        expected={"src/a.py": "none"},
        reason="Writing a file does not show it to the agent.",
    ),
    Trap(
        situation="truncated output",
        files=_anthropic(
            _VIEW,
            {"command": "view", "path": "/workspace/src/a.py", "view_range": [1, 2]},
            "     1\timport os\n     2\timport re\n",
        ),
        expected={"src/a.py": "certain"},
        reason="Part of a file is an access to it.",
    ),
    Trap(
        situation="other",
        files=_anthropic("read_file", {"path": "/workspace/src/a.py"}, None),
        expected={"src/a.py": "possible", "src/b.py": "none"},
        reason="The list ends with the call, so that its answer is not known.",
    ),
    Trap(
        situation="background",
        files=_anthropic(
            _BASH,
            {"command": "cd /workspace && cat src/a.py > /tmp/out &"},
            "[1] 4711\n",
        ),
        expected={"src/a.py": "none", "src/b.py": "none"},
        reason="The output went to a file that was not read.",
    ),
    Trap(
        situation="sub-agent",
        files=_anthropic(
            "task",
            {"prompt": "Find where the limit is set."},
            "The limit is set in src/a.py.",
        ),
        expected={"src/a.py": "possible"},
        reason="The calls of the sub-agent are not in the list; its answer names the file.",
    ),
    Trap(
        situation="timed out",
        files=_anthropic(
            _BASH, {"command": "cat /workspace/src/a.py"}, "Command timed out", is_error=True
        ),
        expected={"src/a.py": "none"},
        reason="The error says that the time was over, and nothing was printed before.",
    ),
    Trap(
        situation="two checkouts",
        files=_anthropic(
            _BASH,
            {"command": "cd /workspace/lib && cat src/b.py; cd /workspace && cat src/a.py"},
            "x = 1\ny = 2\n",
        ),
        expected={"src/a.py": "certain"},
        reason="The second command lies in the checkout of the task.",
    ),
    Trap(
        situation="failed read",
        files=_chat("read_file", {"path": "/workspace/src/a.py"}, '{"error": "file not found"}'),
        expected={"src/a.py": "none"},
        reason="The interface has no flag, and the answer is an object that states an error.",
    ),
    Trap(
        situation="failed read",
        files=_chat(
            "read_file",
            {"path": "/workspace/src/a.py"},
            "FileNotFoundError: [Errno 2] No such file or directory: '/workspace/src/a.py'",
        ),
        expected={"src/a.py": "none"},
        reason="The answer is the exception that the tool raised.",
    ),
    Trap(
        situation="failed read",
        files=_chat(
            "read_file",
            {"path": "/workspace/src/a.py"},
            "An error occurred while running the tool. Please try again. Error: boom",
        ),
        expected={"src/a.py": "none"},
        reason="The library that called the tool says that it raised an exception.",
    ),
    Trap(
        situation="failed read",
        files=_chat(
            "bash",
            {"command": "cat /workspace/src/a.py"},
            '{"stdout": "", "stderr": "cat: /workspace/src/a.py: No such file or directory", '
            '"exit_code": 1}',
        ),
        expected={"src/a.py": "none"},
        reason="The answer is a record of the command, which printed an error only.",
    ),
    Trap(
        situation="read",
        files=_chat(
            "bash",
            {"command": "cat /workspace/src/a.py"},
            '{"stdout": "import os", "stderr": "", "exit_code": 0}',
        ),
        expected={"src/a.py": "certain"},
        reason="The record of the command holds what it printed.",
    ),
    Trap(
        situation="timed out",
        files=_chat(
            "bash",
            {"command": "cat /workspace/src/a.py"},
            '{"stdout": "", "stderr": "", "exit_code": -1, "timed_out": true}',
        ),
        expected={"src/a.py": "none"},
        reason="The record says that the command timed out, and holds no output.",
    ),
    Trap(
        situation="failed read",
        files=_chat(
            "read_file",
            {"path": "/workspace/src/a.py"},
            '{"path": "/workspace/src/a.py", "content": null}',
        ),
        expected={"src/a.py": "possible"},
        reason="The record names the file and holds no content of it.",
    ),
)
