"""Columns of ids as bytes in one buffer: compared and hashed by the million, rarely decoded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

CHUNK: Final = 1 << 16
"""Rows worked on at once, so that temporaries stay in the processor's cache."""

_ARROW_OFFSETS: Final = {
    "string": np.int32,
    "large_string": np.int64,
    "binary": np.int32,
}

_KEEP: Final = np.array([(1 << 8 * n) - 1 for n in range(9)], dtype=np.uint64)
_ODD: Final = np.uint64(0x9E3779B97F4A7C15)
_HALF: Final = np.uint64(32)


@dataclass(frozen=True, slots=True)
class Ids:
    """UTF-8 ids: id ``i`` is ``lengths[i]`` bytes of ``buffer`` from ``starts[i]``.

    ``buffer`` ends in at least eight bytes that belong to no id, so that ids can be read as
    eight-byte words.
    """

    buffer: NDArray[np.uint8]
    starts: Ints
    lengths: Ints

    @classmethod
    def from_strings(cls, texts: Sequence[str]) -> Ids:
        """Return the column of ``texts``; raises ``TypeError`` when one is not a string."""
        joined = "".join(texts)
        # A lone surrogate has no UTF-8 form, yet JSON can hold one.
        blob = joined.encode("utf-8", "surrogatepass")
        is_ascii = len(blob) == len(joined)
        encoded = texts if is_ascii else [text.encode("utf-8", "surrogatepass") for text in texts]
        lengths = np.fromiter(map(len, encoded), dtype=np.int64, count=len(texts))
        return cls.from_lengths(np.frombuffer(blob + bytes(8), dtype=np.uint8), lengths)

    @classmethod
    def from_lengths(cls, buffer: NDArray[np.uint8], lengths: Ints) -> Ids:
        """Return a column of ids that follow each other without gaps."""
        return cls(buffer, np.cumsum(lengths) - lengths, lengths)

    @classmethod
    def from_arrow(cls, column: Any) -> Ids:
        """Return the column of an Arrow array of text without missing values.

        Raises ``TypeError`` for an array of something else. Bytes are taken as they lie.
        """
        offset_type = _ARROW_OFFSETS.get(str(column.type))
        if offset_type is None:
            raise TypeError(f"not text: {column.type}")
        if hasattr(column, "combine_chunks"):
            column = column.combine_chunks()
        _, offset_buffer, text = column.buffers()
        offsets = np.frombuffer(offset_buffer, dtype=offset_type)
        offsets = offsets[column.offset :][: len(column) + 1].astype(np.int64, copy=False)
        data = np.zeros(0, np.uint8) if text is None else np.frombuffer(text, dtype=np.uint8)
        end = int(offsets[-1]) if len(offsets) else 0
        if len(data) < end + 8:
            data = np.append(data[:end], np.zeros(8, dtype=np.uint8))
        return cls(data, offsets[:-1], np.diff(offsets))

    def __len__(self) -> int:
        return len(self.starts)

    def take(self, rows: Ints) -> Ids:
        """Return the ids of ``rows``."""
        return Ids(self.buffer, self.starts[rows], self.lengths[rows])

    def text(self, row: int) -> str:
        """Return one id; raises ``UnicodeDecodeError`` when it is not UTF-8."""
        return self.take(np.array([row])).texts()[0]

    def texts(self) -> list[str]:
        """Return all ids; raises ``UnicodeDecodeError`` when one is not UTF-8."""
        data = self.buffer.data
        ends = self.starts + self.lengths
        return [
            str(data[start:end], "utf-8", "surrogatepass")
            for start, end in zip(self.starts.tolist(), ends.tolist(), strict=True)
        ]

    def n_words(self) -> int:
        """Return how many eight-byte words the longest id takes."""
        return -(-int(self.lengths.max(initial=1)) // 8)

    def words(self, place: int) -> Words:
        """Return the word at ``place`` of every id, its first byte lowest, padded with zeros."""
        view: Words = np.ndarray(
            (len(self.buffer) - 7,), dtype="<u8", buffer=self.buffer, strides=(1,)
        )
        if not place:
            found = view[self.starts]
            shortest = int(self.lengths.min(initial=8))
            if shortest < 8:
                is_even = int(self.lengths.max()) == shortest
                found &= _KEEP[shortest if is_even else np.minimum(self.lengths, 8)]
            return found
        left = self.lengths - 8 * place
        found = view[np.where(left > 0, self.starts + 8 * place, 0)]
        found &= _KEEP[np.clip(left, 0, 8)]
        return found

    def hashes(self, seed: int) -> Words:
        """Return a 64-bit hash of every id; equal ids have equal hashes."""
        hashes = np.empty(len(self), dtype=np.uint64)
        for start in range(0, len(self), CHUNK):
            part = Ids(
                self.buffer, self.starts[start : start + CHUNK], self.lengths[start : start + CHUNK]
            )
            state = part.lengths.astype(np.uint64)
            state += np.uint64(seed)
            mix(state)
            for place in range(part.n_words()):
                if place and not (part.lengths > 8 * place).all():
                    longer = np.flatnonzero(part.lengths > 8 * place)
                    tail = state[longer] ^ part.take(longer).words(place)
                    state[longer] = mix(tail)
                else:
                    state ^= part.words(place)
                    mix(state)
            hashes[start : start + CHUNK] = state
        return hashes

    def equals(self, other: Ids) -> NDArray[np.bool_]:
        """Return where this column and an equally long ``other`` hold the same id."""
        same: NDArray[np.bool_] = self.lengths == other.lengths
        same &= self.words(0) == other.words(0)
        rows = np.flatnonzero(same & (self.lengths > 8))
        place = 1
        while len(rows):
            differs = self.take(rows).words(place) != other.take(rows).words(place)
            same[rows[differs]] = False
            place += 1
            rows = rows[~differs & (self.lengths[rows] > 8 * place)]
        return same

    def changes(self) -> Ints:
        """Return the rows whose id differs from the row before, the first row included."""
        n = len(self)
        parts = [np.zeros(min(n, 1), dtype=np.int64)]
        for start in range(0, n - 1, CHUNK):
            rows = slice(start, start + CHUNK + 1)
            part = Ids(self.buffer, self.starts[rows], self.lengths[rows])
            words, lengths = part.words(0), part.lengths
            same = (words[1:] == words[:-1]) & (lengths[1:] == lengths[:-1])
            long = np.flatnonzero(same & (lengths[1:] > 8))
            same[long] = part.take(long).equals(part.take(long + 1))
            parts.append(np.flatnonzero(~same) + (start + 1))
        return np.concatenate(parts)

    def descending_keys(self) -> list[Words]:
        """Return sort keys, the least significant first, that order ids from high to low.

        Bytes compare as unsigned numbers and a prefix comes before what it begins, which is the
        order of ``strcmp`` and of code points.
        """
        words = [~self.words(place).byteswap() for place in range(self.n_words())]
        return [~self.lengths.astype(np.uint64), *reversed(words)]


def mix(state: Words) -> Words:
    """Scramble 64-bit words in place, one to one, and return them."""
    state *= _ODD
    state ^= state >> _HALF
    state *= _ODD
    return state
