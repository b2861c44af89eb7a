"""The measures of many rankings at once, as operations on the ranks and grades of hits."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from retrieval_eval.ranking.hits import Hits
from retrieval_eval.ranking.ids import Ints
from retrieval_eval.ranking.measures import MAX_CUTOFF, Gain, Measure
from retrieval_eval.ranking.table import Floats, padded

T = TypeVar("T")

_ALL: Final = MAX_CUTOFF + 1
"""The depth of a measure without cut-off."""


@dataclass(frozen=True, slots=True)
class Scorer:
    """Hits and all judgements of the same queries, with what several ``measures`` share.

    ``query`` and ``grades`` are the judgements, found or not. Definitions are those of
    `rank_metrics`, which a test compares with this, but P and F1 of an empty ranking are 0.
    """

    hits: Hits
    query: Ints
    grades: Ints
    measures: tuple[Measure, ...]
    _shared: dict[object, Any] = field(default_factory=dict)

    def of(self, hits: Hits) -> Scorer:
        """Return the same for other ranks of the same documents."""
        return Scorer(hits, self.query, self.grades, self.measures)

    def score(self, measure: Measure, undefined: float = 0.0) -> Floats:
        """Return one number a query, ``undefined`` where the measure is not computable."""
        with np.errstate(invalid="ignore", divide="ignore"):
            values = self._defined(measure)
        values[self.lacks_ground_truth(measure)] = undefined
        if measure.name == "Judged":
            values[self.lacks_retrieved(measure)] = undefined
        return values

    def lacks_ground_truth(self, measure: Measure) -> NDArray[np.bool_]:
        """Return the queries with nothing relevant (for Judged: nothing judged)."""
        if measure.name == "Judged":
            return np.equal(self._count(self.query), 0)
        return self._once(("lacks", measure.rel), lambda: np.equal(self.n_relevant(measure.rel), 0))

    def lacks_retrieved(self, measure: Measure) -> NDArray[np.bool_]:
        """Return the queries without documents, if the measure is the share of judged documents."""
        return np.equal(self.hits.n_retrieved, 0) & (measure.name == "Judged")

    def n_relevant(self, rel: int) -> Floats:
        """Return how many documents of each query have a grade of at least ``rel``."""
        return self._once(
            ("relevant", rel), lambda: self._count(self.query[self.grades >= rel]).astype(float)
        )

    def _once(self, key: object, compute: Callable[[], T]) -> T:
        if key not in self._shared:
            self._shared[key] = compute()
        found: T = self._shared[key]
        return found

    def _defined(self, measure: Measure) -> Floats:
        relevant = self.n_relevant(measure.rel)
        places = self.hits.n_retrieved if measure.cutoff is None else measure.cutoff
        match measure.name:
            case "P":
                return self._n_hits(measure) / np.maximum(places, 1)
            case "Recall":
                return self._n_hits(measure) / relevant
            case "F1":
                return 2 * self._n_hits(measure) / (places + relevant)
            case "Success":
                return (self._n_hits(measure) > 0).astype(np.float64)
            case "RR":
                return self._reciprocal_rank(measure)
            case "AP":
                return self._average_precision(measure) / relevant
            case "nDCG":
                return self._ndcg(measure)
            case "Rprec":
                is_early = self.hits.rank <= relevant[self.hits.query]
                is_hit = is_early & (self.hits.grade >= measure.rel)
                return self._count(self.hits.query[is_hit]) / relevant
            case "bpref":
                return self._bpref(measure.rel) / relevant
            case _:
                is_within = self.hits.rank <= (measure.cutoff or np.inf)
                depth = np.minimum(places, self.hits.n_retrieved)
                return self._count(self.hits.query[is_within]) / depth

    def _cutoffs(self) -> list[int]:
        """Return the cut-offs of all measures, each once and in ascending order."""
        return self._once(
            "cutoffs", lambda: sorted({m.cutoff for m in self.measures if m.cutoff is not None})
        )

    def _level(self, measure: Measure) -> int:
        """Return the place of a cut-off among all, which is the last place where there is none."""
        cutoffs = self._cutoffs()
        return len(cutoffs) if measure.cutoff is None else cutoffs.index(measure.cutoff)

    def _levels(self, rank: Ints) -> Ints:
        """Return the place of the first cut-off that includes each rank."""
        cutoffs = self._cutoffs()
        top = min(cutoffs[-1] if cutoffs else 0, int(rank.max(initial=0)))
        level_of = np.searchsorted(cutoffs, np.arange(top + 2))
        levels: Ints = level_of[np.minimum(rank, top + 1)]
        return levels

    def _n_hits(self, measure: Measure) -> Floats:
        counts = self._once(("hits", measure.rel), lambda: self._hits_by_level(measure.rel))
        found: Floats = counts[self._level(measure)]
        return found

    def _hits_by_level(self, rel: int) -> Floats:
        """Return how many hits each query has within each cut-off: one row a cut-off."""
        n_levels, n_queries = len(self._cutoffs()) + 1, len(self.hits.n_retrieved)
        of = self._relevant_hits(rel)
        cells = self._levels(of.rank) * n_queries + of.query
        counts = np.bincount(cells, minlength=n_levels * n_queries).reshape(n_levels, n_queries)
        return np.cumsum(counts, axis=0).astype(np.float64)

    def _relevant_hits(self, rel: int) -> _Ranked:
        def compute() -> _Ranked:
            is_hit = self.hits.grade >= rel
            return _Ranked(self.hits.query[is_hit], self.hits.rank[is_hit], self.hits.grade[is_hit])

        return self._once(("ranked", rel), compute)

    def _count(self, query: Ints) -> Ints:
        counts: Ints = np.bincount(query, minlength=len(self.hits.n_retrieved))
        return counts

    def _total(self, query: Ints, weights: Floats) -> Floats:
        return np.bincount(query, weights, minlength=len(self.hits.n_retrieved)).astype(float)

    def _within(self, measure: Measure) -> tuple[Ints, Ints]:
        """Return query and rank of the relevant documents up to the cut-off."""
        of = self._relevant_hits(measure.rel)
        if measure.cutoff is None:
            return of.query, of.rank
        is_within = of.rank <= measure.cutoff
        return of.query[is_within], of.rank[is_within]

    def _reciprocal_rank(self, measure: Measure) -> Floats:
        query, rank = self._within(measure)
        values = np.zeros(len(self.hits.n_retrieved))
        first = _begins(query)
        values[query[first]] = 1 / rank[first]
        return values

    def _average_precision(self, measure: Measure) -> Floats:
        query, rank = self._within(measure)
        return self._total(query, (_place_in_run(query) + 1) / rank)

    def _ndcg(self, measure: Measure) -> Floats:
        depths = self._once("depths", lambda: self._depths("nDCG"))
        best, found = self._once(
            ("gains", measure.gain),
            lambda: (self._best(measure.gain, depths), self._found(measure.gain, depths)),
        )
        level = depths.index(measure.cutoff or _ALL)
        values: Floats = found[level] / best[level]
        return values

    def _depths(self, name: str) -> list[int]:
        """Return the cut-offs of one kind of measure, each once and in ascending order."""
        return sorted({m.cutoff or _ALL for m in self.measures if m.name == name})

    def _best(self, gain: Gain, depths: list[int]) -> Floats:
        """Return the discounted gains of the best order within each depth: one row a depth."""
        sizes = np.bincount(self.query, minlength=len(self.hits.n_retrieved))
        grades = np.maximum(self.grades, 0).astype(np.int16)
        best = np.zeros((len(depths), len(sizes)))
        for segments, _, matrix in padded(sizes, -grades, 0):
            matrix.sort(axis=1)
            width = min(matrix.shape[1], depths[-1])
            grade = -matrix[:, :width].astype(np.float64)
            # One after the other by rank: other cut-offs must not change how a sum is rounded.
            sums = np.cumsum(_gains(gain, grade) / _discounts(np.arange(1, width + 1)), axis=1)
            for row, depth in zip(best, depths, strict=True):
                row[segments] = sums[:, min(depth, width) - 1]
        return best

    def _found(self, gain: Gain, depths: list[int]) -> Floats:
        """Return the discounted gains of each query within each depth: one row a depth."""
        of = self._relevant_hits(1)
        near = np.flatnonzero(of.rank <= depths[-1])
        query, rank = of.query[near], of.rank[near]
        gains = _gains(gain, of.grade[near].astype(np.float64)) / _discounts(rank)
        # Few different numbers of few bits: a stable sort is one pass.
        levels = np.searchsorted(depths, np.arange(int(rank.max(initial=0)) + 1))[rank]
        order = np.argsort(levels.astype(np.uint16), kind="stable")
        ends = np.cumsum(np.bincount(levels, minlength=len(depths))).tolist()
        total = np.zeros(len(self.hits.n_retrieved))
        rows = []
        for start, end in pairwise([0, *ends]):
            part = order[start:end]
            np.add.at(total, query[part], gains[part])
            rows.append(total.copy())
        return np.array(rows)

    def _bpref(self, rel: int) -> Floats:
        # trec_eval: a negative grade counts as unjudged.
        query, grade = self.hits.query, self.hits.grade
        is_hit, is_miss = grade >= rel, (grade >= 0) & (grade < rel)
        relevant = self.n_relevant(rel)
        misses = self._count(self.query[(self.grades >= 0) & (self.grades < rel)])
        running = np.cumsum(is_miss)
        start = _begins(query)
        before = np.zeros(len(relevant))
        before[query[start]] = running[start] - is_miss[start]
        above = (running - before[query])[is_hit]
        of = query[is_hit]
        bound = np.minimum(misses, relevant)[of]
        share = np.where(above > 0, np.minimum(above, relevant[of]) / np.maximum(bound, 1), 0.0)
        return self._total(of, 1 - share)


class _Ranked(NamedTuple):
    """Documents of many queries, by query and rank."""

    query: Ints
    rank: Ints
    grade: Ints


def _gains(gain: Gain, grade: Floats) -> Floats:
    return grade if gain == "linear" else np.exp2(grade) - 1


def _discounts(rank: Ints) -> Floats:
    """Return log2(rank + 1) as the standard library computes it, once a rank."""
    table = np.zeros(int(rank.max(initial=0)) + 1)
    seen = np.flatnonzero(np.bincount(rank, minlength=1))
    table[seen] = [math.log2(place + 1) for place in seen.tolist()]
    found: Floats = table[rank]
    return found


def _begins(query: Ints) -> Ints:
    """Return where runs of equal numbers begin."""
    return np.append(0, np.flatnonzero(query[1:] != query[:-1]) + 1)[: len(query)]


def _place_in_run(query: Ints) -> Ints:
    """Return 0, 1, 2, ... within each run of equal numbers."""
    begins = _begins(query)
    places: Ints = np.arange(len(query))
    return places - np.repeat(begins, np.diff(begins, append=len(query)))
