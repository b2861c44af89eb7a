"""Folders of trajectories by task, with the reports of SWE-bench's evaluation beside them.

So write SWE-agent and mini-swe-agent (``ID/ID.traj``, ``ID/ID.traj.json``, ``preds.json``), and so
are submissions to the leaderboards of SWE-bench and Multi-SWE-bench published: ``trajs/`` with a
file or folder for each task, ``results/results.json`` or ``logs/ID/report.json``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from retrieval_eval.agents.door.layouts.base import (
    Verdicts,
    in_order,
    is_report,
    names_of,
    places_with,
    verdicts_in,
)
from retrieval_eval.agents.door.table import Row, Rows
from retrieval_eval.escape import visible
from retrieval_eval.io.files import entries, probe, read_json
from retrieval_eval.values import counted

_TRAJECTORIES: Final = (".traj.json", ".traj")
_OTHERS: Final = (".jsonl", ".json")
_PUBLISHED: Final = "trajs"
_PREDICTIONS: Final = "preds.json"


def find(folder: Path) -> Rows | None:
    """Return the trials of a run or submission, or of every one below a folder."""
    arms = list(places_with(folder, _traces))
    if not arms:
        return None
    names = names_of([place for place, _ in arms], folder)
    rows: list[Row] = []
    problems: list[str] = []
    for (place, traces), config in zip(arms, names, strict=True):
        verdicts = _verdicts(place)
        start = "" if len(arms) == 1 else f"{visible(config, 80)}: "
        problems += [f"{start}{text}" for text in verdicts.problems]
        problems += [f"{start}{text}" for text in _without_trace(place, traces)]
        for task, path in traces.items():
            stated = verdicts.of(task)
            rows.append(
                Row(
                    trace=str(path),
                    task=task,
                    config=config,
                    reward=None if stated is None else stated.reward,
                    cost_usd=None if stated is None else stated.cost_usd,
                )
            )
    return Rows(tuple(rows), tuple(problems))


def _traces(folder: Path) -> dict[str, Path] | None:
    """Return the traces by task in one run or submission, or None where a folder is neither."""
    inner = folder / _PUBLISHED
    is_published = probe(inner.is_dir) or folder.name == _PUBLISHED
    place = inner if probe(inner.is_dir) else folder
    found = dict(filter(None, (_one(path, is_published) for path in entries(place))))
    return found or None


def _one(path: Path, is_published: bool) -> tuple[str, Path] | None:
    """Return a task and its trace: a file of its name, or the folder of its files."""
    if probe(path.is_file):
        endings = (*_TRAJECTORIES, *(_OTHERS if is_published else ()))
        ending = next((e for e in endings if path.name.endswith(e) and path.name != e), None)
        is_named = path.name != _PREDICTIONS
        return (path.name.removesuffix(ending), path) if ending and is_named else None
    for name in (f"{path.name}{ending}" for ending in _TRAJECTORIES):
        if probe((path / name).is_file):
            return path.name, path / name
    if not is_published or probe(path.is_symlink) or not probe(path.is_dir):
        return None
    trace = latest_in(path)
    return None if trace is None else (path.name, trace)


def latest_in(folder: Path) -> Path | None:
    """Return the trajectory in the folder of a task, else the last of its logged completions.

    Each completion holds the messages before it, so that the last holds them all.
    """
    files = [path for path in entries(folder) if probe(path.is_file)]
    for endings in (*((ending,) for ending in _TRAJECTORIES), _OTHERS):
        found = [path for path in files if path.name.endswith(endings)]
        if found:
            last = max(found, key=lambda path: in_order(path.name))
            return None if is_report(last) else last
    return None


def _verdicts(place: Path) -> Verdicts:
    found = verdicts_in(place)
    return found if found or place.name != _PUBLISHED else verdicts_in(place.parent)


def _without_trace(place: Path, traces: dict[str, Path]) -> list[str]:
    """Return a sentence about tasks that were submitted without a trace here."""
    for folder in (place, place / _PUBLISHED):
        stated: Any = None
        if probe((folder / _PREDICTIONS).is_file):
            stated = read_json(folder / _PREDICTIONS, folder).value
        lacking = (
            [task for task in stated if task not in traces] if isinstance(stated, dict) else []
        )
        if lacking:
            what = f"{counted(len(lacking), 'task')} without a trace here"
            return [f"{_PREDICTIONS}: {what}, such as {visible(lacking[0], 80)}"]
    return []
