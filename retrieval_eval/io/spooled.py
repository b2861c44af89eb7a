"""Lists that move from memory to a nameless file once what they hold is large.

The calls of a transcript of hundreds of megabytes are read one after the other, several times, and
each of them is small: so the memory of a trial is bounded by what is made of its calls.
"""

from __future__ import annotations

import tempfile
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any, Final, Generic, TypeVar, overload

import msgspec

T = TypeVar("T")

ROOM: Final = 16 << 20
"""Bytes that one list may hold in memory, as its writer estimates them."""

_PER_ITEM: Final = 1000


class Spooled(Sequence[T], Generic[T]):
    """Items in order, in memory while they are few, else in a nameless temporary file.

    An item that comes back from the file is equal to what went in, and another object. What cannot
    be encoded, or does not fit on the disk, stays in memory.

    Parameters
    ----------
    kind
        What an item is: a struct, or a union of structs with tags.

    Examples
    --------
    >>> numbers = Spooled(int, room=2000)
    >>> numbers.extend(range(5))
    >>> numbers[1] = 7
    >>> list(numbers), len(numbers), numbers[-1], numbers.is_small
    ([0, 7, 2, 3, 4], 5, 4, False)
    """

    def __init__(self, kind: Any, *, room: int | None = None) -> None:
        self._file: IO[bytes] | None = None
        self._kind = kind
        self._room = ROOM if room is None else room
        self._held: list[T] = []
        self._apart: dict[int, T] = {}
        self._places = array("Q")
        self._sizes = array("L")
        self._end = 0

    @property
    def is_small(self) -> bool:
        """Whether everything is in memory."""
        return self._file is None

    def append(self, item: T, size: int = 0) -> None:
        """Add an item of about so many bytes beside its own record."""
        if self._file is None:
            self._held.append(item)
            self._weigh(size)
        else:
            self._places.append(0)
            self._sizes.append(0)
            self._store(len(self._places) - 1, item)

    def extend(self, items: Iterable[T]) -> None:
        """Add several items."""
        for item in items:
            self.append(item)

    def put(self, place: int, item: T, size: int = 0) -> None:
        """Replace the item at a place by one that is larger by about so many bytes."""
        if self._file is None:
            self._held[place] = item
            self._weigh(size)
        else:
            self._store(place, item)

    def __setitem__(self, place: int, item: T) -> None:
        self.put(place, item)

    def __len__(self) -> int:
        return len(self._held) if self._file is None else len(self._places)

    def __iter__(self) -> Iterator[T]:
        if self._file is None:
            yield from self._held
            return
        for place in range(len(self._places)):
            yield self._load(place)

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> list[T]: ...
    def __getitem__(self, place: int | slice) -> T | list[T]:
        if self._file is None:
            return self._held[place]
        if isinstance(place, slice):
            return [self._load(one) for one in range(*place.indices(len(self)))]
        return self._load(range(len(self))[place])

    def done(self) -> Sequence[T]:
        """Return the finished list: a tuple where everything is in memory."""
        if self._file is None:
            return tuple(self._held)
        return self

    def __del__(self) -> None:
        if self._file is not None:
            self._file.close()

    def _weigh(self, size: int) -> None:
        self._room -= size + _PER_ITEM
        if self._room < 0:
            self._spill()

    def _spill(self) -> None:
        try:
            self._file = tempfile.TemporaryFile(buffering=1 << 16)  # noqa: SIM115  closed with self
        except OSError:
            self._room = ROOM
            return
        self._encoder = msgspec.msgpack.Encoder()
        self._decoder = msgspec.msgpack.Decoder(self._kind)
        items, self._held = self._held, []
        zeros = [0] * len(items)
        self._places.extend(zeros)
        self._sizes.extend(zeros)
        for place, item in enumerate(items):
            self._store(place, item)

    def _store(self, place: int, item: T) -> None:
        assert self._file is not None
        self._apart.pop(place, None)
        try:
            data = self._encoder.encode(item)
            self._file.seek(self._end)
            self._file.write(data)
        except (OSError, OverflowError, UnicodeError, ValueError, TypeError, RecursionError):
            self._apart[place] = item
            return
        self._places[place] = self._end
        self._sizes[place] = len(data)
        self._end += len(data)

    def _load(self, place: int) -> T:
        assert self._file is not None
        if place in self._apart:
            return self._apart[place]
        self._file.seek(self._places[place])
        data = self._file.read(self._sizes[place])
        item: T = self._decoder.decode(data)
        return item


def room_like(*sources: Sequence[Any]) -> int:
    """Return the room of a list that is made of others: none where one of them lies in a file."""
    return 0 if any(isinstance(source, Spooled) for source in sources) else ROOM


def like(source: Sequence[Any], kind: Any, made: Iterable[T]) -> Sequence[T]:
    """Return what is made of another list: in a file where that lies in one, else as a tuple."""
    if not isinstance(source, Spooled):
        return tuple(made)
    spooled: Spooled[T] = Spooled(kind, room=0)
    spooled.extend(made)
    return spooled.done()
