"""Work in other processes: whichever of them dies, every other item is done, and once."""

from __future__ import annotations

import importlib
import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from retrieval_eval.agents.runs import away
from retrieval_eval.agents.runs.away import engine_for, run_on
from retrieval_eval.agents.runs.evaluate import evaluate
from retrieval_eval.errors import BadInputError
from retrieval_eval.schema import faults, kind_of
from tests.conftest import PROJECT
from tests.processes import ends
from tests.runs import write_task, write_trial

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs a signal that ends a process")

PATIENCE = 60.0


def die():
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(PATIENCE)


def dies_once_and_leaves_at_two(part):
    """Return the process; 1 kills it once, and 2 leaves the interpreter each time."""
    ((folder, number),) = part
    if number == 1 and not (folder / "killed").exists():
        (folder / "killed").touch()
        die()
    if number == 2:
        sys.exit(3)
    return [(number, os.getpid())]


@pytest.mark.extra
def test_a_killed_part_is_tried_once_more_alone_and_one_that_leaves_is_not_said_to_be_killed(
    tmp_path,
):
    """An innocent part may die when the others take the memory, so these must be done by then."""
    with engine_for("processes:2") as engine:
        parts = [((tmp_path, number),) for number in (0, 1, 2, 3, 4)]
        work = dies_once_and_leaves_at_two
        done = list(run_on(engine, work, parts, lambda item, end: [(item[1], end)]))
    found = [x for part in done for x in part]
    assert {number for number, _ in found[:3]} == {0, 3, 4}
    assert {number for number, _ in found[3:]} == {1, 2}
    assert dict(found)[2] == "the process that measured it ended (exit code 3), each time"


def refuses_60(part):
    if 60 in part:
        raise BadInputError("the disk is full")
    return list(part)


def test_what_the_work_raises_is_raised_and_no_process_is_left():
    parts = [(n,) for n in range(55, 65)]
    with (
        pytest.raises(BadInputError, match="the disk is full") as found,
        engine_for("processes:1") as engine,
    ):
        list(run_on(engine, refuses_60, parts, lambda *_: []))
    assert "in refuses_60" in "".join(found.value.__notes__)
    assert multiprocessing.active_children() == []


def interrupted():
    with engine_for("processes:1") as engine:
        engine.submit(time.sleep, PATIENCE)
        engine.submit(abs, 1)
        while not multiprocessing.active_children():
            time.sleep(0.01)
        raise KeyboardInterrupt


def test_an_interrupt_ends_the_processes_in_the_middle_of_their_work():
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert time.monotonic() - began < PATIENCE / 2
    assert multiprocessing.active_children() == []


GUARDLESS = """
from retrieval_eval.agents.runs.away import engine_for, run_on
with engine_for("processes:1") as engine:
    list(run_on(engine, len, [(1, 2)] * 20, len))
"""


@pytest.mark.extra
def test_processes_that_cannot_begin_are_no_fault_of_an_item(tmp_path):
    script = tmp_path / "guardless.py"
    script.write_text(GUARDLESS)
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 1
    assert "before it began any work; in a program of your own" in done.stderr.splitlines()[-1]


PARENT = """
import os, time
from retrieval_eval.agents.runs.away import Processes
if __name__ == "__main__":
    pool = Processes(1)
    print(pool.submit(os.getpid).result(), flush=True)
    pool.submit(time.sleep, 60)
    time.sleep(60)
"""


def test_processes_end_with_the_one_that_started_them(tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    command = [sys.executable, str(script)]
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as made:
        assert made.stdout is not None
        worker = int(made.stdout.readline())
        made.kill()
    assert ends(worker)


# What this means for an evaluation.

N_TRIALS = 96
GUILTY = "task-one__0000040"


@pytest.fixture
def tree(tmp_path, monkeypatch):
    monkeypatch.setattr(away, "_PAYS", 32)
    write_task(tmp_path / "benchmarks", "task-one", ["src/a.py"])
    for number in range(N_TRIALS):
        write_trial(
            tmp_path / "runs/run-1", "baseline", "task-one", ["src/a.py"], suffix=f"{number:07d}"
        )
    return tmp_path


def measure(tree: Path, **options):
    options = {"runs_root": tree / "runs", "output_dir": tree / "out", "jobs": 2, **options}
    (found,) = evaluate(["run-1"], **options).runs
    return found


evaluation = importlib.import_module("retrieval_eval.agents.runs.evaluate")


def dies_at_the_guilty(code, part):
    """Evaluate trials; one of them ends the interpreter, unless it is given up."""
    if any(item.job.trial.trial_name == GUILTY and not item.reason for _, item in part):
        die()
    return away.evaluate_part(code, part)


def test_a_trial_that_kills_its_process_is_degraded_and_the_run_goes_on(tree, monkeypatch):
    monkeypatch.setattr(evaluation, "evaluate_part", dies_at_the_guilty)
    monkeypatch.setattr(away, "_MOST_TRIALS", 3)
    found = measure(tree)
    assert found.summary.counts.evaluated == N_TRIALS - 1
    (row,) = [row for row in found.summary.trials if row.status == "degraded"]
    assert row.trial_name == GUILTY
    assert row.reason == "the process that measured it was killed (signal 9), each time"
    for path in found.folder.rglob("*.json"):
        document = json.loads(path.read_text())
        assert faults(document, kind_of(document)) == []
    monkeypatch.undo()
    again = measure(tree)
    assert again.summary.counts.degraded == 0
    assert [d.job.trial.trial_name for d in again.trials if d.is_fresh] == [GUILTY]


@pytest.mark.extra
def test_a_worker_that_is_killed_from_outside_costs_no_trial(tree):
    victims = []

    def kill_one(done, total, name):
        if done == 3:
            victims.extend(multiprocessing.active_children())
            os.kill(victims[0].pid, signal.SIGKILL)

    found = measure(tree, progress=kill_one)
    assert len(victims) == 2
    assert found.summary.counts.evaluated == N_TRIALS
    assert not re.search("killed", str(found.summary))
