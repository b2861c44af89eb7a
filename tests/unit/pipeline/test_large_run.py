"""The benchmark of a large run does each of its steps, here on a small one."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.conftest import PROJECT

SCRIPT = PROJECT / "benchmarks" / "large_run.py"


def test_every_step_of_the_benchmark_runs():
    command = [sys.executable, str(SCRIPT), "--tasks", "6", "--repositories", "2"]
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    steps = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("| ")]
    assert steps == ["step", "evaluate", "analysis", "comparison", "associations"]
