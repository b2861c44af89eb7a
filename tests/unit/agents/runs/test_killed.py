"""An evaluation that is killed leaves whole artefacts only, and the next one goes on from there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from retrieval_eval.agents.runs.evaluate import evaluate
from retrieval_eval.schema import faults, kind_of
from tests.runs import write_task, write_trial

N_TRIALS = 60
PATIENCE = 60.0


pytestmark = pytest.mark.extra


@pytest.fixture
def tree(tmp_path):
    write_task(tmp_path / "benchmarks", "task-one", ["src/a.py"])
    reads = [f"src/{number}.py" for number in range(50)]
    for number in range(N_TRIALS):
        write_trial(tmp_path / "runs/run-1", "baseline", "task-one", reads, suffix=f"{number:07d}")
    return tmp_path


def start(tree):
    """Start the command in its own process, as a user would."""
    words = ["evaluate", str(tree / "runs/run-1"), "--output-dir"]
    program = "from retrieval_eval.cli import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", program, *words, str(tree / "out"), "--jobs", "1"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def artefacts(tree):
    return sorted((tree / "out").rglob("*.json"))


@pytest.mark.skipif(os.name != "posix", reason="needs a signal that cannot be caught")
@pytest.mark.parametrize("n_before", [1, 20])
def test_a_kill_leaves_no_half_artefact_and_the_next_run_resumes(tree, n_before):
    running = start(tree)
    deadline = time.monotonic() + PATIENCE
    while len(artefacts(tree)) < n_before and time.monotonic() < deadline:
        time.sleep(0.001)
    running.send_signal(signal.SIGKILL)
    assert running.wait() == -signal.SIGKILL
    left = artefacts(tree)
    assert n_before <= len(left) < 2 * N_TRIALS
    for path in left:
        document = json.loads(path.read_text())
        assert faults(document, kind_of(document)) == []
    (again,) = evaluate(["run-1"], runs_root=tree / "runs", output_dir=tree / "out").runs
    n_kept = sum(not done.is_fresh for done in again.trials)
    assert n_kept in {len(left) // 2, (len(left) - 1) // 2}
    assert again.summary.counts.evaluated == N_TRIALS
    assert len(artefacts(tree)) == 2 * N_TRIALS + 2
    assert list((tree / "out").rglob("*.tmp")) == []
