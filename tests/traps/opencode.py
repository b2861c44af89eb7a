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


def _trial(*states: dict[str, Any], tools: tuple[str, ...], reason: str = "stop") -> dict[str, Any]:
    lines = [
        {
            "type": "tool_use",
            "timestamp": 1770112800000 + n,
            "sessionID": "s",
            "part": {"type": "tool", "callID": f"c{n}", "tool": tool, "state": state},
        }
        for n, (tool, state) in enumerate(zip(tools, states, strict=True))
    ]
    end: dict[str, Any] = {"type": "step-finish", "reason": reason, "cost": 0}
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
        situation="read",
        files=_one(
            "read",
            {"filePath": A},
            FILE.format("\n(End of file - total 1 lines)")
            + "\n\n<system-reminder>\nInstructions from: /workspace/src/AGENTS.md\n# Rules\n"
            "\n</system-reminder>",
            loaded=["/workspace/src/AGENTS.md"],
        ),
        expected={"src/a.py": "certain", "src/AGENTS.md": "certain"},
        reason="The first read in a folder carries the content of its instructions.",
    ),
    Trap(
        situation="read",
        files=_one("read", {"filePath": "/workspace/logo.png"}, "Image read successfully"),
        expected={"logo.png": "possible"},
        reason="A model that takes no images is sent an error, and the record reads the same.",
    ),
    Trap(
        situation="truncated output",
        files=_one(
            "bash",
            {"command": "cd /workspace && cat src/a.py"},
            "...output truncated...\n\nFull output saved to: /h/opencode/tool-output/tool_1\n\n\n",
            exit=0,
            truncated=True,
        ),
        expected={"src/a.py": "none"},
        reason="Behind the notice, where the end of the output stands, there is nothing.",
    ),
    Trap(
        situation="truncated output",
        files=_trial(
            _part(
                "bash",
                {"command": "cd /workspace && grep -rn x src"},
                "...output truncated...\n\nFull output saved to: /h/opencode/tool-output/tool_1\n"
                "\nsrc/z.py:9:x\n",
                exit=0,
                truncated=True,
            ),
            _part(
                "grep",
                {"pattern": "a.py", "path": "/h/opencode/tool-output/tool_1"},
                ("Found 1 matches\n/h/opencode/tool-output/tool_1:\n  Line 1: src/a.py:3:x\n"),
            ),
            tools=("bash", "grep"),
        ),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="A line that was found in the saved output is a hit of the first search.",
    ),
    Trap(
        situation="timed out",
        files=_one(
            "bash",
            {"command": "cd /workspace && cat src/a.py; sleep 9"},
            "import os\n\n<shell_metadata>\nshell tool terminated command after exceeding timeout "
            "9 ms\n</shell_metadata>",
        ),
        expected={"src/a.py": "certain"},
        reason="The file was printed before the command was ended.",
    ),
    Trap(
        situation="search",
        files=_one("docs_lookup", {"query": "x"}, "src/a.py:2: def x(): return 1"),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="Every line of what the server answered names a file, a line and what stands there.",
    ),
    Trap(
        situation="search",
        files=_one("lint_run", {"path": "."}, "src/a.py:2:1: E501 line too long"),
        expected={"src/a.py": "possible"},
        reason="A line with a column may be the message of a checker, which shows no content.",
    ),
    Trap(
        situation="denied",
        files=_trial(
            _part("read", {"filePath": A}, FILE.format("")),
            _part(
                "read",
                {"filePath": "/etc/passwd"},
                "The user rejected permission to use this specific tool call.",
                "error",
            ),
            tools=("read", "read"),
            reason="tool-calls",
        ),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="A request that cannot be granted ends the run after its step: no step is missing.",
    ),
    Trap(
        situation="background",
        files=_one("bash", {"command": "cd /workspace && cat src/a.py &"}, "", exit=0),
        expected={"src/a.py": "possible"},
        reason="The shell did not wait for the command, and nothing of it was shown.",
    ),
    Trap(
        situation="write",
        files=_trial(
            _part(
                "write",
                {"filePath": "/srv/p/src/a.py", "content": "x = 1"},
                "Wrote file successfully.",
                exists=False,
            ),
            _part("bash", {"command": "git status --short"}, "?? src/a.py\n"),
            tools=("write", "bash"),
        ),
        expected={"src/a.py": "possible"},
        reason="Where the folder of the written file lies is not known: the two may be one file.",
    ),
)
