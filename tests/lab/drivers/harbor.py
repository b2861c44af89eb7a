"""Harbor with Terminus 2, whose model writes its commands as JSON and is shown a terminal."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from tests.lab.drivers import HOME, ROOT, URL, Call, Driver, Start, as_json, program
from tests.lab.situations import Do, Situation

_TASK = """\
version = "1.0"
[metadata]
author_name = "dev"
[verifier]
timeout_sec = 60.0
[agent]
timeout_sec = 600.0
[environment]
build_timeout_sec = 60.0
"""
_INFO = {"max_input_tokens": 128_000, "max_output_tokens": 8_000}


def _start_raw(prompt: str, situation: Situation, is_resumed: bool) -> Start:
    """Start it so that its trajectory keeps each answer of the model as it was."""
    start = _start(prompt, situation, is_resumed)
    more = ("--ak", 'trajectory_config={"raw_content": true}')
    return replace(start, command=(*start.command, *more))


def _start(prompt: str, situation: Situation, is_resumed: bool) -> Start:
    price = {"input_cost_per_token": 0.000001, "output_cost_per_token": 0.00001}
    command = ["/srv/bin/python", "/srv/bin/harbor", "run", "-p", f"{HOME}/task", "-y"]
    command += ["-e", "harbor_local:LocalEnvironment", "-a", "terminus-2", "-m", "openai/gpt-4o"]
    command += [
        "--ak",
        f"api_base={URL}/v1",
        "--ak",
        f"model_info={json.dumps({**_INFO, **price})}",
    ]
    command += ["--jobs-dir", f"{ROOT}/out/jobs", "-n", "1", "--disable-verification"]
    environment = {
        "PYTHONPATH": HOME,
        "OPENAI_API_KEY": "scripted",
        "HARBOR_TELEMETRY": "0",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "TMUX_TMPDIR": "/tmp",
        "TERM": "xterm",
    }
    files = {
        "harbor_local.py": program("harbor_local"),
        "task/task.toml": _TASK,
        "task/instruction.md": prompt,
        "task/environment/Dockerfile": "FROM scratch\n",
        "task/tests/test.sh": "exit 0\n",
    }
    return Start(tuple(command), environment, files)


def _say(do: Do) -> Call | None:
    if do.kind != "shell":
        return None
    return Call("bash_command", {"keystrokes": f"clear; {do.text}\n", "duration": 1.0})


def _written(calls: Sequence[Call]) -> str:
    commands = [call.arguments for call in calls if call.name == "bash_command"]
    plan = {"analysis": "Looking.", "plan": "Go on.", "commands": commands}
    return as_json({**plan, "task_complete": not commands})


_TERMINUS = Driver(
    "harbor-terminus-2",
    "pip",
    ("harbor",),
    "openai/gpt-4o",
    _start,
    _say,
    {"atif-1.8": "out/jobs/*/*/agent/trajectory.json"},
    last=Call("task_complete"),
    # Of cached tokens the library that it calls models with knows another price.
    prices=(1, 1.25, 10),
    written=_written,
    keeps_ids=False,
    version="2.0.0",
    without={
        "unknown-tool": "its only tool is a terminal",
        "missing-argument": "its calls are written as text",
        "broken-arguments": "its calls are written as text",
        "saved-result": "the whole output of a command is saved nowhere",
        "in-background": "a command runs in the terminal",
        "refused": "it has no permissions",
        "resumed": "a run cannot be resumed",
        "compacted": "no setting makes it summarise early",
    },
    seconds=600,
    needs=("tmux",),
)
DRIVERS = (_TERMINUS, replace(_TERMINUS, name="harbor-terminus-2-raw", start=_start_raw))
