"""Where runs and benchmarks lie when the caller does not say."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

DEMO = "demo"
"""The run id of the built-in demonstration when no runs root is named."""

DEMO_OUTPUT = Path("reports") / DEMO / "data"

RUNS_VARIABLE = "RETRIEVAL_EVAL_RUNS_ROOT"
BENCHMARKS_VARIABLE = "RETRIEVAL_EVAL_BENCHMARKS_ROOT"

_LEVELS_ABOVE_A_RUN = 3


def default_runs_root() -> Path | None:
    """Return the folder of all runs: the environment's, else ``runs`` here, else None."""
    named = os.environ.get(RUNS_VARIABLE)
    if named:
        return Path(named)
    here = Path("runs")
    return here if here.is_dir() else None


def default_benchmarks_root(runs: Iterable[Path]) -> Path | None:
    """Return the folder of all tasks: the environment's, else the nearest ``benchmarks``.

    The nearest is a folder of that name beside one of the three folders above a run, or here.
    """
    named = os.environ.get(BENCHMARKS_VARIABLE)
    if named:
        return Path(named)
    places = [above for run in runs for above in list(run.parents)[:_LEVELS_ABOVE_A_RUN]]
    for place in (*places, Path()):
        if (place / "benchmarks").is_dir():
            return place / "benchmarks"
    return None
