"""Means of several columns, such as a metric at its cut-offs, as a line per group."""

from __future__ import annotations

import re
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

from retrieval_eval.report import style
from retrieval_eval.report.canvas import group_legend, light_grid, name
from retrieval_eval.report.headings import formatter, heading, inside, percent
from retrieval_eval.report.registered import (
    NothingToShow,
    Words,
    as_frame,
    figure,
    groups_of,
    known_of,
    listed,
    marks_of,
    need_rows,
    values_by,
)
from retrieval_eval.values import DEFAULT_SEED

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_AT = re.compile(r"(.+)@(\d+)")


@figure("lines")
def lines(
    ax: Axes,
    frame: pd.DataFrame,
    columns: Sequence[str],
    by: str | Sequence[str] | None = "config_name",
    confidence: float = 0.95,
) -> Words:
    """Draw the mean of each column with its bootstrap interval, a line a group.

    Parameters
    ----------
    frame
        A row an observation, such as ``run.trials``.
    columns
        Columns of numbers in the order of the axis, such as a metric at several cut-offs: of
        ``recall@5`` and ``recall@10`` the axis shows 5 and 10.
    by
        The column (or columns) that splits the rows into groups; None for one group.
    confidence
        Coverage of the intervals.

    Returns
    -------
    Exhibit
        With ``data`` of one row a group and column: ``n`` and ``mean``.

    Examples
    --------
    >>> import pandas as pd
    >>> import retrieval_eval as rev
    >>> trials = pd.DataFrame({"config_name": ["a", "b"], "recall@1": [0, 0.5], "recall@5": 1.0})
    >>> rev.plot.lines(trials, ["recall@1", "recall@5"]).finding
    'Mean Recall@5: 1.00 with a (n = 1), 1.00 with b (n = 1)'
    """
    import pandas as pd
    import seaborn as sns

    wanted = list(columns)
    if not wanted:
        raise NothingToShow("No column was given, so there is no line to draw.")
    found = {c: values_by(frame, c, by) for c in wanted}
    need_rows(frame)
    if not any(values for of_column in found.values() for values in of_column.values()):
        raise NothingToShow(
            f"No row has a value of {listed([inside(heading(c)) for c in wanted])}."
        )
    marks = marks_of(frame, by)
    groups = [g for g in groups_of(frame, by) if any(found[c][g] for c in wanted)]
    for label in groups:
        tidy = pd.DataFrame(
            [(i, value) for i, c in enumerate(wanted) for value in found[c][label]],
            columns=["place", "value"],
        )
        mark = marks[label]
        sns.lineplot(
            tidy,
            x="place",
            y="value",
            errorbar=("ci", 100 * confidence),
            seed=DEFAULT_SEED % 2**32,
            color=mark.color,
            linestyle=mark.line,
            marker=mark.marker,
            markeredgecolor=style.PAPER,
            ax=ax,
        )
    stems = [_AT.fullmatch(c) for c in wanted]
    stem = stems[0][1] if stems[0] else ""
    is_cutoff = all(m and m[1] == stem for m in stems)
    title = (
        heading(f"{stem}@{stems[0][2]}").partition("@")[0] + "@k" if is_cutoff and stems[0] else ""
    )
    ticks = [m[2] if is_cutoff and m else heading(c) for c, m in zip(wanted, stems, strict=True)]
    ax.set_xticks(range(len(wanted)), [name(t, 24) for t in ticks])
    ax.set_xlim(-0.3, len(wanted) - 0.7)
    ax.set_xlabel("k" if is_cutoff else "")
    ax.set_ylabel(f"Mean {inside(title)}" if title else "Mean")
    shares = [v for of_column in found.values() for values in of_column.values() for v in values]
    if min(shares) >= 0:
        ax.set_ylim(0, 1.02 if max(shares) <= 1 else None)
    light_grid(ax, "y")
    last = wanted[-1]
    group_legend(ax, {name(g): marks[g] for g in groups})
    means = {
        (g, c): (statistics.fmean(found[c][g]) if found[c][g] else None, len(found[c][g]))
        for g in groups
        for c in wanted
    }
    show = formatter(last, [m for m, _ in means.values() if m is not None])
    data = as_frame(
        {
            "group": [g for g, _ in means],
            "column": [c for _, c in means],
            "n": [n for _, n in means.values()],
            "mean": [m for m, _ in means.values()],
        }
    )
    whole = title or listed([inside(heading(c)) for c in wanted])
    ranked_last = sorted(
        ((m, g, n) for g in groups for m, n in [means[g, last]] if m is not None),
        key=lambda row: (-row[0], row[1]),
    )
    with_values = int(frame[wanted].notna().any(axis="columns").sum())
    parts = "; ".join(
        f"{name(g)} "
        + ", ".join(f"{t} {show(means[g, c][0])}" for t, c in zip(ticks, wanted, strict=True))
        for g in groups
    )
    return Words(
        f"Mean {inside(heading(last))}: "
        + listed(
            [
                f"{show(m)}{'' if g == 'all' else f' with {name(g, 36)}'} (n = {n:,})"
                for m, g, n in ranked_last
            ]
        )
        if ranked_last
        else f"No row has a value of {inside(heading(last))}, the last of {len(wanted)} columns",
        f"Mean {inside(whole)} with {percent(confidence)} bootstrap interval, "
        f"{known_of(with_values, len(frame))}.",
        data,
        f"Lines of mean {inside(whole)} by group: {parts}.",
        {"mean": show, "column": heading},
        {"group": heading(by)},
    )
