"""How many rows there are of each kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from retrieval_eval.report.headings import heading, inside
from retrieval_eval.report.numbers import count as count_text
from retrieval_eval.report.registered import (
    Words,
    as_frame,
    groups_of,
    labels,
    need_rows,
    tabular,
)
from retrieval_eval.values import counted

if TYPE_CHECKING:
    import pandas as pd


@tabular("count")
def count(
    frame: pd.DataFrame,
    rows: str | Sequence[str],
    columns: str | Sequence[str] | None = None,
) -> Words:
    """Count the rows of a frame by one or two things, with totals that add up.

    Parameters
    ----------
    frame
        A row a thing that is counted.
    rows
        The column (or columns) of which each value is a row; missing values are counted too.
    columns
        The column (or columns) of which each value is a column; None for the total only.

    Returns
    -------
    Exhibit
        With ``data`` of one row a row, the last of them the totals.

    Examples
    --------
    >>> import pandas as pd
    >>> import retrieval_eval as rev
    >>> trials = pd.DataFrame({"status": ["ok", "ok", "cut"], "config_name": ["a", "b", "a"]})
    >>> counted = rev.table.count(trials, "status", "config_name")
    >>> counted.finding, counted.data["Total"].tolist()
    ('Status of 3 rows: 2 ok, 1 cut', [2, 1, 3])
    """
    down, across = labels(frame, rows), labels(frame, columns)
    need_rows(frame)
    found = Counter(zip(down, across, strict=True))
    names, heads = groups_of(frame, rows), groups_of(frame, columns) if columns else []
    head = heading(rows)
    totals = Counter(down)
    body = [[name, *(found[name, g] for g in heads), totals[name]] for name in names]
    sums = [sum(found[name, g] for name in names) for g in heads]
    body.append(["Total", *sums, len(frame)])
    # Whatever the groups are called, they are columns beside ours.
    keys = ["row", *(g if g not in ("row", "Total") else f"{g} " for g in heads), "Total"]
    data = as_frame(dict(zip(keys, map(list, zip(*body, strict=True)), strict=True)))
    cells = tuple((str(name), *(count_text(n) for n in ns)) for name, *ns in body)
    parts = [f"{n:,} {name}" for name, n in totals.most_common(4)]
    more = len(totals) - len(parts)
    by = f" and {inside(heading(columns))}" if columns else ""
    return Words(
        f"{head} of {counted(len(frame), 'row')}: {', '.join(parts)}"
        + (f" and {more} more" if more > 0 else ""),
        f"{counted(len(frame), 'row')} by {inside(head)}{by}",
        data,
        cells=((head, *heads, "Total"), cells),
    )
