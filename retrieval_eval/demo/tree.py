"""Writing the demo's files in the layout of a real run tree."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from retrieval_eval.demo import claude, claude_trajectory, openhands
from retrieval_eval.demo.benchmarks import task_files
from retrieval_eval.demo.clock import batch_start
from retrieval_eval.demo.faults import Fault
from retrieval_eval.demo.model import DemoPlan
from retrieval_eval.demo.outcome_files import (
    AGENT_STARTS_AFTER,
    batch_result,
    trial_metrics,
    trial_result,
)
from retrieval_eval.demo.plan import BASELINE, RUN_ID, Stage, Staged, make_stage
from retrieval_eval.demo.task import CLAUDE, MERGED, TRANSCRIPT
from retrieval_eval.demo.tasks import TASKS
from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import answers, remove, write_bytes

BROKEN_BATCH = "2026-01-04__18-00-00__broken"
"""A batch that an evaluation has to leave out by its name."""


_PLAN = "demo_plan.json"


def write_demo(root: Path, *, seed: int = 20260101, fault: Fault | None = None) -> DemoPlan:
    """Write an invented run with planted behaviour, and return what must be measured in it.

    The run lies in ``root/runs/demo``, its tasks in ``root/benchmarks`` and the plan in
    ``root/demo_plan.json``. The same seed gives the same bytes on every machine.

    Parameters
    ----------
    root
        An existing or new folder. An earlier demo there, of any seed and with any fault, is
        written over whole; a run of the same name that no demo wrote is refused.
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

    Raises
    ------
    BadInputError
        When ``root`` holds a run of the same name that is not of a demo.
    """
    run = root / "runs" / RUN_ID
    if answers(run.is_dir) and not answers((root / _PLAN).is_file):
        raise BadInputError(
            f"{run} is no demonstration that was written here before, and stays as it is; name "
            "another folder for this one"
        )
    stage = make_stage(seed, fault)
    written = dict(files(stage))
    for name, data in written.items():
        write_bytes(root / name, data)
    if fault is not None:
        for name in dict(files(make_stage(seed))).keys() - written.keys():
            remove(root / name, root)
    return stage.plan


def files(stage: Stage) -> Iterator[tuple[str, bytes]]:
    """Yield every file of the demo: path relative to its root, and content."""
    yield _PLAN, _json(stage.plan.to_json())
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
