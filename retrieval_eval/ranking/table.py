"""Long tables of (query, document, number), grouped by query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from retrieval_eval.errors import BadInputError
from retrieval_eval.ranking.ids import Ids, Ints, Words
from retrieval_eval.values import as_number

if TYPE_CHECKING:
    import pandas as pd


Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Source:
    """What rows of a table are called in messages: lines of a file, or positions in a frame.

    ``numbers`` are the line numbers of the rows; None when row ``i`` is line ``i + first``.
    """

    name: str
    unit: str
    first: int
    numbers: Ints | None = None

    def number(self, row: int) -> int:
        """Return the number by which the caller knows ``row``."""
        return row + self.first if self.numbers is None else int(self.numbers[row])


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of documents with one number each; query ``i`` owns rows ``starts[i]:starts[i + 1]``.

    ``rows`` are the positions the rows had in the source; None when they were grouped already.
    """

    query_ids: list[str]
    starts: Ints
    docs: Ids
    numbers: Floats
    source: Source
    rows: Ints | None
    hashes: Words
    """Hashes of the documents under seed 1."""

    def where(self, row: int) -> int:
        """Return the line or position of ``row`` in the source."""
        return self.source.number(row if self.rows is None else int(self.rows[row]))

    def finite(self) -> Table:
        """Return the table itself; raises `BadInputError` where a number is infinite."""
        endless = np.flatnonzero(~np.isfinite(self.numbers))
        if len(endless):
            row = int(endless[0])
            raise BadInputError(
                f"{self.source.name}: {self.source.unit} {self.where(row)}:"
                f" a score of {self.numbers[row]}; expected a finite number"
            )
        return self


def group(queries: list[str], starts: Ints, docs: Ids, numbers: Floats, source: Source) -> Table:
    """Return the table of rows in any order, grouped by query in order of first appearance.

    Query ``i`` of ``queries``, which may repeat, owns the rows from ``starts[i]`` up to the next.

    Raises
    ------
    BadInputError
        When a query has a document twice.
    """
    if len(set(queries)) < len(queries):
        changes = [row for row, query in enumerate(queries) if not row or query != queries[row - 1]]
        queries, starts = [queries[row] for row in changes], starts[changes]
    bounds = np.append(starts, len(numbers))
    if len(set(queries)) == len(queries):
        table = Table(queries, bounds, docs, numbers, source, None, docs.hashes(seed=1))
    else:
        codes = {name: code for code, name in enumerate(dict.fromkeys(queries))}
        segment = np.array([codes[name] for name in queries], dtype=np.int64)
        code = np.repeat(segment, np.diff(bounds))
        rows = np.argsort(code, kind="stable")
        counts = np.bincount(code, minlength=len(codes))
        bounds = np.append(0, np.cumsum(counts))
        docs, numbers = docs.take(rows), numbers[rows]
        table = Table(list(codes), bounds, docs, numbers, source, rows, docs.hashes(seed=1))
    _refuse_duplicates(table)
    return table


