"""The ranks of the judged documents of many queries."""

from __future__ import annotations

import itertools
import math
import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import ge
from typing import Any, Final, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from retrieval_eval.errors import BadInputError
from retrieval_eval.metrics.ranking.ids import CHUNK, Ids, Ints, Words
from retrieval_eval.metrics.ranking.judgements import Judgements, Qrels
from retrieval_eval.metrics.ranking.table import Table, order_within
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
        # One key sorts faster than two.
        order = np.argsort(query * (int(rank.max(initial=0)) + 1) + rank)
        return cls(
            query[order], grade[order], rank[order], first[order], n_tied[order], n_retrieved
        )

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

_PLAIN: Final = frozenset({float, np.float64})


def hits_from_mapping(
    qrels: Qrels, rankings: Rankings, *, lowest_grade: int | None, is_float32: bool
) -> Hits:
    """Return the hits of the queries of ``qrels`` in ``{query: {document: score}}``.

    Parameters
    ----------
    lowest_grade
        Documents with a lower grade are not looked up (None: all are).
    is_float32
        Compare scores as 32-bit numbers, which ties more of them.

    Raises
    ------
    BadInputError
        When a score is no finite number; the message names query and document.
    """
    floor = float("-inf") if lowest_grade is None else lowest_grade
    grades: list[int] = []
    not_above: list[int] = []
    tied: list[_Tied] = []
    ends: list[int] = []
    n_retrieved: list[int] = []
    for query, judged in qrels.items():
        scores, values = _numbers(query, rankings[query]) if query in rankings else ({}, [])
        # A ranking is mostly given best first, and sorting a sorted list is one pass.
        values.reverse()
        values.sort()
        equal = _rounded(values) if is_float32 else values
        for doc, grade in judged.items():
            if grade >= floor and doc in scores:
                place = bisect_right(values, scores[doc])
                score = equal[place - 1]
                if is_float32:
                    place = bisect_right(equal, score, place)
                # Ties are rare where scores are real: only note them here.
                if place > 1 and equal[place - 2] == score:
                    n = place - bisect_left(equal, score, 0, place)
                    tied.append(_Tied(len(grades), doc, scores, n))
                not_above.append(place)
                grades.append(grade)
        n_retrieved.append(len(values))
        ends.append(len(grades))
    query_of = np.searchsorted(np.array(ends), np.arange(len(grades)), side="right")
    n_docs = np.array(n_retrieved, dtype=np.int64)
    first = n_docs[query_of] + 1 - np.array(not_above, dtype=np.int64)
    rank, n_tied = first.copy(), np.ones_like(first)
    _place(tied, rank, n_tied)
    grade_of = np.array(grades, dtype=np.int64)
    return Hits.ordered(query_of, grade_of, rank, first, n_tied, n_docs)


class _Tied(NamedTuple):
    """A hit whose score ``n`` documents of its query share: it, and the scores of the query."""

    hit: int
    doc: str
    scores: Mapping[str, float]
    n: int


def _place(tied: Sequence[_Tied], rank: Ints, n_tied: Ints) -> None:
    """Move the ranks of tied hits from the first of their tie to their own, and count the tie."""
    names: list[str] = []
    last: Mapping[str, float] | None = None
    for hit, doc, scores, n in tied:
        if scores is not last:
            last, names = scores, _descending(scores)
        start = int(rank[hit]) - 1
        # Document ids descend within a tie (trec_eval's rule).
        rank[hit] += sum(map(doc.__lt__, names[start : start + n]))
        n_tied[hit] = n


def _descending(scores: Mapping[str, float]) -> list[str]:
    """Return the documents of a query by score, the highest first."""
    values = list(scores.values())
    if all(map(ge, values, itertools.islice(values, 1, None))):
        return list(scores)
    return sorted(scores, key=scores.__getitem__, reverse=True)


def _rounded(numbers: list[float]) -> list[float]:
    """Return numbers rounded to 32 bits; equal ones stay equal, and the order stays."""
    return array("f", numbers).tolist()


def check_rankings(rankings: Rankings, queries: Iterable[str]) -> None:
    """Raise `BadInputError` where a ranking of these queries cannot be scored.

    `hits_from_mapping` looks at the judged queries only; what is wrong with another one is a fault
    of the same system.
    """
    for query in queries:
        _numbers(query, rankings[query])


