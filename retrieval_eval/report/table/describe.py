"""What values several columns hold."""

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
    labels,
    tabular,
    values_by,
)
from retrieval_eval.values import counted

if TYPE_CHECKING:
    import pandas as pd


@tabular("describe")
def describe(
    frame: pd.DataFrame, columns: Sequence[str], by: str | Sequence[str] | None = None
) -> Words:
    """Show one row a column and group: values, missing ones, mean, median and range.

    Parameters
    ----------
    frame, columns, by
        As for ``table.means``.

    Examples
    --------
    >>> import pandas as pd
    >>> import retrieval_eval as rev
    >>> trials = pd.DataFrame({"mrr": [0.0, 0.5, None]})
    >>> rev.table.describe(trials, ["mrr"]).finding
    '2 of 3 values of MRR are known'
    """
    found = {column: values_by(frame, column, by) for column in columns}
    if not len(frame) or not columns:
        raise NothingToShow("There is no row or no column, so there is nothing to describe.")
    groups = labels(frame, by)
    rows, body = [], []
    for column in columns:
        show = formatter(column, [v for own in found[column].values() for v in own] + [0.5])
        for group, values in found[column].items():
            missing, summary = groups.count(group) - len(values), _summary(values)
            rows.append((column, group, len(values), missing, *summary))
            texts = (MISSING if value is None else show(value) for value in summary)
            body.append((heading(column), group, str(len(values)), str(missing), *texts))
    names = ("column", "group", "n", "missing", "mean", "median", "min", "max")
    n = sum(len(values) for values in found[columns[0]].values())
    return Words(
        f"{of(n, len(frame))} values of {inside(heading(columns[0]))} are known",
        f"Values of {counted(len(columns), 'column')} over {counted(len(frame), 'row')}",
        as_frame(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))),
        cells=(("Column", "Group", "n", "Missing", "Mean", "Median", "Least", "Most"), tuple(body)),
        align=("left", "left", *["right"] * 6),
    )


def _summary(values: Sequence[float]) -> tuple[float | None, ...]:
    if not values:
        return (None,) * 4
    return (statistics.fmean(values), statistics.median(values), min(values), max(values))
