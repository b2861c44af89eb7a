"""The benchmarks do each of their steps, here on small data; no time is checked."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.conftest import PROJECT

pytestmark = pytest.mark.extra


def _printed(script: str, *arguments: str) -> str:
    command = [sys.executable, str(PROJECT / "benchmarks" / script), *arguments]
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return done.stdout


def test_every_step_of_a_large_run_is_measured():
    printed = _printed("large_run.py", "--tasks", "6", "--repositories", "2")
    steps = [line.split()[1] for line in printed.splitlines() if line.startswith("| ")]
    assert steps == ["step", "evaluate", "analysis", "comparison", "associations"]


def test_ratios_to_other_packages_come_out():
    # Without the section of reports, which executes notebooks.
    sections = ("ranking", "traces", "associations", "bm25")
    measured = json.loads(_printed("ratios.py", "--quick", "--json", "--only", *sections))
    rows = measured["rows"]
    assert {row["section"] for row in rows} == {"ranking", "traces", "statistics", "BM25"}
    assert {row["peer"] for row in rows} > {"pytrec_eval", "ir_measures", "json.loads", "bm25s"}
    assert all(row["ratio"] > 0 for row in rows)
    assert measured["machine"]["packages"]["scipy"] != "not installed"
