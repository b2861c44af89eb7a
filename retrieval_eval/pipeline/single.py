"""One trial by path or name, evaluated in memory: nothing is written."""

from __future__ import annotations

import difflib
import re
from pathlib import Path

from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import answers
from retrieval_eval.io.layout import discover, trial_at
from retrieval_eval.io.runs import resolve_runs
from retrieval_eval.io.tasks import TaskIndex, resolve_trials
from retrieval_eval.metrics.document import TrialMetrics
from retrieval_eval.metrics.trial import DEFAULT_K
from retrieval_eval.model.events import EventDocument
from retrieval_eval.pipeline.roots import default_benchmarks_root, default_runs_root
from retrieval_eval.pipeline.trial import Job, documents
from retrieval_eval.records import TrialRef

_NO_CONFIG = re.compile(r"\d{4}-\d{2}-\d{2}__\d{2}-\d{2}-\d{2}$|ccb_|csb_")
"""Levels between a config and its trials: batch time stamps and job names."""


def evaluate_one(
    trial: str,
    *,
    run: str | None = None,
    runs_root: Path | None = None,
    benchmarks_root: Path | None = None,
) -> tuple[EventDocument, TrialMetrics]:
    """Return the event document and the metrics of one trial.

    Parameters
    ----------
    trial
        The path of a trial directory, or a trial name inside ``run``.
    run
        Run id or path.

    Raises
    ------
    BadInputError
        When there is no such trial; the message lists the closest names.
    """
    root = runs_root or default_runs_root()
    found, folder = _by_name(trial, run, root) if run is not None else _by_path(Path(trial))
    tasks = benchmarks_root or default_benchmarks_root([folder])
    index = (
        TaskIndex(tasks)
        if tasks is not None
        else TaskIndex.with_names([found.raw_task_name or found.task_name])
    )
    (resolved,), problems = resolve_trials([found], index)
    job = Job(resolved, Path(), "", DEFAULT_K, problems.get(resolved.path))
    return documents(job)


def _by_name(name: str, run: str, runs_root: Path | None) -> tuple[TrialRef, Path]:
    (folder,) = resolve_runs([run], runs_root)
    trials: dict[str, list[TrialRef]] = {}
    for trial in discover(folder, folder.name).trials:
        trials.setdefault(trial.trial_name, []).append(trial)
    if name not in trials:
        near = difflib.get_close_matches(name, trials, n=5, cutoff=0.3) or sorted(trials)[:5]
        raise BadInputError(f"no trial {name!r} in run {folder.name}; closest: {', '.join(near)}")
    if len(trials[name]) > 1:
        paths = ", ".join(str(trial.path) for trial in trials[name])
        raise BadInputError(
            f"{len(trials[name])} trials of run {folder.name} are named {name!r}; "
            f"name the path of one: {paths}"
        )
    return trials[name][0], folder


def _by_path(path: Path) -> tuple[TrialRef, Path]:
    """Return the trial in a directory and its run: the folder above the config's."""
    if not answers(path.is_dir):
        raise BadInputError(
            f"{path}: no such trial directory; name its path, or its run with --run"
        )
    path = path.resolve()
    config = path.parent
    while _NO_CONFIG.match(config.name) and config != config.parent:
        config = config.parent
    run = config.parent
    trial = trial_at(path, run)
    if trial is None:
        raise BadInputError(f"{path}: holds neither a result nor a trace of a trial")
    return trial, run
