"""How the values of a column are distributed, by group."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

from retrieval_eval.report.canvas import legend, light_grid, name, whole_range
from retrieval_eval.report.headings import formatter, heading, inside, is_share
from retrieval_eval.report.registered import (
    Words,
    as_frame,
    figure,
    known_of,
    known_values,
    marks_of,
    ranked,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@figure("ecdf")
def ecdf(
    ax: Axes, frame: pd.DataFrame, x: str, by: str | Sequence[str] | None = "config_name"
) -> Words:
    """Draw the share of rows with at most a value, one stair a group.

    Parameters
    ----------
    frame
        A row an observation, such as ``run.trials``.
    x
        The column of numbers; rows without one are left out and counted.
    by
        The column (or columns) that splits the rows into groups; None for one group. Groups keep
        the order in which they appear, or that of a categorical column.

    Returns
    -------
    Exhibit
        With ``data`` of one row a group: ``n``, ``median``, ``mean``, ``min``, ``max`` and the
        shares of the rows at 0 and at 1.

    Examples
    --------
    >>> import pandas as pd
    >>> import retrieval_eval as rev
    >>> trials = pd.DataFrame({"config_name": ["a", "a", "b"], "file_recall": [0.0, 0.5, 1.0]})
    >>> rev.plot.ecdf(trials, "file_recall").finding
    'Median file recall: 1.00 with b (n = 1), 0.25 with a (n = 2)'
    """
    import seaborn as sns

    groups, marks = known_values(frame, x, by), marks_of(frame, by)
    every = [value for values in groups.values() for value in values]
    title = heading(x)
    what = inside(title)
    show = formatter(x, [*every, 0.5])
    for label, values in groups.items():
        mark = marks[label]
        sns.ecdfplot(x=values, ax=ax, color=mark.color, linestyle=mark.line)
    light_grid(ax)
    whole_range(ax, every, is_share=is_share(x) and min(every) >= 0 and max(every) <= 1)
    ax.set_xlabel(title)
    ax.set_ylabel("Share of rows with at most this")
    legend(ax, ax.get_lines(), [f"{name(g)} (n = {len(v):,})" for g, v in groups.items()])
    medians = {label: (statistics.median(v), len(v)) for label, v in groups.items()}
    data = as_frame(
        {
            "group": list(groups),
            "n": [len(values) for values in groups.values()],
            "median": [median for median, _ in medians.values()],
            "mean": [statistics.fmean(values) for values in groups.values()],
            "min": [min(values) for values in groups.values()],
            "max": [max(values) for values in groups.values()],
            "share_at_0": [values.count(0) / len(values) for values in groups.values()],
            "share_at_1": [values.count(1) / len(values) for values in groups.values()],
        }
    )
    parts = "; ".join(f"{name(g)} median {show(m)}, n = {n:,}" for g, (m, n) in medians.items())
    n = sum(map(len, groups.values()))
    return Words(
        ranked(f"Median {what}", medians, show),
        f"Distribution of {what} over {known_of(n, len(frame))}.",
        data,
        f"Cumulative distribution of {what}: {parts}.",
        dict.fromkeys(("median", "mean", "min", "max"), show),
        {"group": heading(by)},
    )
