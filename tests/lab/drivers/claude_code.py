"""Claude Code."""

from __future__ import annotations

from tests.lab.drivers import MCP, URL, Call, Driver, Start, absolute, as_json
from tests.lab.situations import Do, Situation

_MODEL = "claude-sonnet-4-5"
_ENVIRONMENT = {
    "ANTHROPIC_BASE_URL": URL,
    "ANTHROPIC_API_KEY": "sk-ant-scripted-0000000000",
    "IS_SANDBOX": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
}
_MCP = as_json({"mcpServers": {"files": {"command": MCP[0], "args": list(MCP[1:])}}})
_RULES = as_json({"permissions": {"deny": ["Bash(rm:*)", "Bash(cat:*)"]}})


def _start(prompt: str, situation: Situation, is_resumed: bool) -> Start:
    command = ["claude", "--model", _MODEL, "--output-format", "stream-json", "--verbose"]
    command += ["--mcp-config", "/mnt/home/mcp.json", "--strict-mcp-config"]
    if situation.mode != "ask":
        command.append("--dangerously-skip-permissions")
    if situation.mode == "compact":
        command += ["--autocompact", "100000"]
    if is_resumed:
        command += ["--continue", "--fork-session"] if situation.mode == "fork" else ["--continue"]
    files = {"mcp.json": _MCP}
    if situation.mode == "ask":
        files[".claude/settings.json"] = _RULES
    return Start((*command, "-p", prompt), _ENVIRONMENT, files)


def _say(do: Do) -> Call | None:
    path = {"file_path": absolute(do.path)}
    match do.kind:
        case "read":
            first, last = do.lines or (None, None)
            part = {} if first is None else {"offset": first, "limit": (last or first) - first + 1}
            return Call("Read", {**path, **part})
        case "shell":
            limit = {} if do.seconds is None else {"timeout": do.seconds * 1000}
            return Call("Bash", {"command": do.text, **limit})
        case "background":
            return Call("Bash", {"command": do.text, "run_in_background": True})
        case "edit":
            return Call("Edit", {**path, "old_string": do.old, "new_string": do.text})
        case "write":
            return Call("Write", {**path, "content": do.text})
        case "delegate":
            task = {"description": "Read one", "prompt": do.text, "run_in_background": False}
            return Call("Agent", {**task, "subagent_type": "general-purpose"})
        case "mcp":
            return Call(f"mcp__files__{do.text}", do.mcp_arguments)
        case _:
            return None


DRIVERS = (
    Driver(
        "claude-code",
        "npm",
        ("@anthropic-ai/claude-code",),
        _MODEL,
        _start,
        _say,
        {
            "claude-code-session-jsonl": "home/.claude/projects/*/*.jsonl",
            "claude-code-stream-json": "stdout",
        },
        values={"SAVED": r"Full output saved to: ([^\\\s\"]+)"},
        summary="Your task is to create a detailed summary",
        prices=(3, 0.3, 15),
        forks=True,
    ),
)
