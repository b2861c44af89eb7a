"""OpenHands' evaluations: ``output.jsonl`` with a task a line, or its logs of completions by task.

A line may hold its verdict; else it stands in ``output.swebench_eval.jsonl`` or in a report beside
it. Where a line keeps no history, the last logged completion of the task holds it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from retrieval_eval.agents.door.layouts.base import (
    Verdict,
    names_of,
    places_with,
    report_of,
    verdicts_in,
)
from retrieval_eval.agents.door.layouts.swe_bench import latest_in
from retrieval_eval.agents.door.table import LeftOut, Row, Rows, number_in
from retrieval_eval.io.files import entries, iter_jsonl, last_bytes, probe

_OUTPUT: Final = "output.jsonl"
_COMPLETIONS: Final = "llm_completions"
_COST: Final = re.compile(rb'"cost"\s{0,9}:\s{0,9}([-+.\deE]{1,40})\s{0,9}[,}]')


def find(folder: Path) -> Rows | None:
    """Return the tasks of every evaluation in a folder and below it, or of the one in a file."""
    if folder.name == _OUTPUT and probe(folder.is_file):
        folder = folder.parent
    found = list(places_with(folder, _tasks))
    if not found:
        return None
    names = names_of([place for place, _ in found], folder)
    rows: list[Row] = []
    left_out: list[LeftOut] = []
    problems: list[str] = []
    for (place, tasks), config in zip(found, names, strict=True):
        stated = verdicts_in(place)
        start = "" if len(found) == 1 else f"{config}: "
        problems += [f"{start}{text}" for text in stated.problems]
        for task, (trace, sample, own) in tasks.items():
            verdict = own or stated.of(task)
            if trace is None:
                what = f"{_OUTPUT}: {task}: neither a history nor a logged completion"
                left_out.append(LeftOut(str(place / _OUTPUT), config, "no_trace", what))
                continue
            reward = None if verdict is None else verdict.reward
            cost = _cost_of(trace.parent) if trace.name != _OUTPUT else None
            rows.append(
                Row(
                    trace=str(trace),
                    task=task,
                    config=config,
                    sample=sample,
                    reward=reward,
                    cost_usd=cost,
                )
            )
    return Rows(tuple(rows), tuple(problems), tuple(left_out))


_Task = tuple[Path | None, str | None, Verdict | None]


def _tasks(folder: Path) -> dict[str, _Task] | None:
    """Return trace, sample and verdict by task; None where a folder is no evaluation."""
    output, completions = folder / _OUTPUT, folder / _COMPLETIONS
    logged = {place.name: place for place in entries(completions) if probe(place.is_dir)}
    found: dict[str, _Task] = {}
    n_known = 0
    for line in iter_jsonl(output, folder) if probe(output.is_file) else ():
        value = line.value
        task = value.get("instance_id") if isinstance(value, dict) else None
        if not isinstance(value, dict) or not isinstance(task, str) or not task:
            if not found:
                return None
            continue
        n_known += _is_output(value)
        if value.get("history"):
            trace: Path | None = output
            sample = task
        else:
            trace = latest_in(logged[task]) if task in logged else None
            sample = None
        found.setdefault(task, (trace, sample, report_of(value)))
        if not n_known:
            return None
    for task, place in logged.items():
        if task not in found and (trace := latest_in(place)) is not None:
            found[task] = (trace, None, None)
    if len(found) == 1:
        # The only trace of a file has no name.
        found = {task: (trace, None, verdict) for task, (trace, _, verdict) in found.items()}
    return found or None


def _cost_of(completions: Path) -> float | None:
    """Return the cost of all logged completions of a task; None where one does not state its own.

    It stands at the end of a log, behind messages that are most of it and are not read.
    """
    costs = []
    for path in entries(completions):
        if path.suffix == ".json" and probe(path.is_file):
            data, _ = last_bytes(path, completions)
            stated = _COST.findall(data)
            costs.append(number_in(stated[-1].decode()) if stated else None)
    known = [cost for cost in costs if cost is not None]
    return math.fsum(known) if known and len(known) == len(costs) else None


def _is_output(line: Mapping[str, Any]) -> bool:
    return "history" in line or "test_result" in line
