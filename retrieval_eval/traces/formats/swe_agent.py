"""SWE-agent's ``.traj`` files: steps of an action, which is a line of a shell, and its observation.

The state of a step is what the shell was in *after* the step, so a step starts in the folder, and
with the open file, of the step before. Before 1.0 it was what the shell was in before the step,
written as an object in a text. Steps have no times and no ids.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from retrieval_eval.io.files import decode
from retrieval_eval.records import ToolCall, ToolResult
from retrieval_eval.traces.dialects.swe_agent import HARNESS, answer, call_of, shown_file
from retrieval_eval.traces.formats import FORMATS, DocumentFormat
from retrieval_eval.traces.reading import Complaints, Reading, Unreadable
from retrieval_eval.traces.tokens import Gap, Item
from retrieval_eval.traces.untrusted import (
    amount_of,
    blocks_text,
    clean,
    count_of,
    dict_of,
    text_of,
)

FORMAT = "swe-agent-traj"


@dataclass(slots=True)
class _State:
    name: str
    complaints: Complaints
    items: list[Item] = field(default_factory=list)
    cwd: str | None = None
    open_file: str | None = None


def read_swe_agent(document: Mapping[str, Any], name: str) -> Reading | Unreadable:
    """Return the reading of a trajectory; of several attempts it is the one that was chosen."""
    steps = document.get("trajectory")
    if not isinstance(steps, list):
        return Unreadable(f"{name}: a SWE-agent trajectory without a list of steps")
    state = _State(name, Complaints(name, "step"))
    state.cwd = _first_folder(steps)
    for index, step in enumerate(steps):
        where = f"{name}#/trajectory/{index}"
        if isinstance(step, dict):
            _take(state, step, where)
        else:
            state.complaints.note(where, "expected an object")
            state.items.append(Gap())
    info = dict_of(document.get("info"))
    stats = dict_of(info.get("model_stats"))
    sent, received = count_of(stats.get("tokens_sent")), count_of(stats.get("tokens_received"))
    return Reading(
        format=FORMAT,
        items=tuple(state.items),
        harness=HARNESS,
        harness_version=text_of(info.get("swe_agent_version")),
        model=_model(document.get("replay_config")),
        declared_tokens=sent + received or None,
        declared_cost_usd=amount_of(stats.get("instance_cost")),
        flags=(*_ending(info), *state.complaints.flags()),
        problems=state.complaints.sentences(),
        has_agent=bool(steps),
        holds_run=True,
        is_native=True,
    )


def _take(state: _State, step: Mapping[str, Any], where: str) -> None:
    stated = step.get("state")
    is_before = isinstance(stated, str)
    if isinstance(stated, str):
        _enter(state, decode(stated)[0])
    action = text_of(step.get("action"))
    if action is not None and action.strip():
        name, arguments = call_of(action, state.open_file)
        if name == "bash" and state.cwd is not None:
            arguments["workdir"] = state.cwd
        call = ToolCall(where, name, arguments, None, cwd=state.cwd, where=where)
        observed = step.get("observation")
        if isinstance(observed, str | list):
            call = replace(call, result=ToolResult(blocks_text(observed)))
            result = answer(call)
            call = replace(call, result=result)
            if name in ("edit", "insert") and (shown := shown_file(result.text)) is not None:
                arguments["path"] = shown
        state.items.append(call)
    elif "action" in step and not isinstance(step["action"], str | None):
        state.complaints.note(where, "the action is no text")
    if not is_before:
        _enter(state, stated)


def _enter(state: _State, stated: Any) -> None:
    """Take over the folder and the open file of a shell."""
    shell = dict_of(stated)
    state.cwd = text_of(clean(shell.get("working_dir"))) or state.cwd
    file = text_of(clean(shell.get("open_file")))
    state.open_file = file if file and file.lower() not in ("n/a", "none") else None


def _first_folder(steps: list[Any]) -> str | None:
    """Return the folder of the first step's shell, known where that step does not change it."""
    first = dict_of(steps[0]) if steps else {}
    action = text_of(first.get("action")) or ""
    folder = text_of(dict_of(first.get("state")).get("working_dir"))
    return None if "cd" in action or "pushd" in action else folder


def _model(stated: Any) -> str | None:
    config = decode(stated)[0] if isinstance(stated, str) else stated
    model = dict_of(dict_of(dict_of(config).get("agent")).get("model"))
    return text_of(clean(model.get("name")))


def _ending(info: Mapping[str, Any]) -> tuple[str, ...]:
    status = text_of(info.get("exit_status"))
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
