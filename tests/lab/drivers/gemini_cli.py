"""Gemini CLI and its fork Qwen Code."""

from __future__ import annotations

from tests.lab.drivers import MCP, URL, Call, Driver, Start, absolute, as_json
from tests.lab.situations import Do, Situation

_SERVERS = {"files": {"command": MCP[0], "args": list(MCP[1:]), "trust": True}}
_SETTINGS = {
    "general": {"enableAutoUpdate": False},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
    "mcpServers": _SERVERS,
}
_SIDE = as_json(
    {
        "reasoning": "scripted",
        "next_speaker": "user",
        "model_choice": "flash",
        "complexity_reasoning": "scripted",
        "complexity_score": 10,
    }
)


def _start_gemini(prompt: str, situation: Situation, is_resumed: bool) -> Start:
    rights = () if situation.mode == "ask" else ("--yolo",)
    again = ("--resume", "latest") if is_resumed else ()
    auth = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    environment = {
        "GEMINI_API_KEY": "scripted-000",
        "GOOGLE_GEMINI_BASE_URL": URL,
        "GEMINI_TELEMETRY_ENABLED": "false",
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }
    return Start(
        ("gemini", "-m", _GEMINI, *rights, "--output-format", "stream-json", *again, "-p", prompt),
        environment,
        {".gemini/settings.json": as_json({**_SETTINGS, **auth})},
    )


def _start_qwen(prompt: str, situation: Situation, is_resumed: bool) -> Start:
    rights = () if situation.mode == "ask" else ("--yolo",)
    again = ("--continue",) if is_resumed else ()
    command = ("qwen", "--auth-type", "openai", *rights, "--output-format", "stream-json", *again)
    environment = {
        "OPENAI_API_KEY": "scripted-000",
        "OPENAI_BASE_URL": f"{URL}/v1",
        "OPENAI_MODEL": _QWEN,
    }
    files = {".qwen/settings.json": as_json(_SETTINGS)}
    return Start((*command, "-p", prompt), environment, files)


def _shared(do: Do) -> Call | None:
    """Say what both say alike."""
    match do.kind:
        case "list":
            return Call("list_directory", {"dir_path": absolute(do.path)})
        case "find":
            return Call("glob", {"pattern": f"**/{do.text}"})
        case "write":
            return Call("write_file", {"file_path": absolute(do.path), "content": do.text})
        case _:
            return None


def _say_gemini(do: Do) -> Call | None:
    path = absolute(do.path)
    match do.kind:
        case "read":
            part = dict(zip(("start_line", "end_line"), do.lines or (), strict=False))
            return Call("read_file", {"file_path": path, **part})
        case "search":
            where = {"dir_path": path} if do.path else {}
            return Call("grep_search", {"pattern": do.text, **where})
        case "shell" | "background":
            later = {"is_background": True} if do.kind == "background" else {}
            return Call("run_shell_command", {"command": do.text, **later})
        case "edit":
            change = {"old_string": do.old, "new_string": do.text, "instruction": "Change it."}
            return Call("replace", {"file_path": path, **change})
        case "delegate":
            return Call("invoke_agent", {"agent_name": "generalist", "prompt": do.text})
        case "mcp":
            return Call(f"mcp_files_{do.text}", do.mcp_arguments)
        case _:
            return _shared(do)


def _say_qwen(do: Do) -> Call | None:
    path = absolute(do.path)
    match do.kind:
        case "read":
            first, last = do.lines or (0, 0)
            part = {"offset": first - 1, "limit": last - first + 1} if first else {}
            return Call("read_file", {"file_path": path, **part})
        case "search":
            where = {"path": path} if do.path else {}
            return Call("grep_search", {"pattern": do.text, **where})
        case "shell" | "background":
            limit = {} if do.seconds is None else {"timeout": do.seconds * 1000}
            later = {"is_background": do.kind == "background"}
            return Call("run_shell_command", {"command": do.text, **later, **limit})
        case "edit":
            return Call("edit", {"file_path": path, "old_string": do.old, "new_string": do.text})
        case "delegate":
            task = {"description": "Read one", "subagent_type": "general-purpose"}
            return Call("agent", {**task, "prompt": do.text, "run_in_background": False})
        case "mcp":
            wrapped = {"name": f"mcp__files__{do.text}", "arguments": do.mcp_arguments}
            return Call("tool_call", wrapped)
        case "list":
            return None
        case _:
            return _shared(do)


_GEMINI = "gemini-2.5-flash"
_QWEN = "qwen3-coder-plus"
_SUMMARY = "state_snapshot|scratchpad"
DRIVERS = (
    Driver(
        "gemini-cli",
        "npm",
        ("@google/gemini-cli",),
        _GEMINI,
        _start_gemini,
        _say_gemini,
        {
            "gemini-cli-session": "home/.gemini/tmp/*/chats/session-*.jsonl",
            "gemini-cli-stream-json": "stdout",
        },
        values={"SAVED": r"full output see: ([^\\\s\"]+)"},
        summary=_SUMMARY,
        side=_SIDE,
        without={"broken-arguments": "arguments are objects in the model's interface"},
    ),
    Driver(
        "qwen-code",
        "npm",
        ("@qwen-code/qwen-code", "node@22"),
        _QWEN,
        _start_qwen,
        _say_qwen,
        {
            "qwen-code-session-jsonl": "home/.qwen/projects/*/chats/*.jsonl",
            "qwen-code-stream-json": "stdout",
        },
        values={"SAVED": r"full output has been saved to: ([^\\\s\"]+)"},
        summary=_SUMMARY,
    ),
)
