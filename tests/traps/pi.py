"""pi's sessions: what the results of its tools and the notes behind them prove."""

from __future__ import annotations

from typing import Any

from tests.traps import Rows

_Step = tuple[str, dict[str, Any], str | dict[str, Any]]


def _session(*steps: _Step) -> dict[str, Any]:
    lines: list[dict[str, Any]] = [{"type": "session", "version": 3, "id": "s", "cwd": "/w"}]

    def add(**message: Any) -> None:
        place = {"id": str(len(lines)), "parentId": str(len(lines) - 1)}
        lines.append({"type": "message", **place, "message": message})

    for number, (name, arguments, end) in enumerate(steps):
        call = {"type": "toolCall", "id": f"c{number}", "name": name, "arguments": arguments}
        add(role="assistant", content=[call], stopReason="toolUse")
        more = {"content": [{"type": "text", "text": end}]} if isinstance(end, str) else end
        add(role="toolResult", toolCallId=f"c{number}", toolName=name, **{"isError": False, **more})
    add(role="assistant", content=[], stopReason="stop")
    return {"agent/session.jsonl": lines}


def _failed(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": True}


def _one(*step: Any) -> dict[str, Any]:
    return _session(step)


def _ran(command: str, end: str | dict[str, Any]) -> dict[str, Any]:
    return _one("bash", {"command": command}, end)


def _picture(**details: Any) -> dict[str, Any]:
    blocks = [{"type": "text", "text": "Read image file [image/png]"}, {"type": "image"}]
    return {"content": blocks, "details": details}


_FILE = {"path": "src/a.py"}
_TAIL = "[Showing lines 8-9 of 9 (50.0KB limit). Full output: /tmp/pi-bash-1f.log]"

TRAPS: Rows = {
    ("read", "+src/a.py, -src/b.py"): {
        "The result is the content of the file.": _one("read", _FILE, "import os\n"),
        "It is a part of the content, as the note behind it says.": _one(
            "read",
            {**_FILE, "limit": 1},
            "import os\n\n[3 more lines in file. Use offset=2 to continue.]",
        ),
    },
    ("read", "+logo.png"): {
        "The result holds the picture.": _one("read", {"path": "logo.png"}, _picture())
    },
    ("read", "-logo.png"): {
        "The model takes no pictures, and was sent none.": _one(
            "read", {"path": "logo.png"}, _picture(imageUnsupportedByModel="m")
        )
    },
    ("search", "+src/a.py, -a.py"): {
        "Names are relative to the folder that was searched.": _one(
            "grep", {"pattern": "x", "path": "src"}, "a.py:2: x = 1"
        ),
        "The folder is a file, whose name stands before its lines.": _one(
            "grep", {"pattern": "x", "path": "src/a.py"}, "a.py:2: x = 1\na.py-3- y"
        ),
        "Names of files are relative to the folder, too.": _one(
            "find", {"pattern": "*.py", "path": "/w/src"}, "a.py"
        ),
    },
    ("search", "-src/a.py"): {
        "Nothing was found.": _one("grep", {"pattern": "x", "path": "src"}, "No matches found")
    },
    ("listing", "+src/a.py, -src/b.py"): {
        "The listing names the file.": _one("ls", {"path": "src"}, "a.py\nlib/")
    },
    ("failed read", "-src/a.py"): {
        "The file is not there.": _one("read", _FILE, _failed("ENOENT: no such file, access 'a'")),
        "A line that is too long is not shown at all.": _one(
            "read", _FILE, "[Line 1 is 58.6KB, exceeds 50.0KB limit. Use bash: sed -n '1p' a]"
        ),
    },
    ("timed out", "+src/a.py, -src/b.py"): {
        "What the command printed before its limit was shown.": _ran(
            "cat src/a.py; sleep 9; true",
            _failed("import os\n\n\nCommand timed out after 2 seconds"),
        )
    },
    ("timed out", "-src/a.py"): {
        "It printed nothing before.": _ran(
            "sleep 9; cat src/a.py", _failed("(no output)\n\nCommand timed out after 2 seconds")
        )
    },
    ("two checkouts", "+src/a.py, -lib/src/a.py"): {
        "A command starts in the session's folder, not where another one ended.": _session(
            ("bash", {"command": "cd lib && ls"}, "README.md"),
            ("bash", {"command": "cat src/a.py"}, "import os"),
        )
    },
    ("truncated output", "?src/a.py, +src/b.py"): {
        "Only the end was shown, which is of the last file.": _ran(
            "cat src/a.py src/b.py", f"y = 1\nz = 2\n\n{_TAIL}"
        )
    },
    ("truncated output", "+src/a.py, -src/b.py"): {
        "A line of what was saved was looked up.": _session(
            ("bash", {"command": "grep -rn x src"}, f"src/c.py:1:x\n\n{_TAIL}"),
            ("bash", {"command": "grep a.py /tmp/pi-bash-1f.log"}, "src/a.py:3:x\n"),
        )
    },
    ("write", "-src/a.py"): {
        "Editing a file does not show it to the agent.": _one(
            "edit",
            {**_FILE, "edits": [{"oldText": "x", "newText": "y"}]},
            "Successfully replaced 1 block(s) in src/a.py.",
        )
    },
    ("other", "+src/a.py, -src/b.py"): {
        "The command ran, and what it printed is shown; its status is an error.": _ran(
            "cat src/a.py; exit 3", _failed("import os\n\n\nCommand exited with code 3")
        )
    },
}
ABSENT = {
    "denied": "It asks for no permissions.",
    "sub-agent": "It has no sub-agents.",
}

SHELL = _ran
