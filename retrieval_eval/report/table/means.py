"""Means of several columns, by group."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

from retrieval_eval.report.headings import formatter, heading, inside
from retrieval_eval.report.numbers import MISSING, of
from retrieval_eval.report.registered import (
    NothingToShow,
    Words,
    as_frame,
    groups_of,
    labels,
    ranked,
    tabular,
    values_by,
)

if TYPE_CHECKING:
    import pandas as pd


@tabular("means")
def means(
    frame: pd.DataFrame, columns: Sequence[str], by: str | Sequence[str] | None = "config_name"
) -> Words:
    """Show one row a column and one column a group: mean, and how many rows have a value.

    Parameters
    ----------
    frame
        A row an observation, such as ``run.trials``.
    columns
        The columns of numbers.
    by
        The column (or columns) that splits the rows into groups; None for one group.

    Examples
    --------
    >>> import pandas as pd
    >>> import retrieval_eval as rev
    >>> trials = pd.DataFrame({"config_name": ["a", "a", "b"], "mrr": [0.0, 0.5, None]})
    >>> shown = rev.table.means(trials, ["mrr"])
    >>> shown.finding, shown.data["n"].tolist(), shown.data["rows"].tolist()
    ('Mean MRR: 0.25 with a (n = 2)', [2, 0], [2, 1])
    """
    values = {column: values_by(frame, column, by) for column in columns}
    if not len(frame) or not columns:
        raise NothingToShow("There is no row or no column, so there is no mean to show.")
    of_rows = labels(frame, by)
    groups = groups_of(frame, by)
    sizes = [of_rows.count(group) for group in groups]
    body, rows = [], []
    for column in columns:
        show = formatter(column, [v for own in values[column].values() for v in own] + [0.5])
        cells = [heading(column)]
        for group, size in zip(groups, sizes, strict=True):
            own = values[column][group]
            mean = statistics.fmean(own) if own else None
            rows.append((column, group, mean, len(own), size))
            text = MISSING if mean is None else show(mean)
            cells.append(f"{text} ({of(len(own), size)})")
        body.append(tuple(cells))
    names = ("column", "group", "mean", "n", "rows")
    first = next((c for c in columns if any(values[c].values())), columns[0])
    known = {g: (mean, n) for c, g, mean, n, _ in rows if c == first and mean is not None}
    show = formatter(first, [v for own in values[first].values() for v in own] + [0.5])
    what = inside(heading(first))
    return Words(
        ranked(f"Mean {what}", known, show) if known else f"None of {len(frame):,} rows has {what}",
        f"Means over {len(frame):,} rows (rows with a value of all)",
        as_frame(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))),
        cells=(("Metric", *groups), tuple(body)),
    )
