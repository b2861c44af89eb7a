"""Claude Code's stream: what its results prove."""

from __future__ import annotations

from typing import Any, TypeAlias

from tests.traps import Rows

Step: TypeAlias = tuple[str, dict[str, Any], str | dict[str, Any] | None]
"""A call: name, arguments, and its answer as a text, as fields of the result, or none."""


def trial(*steps: Step, cwd: str | None = "/workspace", task: str = "") -> dict[str, Any]:
    """Return a trial with the stream of some calls, for a task of this ``task.toml``."""
    start: dict[str, Any] = {"type": "system", "subtype": "init", "session_id": "s", "tools": []}
    lines: list[dict[str, Any]] = [start if cwd is None else {**start, "cwd": cwd}]
    for number, (name, arguments, result) in enumerate(steps):
        call = {"type": "tool_use", "id": f"c{number}", "name": name, "input": arguments}
        message = {"id": f"m{number}", "content": [call]}
        lines.append({"type": "assistant", "parent_tool_use_id": None, "message": message})
        if result is not None:
            fields = {"content": result} if isinstance(result, str) else result
            answer = {"type": "tool_result", "tool_use_id": f"c{number}", **fields}
            own = {"parent_tool_use_id": None, "message": {"content": [answer]}}
            lines.append({"type": "user", **own})
    lines.append({"type": "result", "subtype": "success"})
    return {"agent/claude-code.txt": lines, "task.toml": task}


def _one(*step: Any) -> dict[str, Any]:
    return trial(step)


def _failed(text: str) -> dict[str, Any]:
    return {"content": text, "is_error": True}


def _read(result: str | dict[str, Any], path: str = "/workspace/src/a.py") -> dict[str, Any]:
    return trial(("Read", {"file_path": path}, result))


def _bash(command: str, result: str | dict[str, Any], **more: Any) -> dict[str, Any]:
    return trial(("Bash", {"command": command, **more}, result))


def _mcp(result: str | dict[str, Any]) -> dict[str, Any]:
    return trial(("mcp__fs__read_file", {"path": "/workspace/src/a.py"}, result))


_STARTED = (
    "Command running in background with ID: b1. Output is being written to: /tmp/claude-0/b1.output"
)

