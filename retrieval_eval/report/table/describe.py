"""What values several columns hold."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

from retrieval_eval.report.names import metric_name
from retrieval_eval.report.numbers import of
from retrieval_eval.report.registered import NothingToShow, Words, labels, tabular, values_by

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
    import pandas as pd

    if not len(frame) or not columns:
        raise NothingToShow("There is no row or no column, so there is nothing to describe.")
    groups = labels(frame, by)
    rows, body = [], []
    for column in columns:
        known = metric_name(column)
        for group, values in values_by(frame, column, by).items():
            missing, summary = groups.count(group) - len(values), _summary(values)
            rows.append((column, group, len(values), missing, *summary))
            texts = (known.value(value) for value in summary)
            body.append((known.titled, group, str(len(values)), str(missing), *texts))
    names = ("column", "group", "n", "missing", "mean", "median", "min", "max")
    dtypes = ("object", "object", "int64", "int64", *["float64"] * 4)
    data = pd.DataFrame(
        {
            name: pd.Series(list(cells), dtype=dtype)
            for name, dtype, cells in zip(names, dtypes, zip(*rows, strict=True), strict=True)
        }
    )
    n = sum(len(values) for values in values_by(frame, columns[0], by).values())
    return Words(
        f"{of(n, len(frame))} values of {metric_name(columns[0]).label} are known",
        f"Values of {len(columns)} columns over {len(frame):,} rows",
        data,
        cells=(("Column", "Group", "n", "Missing", "Mean", "Median", "Least", "Most"), tuple(body)),
    )


def _summary(values: Sequence[float]) -> tuple[float | None, ...]:
    if not values:
        return (None,) * 4
    return (statistics.fmean(values), statistics.median(values), min(values), max(values))
