"""Harbor's jobs: a folder with ``result.json`` of the job, and a folder for each trial.

A job of one agent and model is called by the name that it was given; where that is the time of its
start, or several jobs or agents lie together, by agent and model. A trial may keep its attempts
in ``attempts/000`` and so on, each with the folders of a trial: they are repeats.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from retrieval_eval.agents.door.layouts.base import folders_in
from retrieval_eval.agents.door.table import LeftOut, Row, Rows, number_in
from retrieval_eval.agents.outcomes import number, read_reward
from retrieval_eval.io.files import is_there, probe, read_json, read_text
from retrieval_eval.io.layout import TIMESTAMP, trial_at

_ATTEMPTS: Final = "attempts"
_OF_JOB: Final = frozenset({"n_total_trials", "stats"})


def find(folder: Path) -> Rows | None:
    """Return the trials of a job, or of all jobs where a folder holds nothing else."""
    jobs = [folder] if _is_job(folder) else folders_in(folder)
    if not jobs or not all(map(_is_job, jobs)):
        return None
    rows: list[Row] = []
    left_out: list[LeftOut] = []
    for job in jobs:
        named = "" if TIMESTAMP.fullmatch(job.name) else job.name
        of_job = []
        for place in folders_in(job):
            trial = trial_at(place, job)
            if trial is None:
                if probe((place / "config.json").is_file):
                    what = f"{job.name}/{place.name}: a trial without a result or a trace"
                    left_out.append(LeftOut(str(place), named or None, "nothing_recorded", what))
                continue
            of_job.append((trial, _agent_of(place)))
        agents = {agent for _, agent in of_job}
        for trial, agent in of_job:
            config = named if named and len(agents) == 1 else f"{named} {agent}".strip()
            row = Row(
                trace=str(trial.path),
                task=trial.task_name,
                config=config,
                benchmark=trial.benchmark,
            )
            rows += _attempts(trial.path, row) or [row]
    return Rows(tuple(rows), (), tuple(left_out)) if rows else None


def _attempts(trial: Path, row: Row) -> list[Row]:
    """Return the attempts of a trial that keeps them apart; none of another.

    The result of the trial is that of its last attempt. What it cost is not said of each.
    """
    if probe((trial / "agent").is_dir):
        return []
    places = [p for p in folders_in(trial / _ATTEMPTS) if p.name.isdigit()]
    places = [place for place in places if probe((place / "agent").is_dir)]
    result = _fields(trial / "result.json")
    info, used = _inner(result, "agent_info"), _inner(result, "agent_result")
    harness, version = (_text(info.get(name)) for name in ("name", "version"))
    model = _text(_inner(info, "model_info").get("name"))
    found = []
    for place in sorted(places, key=lambda place: int(place.name)):
        reward = _verified(place)
        if place == places[-1] and reward is None:
            reward = read_reward(result, None).value
        cost = number(used.get("cost_usd")) if len(places) == 1 else None
        own = {"trace": str(place), "repeat": str(int(place.name) + 1), "reward": reward}
        stated = {"model": model, "harness": harness, "harness_version": version}
        found.append(replace(row, **own, **stated, cost_usd=cost))
    return found


def _verified(attempt: Path) -> float | None:
    """Return the reward that the verifier of an attempt wrote, if any."""
    path = attempt / "verifier" / "reward.txt"
    text = read_text(path, attempt).value if is_there(path) else None
    return number_in(text)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _is_job(folder: Path) -> bool:
    result = folder / "result.json"
    if not probe(result.is_file):
        return False
    value = read_json(result, folder).value
    return isinstance(value, dict) and not _OF_JOB.isdisjoint(value)


def _agent_of(trial: Path) -> str:
    """Return agent and model of a trial, as its result or its configuration states them."""
    result, config = (_fields(trial / name) for name in ("result.json", "config.json"))
    asked = _inner(config, "agent") or _inner(_inner(result, "config"), "agent")
    info = _inner(result, "agent_info")
    agent = info.get("name") or asked.get("name") or asked.get("import_path")
    model = _inner(info, "model_info").get("name") or asked.get("model_name")
    model = model.rsplit("/", 1)[-1] if isinstance(model, str) else None
    known = [text for text in (agent, model) if isinstance(text, str) and text]
    return " ".join(known) or "unknown"


def _fields(path: Path) -> Mapping[str, Any]:
    value = read_json(path, path.parent).value if probe(path.is_file) else None
    return value if isinstance(value, dict) else {}


def _inner(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = value.get(name)
    return found if isinstance(found, dict) else {}