def _numbers(query: str, scores: Any) -> tuple[Mapping[str, float], list[float]]:
    """Return the scores of a query as comparable numbers, also alone; raise for what is none."""
    if not isinstance(scores, Mapping):
        raise BadInputError(f"rankings: query {query!r}: expected {{document: score}}")
    if not set(map(type, scores)) <= {str}:
        for doc in scores:
            if not isinstance(doc, str):
                raise BadInputError(
                    f"rankings: query {query!r}: a document id is not text: {str(doc)[:40]!r}"
                )
    values = list(scores.values())
    # One look at the distinct types and one at the sum replace a test of every score: a sum with
    # NaN or an infinity in it is not finite, and finite scores rarely have such a sum.
    if set(map(type, values)) <= _PLAIN and math.isfinite(sum(values)):
        return scores, values
    found = {doc: _number(score) for doc, score in scores.items()}
    for doc, number in found.items():
        if number is None:
            shown = str(scores[doc])[:40]
            raise BadInputError(
                f"rankings: query {query!r}, document {doc!r}: {shown!r} is no finite number"
            )
    numbers = cast("Mapping[str, float]", found)
    return numbers, list(numbers.values())


def _number(score: Any) -> float | None:
    number = as_number(score)
    return number if number is not None and abs(number) <= sys.float_info.max else None


Scores = NDArray[np.float64] | NDArray[np.float32]


def hits_from_table(
    judgements: Judgements, run: Table, *, lowest_grade: int | None, is_float32: bool
) -> Hits:
    """Return the hits of the judged queries in a table of scores.

    The parameters are those of `hits_from_mapping`.
    """
    scores: Scores = run.numbers
    if is_float32:
        with np.errstate(over="ignore"):
            scores = run.numbers.astype(np.float32)
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
    rank, first, n_tied = _ranks(run, scores, row, segment)
    grade = judgements.grades[wanted][found]
    return Hits.ordered(owner[segment], grade, rank, first, n_tied, n_retrieved)


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


def _ranks(run: Table, scores: Scores, row: Ints, segment: Ints) -> tuple[Ints, Ints, Ints]:
    """Return rank, first rank and size of the tie of each row."""
    is_start = np.zeros(len(scores) + 1, dtype=bool)
    is_start[run.starts] = True
    position, order = row, None
    if (~is_start[1:-1] & (scores[1:] > scores[:-1])).any():
        order = order_within(np.diff(run.starts), [-scores])
        scores = scores[order]
        position_of = np.empty_like(order)
        position_of[order] = np.arange(len(order))
        position = position_of[row]
    start, last = run.starts[segment], run.starts[segment + 1] - 1
    begin, end = position.copy(), position + 1
    # Ties are rare where scores are real: most hits only look at their neighbours.
    score = scores[position]
    is_tied = (position > start) & (scores[position - 1] == score)
    is_tied |= (position < last) & (scores[np.minimum(position + 1, last)] == score)
    tied = np.flatnonzero(is_tied)
    begin[tied], end[tied] = _ties(scores, position[tied], start[tied], last[tied])
    place = position.copy()
    if len(tied):
        place[tied] = _tied_places(run.docs, order, position[tied], begin[tied], end[tied])
    return place - start + 1, begin - start + 1, end - begin


def _ties(scores: Scores, position: Ints, start: Ints, last: Ints) -> tuple[Ints, Ints]:
    """Return where the scores equal to those at ``position`` begin and end, by bisection.

    Scores descend from ``start`` to ``last``.
    """
    score = scores[position]
    low, begin = start, position
    while (low < begin).any():
        middle = (low + begin) // 2
        is_equal = scores[middle] == score
        low, begin = np.where(is_equal, low, middle + 1), np.where(is_equal, middle, begin)
    end, high = position, last
    while (end < high).any():
        middle = (end + high + 1) // 2
        is_equal = scores[middle] == score
        end, high = np.where(is_equal, middle, end), np.where(is_equal, high, middle - 1)
    return begin, end + 1


def _tied_places(docs: Ids, order: Ints | None, position: Ints, begin: Ints, end: Ints) -> Ints:
    begins, group = np.unique(begin, return_inverse=True)
    sizes = np.unique(end) - begins
    base = np.cumsum(sizes) - sizes
    members = np.arange(int(sizes.sum())) + np.repeat(begins - base, sizes)
    tied = docs.take(members if order is None else order[members])
    # Document ids descend within a tie (trec_eval's rule).
    sequence = order_within(sizes, tied.descending_keys())
    place = np.empty_like(sequence)
    place[sequence] = np.arange(len(sequence))
    places: Ints = place[base[group] + position - begin] - base[group] + begin
    return places
