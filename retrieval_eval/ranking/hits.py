"""The ranks of the judged documents of many queries."""

from __future__ import annotations

import itertools
import math
import sys
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, cast

import numpy as np

from retrieval_eval.errors import BadInputError
from retrieval_eval.ranking.ids import CHUNK, Ids, Ints, Words
from retrieval_eval.ranking.judgements import Judgements
from retrieval_eval.ranking.table import (
    Floats,
    Table,
    order_descending,
    order_within,
    packed,
    sorted_descending,
)
from retrieval_eval.values import as_number


@dataclass(frozen=True, slots=True)
class Hits:
    """Judged documents that were retrieved, ordered by query and rank.

    Hit ``i`` belongs to query ``query[i]``, has ``grade[i]`` and rank ``rank[i]`` (from 1).
    Its score is shared by the ``n_tied[i]`` documents at ranks ``first[i]`` and following.
    ``n_retrieved`` counts the documents of each query.
    """

    query: Ints
    grade: Ints
    rank: Ints
    first: Ints
    n_tied: Ints
    n_retrieved: Ints

    @classmethod
    def ordered(
        cls, query: Ints, grade: Ints, rank: Ints, first: Ints, n_tied: Ints, n_retrieved: Ints
    ) -> Hits:
        """Return hits given in any order."""
        # Queries mostly lie together, which makes a stable sort fast.
        n_bits = int(rank.max(initial=0)).bit_length()
        order = np.argsort((query << n_bits) + rank, kind="stable")
        query, grade, rank = query[order], grade[order], rank[order]
        return cls(query, grade, rank, first[order], n_tied[order], n_retrieved)

    def extreme(self, *, is_best: bool) -> Hits:
        """Return the hits with ties resolved as well, or as badly, as they can be.

        At best the judged documents of a tie come first, high grades before low ones; at worst
        they come last, low grades before high ones. No order of a tie gives any measure more or
        less than these two.
        """
        order = np.lexsort((-self.grade, self.first, self.query))
        query, first, n_tied = self.query[order], self.first[order], self.n_tied[order]
        is_new = np.ones(len(order), dtype=bool)
        is_new[1:] = (np.diff(query) != 0) | (np.diff(first) != 0)
        begins = np.flatnonzero(is_new)
        place = np.arange(len(order)) - begins[np.cumsum(is_new) - 1]
        rank = first + (place if is_best else n_tied - 1 - place)
        return Hits.ordered(query, self.grade[order], rank, first, n_tied, self.n_retrieved)


Rankings = Mapping[str, Mapping[str, float]]

_NOTHING: Final[dict[str, float]] = {}
_NO_SCORES: Final = itertools.repeat(math.nan)
_NUMBERS: Final = frozenset({float, int, np.float64})
_PACKED: Final = np.dtype([("code", np.uint8), ("number", ">f8")])
_FLOAT: Final = 0xCB
"""The code before each float in MessagePack."""
_BEYOND_FLOAT32: Final = 1e39
_PAIR: Final = 2
_DENSE: Final = 20
"""Where one of so many documents is judged, lookups are many."""
_MOST_SIZED: Final = 1366


