"""mini-swe-agent's trajectories: what their messages prove."""

from __future__ import annotations

from typing import Any

from tests.traps import Absent, Trap


def _shown(text: str, code: int = 0) -> str:
    return f"<returncode>{code}</returncode>\n<output>\n{text}</output>"


def _trial(*steps: tuple[str, str | None]) -> dict[str, Any]:
    messages: list[dict[str, Any]] = []
    for number, (command, text) in enumerate(steps):
        actions = [{"command": command, "tool_call_id": f"c{number}"}]
        messages.append({"role": "assistant", "content": "", "extra": {"actions": actions}})
        if text is not None:
            messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": text})
    info = {"exit_status": "Submitted", "config": {"environment": {"cwd": "/testbed"}}}
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
