"""What one converted call of each harness proves of a file: certain, possible, or nothing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.scenes import Call, atif
from tests.trials import proven

C, P, N = "certain", "possible", "none"

CASES: list[tuple[str, str, dict[str, Any], str | None, dict[str, str]]] = [
    ("gemini-cli", "run_shell_command", {"command": "cat src/a.py"},
     "Output: (empty)\nError: cat: src/a.py: No such file or directory\nExit Code: 1",
     {"src/a.py": N}),
    ("gemini-cli", "glob", {"pattern": "**/*.py"},
     ("Found 1 file(s) matching \"**/*.py\" within /workspace, sorted by modification time "
      "(newest first):\n/workspace/src/a.py"),
     {"src/a.py": C, "src/b.py": N}),
    ("goose", "developer__shell", {"command": "cat src/a.py src/b.py"},
     "import os\ncat: src/b.py: No such file or directory\nCommand exited with code 1",
     {"src/a.py": C, "src/b.py": N}),
    ("cursor-cli", "lsToolCall", {"path": "/workspace/src"},
     ("{\"success\":{\"directoryTreeRoot\":{\"absPath\":\"/workspace/src\",\"childrenFiles\":[{\"name\":\"a.py\"}],\"childrenDirs\":[]}}}"),
     {"src/a.py": C, "src/b.py": N}),
    ("some-agent", "execute_command", {"command": "cat src/a.py"},
     "{\"stdout\":\"import os\",\"stderr\":\"\",\"exit_code\":0}",
     {"src/a.py": C}),
    ("some-agent", "bash", {"command": "cat src/a.py"},
     "{\"output\":\"\",\"error\":\"cat: src/a.py: No such file or directory\",\"exit_code\":1}",
     {"src/a.py": N}),
    ("some-agent", "run_command", {"command": "cat src/a.py", "cwd": "/workspace"},
     "exit_code=0\nimport os",
     {"src/a.py": C}),
    ("some-agent", "view_file", {"AbsolutePath": "/workspace/src/a.py", "StartLine": 1},
     "File Path: `file:///workspace/src/a.py`\nTotal Lines: 1\n1: import os",
     {"src/a.py": C}),
    ("some-agent", "grep_search", {"Query": "x", "SearchPath": "/workspace"},
     "{\"File\":\"/workspace/src/a.py\",\"LineNumber\":3,\"LineContent\":\"x\"}",
     {"src/a.py": P, "src/b.py": P}),
    ("some-agent", "read_file", {"path": "/workspace/src/a.py", "start_line": 1, "end_line": 10},
     "Tool execution was cancelled by the user.",
     {"src/a.py": P}),
    ("some-agent", "read_file", {"path": "/workspace/src/a.py"},
     "Permission denied",
     {"src/a.py": P}),
    ("some-agent", "read_file", {"path": "/workspace/src/a.py"},
     "",
     {"src/a.py": N}),
    ("some-agent", "read_file", {"path": "/workspace/src/a.py"},
     None,
     {"src/a.py": P}),
]  # fmt: skip


@pytest.mark.parametrize(("agent", "tool", "arguments", "answer", "expected"), CASES)
def test_what_a_converted_call_proves(tmp_path, agent, tool, arguments, answer, expected):
    document = atif([Call(tool, arguments, answer)], "ATIF-v1.7", agent)
    document["agent"]["extra"] = {"cwds": ["/workspace"]}
    assert proven(tmp_path, {"agent/trajectory.json": document}, expected) == expected
