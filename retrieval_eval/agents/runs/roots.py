"""Where runs and benchmarks lie when the caller does not say."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from retrieval_eval.agents.study.stated import design_beside
from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import probe
from retrieval_eval.io.project import project
from retrieval_eval.io.remote import is_url
from retrieval_eval.io.runs import is_folder, resolve_runs, split_run

DEMO = "demo"
"""The run id of the built-in demonstration; see :func:`is_demo`."""

DEMO_OUTPUT = Path("reports") / DEMO / "data"

RUNS_VARIABLE = "RETRIEVAL_EVAL_RUNS_ROOT"
BENCHMARKS_VARIABLE = "RETRIEVAL_EVAL_BENCHMARKS_ROOT"

LEVELS_ABOVE_A_RUN = 3


def is_demo(runs: Sequence[str | Path], runs_root: str | Path | None) -> bool:
    """Return whether runs are the built-in demonstration.

    They are not where a runs root was given, or one is stated that holds a run of this name.
    """
    if [str(run) for run in runs] != [DEMO] or runs_root:
        return False
    stated = _stated_runs()
    return stated is None or not probe((stated / DEMO).is_dir)


def _stated_runs() -> Path | None:
    """Return the folder of all runs that the environment names, else the project file."""
    if named := os.environ.get(RUNS_VARIABLE):
        return Path(named)
    found = project()
    return None if found.runs is None else found.place(found.runs)


def default_runs_root() -> Path | None:
    """Return the folder of all runs: a stated one, else ``runs`` here, else None."""
    if (stated := _stated_runs()) is not None:
        return stated
    here = Path("runs")
    return here if here.is_dir() else None


def default_benchmarks_root(runs: Iterable[Path]) -> Path | None:
    """Return the folder of all tasks: a stated one, else the nearest ``benchmarks``.

    It is stated in the environment or in the project file.

    The nearest is a folder of that name beside one of the three folders above a run, or here.
    """
    if named := os.environ.get(BENCHMARKS_VARIABLE):
        return Path(named)
    if (found := project()).benchmarks is not None:
        return found.place(found.benchmarks)
    places = [above for run in runs for above in list(run.parents)[:LEVELS_ABOVE_A_RUN]]
    for place in (*places, Path()):
        if (place / "benchmarks").is_dir():
            return place / "benchmarks"
    return None


def stated_design(names: Sequence[str], runs_root: Path | None) -> Path | None:
    """Return the file that states the design of a study: in the folder of a run, else in this one.

    ``names`` are runs, or ``RUN:CONFIG``. Runs that are not there are left to who reads them.
    """
    folders: list[Path] = []
    for name in names:
        run = name if is_folder(name) else split_run(name)[0]
        with suppress(BadInputError):
            if not is_url(run) and not is_demo([run], runs_root):
                folders += resolve_runs([run], runs_root or default_runs_root())
    return design_beside([*folders, Path()])
