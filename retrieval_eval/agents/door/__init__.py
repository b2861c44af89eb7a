"""The door: trials and truth as people have them, in tables and in folders as they are published.

A table gives the same references to trials as a run tree does; only where a trial's end and its
truth are stated differs, and these come along.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from retrieval_eval.agents.door.layouts import BEFORE_RUN_TREES, LAYOUTS, recognised
from retrieval_eval.agents.door.nearest import nearest
from retrieval_eval.agents.door.table import (
    COLUMNS,
    Row,
    Rows,
    Truths,
    as_file,
    is_table,
    is_trials,
    is_truth,
    numbered,
    read_trials,
    read_truths,
)
from retrieval_eval.escape import visible
from retrieval_eval.io.files import csv_text, probe
from retrieval_eval.io.layout import discover, looks_like_trial
from retrieval_eval.records import Exclusion, GroundTruth, RecordedOutcome, TrialRef
from retrieval_eval.values import counted

__all__ = [
    "LAYOUTS",
    "Opened",
    "Truths",
    "as_file",
    "holds_trials",
    "is_table",
    "is_truth",
    "name_of_run",
    "nearest",
    "opened",
    "opened_tree",
    "read_trials",
    "read_truths",
    "table_text",
    "with_truths",
]

_MOST_NAMED = 5
RUN_TREE: Final = "run tree"
TABLE: Final = "table of trials"


class Opened(Struct, frozen=True):
    """The trials of a run, and sentences about what of them could not be used.

    ``layout`` is what the place was recognised as: a table, a run tree, or the name of a layout;
    empty where it is nothing of these.
    """

    run_id: str
    trials: tuple[TrialRef, ...]
    problems: tuple[str, ...] = ()
    excluded: tuple[Exclusion, ...] = ()
    layout: str = ""
    rows: tuple[Row, ...] = ()

    @property
    def is_tree(self) -> bool:
        """Whether documents go into the folder itself, as those of a run tree do."""
        return self.layout in ("", RUN_TREE)


def opened(place: Path) -> Opened:
    """Return the trials of a folder, a table or a file of traces.

    A place that is nothing of these has no trials.

    Raises
    ------
    BadInputError
        For a table that is none.
    """
    found: tuple[str, Rows] | None
    if is_trials(place):
        found = TABLE, read_trials(place)
    else:
        found = recognised(place, BEFORE_RUN_TREES)
        if found is None and probe(place.is_dir):
            tree = opened_tree(place)
            if tree.trials or tree.excluded:
                return tree
        found = found or recognised(place)
    run_id = name_of_run(place)
    if found is None:
        return Opened(run_id, ())
    layout, stated = found
    rows = tuple(numbered(stated.rows))
    trials = tuple(_trial(run_id, row, place.name) for row in rows)
    excluded = tuple(
        Exclusion(Path(one.trace), run_id, one.config, one.reason, one.detail)
        for one in stated.left_out
    )
    return Opened(run_id, trials, stated.problems, excluded, layout, rows)


def holds_trials(file: Path) -> bool:
    """Return whether a file is a table of trials, or a log or trajectory of one of the layouts."""
    return is_table(file) or (probe(file.is_file) and recognised(file) is not None)


def opened_tree(folder: Path) -> Opened:
    """Return the trials of a run tree; a folder without any is none."""
    tree = discover(folder, folder.name)
    rows = tuple(numbered(map(_row, tree.trials)))
    return Opened(folder.name, tree.trials, (), tree.excluded, RUN_TREE, rows)


def table_text(found: Opened, base: Path) -> str:
    """Return the table of trials as CSV, with paths relative to ``base`` where they lie below it.

    Columns without any value are left out, and so are the repeats of trials that have one each.
    """
    is_repeated = any(row.repeat not in (None, "1") for row in found.rows)
    rows = []
    for row in found.rows:
        values = {name: getattr(row, name) for name in COLUMNS}
        trace = Path(row.trace)
        values["trace"] = str(trace.relative_to(base) if trace.is_relative_to(base) else trace)
        values["repeat"] = row.repeat if is_repeated else None
        rows.append(values)
    kept = [name for name in COLUMNS if any(row[name] is not None for row in rows)]
    return csv_text(kept, ([row[name] for name in kept] for row in rows))


def _row(trial: TrialRef) -> Row:
    return Row(
        trace=str(trial.path),
        task=trial.task_name,
        config=trial.config_name,
        benchmark=trial.benchmark,
    )


_FEW: Final = re.compile(r"[\d_-]{1,12}")
"""The name of a day's folder, which says nothing without those above."""


def name_of_run(place: Path) -> str:
    """Return the name of the run that a folder or file is.

    Examples
    --------
    >>> name_of_run(Path("logs/2026-11-27_a.eval")), name_of_run(Path("sessions/2026/11/27"))
    ('2026-11-27_a', 'sessions-2026-11-27')
    """
    if probe(place.is_file) or place.suffix in (".csv", ".eval"):
        return place.name.partition(".")[0] or place.name
    parts = [place.name]
    for folder in place.parents:
        if not _FEW.fullmatch(parts[0]) or not folder.name:
            break
        parts.insert(0, folder.name)
    return "-".join(parts).lstrip("-") or place.name


def with_truths(
    trials: Sequence[TrialRef], truths: Truths
) -> tuple[tuple[TrialRef, ...], tuple[str, ...]]:
    """Return trials with the ground truth of their tasks by name, and what does not fit."""
    known = {name.lower(): truth for name, truth in truths.by_task.items()}
    names = [trial.task_name.lower() for trial in trials]
    found = tuple(
        replace(trial, truth=known.get(name, GroundTruth()))
        for trial, name in zip(trials, names, strict=True)
    )
    unknown = {trial.task_name for trial in trials if trial.task_name.lower() not in known}
    lacking = sorted(unknown)
    tried = set(names)
    others = sorted(task for task in truths.by_task if task.lower() not in tried)
    problems = list(truths.problems)
    if lacking:
        what = counted(len(lacking), "task")
        problems.append(f"{truths.name}: {what} of the trials without a row: {_named(lacking)}")
    if others:
        what = counted(len(others), "row")
        problems.append(f"{truths.name}: {what} of tasks that have no trial here: {_named(others)}")
    return found, tuple(problems)


def _named(tasks: Sequence[str]) -> str:
    more = ", …" if len(tasks) > _MOST_NAMED else ""
    return ", ".join(visible(task, 80) for task in tasks[:_MOST_NAMED]) + more


def _trial(run_id: str, row: Row, source: str) -> TrialRef:
    path = Path(row.trace)
    name = row.task if row.repeat in (None, "1") else f"{row.task}@{row.repeat}"
    return TrialRef(
        run_id=run_id,
        config_name=row.config,
        batch_timestamp=None,
        trial_name=path.name if looks_like_trial(path.name) and probe(path.is_dir) else name,
        path=path,
        task_name=row.task,
        benchmark=row.benchmark,
        raw_task_name=row.task,
        sample=row.sample,
        recorded=RecordedOutcome(
            source,
            *(row.reward, row.cost_usd, row.elapsed_seconds),
            *(row.model, row.harness, row.harness_version),
        ),
    )
