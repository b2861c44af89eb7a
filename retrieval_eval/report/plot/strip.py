"""How the values of a column are distributed, by group: every value, or the shares up to it."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from retrieval_eval.report import style
from retrieval_eval.report.canvas import height, legend, light_grid, name, row_labels, whole_range
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
from retrieval_eval.values import DEFAULT_SEED

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

SPARSE = 40
"""Values of a group up to which their dots are larger."""


@figure("strip")
def strip(
    ax: Axes, frame: pd.DataFrame, x: str, by: str | Sequence[str] | None = "config_name"
) -> Words:
    """Draw every value as a dot over a box of the quartiles, one row a group.

    Parameters
    ----------
    frame, x, by
        As for ``plot.ecdf``.

    Returns
    -------
    Exhibit
        With ``data`` of one row a group: ``n``, quartiles and ``median``.

    Examples
    --------
    >>> import pandas as pd
    >>> import retrieval_eval as rev
    >>> trials = pd.DataFrame({"config_name": ["a", "a", "b"], "cost_usd": [1.0, 3.0, None]})
    >>> drawn = rev.plot.strip(trials, "cost_usd")
    >>> drawn.finding
    'Median cost (USD): 2.00 with a (n = 2)'
    """
    import seaborn as sns

    groups, marks = known_values(frame, x, by), marks_of(frame, by)
    title = heading(x)
    every = [value for values in groups.values() for value in values]
    show = formatter(x, [*every, 0.5])
    quarters = {label: _quartiles(values) for label, values in groups.items()}
    for i, (label, (low, middle, high)) in enumerate(quarters.items()):
        soft = marks[label].soft
        ax.barh(i, high - low, left=low, height=0.5, color=soft, edgecolor=style.LIGHT_GREY)
        ax.vlines(middle, i - 0.25, i + 0.25, color=style.TEXT, linewidth=1.6, zorder=3)
    with _same_jitter():
        for i, (label, values) in enumerate(groups.items()):
            sns.stripplot(
                x=values,
                y=[i] * len(values),
                color=marks[label].color,
                marker=marks[label].marker,
                orient="h",
                native_scale=True,
                size=3.5 if len(values) > SPARSE else 5,
                alpha=0.7,
                jitter=0.15,
                ax=ax,
            )
    light_grid(ax)
    whole_range(ax, every, is_share=is_share(x) and min(every) >= 0 and max(every) <= 1)
    height(ax, 0.8 + 0.5 * len(groups))
    row_labels(
        ax,
        list(groups),
        [f"{show(quarters[g][1])} (n = {len(values):,})" for g, values in groups.items()],
    )
    ax.set_xlabel(f"{title}: dots, quartiles and median")
    ax.set_ylabel("")
    data = as_frame(
        {
            "group": list(groups),
            "n": [len(values) for values in groups.values()],
            "lower_quartile": [low for low, _, _ in quarters.values()],
            "median": [middle for _, middle, _ in quarters.values()],
            "upper_quartile": [high for _, _, high in quarters.values()],
        }
    )
    parts = "; ".join(
        f"{name(label)} median {show(middle)}, quartiles {show(low)} and {show(high)}, "
        f"n = {len(groups[label]):,}"
        for label, (low, middle, high) in quarters.items()
    )
    n = sum(map(len, groups.values()))
    return Words(
        ranked(
            f"Median {inside(title)}",
            {g: (q[1], len(groups[g])) for g, q in quarters.items()},
            show,
        ),
        f"{title} of {known_of(n, len(frame))}: dots, quartiles and median.",
        data,
        f"Values of {inside(title)} by group: {parts}.",
        dict.fromkeys(("lower_quartile", "median", "upper_quartile"), show),
        {"group": heading(by)},
    )


def _quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    if len(values) == 1:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


@contextmanager
def _same_jitter() -> Iterator[None]:
    """Draw the same places each time; seaborn takes them from numpy's global generator."""
    import numpy as np

    before = np.random.get_state()  # noqa: NPY002
    np.random.seed(DEFAULT_SEED % 2**32)  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(before)  # noqa: NPY002


# --------------------------------------------------------------------------------------------------
# How the values of a column are distributed, by group.


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
