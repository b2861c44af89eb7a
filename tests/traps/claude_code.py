"""Claude Code's stream: what its results prove."""

from __future__ import annotations

from typing import Any

from tests.traps import Trap


def _session(*steps: tuple[str, dict[str, Any], dict[str, Any] | None]) -> list[dict[str, Any]]:
    """Return a stream of calls: name, arguments and the fields of the result (None: none)."""
    lines: list[dict[str, Any]] = [
        {"type": "system", "subtype": "init", "session_id": "s", "tools": [], "cwd": "/workspace"}
    ]
    for number, (name, arguments, result) in enumerate(steps):
        call = {"type": "tool_use", "id": f"c{number}", "name": name, "input": arguments}
        message = {"id": f"m{number}", "content": [call]}
        lines.append({"type": "assistant", "parent_tool_use_id": None, "message": message})
        if result is not None:
            answer = {"type": "tool_result", "tool_use_id": f"c{number}", **result}
            lines.append(
                {"type": "user", "parent_tool_use_id": None, "message": {"content": [answer]}}
            )
    return [*lines, {"type": "result", "subtype": "success"}]


def _trial(*steps: tuple[str, dict[str, Any], dict[str, Any] | None]) -> dict[str, Any]:
    return {"agent/claude-code.txt": _session(*steps)}


_STARTED = (
    "Command running in background with ID: b1. Output is being written to: /tmp/claude-0/b1.output"
)

