"""Trajectories in ATIF: what is left of a harness's results after their conversion."""

from __future__ import annotations

from typing import Any

from tests.traps import Trap

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


def _shell(command: str, text: str | None, agent: str, name: str = "bash") -> dict[str, Any]:
    return _trial(agent, ([("c", name, {"command": command})], [("c", text)]))


TRAPS = (
    Trap(
        situation="read",
        files=_trial(
            "mini-swe-agent",
            (
                [("c", "bash_command", {"command": "cat src/a.py"})],
                [(None, "<returncode>0</returncode>\n<output>\nimport os\n</output>")],
            ),
        ),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The one result of a step belongs to its one call.",
    ),
    Trap(
        situation="read",
        files=_trial(
            "an-agent",
            (
                [(None, "read_file", _A), (None, "read_file", _B)],
                [(None, "import os"), (None, "x = 1")],
            ),
        ),
        expected={"src/a.py": "certain", "src/b.py": "certain"},
        reason="As many results as calls come in their order.",
    ),
    Trap(
        situation="other",
        files=_trial(
            "an-agent",
            ([("c", "read_file", _A), ("d", "read_file", _B)], [(None, "import os")]),
        ),
        expected={"src/a.py": "possible", "src/b.py": "possible"},
        reason="One result of two calls names neither.",
    ),
    Trap(
        situation="other",
        files=_trial(
            "openhands-sdk",
            ([("c", "terminal", {"command": "cat src/a.py"})], []),
            ([("d", "terminal", {"command": "true"})], [("c", "import os"), ("d", "")]),
        ),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="A result in a later step names its call by id.",
    ),
    Trap(
        situation="failed read",
        files=_trial("gemini-cli", ([("c", "read_file", _A)], [("c", None)])),
        expected={"src/a.py": "possible", "src/b.py": "none"},
        reason="The converter writes no content for a failure, so nothing is known.",
    ),
    Trap(
        situation="failed read",
        files=_trial("qwen-coder", ([("c", "read_file", _A)], [("c", "")])),
        expected={"src/a.py": "possible", "src/b.py": "none"},
        reason="The converter writes an empty text for a failure, so nothing is known.",
    ),
    Trap(
        situation="failed read",
        files=_trial("opencode", ([("c", "read", {"filePath": "/workspace/src/a.py"})], [])),
        expected={"src/a.py": "possible", "src/b.py": "none"},
        reason="The converter writes no result for a failure, so nothing is known.",
    ),
    Trap(
        situation="read",
        files=_shell(
            "cat src/a.py",
            "import os\n\n[stdout]\nimport os\n[exit_code] 0\n[metadata] {}",
            "claude-code",
            "Bash",
        ),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The copy of the output behind it is the same output.",
    ),
    Trap(
        situation="read",
        files=_trial(
            "openhands",
            (
                [("c", "execute_ipython_cell", {"code": "print(open('src/a.py').read())"})],
                [("c", "import os\n[Jupyter current working directory: /workspace]")],
            ),
        ),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The cell opens a literal path and prints what it read.",
    ),
    Trap(
        situation="read",
        files=_trial(
            "swe-agent",
            (
                [("c", "swe_agent_action", {"raw_action": "open src/a.py"})],
                [("c", "[File: /workspace/src/a.py (1 lines total)]\n1:import os")],
            ),
        ),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The action is a tool whose window names its file.",
    ),
    Trap(
        situation="timed out",
        files=_shell("cat src/a.py", "Command timed out after 300 seconds", "goose"),
        expected={"src/a.py": "none"},
        reason="The command was killed before it printed anything.",
    ),
    Trap(
        situation="denied",
        files=_trial(
            "cline-cli", ([("c", "read_file", _A)], [("c", "The user denied this operation.")])
        ),
        expected={"src/a.py": "none"},
        reason="The answer is the sentence of a refusal.",
    ),
    Trap(
        situation="denied",
        files=_trial(
            "cursor-cli",
            ([("c", "readToolCall", _A)], [("c", '{"rejected": {"reason": "no"}}')]),
        ),
        expected={"src/a.py": "none"},
        reason="The content is Cursor's record of the result, whose key says that it did not run.",
    ),
    Trap(
        situation="failed read",
        files=_trial(
            "cursor-cli",
            (
                [("c", "shellToolCall", {"command": "cat src/a.py src/b.py"})],
                [
                    (
                        "c",
                        (
                            '{"failure": {"exitCode": 1, "stdout": "import os", "stderr": '
                            '"cat: src/b.py: No such file or directory"}}'
                        ),
                    )
                ],
            ),
        ),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The record of a command that failed holds what it printed before.",
    ),
    Trap(
        situation="failed read",
        files=_trial(
            "an-agent",
            ([("c", "mcp__fs__read_file", _A)], [("c", "HTTP 503 Service Unavailable")]),
        ),
        expected={"src/a.py": "possible"},
        reason="The conversion keeps no flags, and the text may be an error's.",
    ),
    Trap(
        situation="search",
        files=_trial(
            "gemini-cli",
            (
                [("c", "grep_search", {"pattern": "x", "dir_path": "src"})],
                [("c", 'Found 1 match for pattern "x":\n---\nFile: a.py\nL3: x = 1\n---')],
            ),
        ),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The converted answer keeps the names below the folder that was searched.",
    ),
    Trap(
        situation="listing",
        files=_trial(
            "qwen-coder",
            (
                [("c", "list_directory", {"path": "/workspace/src"})],
                [("c", "Directory listing for /workspace/src:\n[DIR] lib\na.py")],
            ),
        ),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The listing names the file below its folder.",
    ),
    Trap(
        situation="truncated output",
        files=_shell(
            "grep -rn x src",
            "Exit code: 0\nWall time: 0.1 seconds\nTotal output lines: 900\nOutput:\n"
            "src/a.py:3:x = 1\n\u2026700 tokens truncated\u2026\nsrc/c.py:1:x\n",
            "codex",
            "shell",
        ),
        expected={"src/a.py": "certain", "src/b.py": "none", "src/c.py": "certain"},
        reason="The harness left out the middle, so that the agent did not see it either.",
    ),
    Trap(
        situation="write",
        files=_trial("an-agent", ([("c", "write_file", _A)], [("c", "Wrote 1 line")])),
        expected={"src/a.py": "none"},
        reason="A file that the agent writes is no file that it found.",
    ),
    Trap(
        situation="background",
        files=_shell(
            "grep -rn x src", "Command running in background with ID: b1", "claude-code", "Bash"
        ),
        expected={"src/a.py": "possible"},
        reason="The search went on in the background, and no later answer shows its output.",
    ),
    Trap(
        situation="sub-agent",
        files=_trial("claude-code", ([("c", "Task", {"prompt": "find x"})], [("c", "src/a.py")])),
        expected={"src/a.py": "possible", "src/b.py": "possible"},
        reason="The trajectory holds no call of the sub-agent, which may have seen any file.",
    ),
    Trap(
        situation="two checkouts",
        files=_shell("cd /workspace/lib && cat src/a.py", "x", "an-agent"),
        expected={"src/a.py": "none", "lib/src/a.py": "certain"},
        reason="The command ran in the other folder, whose file has the same name.",
    ),
)
