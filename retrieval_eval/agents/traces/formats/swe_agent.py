"""SWE-agent's ``.traj`` files: steps of an action, which is a line of a shell, and its observation.

The state of a step is what the shell was in *after* the step, so a step starts in the folder, and
with the open file, of the step before. Before 1.0 it was what the shell was in before the step,
written as an object in a text. Steps have no times and no ids.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from retrieval_eval.agents.traces.dialects.swe_agent import HARNESS, answer, call_of, shown_file
from retrieval_eval.agents.traces.formats import FORMATS, DocumentFormat
from retrieval_eval.agents.traces.reading import Reading, Unreadable
from retrieval_eval.agents.traces.transcript import Transcript
from retrieval_eval.agents.traces.untrusted import (
    at,
    blocks_text,
    clean,
    count_at,
    text_at,
    text_of,
)
from retrieval_eval.io.files import decode
from retrieval_eval.records import CUT_HERE, ToolCall, ToolResult

FORMAT = "swe-agent-traj"
_LONGEST_SHOWN = 100_000


def read_swe_agent(document: Mapping[str, Any], name: str) -> Reading | Unreadable:
    """Return the reading of a trajectory; of several attempts it is the one that was chosen."""
    steps = document.get("trajectory")
    if not isinstance(steps, list):
        return Unreadable(f"{name}: a SWE-agent trajectory without a list of steps")
    said = Transcript(name, "step", harness=HARNESS, holds_run=True, is_native=True)
    said.cwd = _first_folder(steps)
    config = document.get("replay_config")
    config = decode(config)[0] if isinstance(config, str) else config
    said.version = text_at(document, "info", "swe_agent_version")
    longest = _longest_observation(config, said.version)
    open_file: str | None = None
    for index, step in enumerate(steps):
        said.at(f"{name}#/trajectory/{index}", by_agent=True)
        state = at(step, "state")
        if not isinstance(step, dict):
            said.note("expected an object")
            said.add_gap()
        elif isinstance(state, str):
            open_file = _enter(said, decode(state)[0])
            _take(said, step, open_file, longest)
        else:
            _take(said, step, open_file, longest)
            open_file = _enter(said, state)
    said.model = text_of(clean(at(config, "agent", "model", "name")))
    stats = at(document, "info", "model_stats")
    said.paid(at(stats, "instance_cost"))
    said.ending = _ending(text_at(document, "info", "exit_status"))
    tokens = count_at(stats, "tokens_sent", "tokens_received") or None
    said.submission = _submission(document)
    # A step may have taken several requests, whose answers were refused.
    n_requests = 0 if steps else count_at(stats, "api_calls")
    return said.reading(FORMAT, n_requests=n_requests, cwd=None, declared_tokens=tokens)


def _submission(document: Mapping[str, Any]) -> str | None:
    """Return the patch that was handed in; files of evaluations keep it beside the trajectory."""
    stated = (at(document, "info", "submission"), document.get("model_patch"))
    return next(filter(None, (text_of(clean(value)) for value in stated)), None)


def _longest_observation(config: Any, version: str | None) -> int | None:
    """Return how many characters of an observation the model is sent at most."""
    stated = count_at(at(config, "agent", "templates"), "max_observation_length")
    is_known = version is not None and version.startswith("1.")
    return stated or (_LONGEST_SHOWN if is_known else None)


def _take(
    said: Transcript, step: Mapping[str, Any], open_file: str | None, longest: int | None
) -> None:
    action, observed = text_at(step, "action"), step.get("observation")
    said.spoke()
    if action is not None and action.strip():
        name, arguments = call_of(action, open_file)
        if name == "bash" and said.cwd is not None:
            arguments["workdir"] = said.cwd
        result = None
        if isinstance(observed, str | list):
            text = blocks_text(observed)
            if longest is not None and len(text) > longest:
                text = f"{text[:longest]}\n{CUT_HERE}"
            call = ToolCall(said.where, name, arguments, ToolResult(text))
            result = answer(call)
            if name in ("edit", "insert") and (shown := shown_file(result.text)) is not None:
                arguments["path"] = shown
        said.call(name, arguments, result=result)
    elif not isinstance(step.get("action"), str | None):
        said.note("the action is no text")
    if blocks_text(observed).strip():
        said.heard(blocks_text(observed), is_users=False)


def _enter(said: Transcript, shell: Any) -> str | None:
    """Take over the folder of a shell; return its open file."""
    said.cwd = text_of(clean(at(shell, "working_dir"))) or said.cwd
    file = text_of(clean(at(shell, "open_file")))
    return file if file and file.lower() not in ("n/a", "none") else None


def _first_folder(steps: list[Any]) -> str | None:
    """Return the folder of the first step's shell, known where that step does not change it."""
    action = text_at(steps[0], "action") if steps else None
    if "cd" in (action or "") or "pushd" in (action or ""):
        return None
    return text_at(steps[0], "state", "working_dir") if steps else None


def _ending(status: str | None) -> tuple[str, ...]:
    if status is None:
        return ("no_result_event",)
    return () if status.startswith("submitted") else (f"result_{status[:60]}",)


def _is_swe_agent(document: Mapping[str, Any]) -> bool:
    beside = ("info", "history", "replay_config", "environment")
    return "trajectory" in document and sum(name in document for name in beside) >= 2


FORMATS.add(
    FORMAT,
    DocumentFormat(
        recognises=_is_swe_agent,
        read=read_swe_agent,
        keeps=("tokens", "cost", "model", "version"),
        counters=(
            "the run's totals, of all attempts: tokens sent, cached ones inside, and received; "
            "none by step"
        ),
        file_names=("*.traj", "swe-agent.trajectory.json"),
        folders=("swe-agent-output",),
        example={
            "environment": "main",
            "trajectory": [
                {
                    "action": "open src/a.py 1",
                    "observation": "[File: /w/src/a.py (1 lines total)]\n1:import os",
                    "thought": "I look.",
                    "state": {"working_dir": "/w", "open_file": "/w/src/a.py"},
                }
            ],
            "history": [],
            "info": {
                "exit_status": "submitted",
                "model_stats": {"instance_cost": 0.5, "tokens_sent": 10, "tokens_received": 2},
            },
            "replay_config": '{"agent": {"model": {"name": "m"}}}',
        },
    ),
)
