"""mini-swe-agent's trajectories: what their messages prove."""

from __future__ import annotations

import json
from typing import Any

from tests.traps import Absent, Trap


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


TRAPS = (
    Trap(
        situation="read",
        files=_trial(("cat src/a.py", _shown("import os\n"))),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The output of cat is the file.",
    ),
    Trap(
        situation="search",
        files=_trial(("grep -rn x src", _shown("src/a.py:3:x = 1\n"))),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="Each line of the output names its file.",
    ),
    Trap(
        situation="listing",
        files=_trial(("ls src", _shown("a.py\n"))),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The output lists the folder.",
    ),
    Trap(
        situation="failed read",
        files=_trial(("cat src/a.py", _shown("cat: src/a.py: No such file or directory\n", 1))),
        expected={"src/a.py": "none"},
        reason="The output is cat's message that there is no such file.",
    ),
    Trap(
        situation="denied",
        files=_trial(
            (
                "cat src/a.py",
                "<exception>action was not executed</exception>\n" + _shown("", -1),
            )
        ),
        expected={"src/a.py": "none"},
        reason="The action was not executed.",
    ),
    Trap(
        situation="timed out",
        files=_trial(
            (
                "cat src/a.py",
                "<exception>Command timed out after 30 seconds</exception>\n" + _shown("", -1),
            )
        ),
        expected={"src/a.py": "none"},
        reason="The command was killed before it printed anything.",
    ),
    Trap(
        situation="truncated output",
        files=_trial(
            (
                "cat src/a.py",
                (
                    "<returncode>0</returncode>\n<warning>\nlong\n</warning>\n<output_head>\n"
                    "import os\n</output_head>\n<elided_chars>\n9\n</elided_chars>\n<output_tail>\n"
                    "x\n"
                    "</output_tail>"
                ),
            )
        ),
        expected={"src/a.py": "certain"},
        reason="The agent saw the head and the tail of the file.",
    ),
    Trap(
        situation="truncated output",
        files=_trial(("cat src/a.py src/b.py src/c.py", _elided("import os\n", "z = 1\n"))),
        expected={"src/b.py": "possible"},
        reason="The file in the middle may lie in the part that was left out.",
    ),
    Trap(
        situation="denied",
        files=_trial(("cat src/a.py", _json("", -1, exception_info="action was not executed"))),
        expected={"src/a.py": "none"},
        reason="The action was not executed.",
    ),
    Trap(
        situation="timed out",
        files=_trial(("cat src/a.py", _killed(""))),
        expected={"src/a.py": "none"},
        reason="The command was killed before it printed anything.",
    ),
    Trap(
        situation="timed out",
        files=_trial(("cat src/a.py; sleep 9; cat src/b.py", _killed("a = 1\n"))),
        expected={"src/b.py": "possible"},
        reason="The command was killed, and the second file may come behind that.",
    ),
    Trap(
        situation="other",
        files=_trial(
            ("cat src/a.py", _shown("a = 1\n")),
            ("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && cat src/b.py", "b = 1\n"),
            submission="b = 1\n",
        ),
        expected={"src/a.py": "certain", "src/b.py": "possible"},
        reason="What the last command printed was handed in, and no model was sent it.",
    ),
    Trap(
        situation="other",
        files=_trial(
            (
                "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && cat src/b.py",
                _json("", -1, exception_info="action was not executed"),
            ),
            submission="b = 1\n",
        ),
        expected={"src/b.py": "possible"},
        reason="The command that submits ran, though its record says that it did not.",
    ),
    Trap(
        situation="other",
        files=_texts(
            ('exec_bash_cmd("cat src/a.py")', "a = 1\n"),
            ("print_code_context('src/b.py', 3)", "b = 1\n"),
            api_calls=2,
        ),
        expected={"src/a.py": "possible", "src/b.py": "possible"},
        reason="The answers got replies, so something was carried out that cannot be read.",
    ),
    Trap(
        situation="other",
        files=_texts(
            ("I think.", "Please always provide EXACTLY ONE action, found 0 actions."),
            ("I think more.", "Please always provide **EXACTLY ONE action**, found 0 actions."),
            api_calls=2,
        ),
        expected={"src/a.py": "none"},
        reason="Answers without a command were refused, so that nothing was carried out.",
    ),
    Trap(
        situation="two checkouts",
        files=_trial(
            ("cd /other && ls", _shown("")),
            ("cat src/a.py", _shown("import os\n")),
        ),
        expected={"src/a.py": "certain"},
        reason="Each command starts in the folder that the configuration names.",
    ),
    Trap(
        situation="write",
        files=_trial(("cat > src/a.py <<'EOF'\nx\nEOF", _shown(""))),
        expected={"src/a.py": "none"},
        reason="A file that is written is not shown.",
    ),
    Trap(
        situation="background",
        files=_trial(
            ("grep -rn x src > /tmp/found.txt &", _shown("")),
            ("cat /tmp/found.txt", _shown("src/a.py:3:x = 1\n")),
        ),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="What the search wrote to a file was shown by the next command.",
    ),
)

ABSENT: Absent = {
    "sub-agent": "The one agent has no tool but its shell.",
}
