"""Mistral Vibe: what its journal proves."""

from __future__ import annotations

import json
from typing import Any

from tests.traps import Absent, Rows

_Step = tuple[str, dict[str, Any], str]


def _journal(*steps: _Step) -> dict[str, Any]:
    """Return a session whose calls the model was answered with texts."""
    lines: list[dict[str, Any]] = [_sent("replace", {"role": "system", "content": _text(_SYSTEM)})]
    for number, (name, arguments, text) in enumerate(steps):
        call = {"type": "tool_call", "id": f"c{number}", "name": name}
        part = {**call, "arguments_json": json.dumps(arguments)}
        told = {"result": {"parts": [part], "usage": {"input_tokens": 9, "output_tokens": 1}}}
        lines.append(_record("action_result", {"result": told}))
        is_error = text.startswith('{"result"')
        outcome = {"outcome": "failure" if is_error else "success", "content": _text(text)}
        lines.append(_sent("append", {"role": "tool", "tool_call_id": f"c{number}", **outcome}))
    done = {"result": {"parts": [{"type": "text", "text": "Done."}]}}
    return {"sessions/journal.jsonl": [*lines, _record("action_result", {"result": done})]}


def _text(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text}]


def _sent(how: str, *messages: dict[str, Any]) -> dict[str, Any]:
    model_input = {"messages": {"type": how, "messages": list(messages)}}
    return _record("action_intent", {"kind": "completion", "request": {"model_input": model_input}})


def _record(kind: str, payload: dict[str, Any]) -> dict[str, Any]:
    return {"recovery_journal_record_version": 1, "type": kind, "payload": payload}


def _read(text: str, *, first: int = 1, total: int = 1) -> _Step:
    shown = {"content": text, "offset": first - 1, "lines_read": text.count("\n")}
    asked = {"path": "src/a.py", "offset": first - 1}
    return "read_file", asked, json.dumps({**shown, "total_lines": total})


def _bash(command: str, text: str, *, errors: str = "", is_late: bool = False) -> _Step:
    ended = {"returncode": -9 if is_late else 0, "timed_out": is_late, "was_truncated": False}
    return "bash", {"command": command}, json.dumps({"stdout": text, "stderr": errors, **ended})


def _failed(name: str, message: str) -> str:
    return json.dumps({"result": {"type": "error", "error": {"name": name, "message": message}}})


def _large(command: str, text: str) -> _Step:
    inner = _bash(command, text)[2]
    head = "<system>The tool output is large. To preserve your context window, it was saved to"
    where = "the file system under /h/.vibe/logs/session/unified/s/tool-results/bash-c0.json.\n"
    body = f"</system>\n<truncated-output>\n{inner}\n</truncated-output>\n<output-type>x"
    return "bash", {"command": command}, f"{head} {where}{body}"


_SYSTEM = "Absolute path: /w\n\nContents of /w/AGENTS.md:\n\nBe brief.\n"
_NOTE = "\n[... 99 characters omitted ...]\n"
_RULES = (
    "<vibe_warning>\nContents of /w/src/AGENTS.md (project instructions for this directory):\n\n"
    "Be brief.\n</vibe_warning>"
)

TRAPS: Rows = {
    ("read", "+src/a.py, -src/b.py"): {
        "The answer is the content.": _journal(_read("import os\n"))
    },
    ("read", "-src/a.py"): {
        "Instructions beside the file stand in the place of its content.": _journal(
            ("read_file", {"path": "src/a.py"}, _RULES)
        )
    },
    ("read", "?src/a.py"): {
        "A program of the model read the file, and its answer is what the program returned.": (
            _journal(
                (
                    "run_typescript",
                    {"code": 'return (await tools.file_system.read_file({path: "src/a.py"})).n;'},
                    "651",
                )
            )
        )
    },
    ("failed read", "-src/a.py"): {
        "The answer is an error.": _journal(
            ("read_file", {"path": "src/a.py"}, _failed("tool_failed", "File not found at: src/a"))
        )
    },
    ("denied", "-src/a.py"): {
        "The call did not run.": _journal(
            ("bash", {"command": "cat src/a.py"}, _failed("InvalidToolCall", "no such tool"))
        )
    },
    ("timed out", "+src/a.py, ?src/b.py"): {
        "What was printed before the limit was shown.": _journal(
            _bash("cat src/a.py; sleep 9; cat src/b.py", "import os\n", is_late=True)
        )
    },
    ("truncated output", "+src/a.py, ?src/b.py, +src/c.py"): {
        "Of a large answer both ends were shown.": _journal(
            _large("cat src/a.py src/b.py src/c.py", f"import os\nimport re\nx{_NOTE}y\nz = 1\n")
        )
    },
    ("write", "-src/a.py"): {
        "Writing a file does not show it to the agent.": _journal(
            ("write_file", {"path": "src/a.py", "content": "x"}, '{"bytes_written":1}')
        )
    },
}

ABSENT: Absent = {"sub-agent": "No sub-agent was seen."}


def SHELL(command: str, text: str) -> dict[str, Any]:  # noqa: N802  a declaration of the matrix
    return _journal(_bash(command, text))
