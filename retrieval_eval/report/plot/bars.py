"""A value or mean of each category as a bar."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

from retrieval_eval.report import style
from retrieval_eval.report.canvas import height, light_grid, name, row_labels
from retrieval_eval.report.headings import formatter, heading, inside
from retrieval_eval.report.registered import (
    Words,
    as_frame,
    figure,
    known_of,
    known_values,
    listed,
    marks_of,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@figure("bars")
def bars(ax: Axes, frame: pd.DataFrame, rows: str | Sequence[str], values: str) -> Words:
    """Draw the value of every category as a bar from 0; of several rows their mean.

    Parameters
    ----------
    frame
        A row a category, or several, of which the mean is drawn.
    rows
        The column (or columns) that names the categories.
    values
        The column of numbers; rows without one are left out and counted.

    Returns
    -------
    Exhibit
        With ``data`` of one row a category: ``group``, ``n`` and ``mean``.

    Examples
    --------
    >>> import pandas as pd
    >>> import retrieval_eval as rev
    >>> trials = pd.DataFrame({"benchmark": ["s", "s", "t"], "mrr": [0.0, 0.5, 1.0]})
    >>> drawn = rev.plot.bars(trials, "benchmark", "mrr")
    >>> drawn.finding
    'Mean MRR from 0.25 (s, n = 2) to 1.00 (t, n = 1)'
    >>> drawn.data.to_dict("list")
    {'group': ['s', 't'], 'n': [2, 1], 'mean': [0.25, 1.0]}
    """
    groups, marks = known_values(frame, values, rows), marks_of(frame, rows)
    is_mean = any(len(given) > 1 for given in groups.values())
    means = {label: statistics.fmean(given) for label, given in groups.items()}
    show = formatter(values, means.values())
    title = f"Mean {inside(heading(values))}" if is_mean else heading(values)
    is_config = rows == "config_name"
    for i, (label, mean) in enumerate(means.items()):
        mark = marks[label] if is_config else style.MARKS[0]
        ax.barh(i, mean, color=mark.color, hatch=mark.hatch, edgecolor=style.PAPER, height=0.7)
    ax.axvline(0, color=style.GREY, linewidth=0.8)
    light_grid(ax)
    height(ax, 0.8 + 0.3 * len(groups))
    ns = {label: f" (n = {len(given):,})" if is_mean else "" for label, given in groups.items()}
    row_labels(ax, list(groups), [f"{show(mean)}{ns[label]}" for label, mean in means.items()])
    ax.set_xlabel(title)
    data = as_frame(
        {
            "group": list(groups),
            "n": [len(given) for given in groups.values()],
            "mean": list(means.values()),
        }
    )
    parts = [f"{name(label)} {show(mean)}{ns[label]}" for label, mean in means.items()]
    return Words(
        _finding(title, [(mean, label, len(groups[label])) for label, mean in means.items()], show),
        f"{title} over {known_of(sum(map(len, groups.values())), len(frame))}.",
        data,
        f"Bars of {inside(title)}: {listed(parts, 12, '; ')}.",
        {"mean": show},
        {"group": heading(rows), "mean": title},
    )


def _finding(title: str, found: Sequence[tuple[float, str, int]], show: object) -> str:
    assert callable(show)

    def one(value: float, label: str, n: int) -> str:
        who = f"{name(label, 36)}, " if label != "all" else ""
        return f"{show(value)} ({who}n = {n:,})"

    low, high = min(found), max(found)
    if len(found) == 1:
        return f"{title}: {one(*low)}"
    return f"{title} from {one(*low)} to {one(*high)}"