def hits_from_mapping(
    judgements: Judgements, rankings: Rankings, *, lowest_grade: int | None, is_float32: bool
) -> Hits:
    """Return the hits of the judged queries in ``{query: {document: score}}``.

    Parameters
    ----------
    lowest_grade
        Documents with a lower grade are no hits (None: all are).
    is_float32
        Compare scores as 32-bit numbers, which ties more of them.

    Raises
    ------
    BadInputError
        When a score is no finite number; the message names query and document.
    """
    judged = list(judgements.by_query().values())
    query_of, starts = judgements.query(), np.append(0, np.cumsum(judgements.sizes))
    n_retrieved = np.zeros(len(judged), dtype=np.int64)
    parts = [np.zeros((4, 0), dtype=np.int64)]
    for first, last, chunk in _chunks_of(rankings, judgements.query_ids, judged):
        n_retrieved[first:last] = chunk.sizes
        rows = slice(starts[first], starts[last])
        is_hit = ~np.isnan(chunk.found)
        if lowest_grade is not None:
            is_hit &= judgements.grades[rows] >= lowest_grade
        row = np.flatnonzero(is_hit)
        query = query_of[rows][row] - first
        scores, score = chunk.scores, chunk.found[row]
        if is_float32:
            scores, score = _as_float32(scores), _as_float32(score)
        ties = _Ties.of(scores, chunk.sizes, query, score)
        rank = ties.first + 1
        tied = np.flatnonzero(ties.n_tied > 1)
        if len(tied):
            docs = itertools.chain.from_iterable(judged[first:last])
            is_named = np.zeros(len(is_hit), dtype=bool)
            is_named[row[tied]] = True
            names = list(itertools.compress(docs, is_named.tolist()))
            rank[tied] += _n_before(names, chunk.runs, ties, tied)
        parts.append(np.stack([row + starts[first], rank, ties.first + 1, ties.n_tied]))
    row, rank, begin, n_tied = np.concatenate(parts, axis=1)
    return Hits.ordered(query_of[row], judgements.grades[row], rank, begin, n_tied, n_retrieved)


