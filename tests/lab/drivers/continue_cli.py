"""Continue's command line tool."""

from __future__ import annotations

from tests.lab.drivers import HOME, MCP, RIPGREP, URL, WITH_RIPGREP, Call, Driver, Start
from tests.lab.situations import Do, Situation

_MODEL = "scripted-1"
_OFF = {
    **WITH_RIPGREP,
    "CONTINUE_GLOBAL_DIR": f"{HOME}/.continue",
    "CONTINUE_TELEMETRY_ENABLED": "0",
    "CONTINUE_CLI_ENABLE_TELEMETRY": "0",
    "CONTINUE_CLI_AUTO_UPDATED": "true",
    "OTEL_SDK_DISABLED": "true",
}
_CONFIG = f"""\
name: lab
version: 1.0.0
schema: v1
models:
  - name: {_MODEL}
    provider: openai
    model: {_MODEL}
    apiKey: scripted
    apiBase: {URL}/v1
    roles: [chat]
    capabilities: [tool_use]
    defaultCompletionOptions: {{contextLength: 400000, maxTokens: 8000}}
mcpServers:
  - name: files
    command: {MCP[0]}
    args: [{MCP[1]}, {MCP[2]}]
"""


def _start(prompt: str, situation: Situation, is_resumed: bool) -> Start:
    rights = () if situation.mode == "ask" else ("--auto",)
    again = ("--resume",) if is_resumed else ()
    command = ("cn", "--config", f"{HOME}/config.yaml", *rights, *again, "-p", prompt)
    return Start(command, _OFF, {"config.yaml": _CONFIG})


def _say(do: Do) -> Call | None:
    match do.kind:
        case "read":
            return Call("Read", {"filepath": do.path}) if do.lines is None else None
        case "list":
            return Call("List", {"dirpath": do.path})
        case "search":
            where = {"path": do.path} if do.path else {}
            return Call("Search", {"pattern": do.text, **where})
        case "shell":
            limit = {} if do.seconds is None else {"timeout": do.seconds}
            return Call("Bash", {"command": do.text, **limit})
        case "edit":
            change = {"old_string": do.old, "new_string": do.text}
            return Call("Edit", {"file_path": do.path, **change})
        case "write":
            return Call("Write", {"filepath": do.path, "content": do.text})
        case "mcp":
            return Call(do.text, do.mcp_arguments)
        case _:
            return None


DRIVERS = (
    Driver(
        "continue",
        "npm",
        ("@continuedev/cli", "node@22", RIPGREP),
        _MODEL,
        _start,
        _say,
        {"continue-session": "home/.continue/sessions/*-*.json"},
        # What it takes for a model that it does not know.
        prices=(1, 1, 2),
        without={
            "killed": "a session is written when its run ends",
            "saved-result": "the whole output of a command is saved nowhere",
        },
    ),
)
