"""The door: trials and truth as people have them, in tables and in folders as they are published.

A table gives the same references to trials as a run tree does; only where a trial's end and its
truth are stated differs, and these come along.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from retrieval_eval.agents.door.table import Row, is_table, read_trials
from retrieval_eval.agents.door.truth import Truths, is_truth, read_truths
from retrieval_eval.escape import visible
from retrieval_eval.records import GroundTruth, RecordedOutcome, TrialRef
from retrieval_eval.values import counted

__all__ = [
    "Opened",
    "is_table",
    "is_truth",
    "opened_table",
    "read_trials",
    "read_truths",
    "with_truths",
]

_MOST_NAMED = 5


class Opened(Struct, frozen=True):
    """The trials that a table gives, and sentences about what of it could not be used."""

    trials: tuple[TrialRef, ...]
    problems: tuple[str, ...] = ()


def opened_table(path: Path, run_id: str) -> Opened:
    """Return the trials of a table, which are reported under the name ``run_id``.

    Raises what `read_trials` raises.
    """
    table = read_trials(path)
    return Opened(tuple(_trial(run_id, row, path.name) for row in table.rows), table.problems)


def with_truths(trials: Sequence[TrialRef], truths: Truths) -> Opened:
    """Return trials with the ground truth of their tasks, by the names of these."""
    known = {name.lower(): truth for name, truth in truths.by_task.items()}
    names = [trial.task_name.lower() for trial in trials]
    found = tuple(
        replace(trial, truth=known.get(name, GroundTruth()))
        for trial, name in zip(trials, names, strict=True)
    )
    unknown = {trial.task_name for trial in trials if trial.task_name.lower() not in known}
    lacking = sorted(unknown)
    n_others = len(known.keys() - set(names))
    problems = list(truths.problems)
    if lacking:
        named = ", ".join(visible(task, 80) for task in lacking[:_MOST_NAMED])
        more = ", …" if len(lacking) > _MOST_NAMED else ""
        what = counted(len(lacking), "task")
        problems.append(f"{truths.name}: {what} of the trials without a row: {named}{more}")
    if n_others:
        what = counted(n_others, "row")
        problems.append(f"{truths.name}: {what} of tasks that have no trial here")
    return Opened(found, tuple(problems))


def _trial(run_id: str, row: Row, source: str) -> TrialRef:
    repeated = row.repeat not in (None, "1")
    return TrialRef(
        run_id=run_id,
        config_name=row.config,
        batch_timestamp=None,
        trial_name=f"{row.task}@{row.repeat}" if repeated else row.task,
        path=Path(row.trace),
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