def check_rankings(rankings: Rankings, queries: Sequence[str]) -> None:
    """Raise `BadInputError` where a ranking of these queries cannot be scored.

    `hits_from_mapping` looks at the judged queries only; what is wrong with another one is a fault
    of the same system.
    """
    for _ in _chunks_of(rankings, queries, [()] * len(queries)):
        pass


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Rankings of some queries: scores after each other, ``sizes`` of each query.

    ``found`` are the scores of the judged documents; NaN where one is not there.
    """

    runs: Sequence[Mapping[str, float]]
    scores: Floats
    sizes: Ints
    found: Floats


def _chunks_of(
    rankings: Rankings, queries: Sequence[str], judged: Sequence[Collection[str]]
) -> Iterator[tuple[int, int, _Chunk]]:
    """Yield the rankings of ``queries`` from one place to another, empty ones for the missing.

    Raises
    ------
    BadInputError
        At what is no ranking.
    """
    runs: list[Any] = list(map(rankings.get, queries, itertools.repeat(_NOTHING)))
    # One look at the distinct types replaces a test of every query.
    if set(map(type, runs)) - {dict}:
        for query, run in zip(queries, runs, strict=True):
            if not isinstance(run, Mapping):
                raise BadInputError(f"rankings: query {query!r}: expected {{document: score}}")
        runs = list(map(dict, runs))
    sizes = np.fromiter(map(len, runs), dtype=np.int64, count=len(runs))
    for first, last in _chunks(np.append(0, np.cumsum(sizes))):
        part, of = runs[first:last], judged[first:last]
        columns = _columns(part, of)
        if columns is None:
            names = queries[first:last]
            part = [_numbers(query, run) for query, run in zip(names, part, strict=True)]
            columns = _columns(part, of)
            assert columns is not None
        yield first, last, _Chunk(part, columns[0], sizes[first:last], columns[1])


def _columns(
    runs: Sequence[Any], judged: Sequence[Collection[str]]
) -> tuple[Floats, Floats] | None:
    """Return the scores of all documents, and those of judged ones (NaN where one is not there).

    None where a document is no text or a score no finite number of a usual type.
    """
    values: list[Any] = []
    found: list[Any] = []
    prepare: Callable[[dict[Any, Any]], object] = len
    if not _sizes_with_text().issuperset(map(sys.getsizeof, runs)):
        prepare = "".join
    elif sum(map(len, judged)) * _DENSE > sum(map(len, runs)):
        # A copy touches all that many lookups need, in order, and so faster than they would.
        prepare = dict.copy
    try:
        # All that is read of a ranking is read while it is in the processor's cache.
        for run, docs in zip(runs, judged, strict=True):
            prepare(run)
            values += run.values()
            found += map(run.get, docs, _NO_SCORES)
    except TypeError:
        return None
    scores, of_judged = _floats(values), _floats(found)
    if scores is None or of_judged is None or not np.isfinite(scores).all():
        return None
    return scores, of_judged


@lru_cache(maxsize=1)
def _sizes_with_text() -> frozenset[int]:
    """Return which sizes in memory only dictionaries have whose keys are all of type ``str``.

    CPython keeps two words for each of their entries, and three for those of others. That is seen
    without looking at the ids, most of which are never looked up.
    """
    texts: dict[str, None] = {}
    others: dict[int, None] = {}
    with_text, without = set(), set()
    for number in range(_MOST_SIZED):
        texts[str(number)] = others[number] = None
        with_text.add(sys.getsizeof(texts))
        without.add(sys.getsizeof(others))
    return frozenset(with_text - without)


def _floats(values: list[Any]) -> Floats | None:
    """Return numbers as an array; None where a value is of another type than usual."""
    rows = packed(values, _PACKED)
    if rows is not None and (rows["code"] == _FLOAT).all():
        return rows["number"].astype(np.float64)
    if not set(map(type, values)) <= _NUMBERS:
        return None
    try:
        return np.fromiter(values, dtype=np.float64, count=len(values))
    except OverflowError:
        return None


def _as_float32(scores: Floats) -> Floats:
    """Return scores rounded to 32 bits; what these cannot hold is beyond all they can."""
    with np.errstate(over="ignore"):
        rounded = scores.astype(np.float32).astype(np.float64)
    return np.clip(rounded, -_BEYOND_FLOAT32, _BEYOND_FLOAT32)


@dataclass(frozen=True, slots=True)
class _Ties:
    """The equal scores that each hit is among: ``n_tied`` from place ``first`` (from 0) of a query.

    ``scores`` are those of all documents of all queries, ``sizes`` of each; ``query`` is that of
    each hit.
    """

    scores: Floats
    sizes: Ints
    query: Ints
    first: Ints
    n_tied: Ints
    is_ordered: bool

    @classmethod
    def of(cls, scores: Floats, sizes: Ints, query: Ints, score: Floats) -> _Ties:
        """Return the ties of hits with a ``score`` in the ranking of ``query``."""
        starts = np.cumsum(sizes) - sizes
        climbs = scores[1:] > scores[:-1]
        # The first score of a query follows the last one of another.
        climbs[starts[(starts > 0) & (starts < len(scores))] - 1] = False
        is_ordered = not climbs.any()
        falling = scores if is_ordered else sorted_descending(scores, sizes)
        before, size = starts[query] - 1, sizes[query]
        first = _count(np.greater, falling, before, size, score)
        n_tied = np.ones_like(first)
        # Ties are rare where scores are real: most hits only look at their neighbour.
        place = before + np.minimum(first + 2, size)
        tied = np.flatnonzero((falling[place] == score) & (first + 1 < size))
        if len(tied):
            among = before[tied], size[tied], score[tied]
            n_tied[tied] = _count(np.greater_equal, falling, *among) - first[tied]
        return cls(scores, sizes, query, first, n_tied, is_ordered)

    def members(self, hits: Ints) -> tuple[Ints, Ints, Ints]:
        """Return the documents that some hits are tied with, themselves included.

        Returns
        -------
        queries, places, starts
            The queries of these hits, each once; the places of all their documents, query after
            query, in a list of the documents of these queries, tied ones adjoining; and where in
            ``places`` the tie of each hit begins.
        """
        queries, of = np.unique(self.query[hits], return_inverse=True)
        sizes = self.sizes[queries]
        starts = np.cumsum(sizes) - sizes
        places = np.arange(int(sizes.sum()))
        if not self.is_ordered:
            own = np.zeros(len(self.sizes), dtype=bool)
            own[queries] = True
            places = order_descending(self.scores[np.repeat(own, self.sizes)], sizes)
        return queries, places, starts[of] + self.first[hits]


def _count(is_counted: np.ufunc, falling: Floats, before: Ints, size: Ints, wanted: Floats) -> Ints:
    """Return how many of ``size`` falling scores, after a place ``before`` them, are counted.

    Those counted come first. It is a search by halves for each wanted score.
    """
    count = np.zeros_like(size)
    step = 1 << int(size.max(initial=0)).bit_length() >> 1
    while step:
        more = np.minimum(count + step, size)
        count = np.where(is_counted(falling[before + more], wanted), more, count)
        step //= 2
    return count


def _n_before(names: Sequence[str], runs: Sequence[Any], ties: _Ties, tied: Ints) -> list[int]:
    """Return how many documents of its tie come before each of the ``tied`` hits."""
    queries, places, starts = ties.members(tied)
    docs: list[str] = []
    for query in queries.tolist():
        docs += runs[query].copy()
    # Document ids descend within a tie (trec_eval's rule).
    pairs = zip(names, places[starts].tolist(), places[starts + 1].tolist(), strict=True)
    counts: list[int] = [name < docs[one] or name < docs[other] for name, one, other in pairs]
    n_tied = ties.n_tied[tied]
    crowded = np.flatnonzero(n_tied > _PAIR)
    in_order: dict[int, list[str]] = {}
    ranges = zip(starts[crowded].tolist(), n_tied[crowded].tolist(), strict=True)
    for hit, (start, n) in zip(crowded.tolist(), ranges, strict=True):
        if start not in in_order:
            tie = docs[start : start + n]
            if not ties.is_ordered:
                tie = [docs[place] for place in places[start : start + n].tolist()]
            in_order[start] = sorted(tie)
        counts[hit] = n - bisect_right(in_order[start], names[hit])
    return counts


def _numbers(query: str, scores: Any) -> Mapping[str, float]:
    """Return the scores of a query as comparable numbers; raise for what is none."""
    if not all(isinstance(doc, str) for doc in scores):
        doc = next(doc for doc in scores if not isinstance(doc, str))
        raise BadInputError(
            f"rankings: query {query!r}: a document id is not text: {str(doc)[:40]!r}"
        )
    numbers = {doc: _number(score) for doc, score in scores.items()}
    for doc, number in numbers.items():
        if number is None:
            shown = str(scores[doc])[:40]
            raise BadInputError(
                f"rankings: query {query!r}, document {doc!r}: {shown!r} is no finite number"
            )
    return cast("Mapping[str, float]", numbers)


def _number(score: Any) -> float | None:
    number = as_number(score)
    return number if number is not None and abs(number) <= sys.float_info.max else None


def hits_from_table(
    judgements: Judgements, run: Table, *, lowest_grade: int | None, is_float32: bool
) -> Hits:
    """Return the hits of the judged queries in a table of scores.

    The parameters are those of `hits_from_mapping`.
    """
    scores = _as_float32(run.numbers) if is_float32 else run.numbers
    owner = np.arange(len(run.query_ids))
    if run.query_ids != judgements.query_ids:
        place_of = {query: place for place, query in enumerate(judgements.query_ids)}
        owner = np.array([place_of.get(query, -1) for query in run.query_ids], dtype=np.int64)
    n_retrieved = np.zeros(len(judgements.query_ids), dtype=np.int64)
    n_retrieved[owner[owner >= 0]] = np.diff(run.starts)[owner >= 0]

    wanted = np.arange(len(judgements.grades))
    if lowest_grade is not None:
        wanted = np.flatnonzero(judgements.grades >= lowest_grade)
    row, found = _join(judgements.columns().take(wanted), judgements.query()[wanted], run, owner)
    segment = np.searchsorted(run.starts, row, side="right") - 1
    ties = _Ties.of(scores, np.diff(run.starts), segment, scores[row])
    rank = ties.first + 1
    tied = np.flatnonzero(ties.n_tied > 1)
    if len(tied):
        rank[tied] += _n_before_in(run, row[tied], ties, tied)
    grade = judgements.grades[wanted][found]
    return Hits.ordered(owner[segment], grade, rank, ties.first + 1, ties.n_tied, n_retrieved)


def _join(judged: Ids, query: Ints, run: Table, owner: Ints) -> tuple[Ints, Ints]:
    """Return the rows of ``run`` that are judged, and the judgement each belongs to."""
    # Queries without judgements share a number that no judgement has.
    n_queries = max(int(query.max(initial=0)), int(owner.max(initial=0))) + 1
    owner = np.where(owner < 0, n_queries, owner)
    for seed in itertools.count(1):
        judged_hashes = judged.hashes(seed)
        keys = _keys(judged_hashes, query, n_queries)
        order = np.argsort(keys)
        keys = keys[order]
        if not (keys[1:] == keys[:-1]).any():
            break
    hashes = run.hashes if seed == 1 else run.docs.hashes(seed)
    candidates, query_of = _candidates(judged_hashes, query, hashes, run.starts, owner, n_queries)
    if not len(keys):
        return candidates, candidates
    probes = _keys(hashes[candidates], query_of, n_queries)
    nearest = np.minimum(np.searchsorted(keys, probes), len(keys) - 1)
    is_same = keys[nearest] == probes
    rows, found = candidates[is_same], order[nearest[is_same]]
    # Equal hashes are not proof of equal ids, so bytes are compared; the key holds the query
    # itself.
    is_hit = run.docs.take(rows).equals(judged.take(found))
    return rows[is_hit], found[is_hit]


def _candidates(
    judged: Words, judged_query: Ints, hashes: Words, starts: Ints, owner: Ints, n_queries: int
) -> tuple[Ints, Ints]:
    """Return rows that may be judged, and their queries; a table of bytes filters most others.

    Every query has its own few slots in the table, so that rows of one query stay in the cache.
    """
    bits = (16 * len(judged) // n_queries).bit_length()
    is_taken = np.zeros((n_queries + 1) << bits, dtype=bool)
    is_taken[_slots(judged, judged_query, bits)] = True
    rows: list[Ints] = [np.zeros(0, dtype=np.int64)]
    queries = rows.copy()
    for first, last in _chunks(starts):
        start, stop = int(starts[first]), int(starts[last])
        query = np.repeat(owner[first:last], np.diff(starts[first : last + 1]))
        found = np.flatnonzero(is_taken[_slots(hashes[start:stop], query, bits)])
        rows.append(found + start)
        queries.append(query[found])
    return np.concatenate(rows), np.concatenate(queries)


def _chunks(starts: Ints) -> Iterator[tuple[int, int]]:
    """Yield ranges of segments that hold about as many rows as the cache does."""
    firsts = np.searchsorted(starts, np.arange(0, starts[-1], CHUNK))
    return itertools.pairwise(np.unique(np.append(firsts, len(starts) - 1)).tolist())


def _slots(hashes: Words, query: Ints, bits: int) -> Ints:
    slots = query << bits
    slots |= hashes.view(np.int64) & ((1 << bits) - 1)
    return slots


def _keys(hashes: Words, query: Ints, n_queries: int) -> Words:
    # The query comes first, so that a search that goes through the queries in order stays local.
    bits = np.uint64(n_queries.bit_length())
    keys: Words = hashes >> bits
    keys |= query.astype(np.uint64) << (np.uint64(64) - bits)
    return keys


def _n_before_in(run: Table, row: Ints, ties: _Ties, tied: Ints) -> Ints:
    """Return how many documents of its tie come before each of the ``tied`` hits, at ``row``."""
    queries, places, starts = ties.members(tied)
    sizes = ties.sizes[queries]
    places += np.repeat(run.starts[queries] - (np.cumsum(sizes) - sizes), sizes)
    begins, group = np.unique(starts, return_inverse=True)
    n_tied = np.zeros_like(begins)
    n_tied[group] = ties.n_tied[tied]
    base = np.cumsum(n_tied) - n_tied
    rows = places[np.arange(int(n_tied.sum())) + np.repeat(begins - base, n_tied)]
    # Document ids descend within a tie (trec_eval's rule).
    rows = rows[order_within(n_tied, run.docs.take(rows).descending_keys())]
    by_row = np.argsort(rows)
    n_before: Ints = by_row[np.searchsorted(rows, row, sorter=by_row)] - base[group]
    return n_before
