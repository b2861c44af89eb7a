"""pi, which has no sub-agents, no MCP and no permissions."""

from __future__ import annotations

from tests.lab.drivers import RIPGREP, URL, WITH_RIPGREP, Call, Driver, Start, as_json
from tests.lab.situations import Do, Situation

_MODEL = "scripted-1"
_TOOLS = "read,bash,edit,write,grep,find,ls"


def _start(prompt: str, situation: Situation, is_resumed: bool) -> Start:
    window = 100_000 if situation.mode == "compact" else 400_000
    model = {
        "id": _MODEL,
        "name": _MODEL,
        "reasoning": False,
        "input": ["text"],
        "contextWindow": window,
        "maxTokens": 8000,
        "cost": {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0},
    }
    provider = {
        "baseUrl": f"{URL}/v1",
        "api": "openai-completions",
        "apiKey": "scripted",
        "models": [model],
    }
    again = ("--continue",) if is_resumed else ()
    command = ("pi", "--provider", "dev", "--model", _MODEL, "--tools", _TOOLS, "--mode", "json")
    return Start(
        (*command, *again, "-p", prompt),
        {**WITH_RIPGREP, "PI_OFFLINE": "1", "PI_TELEMETRY": "0", "PI_SKIP_VERSION_CHECK": "1"},
        {
            ".pi/agent/models.json": as_json({"providers": {"dev": provider}}),
            ".pi/agent/settings.json": as_json({"compaction": {"enabled": True}}),
        },
    )


def _say(do: Do) -> Call | None:
    path = {"path": do.path}
    match do.kind:
        case "read":
            first, last = do.lines or (0, 0)
            part = {"offset": first, "limit": last - first + 1} if first else {}
            return Call("read", {**path, **part})
        case "list":
            return Call("ls", path)
        case "search" | "find":
            where = path if do.path else {}
            return Call("grep" if do.kind == "search" else "find", {"pattern": do.text, **where})
        case "shell":
            limit = {} if do.seconds is None else {"timeout": do.seconds}
            return Call("bash", {"command": do.text, **limit})
        case "edit":
            return Call("edit", {**path, "edits": [{"oldText": do.old, "newText": do.text}]})
        case "write":
            return Call("write", {**path, "content": do.text})
        case _:
            return None


DRIVERS = (
    Driver(
        "pi",
        "npm",
        ("@earendil-works/pi-coding-agent", "node@24", RIPGREP),
        _MODEL,
        _start,
        _say,
        {"pi-session": "home/.pi/agent/sessions/*/*.jsonl", "pi-json": "stdout"},
        values={"SAVED": r"Full output: ([^\]\\\s\"]+)"},
        summary="summar",
        prices=(1, 0, 2),
    ),
)