TRAPS = (
    Trap(
        situation="read",
        files=_trial(("Read", {"file_path": "/workspace/src/a.py"}, {"content": "1\timport os"})),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="Read answered with numbered lines of the file.",
    ),
    Trap(
        situation="read",
        files=_trial(
            (
                "mcp__fs__read_file",
                {"path": "/workspace/src/a.py"},
                {
                    "content": [
                        {"type": "text", "text": "One file."},
                        {"type": "resource", "resource": {"uri": "file:///x", "text": "import os"}},
                    ]
                },
            )
        ),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The server's answer embeds the content of the file.",
    ),
    Trap(
        situation="search",
        files=_trial(
            (
                "mcp__docs__search",
                {"query": "limit"},
                {"content": '{"hits": [], "query": "limit", "took_ms": 3}'},
            )
        ),
        expected={"src/a.py": "none"},
        reason="The server found nothing, and repeats what was searched.",
    ),
    Trap(
        situation="search",
        files=_trial(
            (
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
            )
        ),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The answer embeds a file, which its URI names.",
    ),
    Trap(
        situation="denied",
        files=_trial(
            (
                "Read",
                {"file_path": "/workspace/src/a.py"},
                {"content": "Permission to use Read has been denied.", "is_error": True},
            )
        ),
        expected={"src/a.py": "none"},
        reason="An error without an exit code means that the call did not run.",
    ),
    Trap(
        situation="timed out",
        files=_trial(
            (
                "Bash",
                {"command": "cat src/a.py"},
                {"content": "Command timed out after 2m 0.0s", "is_error": True},
            )
        ),
        expected={"src/a.py": "none"},
        reason="The command was killed before it printed anything.",
    ),
    Trap(
        situation="write",
        files=_trial(
            (
                "Write",
                {"file_path": "/workspace/src/a.py", "content": "x"},
                {"content": "File created successfully at: /workspace/src/a.py"},
            )
        ),
        expected={"src/a.py": "none"},
        reason="Writing a file does not show it to the agent.",
    ),
    Trap(
        situation="search",
        files=_trial(("Grep", {"pattern": "limit"}, {"content": "Found 1 file\nsrc/a.py"})),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The search names one file with a hit, and its answer is whole.",
    ),
    Trap(
        situation="search",
        files=_trial(("Grep", {"pattern": "src/a.py"}, {"content": "No files found"})),
        expected={"src/a.py": "none"},
        reason="What was searched for is not what was found.",
    ),
    Trap(
        situation="listing",
        files=_trial(("Glob", {"pattern": "**/*.py"}, {"content": "/workspace/src/a.py"})),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The listing names one file.",
    ),
    Trap(
        situation="failed read",
        files=_trial(
            (
                "Read",
                {"file_path": "/workspace/src/a.py"},
                {
                    "content": "<tool_use_error>File does not exist.</tool_use_error>",
                    "is_error": True,
                },
            )
        ),
        expected={"src/a.py": "none"},
        reason="There was no file to read.",
    ),
    Trap(
        situation="failed read",
        files=_trial(
            (
                "Bash",
                {"command": "cat src/a.py src/b.py"},
                {
                    "content": "Exit code 1\nimport os\ncat: src/b.py: No such file or directory",
                    "is_error": True,
                },
            )
        ),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The command ran: it printed the first file and says that the second is missing.",
    ),
    Trap(
        situation="background",
        files=_trial(
            ("Bash", {"command": "cat src/a.py", "run_in_background": True}, {"content": _STARTED})
        ),
        expected={"src/a.py": "possible", "src/b.py": "none"},
        reason="The output was written to a file that the agent is not seen to read.",
    ),
    Trap(
        situation="sub-agent",
        files=_trial(
            ("Task", {"prompt": "Find it"}, {"content": "The limit is set in src/a.py, line 3."})
        ),
        expected={"src/a.py": "possible"},
        reason="The stream holds no call of the sub-agent; its answer names the file.",
    ),
    Trap(
        situation="two checkouts",
        files=_trial(
            (
                "Read",
                {"file_path": "/workspace/.claude/worktrees/fix/src/a.py"},
                {"content": "1\timport os"},
            ),
            (
                "Bash",
                {"command": "git clone https://github.com/acme/other /tmp/other"},
                {"content": "Cloning into '/tmp/other'..."},
            ),
            ("Read", {"file_path": "/tmp/other/src/b.py"}, {"content": "1\timport sys"}),
        ),
        task='[task]\nrepo = "acme/widgets"\n',
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="A worktree is a further checkout of the task's repository, the clone is another's.",
    ),
    Trap(
        situation="truncated output",
        files=_trial(
            (
                "Grep",
                {"pattern": "limit"},
                {
                    "content": "Found 1 file limit: 1\nsrc/a.py\n(Results are truncated. Consider "
                    "using a more specific path or pattern.)"
                },
            )
        ),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The tool cut its answer, so that the agent saw no more than the trace holds.",
    ),
    Trap(
        situation="sub-agent",
        files=_trial(
            (
                "Task",
                {"prompt": "look at src/a.py"},
                {
                    "content": "The user doesn't want to proceed with this tool use.",
                    "is_error": True,
                },
            )
        ),
        expected={"src/a.py": "none"},
        reason="A sub-agent that was denied made no calls.",
    ),
    Trap(
        situation="failed read",
        files=_trial(
            (
                "mcp__fs__read_file",
                {"path": "/workspace/src/a.py"},
                {"content": '{"status": "error", "message": "no such file", "content": null}'},
            )
        ),
        expected={"src/a.py": "none"},
        reason="The answer is an object that only describes an error.",
    ),
    Trap(
        situation="failed read",
        files=_trial(
            (
                "mcp__fs__read_file",
                {"path": "/workspace/src/a.py"},
                {"content": 'MCP server "fs" is not connected'},
            )
        ),
        expected={"src/a.py": "possible"},
        reason="The sentence may be that of the harness, and a file may hold it.",
    ),
    Trap(
        situation="failed read",
        files=_trial(
            (
                "mcp__fs__read_file",
                {"path": "/workspace/src/a.py"},
                {"content": '{"path": "src/a.py", "content": null}'},
            )
        ),
        expected={"src/a.py": "possible"},
        reason="The answer names the file and holds no content of it.",
    ),
    Trap(
        situation="timed out",
        files=_trial(
            (
                "Bash",
                {"command": "ls src"},
                {"content": "Command timed out after 2m 0.0s\na.py", "is_error": True},
            )
        ),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="What the command printed before the time-out stands behind the message.",
    ),
    Trap(
        situation="timed out",
        files=_trial(
            (
                "Bash",
                {"command": "cat src/a.py; sleep 200; cat src/b.py"},
                {"content": "x = 1\nCommand timed out after 2m 0.0s", "is_error": True},
            )
        ),
        expected={"src/a.py": "certain", "src/b.py": "possible"},
        reason="What the command printed before the time-out stands before the message.",
    ),
    Trap(
        situation="timed out",
        files=_trial(
            (
                "Bash",
                {"command": "cat src/a.py; sleep 200; cat src/b.py"},
                {"content": "Exit code -9\nx = 1", "is_error": True},
            )
        ),
        expected={"src/a.py": "certain", "src/b.py": "possible"},
        reason="The command was killed, and what it printed before was shown.",
    ),
    Trap(
        situation="timed out",
        files=_trial(
            (
                "Bash",
                {"command": "cat src/a.py"},
                {
                    "content": (
                        "Exit code 255\nCommand timed out after 60s\n\nCommand timed out after 60s"
                    ),
                    "is_error": True,
                },
            )
        ),
        expected={"src/a.py": "none"},
        reason="The message, which some versions print twice, is no output of the command.",
    ),
    Trap(
        situation="read",
        files=_trial(
            (
                "Read",
                {"file_path": "/workspace/img/a.png"},
                {"content": [{"type": "image", "source": {"type": "base64", "data": "x"}}]},
            )
        ),
        expected={"img/a.png": "certain"},
        reason="Read answered with the image, which has no text.",
    ),
    Trap(
        situation="other",
        files=_trial(
            (
                "mcp__desktop__start_process",
                {"command": "cat src/a.py", "timeout_ms": 100},
                {"content": "import os"},
            )
        ),
        expected={"src/a.py": "possible", "src/b.py": "none"},
        reason="The tool is not known, and what was typed into it names the file.",
    ),
    Trap(
        situation="sub-agent",
        files=_trial(
            ("Workflow", {"script": "await agent('look')"}, {"content": "Workflow launched"}),
            ("Read", {"file_path": "/workspace/src/b.py"}, {"content": "1\timport os"}),
        ),
        expected={"src/a.py": "possible", "src/b.py": "certain"},
        reason="A workflow works by sub-agents, whose calls the stream does not hold.",
    ),
    Trap(
        situation="sub-agent",
        files=_trial(
            (
                "Skill",
                {"skill": "look"},
                {"content": 'Skill "look" completed (forked execution).\n\nResult:\nnothing'},
            ),
        ),
        expected={"src/a.py": "possible"},
        reason="The skill ran in a sub-agent, whose calls the stream does not hold.",
    ),
    Trap(
        situation="sub-agent",
        files=_trial(("Skill", {"skill": "look"}, {"content": "Launching skill: look"})),
        expected={"src/a.py": "none"},
        reason="A skill that does not fork only adds instructions.",
    ),
    Trap(
        situation="sub-agent",
        files=_trial(
            (
                "Agent",
                {"prompt": "look"},
                {"content": "The user doesn't want to proceed with this", "is_error": True},
            )
        ),
        expected={"src/a.py": "none"},
        reason="The sub-agent was not started.",
    ),
    Trap(
        situation="failed read",
        files=_trial(
            (
                "Read",
                {"file_path": "/workspace/src/a.py"},
                {
                    "content": (
                        "Wasted call \u2014 file unchanged since your last Read. Refer to that "
                        "earlier tool_result instead."
                    )
                },
            )
        ),
        expected={"src/a.py": "possible", "src/b.py": "none"},
        reason="The file was read before, perhaps outside of the stream.",
    ),
    Trap(
        situation="denied",
        files=_trial(
            (
                "Bash",
                {"command": "cat src/a.py; ls"},
                {"content": "This Bash command contains multiple operations", "is_error": False},
            )
        ),
        expected={"src/a.py": "none"},
        reason="The command needs an approval that was not given.",
    ),
    Trap(
        situation="truncated output",
        files=_trial(
            (
                "mcp__fs__read_file",
                {"path": "/workspace/src/a.py"},
                {
                    "content": "Error: result (81,234 characters) exceeds maximum allowed tokens. "
                    "Output has been saved to /h/.claude/projects/p/s/tool-results/mcp-1.txt.\n"
                    "Format: Plain text\nUse offset and limit parameters to read the file."
                },
            )
        ),
        expected={"src/a.py": "none"},
        reason="The answer was saved to a file, and nothing of it was shown.",
    ),
    Trap(
        situation="search",
        files=_trial(
            (
                "Bash",
                {"command": "grep -rn limit src/a.py"},
                {"content": "src/a.py:3:limit = 4\nsrc/a.py:9:limit += 1"},
            )
        ),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The grep of Claude Code's shell names the one file that it searched.",
    ),
)
