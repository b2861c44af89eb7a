"""mini-swe-agent, whose only tool is a shell; each command starts in the workspace.

inspect-swe runs it inside Inspect AI, which keeps the log.
"""

from __future__ import annotations

from dataclasses import replace

from tests.lab.drivers import HOME, ROOT, URL, Call, Driver, Start, program
from tests.lab.situations import Do, Situation

# The log states the version of Inspect AI alone.
_INSPECT = "0.3.285"
_END = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"


def _start(prompt: str, situation: Situation, is_resumed: bool) -> Start:
    command = ("/srv/bin/python", "/srv/bin/mini", "-m", "openai/gpt-4o", "-t", prompt, "-y")
    environment = {
        "MSWEA_CONFIGURED": "true",
        "MSWEA_SILENT_STARTUP": "1",
        "MSWEA_GLOBAL_CONFIG_DIR": HOME,
        "MSWEA_COST_TRACKING": "ignore_errors",
        "OPENAI_API_BASE": f"{URL}/v1",
        "OPENAI_API_KEY": "scripted",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }
    return Start((*command, "--exit-immediately", "-o", f"{ROOT}/out/traj.json"), environment)


def _start_inside(prompt: str, situation: Situation, is_resumed: bool) -> Start:
    environment = {
        "OPENAI_BASE_URL": f"{URL}/v1",
        "OPENAI_API_KEY": "scripted",
        "INSPECT_TELEMETRY": "",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "MSWEA_SILENT_STARTUP": "1",
    }
    files = {"inspect_swe_run.py": program("inspect_swe")}
    command = ("/srv/bin/python", f"{HOME}/inspect_swe_run.py", prompt, f"{ROOT}/out")
    return Start(command, environment, files)


def _say(do: Do) -> Call | None:
    if do.kind == "shell":
        return Call("bash", {"command": do.text})
    return None


_MINI = Driver(
    "mini-swe-agent",
    "pip",
    ("mini-swe-agent",),
    "openai/gpt-4o",
    _start,
    _say,
    {"mini-swe-agent-1.1": "out/traj.json"},
    last=Call("bash", {"command": _END}),
    prices=(2.5, 1.25, 10),
    without={
        "saved-result": "the whole output of a command is saved nowhere",
        "in-background": "a command runs to its end",
        "refused": "it has no permissions",
        "resumed": "a run cannot be resumed",
        "compacted": "it keeps the whole history",
    },
)
DRIVERS = (
    _MINI,
    replace(
        _MINI,
        name="inspect-swe",
        packages=("inspect-swe", f"inspect-ai=={_INSPECT}", "mini-swe-agent", "openai", "tiktoken"),
        start=_start_inside,
        traces={"inspect": "out/*.eval"},
        prices=None,
        version=_INSPECT,
        without={**_MINI.without, "killed": "the log holds a sample only when it has ended"},
    ),
)
