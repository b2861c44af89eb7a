"""Where runs and benchmarks lie when the caller does not say, and the names of files made."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import probe
from retrieval_eval.io.layout import is_folder, resolve_runs, split_run
from retrieval_eval.io.remote import is_url
from retrieval_eval.io.user_files import project
from retrieval_eval.records import TrialRef

# --------------------------------------------------------------------------------------------------
# Where runs and benchmarks lie when the caller does not say.

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
    from retrieval_eval.agents.study.stated import design_beside

    return design_beside([*folders, Path()])


# --------------------------------------------------------------------------------------------------
# File names of artefacts: a trial's names come from untrusted files and may hold anything.

EVENTS_SUFFIX = ".retrieval_events.json"
METRICS_SUFFIX = ".retrieval_metrics.json"
SUMMARY_FILE = "run_retrieval_summary.json"
IMPACT_FILE = "run_impact_analysis.json"

_UNSAFE = re.compile(r"[^A-Za-z0-9._@+=-]")
_LONGEST = 150


def documents_of(stem: str) -> tuple[str, str]:
    """Return the names of the event and the metric document of a trial, by their stem."""
    return f"{stem}{EVENTS_SUFFIX}", f"{stem}{METRICS_SUFFIX}"


def safe_name(name: str) -> str:
    """Return ``name`` as one harmless path component.

    A name that had to be changed carries a digest of the original, so that two names never fall
    together.

    Examples
    --------
    >>> safe_name("fix-login-001")
    'fix-login-001'
    >>> safe_name("../../etc").startswith(".")
    False
    """
    plain = _UNSAFE.sub("_", name).lstrip(".")[:_LONGEST]
    if plain and plain == name:
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{plain or 'unnamed'}-{digest}"


def artefact_stems(trials: Iterable[TrialRef]) -> dict[TrialRef, str]:
    """Return ``<config>/<name>`` of every trial of a run.

    The first trial of a task and config (by batch, then trial name) has the task's name, further
    ones ``<task_name>@<trial_name>``.
    """
    stems: dict[TrialRef, str] = {}
    taken: set[str] = set()
    ordered = sorted(trials, key=lambda t: (t.batch_timestamp or "", t.trial_name, str(t.path)))
    for trial in ordered:
        stem = f"{safe_name(trial.config_name)}/{safe_name(trial.task_name)}"
        if stem in taken:
            name = safe_name(f"{trial.task_name}@{trial.trial_name}")
            stem = f"{safe_name(trial.config_name)}/{name}"
        number = 2
        unique = stem
        while unique in taken:
            unique, number = f"{stem}.{number}", number + 1
        taken.add(unique)
        stems[trial] = unique
    return stems
