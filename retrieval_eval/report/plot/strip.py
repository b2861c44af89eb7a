"""Every value of a column as a dot, with box and median, by group."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from retrieval_eval.report import findings, style
from retrieval_eval.report.figures.canvas import light_grid, name
from retrieval_eval.report.gate_labels import inside
from retrieval_eval.report.names import metric_name
from retrieval_eval.report.registered import Words, figure, known_values, marked
from retrieval_eval.values import DEFAULT_SEED

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@figure("strip")
def strip(
    ax: Axes, frame: pd.DataFrame, x: str, by: str | Sequence[str] | None = "config_name"
) -> Words:
    """Draw every value as a dot over a box of the quartiles, one row a group.

    Parameters
    ----------
    frame, x, by
        As for ``plot.ecdf``.

    Examples
    --------
    >>> import pandas as pd
    >>> import retrieval_eval as rev
    >>> trials = pd.DataFrame({"config_name": ["a", "a", "b"], "cost_usd": [1.0, 3.0, None]})
    >>> drawn = rev.plot.strip(trials, "cost_usd")
    >>> drawn.finding, drawn.caption
    ('Median cost: 2.00 with a (n = 2)', 'Cost (USD) of 2 of 3 rows: dots, quartiles and median.')
    """
    import pandas as pd
    import seaborn as sns

    known = metric_name(x)
    groups = known_values(frame, x, by)
    quarters = {label: _quartiles(values) for label, values in groups.items()}
    for i, label, mark in marked(groups):
        low, middle, high = quarters[label]
        ax.barh(i, high - low, left=low, height=0.5, color=mark.soft, edgecolor=style.LIGHT_GREY)
        ax.vlines(middle, i - 0.25, i + 0.25, color=style.TEXT, linewidth=1.6)
    with _same_jitter():
        sns.stripplot(
            x=[value for values in groups.values() for value in values],
            y=[i for i, label, _ in marked(groups) for _ in groups[label]],
            hue=[i for i, label, _ in marked(groups) for _ in groups[label]],
            palette=[mark.color for _, _, mark in marked(groups)],
            orient="h",
            native_scale=True,
            legend=False,
            size=3.5,
            jitter=0.15,
            ax=ax,
        )
    light_grid(ax)
    ax.set_yticks(range(len(groups)), [name(label) for label in groups])
    ax.set_xlabel(known.titled)
    ax.set_ylabel("")
    ax.invert_yaxis()
    ax.tick_params(axis="y", length=0, labelcolor=style.TEXT)
    data = pd.DataFrame(
        {
            "group": pd.Series(list(groups), dtype="object"),
            "n": [len(values) for values in groups.values()],
            "lower_quartile": [low for low, _, _ in quarters.values()],
            "median": [middle for _, middle, _ in quarters.values()],
            "upper_quartile": [high for _, _, high in quarters.values()],
        }
    )
    parts = "; ".join(
        f"{name(label)} median {known.value(middle)}, quartiles {known.value(low)} and "
        f"{known.value(high)}, n = {len(groups[label])}"
        for label, (low, middle, high) in quarters.items()
    )
    n = sum(map(len, groups.values()))
    ranked = [(label, q[1], len(groups[label])) for label, q in quarters.items()]
    return Words(
        findings.ranked(f"Median {inside(known.label)}", ranked),
        f"{known.titled} of {n:,} of {len(frame):,} rows: dots, quartiles and median.",
        data,
        f"Values of {inside(known.label)} by group: {parts}.",
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
