"""Where runs and benchmarks lie when the caller does not say."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from retrieval_eval.io.files import probe

DEMO = "demo"
"""The run id of the built-in demonstration; see :func:`is_demo`."""

DEMO_OUTPUT = Path("reports") / DEMO / "data"

RUNS_VARIABLE = "RETRIEVAL_EVAL_RUNS_ROOT"
BENCHMARKS_VARIABLE = "RETRIEVAL_EVAL_BENCHMARKS_ROOT"

LEVELS_ABOVE_A_RUN = 3


def is_demo(runs: Sequence[str | Path], runs_root: str | Path | None) -> bool:
    """Return whether runs are the built-in demonstration.

    They are not where a runs root was given, or the environment names one with a run of this name.
    """
    named = os.environ.get(RUNS_VARIABLE)
    is_own = bool(named) and probe((Path(named or "") / DEMO).is_dir)
    return [str(run) for run in runs] == [DEMO] and not runs_root and not is_own


def default_runs_root() -> Path | None:
    """Return the folder of all runs: the environment's, else ``runs`` here, else None."""
    if named := os.environ.get(RUNS_VARIABLE):
        return Path(named)
    here = Path("runs")
    return here if here.is_dir() else None


def default_benchmarks_root(runs: Iterable[Path]) -> Path | None:
    """Return the folder of all tasks: the environment's, else the nearest ``benchmarks``.

    The nearest is a folder of that name beside one of the three folders above a run, or here.
    """
    if named := os.environ.get(BENCHMARKS_VARIABLE):
        return Path(named)
    places = [above for run in runs for above in list(run.parents)[:LEVELS_ABOVE_A_RUN]]
    for place in (*places, Path()):
        if (place / "benchmarks").is_dir():
            return place / "benchmarks"
    return None
