"""TREC files: runs (query Q0 document rank score tag) and qrels (query 0 document grade)."""

from __future__ import annotations

import math
import os
import re
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
from numpy.typing import NDArray

from retrieval_eval.errors import BadInputError
from retrieval_eval.ranking.ids import Ids, Ints
from retrieval_eval.ranking.table import Floats, Source, Table, group

if TYPE_CHECKING:
    import pyarrow as pa


Bytes = NDArray[np.uint8]
_PART: Final = 1 << 23
_BLOCK: Final = 1 << 20
_ARROW_CHUNK: Final = 1 << 17
_SPACE, _TAB, _NEWLINE = b" \t\n"


class IrregularError(Exception):
    """The file is not regular enough for the fast reader."""


def read_columns(
    path: Path, fields: Sequence[str], chosen: Sequence[str]
) -> tuple[list[str], Ints, Ids, Floats]:
    """Return the ``chosen`` fields: queries, the first row of each, documents and numbers.

    A query may repeat. Only these columns are held, not the text of the file.

    Raises
    ------
    IrregularError
        When the file is empty, a field is no number, a query is not UTF-8, or anything but one
        space, or one tab, throughout stands between fields.
    OSError
        When the file cannot be read.
    """
    from pyarrow import compute

    size = path.stat().st_size
    # Room for the most rows a file of this size can hold: unwritten memory is not allocated.
    most_rows = size // (2 * len(fields)) + 1
    text = np.empty(size + 8, dtype=np.uint8)
    lengths, numbers = np.empty(most_rows, dtype=np.int64), np.empty(most_rows)
    queries: list[str] = []
    starts: list[Ints] = []
    n_bytes = n_rows = 0
    for batch in _batches(path, fields, chosen):
        query, doc, number = batch.columns
        runs = compute.run_end_encode(query)
        queries += runs.values.to_pylist()
        ends = runs.run_ends.to_numpy().astype(np.int64)
        starts.append(n_rows + np.append(0, ends[:-1]))
        docs = Ids.from_arrow(doc)
        rows, n_new = slice(n_rows, n_rows + len(docs)), int(docs.lengths.sum())
        if rows.stop > most_rows or n_bytes + n_new > size:
            # The file grew meanwhile.
            raise IrregularError
        lengths[rows] = docs.lengths
        numbers[rows] = number.to_numpy()
        if np.isnan(numbers[rows]).any():
            raise IrregularError
        text[n_bytes : n_bytes + n_new] = docs.buffer[docs.starts[0] :][:n_new]
        n_bytes, n_rows = n_bytes + n_new, rows.stop
    if not n_rows:
        raise IrregularError
    text[n_bytes : n_bytes + 8] = 0
    docs = Ids.from_lengths(text[: n_bytes + 8], lengths[:n_rows])
    return queries, np.concatenate(starts), docs, numbers[:n_rows]


