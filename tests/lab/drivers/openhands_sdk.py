"""OpenHands' SDK with its own tools, which has no command line."""

from __future__ import annotations

from tests.lab.drivers import HOME, URL, Call, Driver, Start, absolute, program
from tests.lab.situations import Do, Situation

_OFF = {
    "OPENHANDS_SUPPRESS_BANNER": "1",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "OTEL_SDK_DISABLED": "true",
}


def _start(prompt: str, situation: Situation, is_resumed: bool) -> Start:
    command = ("/srv/bin/python", f"{HOME}/openhands_run.py", f"{URL}/v1", prompt)
    return Start(command, _OFF, {"openhands_run.py": program("openhands")})


def _say(do: Do) -> Call | None:
    path = absolute(do.path)
    match do.kind:
        case "read" | "list":
            part = {"view_range": list(do.lines)} if do.lines else {}
            return Call("file_editor", {"command": "view", "path": path, **part})
        case "search":
            return Call("grep", {"pattern": do.text}) if not do.path else None
        case "find":
            return Call("glob", {"pattern": f"**/{do.text}"})
        case "shell":
            limit = {} if do.seconds is None else {"timeout": do.seconds}
            return Call("terminal", {"command": do.text, **limit})
        case "edit":
            change = {"old_str": do.old, "new_str": do.text}
            return Call("file_editor", {"command": "str_replace", "path": path, **change})
        case "write":
            return Call("file_editor", {"command": "create", "path": path, "file_text": do.text})
        case "delegate":
            task = {"description": "Read one", "subagent_type": "general-purpose"}
            return Call("task", {**task, "prompt": do.text})
        case "mcp":
            return Call(do.text, do.mcp_arguments)
        case _:
            return None


DRIVERS = (
    Driver(
        "openhands-sdk",
        "pip",
        ("openhands-sdk", "openhands-tools"),
        "openai/gpt-4o",
        _start,
        _say,
        {
            "openhands-sdk-events": "out/00000000000000000000000000000001",
            "openai-chat completions": "out/completions",
        },
        last=Call("finish", {"message": "Done."}),
        prices=(1, 1, 10),
        without={
            "in-background": "a command runs to its end or to its time limit",
            "refused": "headless it asks for no confirmation",
            "compacted": "no condenser is set",
            "saved-result": "the saved output is cut itself",
        },
        alone=("time-limit",),
    ),
)
