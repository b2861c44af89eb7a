"""Means of every task side by side for the configurations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from retrieval_eval.escape import visible
from retrieval_eval.report.exhibits import Link, Links
from retrieval_eval.report.headings import inside, is_missing
from retrieval_eval.report.leading import plain_rows
from retrieval_eval.report.names import metric_name
from retrieval_eval.report.registered import (
    NothingToShow,
    Words,
    as_frame,
    column,
    numbers,
    refuse_withheld,
    tabular,
)
from retrieval_eval.values import counted

if TYPE_CHECKING:
    import pandas as pd

_TASK: Final = ["benchmark", "task_name"]
_Task = tuple[str, str]


@tabular("tasks")
def tasks(
    frame: pd.DataFrame,
    columns: Sequence[str],
    configs: Sequence[str],
    pairs: pd.DataFrame | None = None,
    top: int = 500,
) -> Words:
    """Show one row a task and one column a metric, with the means of the configurations in it.

    Parameters
    ----------
    frame
        ``run.trials``, or rows of it. Where it has a column ``page``, a task leads to its
        first trial, and the values of the first column to a trial of each configuration.
    columns
        Columns of numbers; those that the frame does not have are left out.
    configs
        The configurations, in the order in which their means are printed.
    pairs
        Matched tasks of one metric, as rows of ``rev.compare(…).pairs``: then only they are shown,
        the largest difference first.
    top
        Rows shown.

    Examples
    --------
    >>> import pandas as pd
    >>> import retrieval_eval as rev
    >>> trials = {"benchmark": "s", "task_name": "t", "config_name": ["a", "b"], "mrr": [0.5, 1.0]}
    >>> rev.table.tasks(pd.DataFrame(trials), ["mrr"], ["a", "b"]).block().exhibits[0].rows
    (('t', 's', '0.50 → 1.00'),)
    """
    if pairs is not None:
        refuse_withheld(pairs)
    metrics = [name for name in columns if name in frame.columns]
    chosen = [config for config in configs if config]
    found = task_means(frame, metrics, chosen, pairs)
    if found.empty:
        raise NothingToShow("No task is matched." if pairs is not None else "There is no task.")
    lead = [name for name in found.columns if str(name).endswith(":difference")]
    pages = _pages(frame, chosen)
    body = []
    for row in plain_rows(found.head(top)):
        task = (row["benchmark"], row["task_name"])
        name = visible(str(row["task_name"]), 120)
        own = [pages[task, config] for config in chosen if (task, config) in pages]
        cells = [Link(name, own[0]) if own else name, str(row["benchmark"] or "—")]
        cells += [metric_name(str(column).split(":")[0]).difference(row[column]) for column in lead]
        for metric in metrics:
            sides = [metric_name(metric).value(row[f"{metric}:{config}"]) for config in chosen]
            if metric == metrics[0]:
                sides = [
                    Link(value, pages.get((task, config), ""))
                    for value, config in zip(sides, chosen, strict=True)
                ]
            cells.append(Links.joined(" → ", sides))
        body.append(tuple(cells))
    heads = [f"Δ {metric_name(str(column).split(':')[0]).label.lower()}" for column in lead]
    header = ("Task", "Suite", *heads, *(metric_name(m).titled for m in metrics))
    arrow = f"; {' → '.join(visible(c, 40) for c in chosen)}" if len(chosen) > 1 else ""
    hidden = len(found) - len(body)
    notes = []
    if pages and metrics and len(chosen) > 1:
        first = inside(metric_name(metrics[0]).label)
        notes.append(
            f"A task leads to its first trial, the values of {first} to one of each configuration."
        )
    if hidden > 0:
        notes.append(f"{counted(hidden, 'further task')} in appendix.csv.")
    n_changed = int((found[lead[0]] != 0).sum()) if lead else 0
    tasks = counted(len(found), "matched task" if lead else "task")
    label = metric_name(str(lead[0]).split(":")[0]).label.lower() if lead else ""
    return Words(
        f"Different {label} on {n_changed} of {tasks}" if lead else tasks,
        ("Matched tasks by size of the difference" if lead else "Means of every task") + arrow,
        found,
        cells=(header, tuple(body)),
        align=("left", "left", *["right"] * (len(header) - 2)),
        notes=tuple(notes),
    )


def task_means(
    trials: pd.DataFrame,
    metrics: Sequence[str],
    configs: Sequence[str],
    pairs: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Return one row a task with the mean of every metric and configuration, as ``mrr:config``.

    With ``pairs`` of a metric only matched tasks are rows, with a column ``metric:difference``,
    the largest first.
    """
    # In plain objects: names that are no valid Unicode cannot be an index of pandas.
    own = list(zip(_tasks(trials), column(trials, "config_name"), strict=True))
    rows: dict[_Task, dict[str, Any]] = {task: {} for task in sorted({task for task, _ in own})}
    change = f"{column(pairs, 'metric')[0]}:difference" if pairs is not None and len(pairs) else ""
    if pairs is not None:
        found = zip(_tasks(pairs), numbers(pairs, "difference"), strict=True)
        size = {task: value for task, value in found if value is not None}
        rows = {t: {change: size[t]} for t in sorted(size, key=lambda t: (-abs(size[t]), t))}
    for metric in metrics:
        values: defaultdict[tuple[_Task, Any], list[float]] = defaultdict(list)
        for key, value in zip(own, numbers(trials, metric), strict=True):
            if value is not None:
                values[key].append(value)
        for task, row in rows.items():
            for config in configs:
                known = values.get((task, config))
                row[f"{metric}:{config}"] = fmean(known) if known else None
    names = [f"{metric}:{config}" for metric in metrics for config in configs]
    names += [change] if change else []
    columns: dict[str, list[Any]] = {
        name: [task[i] for task in rows] for i, name in enumerate(_TASK)
    }
    return as_frame(columns | {name: [row[name] for row in rows.values()] for name in names})


def _tasks(frame: pd.DataFrame) -> list[_Task]:
    suites, names = (column(frame, name) for name in _TASK)
    return [
        ("" if is_missing(suite) else str(suite), "" if is_missing(name) else str(name))
        for suite, name in zip(suites, names, strict=True)
    ]


def _pages(trials: pd.DataFrame, configs: Sequence[str]) -> dict[tuple[_Task, Any], str]:
    """Return the page of the first trial of each task and configuration that has one."""
    if "page" not in trials.columns:
        return {}
    found: dict[tuple[_Task, Any], str] = {}
    rows = zip(_tasks(trials), column(trials, "config_name"), column(trials, "page"), strict=True)
    for task, config, page in rows:
        if config in configs and not is_missing(page) and page:
            found.setdefault((task, config), page)
    return found
