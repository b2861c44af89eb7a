"""How the values of a column are distributed, by group."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

from retrieval_eval.report import findings
from retrieval_eval.report.figures.canvas import legend, light_grid, name
from retrieval_eval.report.gate_labels import inside
from retrieval_eval.report.names import metric_name
from retrieval_eval.report.registered import Words, figure, known_values, marked

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
        The column (or columns) that splits the rows into groups; None for one group.

    Examples
    --------
    >>> import pandas as pd
    >>> import retrieval_eval as rev
    >>> trials = pd.DataFrame({"config_name": ["a", "a", "b"], "file_recall": [0.0, 0.5, 1.0]})
    >>> rev.plot.ecdf(trials, "file_recall").finding
    'Median file recall: 1.00 with b (n = 1), 0.25 with a (n = 2)'
    """
    import pandas as pd
    import seaborn as sns

    known = metric_name(x)
    groups = known_values(frame, x, by)
    medians = {label: statistics.median(values) for label, values in groups.items()}
    for i, label, mark in marked(groups):
        sns.ecdfplot(
            x=groups[label],
            ax=ax,
            color=mark.color,
            linestyle=mark.line,
            linewidth=1.6 if i < 4 else 0.9,
            label=f"{name(label)} (n = {len(groups[label])})",
        )
    light_grid(ax)
    ax.set_xlabel(known.titled)
    ax.set_ylabel("Share of rows with at most this")
    handles, texts = ax.get_legend_handles_labels()
    legend(ax, handles, texts)
    data = pd.DataFrame(
        {
            "group": pd.Series(list(groups), dtype="object"),
            "n": [len(values) for values in groups.values()],
            "median": list(medians.values()),
            "mean": [statistics.fmean(values) for values in groups.values()],
            "min": [min(values) for values in groups.values()],
            "max": [max(values) for values in groups.values()],
        }
    )
    n = sum(map(len, groups.values()))
    ranked = [(label, medians[label], len(values)) for label, values in groups.items()]
    parts = "; ".join(
        f"{name(label)} median {known.value(medians[label])}, n = {len(values)}"
        for label, values in groups.items()
    )
    return Words(
        findings.ranked(f"Median {inside(known.label)}", ranked),
        f"Distribution of {inside(known.label)} over {n:,} of {len(frame):,} rows; the others have "
        "no value.",
        data,
        f"Cumulative distribution of {inside(known.label)}: {parts}.",
    )
