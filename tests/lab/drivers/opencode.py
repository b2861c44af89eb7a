"""opencode and its fork Kilo."""

from __future__ import annotations

from tests.lab.drivers import HOME, INSTALLED, MCP, URL, Call, Driver, Start, absolute, as_json
from tests.lab.situations import Do, Situation

_KILO = "@kilocode/cli-linux-x64"
_MODEL = "scripted-1"
_OFF = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "SHARE")


def _start(name: str, program: str):
    def start(prompt: str, situation: Situation, is_resumed: bool) -> Start:
        limit = {"context": 100_000 if situation.mode == "compact" else 400_000, "output": 8000}
        cost = {"input": 1, "output": 2, "cache_read": 0, "cache_write": 0}
        model = {"name": _MODEL, "tool_call": True, "limit": limit, "cost": cost}
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "name": "scripted",
            "options": {"baseURL": f"{URL}/v1", "apiKey": "scripted"},
            "models": {_MODEL: model},
        }
        deny = {"bash": {"*": "allow", "rm *": "deny"}}
        config = {
            "model": f"dev/{_MODEL}",
            "small_model": f"dev/{_MODEL}",
            "provider": {"dev": provider},
            "mcp": {"files": {"type": "local", "command": list(MCP)}},
            "permission": deny if situation.mode == "ask" else "allow",
            "autoupdate": False,
            "share": "disabled",
        }
        prefix = name.upper()
        environment = {
            **{f"{prefix}_DISABLE_{what}": "1" for what in _OFF},
            f"{prefix}_CONFIG": f"{HOME}/config.json",
            f"{prefix}_TELEMETRY_LEVEL": "off",
            "DO_NOT_TRACK": "1",
        }
        again = ("--continue",) if is_resumed else ()
        again += ("--fork",) if is_resumed and situation.mode == "fork" else ()
        command = (program, "run", "--format", "json", "-m", f"dev/{_MODEL}", *again, prompt)
        return Start(command, environment, {"config.json": as_json(config)})

    return start


def _say(do: Do) -> Call | None:
    path = absolute(do.path)
    match do.kind:
        case "read":
            first, last = do.lines or (0, 0)
            part = {"offset": first, "limit": last - first + 1} if first else {}
            return Call("read", {"filePath": path, **part})
        case "search" | "find":
            where = {"path": path} if do.path else {}
            tool, pattern = ("grep", do.text) if do.kind == "search" else ("glob", f"**/{do.text}")
            return Call(tool, {"pattern": pattern, **where})
        case "list":
            return Call("read", {"filePath": path})
        case "shell":
            limit = {} if do.seconds is None else {"timeout": do.seconds * 1000}
            return Call("bash", {"command": do.text, "description": "Run it", **limit})
        case "edit":
            return Call("edit", {"filePath": path, "oldString": do.old, "newString": do.text})
        case "write":
            return Call("write", {"filePath": path, "content": do.text})
        case "delegate":
            task = {"description": "Read one", "prompt": do.text, "subagent_type": "general"}
            return Call("task", task)
        case "mcp":
            return Call(f"files_{do.text}", do.mcp_arguments)
        case _:
            return None


def _driver(name: str, packages: tuple[str, ...], program: str) -> Driver:
    return Driver(
        name,
        "npm",
        packages,
        _MODEL,
        _start(name, program),
        _say,
        {
            "opencode-store": f"home/.local/share/{name}/{name}.db",
            "opencode-run-json": "stdout",
        },
        values={"SAVED": r"Full output saved to: ([^\\\s\"]+)"},
        summary="summar",
        prices=(1, 0, 2),
        forks=True,
    )


DRIVERS = (
    _driver("opencode", ("opencode-ai",), "opencode"),
    # The newest release of @kilocode/cli asks for a build that the registry does not have.
    _driver("kilo", (_KILO,), f"{INSTALLED}/node_modules/{_KILO}/bin/kilo"),
)
