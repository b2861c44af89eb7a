"""The ranks of judged documents in many rankings and the measures of them.

Both are defined here and in `single` in plain Python. Where the kernel is installed it computes the
same numbers, to the last bit, in less time.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from itertools import compress
from typing import Any, Final, TypeAlias

import msgspec

from retrieval_eval.ranking.measures import NAMES, Measure
from retrieval_eval.ranking.single import Judged, defined
from retrieval_eval.values import MAX_GRADE, Value


def _compiled() -> Any:
    try:
        return import_module("retrieval_eval.ranking._kernel")
    except ImportError:
        return None


kernel: Any = _compiled()
"""The module in C; None where it is not installed."""

Column: TypeAlias = "array[float] | bytearray"
"""Numbers of 64 bits, one a query."""

_QUERY: Final = 6
_HIT: Final = 4
_BITS: Final = 31
"""What the kernel cuts the sum of a column into."""


class Hits(msgspec.Struct, frozen=True):
    """Judged documents that were retrieved, as numbers without names.

    ``queries`` has six numbers of 64 bits each: where its hits begin, how many there are, where its
    grades begin, how many there are, how many documents were retrieved, and whether a hit is tied.
    ``hits`` has four numbers of 32 bits each, ordered by rank: rank (from 1), grade, and the first
    rank and the number of the documents that share its score. ``grades`` (32 bits) ascend.
    """

    queries: bytes
    hits: bytes
    grades: bytes

    def column(self, place: int) -> list[int]:
        """Return one of the six numbers of each query."""
        return memoryview(self.queries).cast("q")[place::_QUERY].tolist()

    @property
    def n_judged(self) -> list[int]:
        """How many documents of each query are judged."""
        return self.column(3)

    @property
    def is_tied(self) -> list[int]:
        """Whether a hit of each query shares its score."""
        return self.column(5)

    def only(self, is_kept: Iterable[bool]) -> Hits:
        """Return the hits of some queries."""
        size = 8 * _QUERY
        records = (self.queries[at : at + size] for at in range(0, len(self.queries), size))
        return Hits(b"".join(compress(records, is_kept)), self.hits, self.grades)

    def extreme(self, *, is_best: bool) -> Hits:
        """Return the hits with ties resolved as well, or as badly, as they can be.

        At best the judged documents of a tie come first, high grades before low ones; at worst
        they come last, low grades before high ones. No order of a tie gives any measure more or
        less than these two.
        """
        import numpy as np

        n_hits = np.array(self.column(1), dtype=np.int64)
        rows = np.repeat(np.array(self.column(0), dtype=np.int64), n_hits)
        rows += np.arange(len(rows)) - np.repeat(np.cumsum(n_hits) - n_hits, n_hits)
        query = np.repeat(np.arange(len(n_hits)), n_hits)
        hits = np.frombuffer(self.hits, dtype=np.int32).reshape(-1, _HIT).copy()
        own = hits[rows]
        own = own[np.lexsort((-own[:, 1], own[:, 2], query))]
        first, n_tied = own[:, 2], own[:, 3]
        is_new = np.ones(len(own), dtype=bool)
        is_new[1:] = (np.diff(query) != 0) | (np.diff(first) != 0)
        place = np.arange(len(own)) - np.flatnonzero(is_new)[np.cumsum(is_new) - 1]
        own[:, 0] = first + (place if is_best else n_tied - 1 - place)
        hits[rows] = own[np.lexsort((own[:, 0], query))]
        return Hits(self.queries, hits.tobytes(), self.grades)

    def measured(
        self, measures: Sequence[Measure], undefined: float
    ) -> tuple[dict[str, Column], dict[str, Value]]:
        """Return the numbers and the exactly summed mean of each measure.

        A number is ``undefined`` where the measure is not computable; a mean leaves out NaN.
        """
        if kernel is None:
            columns = self._plain(measures, undefined)
            return columns, {name: _mean(column) for name, column in columns.items()}
        found: dict[str, Column] = {}
        means = {}
        buffers = self.queries, self.hits, self.grades
        depth = max((*self.column(3), *self.column(4)), default=0)
        for measure in measures:
            code = NAMES.index(measure.name), min(measure.rel, MAX_GRADE + 1)
            wanted = *code, measure.gain == "exp", measure.cutoff or 0
            column, n, *parts, rest = kernel.measured(
                *buffers, wanted, undefined, _logarithms(depth.bit_length())
            )
            name = str(measure)
            found[name] = column
            means[name] = _mean(column) if rest or not n else Value.of(_whole(*parts) / n, n)
        return found, means

    def _plain(self, measures: Sequence[Measure], undefined: float) -> dict[str, Column]:
        columns: dict[str, Column] = {}
        judged = list(self.judged())
        for measure in measures:
            numbers = [defined(measure, one) for one in judged]
            numbers = [undefined if math.isnan(number) else number for number in numbers]
            columns[str(measure)] = array("d", numbers)
        return columns

    def judged(self) -> Iterator[Judged]:
        """Yield the judged documents of each query."""
        numbers = iter(memoryview(self.queries).cast("q").tolist())
        hits = memoryview(self.hits).cast("i").tolist()
        grades = memoryview(self.grades).cast("i").tolist()
        for at, n, of, n_judged, n_retrieved, _ in zip(*[numbers] * _QUERY, strict=True):
            own = slice(_HIT * at, _HIT * (at + n), _HIT)
            found = zip(hits[own], hits[own.start + 1 : own.stop : _HIT], strict=True)
            yield Judged(n_retrieved, tuple(found), tuple(grades[of : of + n_judged]))


@lru_cache(maxsize=4)
def _logarithms(n_bits: int) -> bytes:
    """Return log2(rank + 1) of the ranks below a power of two, from 0."""
    return array("d", map(math.log2, range(1, (1 << n_bits) + 1))).tobytes()


def _whole(high: int, middle: int, low: int) -> float:
    # A quotient of whole numbers is rounded once.
    return ((high << 2 * _BITS) + (middle << _BITS) + low) / (1 << 3 * _BITS)


def _mean(column: Column) -> Value:
    numbers = memoryview(column).cast("B").cast("d").tolist()
    present = [number for number in numbers if not math.isnan(number)]
    if not present:
        return Value.missing("no_computable_values")
    return Value.of(math.fsum(present) / len(present), len(present))


def rank(
    judged: Sequence[Mapping[str, int]],
    runs: Sequence[Mapping[str, float]],
    lowest: int,
    is_float32: bool,
) -> Hits:
    """Return the hits of rankings, ``{document: score}``, among ``{document: grade}``.

    Parameters
    ----------
    lowest
        Documents with a lower grade are no hits.
    is_float32
        Compare scores as 32-bit numbers, which ties more of them.
    """
    queries, hits, grades = array("q"), array("i"), array("i")
    for own, run in zip(judged, runs, strict=True):
        scores = array("f", run.values()) if is_float32 else run.values()
        # Document ids descend within a tie (trec_eval's rule).
        ranked = sorted(zip(scores, run, strict=True), reverse=True)
        begin, is_tied = len(hits) // _HIT, False
        for place in [place for place, (_, doc) in enumerate(ranked) if doc in own]:
            score, doc = ranked[place]
            if own[doc] < lowest:
                continue
            first, end = place, place + 1
            near = ranked[max(place - 1, 0) : place + 2]
            if sum(score == other for other, _ in near) > 1:
                first = bisect_left(ranked, -score, key=_falling)
                end = bisect_right(ranked, -score, key=_falling)
                is_tied = True
            hits.extend((place + 1, own[doc], first + 1, end - first))
        ordered = sorted(own.values())
        n_hits = len(hits) // _HIT - begin
        queries.extend((begin, n_hits, len(grades), len(ordered), len(ranked), is_tied))
        grades.extend(ordered)
    return Hits(queries.tobytes(), hits.tobytes(), grades.tobytes())


def _falling(ranked: tuple[float, str]) -> float:
    return -ranked[0]


def rank_compiled(
    judged: list[dict[str, int]],
    runs: list[dict[str, float]] | tuple[Any, ...],
    places: dict[str, int],
    ranked: Mapping[str, Any],
    lowest: int,
    is_float32: bool,
) -> Hits | None:
    """Return what `rank` does, computed by the kernel; None without it and at what is irregular.

    Where ``runs`` are rows (`inputs.Rows.packed`), ``places`` are the places in ``judged`` of
    queries, and the queries of the rows become the keys of ``ranked``.
    """
    if kernel is None:
        return None
    found = kernel.rank(judged, runs, places, ranked, lowest, is_float32)
    return None if found is None else Hits(*found)
