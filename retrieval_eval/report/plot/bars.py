"""The mean of a column, by group."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

from retrieval_eval.report import findings, style
from retrieval_eval.report.figures.canvas import beside, light_grid, name
from retrieval_eval.report.gate_labels import inside
from retrieval_eval.report.names import metric_name
from retrieval_eval.report.registered import Words, figure, known_values, marked

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@figure("bars")
def bars(
    ax: Axes, frame: pd.DataFrame, x: str, by: str | Sequence[str] | None = "config_name"
) -> Words:
    """Draw the mean of every group as a bar from 0, with its number of rows.

    Parameters
    ----------
    frame, x, by
        As for ``plot.ecdf``.

    Examples
    --------
    >>> import pandas as pd
    >>> import retrieval_eval as rev
    >>> trials = pd.DataFrame({"benchmark": ["s", "s", "t"], "mrr": [0.0, 0.5, 1.0]})
    >>> rev.plot.bars(trials, "mrr", by="benchmark").data.to_dict("list")
    {'group': ['s', 't'], 'n': [2, 1], 'mean': [0.25, 1.0]}
    """
    import pandas as pd

    known = metric_name(x)
    groups = known_values(frame, x, by)
    means = {label: statistics.fmean(values) for label, values in groups.items()}
    for i, label, mark in marked(groups):
        ax.barh(i, means[label], color=mark.color, hatch=mark.hatch, edgecolor="white", height=0.7)
        beside(ax, i, f"{known.value(means[label])} (n = {len(groups[label])})")
    ax.axvline(0, color=style.GREY, linewidth=0.8)
    light_grid(ax)
    ax.set_yticks(range(len(groups)), [name(label) for label in groups])
    ax.invert_yaxis()
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel(f"Mean {known.titled}")
    data = pd.DataFrame(
        {
            "group": pd.Series(list(groups), dtype="object"),
            "n": [len(values) for values in groups.values()],
            "mean": list(means.values()),
        }
    )
    n = sum(map(len, groups.values()))
    ranked = [(label, means[label], len(values)) for label, values in groups.items()]
    parts = "; ".join(
        f"{name(label)} {known.value(mean)}, n = {len(groups[label])}"
        for label, mean in means.items()
    )
    return Words(
        findings.ranked(f"Mean {inside(known.label)}", ranked),
        f"Mean {inside(known.label)} over {n:,} of {len(frame):,} rows; the others have no value.",
        data,
        f"Bars of mean {inside(known.label)}: {parts}.",
    )
