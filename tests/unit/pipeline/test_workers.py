"""Work in other processes: whichever of them dies, every other item is done, and once."""

from __future__ import annotations

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

from retrieval_eval.errors import BadInputError
from retrieval_eval.pipeline import evaluate, workers
from retrieval_eval.pipeline import trial as trial_module
from retrieval_eval.pipeline.workers import run_in_workers
from retrieval_eval.schema import faults, kind_of
from tests.runs import write_task, write_trial

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs a signal that ends a process")

PROJECT = Path(__file__).parents[3]
N_ITEMS = 150
PATIENCE = 60.0


@pytest.fixture
def _forked(monkeypatch):
    """Start workers as copies of this process, so that they see what a test has patched."""
    monkeypatch.setattr(workers, "_START_METHOD", "fork")


def results(function, items=range(N_ITEMS), n_workers=2):
    found = list(run_in_workers(function, list(items), n_workers, lambda item, end: (item, end)))
    positions = [position for position, _ in found]
    assert sorted(positions) == list(range(len(items))), "each item has one result"
    return dict(found)


def die():
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(PATIENCE)


def double(number):
    return 2 * number


def test_new_processes_give_the_same_results():
    assert results(double) == {number: 2 * number for number in range(N_ITEMS)}
    assert multiprocessing.active_children() == []


@pytest.mark.usefixtures("_forked")
@pytest.mark.parametrize("killers", [{0}, {31}, {32}, {149}, {7, 8, 9}, {3, 40, 70, 100, 149}])
def test_only_the_items_that_kill_are_given_up(killers):
    def work(number):
        if number in killers:
            die()
        return double(number)

    found = results(work)
    lost = {number: (number, "was killed (signal 9), twice") for number in killers}
    assert found == {number: 2 * number for number in range(N_ITEMS)} | lost
    assert multiprocessing.active_children() == []


@pytest.mark.usefixtures("_forked")
def test_an_item_whose_process_is_killed_once_is_done_at_the_second_try(tmp_path):
    def work(number):
        if number % 50 == 3 and not (tmp_path / str(number)).exists():
            (tmp_path / str(number)).touch()
            die()
        return double(number)

    assert results(work) == {number: 2 * number for number in range(N_ITEMS)}
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.usefixtures("_forked")
def test_the_second_try_is_alone(tmp_path):
    """An innocent item may die when the others take the memory, so they must be done by then."""

    def work(number):
        if number == 5:
            (tmp_path / f"{len(list(tmp_path.iterdir()))}").write_text("try")
            if len(list(tmp_path.iterdir())) == 1:
                die()
        return os.getpid()

    done = list(run_in_workers(work, list(range(N_ITEMS)), 2, lambda item, end: end))
    assert done[-1][0] == 5
    assert done[-1][1] not in {process for _, process in done[:-1]}


@pytest.mark.usefixtures("_forked")
def test_a_process_that_leaves_is_named_by_its_exit_code():
    def work(number):
        if number == 2:
            os._exit(7)
        return number

    assert results(work)[2] == (2, "ended (exit code 7), twice")


def leave_at_two(number):
    if number == 2:
        sys.exit(3)
    return number


def test_a_process_that_leaves_by_itself_is_not_said_to_be_killed():
    """Its pipe is closed some time before it has ended."""
    assert results(leave_at_two, range(8), 1)[2] == (2, "ended (exit code 3), twice")


@pytest.mark.usefixtures("_forked")
def test_what_the_work_raises_is_raised_and_no_process_is_left():
    def work(number):
        if number == 60:
            raise BadInputError("the disk is full")
        return number

    with pytest.raises(BadInputError, match="the disk is full") as found:
        results(work)
    assert "in a worker process" in "".join(found.value.__notes__)
    assert multiprocessing.active_children() == []


@pytest.mark.usefixtures("_forked")
def test_processes_that_cannot_begin_are_no_fault_of_an_item(monkeypatch):
    monkeypatch.setattr(workers, "_serve", lambda function, pipe: os._exit(1))
    with pytest.raises(BadInputError, match="before it began any work, 3 times in a row"):
        results(double)


# What this means for an evaluation.

N_TRIALS = 96


@pytest.fixture
def tree(tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "_PAYS", 32)
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


@pytest.mark.usefixtures("_forked")
def test_a_trial_that_kills_its_worker_twice_is_degraded_and_the_batch_goes_on(tree, monkeypatch):
    guilty = "task-one__0000040"
    original = trial_module.read_trace

    def read_trace(path):
        if path.name == guilty:
            die()
        return original(path)

    monkeypatch.setattr(trial_module, "read_trace", read_trace)
    found = measure(tree)
    assert found.summary.counts.evaluated == N_TRIALS - 1
    (row,) = [row for row in found.summary.trials if row.status == "degraded"]
    assert row.trial_name == guilty
    assert row.reason == "the process that measured it was killed (signal 9), twice"
    for path in found.folder.rglob("*.json"):
        document = json.loads(path.read_text())
        assert faults(document, kind_of(document)) == []
    monkeypatch.undo()
    again = measure(tree)
    assert again.summary.counts.degraded == 0
    assert [d.job.trial.trial_name for d in again.trials if d.is_fresh] == [guilty]


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


POOL = """
import os, sys, time
from retrieval_eval.pipeline.workers import process_pool
if __name__ == "__main__":
    pool = process_pool(1)
    print(pool.submit(os.getpid).result(), flush=True)
    pool.submit(time.sleep, 60)
    time.sleep(60)
"""


def test_a_pool_ends_with_the_process_that_made_it(tmp_path):
    script = tmp_path / "pool.py"
    script.write_text(POOL)
    command = [sys.executable, str(script)]
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as made:
        assert made.stdout is not None
        worker = int(made.stdout.readline())
        made.kill()
    end = time.monotonic() + 30
    while _is_running(worker) and time.monotonic() < end:
        time.sleep(0.05)
    assert not _is_running(worker)


def _is_running(number: int) -> bool:
    try:
        state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
