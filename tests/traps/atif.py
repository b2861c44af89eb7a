"""Trajectories in ATIF: what is left of a harness's results after their conversion."""

from __future__ import annotations

from typing import Any

from tests.traps import Rows

_Call = tuple[str | None, str, dict[str, Any]]
_Result = tuple[str | None, str | None]


def _trial(agent: str, *steps: tuple[list[_Call], list[_Result]]) -> dict[str, Any]:
    document: dict[str, Any] = {
        "schema_version": "ATIF-v1.7",
        "agent": {"name": agent, "version": "1", "extra": {"cwds": ["/workspace"]}},
        "steps": [],
    }
    for number, (calls, results) in enumerate(steps, start=1):
        document["steps"].append(
            {
                "step_id": number,
                "source": "agent",
                "tool_calls": [
                    {"tool_call_id": i, "function_name": name, "arguments": arguments}
                    for i, name, arguments in calls
                ],
                "observation": {
                    "results": [{"source_call_id": i, "content": text} for i, text in results]
                },
            }
        )
    return {"agent/trajectory.json": document}


_A = {"path": "/workspace/src/a.py"}
_B = {"path": "/workspace/src/b.py"}


def _shell(
    command: str, text: str | None, agent: str = "an-agent", name: str = "bash"
) -> dict[str, Any]:
    return _trial(agent, ([("c", name, {"command": command})], [("c", text)]))


def _one(agent: str, name: str, arguments: dict[str, Any], text: str | None) -> dict[str, Any]:
    return _trial(agent, ([("c", name, arguments)], [("c", text)]))


TRAPS: Rows = {
    ("read", "+src/a.py, -src/b.py"): {
        "The one result of a step belongs to its one call.": _trial(
            "mini-swe-agent",
            (
                [("c", "bash_command", {"command": "cat src/a.py"})],
                [(None, "<returncode>0</returncode>\n<output>\nimport os\n</output>")],
            ),
        ),
        "The copy of the output behind it is the same output.": _shell(
            "cat src/a.py",
            "import os\n\n[stdout]\nimport os\n[exit_code] 0\n[metadata] {}",
            "claude-code",
            "Bash",
        ),
        "The cell opens a literal path and prints what it read.": _one(
            "openhands",
            "execute_ipython_cell",
            {"code": "print(open('src/a.py').read())"},
            "import os\n[Jupyter current working directory: /workspace]",
        ),
        "The action is a tool whose window names its file.": _one(
            "swe-agent",
            "swe_agent_action",
            {"raw_action": "open src/a.py"},
            "[File: /workspace/src/a.py (1 lines total)]\n1:import os",
        ),
    },
    ("read", "+src/a.py, +src/b.py"): {
        "As many results as calls come in their order.": _trial(
            "an-agent",
            (
                [(None, "read_file", _A), (None, "read_file", _B)],
                [(None, "import os"), (None, "x = 1")],
            ),
        )
    },
    ("search", "+src/a.py, -src/b.py"): {
        "The converted answer keeps the names below the folder that was searched.": _one(
            "gemini-cli",
            "grep_search",
            {"pattern": "x", "dir_path": "src"},
            'Found 1 match for pattern "x":\n---\nFile: a.py\nL3: x = 1\n---',
        )
    },
    ("listing", "+src/a.py, -src/b.py"): {
        "The listing names the file below its folder.": _one(
            "qwen-coder",
            "list_directory",
            {"path": "/workspace/src"},
            "Directory listing for /workspace/src:\n[DIR] lib\na.py",
        )
    },
    ("failed read", "?src/a.py, -src/b.py"): {
        "The converter writes no content for a failure, so nothing is known.": _one(
            "gemini-cli", "read_file", _A, None
        ),
        "The converter writes an empty text for a failure, so nothing is known.": _one(
            "qwen-coder", "read_file", _A, ""
        ),
        "The converter writes no result for a failure, so nothing is known.": _trial(
            "opencode", ([("c", "read", {"filePath": "/workspace/src/a.py"})], [])
        ),
    },
    ("failed read", "+src/a.py, -src/b.py"): {
        "The record of a command that failed holds what it printed before.": _one(
            "cursor-cli",
            "shellToolCall",
            {"command": "cat src/a.py src/b.py"},
            '{"failure": {"exitCode": 1, "stdout": "import os", "stderr": '
            '"cat: src/b.py: No such file or directory"}}',
        )
    },
    ("failed read", "?src/a.py"): {
        "The conversion keeps no flags, and the text may be an error's.": _one(
            "an-agent", "mcp__fs__read_file", _A, "HTTP 503 Service Unavailable"
        )
    },
    ("denied", "-src/a.py"): {
        "The answer is the sentence of a refusal.": _one(
            "cline-cli", "read_file", _A, "The user denied this operation."
        ),
        "The content is Cursor's record of the result, whose key says that it did not run.": _one(
            "cursor-cli", "readToolCall", _A, '{"rejected": {"reason": "no"}}'
        ),
    },
    ("timed out", "-src/a.py"): {
        "The command was killed before it printed anything.": _shell(
            "cat src/a.py", "Command timed out after 300 seconds", "goose"
        )
    },
    ("background", "?src/a.py"): {
        "The search went on in the background, and no later answer shows its output.": _shell(
            "grep -rn x src", "Command running in background with ID: b1", "claude-code", "Bash"
        )
    },
    ("sub-agent", "?src/a.py, ?src/b.py"): {
        "The trajectory holds no call of the sub-agent, which may have seen any file.": _one(
            "claude-code", "Task", {"prompt": "find x"}, "src/a.py"
        )
    },
    ("truncated output", "+src/a.py, -src/b.py, +src/c.py"): {
        "The harness left out the middle, so that the agent did not see it either.": _shell(
            "grep -rn x src",
            "Exit code: 0\nWall time: 0.1 seconds\nTotal output lines: 900\nOutput:\n"
            "src/a.py:3:x = 1\n\u2026700 tokens truncated\u2026\nsrc/c.py:1:x\n",
            "codex",
            "shell",
        )
    },
    ("write", "-src/a.py"): {
        "A file that the agent writes is no file that it found.": _one(
            "an-agent", "write_file", _A, "Wrote 1 line"
        )
    },
    ("other", "?src/a.py, ?src/b.py"): {
        "One result of two calls names neither.": _trial(
            "an-agent", ([("c", "read_file", _A), ("d", "read_file", _B)], [(None, "import os")])
        )
    },
    ("other", "+src/a.py, -src/b.py"): {
        "A result in a later step names its call by id.": _trial(
            "openhands-sdk",
            ([("c", "terminal", {"command": "cat src/a.py"})], []),
            ([("d", "terminal", {"command": "true"})], [("c", "import os"), ("d", "")]),
        )
    },
}

SHELL = _shell
