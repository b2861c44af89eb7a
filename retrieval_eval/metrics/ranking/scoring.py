"""The measures of many rankings at once, as operations on the ranks and grades of hits."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from retrieval_eval.metrics.ranking.hits import Hits
from retrieval_eval.metrics.ranking.ids import Ints
from retrieval_eval.metrics.ranking.measures import Measure

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Scorer:
    """Hits and all judgements of the same queries, with what several measures share.

    ``query`` and ``grades`` are the judgements, found or not. Definitions are those of
    `rank_metrics`, which a test compares with this, but P and F1 of an empty ranking are 0.
    """

    hits: Hits
    query: Ints
    grades: Ints
    _relevant: dict[int, Floats] = field(default_factory=dict)
    _within: dict[tuple[int, int | None], Floats] = field(default_factory=dict)
    _ideal: list[Ints] = field(default_factory=list)

    def score(self, measure: Measure) -> Floats:
        """Return one number a query, 0 where the measure is not computable."""
        with np.errstate(invalid="ignore", divide="ignore"):
            values = self._defined(measure)
        values[self.lacks_ground_truth(measure) | self.lacks_retrieved(measure)] = 0.0
        return values

    def lacks_ground_truth(self, measure: Measure) -> NDArray[np.bool_]:
        """Return the queries with nothing relevant (for Judged: nothing judged)."""
        is_judged = measure.name == "Judged"
        n = self._count(self.query) if is_judged else self.n_relevant(measure.rel)
        return np.equal(n, 0)

    def lacks_retrieved(self, measure: Measure) -> NDArray[np.bool_]:
        """Return the queries without documents, if the measure is the share of judged documents."""
        return np.equal(self.hits.n_retrieved, 0) & (measure.name == "Judged")

    def n_relevant(self, rel: int) -> Floats:
        """Return how many documents of each query have a grade of at least ``rel``."""
        if rel not in self._relevant:
            self._relevant[rel] = self._count(self.query[self.grades >= rel])
        return self._relevant[rel]

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
                depth = np.minimum(places, self.hits.n_retrieved)
                return self._count(self.hits.query[self._is_within(measure.cutoff)]) / depth

    def _n_hits(self, measure: Measure) -> Floats:
        key = measure.rel, measure.cutoff
        if key not in self._within:
            is_hit = self._is_within(measure.cutoff) & (self.hits.grade >= measure.rel)
            self._within[key] = self._count(self.hits.query[is_hit])
        return self._within[key]

    def _is_within(self, cutoff: int | None) -> NDArray[np.bool_]:
        return np.less_equal(self.hits.rank, cutoff or np.inf)

    def _count(self, query: Ints) -> Floats:
        return np.bincount(query, minlength=len(self.hits.n_retrieved)).astype(np.float64)

    def _total(self, query: Ints, weights: Floats) -> Floats:
        return np.bincount(query, weights, minlength=len(self.hits.n_retrieved)).astype(float)

    def _chosen(self, measure: Measure) -> tuple[Ints, Ints]:
        is_hit = self._is_within(measure.cutoff) & (self.hits.grade >= measure.rel)
        return self.hits.query[is_hit], self.hits.rank[is_hit]

    def _reciprocal_rank(self, measure: Measure) -> Floats:
        query, rank = self._chosen(measure)
        values = np.zeros(len(self.hits.n_retrieved))
        starts = np.flatnonzero(np.diff(query, prepend=-1))
        values[query[starts]] = 1 / rank[starts]
        return values

    def _average_precision(self, measure: Measure) -> Floats:
        query, rank = self._chosen(measure)
        return self._total(query, (_place_in_run(query) + 1) / rank)

    def _ndcg(self, measure: Measure) -> Floats:
        if not self._ideal:
            is_gain = self.grades > 0
            bits = int(self.grades.max(initial=0)).bit_length()
            top = (1 << bits) - 1
            # One key sorts faster than two: queries ascend and grades descend.
            keys = np.sort((self.query[is_gain] << bits) + top - self.grades[is_gain])
            query = keys >> bits
            self._ideal.extend((query, _place_in_run(query) + 1, top - (keys & top)))
        best = self._gain(measure, *self._ideal)
        return self._gain(measure, self.hits.query, self.hits.rank, self.hits.grade) / best

    def _gain(self, measure: Measure, query: Ints, rank: Ints, grade: Ints) -> Floats:
        is_in = (grade > 0) & (rank <= (measure.cutoff or np.inf))
        gain = grade[is_in].astype(np.float64)
        if measure.gain == "exp":
            gain = np.exp2(gain) - 1
        return self._total(query[is_in], gain / np.log2(rank[is_in] + 1))

    def _bpref(self, rel: int) -> Floats:
        # trec_eval: a negative grade counts as unjudged.
        query, grade = self.hits.query, self.hits.grade
        is_hit, is_miss = grade >= rel, (grade >= 0) & (grade < rel)
        relevant = self.n_relevant(rel)
        misses = self._count(self.query[(self.grades >= 0) & (self.grades < rel)])
        running = np.cumsum(is_miss)
        start = np.flatnonzero(np.diff(query, prepend=-1))
        before = np.zeros(len(relevant))
        before[query[start]] = running[start] - is_miss[start]
        above = (running - before[query])[is_hit]
        of = query[is_hit]
        bound = np.minimum(misses, relevant)[of]
        share = np.where(above > 0, np.minimum(above, relevant[of]) / np.maximum(bound, 1), 0.0)
        return self._total(of, 1 - share)


def _place_in_run(query: Ints) -> Ints:
    """Return 0, 1, 2, ... within each run of equal numbers."""
    starts = np.flatnonzero(np.diff(query, prepend=-1))
    sizes = np.diff(np.append(starts, len(query)))
    places: Ints = np.arange(len(query)) - np.repeat(starts, sizes)
    return places
