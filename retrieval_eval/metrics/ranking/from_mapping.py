"""Hits from dictionaries: look only at judged documents, find their ranks by bisection."""

from __future__ import annotations

import math
import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from typing import Any, Final, cast

import numpy as np

from retrieval_eval.errors import BadInputError
from retrieval_eval.metrics.ranking.hits import Hits
from retrieval_eval.metrics.ranking.ids import Ints
from retrieval_eval.metrics.ranking.judgements import Qrels
from retrieval_eval.values import as_number

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
    aboves: list[int] = []
    ties: list[tuple[int, str]] = []
    tied: dict[int, Mapping[str, float]] = {}
    ends: list[int] = []
    n_retrieved: list[int] = []
    for number, (query, judged) in enumerate(qrels.items()):
        scores = _numbers(query, rankings[query]) if query in rankings else None
        if not scores:
            n_retrieved.append(0)
            ends.append(len(grades))
            continue
        # A ranking is mostly given best first, and sorting what is sorted is one pass.
        values = list(scores.values())
        values.reverse()
        values.sort()
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
                    tied[number] = scores
                aboves.append(above)
                grades.append(grade)
        n_retrieved.append(len(values))
        ends.append(len(grades))
    query_of = np.searchsorted(np.array(ends), np.arange(len(grades)), side="right")
    n_docs = np.array(n_retrieved, dtype=np.int64)
    first = n_docs[query_of] + 1 - np.array(aboves, dtype=np.int64)
    rank, n_tied = _resolve(list(qrels), tied, query_of, first, ties)
    return Hits.ordered(
        query_of,
        np.array(grades, dtype=np.int64),
        rank,
        first,
        n_tied,
        n_docs,
    )


def _numbers(query: str, scores: Any) -> Mapping[str, float]:
    """Return the scores of a query as numbers that can be compared; refuse what is none."""
    if not isinstance(scores, Mapping):
        raise BadInputError(f"rankings: query {query!r}: expected {{document: score}}")
    # One look at the distinct types and one at the sum replace a test of every score: a sum with
    # NaN or an infinity in it is not finite, and finite scores rarely have such a sum.
    if set(map(type, scores.values())) <= _PLAIN and math.isfinite(sum(scores.values())):
        return scores
    found = {doc: _number(score) for doc, score in scores.items()}
    for doc, number in found.items():
        if number is None:
            shown = str(scores[doc])[:40]
            raise BadInputError(
                f"rankings: query {query!r}, document {doc!r}: {shown!r} is no finite number"
            )
    return cast("Mapping[str, float]", found)


def _number(score: Any) -> float | None:
    number = as_number(score)
    return number if number is not None and abs(number) <= sys.float_info.max else None


def _resolve(
    queries: list[str],
    rankings: Mapping[int, Mapping[str, float]],
    query_of: Ints,
    first: Ints,
    ties: list[tuple[int, str]],
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
            names, keys = _descending(queries[query], rankings[query])
        start = int(first[hit]) - 1
        if start not in peers:
            peers[start] = sorted(names[start : bisect_right(keys, keys[start])])
        tied = peers[start]
        # Document ids descend within a tie (trec_eval's rule).
        rank[hit] = first[hit] + len(tied) - 1 - bisect_left(tied, doc)
        n_tied[hit] = len(tied)
    return rank, n_tied


def _descending(query: str, scores: Mapping[str, float]) -> tuple[list[str], list[float]]:
    try:
        ordered = sorted((-score, doc) for doc, score in scores.items())
    except TypeError as error:
        raise BadInputError(
            f"rankings: query {query!r}: a document id is not text: {error}"
        ) from error
    return [doc for _, doc in ordered], [key for key, _ in ordered]
