"""Every value of a column as a dot, with box and median, by group."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from retrieval_eval.report import style
from retrieval_eval.report.canvas import height, light_grid, name, row_labels, whole_range
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
