"""The difference of every matched task, sorted."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from retrieval_eval.report import style
from retrieval_eval.report.figures.canvas import light_grid
from retrieval_eval.report.gate_labels import inside
from retrieval_eval.report.names import metric_name
from retrieval_eval.report.registered import NothingToShow, Words, column, figure, numbers
from retrieval_eval.values import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@figure("paired", height=3.1)
def paired(ax: Axes, frame: pd.DataFrame, metric: str = "file_recall") -> Words:
    """Draw the difference of every matched task, largest first, with their mean.

    Parameters
    ----------
    frame
        A row a matched task and metric, such as ``study.pairs`` or ``run.pairs``: columns
        ``metric``, ``task_name``, ``baseline``, ``comparison`` and ``difference``.
    metric
        The metric to draw.

    Examples
    --------
    >>> import pandas as pd
    >>> import retrieval_eval as rev
    >>> sides = {"baseline": [0.2, 0.5], "comparison": [0.6, 0.4], "difference": [0.4, -0.1]}
    >>> pairs = pd.DataFrame({"task_name": ["a", "b"], "metric": "mrr", **sides})
    >>> rev.plot.paired(pairs, "mrr").finding
    'MRR is higher on 1, equal on 0 and lower on 1 of 2 matched tasks; mean difference +0.15'
    """
    import pandas as pd

    known = metric_name(metric)
    sides = zip(
        column(frame, "metric"),
        column(frame, "task_name"),
        numbers(frame, "baseline"),
        numbers(frame, "comparison"),
        numbers(frame, "difference"),
        strict=True,
    )
    rows = [
        (str(task), a, b, d)
        for name, task, a, b, d in sides
        if name == metric and a is not None and b is not None and d is not None
    ]
    if not rows:
        raise NothingToShow(f"No matched task has {inside(known.label)} on both sides.")
    ordered = sorted(rows, key=lambda row: (-row[3], row[0]))
    values = [d for *_, d in ordered]
    mean = statistics.fmean(values)
    for mark, chosen in (
        (style.MARKS[1], [max(0.0, v) for v in values]),
        (style.MARKS[0], [min(0.0, v) for v in values]),
    ):
        ax.bar(range(len(values)), chosen, width=0.9, color=mark.color)
    ax.axhline(0, color=style.GREY, linewidth=0.8)
    ax.axhline(mean, color=style.TEXT, linewidth=1.2, linestyle=":")
    light_grid(ax, "y")
    tasks = counted(len(values), "matched task")
    ax.set_xticks([])
    ax.set_xlabel(f"{tasks}, sorted by difference (dotted: mean)")
    ax.set_ylabel(f"Δ {known.titled}")
    counts = (
        f"higher on {sum(v > 0 for v in values)}, equal on {sum(v == 0 for v in values)} and lower "
        f"on {sum(v < 0 for v in values)} of {tasks}; mean difference {known.difference(mean)}"
    )
    names = ("task_name", "baseline", "comparison", "difference")
    data = pd.DataFrame(
        {
            name: pd.Series(list(cells), dtype="float64" if i else "object")
            for i, (name, cells) in enumerate(zip(names, zip(*ordered, strict=True), strict=True))
        }
    )
    return Words(
        f"{known.label} is {counts}",
        f"Difference in {inside(known.label)} of {tasks}, comparison minus baseline; repeats are "
        "averaged inside a task.",
        data,
        f"Bars of the difference in {inside(known.label)} by matched task: {counts}.",
    )
