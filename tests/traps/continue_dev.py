"""Continue's sessions: what the state of a call and the words around its answer prove."""

from __future__ import annotations

import json
from typing import Any

from tests.traps import Rows


def _session(*steps: tuple[str, dict[str, Any], str, str]) -> dict[str, Any]:
    history: list[dict[str, Any]] = []
    for number, (name, arguments, text, status) in enumerate(steps):
        function = {"name": name, "arguments": json.dumps(arguments)}
        call = {"id": f"c{number}", "function": function}
        message = {"role": "assistant", "content": "", "toolCalls": [call]}
        state = {"toolCallId": f"c{number}", "status": status, "output": [{"content": text}]}
        history.append({"message": message, "contextItems": [], "toolCallStates": [state]})
    stated = {"sessionId": "s", "workspaceDirectory": "/w", "history": history}
    return {"agent/trajectory.json": stated}


def _one(name: str, arguments: dict[str, Any], text: str, status: str = "done") -> dict[str, Any]:
    return _session((name, arguments, text, status))


def _ran(command: str, text: str, status: str = "done") -> dict[str, Any]:
    return _one("Bash", {"command": command}, text, status)


def _answered(text: str) -> str:
    return json.dumps([{"type": "text", "text": text}], separators=(",", ":"))


_FILE = {"filepath": "src/a.py"}
_FAILED = "Error executing tool Bash: Error (exit code 3): "

TRAPS: Rows = {
    ("read", "+src/a.py, -src/b.py"): {
        "The answer is the content, below a line that names the file.": _one(
            "Read", _FILE, "Content of src/a.py:\nimport os\n"
        )
    },
    ("search", "+src/a.py, -src/b.py"): {
        "Each line below the heading names its file.": _one(
            "Search", {"pattern": "x"}, 'Search results for pattern "x":\n\n/w/src/a.py:2:x = 1'
        ),
        "The answer of a server's tool is a list of blocks.": _one(
            "find_hits",
            {"q": "x"},
            _answered('{"hits": [{"path": "src/a.py", "line": 2, "text": "x"}]}'),
        ),
    },
    ("search", "-src/a.py"): {
        "Nothing was found.": _one("Search", {"pattern": "x"}, 'No matches found for pattern "x".')
    },
    ("listing", "+src/a.py, -src/lib"): {
        "The listing names the file with its size, and marks a folder.": _one(
            "List", {"dirpath": "src"}, "Files in /w/src:\na.py (file, 12 bytes)\nlib (directory)"
        )
    },
    ("failed read", "-src/a.py"): {
        "The file is not there.": _one(
            "Read", _FILE, "Error executing tool Read: File does not exist: src/a.py", "errored"
        ),
        "The file is too large to be read.": _one(
            "Read", _FILE, "Error executing tool Read: File is too large to read", "errored"
        ),
    },
    ("failed read", "-src/a.py, -src/b.py"): {
        "Of a command that failed, only its errors were shown.": _ran(
            "cat src/a.py src/b.py", f"{_FAILED}cat: src/b.py: No such file\n", "errored"
        )
    },
    ("denied", "-src/a.py"): {
        "The call was not allowed.": _ran(
            "cat src/a.py", "Command blocked by security policy", "canceled"
        )
    },
    ("timed out", "+src/a.py"): {
        "What was printed before the limit was shown.": _ran(
            "cat src/a.py; sleep 9",
            "import os\n\n\n[Command timed out after 2 seconds of no output]",
        )
    },
    ("timed out", "-src/a.py"): {
        "Nothing was printed before the limit.": _ran(
            "sleep 9; cat src/a.py", "\n\n[Command timed out after 2 seconds of no output]"
        )
    },
    ("background", "?src/a.py"): {
        "The command went on, and nothing of it was shown.": _ran(
            "cat src/a.py",
            'Command moved to background. Job ID: 1\nOutput so far:\n\nUse CheckBackgroundJob("1")',
        )
    },
    ("sub-agent", "?src/a.py"): {
        "The calls of the sub-agent are not in the session.": _one(
            "Subagent", {"prompt": "look"}, "It is in src/a.py."
        )
    },
    ("two checkouts", "+src/a.py, -lib/src/a.py"): {
        "A command starts in the session's folder, not where another one ended.": _session(
            ("Bash", {"command": "cd lib && ls"}, "README.md", "done"),
            ("Bash", {"command": "cat src/a.py"}, "import os", "done"),
        )
    },
    ("truncated output", "?src/a.py, +src/b.py"): {
        "Only the end was shown, which is of the last file.": _ran(
            "cat src/a.py src/b.py",
            "(previous output truncated: 9 lines and 99 characters removed)\n\ny = 1\nz = 2\n",
        )
    },
    ("write", "-src/a.py"): {
        "Writing a file does not show it to the agent.": _one(
            "Write", _FILE | {"content": "x"}, "Successfully created file: src/a.py"
        )
    },
}

SHELL = _ran
