"""Means of several columns, by group."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

from retrieval_eval.report import findings
from retrieval_eval.report.gate_labels import inside
from retrieval_eval.report.names import metric_name
from retrieval_eval.report.numbers import of
from retrieval_eval.report.registered import NothingToShow, Words, labels, tabular, values_by

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
    import pandas as pd

    if not len(frame) or not columns:
        raise NothingToShow("There is no row or no column, so there is no mean to show.")
    groups = list(dict.fromkeys(labels(frame, by)))
    sizes = [labels(frame, by).count(group) for group in groups]
    body, rows = [], []
    for column in columns:
        known, found = metric_name(column), values_by(frame, column, by)
        cells = [known.titled]
        for group, size in zip(groups, sizes, strict=True):
            values = found[group]
            mean = statistics.fmean(values) if values else None
            rows.append((column, group, mean, len(values), size))
            cells.append(f"{known.value(mean)} ({of(len(values), size)})")
        body.append(tuple(cells))
    names = ("column", "group", "mean", "n", "rows")
    dtypes = ("object", "object", "float64", "int64", "int64")
    data = pd.DataFrame(
        {
            name: pd.Series(list(cells), dtype=dtype)
            for name, dtype, cells in zip(names, dtypes, zip(*rows, strict=True), strict=True)
        }
    )
    first = [(str(group), mean, n) for c, group, mean, n, _ in rows if c == columns[0] and n]
    return Words(
        findings.ranked(
            f"Mean {inside(metric_name(columns[0]).label)}",
            [(group, mean, n) for group, mean, n in first if mean is not None],
        ),
        f"Means over {len(frame):,} rows (rows with a value of all)",
        data,
        cells=(("Column", *groups), tuple(body)),
    )
