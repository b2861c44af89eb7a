"""TREC files: runs (query Q0 document rank score tag) and qrels (query 0 document grade)."""

from __future__ import annotations

import math
import os
from codecs import BOM_UTF8
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from retrieval_eval.errors import BadInputError
from retrieval_eval.metrics.ranking.decimals import parse_decimals
from retrieval_eval.metrics.ranking.ids import Ids, Ints
from retrieval_eval.metrics.ranking.table import Floats, Source, Table, group

Bytes = NDArray[np.uint8]
Kind = Literal["run", "qrels"]
Columns = tuple[list[str], Ints, Ids, Floats]

_FIELDS: Final = {
    "run": ("query", "Q0", "document", "rank", "score", "tag"),
    "qrels": ("query", "0", "document", "grade"),
}
_NUMBER: Final = {"run": 4, "qrels": 3}
_DOCUMENT: Final = 2
_SPACE, _TAB, _NEWLINE = 32, 9, 10
_CHUNK: Final = 1 << 18
_LARGE: Final = 1 << 25
"""Files from here on are worth the import of pyarrow, which reads them with all processors."""

_PADDING: Final = 32


def read_trec(path: Path, kind: Kind) -> Table:
    """Return the rows of a TREC run or qrels file.

    Fields are separated by white space; blank lines and a byte-order mark are skipped. The rank
    column is ignored, as trec_eval does: the score decides.

    Raises
    ------
    BadInputError
        When the file cannot be read, or a line has another number of fields, no number, or a
        document for the second time; the message names the line.
    """
    source = Source(str(path), "line", 1)
    try:
        columns = _read_with_arrow(path, kind)
        if columns is not None:
            return group(*columns, source)
        buffer, size = _read(path)
    except OSError as error:
        raise BadInputError(f"{path}: cannot be read: {error.strerror}") from error
    if size and buffer[size - 1] != _NEWLINE:
        # The line feed after the last line; there is room for it.
        buffer[size] = _NEWLINE
        size += 1
    columns = _read_regular(buffer, size, kind)
    if columns is not None:
        return group(*columns, source)
    return _read_lines(path, buffer[:size].tobytes(), kind)


def _read_with_arrow(path: Path, kind: Kind) -> Columns | None:
    # A pipe can be read only once, and has no size.
    if path.stat().st_size < _LARGE or find_spec("pyarrow") is None:
        return None
    from retrieval_eval.metrics.ranking.arrow import IrregularError, read_columns

    names = _FIELDS[kind]
    try:
        return read_columns(path, names, [names[0], names[_DOCUMENT], names[_NUMBER[kind]]])
    except IrregularError:
        return None


def _read(path: Path) -> tuple[Bytes, int]:
    """Return the bytes of a file with padding after them, and how many there are."""
    # Straight into the memory it stays in: these files are large. numpy asks for large pages.
    with path.open("rb", buffering=0) as file:
        buffer = np.empty(os.fstat(file.fileno()).st_size + 1 + _PADDING, dtype=np.uint8)
        size = 0
        while n_new := file.readinto(buffer[size:-_PADDING].data):
            size += n_new
            if size == len(buffer) - _PADDING:
                # A pipe, or a file that grew.
                buffer = np.concatenate([buffer, np.empty_like(buffer)])
    buffer[size:] = 0
    if buffer[: len(BOM_UTF8)].tobytes() == BOM_UTF8:
        # It would be a part of the first query's id, and that query would be missing.
        buffer, size = buffer[len(BOM_UTF8) :], size - len(BOM_UTF8)
    return buffer, size


def _read_regular(buffer: Bytes, size: int, kind: Kind) -> Columns | None:
    # Files as tools write them: one space or tab between fields, one line feed after each line.
    n_fields, n_rows = len(_FIELDS[kind]), _n_lines(buffer[:size])
    doc, doc_size = np.empty((2, n_rows), dtype=np.int64)
    numbers = np.empty(n_rows)
    # Rows of a query mostly lie together: its id is kept where it changes, not in every row.
    changes = [np.empty((3, 0), dtype=np.int64)]
    start = row = 0
    while start < size:
        ends = _ends(buffer[start : min(start + _CHUNK, size)], n_fields)
        if ends is None:
            return None
        ends += start
        rows = slice(row, row + len(ends))
        lines = np.append(start, ends[:-1, -1] + 1)
        query = Ids(buffer, lines, ends[:, 0] - lines)
        first = query.changes()
        changes.append(np.stack([query.starts[first], query.lengths[first], first + row]))
        doc[rows], doc_size[rows] = _field(ends, _DOCUMENT)
        is_read = parse_decimals(buffer, *_field(ends, _NUMBER[kind]), out=numbers[rows])
        if not is_read or np.isnan(numbers[rows]).any():
            return None
        start, row = int(ends[-1, -1]) + 1, rows.stop
    query_start, query_size, first_row = np.concatenate(changes, axis=1)
    try:
        queries = Ids(buffer, query_start, query_size).texts()
    except UnicodeDecodeError:
        return None
    return queries, first_row, Ids(buffer, doc, doc_size), numbers


def _n_lines(text: Bytes) -> int:
    starts = range(0, len(text), _CHUNK)
    return sum(int(np.count_nonzero(text[at : at + _CHUNK] == _NEWLINE)) for at in starts)


def _ends(text: Bytes, n_fields: int) -> Ints | None:
    """Return where each field of the whole lines ends, one line a row; None if one is irregular."""
    ends = np.flatnonzero(text <= _SPACE)
    ends = ends[: len(ends) - len(ends) % n_fields]
    if not len(ends) or ends[0] == 0 or (np.diff(ends) == 1).any():
        return None
    marks = text[ends].reshape(-1, n_fields)
    inner = marks[:, :-1]
    if (marks[:, -1] != _NEWLINE).any() or ((inner != _SPACE) & (inner != _TAB)).any():
        return None
    return ends.reshape(-1, n_fields)


def _field(ends: Ints, place: int) -> tuple[Ints, Ints]:
    before = ends[:, place - 1]
    return before + 1, ends[:, place] - before - 1


def _read_lines(path: Path, raw: bytes, kind: Kind) -> Table:
    queries: list[str] = []
    docs: list[str] = []
    numbers: list[float] = []
    lines: list[int] = []
    for line_number, line in enumerate(raw.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            query, doc, number = trec_row(line, kind)
        except BadInputError as error:
            raise BadInputError(f"{path}: line {line_number}: {error}") from error
        queries.append(query)
        docs.append(doc)
        numbers.append(number)
        lines.append(line_number)
    source = Source(str(path), "line", 1, np.array(lines, dtype=np.int64))
    columns = Ids.from_strings(docs), np.array(numbers, dtype=np.float64)
    return group(queries, np.arange(len(queries)), *columns, source)


def trec_row(line: bytes, kind: Kind) -> tuple[str, str, float]:
    """Return query, document and number of a line; raises `BadInputError` saying what is wrong."""
    fields = _FIELDS[kind]
    try:
        # The white space of trec_eval: other kinds may stand in an id.
        parts = [part.decode("utf-8") for part in line.split()]
    except UnicodeDecodeError as error:
        raise BadInputError(f"not UTF-8 text: {error}") from error
    if len(parts) != len(fields):
        raise BadInputError(
            f"expected {len(fields)} fields ({' '.join(fields)}), found {len(parts)}"
        )
    text = parts[_NUMBER[kind]]
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if math.isnan(number):
        raise BadInputError(f"{text[:40]!r} is not a number")
    return parts[0], parts[_DOCUMENT], number
