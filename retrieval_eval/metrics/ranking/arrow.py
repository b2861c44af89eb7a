"""Regular text files through pyarrow, which reads with all processors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from retrieval_eval.metrics.ranking.ids import Ids, Ints

if TYPE_CHECKING:
    import pyarrow as pa

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float64]

_PART: Final = 1 << 23
_BLOCK: Final = 1 << 20
_CHUNK: Final = 1 << 17
_SPACE, _NEWLINE = b" \n"
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


class IrregularError(Exception):
    """A file is not for this reader."""


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
    # Room for what so many bytes can hold at most: memory is taken only where it is written.
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
            # It grew meanwhile.
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
    if first is None or part[0] <= _SPACE or part[:3].tobytes() == _BYTE_ORDER_MARK:
        raise IrregularError
    for start in range(0, len(part), _CHUNK):
        # One byte more: neighbours may lie in two chunks.
        chunk = part[start : start + _CHUNK + 1]
        is_white = chunk <= _SPACE
        is_known = (chunk == first[0][0]) | (chunk == _NEWLINE)
        if (is_white ^ is_known).any() or (is_white[1:] & is_white[:-1]).any():
            raise IrregularError
    return str(first[0], "ascii")
