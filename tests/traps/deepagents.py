"""deepagents: what the messages in the state of its graph prove."""

from __future__ import annotations

from typing import Any

from tests.traps import Absent, Rows


def _trial(*calls: tuple[str, dict[str, Any], Any], status: str = "success") -> dict[str, Any]:
    messages: list[dict[str, Any]] = []
    for number, (name, arguments, text) in enumerate(calls):
        made = {"name": name, "args": arguments, "id": f"c{number}", "type": "tool_call"}
        messages.append({"type": "ai", "data": {"content": "", "tool_calls": [made]}})
        answer = {"content": text, "tool_call_id": f"c{number}", "name": name, "status": status}
        messages.append({"type": "tool", "data": answer})
    return {"agent/messages.jsonl": messages}


def _execute(command: str, text: str, code: int = 0) -> dict[str, Any]:
    ended = f"[Command {'failed' if code else 'succeeded'} with exit code {code}]"
    return _trial(("execute", {"command": command}, f"{text}\n{ended}"))


def _shell(command: str, text: str) -> dict[str, Any]:
    return _execute(f"cd /workspace && {command}", text)


def _read(text: str, **more: Any) -> dict[str, Any]:
    return _trial(("read_file", {"file_path": "/workspace/src/a.py"}, text), **more)


_SAVED = (
    "Tool result too large, the result of this tool call c0 was saved in the filesystem at this "
    "path: /large_tool_results/c0\n\nYou can read the result from the filesystem.\n\n"
    "Here is a preview showing the head and tail of the result:\n\n"
    "1  a = 1\n2  a = 2\n... [900 lines truncated] ...\n903  z = 1\n"
    "904  [Command succeeded with exit code 0]\n"
)

SHELL = _shell

TRAPS: Rows = {
    ("read", "+src/a.py, -src/b.py"): {
        "The heading says which lines of the file stand below it.": _read(
            "@@ lines 1-1 of 9 | next offset 1 @@\nimport os"
        )
    },
    ("search", "+src/a.py, -src/b.py"): {
        "The matches stand below the name of their file.": _trial(
            ("execute", {"command": "true"}, "\n[Command succeeded with exit code 0]"),
            (
                "grep",
                {"pattern": "x", "output_mode": "content"},
                "/workspace/src/a.py:\n  3: x = 1\n  7: y = x",
            ),
        )
    },
    ("listing", "+src/a.py, +src/b.py"): {
        "The folder is listed as Python writes a list.": _trial(
            ("ls", {"path": "/workspace/src"}, "['/workspace/src/a.py', '/workspace/src/b.py']")
        )
    },
    ("failed read", "-src/a.py"): {
        "The message has the status of an error.": _read(
            "Error: File '/workspace/src/a.py' not found", status="error"
        )
    },
    ("failed read", "+src/a.py, -src/b.py"): {
        "What the command wrote to stderr stands behind its output.": _execute(
            "cd /workspace && cat src/a.py src/b.py",
            "import os\n\n[stderr] cat: src/b.py: No such file or directory\n\nExit code: 1",
            code=1,
        )
    },
    ("denied", "-src/a.py"): {
        "A rule of the file system forbids to read the file.": _read(
            "Error: permission denied for read on /workspace/src/a.py", status="error"
        )
    },
    ("timed out", "-src/a.py"): {
        "What was printed before the time limit is lost.": _execute(
            "cd /workspace && cat src/a.py; sleep 90",
            "Error: Command timed out after 20 seconds. For long-running commands, re-run using "
            "the timeout parameter.",
            code=124,
        )
    },
    ("sub-agent", "?src/a.py"): {
        "The state holds the answer of the sub-agent, and none of its messages.": _trial(
            (
                "task",
                {"description": "Find the limit.", "subagent_type": "general-purpose"},
                "The limit is set in src/a.py.",
            )
        )
    },
    ("truncated output", "+src/a.py, ?src/b.py"): {
        "The preview shows the head of the first file and the tail of the last.": _trial(
            ("execute", {"command": "true"}, "\n[Command succeeded with exit code 0]"),
            (
                "execute",
                {"command": "cd /workspace && cat src/a.py src/b.py src/c.py"},
                _SAVED,
            ),
        )
    },
    ("write", "-src/a.py"): {
        "A new file was written, which the agent did not have to find.": _trial(
            (
                "write_file",
                {"file_path": "/workspace/src/a.py", "content": "x = 1\n"},
                "Updated file /workspace/src/a.py",
            )
        )
    },
    ("other", "-src/a.py, -src/b.py"): {
        "The arguments were no JSON, so that nothing was carried out.": {
            "agent/messages.jsonl": [
                {
                    "type": "ai",
                    "data": {
                        "content": "",
                        "tool_calls": [],
                        "invalid_tool_calls": [
                            {
                                "name": "read_file",
                                "args": '{"file_path": "/workspace/src/a.',
                                "id": "c",
                                "error": "not valid JSON",
                                "type": "invalid_tool_call",
                            }
                        ],
                    },
                }
            ]
        }
    },
}

ABSENT: Absent = {}
