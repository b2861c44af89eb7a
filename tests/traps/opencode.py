"""OpenCode: what its stream proves."""

from __future__ import annotations

from typing import Any

from tests.traps import Trap

A = "/workspace/src/a.py"
FILE = f"<path>{A}</path>\n<type>file</type>\n<content>\n1: import os\n{{}}\n</content>"


def _part(
    tool: str, arguments: dict[str, Any], output: str, status: str = "completed", **metadata: Any
) -> dict[str, Any]:
    state = {"status": status, "input": arguments, "metadata": metadata}
    return {**state, "error": output} if status == "error" else {**state, "output": output}


def _trial(*states: dict[str, Any], tools: tuple[str, ...]) -> dict[str, Any]:
    lines = [
        {
            "type": "tool_use",
            "timestamp": 1770112800000 + n,
            "sessionID": "s",
            "part": {"type": "tool", "callID": f"c{n}", "tool": tool, "state": state},
        }
        for n, (tool, state) in enumerate(zip(tools, states, strict=True))
    ]
    end: dict[str, Any] = {"type": "step-finish", "reason": "stop", "cost": 0}
    lines.append({"type": "step_finish", "timestamp": 1770112809000, "sessionID": "s", "part": end})
    return {"agent/opencode.txt": lines}


def _one(tool: str, *details: Any, **metadata: Any) -> dict[str, Any]:
    return _trial(_part(tool, *details, **metadata), tools=(tool,))


TRAPS = (
    Trap(
        situation="read",
        files=_one(
            "read",
            {"filePath": A},
            FILE.format("\n(End of file - total 1 lines)"),
        ),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The answer names the file and shows its lines.",
    ),
    Trap(
        situation="search",
        files=_one("grep", {"pattern": "x"}, "Found 1 matches\n/workspace/src/a.py:\n  Line 3: x"),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The answer names the file above the lines that it found.",
    ),
    Trap(
        situation="search",
        files=_one("grep", {"pattern": "x", "path": "/workspace/src/a.py"}, "No files found"),
        expected={"src/a.py": "none"},
        reason="The answer says that nothing was found.",
    ),
    Trap(
        situation="listing",
        files=_one("list", {"path": "/workspace/src"}, "/workspace/src/\n  lib/\n    a.py\n"),
        expected={"src/lib/a.py": "certain", "src/a.py": "none"},
        reason="The entry is indented below the folder it lies in.",
    ),
    Trap(
        situation="failed read",
        files=_one(
            "read",
            {"filePath": A},
            f"File not found: {A}",
            "error",
        ),
        expected={"src/a.py": "none"},
        reason="The status of the part is an error.",
    ),
    Trap(
        situation="denied",
        files=_one(
            "bash",
            {"command": "cat src/a.py"},
            "The user rejected permission to use this specific tool call.",
            "error",
        ),
        expected={"src/a.py": "none"},
        reason="The user did not let the command run.",
    ),
    Trap(
        situation="timed out",
        files=_one(
            "bash",
            {"command": "cat src/a.py"},
            "<bash_metadata>\nbash tool terminated command after exceeding timeout 9 ms\n"
            "</bash_metadata>",
        ),
        expected={"src/a.py": "none"},
        reason="The command was killed before it printed anything.",
    ),
    Trap(
        situation="two checkouts",
        files=_trial(
            _part("bash", {"command": "cd /workspace/lib && pwd"}, "/workspace/lib", exit=0),
            _part(
                "bash", {"command": "cat a.py", "workdir": "/workspace/src"}, "import os", exit=0
            ),
            tools=("bash", "bash"),
        ),
        expected={"src/a.py": "certain", "lib/a.py": "none"},
        reason="The call states the folder the command starts in.",
    ),
    Trap(
        situation="truncated output",
        files=_one(
            "read",
            {"filePath": A},
            FILE.format("\n(Output capped at 50 KB. Showing lines 1-1. Use offset=2 to continue.)"),
        ),
        expected={"src/a.py": "certain"},
        reason="The agent saw the first lines of the file.",
    ),
    Trap(
        situation="write",
        files=_one("edit", {"filePath": A}, "Edit applied successfully."),
        expected={"src/a.py": "none"},
        reason="Editing a file does not show it to the agent.",
    ),
    Trap(
        situation="sub-agent",
        files=_one("task", {"prompt": "look"}, "The parser is in src/a.py.", sessionId="s2"),
        expected={"src/a.py": "possible"},
        reason="The sub-agent's calls are in a session that the stream does not hold.",
    ),
    Trap(
        situation="search",
        files=_one(
            "lsp",
            {"operation": "goToDefinition", "filePath": "/workspace/src/b.py"},
            '[{"uri": "file:///workspace/src/a.py", "range": {"start": {"line": 0}}}]',
        ),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The answer holds the address of the file with the definition.",
    ),
    Trap(
        situation="background",
        files=_one("bash", {"command": "cd /workspace && cat src/a.py &"}, "", exit=0),
        expected={"src/a.py": "possible"},
        reason="The shell did not wait for the command, and nothing of it was shown.",
    ),
)