TRAPS: Rows = {
    ("read", "+src/a.py, -src/b.py"): {
        "Read answered with numbered lines of the file.": _read("1\timport os"),
        "The server's answer embeds the content of the file.": _mcp(
            {
                "content": [
                    {"type": "text", "text": "One file."},
                    {"type": "resource", "resource": {"uri": "file:///x", "text": "import os"}},
                ]
            }
        ),
    },
    ("read", "+img/a.png"): {
        "Read answered with the image, which has no text.": _read(
            {"content": [{"type": "image", "source": {"type": "base64", "data": "x"}}]},
            "/workspace/img/a.png",
        )
    },
    ("search", "-src/a.py"): {
        "The server found nothing, and repeats what was searched.": _one(
            "mcp__docs__search", {"query": "limit"}, '{"hits": [], "query": "limit", "took_ms": 3}'
        ),
        "What was searched for is not what was found.": _one(
            "Grep", {"pattern": "src/a.py"}, "No files found"
        ),
    },
    ("search", "+src/a.py, -src/b.py"): {
        "The answer embeds a file, which its URI names.": _one(
            "mcp__docs__find",
            {"query": "limit"},
            {
                "content": [
                    {
                        "type": "resource",
                        "resource": {"uri": "file:///workspace/src/a.py", "text": "x = 1"},
                    }
                ]
            },
        ),
        "The search names one file with a hit, and its answer is whole.": _one(
            "Grep", {"pattern": "limit"}, "Found 1 file\nsrc/a.py"
        ),
        "The grep of Claude Code's shell names the one file that it searched.": _bash(
            "grep -rn limit src/a.py", "src/a.py:3:limit = 4\nsrc/a.py:9:limit += 1"
        ),
    },
    ("listing", "+src/a.py, -src/b.py"): {
        "The listing names one file.": _one("Glob", {"pattern": "**/*.py"}, "/workspace/src/a.py")
    },
    ("failed read", "-src/a.py"): {
        "There was no file to read.": _read(
            _failed("<tool_use_error>File does not exist.</tool_use_error>")
        ),
        "The answer is an object that only describes an error.": _mcp(
            '{"status": "error", "message": "no such file", "content": null}'
        ),
    },
    ("failed read", "+src/a.py, -src/b.py"): {
        "The command ran: it printed the first file and says that the second is missing.": _bash(
            "cat src/a.py src/b.py",
            _failed("Exit code 1\nimport os\ncat: src/b.py: No such file or directory"),
        )
    },
    ("failed read", "?src/a.py"): {
        "The sentence may be that of the harness, and a file may hold it.": _mcp(
            'MCP server "fs" is not connected'
        ),
        "The answer names the file and holds no content of it.": _mcp(
            '{"path": "src/a.py", "content": null}'
        ),
    },
    ("failed read", "?src/a.py, -src/b.py"): {
        "The file was read before, perhaps outside of the stream.": _read(
            "Wasted call \u2014 file unchanged since your last Read. Refer to that "
            "earlier tool_result instead."
        )
    },
    ("denied", "-src/a.py"): {
        "An error without an exit code means that the call did not run.": _read(
            _failed("Permission to use Read has been denied.")
        ),
        "The command needs an approval that was not given.": _bash(
            "cat src/a.py; ls",
            {"content": "This Bash command contains multiple operations", "is_error": False},
        ),
    },
    ("timed out", "-src/a.py"): {
        "The command was killed before it printed anything.": _bash(
            "cat src/a.py", _failed("Command timed out after 2m 0.0s")
        ),
        "The message, which some versions print twice, is no output of the command.": _bash(
            "cat src/a.py",
            _failed("Exit code 255\nCommand timed out after 60s\n\nCommand timed out after 60s"),
        ),
    },
    ("timed out", "+src/a.py, -src/b.py"): {
        "What the command printed before the time-out stands behind the message.": _bash(
            "ls src", _failed("Command timed out after 2m 0.0s\na.py")
        )
    },
    ("timed out", "+src/a.py, ?src/b.py"): {
        "What the command printed before the time-out stands before the message.": _bash(
            "cat src/a.py; sleep 200; cat src/b.py",
            _failed("x = 1\nCommand timed out after 2m 0.0s"),
        ),
        "The command was killed, and what it printed before was shown.": _bash(
            "cat src/a.py; sleep 200; cat src/b.py", _failed("Exit code -9\nx = 1")
        ),
    },
    ("background", "?src/a.py, -src/b.py"): {
        "The output was written to a file that the agent is not seen to read.": _bash(
            "cat src/a.py", _STARTED, run_in_background=True
        )
    },
    ("sub-agent", "?src/a.py"): {
        "The stream holds no call of the sub-agent; its answer names the file.": _one(
            "Task", {"prompt": "Find it"}, "The limit is set in src/a.py, line 3."
        ),
        "The skill ran in a sub-agent, whose calls the stream does not hold.": _one(
            "Skill",
            {"skill": "look"},
            'Skill "look" completed (forked execution).\n\nResult:\nnothing',
        ),
    },
    ("sub-agent", "-src/a.py"): {
        "A sub-agent that was denied made no calls.": _one(
            "Task",
            {"prompt": "look at src/a.py"},
            _failed("The user doesn't want to proceed with this tool use."),
        ),
        "A skill that does not fork only adds instructions.": _one(
            "Skill", {"skill": "look"}, "Launching skill: look"
        ),
        "The sub-agent was not started.": _one(
            "Agent", {"prompt": "look"}, _failed("The user doesn't want to proceed with this")
        ),
    },
    ("sub-agent", "?src/a.py, +src/b.py"): {
        "A workflow works by sub-agents, whose calls the stream does not hold.": trial(
            ("Workflow", {"script": "await agent('look')"}, "Workflow launched"),
            ("Read", {"file_path": "/workspace/src/b.py"}, "1\timport os"),
        )
    },
    ("two checkouts", "+src/a.py, -src/b.py"): {
        "A worktree is a further checkout of the task's repository, the clone is another's.": trial(
            ("Read", {"file_path": "/workspace/.claude/worktrees/fix/src/a.py"}, "1\timport os"),
            (
                "Bash",
                {"command": "git clone https://github.com/acme/other /tmp/other"},
                "Cloning into '/tmp/other'...",
            ),
            ("Read", {"file_path": "/tmp/other/src/b.py"}, "1\timport sys"),
            task='[task]\nrepo = "acme/widgets"\n',
        )
    },
    ("truncated output", "+src/a.py, -src/b.py"): {
        "The tool cut its answer, so that the agent saw no more than the trace holds.": _one(
            "Grep",
            {"pattern": "limit"},
            "Found 1 file limit: 1\nsrc/a.py\n(Results are truncated. Consider "
            "using a more specific path or pattern.)",
        )
    },
    ("truncated output", "-src/a.py"): {
        "The answer was saved to a file, and nothing of it was shown.": _mcp(
            "Error: result (81,234 characters) exceeds maximum allowed tokens. "
            "Output has been saved to /h/.claude/projects/p/s/tool-results/mcp-1.txt.\n"
            "Format: Plain text\nUse offset and limit parameters to read the file."
        )
    },
    ("write", "-src/a.py"): {
        "Writing a file does not show it to the agent.": _one(
            "Write",
            {"file_path": "/workspace/src/a.py", "content": "x"},
            "File created successfully at: /workspace/src/a.py",
        )
    },
    ("other", "?src/a.py, -src/b.py"): {
        "The tool is not known, and what was typed into it names the file.": _one(
            "mcp__desktop__start_process",
            {"command": "cat src/a.py", "timeout_ms": 100},
            "import os",
        )
    },
}

SHELL = _bash
