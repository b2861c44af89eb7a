"""Mistral Vibe."""

from __future__ import annotations

from tests.lab.drivers import HOME, MCP, ROOT, URL, Call, Driver, Start, as_json
from tests.lab.situations import Do, Situation

_MODEL = "scripted-1"
_CONFIG = f"""\
active_model = "scripted"
enable_telemetry = false
enable_update_checks = false
[[providers]]
name = "dev"
api_base = "{URL}/v1"
api_key_env_var = "SCRIPTED_KEY"
api_style = "openai"
backend = "generic"
[[models]]
name = "{_MODEL}"
provider = "dev"
alias = "scripted"
input_price = 1.0
output_price = 2.0
[[mcp_servers]]
name = "files"
transport = "stdio"
command = "{MCP[0]}"
args = ["{MCP[1]}", "{MCP[2]}"]
"""


def _start(prompt: str, situation: Situation, is_resumed: bool) -> Start:
    rights = () if situation.mode == "ask" else ("--yolo",)
    again = ("-c",) if is_resumed else ()
    shown = ("--output", "json", "--output-dir", f"{ROOT}/out/vibe")
    return Start(
        ("/srv/bin/python", "/srv/bin/vibe", "-p", prompt, *rights, "--trust", *again, *shown),
        {"VIBE_HOME": f"{HOME}/.vibe", "SCRIPTED_KEY": "scripted"},
        {".vibe/config.toml": _CONFIG},
    )


def _program(code: str) -> Call:
    return Call("run_typescript", {"code": code})


def _say(do: Do) -> Call | None:
    path = {"path": do.path}
    match do.kind:
        case "read" | "list":
            first, last = do.lines or (0, 0)
            part = {"offset": first - 1, "limit": last - first + 1} if first else {}
            return Call("read_file", {**path, **part})
        case "shell":
            limit = {} if do.seconds is None else {"timeout_seconds": do.seconds}
            return Call("bash", {"command": do.text, **limit})
        case "edit":
            change = {"old_string": do.old, "new_string": do.text}
            return Call("edit", {"file_path": do.path, **change})
        case "write":
            return Call("write_file", {**path, "content": do.text})
        case "program":
            read = f"await tools.file_system.read_file({as_json(path)})"
            return _program(f"const a = {read};\nreturn a.content.length;")
        case "mcp":
            return _program(f"return await tools.mcp_files.{do.text}({as_json(do.mcp_arguments)});")
        case _:
            return None


DRIVERS = (
    Driver(
        "mistral-vibe",
        "pip",
        ("mistral-vibe",),
        _MODEL,
        _start,
        _say,
        {"vibe-journal": "home/.vibe/logs/session/unified/*/journal/*.jsonl"},
        values={"SAVED": r"Remember: The full content was saved to ([^\\\s\"]+)\.\\n"},
        prices=(1, 1, 2),
        # It asks for a release of which the registry has only one that came after it.
        instead=("certifi==2026.10.19.post1",),
    ),
)