def _batches(path: Path, fields: Sequence[str], chosen: Sequence[str]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa
    from pyarrow import csv

    types = dict(zip(chosen, (pa.string(), pa.binary(), pa.float64()), strict=True))
    reading = csv.ReadOptions(column_names=fields, block_size=_BLOCK)
    converting = csv.ConvertOptions(include_columns=chosen, column_types=types, null_values=[])
    for part in _parts(path):
        parsing = csv.ParseOptions(delimiter=_delimiter(part), quote_char=False)
        try:
            table = csv.read_csv(pa.BufferReader(part), reading, parsing, converting)
        except pa.ArrowInvalid as error:
            raise IrregularError from error
        yield from table.to_batches()


def _parts(path: Path) -> Iterator[Bytes]:
    """Yield whole lines, each time in the same memory."""
    buffer = bytearray(_PART)
    array = np.frombuffer(buffer, dtype=np.uint8)
    n_kept = 0
    with path.open("rb", buffering=0) as file:
        while n_new := file.readinto(array[n_kept:].data):
            n_read = n_kept + n_new
            end = buffer.rfind(b"\n", 0, n_read) + 1
            if end:
                yield array[:end]
            elif n_read == len(buffer):
                raise IrregularError
            n_kept = n_read - end
            array[:n_kept] = array[end:n_read]
    if n_kept:
        # The line feed after the last line.
        array[n_kept] = _NEWLINE
        yield array[: n_kept + 1]


def _delimiter(part: Bytes) -> str:
    """Return what separates the fields of whole lines: one space or one tab throughout."""
    first = re.search(rb"[ \t]", part.data)
    if first is None or part[0] <= _SPACE or part[:3].tobytes() == BOM_UTF8:
        raise IrregularError
    for start in range(0, len(part), _ARROW_CHUNK):
        # One byte more: neighbours may lie in two chunks.
        chunk = part[start : start + _ARROW_CHUNK + 1]
        is_white = chunk <= _SPACE
        is_known = (chunk == first[0][0]) | (chunk == _NEWLINE)
        if (is_white ^ is_known).any() or (is_white[1:] & is_white[:-1]).any():
            raise IrregularError
    return str(first[0], "ascii")


_DECIMALS_CHUNK: Final = 1 << 13
_MAX_LENGTH: Final = 18
_POWERS: Final = np.array([float(10**exponent) for exponent in range(_MAX_LENGTH + 1)])
_EXACT: Final = 1 << 53
_MINUS, _POINT, _ZERO = (np.uint8(ord(sign)) for sign in "-.0")


def parse_decimals(buffer: NDArray[np.uint8], starts: Ints, lengths: Ints, *, out: Floats) -> bool:
    """Write the numbers at ``starts`` into ``out``; False when one of them is no number.

    A whole number below 2**53 and a power of ten up to 10**22 are exact in binary, so their
    quotient is the correctly rounded number (Clinger 1990); everything longer, or with an
    exponent, goes through ``float``. ``buffer`` has room to read 18 bytes from every start.
    """
    for first in range(0, len(starts), _DECIMALS_CHUNK):
        rows = slice(first, first + _DECIMALS_CHUNK)
        is_plain = _parse_plain(buffer, starts[rows], lengths[rows], out[rows])
        for row in (np.flatnonzero(~is_plain) + first).tolist():
            start = int(starts[row])
            try:
                out[row] = float(buffer[start : start + int(lengths[row])].tobytes())
            except ValueError:
                return False
    return True


def _parse_plain(
    buffer: NDArray[np.uint8], starts: Ints, lengths: Ints, out: Floats
) -> NDArray[np.bool_]:
    chars = _columns(buffer, starts, min(int(lengths.max(initial=1)), _MAX_LENGTH))
    sizes = np.minimum(lengths, _MAX_LENGTH + 1).astype(np.uint8)
    places = np.arange(len(chars), dtype=np.uint8)[:, np.newaxis]
    is_inside = places < sizes
    digits = chars - _ZERO
    is_digit = (digits < 10) & is_inside
    is_point = (chars == _POINT) & is_inside
    is_negative = chars[0] == _MINUS
    is_other = is_inside ^ is_digit ^ is_point
    is_other[0] &= ~is_negative
    # Digits move what is before them up by ten, the point and the sign leave it.
    digits *= is_digit
    scale = is_digit * np.uint8(9) + np.uint8(1)
    whole = digits[0].astype(np.float64)
    for place in range(1, len(chars)):
        whole *= scale[place]
        whole += digits[place]
    has_point = is_point.any(axis=0)
    n_decimals = np.where(has_point, lengths - 1 - (is_point * places).max(axis=0), 0)
    np.divide(whole, _POWERS[np.minimum(n_decimals, _MAX_LENGTH)], out=out)
    np.negative(out, out=out, where=is_negative)
    is_plain: NDArray[np.bool_] = ~is_other.any(axis=0) & is_digit.any(axis=0) & (whole < _EXACT)
    is_plain &= (is_point.sum(axis=0, dtype=np.int8) <= 1) & (lengths <= _MAX_LENGTH)
    return is_plain


def _columns(buffer: NDArray[np.uint8], starts: Ints, width: int) -> NDArray[np.uint8]:
    """Return the first ``width`` bytes at each start, one place a row."""
    view: NDArray[np.void] = np.ndarray(
        (len(buffer) - width + 1,), dtype=f"V{width}", buffer=buffer, strides=(1,)
    )
    return np.ascontiguousarray(view[starts].view(np.uint8).reshape(-1, width).T)


Kind = Literal["run", "qrels", "ranks"]
"""What a file is read as: ``ranks`` is a run of which the rank is the number, not the score."""
Columns = tuple[list[str], Ints, Ids, Floats]

_RUN: Final = ("query", "Q0", "document", "rank", "score", "tag")
_FIELDS: Final = {"run": _RUN, "qrels": ("query", "0", "document", "grade"), "ranks": _RUN}
_NUMBER: Final = {"run": 4, "qrels": 3, "ranks": 3}
_DOCUMENT: Final = 2
_CHUNK: Final = 1 << 18
_LARGE: Final = 1 << 25
"""Size in bytes from which importing pyarrow pays off, which reads with all processors."""

_PADDING: Final = 32


def read_trec(path: Path, kind: Kind) -> Table:
    """Return the rows of a TREC run or qrels file.

    Fields are separated by white space; blank lines and a byte-order mark are skipped. The rank
    column of a ``run`` is ignored, as trec_eval does: the score decides.

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
        # It would become part of the first query's id, and that query would be missing.
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
        # The white space of trec_eval: an id may contain other kinds.
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
