"""OpenCode: what its stream proves."""

from __future__ import annotations

from typing import Any

from tests.traps import Rows

A = "/workspace/src/a.py"
FILE = f"<path>{A}</path>\n<type>file</type>\n<content>\n1: import os\n{{}}\n</content>"
CUT = "...output truncated...\n\nFull output saved to: /h/opencode/tool-output/tool_1\n"


def _part(
    tool: str, arguments: dict[str, Any], output: str, status: str = "completed", **metadata: Any
) -> dict[str, Any]:
    state = {"status": status, "input": arguments, "metadata": metadata}
    state |= {"error" if status == "error" else "output": output}
    return {"type": "tool", "tool": tool, "state": state}


def _trial(*parts: dict[str, Any], reason: str = "stop") -> dict[str, Any]:
    lines = [
        {
            "type": "tool_use",
            "timestamp": 1770112800000 + n,
            "sessionID": "s",
            "part": {**part, "callID": f"c{n}"},
        }
        for n, part in enumerate(parts)
    ]
    end: dict[str, Any] = {"type": "step-finish", "reason": reason, "cost": 0}
    lines.append({"type": "step_finish", "timestamp": 1770112809000, "sessionID": "s", "part": end})
    return {"agent/opencode.txt": lines}


def _one(*details: Any, **metadata: Any) -> dict[str, Any]:
    return _trial(_part(*details, **metadata))


def _bash(command: str, *details: Any, **metadata: Any) -> dict[str, Any]:
    return _one("bash", {"command": command}, *details, **metadata)


def _read(*details: Any, **metadata: Any) -> dict[str, Any]:
    return _one("read", {"filePath": A}, *details, **metadata)


def _in_workspace(command: str, text: str) -> dict[str, Any]:
    return _bash(f"cd /workspace && {command}", text, exit=0)


TRAPS: Rows = {
    ("read", "+src/a.py, -src/b.py"): {
        "The answer names the file and shows its lines.": _read(
            FILE.format("\n(End of file - total 1 lines)")
        )
    },
    ("read", "+src/a.py, +src/AGENTS.md"): {
        "The first read in a folder carries the content of its instructions.": _read(
            FILE.format("\n(End of file - total 1 lines)")
            + "\n\n<system-reminder>\nInstructions from: /workspace/src/AGENTS.md\n# Rules\n"
            "\n</system-reminder>",
            loaded=["/workspace/src/AGENTS.md"],
        )
    },
    ("read", "?logo.png"): {
        "A model that takes no images is sent an error, and the record reads the same.": _one(
            "read", {"filePath": "/workspace/logo.png"}, "Image read successfully"
        )
    },
    ("search", "+src/a.py, -src/b.py"): {
        "The answer names the file above the lines that it found.": _one(
            "grep", {"pattern": "x"}, "Found 1 matches\n/workspace/src/a.py:\n  Line 3: x"
        ),
        "The answer holds the address of the file with the definition.": _one(
            "lsp",
            {"operation": "goToDefinition", "filePath": "/workspace/src/b.py"},
            '[{"uri": "file:///workspace/src/a.py", "range": {"start": {"line": 0}}}]',
        ),
        "Every line of what the server answered names a file, a line and what stands there.": _one(
            "docs_lookup", {"query": "x"}, "src/a.py:2: def x(): return 1"
        ),
    },
    ("search", "-src/a.py"): {
        "The answer says that nothing was found.": _one(
            "grep", {"pattern": "x", "path": "/workspace/src/a.py"}, "No files found"
        )
    },
    ("search", "?src/a.py"): {
        "A line with a column may be the message of a checker, which shows no content.": _one(
            "lint_run", {"path": "."}, "src/a.py:2:1: E501 line too long"
        )
    },
    ("listing", "+src/lib/a.py, -src/a.py"): {
        "The entry is indented below the folder it lies in.": _one(
            "list", {"path": "/workspace/src"}, "/workspace/src/\n  lib/\n    a.py\n"
        )
    },
    ("failed read", "-src/a.py"): {
        "The status of the part is an error.": _read(f"File not found: {A}", "error")
    },
    ("denied", "-src/a.py"): {
        "The user did not let the command run.": _bash(
            "cat src/a.py", "The user rejected permission to use this specific tool call.", "error"
        )
    },
    ("denied", "+src/a.py, -src/b.py"): {
        "A request that cannot be granted ends the run after its step: no step is missing.": _trial(
            _part("read", {"filePath": A}, FILE.format("")),
            _part(
                "read",
                {"filePath": "/etc/passwd"},
                "The user rejected permission to use this specific tool call.",
                "error",
            ),
            reason="tool-calls",
        )
    },
    ("timed out", "-src/a.py"): {
        "The command was killed before it printed anything.": _bash(
            "cat src/a.py",
            "<bash_metadata>\nbash tool terminated command after exceeding timeout 9 ms\n"
            "</bash_metadata>",
        )
    },
    ("timed out", "+src/a.py"): {
        "The file was printed before the command was ended.": _bash(
            "cd /workspace && cat src/a.py; sleep 9",
            "import os\n\n<shell_metadata>\nshell tool terminated command after exceeding "
            "timeout 9 ms\n</shell_metadata>",
        )
    },
    ("sub-agent", "?src/a.py"): {
        "The sub-agent's calls are in a session that the stream does not hold.": _one(
            "task", {"prompt": "look"}, "The parser is in src/a.py.", sessionId="s2"
        )
    },
    ("two checkouts", "+src/a.py, -lib/a.py"): {
        "The call states the folder the command starts in.": _trial(
            _part("bash", {"command": "cd /workspace/lib && pwd"}, "/workspace/lib", exit=0),
            _part(
                "bash", {"command": "cat a.py", "workdir": "/workspace/src"}, "import os", exit=0
            ),
        )
    },
    ("truncated output", "+src/a.py"): {
        "The agent saw the first lines of the file.": _read(
            FILE.format("\n(Output capped at 50 KB. Showing lines 1-1. Use offset=2 to continue.)")
        )
    },
    ("truncated output", "-src/a.py"): {
        "Behind the notice, where the end of the output stands, there is nothing.": _bash(
            "cd /workspace && cat src/a.py", CUT + "\n\n", exit=0, truncated=True
        )
    },
    ("truncated output", "+src/a.py, -src/b.py"): {
        "A line that was found in the saved output is a hit of the first search.": _trial(
            _part(
                "bash",
                {"command": "cd /workspace && grep -rn x src"},
                CUT + "\nsrc/z.py:9:x\n",
                exit=0,
                truncated=True,
            ),
            _part(
                "grep",
                {"pattern": "a.py", "path": "/h/opencode/tool-output/tool_1"},
                ("Found 1 matches\n/h/opencode/tool-output/tool_1:\n  Line 1: src/a.py:3:x\n"),
            ),
        )
    },
    ("write", "-src/a.py"): {
        "Editing a file does not show it to the agent.": _one(
            "edit", {"filePath": A}, "Edit applied successfully."
        )
    },
    ("write", "?src/a.py"): {
        "Where the folder of the written file lies is not known: the two may be one file.": _trial(
            _part(
                "write",
                {"filePath": "/srv/p/src/a.py", "content": "x = 1"},
                "Wrote file successfully.",
                exists=False,
            ),
            _part("bash", {"command": "git status --short"}, "?? src/a.py\n"),
        )
    },
}

SHELL = _in_workspace
