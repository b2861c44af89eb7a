"""The tables of the page of a run: leading numbers, its tasks, or its trials where they are few."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from retrieval_eval.agents.study.trials import known_values
from retrieval_eval.agents.study.verdict import deciding_estimate
from retrieval_eval.escape import visible
from retrieval_eval.report import style
from retrieval_eval.report.displays import (
    LEADING,
    is_small,
    label_of_metric,
    means_of,
    value_text,
)
from retrieval_eval.report.exhibits import Link, Strong
from retrieval_eval.report.headings import is_missing
from retrieval_eval.report.names import (
    MISSING,
    leading,
    leading_interval,
    metric_name,
    of,
    plain_rows,
    side_of,
)
from retrieval_eval.report.registered import (
    NothingToShow,
    Words,
    as_frame,
    column,
    need_rows,
    numbers,
    tabular,
    texts,
)
from retrieval_eval.report.words import alpha_of, interval_name
from retrieval_eval.values import counted

if TYPE_CHECKING:
    import pandas as pd

    from retrieval_eval.agents.study.compare import Comparison

SIDES: Final = {"better": "▲ better", "worse": "▼ worse", "unclear": "not clear"}
TASK_METRICS: Final = ("file_recall", "reward", "cost_usd", "elapsed_seconds", "ttfr_seconds")
HEADS: Final = {
    "file_recall": "Recall",
    "cost_usd": "Cost",
    "elapsed_seconds": "Time",
    "ttfr_seconds": "First hit",
}
_Task = tuple[str, str]
_TASK: Final = ("benchmark", "task_name")


@tabular("headline", width="narrow", of="study")
def headline(study: Comparison, metrics: Sequence[str] = LEADING) -> Words:
    """Show a row a metric: both means, difference, interval, and what it amounts to.

    Where no difference may be shown, the means of each configuration by itself.

    Parameters
    ----------
    study
        What :func:`retrieval_eval.compare` returned.
    metrics
        The metrics, in this order; that of the verdict is always shown.
    """
    record = study.record
    if is_small(study):
        raise NothingToShow(study.why_not, is_expected=True)
    if study.why_not:
        return _by_itself(study, metrics)
    chosen = dict.fromkeys((record.verdict_metric, *metrics))
    shown = {
        metric: block
        for metric in chosen
        if (block := record.metrics.get(metric)) is not None
        and deciding_estimate(block).estimate is not None
    }
    if not shown:
        raise NothingToShow("No metric has a value on both sides of enough tasks.")
    alpha = alpha_of(record)
    body, sides = [], []
    for metric, block in shown.items():
        before, after = (value_text(metric, value) for value in means_of(block))
        ends = leading_interval(metric, block)
        sides.append(side_of(block, alpha))
        change = leading(metric, block, has_unit=True)
        body.append((label_of_metric(metric), before, after, change, ends, SIDES[sides[-1]]))
    ns = sorted({deciding_estimate(block).n for block in shown.values()})
    n = counted(ns[-1], "matched task")
    n = n if len(ns) == 1 else f"{ns[0]} to {n}"
    fields = ("estimate", "ci_low", "ci_high", "mean_baseline", "mean_comparison", "n_pairs")
    data: dict[str, Sequence[Any]] = {"metric": list(shown), "side": sides}
    return Words(
        "",
        f"Means over {n}; cost in USD, times in s",
        as_frame(data | {f: [getattr(b, f) for b in shown.values()] for f in fields}),
        cells=(
            ("Metric", "○", "■", "Difference", interval_name(record), "■ is"),
            tuple(body),
        ),
        align=("left", "right", "right", "right", "right", "left"),
        notes=(_note(study, alpha),),
        kind="numbers",
    )


def _note(study: Comparison, alpha: float) -> str:
    chosen = label_of_metric(study.record.verdict_metric).lower()
    return (
        f"× is a ratio of geometric means. Better and worse need interval and test at {alpha:g}; "
        f"only {chosen} was chosen in advance."
    )


def _by_itself(study: Comparison, metrics: Sequence[str]) -> Words:
    own = {arm: [t for t in study.trials if t.config_name == arm] for arm in study.arms}
    body, rows = [], []
    for metric in metrics:
        cells = []
        for arm, trials in own.items():
            known = known_values(trials, metric)
            mean = fmean(known) if known else None
            rows.append((metric, arm, mean, len(known), len(trials)))
            cells.append(f"{value_text(metric, mean)} ({of(len(known), len(trials))})")
        if any(row[2] is not None for row in rows[-len(own) :]):
            body.append((label_of_metric(metric), *cells))
    if not body:
        raise NothingToShow("No trial has a value of a metric.")
    names = ("metric", "config_name", "mean", "n", "rows")
    return Words(
        "",
        "Means of each configuration by itself (trials with a value of all)",
        as_frame(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))),
        cells=(("Metric", *style.GLYPHS[: len(own)]), tuple(body)),
        kind="numbers",
    )


@tabular("cards")
def cards(frame: pd.DataFrame, truth: pd.DataFrame | None = None, most: int = 100) -> Words:
    """Show a trial a card: what it found of the expected files, its reward, cost and time.

    Parameters
    ----------
    frame
        ``run.trials``, or rows of it.
    truth
        ``run.ground_truth``: with it every file is a mark, ● found, ◐ possible, ○ missed.
    most
        Of more trials nothing is shown.

    Examples
    --------
    >>> import pandas as pd
    >>> import retrieval_eval as rev
    >>> row = {"config_name": "a", "task_name": "t", "trial_name": "t1", "file_recall": 0.5}
    >>> trials = pd.DataFrame([{**row, "n_overlap": 1, "n_ground_truth": 2, "reward": 1.0}])
    >>> rev.table.cards(trials).block().exhibits[0].rows[0][:3]
    ('a', 't', '1 of 2')
    """
    need_rows(frame)
    if len(frame) > most:
        raise NothingToShow("Cards are for a few trials.", is_expected=True)
    if truth is not None and truth.empty:
        raise NothingToShow("No task states what was to be found.", is_expected=True)
    files: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    if truth is not None:
        keys = zip(texts(truth, "config_name"), texts(truth, "trial_name"), strict=True)
        flags = zip(column(truth, "is_retrieved"), column(truth, "is_possible"), strict=True)
        for key, (is_found, is_possible) in zip(keys, flags, strict=True):
            files[key].append("●" if is_found else "◐" if is_possible else "○")
    body, data = [], []
    for row in plain_rows(frame):
        config, task = str(row.get("config_name")), str(row.get("task_name"))
        marks = sorted(files[config, str(row.get("trial_name"))], key="●◐○".index)
        possible = marks.count("◐")
        total, hits = row.get("n_ground_truth"), row.get("n_overlap")
        said = MISSING if row.get("file_recall") is None else of(hits, total)
        said += f", {possible} possible" if possible else ""
        first = row.get("ttfr_step")
        step = "never" if row.get("never_hit") else MISSING if first is None else f"step {first}"
        cells = [value_text(m, row.get(m)) for m in TASK_METRICS[1:]]
        page = row.get("page")
        head = Link(visible(config, 60), str(page)) if page else visible(config, 60)
        name = visible(task, 80)
        reward, cost, time, _ = cells
        n = metric_name("n_retrieved").value(row.get("n_retrieved")).removesuffix(".00")
        body.append((head, name, said, "".join(marks) or MISSING, reward, cost, time, step, n))
        data.append((config, task, row.get("file_recall"), row.get("reward")))
    heads = ("config_name", "task_name", "file_recall", "reward")
    scored = [row[2] for row in data if row[2] is not None]
    return Words(
        "",
        f"{counted(len(body), 'trial')}, {len(scored)} scored. Of each expected file: ● found, "
        "◐ possible, ○ missed; cost in USD, time in s",
        as_frame(dict(zip(heads, map(list, zip(*data, strict=True)), strict=True))),
        cells=(
            (
                *("Configuration", "Task", "Expected files found", "Files", "Reward"),
                *("Cost", "Time", "First hit", "Retrieved"),
            ),
            tuple(body),
        ),
        align=("left", "left", "left", "left", *["right"] * 5),
        kind="cards",
    )


@tabular("tasks", of="study")
def tasks(
    study: Comparison,
    trials: pd.DataFrame,
    columns: Sequence[str] = TASK_METRICS,
    top: int = 30,
) -> Words:
    """Show a row a matched task and a column a metric and side, the largest losses first.

    Where no difference may be shown, a row a trial, the lowest file recall first.

    Parameters
    ----------
    study
        What :func:`retrieval_eval.compare` returned.
    trials
        ``run.trials``: where it has a column ``page``, what was found leads to the trial.
    columns
        Columns of numbers; those that the frame does not have are left out.
    top
        Rows shown.
    """
    if is_small(study):
        raise NothingToShow(study.why_not, is_expected=True)
    metrics = [name for name in columns if name in trials.columns]
    heads = [HEADS.get(metric, label_of_metric(metric)) for metric in metrics]
    if study.why_not:
        return _single(study, trials, metrics, heads, top)
    lead = study.record.verdict_metric
    size = {
        (pair.benchmark, pair.task_name): change
        for pair in study.record.pairs
        if (change := pair.metrics[lead].difference) is not None
    }
    is_lower = study.record.metrics[lead].direction == "lower_is_better"
    order = sorted(size, key=lambda task: (-size[task] if is_lower else size[task], task))
    means = {
        (row["benchmark"], row["task_name"]): row
        for row in plain_rows(task_means(trials, metrics, study.arms))
    }
    order = [task for task in order if task in means]
    if not order:
        raise NothingToShow("No matched task is among these trials.")
    pages = _pages(trials, study.arms)
    known, body = metric_name(lead), []
    for task in order[:top]:
        text = known.difference(size[task]) if size[task] else "0"
        is_loss = size[task] > 0 if is_lower else size[task] < 0
        cells = [visible(task[1], 120), Strong(text) if is_loss else text]
        for metric in metrics:
            for arm in study.arms:
                value = value_text(metric, means[task][f"{metric}:{arm}"])
                page = pages.get((task, arm), "") if metric == metrics[0] else ""
                cells.append(Link(value, page) if page else value)
        body.append((*cells, task[0] or MISSING))
    first, second = (visible(arm, 48) for arm in study.arms)
    sides = [f"{head} {mark}" for head in heads for mark in style.GLYPHS[:2]]
    moved = f"Δ {HEADS.get(lead, known.label).lower()}"
    losses = sum(size[t] > 0 if is_lower else size[t] < 0 for t in order)
    data = {name: [task[i] for task in order] for i, name in enumerate(_TASK)}
    names = [f"{metric}:{arm}" for metric in metrics for arm in study.arms]
    return Words(
        f"{counted(losses, 'task')} of {len(order)} lost {known.label.lower()} with ■",
        f"Matched tasks, largest losses first; ○ {first}, ■ {second}; cost in USD, times in s",
        as_frame(
            data
            | {f"{lead}:difference": [size[task] for task in order]}
            | {name: [means[task][name] for task in order] for name in names}
        ),
        cells=(("Task", moved, *sides, "Suite"), tuple(body)),
        align=("left", *["right"] * (1 + len(sides)), "left"),
        notes=_hidden(len(order) - len(body), "task"),
    )


def _single(
    study: Comparison,
    trials: pd.DataFrame,
    metrics: Sequence[str],
    heads: Sequence[str],
    top: int,
) -> Words:
    rows = [row for row in plain_rows(trials) if row.get("config_name") in study.arms]
    if not rows:
        raise NothingToShow("There is no trial.")
    first = metrics[0] if metrics else "file_recall"
    known = [row for row in rows if row.get(first) is not None]
    rows = sorted(known, key=lambda r: (r[first], str(r["task_name"]))) or rows
    body = []
    for row in rows[:top]:
        page, task = row.get("page"), visible(str(row["task_name"]), 120)
        mark = style.GLYPHS[study.arms.index(row["config_name"])]
        cells = [value_text(metric, row.get(metric)) for metric in metrics]
        head = Link(task, str(page)) if page else task
        body.append((head, mark, *cells, str(row["benchmark"] or MISSING)))
    names = ["task_name", "config_name", *metrics]
    return Words(
        f"{counted(len(known), 'trial')} could be scored",
        "Trials, lowest recall first; cost in USD, times in s",
        as_frame({name: [row.get(name) for row in rows] for name in names}),
        cells=(("Task", "Of", *heads, "Suite"), tuple(body)),
        align=("left", "left", *["right"] * len(heads), "left"),
        notes=_hidden(len(rows) - len(body), "trial"),
    )


def _hidden(n: int, noun: str) -> tuple[str, ...]:
    return (f"{counted(n, f'further {noun}')} in the tables beside this page.",) if n > 0 else ()


def task_means(
    trials: pd.DataFrame, metrics: Sequence[str], configs: Sequence[str]
) -> pd.DataFrame:
    """Return one row a task with the mean of every metric and configuration, as ``mrr:config``."""
    # In plain objects: names that are no valid Unicode cannot be an index of pandas.
    own = list(zip(_tasks(trials), column(trials, "config_name"), strict=True))
    rows: dict[_Task, dict[str, Any]] = {task: {} for task in sorted({task for task, _ in own})}
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


def _pages(trials: pd.DataFrame, configs: Sequence[str]) -> Mapping[tuple[_Task, Any], str]:
    """Return the page of the first trial of each task and configuration that has one."""
    if "page" not in trials.columns:
        return {}
    found: dict[tuple[_Task, Any], str] = {}
    rows = zip(_tasks(trials), column(trials, "config_name"), column(trials, "page"), strict=True)
    for task, config, page in rows:
        if config in configs and not is_missing(page) and page:
            found.setdefault((task, config), page)
    return found
