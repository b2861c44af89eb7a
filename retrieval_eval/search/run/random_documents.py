"""What random documents of the corpus would get: every metric must be better than that.

The expected values are closed forms over the labelled documents that the corpus holds.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Final

from retrieval_eval.model.search_run import AtRandom, CorpusFacts, RandomDocuments, SearchRun
from retrieval_eval.ranking.measures import Measure, parse_measure
from retrieval_eval.search.run import Settings
from retrieval_eval.search.run.scoring import Scores
from retrieval_eval.stats.intervals import t_mean
from retrieval_eval.values import Value

_NOT_COMPARED: Final = frozenset({"Judged"})
"""Measures that are no quality: a share of judged documents need not be better than by chance."""

Outside = Mapping[str, Collection[str]]
"""Labelled documents that the corpus lacks, by query id."""


def random_documents(
    scores: Scores, corpora: Sequence[CorpusFacts], outside: Outside | None = None
) -> RandomDocuments | None:
    """Return what random documents would get on the queries of a scored run.

    Looked at are the queries that have a relevant document and were answered. A metric is better
    where the interval of its mean difference (Student's t, queries being the units) lies above 0.

    Parameters
    ----------
    scores
        The scored run.
    corpora
        With the number of documents of each; where that is not known nothing is computable
        (``no_corpus_size``).
    outside
        Labelled documents that the corpus lacks, by query id: no system can return them.

    Returns
    -------
    RandomDocuments or None
        None without such a query.
    """
    settings = scores.settings
    asked = [q for q in scores.queries if q.result.status == "ok" and q.query.n_relevant]
    asked.sort(key=lambda scored: scored.query.id)
    if not asked:
        return None
    sizes = {corpus.corpus: corpus.n_documents for corpus in corpora}
    known = []
    for scored in asked:
        query = scored.query
        lacking = frozenset((outside or {}).get(query.id, ()))
        there = _grades([g for doc, g in query.relevant.items() if doc not in lacking])
        size = sizes.get(query.corpus)
        if size is not None and settings.without_own:
            # As if the own document of every query were in its corpus.
            size -= 1
        if size is not None and size >= len(there):
            known.append((scored, _grades(query.relevant.values()), there, size))
    found = {}
    for name in settings.measures:
        if parse_measure(name).name not in _NOT_COMPARED:
            pairs = [
                (expected_at_random(name, grades, size, settings.depth, there), own)
                for scored, grades, there, size in known
                if (own := scored.scores[name].value.value) is not None
            ]
            found[name] = _mean([(e, own) for e, own in pairs if e is not None], settings)
    return RandomDocuments(n_queries=len(asked), metrics=found)


def _mean(pairs: Sequence[tuple[float, float]], settings: Settings) -> AtRandom:
    """Return the expected mean, and by how much the run is better, query by query."""
    if not pairs:
        return AtRandom(
            **Value.missing("no_corpus_size").to_json(),
            difference=None,
            difference_low=None,
            difference_high=None,
            is_beaten=None,
        )
    differences = [own - expected for expected, own in pairs]
    ends = t_mean(differences, confidence=settings.confidence)
    difference = math.fsum(differences) / len(pairs)
    low = ends.low.value
    # Without an interval all differences are equal, or there are too few of them.
    is_beaten = None if low is None else low > 0
    if ends.low.reason == "constant_input":
        is_beaten = difference > 0
    value = Value.of(math.fsum(expected for expected, _ in pairs) / len(pairs), len(pairs))
    return AtRandom(
        **value.to_json(),
        difference=difference,
        difference_low=low,
        difference_high=ends.high.value,
        is_beaten=is_beaten,
    )


def _grades(given: Collection[int]) -> tuple[int, ...]:
    return tuple(sorted((grade for grade in given if grade > 0), reverse=True))


@cache
def expected_at_random(
    name: str,
    grades: tuple[int, ...],
    n_documents: int,
    depth: int,
    there: tuple[int, ...] | None = None,
) -> float | None:
    """Return the expected value of a measure when documents come in random order.

    Parameters
    ----------
    name
        P, Recall, RR or nDCG, with its cut-off.
    grades
        Grades of the relevant documents (1 or more), the best first, at least one.
    n_documents
        Documents of the corpus, at least as many as it has relevant ones.
    depth
        Documents that are returned.
    there
        Grades of those relevant documents that the corpus has; None: it has them all.

    Returns
    -------
    float or None
        Exact; None for a measure without a closed form here.

    Examples
    --------
    >>> expected_at_random("P@5", (1, 1), 100, 50), expected_at_random("Recall@5", (2,), 100, 50)
    (0.02, 0.05)
    """
    measure = parse_measure(name)
    if measure.rel != 1 or measure.gain != "linear":
        return None
    there = grades if there is None else there
    n_relevant = len(there)
    places = min(measure.cutoff or depth, depth, n_documents)
    if measure.name == "P":
        return n_relevant * places / n_documents / (measure.cutoff or places)
    if measure.name == "Recall":
        return places / n_documents * (n_relevant / len(grades))
    if measure.name == "nDCG":
        return _expected_ndcg(measure, grades, there, n_documents, places)
    if measure.name != "RR":
        return None
    total, none_yet = 0.0, 1.0
    for rank in range(1, min(depth, n_documents) + 1):
        first_here = none_yet * min(1.0, n_relevant / (n_documents - rank + 1))
        total += first_here / rank
        none_yet -= first_here
    return total


def _expected_ndcg(
    measure: Measure,
    grades: tuple[int, ...],
    there: tuple[int, ...],
    n_documents: int,
    places: int,
) -> float:
    # Each place holds each document equally often.
    expected = sum(there) / n_documents * _discounts(places)
    ideal = grades[: measure.cutoff]
    best = math.fsum(grade / math.log2(rank + 1) for rank, grade in enumerate(ideal, 1))
    return expected / best


@cache
def _discounts(places: int) -> float:
    return math.fsum(1 / math.log2(rank + 1) for rank in range(1, places + 1))


def not_beaten(run: SearchRun) -> list[str]:
    """Return the metrics in which a run is not better than random documents."""
    found = {} if run.random is None else run.random.metrics
    return [name for name, mean in found.items() if mean.is_beaten is False]


def random_sentences(run: SearchRun, names: Sequence[str]) -> list[str]:
    """Return what random documents would get, and which metrics are no better than that.

    ``names`` are the metrics whose expected values are named.
    """
    if run.random is None:
        return []
    means = {name: run.random.metrics.get(name) for name in names if name in run.metrics}
    values = [
        f"{name} {'unknown' if mean is None or mean.value is None else f'{mean.value:.3f}'}"
        for name, mean in means.items()
    ]
    found = [f"Random documents would get {', '.join(values)}."] if values else []
    if failed := not_beaten(run):
        found.append(f"Not better than random documents: {', '.join(failed)}.")
    return found


def random_notes(baseline: SearchRun, guarded: Collection[str]) -> list[str]:
    """Return what a guard of some metrics says of a baseline that random documents would equal."""
    metrics = [name for name in not_beaten(baseline) if name in guarded]
    if not metrics:
        return []
    named = ", ".join(metrics)
    return [f"the baseline is not better than random documents in {named}: it protects nothing"]
