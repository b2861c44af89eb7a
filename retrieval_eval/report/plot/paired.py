"""The difference of every matched task, sorted."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Literal

from retrieval_eval.report import style
from retrieval_eval.report.canvas import light_grid
from retrieval_eval.report.headings import heading, inside
from retrieval_eval.report.names import metric_name
from retrieval_eval.report.registered import (
    NothingToShow,
    Words,
    as_frame,
    column,
    figure,
    numbers,
    side_of,
    texts,
)
from retrieval_eval.values import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

SOLID = 60
"""Bars up to which a gap between them can be seen."""


@figure("paired", height=3.1)
def paired(
    ax: Axes,
    frame: pd.DataFrame,
    metric: str = "file_recall",
    sort: Literal["difference", "task_name", ""] = "difference",
    unit: str = "matched task",
) -> Words:
    """Draw the difference of every matched task, with their mean as a dotted line.

    Parameters
    ----------
    frame
        A row a matched task and metric, such as ``study.pairs`` or ``run.pairs``: columns
        ``metric``, ``task_name``, ``baseline``, ``comparison`` and ``difference``. The sides are
        called by the columns ``baseline_config`` and ``comparison_config``, where it has them.
    metric
        The metric to draw.
    sort
        ``difference`` (largest first), the name of another column, or empty for the order of the
        frame.

    unit
        What a row of the frame is called, in the singular, such as ``query``.

    Returns
    -------
    Exhibit
        With ``data`` of one row a task, in the order drawn.

    Examples
    --------
    >>> import pandas as pd
    >>> import retrieval_eval as rev
    >>> sides = {"baseline": [0.2, 0.5], "comparison": [0.6, 0.4], "difference": [0.4, -0.1]}
    >>> pairs = pd.DataFrame({"task_name": ["a", "b"], "metric": "mrr", **sides})
    >>> rev.plot.paired(pairs, "mrr").finding
    'MRR is higher on 1, equal on 0 and lower on 1 of 2 matched tasks; mean difference +0.15'
    """
    known = metric_name(metric)
    own = frame.loc[[label == metric for label in column(frame, "metric")]]
    sides = zip(
        texts(own, "task_name"),
        numbers(own, "baseline"),
        numbers(own, "comparison"),
        numbers(own, "difference"),
        texts(own, sort) if sort else [""] * len(own),
        strict=True,
    )
    found = [
        (task, a, b, d, place)
        for task, a, b, d, place in sides
        if a is not None and b is not None and d is not None
    ]
    if not found:
        raise NothingToShow(f"No {unit} has {inside(known.label)} on both sides.")
    if sort == "difference":
        found.sort(key=lambda row: (-row[3], row[0]))
    elif sort:
        found.sort(key=lambda row: (row[4], row[0]))
    values = [row[3] for row in found]
    mean = statistics.fmean(values)
    up, down = style.MARKS[1], style.MARKS[0]
    for mark, chosen in (
        (up, [max(0.0, v) for v in values]),
        (down, [min(0.0, v) for v in values]),
    ):
        shown = [(i, v) for i, v in enumerate(chosen) if v]
        if len(values) <= SOLID:
            ax.bar([i for i, _ in shown], [v for _, v in shown], width=0.9, color=mark.color)
        else:
            # Neighbours of one height are one step: thousands of queries have few heights.
            starts = [i for i, v in enumerate(chosen) if i == 0 or v != chosen[i - 1]]
            edges = [i - 0.5 for i in (*starts, len(chosen))]
            ax.stairs([chosen[i] for i in starts], edges, fill=True, color=mark.color)
    ties = [i for i, v in enumerate(values) if v == 0]
    if len(values) <= SOLID:
        ax.plot(ties, [0] * len(ties), linestyle="", marker="|", color=style.GREY, markersize=6)
    ax.axhline(0, color=style.GREY, linewidth=0.8)
    ax.axhline(mean, color=style.TEXT, linewidth=1.2, linestyle=":")
    reach = (max(0.0, *values) - min(0.0, *values)) or 1.0
    ax.set_ylim(
        min(0.0, *values, -0.2 * reach) - 0.12 * reach,
        max(0.0, *values, 0.2 * reach) + 0.12 * reach,
    )
    ax.set_xlim(-0.8, len(values) - 0.2)
    light_grid(ax, "y")
    tasks = counted(len(values), unit)
    ax.set_xticks([])
    order = f", sorted by {inside(heading(sort))}" if sort else ""
    ax.set_xlabel(f"{tasks}{order} (dotted: mean {known.difference(mean)})")
    ax.set_ylabel(f"Δ {known.titled}")
    higher, lower = sum(v > 0 for v in values), sum(v < 0 for v in values)
    first, second = side_of(frame, "baseline"), side_of(frame, "comparison")
    for text, place, align, mark in (
        (f"{second} higher: {higher}", (0.99, 0.97), ("right", "top"), up),
        (f"{first} higher: {lower}", (0.01, 0.03), ("left", "bottom"), down),
    ):
        ax.annotate(
            text,
            place,
            xycoords="axes fraction",
            ha=align[0],
            va=align[1],
            color=mark.color,
            weight="bold",
        )
    counts = (
        f"higher on {higher}, equal on {len(ties)} and lower "
        f"on {lower} of {tasks}; mean difference {known.difference(mean)}"
    )
    averaged = "; repeats are averaged inside a task" if unit == "matched task" else ""
    names = ("task_name", "baseline", "comparison", "difference")
    data = as_frame({label: [row[i] for row in found] for i, label in enumerate(names)})
    return Words(
        f"{known.label} is {counts}",
        f"Difference in {inside(known.label)} of {tasks}, {second} minus {first}{averaged}.",
        data,
        f"Bars of the difference in {inside(known.label)} by {unit}, {second} minus "
        f"{first}: {counts}.",
        {
            "baseline": known.value,
            "comparison": known.value,
            "difference": known.difference,
        },
        {
            "task_name": heading("task_name") if unit == "matched task" else unit.capitalize(),
            "baseline": first,
            "comparison": second,
        },
    )
