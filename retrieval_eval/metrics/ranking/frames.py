"""Long data frames as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from retrieval_eval.errors import BadInputError
from retrieval_eval.metrics.ranking.ids import Ids
from retrieval_eval.metrics.ranking.table import Source, Table, group
from retrieval_eval.values import as_number

if TYPE_CHECKING:
    import pandas as pd


def table_from_frame(frame: pd.DataFrame, number: str, name: str) -> Table:
    """Return the rows of a frame with ``query_id``, ``doc_id`` and the column ``number``.

    Raises
    ------
    BadInputError
        When a column is missing, there twice or holds something else, a number is NaN, or a query
        has a document twice; rows are named by their position.
    """
    columns = list(frame.columns)
    for column in ("query_id", "doc_id", number):
        if (n := columns.count(column)) != 1:
            found, many = ", ".join(map(str, columns)), f"{n} columns" if n else "no column"
            raise BadInputError(f"{name}: {many} {column!r} (found {found})")
    given = frame[number]
    # Text would be read as the number it looks like, and a truth value as 0 or 1.
    if given.dtype.kind not in "iuf":
        for row, value in enumerate(given.tolist()):
            if as_number(value) is None and value is not None:
                told = f"row {row} has {str(value)[:40]!r}"
                raise BadInputError(f"{name}: column {number!r} holds no numbers: {told}")
    try:
        numbers = given.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise BadInputError(f"{name}: column {number!r} holds no numbers: {error}") from error
    queries, docs = (_ids(frame[column], f"{name}: {column}") for column in ("query_id", "doc_id"))
    bad = np.flatnonzero(np.isnan(numbers))
    if len(bad):
        raise BadInputError(f"{name}: row {bad[0]}: no number")
    starts = queries.changes()
    return group(queries.take(starts).texts(), starts, docs, numbers, Source(name, "row", 0))


def _ids(series: pd.Series[Any], where: str) -> Ids:
    if series.isna().any():
        raise BadInputError(f"{where}: an id is missing")
    # Whole numbers are a common way to write ids; any other number would be a guess.
    if series.dtype.kind in "iu" or series.dtype == "category":
        series = series.astype("str")
    arrow = _arrow(series)
    if arrow is not None:
        return arrow
    try:
        return Ids.from_strings(series.tolist())
    except TypeError as error:
        raise BadInputError(f"{where}: an id is not text: {error}") from error


def _arrow(series: pd.Series[Any]) -> Ids | None:
    # pandas keeps text in Arrow's layout when pyarrow is installed: the bytes are taken as
    # they lie. Without it the same text goes through Python strings.
    convert = getattr(series.array, "__arrow_array__", None)
    if convert is None:
        return None
    try:
        column = convert()
    except ImportError:
        return None
    try:
        return Ids.from_arrow(column)
    except TypeError:
        return None
