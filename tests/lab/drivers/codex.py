"""Codex, with direct tools and, by another model's name, in code mode."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

from tests.lab.drivers import HOME, MCP, SHOP, URL, Call, Driver, Start, absolute
from tests.lab.situations import Do, Situation

_ROLLOUTS = "home/.codex/sessions/*/*/*/rollout-*.jsonl"
_CONFIG = f"""\
model_provider = "scripted"
check_for_update_on_startup = false
[model_providers.scripted]
name = "scripted"
base_url = "{URL}/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
[analytics]
enabled = false
[projects."{SHOP}"]
trust_level = "trusted"
[mcp_servers.files]
command = "{MCP[0]}"
args = ["{MCP[1]}", "{MCP[2]}"]
"""
_PATCH = "*** Begin Patch\n*** {verb} File: {path}\n{body}*** End Patch\n"


def _start(model: str):
    def start(prompt: str, situation: Situation, is_resumed: bool) -> Start:
        free = "--dangerously-bypass-approvals-and-sandbox"
        rights = ("-s", "read-only") if situation.mode == "ask" else (free,)
        again = ("fork" if situation.mode == "fork" else "resume", "--last") if is_resumed else ()
        limit = ("-c", "model_auto_compact_token_limit=100000")
        extra = limit if situation.mode == "compact" else ()
        return Start(
            ("codex", "exec", *rights, "--json", "-m", model, *extra, *again, prompt),
            {"CODEX_HOME": f"{HOME}/.codex", "SCRIPTED_KEY": "scripted"},
            {".codex/config.toml": _CONFIG},
        )

    return start


def _patch(do: Do) -> str:
    if do.kind == "write":
        body = "".join(f"+{line}\n" for line in do.text.splitlines())
        return _PATCH.format(verb="Add", path=do.path, body=body)
    row = "  # row"
    return _PATCH.format(verb="Update", path=do.path, body=f"@@\n-{do.old}{row}\n+{do.text}{row}\n")


def _say(do: Do) -> Call | None:
    match do.kind:
        case "shell":
            wait = {} if do.seconds is None else {"yield_time_ms": do.seconds * 1000}
            return Call("exec_command", {"cmd": do.text, **wait})
        case "background":
            return Call("exec_command", {"cmd": f"sleep 4; {do.text}", "yield_time_ms": 500})
        case "edit" | "write":
            return Call("apply_patch", custom=_patch(do))
        case "image":
            return Call("view_image", {"path": absolute(do.path)})
        case "delegate":
            return Call("spawn_agent", {"message": do.text}, namespace="multi_agent_v1")
        case "gather":
            waited = {"targets": ["{{AGENT}}"], "timeout_ms": 15_000}
            return Call("wait_agent", waited, namespace="multi_agent_v1")
        case "mcp":
            return Call(do.text, do.mcp_arguments, namespace="mcp__files")
        case _:
            return None


def _say_code(do: Do) -> Call | None:
    """Say it in code mode, in which a script calls the tools and prints what it likes."""
    match do.kind:
        case "delegate":
            task = {"task_name": "reader", "message": do.text, "fork_turns": "none"}
            return Call("spawn_agent", task, namespace="collaboration")
        case "gather":
            return Call("wait_agent", {"timeout_ms": 15_000}, namespace="collaboration")
        case "program":
            shell = _say(Do("shell", f"cat {do.path}"))
            return shell and _cell(f"exec_command({shell.text})", "r.output.length")
        case "edit" | "write":
            return _cell(f"apply_patch({json.dumps(_patch(do))})", "r")
        case "mcp":
            direct = _say(do)
            return direct and _cell(f"mcp__files__{do.text}({direct.text})", "r")
        case "image":
            return _cell(f'view_image({{path: "{absolute(do.path)}"}})', "r", "image")
        case _:
            direct = _say(do)
            return direct and _cell(f"{direct.name}({direct.text})", "r.output")


def _cell(tool: str, shown: str, how: str = "text") -> Call:
    script = f"const r = await tools.{tool}; {how}({shown});"
    return Call("exec", custom=script, namespace="functions")


def _driver(name: str, model: str, say: Callable[[Do], Call | None], **traces: str) -> Driver:
    return Driver(
        name,
        "npm",
        ("@openai/codex",),
        model,
        _start(model),
        say,
        {kind.replace("_", "-"): pattern for kind, pattern in traces.items()},
        values={"AGENT": r'agent_id\\*": ?\\*"([0-9a-f-]{36})'},
        summary="CONTEXT CHECKPOINT|handoff summary|summary of the conversation",
        without={"saved-result": "the whole output of a command is saved nowhere"},
        keeps_ids="codex_rollout" in traces,
        forks=True,
        # In code mode their items stand before the cell that they belong to.
        alone=("read-image", "mcp-text", "mcp-structured", "mcp-error"),
    )


# The items of `exec --json` have ids of their own. A picture that is viewed leaves none, so that
# nothing in the stream could tell.
_EXEC = _driver("codex-exec", "gpt-5.5", _say, codex_exec_json="stdout")
_UNSEEN = {"read-image": "the stream has no item of a picture that is viewed"}
DRIVERS = (
    _driver("codex", "gpt-5.5", _say, codex_rollout=_ROLLOUTS),
    _driver("codex-code-mode", "gpt-6.1-sol", _say_code, codex_rollout=_ROLLOUTS),
    replace(_EXEC, without={**_EXEC.without, **_UNSEEN}),
)
