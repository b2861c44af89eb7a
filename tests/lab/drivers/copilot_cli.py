"""GitHub Copilot CLI, which works without an account with a provider of one's own."""

from __future__ import annotations

from tests.lab.drivers import HOME, MCP, URL, Call, Driver, Start, absolute, as_json
from tests.lab.situations import Do, Situation

_MODEL = "scripted-1"
_SERVERS = {
    "mcpServers": {
        "files": {"type": "local", "command": MCP[0], "args": list(MCP[1:]), "tools": ["*"]}
    }
}


def _start(prompt: str, situation: Situation, is_resumed: bool) -> Start:
    environment = {
        "COPILOT_PROVIDER_BASE_URL": f"{URL}/v1",
        # The key is masked wherever its text occurs in the printed stream.
        "COPILOT_PROVIDER_API_KEY": "sk-key-0123456789abcdef",
        "COPILOT_MODEL": _MODEL,
        "COPILOT_PROVIDER_MAX_PROMPT_TOKENS": "128000",
        "COPILOT_PROVIDER_MAX_OUTPUT_TOKENS": "8000",
        "COPILOT_OFFLINE": "true",
        "COPILOT_AUTO_UPDATE": "false",
    }
    command = ["copilot", "-p", prompt, "--output-format", "json", "--allow-all-tools"]
    command += ["--disable-client-telemetry", "--no-auto-update", "--disable-builtin-mcps"]
    command += ["--additional-mcp-config", f"@{HOME}/mcp.json"]
    if situation.mode == "ask":
        command += ["--deny-tool", "shell(rm)"]
    if is_resumed:
        command.append("--continue")
    return Start(tuple(command), environment, {"mcp.json": as_json(_SERVERS)})


def _say(do: Do) -> Call | None:
    path = absolute(do.path)
    match do.kind:
        case "read" | "list":
            part = {"view_range": list(do.lines)} if do.lines else {}
            return Call("view", {"path": path, **part})
        case "search":
            where = {"paths": [do.path]} if do.path else {}
            shown = {"output_mode": "content", "-n": True}
            return Call("grep", {"pattern": do.text, **shown, **where})
        case "find":
            return Call("glob", {"pattern": f"**/{do.text}"})
        case "shell":
            return Call("bash", {"command": do.text, "description": "Run it"})
        case "background":
            later = {"description": "Run it", "mode": "async", "shellId": "w1"}
            return Call("bash", {"command": f"sleep 4; {do.text}", **later})
        case "edit":
            return Call("edit", {"path": path, "old_str": do.old, "new_str": do.text})
        case "write":
            return Call("create", {"path": path, "file_text": do.text})
        case "delegate":
            task = {"name": "reader", "description": "Read one", "prompt": do.text, "mode": "sync"}
            return Call("task", {**task, "agent_type": "general-purpose"})
        case "mcp":
            return Call(f"files-{do.text}", do.mcp_arguments)
        case _:
            return None


DRIVERS = (
    Driver(
        "copilot-cli",
        "npm",
        ("@github/copilot", "node@24"),
        _MODEL,
        _start,
        _say,
        {
            "copilot-events": "home/.copilot/session-state/*/events.jsonl",
            "copilot-events printed": "stdout",
        },
        values={"SAVED": r"Saved to: ([^\\\s\"]+)"},
        summary="summar",
    ),
)
