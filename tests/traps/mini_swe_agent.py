"""mini-swe-agent's trajectories: what their messages prove."""

from __future__ import annotations

import json
from typing import Any

from tests.traps import Absent, Rows


def _shown(text: str, code: int = 0) -> str:
    return f"<returncode>{code}</returncode>\n<output>\n{text}</output>"


def _json(text: str, code: int = 0, **more: Any) -> str:
    return json.dumps({"returncode": code, "output": text, **more}, indent=2)


def _elided(head: str, tail: str) -> str:
    stated = {"returncode": 0, "output_head": head, "output_tail": tail, "elided_chars": 17786}
    return json.dumps({**stated, "warning": "Output too long."}, indent=2)


def _killed(text: str) -> str:
    why = "An error occurred while executing the command: Command 'x' timed out after 3 seconds"
    return _json(text, -1, exception_info=why)


def _texts(*pairs: tuple[str, str], api_calls: int) -> dict[str, Any]:
    """Return a trial of version 1: answers in text and what the environment replied to each."""
    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": "Fix it."}]
    for said, reply in pairs:
        messages.append({"role": "assistant", "content": said})
        messages.append({"role": "user", "content": reply})
    info = {"exit_status": "Submitted", "model_stats": {"api_calls": api_calls}}
    document = {"trajectory_format": "mini-swe-agent-1", "info": info, "messages": messages}
    return {"agent/mini-swe-agent.trajectory.json": document}


def _trial(*steps: tuple[str, str | None], submission: str = "") -> dict[str, Any]:
    messages: list[dict[str, Any]] = []
    for number, (command, text) in enumerate(steps):
        actions = [{"command": command, "tool_call_id": f"c{number}"}]
        messages.append({"role": "assistant", "content": "", "extra": {"actions": actions}})
        if text is not None:
            messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": text})
    config = {"environment": {"cwd": "/testbed"}}
    info = {"exit_status": "Submitted", "config": config, "submission": submission}
    document = {"trajectory_format": "mini-swe-agent-1.1", "info": info, "messages": messages}
    return {"agent/mini-swe-agent.trajectory.json": document}


def _one(*step: Any) -> dict[str, Any]:
    return _trial(step)


def _ran(command: str, text: str, code: int = 0) -> dict[str, Any]:
    return _one(command, _shown(text, code))


TRAPS: Rows = {
    ("read", "+src/a.py, -src/b.py"): {
        "The output of cat is the file.": _ran("cat src/a.py", "import os\n")
    },
    ("failed read", "-src/a.py"): {
        "The output is cat's message that there is no such file.": _ran(
            "cat src/a.py", "cat: src/a.py: No such file or directory\n", 1
        )
    },
    ("denied", "-src/a.py"): {
        "The action was not executed.": [
            _one(
                "cat src/a.py", "<exception>action was not executed</exception>\n" + _shown("", -1)
            ),
            _one("cat src/a.py", _json("", -1, exception_info="action was not executed")),
        ]
    },
    ("timed out", "-src/a.py"): {
        "The command was killed before it printed anything.": [
            _one(
                "cat src/a.py",
                "<exception>Command timed out after 30 seconds</exception>\n" + _shown("", -1),
            ),
            _one("cat src/a.py", _killed("")),
        ]
    },
    ("timed out", "?src/b.py"): {
        "The command was killed, and the second file may come behind that.": _one(
            "cat src/a.py; sleep 9; cat src/b.py", _killed("a = 1\n")
        )
    },
    ("background", "+src/a.py, -src/b.py"): {
        "What the search wrote to a file was shown by the next command.": _trial(
            ("grep -rn x src > /tmp/found.txt &", _shown("")),
            ("cat /tmp/found.txt", _shown("src/a.py:3:x = 1\n")),
        )
    },
    ("two checkouts", "+src/a.py"): {
        "Each command starts in the folder that the configuration names.": _trial(
            ("cd /other && ls", _shown("")), ("cat src/a.py", _shown("import os\n"))
        )
    },
    ("truncated output", "+src/a.py"): {
        "The agent saw the head and the tail of the file.": _one(
            "cat src/a.py",
            "<returncode>0</returncode>\n<warning>\nlong\n</warning>\n<output_head>\n"
            "import os\n</output_head>\n<elided_chars>\n9\n</elided_chars>\n<output_tail>\n"
            "x\n"
            "</output_tail>",
        )
    },
    ("truncated output", "?src/b.py"): {
        "The file in the middle may lie in the part that was left out.": _one(
            "cat src/a.py src/b.py src/c.py", _elided("import os\n", "z = 1\n")
        )
    },
    ("write", "-src/a.py"): {
        "A file that is written is not shown.": _ran("cat > src/a.py <<'EOF'\nx\nEOF", "")
    },
    ("other", "+src/a.py, ?src/b.py"): {
        "What the last command printed was handed in, and no model was sent it.": _trial(
            ("cat src/a.py", _shown("a = 1\n")),
            ("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && cat src/b.py", "b = 1\n"),
            submission="b = 1\n",
        )
    },
    ("other", "?src/b.py"): {
        "The command that submits ran, though its record says that it did not.": _trial(
            (
                "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && cat src/b.py",
                _json("", -1, exception_info="action was not executed"),
            ),
            submission="b = 1\n",
        )
    },
    ("other", "?src/a.py, ?src/b.py"): {
        "The answers got replies, so something was carried out that cannot be read.": _texts(
            ('exec_bash_cmd("cat src/a.py")', "a = 1\n"),
            ("print_code_context('src/b.py', 3)", "b = 1\n"),
            api_calls=2,
        )
    },
    ("other", "-src/a.py"): {
        "Answers without a command were refused, so that nothing was carried out.": _texts(
            ("I think.", "Please always provide EXACTLY ONE action, found 0 actions."),
            ("I think more.", "Please always provide **EXACTLY ONE action**, found 0 actions."),
            api_calls=2,
        )
    },
}

SHELL = _ran

ABSENT: Absent = {"sub-agent": "The one agent has no tool but its shell."}
