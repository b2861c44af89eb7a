"""The measures of one ranking in plain Python: a trial costs microseconds, not array set-up."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from functools import lru_cache
from typing import Final, TypeVar

import msgspec

from retrieval_eval.errors import BadInputError
from retrieval_eval.ranking.measures import Measure, as_measures
from retrieval_eval.values import MAX_GRADE, Value

Id = TypeVar("Id", bound=Hashable)

PRECISION_LIKE: Final = frozenset({"P", "F1", "Judged"})
"""Measures that are a share of the retrieved documents: not computable without any."""


class Judged(msgspec.Struct, frozen=True):
    """The judged documents of one ranking: ``found`` holds (rank, grade) by rank.

    ``grades`` are all judgements of the query in ascending order, found or not.
    """

    n_retrieved: int
    found: tuple[tuple[int, int], ...]
    grades: tuple[int, ...]
    _by_rel: dict[int, tuple[list[int], int]] = {}

    def hits(self, measure: Measure) -> list[int]:
        """Return the ranks of relevant documents within the cut-off."""
        ranks = self._of(measure.rel)[0]
        if measure.cutoff is None or not ranks or ranks[-1] <= measure.cutoff:
            return ranks
        return ranks[: bisect_right(ranks, measure.cutoff)]

    def n_relevant(self, rel: int) -> int:
        """Return how many documents have a grade of at least ``rel``."""
        return self._of(rel)[1]

    def _of(self, rel: int) -> tuple[list[int], int]:
        known = self._by_rel.get(rel)
        if known is None:
            ranks = [rank for rank, grade in self.found if grade >= rel]
            known = ranks, len(self.grades) - bisect_left(self.grades, rel)
            self._by_rel[rel] = known
        return known


def rank_metrics(
    ranked: Iterable[Id],
    relevant: Collection[Id] | Mapping[Id, int],
    measures: Iterable[str | Measure],
) -> dict[str, Value]:
    """Return each measure of one ranking without scores, such as the files a trial retrieved.

    The order is the ranking; of a repeated document the first occurrence counts. Definitions are
    those of trec_eval, but an agent that retrieved nothing has no precision, while
    `evaluate_rankings` gives 0 for an empty ranking. Each value rests on the number of relevant
    documents, P and Judged on the number of places they look at.

    Parameters
    ----------
    ranked
        Document ids in order of appearance.
    relevant
        The relevant ids (grade 1 each), or a mapping from judged id to grade.
    measures
        Names such as ``P@5``, ``Recall``, ``nDCG@10`` (see `parse_measure`).

    Returns
    -------
    dict
        Keyed by the measure's name, in the order given. Not computable: with nothing relevant
        everything but Judged (``no_ground_truth``); with nothing retrieved P, F1 and Judged
        (``nothing_retrieved``), while the others are 0.

    Raises
    ------
    BadInputError
        When a measure is unknown, or a grade above 1000.

    Examples
    --------
    >>> values = rank_metrics(["x", "b", "x", "a"], {"a", "b"}, ["P@2", "RR", "Recall"])
    >>> {name: value.value for name, value in values.items()}
    {'P@2': 0.5, 'RR': 0.5, 'Recall': 1.0}
    """
    grades = relevant if isinstance(relevant, Mapping) else dict.fromkeys(relevant, 1)
    distinct = dict.fromkeys(ranked)
    if max(grades.values(), default=0) > MAX_GRADE:
        raise BadInputError(f"grades go up to {MAX_GRADE}")
    wanted = grades.keys() & distinct.keys()
    found = (
        tuple([(rank, grades[doc]) for rank, doc in enumerate(distinct, 1) if doc in wanted])
        if wanted
        else ()
    )
    judged = Judged(len(distinct), found, tuple(sorted(grades.values())))
    return of_judged(judged, measures if isinstance(measures, str) else tuple(measures))


def of_judged(judged: Judged, measures: str | tuple[str | Measure, ...]) -> dict[str, Value]:
    """Return what :func:`rank_metrics` does, of a ranking whose judged documents are known."""
    return {name: _value(measure, judged) for name, measure in _named(measures)}


@lru_cache(maxsize=64)
def _named(measures: str | tuple[str | Measure, ...]) -> tuple[tuple[str, Measure], ...]:
    return tuple((str(measure), measure) for measure in as_measures(measures))


def defined(measure: Measure, judged: Judged) -> float:
    """Return a measure where an empty ranking scores 0; NaN where it is not computable."""
    if measure.name == "Judged":
        is_computable = bool(judged.n_retrieved and judged.grades)
    else:
        is_computable = judged.n_relevant(measure.rel) > 0
    if not is_computable:
        return math.nan
    return _DEFINITIONS[measure.name](measure, judged) if judged.n_retrieved else 0.0


def _value(measure: Measure, judged: Judged) -> Value:
    n_relevant = judged.n_relevant(measure.rel)
    if not (n_relevant if measure.name != "Judged" else judged.grades):
        return Value.missing("no_ground_truth")
    if not judged.n_retrieved and measure.name in PRECISION_LIKE:
        return Value.missing("nothing_retrieved")
    value = _DEFINITIONS[measure.name](measure, judged)
    if measure.name == "P":
        return Value.of(value, measure.cutoff or judged.n_retrieved)
    if measure.name == "Judged":
        return Value.of(value, _places(measure, judged))
    return Value.of(value, n_relevant)


def _places(measure: Measure, judged: Judged) -> int:
    return min(measure.cutoff or judged.n_retrieved, judged.n_retrieved)


def _precision(measure: Measure, judged: Judged) -> float:
    # A short list counts its missing tail as non-relevant.
    return len(judged.hits(measure)) / (measure.cutoff or judged.n_retrieved)


def _recall(measure: Measure, judged: Judged) -> float:
    return len(judged.hits(measure)) / judged.n_relevant(measure.rel)


def _f1(measure: Measure, judged: Judged) -> float:
    # 2PR / (P + R) with P = hits / k and R = hits / relevant.
    k = measure.cutoff or judged.n_retrieved
    return 2 * len(judged.hits(measure)) / (k + judged.n_relevant(measure.rel))


def _reciprocal_rank(measure: Measure, judged: Judged) -> float:
    hits = judged.hits(measure)
    return 1 / hits[0] if hits else 0.0


def _average_precision(measure: Measure, judged: Judged) -> float:
    precisions = [place / rank for place, rank in enumerate(judged.hits(measure), 1)]
    return _sum(precisions) / judged.n_relevant(measure.rel)


def _ndcg(measure: Measure, judged: Judged) -> float:
    def gain(ranked_grades: Iterable[tuple[int, int]]) -> float:
        return _sum(
            (grade if measure.gain == "linear" else 2.0**grade - 1) / math.log2(rank + 1)
            for rank, grade in ranked_grades
            if grade > 0 and (measure.cutoff is None or rank <= measure.cutoff)
        )

    ideal = judged.grades[::-1][: measure.cutoff]
    return gain(judged.found) / gain(enumerate(ideal, 1))


def _sum(terms: Iterable[float]) -> float:
    """Return a sum that rounds after each term, as sums of arrays do; `sum` may not."""
    total = 0.0
    for term in terms:
        total += term
    return total


def _success(measure: Measure, judged: Judged) -> float:
    return 1.0 if judged.hits(measure) else 0.0


def _r_precision(measure: Measure, judged: Judged) -> float:
    n_relevant = judged.n_relevant(measure.rel)
    return len(judged.hits(measure._replace(cutoff=n_relevant))) / n_relevant


def _bpref(measure: Measure, judged: Judged) -> float:
    # trec_eval: a negative grade counts as unjudged.
    n_relevant = judged.n_relevant(measure.rel)
    n_not_relevant = judged.n_relevant(0) - n_relevant
    above, total = 0, 0.0
    for _, grade in judged.found:
        if grade >= measure.rel:
            bound = min(n_not_relevant, n_relevant)
            total += 1 - min(above, n_relevant) / bound if above else 1.0
        elif grade >= 0:
            above += 1
    return total / n_relevant


def _judged(measure: Measure, judged: Judged) -> float:
    places = _places(measure, judged)
    return sum(rank <= places for rank, _ in judged.found) / places


_DEFINITIONS: Final[dict[str, Callable[[Measure, Judged], float]]] = {
    "P": _precision,
    "Recall": _recall,
    "F1": _f1,
    "RR": _reciprocal_rank,
    "AP": _average_precision,
    "nDCG": _ndcg,
    "Success": _success,
    "Rprec": _r_precision,
    "bpref": _bpref,
    "Judged": _judged,
}
