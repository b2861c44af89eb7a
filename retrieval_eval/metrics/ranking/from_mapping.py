"""Hits from dictionaries: look up judged documents only, find their ranks by bisection."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from itertools import compress, repeat
from typing import Final

import numpy as np
from numpy.typing import NDArray

from retrieval_eval.errors import BadInputError
from retrieval_eval.metrics.ranking.hits import Hits
from retrieval_eval.metrics.ranking.ids import Ints
from retrieval_eval.metrics.ranking.judgements import Judgements, Qrels
from retrieval_eval.metrics.ranking.table import order_within

Rankings = Mapping[str, Mapping[str, float]]
Scores = NDArray[np.float64] | NDArray[np.float32]

_BATCH: Final = 1 << 15
"""Scores worked on at once: they are still in the processor's cache when they are ranked."""


def hits_from_mapping(
    judgements: Judgements,
    rankings: Rankings,
    *,
    lowest_grade: int | None,
    is_float32: bool,
) -> Hits:
    """Return the hits of the judged queries in ``{query: {document: score}}``.

    Parameters
    ----------
    lowest_grade
        Documents with a lower grade are left out (None: none is).
    is_float32
        Compare scores as 32-bit numbers, which ties more of them.

    Raises
    ------
    BadInputError
        When a score is not a number; the message names query and document.
    """
    qrels = judgements.by_query()
    is_wanted = np.ones(len(judgements.grades), dtype=bool)
    if lowest_grade is not None:
        is_wanted = judgements.grades >= lowest_grade
    wanted, query = np.flatnonzero(is_wanted), judgements.query()
    sizes: list[Ints] = [np.zeros(0, dtype=np.int64)]
    parts: list[Ints] = [np.zeros((3, 0), dtype=np.int64)]
    first_query = first_wanted = 0
    for values, found, n_docs in _batches(qrels, rankings, is_wanted):
        hit = np.flatnonzero(~np.isnan(found))
        which = wanted[hit + first_wanted]
        scores: tuple[Scores, Scores] = values, found[hit]
        if is_float32:
            with np.errstate(over="ignore"):
                scores = values.astype(np.float32), found[hit].astype(np.float32)
        parts.append(np.stack([which, *_places(*scores, n_docs, query[which] - first_query)]))
        sizes.append(n_docs)
        first_query += len(n_docs)
        first_wanted += len(found)
    which, first, n_tied = np.concatenate(parts, axis=1)
    rank = _resolve(judgements, rankings, which, first, n_tied, is_float32=is_float32)
    n_retrieved = np.concatenate(sizes)
    return Hits.ordered(query[which], judgements.grades[which], rank, first, n_tied, n_retrieved)


def _batches(
    qrels: Qrels, rankings: Rankings, is_wanted: NDArray[np.bool_]
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64], Ints]]:
    """Yield all scores, those of wanted documents (NaN: not retrieved), and documents a query."""
    values, found = array("d"), array("d")
    n_docs: list[int] = []
    nothing: Mapping[str, float] = {}
    absent = repeat(math.nan)
    # One iterator for all queries: each takes as many selectors as it has documents.
    selectors = iter(is_wanted.tobytes())
    for query, judged in qrels.items():
        scores = rankings.get(query, nothing)
        try:
            # Of the quick ways from objects to numbers this one takes no text for a number.
            values += array("d", list(scores.values()))
            found += array("d", list(map(scores.get, compress(judged, selectors), absent)))
        except (TypeError, AttributeError, OverflowError):
            _refuse(query, scores)
            raise
        n_docs.append(len(scores))
        if len(values) > _BATCH:
            yield _numbers(values, rankings), np.frombuffer(found), np.array(n_docs)
            values, found, n_docs = array("d"), array("d"), []
    if n_docs:
        yield _numbers(values, rankings), np.frombuffer(found), np.array(n_docs)


def _numbers(values: array[float], rankings: Rankings) -> NDArray[np.float64]:
    numbers = np.frombuffer(values)
    if np.isnan(numbers).any():
        for query, scores in rankings.items():
            _refuse(query, scores)
    return numbers


def _refuse(query: str, scores: object) -> None:
    if not isinstance(scores, Mapping):
        raise BadInputError(f"rankings: query {query!r}: expected {{document: score}}")
    for doc, score in scores.items():
        try:
            is_number = not math.isnan(array("d", [score])[0])
        except (TypeError, OverflowError):
            is_number = False
        if not is_number:
            raise BadInputError(
                f"rankings: query {query!r}, document {doc!r}: {str(score)[:40]!r} is no number"
            )


def _places(values: Scores, wanted: Scores, n_docs: Ints, query: Ints) -> tuple[Ints, Ints]:
    """Return the first rank of each wanted score in its query, and how many share it."""
    ends = np.cumsum(n_docs)
    is_inner = np.ones(len(values) + 1, dtype=bool)
    is_inner[ends - n_docs] = False
    if (is_inner[1:-1] & (values[1:] > values[:-1])).any():
        values = values[order_within(n_docs, [-values])]
    start, end = (ends - n_docs)[query], ends[query]
    above = _bisect(values, wanted, start, end, is_after_equal=False)
    n_tied = np.ones_like(above)
    tied = np.flatnonzero(above + 1 < end)
    tied = tied[values[above[tied] + 1] == wanted[tied]]
    after = _bisect(values, wanted[tied], above[tied], end[tied], is_after_equal=True)
    n_tied[tied] = after - above[tied]
    return above - start + 1, n_tied


def _bisect(values: Scores, wanted: Scores, low: Ints, high: Ints, *, is_after_equal: bool) -> Ints:
    """Return where each wanted number would go in its own falling stretch ``low:high``."""
    low, high = low.copy(), high.copy()
    for _ in range(int((high - low).max(initial=0)).bit_length()):
        # A stretch of nothing left stays as it is: its middle is compared with itself.
        middle = (low + high) >> 1
        there = values[np.minimum(middle, len(values) - 1)]
        goes_on = (there >= wanted) if is_after_equal else (there > wanted)
        goes_on &= low < high
        low = np.where(goes_on, middle + 1, low)
        high = np.where(goes_on, high, middle)
    return low


def _resolve(
    judgements: Judgements,
    rankings: Rankings,
    which: Ints,
    first: Ints,
    n_tied: Ints,
    *,
    is_float32: bool,
) -> Ints:
    """Return the ranks of the judged documents ``which``, ties by document id from high to low."""
    rank = first.copy()
    tied = np.flatnonzero(n_tied > 1)
    qrels, query = judgements.by_query(), judgements.query()[which[tied]]
    offset = which[tied] - (np.cumsum(judgements.sizes) - judgements.sizes)[query]
    last, judged, names = -1, [""], [""]
    for hit, place, position in zip(tied.tolist(), query.tolist(), offset.tolist(), strict=True):
        if place != last:
            last, name = place, judgements.query_ids[place]
            judged, names = list(qrels[name]), _ordered(name, rankings[name], is_float32=is_float32)
        begin = int(first[hit]) - 1
        end = begin + int(n_tied[hit])
        rank[hit] = end - (bisect_left(names, judged[position], begin, end) - begin)
    return rank


def _ordered(query: str, scores: Mapping[str, float], *, is_float32: bool) -> list[str]:
    values = array("f", scores.values()) if is_float32 else scores.values()
    falling = ((-value, doc) for doc, value in zip(scores, values, strict=True))
    try:
        return [doc for _, doc in sorted(falling)]
    except TypeError as error:
        raise BadInputError(f"rankings: query {query!r}: ids are not all text: {error}") from error
