"""Cline's command line tool. It starts a daemon that outlives it; the namespace ends that."""

from __future__ import annotations

import shlex

from tests.lab.drivers import MCP, URL, Call, Driver, Start, absolute, as_json
from tests.lab.situations import Do, Situation

_MODEL = "scripted-1"
_OFF = {
    "CLINE_TELEMETRY_DISABLED": "1",
    "CLINE_NO_AUTO_UPDATE": "1",
    "OTEL_SDK_DISABLED": "true",
    "DO_NOT_TRACK": "1",
}
_SERVERS = {"mcpServers": {"files": {"command": MCP[0], "args": list(MCP[1:]), "timeout": 60}}}


def _start(prompt: str, situation: Situation, is_resumed: bool) -> Start:
    account = f"cline auth -p openai -k scripted -b {URL}/v1 -m {_MODEL}"
    rights = "--auto-approve false" if situation.mode == "ask" else ""
    run = f"cline --json --retries 3 {rights} {shlex.quote(prompt)}"
    return Start(
        ("sh", "-c", f"{account} >/mnt/auth 2>&1; exec {run}"),
        _OFF,
        {".cline/data/settings/cline_mcp_settings.json": as_json(_SERVERS)},
    )


def _say(do: Do) -> Call | None:
    path = absolute(do.path)
    match do.kind:
        case "read":
            part = dict(zip(("start_line", "end_line"), do.lines or (), strict=False))
            return Call("read_files", {"files": [{"path": path, **part}]})
        case "search":
            return Call("search_codebase", {"queries": [do.text]}) if not do.path else None
        case "shell":
            return Call("run_commands", {"commands": [do.text]})
        case "edit":
            return Call("editor", {"path": path, "old_text": do.old, "new_text": do.text})
        case "write":
            return Call("editor", {"path": path, "new_text": do.text})
        case "delegate":
            task = {"systemPrompt": "You read files.", "task": do.text}
            return Call("spawn_agent", task)
        case "mcp":
            return Call(f"files__{do.text}", do.mcp_arguments)
        case _:
            return None


DRIVERS = (
    Driver(
        "cline",
        "npm",
        ("cline", "node@22"),
        _MODEL,
        _start,
        _say,
        {
            "cline-history": "home/.cline/data/sessions/*/[0-9]*.messages.json",
            "cline-json": "stdout",
        },
        # It knows no price of the model.
        prices=(0, 0, 0),
        without={
            "saved-result": "the whole output of a command is saved nowhere",
            "in-background": "a command runs to its end",
            "resumed": "it cannot be resumed headless",
            "compacted": "no setting makes it compact early",
        },
    ),
)
