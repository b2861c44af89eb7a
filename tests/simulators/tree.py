"""Writing the demo's files in the layout of a real run tree."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from tests.simulators import claude, claude_trajectory, openhands
from tests.simulators.benchmarks import task_files
from tests.simulators.clock import batch_start
from tests.simulators.faults import Fault
from tests.simulators.model import DemoPlan
from tests.simulators.outcome_files import (
    AGENT_STARTS_AFTER,
    batch_result,
    trial_metrics,
    trial_result,
)
from tests.simulators.plan import BASELINE, RUN_ID, Stage, Staged, make_stage
from tests.simulators.task import CLAUDE, MERGED, TRANSCRIPT
from tests.simulators.tasks import TASKS

BROKEN_BATCH = "2026-01-04__18-00-00__broken"
"""A batch that an evaluation has to leave out by its name."""


SEED = 20260101
"""The seed of the recorded demo."""


def simulate_run(root: Path, *, seed: int = SEED, fault: Fault | None = None) -> DemoPlan:
    """Write an invented run with planted behaviour, and return what must be measured in it.

    The run lies in ``root/runs/demo``, its tasks in ``root/benchmarks`` and the plan in
    ``root/demo_plan.json``. The same seed gives the same bytes on every machine.

    Parameters
    ----------
    root
        An empty or new folder.
    seed
        Decides what agents come across and what they are paid for it; the tasks, their ground
        truth and the special trials are the same for every seed.
    fault
        What makes the comparison of the two arms invalid or misleading; see :class:`Fault`. Without
        one they can be compared.

    Returns
    -------
    DemoPlan
        Every trial with its actions and the expected value of every metric.
    """
    stage = make_stage(seed, fault)
    for name, data in files(stage):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return stage.plan


def files(stage: Stage) -> Iterator[tuple[str, bytes]]:
    """Yield every file of the demo: path relative to its root, and content."""
    yield "demo_plan.json", _json(stage.plan.to_json())
    for task in TASKS:
        for name, data in task_files(task).items():
            yield f"benchmarks/{task.suite}/{task.name}/{name}", data
    folders: dict[str, list[Staged]] = {}
    for staged in stage.trials:
        folders.setdefault(f"{staged.plan.config}/{staged.plan.batch}", []).append(staged)
    for folder, trials in folders.items():
        start = batch_start(trials[0].plan.batch)
        batch = batch_result([staged.plan for staged in trials], start)
        yield f"runs/{RUN_ID}/{folder}/result.json", _json(batch)
        for number, staged in enumerate(trials):
            yield from _trial_files(staged, start + timedelta(minutes=7 * number))
    yield from _broken(stage.trials[0])


def _trial_files(staged: Staged, start: datetime) -> Iterator[tuple[str, bytes]]:
    folder = f"runs/{staged.plan.path}"
    yield f"{folder}/result.json", _json(trial_result(staged, start))
    yield f"{folder}/task_metrics.json", _json(trial_metrics(staged))
    session, source = staged.session, staged.plan.source
    if session is None:
        return
    agent_start = start + timedelta(seconds=AGENT_STARTS_AFTER)
    if source in {TRANSCRIPT, MERGED}:
        data = claude.stream_json(staged, session, agent_start)
        yield f"{folder}/agent/claude-code.txt", data
    if source != TRANSCRIPT:
        is_claude = staged.plan.harness == CLAUDE
        write = claude_trajectory.trajectory if is_claude else openhands.trajectory
        yield f"{folder}/agent/trajectory.json", _json(write(staged, session, agent_start))


def _broken(staged: Staged) -> Iterator[tuple[str, bytes]]:
    """Yield a trial of a batch whose name says that it does not count."""
    result = trial_result(staged, batch_start(BROKEN_BATCH.removesuffix("__broken")))
    folder = f"runs/{RUN_ID}/{BASELINE}/{BROKEN_BATCH}/{staged.plan.trial_name}"
    yield f"{folder}/result.json", _json(result)


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode()
