"""Hits from long tables: join by hash, then rank what was found, all in arrays."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from retrieval_eval.metrics.ranking.hits import Hits
from retrieval_eval.metrics.ranking.ids import CHUNK, Ids, Ints, Words
from retrieval_eval.metrics.ranking.judgements import Judgements
from retrieval_eval.metrics.ranking.table import Table, order_within

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
    # Equal hashes are a promise, equal bytes the proof; the query is part of the key as it is.
    is_hit = run.docs.take(rows).equals(judged.take(found))
    return rows[is_hit], found[is_hit]


def _candidates(
    judged: Words, judged_query: Ints, hashes: Words, starts: Ints, owner: Ints, n_queries: int
) -> tuple[Ints, Ints]:
    """Return rows that may be judged, and their queries: a table of bytes turns most others away.

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
