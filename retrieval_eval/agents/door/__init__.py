"""The door: trials and truth as people have them, in tables and in folders as they are published.

A table gives the same references to trials as a run tree does; only where a trial's end and its
truth are stated differs, and these come along.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from retrieval_eval.agents.door.table import Row, Rows, read_trials
from retrieval_eval.agents.door.truth import Truths, read_truths
from retrieval_eval.escape import visible
from retrieval_eval.records import GroundTruth, RecordedOutcome, TrialRef
from retrieval_eval.values import counted

__all__ = ["Opened", "opened_trials", "read_trials", "read_truths"]

_MOST_NAMED = 5


class Opened(Struct, frozen=True):
    """The trials that a table gives, and sentences about what of it could not be used."""

    trials: tuple[TrialRef, ...]
    problems: tuple[str, ...] = ()


def opened_trials(run_id: str, table: Rows, truths: Truths | None, source: str) -> Opened:
    """Return the trials of a table with the truth of their tasks.

    Parameters
    ----------
    run_id
        The name under which the trials are reported.
    table
        What `read_trials` gave.
    truths
        What `read_truths` gave, or None: then tasks are looked for as those of a run tree are.
    source
        What to call the table where a value is from it.
    """
    trials = tuple(_trial(run_id, row, truths, source) for row in table.rows)
    problems = list(table.problems)
    if truths is not None:
        problems += truths.problems
        problems += _unlike([row.task for row in table.rows], truths.by_task)
    return Opened(trials, tuple(problems))


def _trial(run_id: str, row: Row, truths: Truths | None, source: str) -> TrialRef:
    path = Path(row.trace)
    repeated = row.repeat not in (None, "1")
    truth = None if truths is None else truths.by_task.get(row.task, GroundTruth())
    return TrialRef(
        run_id=run_id,
        config_name=row.config,
        batch_timestamp=None,
        trial_name=f"{row.task}@{row.repeat}" if repeated else row.task,
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
        truth=truth,
    )


def _unlike(tasks: Sequence[str], known: dict[str, GroundTruth]) -> list[str]:
    """Return which tasks have no truth, and how many truths are of tasks without a trial."""
    missing = Counter(task for task in tasks if task not in known)
    others = len(known.keys() - set(tasks))
    found = []
    if missing:
        named = ", ".join(visible(task, 80) for task in list(missing)[:_MOST_NAMED])
        more = ", …" if len(missing) > _MOST_NAMED else ""
        found.append(f"truth: {counted(len(missing), 'task')} without a row: {named}{more}")
    if others:
        found.append(f"truth: {counted(others, 'row')} of tasks that have no trial here")
    return found
