"""The layout of run trees: which trials a run holds, and what is left out with which reason."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from retrieval_eval.io.files import is_inside, label
from retrieval_eval.io.trials import TIMESTAMP, Folder, inspect
from retrieval_eval.records import Exclusion, TrialRef

OWN_FOLDER = "retrieval_events"
"""The folder of a run that this package writes."""

UNKNOWN_CONFIG = "unknown"
"""The config of a trial that lies under no folder but batches."""

EXCLUSION_REASONS: dict[str, str] = {
    "skipped_name": "the name marks an archived, broken, partial or duplicate run",
    "link": "a link to a folder is not followed",
    "unreadable": "the folder cannot be read",
    "nothing_recorded": "the folder is named like a trial but holds neither result nor trace",
}
"""Every reason of an :class:`~retrieval_eval.records.Exclusion` with its sentence."""

_MARKERS = ("__broken", "__duplicate", "__all_errored", "__partial", "__integrated")
_ARCHIVE_WORD = re.compile(r"(?:^|[_.-])archived?(?:$|[_.-])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Discovery:
    """The trials of a run and what was left out, each in a fixed order."""

    trials: tuple[TrialRef, ...]
    excluded: tuple[Exclusion, ...]


def discover(run_dir: Path, run_id: str) -> Discovery:
    """Return every trial below ``run_dir``, found by content.

    The config is the first level that is not a batch timestamp, the batch the level that is one.
    A trial whose result is missing or broken is still a trial when it left a trace. Links to
    folders are not followed: one inside the run is seen where it points to, one that leaves the
    run must not be read.

    Parameters
    ----------
    run_dir
        The folder of the run; the folder of a single trial works too.
    run_id
        The name under which the trials are reported.

    Returns
    -------
    Discovery
        Trials ordered by config, batch and trial name, exclusions by path. Task names are as
        recorded; :func:`retrieval_eval.io.tasks.resolve_trials` finds their tasks.
    """
    if _is_skipped(run_id, is_run=True):
        return Discovery((), (Exclusion(run_dir, run_id, None, "skipped_name", run_id),))
    trials: list[TrialRef] = []
    excluded: list[Exclusion] = []
    unfinished: list[tuple[Path, tuple[str, ...]]] = []
    stack: list[tuple[Path, tuple[str, ...]]] = [(run_dir, ())]
    while stack:
        path, levels = stack.pop()
        children: list[Path] = []
        reason = _exclusion(path, levels[-1] if levels else None)
        if reason is None:
            folder = inspect(path, run_dir)
            if folder.kind == "trial":
                trials.append(_trial_ref(path, levels, run_id, folder))
                continue
            if folder.kind == "unfinished":
                unfinished.append((path, levels))
            children, reason = _children(path)
        if reason is not None:
            excluded.append(_excluded(path, levels, run_dir, run_id, reason))
        stack.extend((child, (*levels, child.name)) for child in children)
    for path, levels in _empty(unfinished, trials):
        excluded.append(_excluded(path, levels, run_dir, run_id, "nothing_recorded"))
    return Discovery(
        tuple(sorted(trials, key=_order)),
        tuple(sorted(excluded, key=lambda e: e.path.as_posix())),
    )


def _exclusion(path: Path, name: str | None) -> str | None:
    """Return why a folder below the run (``name`` is None for the run itself) is left out."""
    if name is None:
        return None
    if path.is_symlink():
        return "link"
    return "skipped_name" if _is_skipped(name, is_run=False) else None


def _is_skipped(name: str, *, is_run: bool) -> bool:
    """Return whether a name marks a run nobody wants evaluated.

    In a run's name ``archive`` anywhere counts; a level below may be named after a task such as
    ``libarchive-fix``, so there it has to be a word of its own.
    """
    lower = name.lower()
    if any(marker in lower for marker in _MARKERS):
        return True
    return "archive" in lower if is_run else bool(_ARCHIVE_WORD.search(lower))


def _children(path: Path) -> tuple[list[Path], str | None]:
    """Return the folders to look into, or the reason why that is impossible."""
    try:
        folders = [item for item in path.iterdir() if item.is_dir()]
    except OSError:
        return [], "unreadable"
    return [f for f in folders if f.name != OWN_FOLDER and not f.name.startswith(".")], None


def _empty(
    unfinished: list[tuple[Path, tuple[str, ...]]], trials: list[TrialRef]
) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """Yield the outermost folders named like a trial that hold no trial."""
    holding = {parent for trial in trials for parent in trial.path.parents}
    empty = {path for path, _ in unfinished if path not in holding}
    for path, levels in unfinished:
        if path in empty and empty.isdisjoint(path.parents):
            yield path, levels


def _trial_ref(path: Path, levels: tuple[str, ...], run_id: str, folder: Folder) -> TrialRef:
    above = levels[:-1]
    batches = [level for level in above if TIMESTAMP.fullmatch(level)]
    return TrialRef(
        run_id=run_id,
        config_name=_config(above) or UNKNOWN_CONFIG,
        batch_timestamp=batches[-1] if batches else None,
        trial_name=path.name,
        path=path,
        task_name=folder.task_name,
        benchmark=folder.benchmark,
        raw_task_name=folder.task_name,
    )


def _config(levels: tuple[str, ...]) -> str | None:
    return next((level for level in levels if not TIMESTAMP.fullmatch(level)), None)


def _excluded(
    path: Path, levels: tuple[str, ...], run_dir: Path, run_id: str, reason: str
) -> Exclusion:
    detail = label(path, run_dir)
    if reason == "link" and not is_inside(path, run_dir):
        detail += ": leads out of the run"
    config = _config(levels[:-1] or levels)
    return Exclusion(path, run_id, config, reason, detail)


def _order(trial: TrialRef) -> tuple[str, str, str, str]:
    batch = trial.batch_timestamp or ""
    return (trial.config_name, batch, trial.trial_name, trial.path.as_posix())