def blocks(starts: Ints, sizes: Ints, max_cells: int = 1 << 20) -> Iterator[tuple[Ints, Ints]]:
    """Yield (segments, matrix of their rows) for segments of the same size, each in one row.

    Work on equally long segments can be done along an axis. There are at most about
    sqrt(2 * rows) different sizes, so this stays close to linear.
    """
    by_size = np.argsort(sizes, kind="stable")
    edges = np.flatnonzero(np.diff(sizes[by_size], prepend=-1))
    ends = np.append(edges, len(sizes))[1:]
    for begin, end in zip(edges, ends, strict=True):
        size = int(sizes[by_size[begin]])
        step = max(1, max_cells // max(size, 1))
        for first in range(begin, end, step):
            segments = by_size[first : min(first + step, end)]
            yield segments, starts[segments][:, np.newaxis] + np.arange(size)


def order_within(sizes: Ints, keys: Sequence[NDArray[Any]]) -> Ints:
    """Return the permutation that sorts each of the adjoining segments by ``keys``.

    As in ``numpy.lexsort`` the last key is the most significant.
    """
    order = np.arange(int(sizes.sum()))
    for _, rows in blocks(np.cumsum(sizes) - sizes, sizes):
        if rows.shape[1] > 1:
            places = np.lexsort([key[rows] for key in keys], axis=1)
            order[rows] = np.take_along_axis(rows, places, axis=1)
    return order


def packed(values: list[Any], row: np.dtype[Any]) -> NDArray[Any] | None:
    """Return values as rows of MessagePack; None where a value takes another number of bytes.

    MessagePack writes a code of its type before each value: one pass in C takes all values and
    shows what they are.
    """
    try:
        text = msgspec.msgpack.encode(values)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return None
    n = len(values)
    header = 1 if n < 1 << 4 else 3 if n < 1 << 16 else 5
    if len(text) != header + n * row.itemsize:
        return None
    return np.ndarray(n, dtype=row, buffer=text, offset=header)


def padded(
    sizes: Ints, values: NDArray[Any], fill: float
) -> Iterator[tuple[Ints, NDArray[np.bool_], NDArray[Any]]]:
    """Yield adjoining segments of similar size as the rows of a matrix, then ``fill``.

    Yields
    ------
    segments, is_in, matrix
        Which segments, where the matrix holds values of them, and the matrix, which may be written
        to; empty segments are left out.
    """
    n_bits = np.frexp(sizes)[1]
    for bits in np.flatnonzero(np.bincount(n_bits)).tolist():
        if not bits:
            continue
        segments = np.flatnonzero(n_bits == bits)
        own = values
        if len(segments) < len(sizes):
            own = values[np.repeat(n_bits == bits, sizes)]
        width = sizes[segments, np.newaxis]
        is_in = np.arange(int(width.max())) < width
        if len(own) == is_in.size:
            matrix = own.reshape(is_in.shape).copy()
        else:
            matrix = np.full(is_in.shape, fill, dtype=values.dtype)
            matrix[is_in] = own
        yield segments, is_in, matrix


def sorted_descending(values: Floats, sizes: Ints) -> Floats:
    """Return values with each of the adjoining segments sorted, the highest value first."""
    parts = np.repeat(np.frexp(sizes)[1], sizes)
    found = np.empty_like(values)
    for segments, is_in, matrix in padded(sizes, -values, np.inf):
        matrix.sort(axis=1)
        found[parts == np.frexp(sizes[segments[0]])[1]] = -matrix[is_in]
    return found


def order_descending(values: Floats, sizes: Ints) -> Ints:
    """Return the permutation that sorts each of the adjoining segments, the highest value first."""
    starts = np.cumsum(sizes) - sizes
    order = np.empty(len(values), dtype=np.int64)
    for segments, is_in, matrix in padded(sizes, -values, np.inf):
        first = starts[segments, np.newaxis]
        places = first + np.arange(matrix.shape[1])
        order[places[is_in]] = (first + np.argsort(matrix, axis=1))[is_in]
    return order


def _refuse_duplicates(table: Table) -> None:
    for segments, rows in blocks(table.starts[:-1], np.diff(table.starts)):
        # The hash of another query's document never matters here: a row is one query.
        drawn = np.sort(table.hashes[rows], axis=1)
        for suspect in np.flatnonzero((drawn[:, 1:] == drawn[:, :-1]).any(axis=1)):
            _refuse_in_query(table, int(segments[suspect]))


def _refuse_in_query(table: Table, query: int) -> None:
    seen: dict[bytes, int] = {}
    for row in range(int(table.starts[query]), int(table.starts[query + 1])):
        start = int(table.docs.starts[row])
        doc = table.docs.buffer[start : start + int(table.docs.lengths[row])].tobytes()
        if doc in seen:
            raise BadInputError(
                f"{table.source.name}: document {doc.decode(errors='replace')[:80]!r} occurs twice"
                f" for query {table.query_ids[query][:80]!r} ({table.source.unit}s"
                f" {table.where(seen[doc])} and {table.where(row)}); keep one of them"
            )
        seen[doc] = row


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
    # Text would be read as the number it looks like, and a boolean as 0 or 1.
    if given.dtype.kind not in "iuf":
        for row, value in enumerate(given.tolist()):
            if as_number(value) is None and value is not None:
                found = f"row {row} has {str(value)[:40]!r}"
                raise BadInputError(f"{name}: column {number!r} holds no numbers: {found}")
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
