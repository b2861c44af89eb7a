"""Hits from dictionaries: look only at judged documents, find their ranks by bisection."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from typing import Final

import numpy as np

from retrieval_eval.errors import BadInputError
from retrieval_eval.metrics.ranking.hits import Hits
from retrieval_eval.metrics.ranking.ids import Ints
from retrieval_eval.metrics.ranking.judgements import Qrels

Rankings = Mapping[str, Mapping[str, float]]

MAX_WHOLE: Final = 2**127
"""Whole numbers up to here are finite as 32-bit numbers too."""


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
        When a score is not a number; the message names query and document.
    """
    floor = float("-inf") if lowest_grade is None else lowest_grade
    grades: list[int] = []
    aboves: list[int] = []
    ties: list[tuple[int, str]] = []
    ends: list[int] = []
    n_retrieved: list[int] = []
    for query, judged in qrels.items():
        scores = rankings.get(query)
        if not scores:
            n_retrieved.append(0)
            ends.append(len(grades))
            continue
        values = _ascending(query, scores)
        if is_float32:
            values = array("f", values).tolist()
            scores = dict(zip(scores, array("f", scores.values()), strict=True))
        for doc, grade in judged.items():
            if grade >= floor and doc in scores:
                score = scores[doc]
                above = bisect_right(values, score)
                # Ties are rare where scores are real: only note them here.
                if above > 1 and values[above - 2] == score:
                    ties.append((len(grades), doc))
                aboves.append(above)
                grades.append(grade)
        n_retrieved.append(len(values))
        ends.append(len(grades))
    query_of = np.searchsorted(np.array(ends), np.arange(len(grades)), side="right")
    n_docs = np.array(n_retrieved, dtype=np.int64)
    first = n_docs[query_of] + 1 - np.array(aboves, dtype=np.int64)
    rank, n_tied = _resolve(list(qrels), rankings, query_of, first, ties, is_float32)
    return Hits.ordered(
        query_of,
        np.array(grades, dtype=np.int64),
        rank,
        first,
        n_tied,
        n_docs,
    )


def _ascending(query: str, scores: Mapping[str, float]) -> list[float]:
    # A ranking is mostly given best first, and sorting what is sorted is one pass.
    try:
        values = list(scores.values())
        values.reverse()
        values.sort()
        # NaN is equal to nothing, and neither is a sum with NaN in it (or both infinities).
        # A whole number may be too large to be compared with others.
        is_sound = (total := float(sum(values))) == total
    except (TypeError, ValueError, AttributeError, OverflowError):
        is_sound = False
    if not is_sound:
        _refuse(query, scores)
    return values


def _refuse(query: str, scores: object) -> None:
    if not isinstance(scores, Mapping):
        raise BadInputError(f"rankings: query {query!r}: expected {{document: score}}")
    for doc, score in scores.items():
        is_number = isinstance(score, int | float | np.number)
        if not is_number or score != score or (isinstance(score, int) and abs(score) > MAX_WHOLE):
            raise BadInputError(
                f"rankings: query {query!r}, document {doc!r}: {str(score)[:40]!r} is no number"
            )


def _resolve(
    queries: list[str],
    rankings: Rankings,
    query_of: Ints,
    first: Ints,
    ties: list[tuple[int, str]],
    is_float32: bool,
) -> tuple[Ints, Ints]:
    rank, n_tied = first.copy(), np.ones_like(first)
    last_query = -1
    names: list[str] = []
    keys: list[float] = []
    peers: dict[int, list[str]] = {}
    for hit, doc in ties:
        query = int(query_of[hit])
        if query != last_query:
            last_query, peers = query, {}
            names, keys = _descending(queries[query], rankings[queries[query]], is_float32)
        start = int(first[hit]) - 1
        if start not in peers:
            peers[start] = sorted(names[start : bisect_right(keys, keys[start])])
        tied = peers[start]
        # Document ids descend within a tie (trec_eval's rule).
        rank[hit] = first[hit] + len(tied) - 1 - bisect_left(tied, doc)
        n_tied[hit] = len(tied)
    return rank, n_tied


def _descending(
    query: str, scores: Mapping[str, float], is_float32: bool
) -> tuple[list[str], list[float]]:
    values = array("f", scores.values()) if is_float32 else scores.values()
    try:
        ordered = sorted(((-value, doc) for doc, value in zip(scores, values, strict=True)))
    except TypeError as error:
        raise BadInputError(
            f"rankings: query {query!r}: a document id is not text: {error}"
        ) from error
    return [doc for _, doc in ordered], [key for key, _ in ordered]
