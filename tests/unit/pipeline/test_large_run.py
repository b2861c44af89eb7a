"""The benchmark of a large run does each of its steps, here on a small one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[3] / "benchmarks" / "large_run.py"


def test_every_step_of_the_benchmark_runs():
    command = [sys.executable, str(SCRIPT), "--tasks", "6", "--repositories", "2"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    steps = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("| ")]
    assert steps == ["step", "evaluate", "analysis", "comparison", "associations"]
