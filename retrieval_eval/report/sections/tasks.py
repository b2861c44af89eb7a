"""Single tasks: one step by step, those that differ most, and all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from retrieval_eval.escape import visible
from retrieval_eval.report.comparison import HEADLINE
from retrieval_eval.report.documents import event_rows
from retrieval_eval.report.exhibits import Block, Empty, Table, section
from retrieval_eval.report.figures import timeline
from retrieval_eval.report.names import metric_name
from retrieval_eval.report.run_view import RunView, Task, numbers, task_mean, task_of
from retrieval_eval.report.sections.pairs import withheld
from retrieval_eval.values import counted

TOP = 25
MAX_APPENDIX = 500
SHOWN = ("file_recall", "ndcg@10", "ttfr_seconds", "reward", "cost_usd")


def step_by_step(view: RunView) -> Block:
    """Return the timeline of the task with the largest difference, one trial a config."""
    task = _exemplar(view)
    if task is None:
        return section("No task has events", Empty("timeline", "No trial has a retrieval event."))
    # Trial by trial: runs, and batches of a run, may use one name for several trials.
    first: dict[str, timeline.Track] = {}
    trials = [(str(t.entry.trial_name), t) for t in view.run.trial_files]
    for trial, files in sorted(trials, key=lambda named: named[0]):
        identity = files.identity
        found = event_rows(files.events(), identity) if task_of(identity) == task else []
        if found:
            config = str(identity["config_name"])
            first.setdefault(config, timeline.Track(config, trial, timeline.steps(found)))
    tracks = [first[c] for c in view.run.configs if c in first]
    pair = view.headline_pairs.get(task)
    known = metric_name(HEADLINE)
    how = (
        f": {known.label.lower()} {known.value(pair[0])} and {known.value(pair[1])}" if pair else ""
    )
    return section(f"{visible(task[1], 60)}{how}", timeline.draw(tracks, task[1], view.run.configs))


def _exemplar(view: RunView) -> Task | None:
    if view.headline_pairs:
        pairs = view.headline_pairs
        return max(sorted(pairs), key=lambda task: abs(pairs[task][2]))
    totals = {task: sum(numbers(trials, "total_events")) for task, trials in view.tasks.items()}
    return max(sorted(totals), key=lambda task: totals[task]) if any(totals.values()) else None


def largest(view: RunView) -> Block:
    """Return the tasks whose headline metric differs most."""
    if (block := withheld(view, "largest")) is not None:
        return block
    pairs = view.headline_pairs
    if not pairs:
        return section("No task is matched", Empty("largest", "There is no difference to rank."))
    ordered = sorted(pairs, key=lambda task: (-abs(pairs[task][2]), task))[:TOP]
    changed = sum(d != 0 for _, _, d in pairs.values())
    table = task_table(view, ordered, "largest", "Matched tasks by size of the difference")
    return section(
        f"Different {metric_name(HEADLINE).label.lower()} on {changed} of "
        f"{counted(len(pairs), 'matched task')}",
        table,
    )


def appendix(view: RunView) -> Block:
    """Return every task, or the name of the CSV that holds them when there are too many."""
    tasks = list(view.tasks)
    finding = f"{counted(len(tasks), 'task')} in all"
    if not tasks:
        return section(finding, Empty("appendix", "No task was found."))
    if len(tasks) > MAX_APPENDIX:
        return section(
            finding, Empty("appendix", "All tasks are in appendix.csv beside this page.")
        )
    return section(finding, task_table(view, tasks, "appendix", "Every task, by suite and name"))


def task_table(view: RunView, tasks: Sequence[Task], key: str, caption: str) -> Table:
    """Return one row a task; a cell gives the compared configs one after the other."""
    configs = list(view.run.configs)[:2]
    metrics = _metrics(view)
    has_pair = len(configs) > 1
    has_difference = has_pair and view.withheld is None
    body = []
    for task in tasks:
        trials = view.tasks.get(task, [])
        row = [task[1], task[0] or "—"]
        if has_difference:
            pair = view.headline_pairs.get(task)
            row.append(metric_name(HEADLINE).difference(pair[2] if pair else None))
        for metric in metrics:
            values = [metric_name(metric).value(task_mean(trials, c, metric)) for c in configs]
            row.append(" → ".join(values))
        body.append(tuple(row))
    header = [
        "Task",
        "Suite",
        *([f"Δ {metric_name(HEADLINE).label.lower()}"] if has_difference else []),
    ]
    header += [metric_name(metric).titled for metric in metrics]
    arrow = f"; {' → '.join(visible(c, 40) for c in configs)}" if has_pair else ""
    return Table(
        key,
        caption + arrow,
        tuple(header),
        tuple(body),
        ("left", "left", *["right"] * (len(header) - 2)),
    )


def task_rows(view: RunView) -> list[dict[str, Any]]:
    """Return one row a task with plain numbers, a column for each metric and config."""
    found = []
    for task, trials in view.tasks.items():
        pair = view.headline_pairs.get(task)
        row: dict[str, Any] = {"benchmark": task[0], "task_name": task[1]}
        row[f"{HEADLINE}:difference"] = pair[2] if pair else None
        for metric in _metrics(view):
            for config in view.run.configs:
                row[f"{metric}:{config}"] = task_mean(trials, config, metric)
        found.append(row)
    return found


def _metrics(view: RunView) -> list[str]:
    return [m for m in SHOWN if "@" not in m or int(m.split("@")[1]) in view.run.k_values]
