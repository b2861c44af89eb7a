"""What systems without skill would get: every metric must be better than all of them.

Three of them see the same queries and labels. ``random`` returns documents of the corpus in random
order: its expected values are closed forms. ``permuted`` is the run itself, scored with the labels
of other queries of the same corpus: it is what the run owes to documents that suit many queries.
``popular`` returns the documents that are relevant to most other queries of the corpus, whatever is
asked: it is what the labels owe to them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Final

import numpy as np

from retrieval_eval.metrics.ranking import evaluate_rankings
from retrieval_eval.metrics.ranking.measures import Measure, parse_measure
from retrieval_eval.model.search_run import (
    CorpusFacts,
    NullMean,
    NullSystem,
    NullSystems,
    PopularDocument,
    SearchRun,
)
from retrieval_eval.search.scoring import QueryScore, Scores
from retrieval_eval.search.settings import CONVENTION, Settings
from retrieval_eval.stats.intervals import t_mean
from retrieval_eval.values import Value, counted

WORDS: Final = {
    "random": "random documents",
    "permuted": "the labels of other queries",
    "popular": "the most popular documents",
}
"""The null systems in print."""

MOST_SHIFTS: Final = 10
_MOST_PAIRS: Final = 10_000
_NOT_COMPARED: Final = frozenset({"Judged"})
"""Measures that are no quality: a share of judged documents need not be better than by chance."""

Grades = Mapping[str, int]
Column = dict[str, float]
"""A metric by query id."""


Outside = Mapping[str, Collection[str]]
"""Labelled documents that the corpus lacks, by query id."""


def null_systems(
    scores: Scores, corpora: Sequence[CorpusFacts], outside: Outside | None = None
) -> NullSystems | None:
    """Return what systems without skill get on the queries of a scored run.

    Looked at are the queries that have a relevant document and were answered. A metric is beaten
    where the interval of its mean difference to a null system (Student's t, queries being the
    units) lies above 0.

    Parameters
    ----------
    scores
        The scored run.
    corpora
        With the number of documents of each, where that is known; without it ``random`` is not
        computable (``no_corpus_size``).
    outside
        Labelled documents that the corpus lacks, by query id: no system can return them.

    Returns
    -------
    NullSystems or None
        None without such a query.
    """
    settings = scores.settings
    asked = [q for q in scores.queries if q.result.status == "ok" and q.query.n_relevant]
    asked.sort(key=lambda scored: scored.query.id)
    if not asked:
        return None
    names = [n for n in settings.measures if parse_measure(n).name not in _NOT_COMPARED]
    sizes = {corpus.corpus: corpus.n_documents for corpus in corpora}
    by_corpus: dict[str, list[QueryScore]] = {}
    for scored in asked:
        by_corpus.setdefault(scored.query.corpus, []).append(scored)
    n_shifts = max(1, min(MOST_SHIFTS, _MOST_PAIRS // len(asked)))
    columns = {
        "random": _random(asked, sizes, names, settings, outside),
        "permuted": _permuted(by_corpus, names, settings, n_shifts),
        "popular": _popular(by_corpus, names, settings, outside),
    }
    gaps = {"random": "no_corpus_size", "permuted": "too_few_values", "popular": "too_few_values"}
    return NullSystems(
        seed=settings.seed,
        n_permutations=n_shifts,
        n_queries=len(asked),
        systems={
            system: NullSystem(
                metrics={
                    name: _mean(name, found.get(name, {}), asked, settings, gaps[system])
                    for name in names
                }
            )
            for system, found in columns.items()
        },
        popular=tuple(_most_popular(by_corpus, outside)),
    )


def _mean(
    name: str, column: Column, asked: Sequence[QueryScore], settings: Settings, gap: str
) -> NullMean:
    """Return the mean of a null system, and by how much the run is better, query by query."""
    pairs = [
        (column[scored.query.id], scored.scores[name].value.value)
        for scored in asked
        if scored.query.id in column
    ]
    known = [(null, own) for null, own in pairs if own is not None]
    if not known:
        missing = Value.missing(gap)
        return NullMean(
            **missing.to_json(),
            ci_low=None,
            ci_high=None,
            difference=None,
            difference_low=None,
            difference_high=None,
            is_beaten=None,
        )
    nulls = [null for null, _ in known]
    gains = [own - null for null, own in known]
    ends = t_mean(nulls, confidence=settings.confidence)
    gained = t_mean(gains, confidence=settings.confidence)
    difference = math.fsum(gains) / len(gains)
    low = gained.low.value
    # Without an interval all differences are equal, or there are too few of them.
    is_beaten = None if low is None else low > 0
    if gained.low.reason == "constant_input":
        is_beaten = difference > 0
    return NullMean(
        **Value.of(math.fsum(nulls) / len(nulls), len(nulls)).to_json(),
        ci_low=None if ends.low.value is None else max(ends.low.value, 0.0),
        ci_high=None if ends.high.value is None else min(ends.high.value, 1.0),
        difference=difference,
        difference_low=low,
        difference_high=gained.high.value,
        is_beaten=is_beaten,
    )


# --- random ---


def _random(
    asked: Sequence[QueryScore],
    sizes: Mapping[str, int | None],
    names: Sequence[str],
    settings: Settings,
    outside: Outside | None,
) -> dict[str, Column]:
    found: dict[str, Column] = {name: {} for name in names}
    for scored in asked:
        size = sizes.get(scored.query.corpus)
        grades = _grades(scored.query.relevant.values())
        there = _grades(_of_corpus(scored, outside).values())
        if size is None or size < len(there):
            continue
        for name in names:
            value = expected_at_random(name, grades, size, settings.depth, there)
            if value is not None:
                found[name][scored.query.id] = value
    return found


def _grades(given: Collection[int]) -> tuple[int, ...]:
    return tuple(sorted((grade for grade in given if grade > 0), reverse=True))


def _of_corpus(scored: QueryScore, outside: Outside | None) -> Grades:
    """Return the labels of a query whose documents are in its corpus, as far as that is known."""
    query = scored.query
    lacking = frozenset((outside or {}).get(query.id, ()))
    return {doc: grade for doc, grade in query.relevant.items() if doc not in lacking}


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


# --- the labels of other queries ---


def _permuted(
    by_corpus: Mapping[str, Sequence[QueryScore]],
    names: Sequence[str],
    settings: Settings,
    n_shifts: int,
) -> dict[str, Column]:
    """Return the mean of each query over labels of other queries of its corpus.

    The queries of a corpus are put in a random circle, and each gets the labels of the ones 1, 2, …
    places on: no query ever gets its own, and in each round every query's labels are used once.
    """
    rng = np.random.default_rng(settings.seed)
    qrels: dict[str, Grades] = {}
    runs: dict[str, dict[str, float]] = {}
    owners: list[str] = []
    for corpus in sorted(by_corpus):
        own = by_corpus[corpus]
        circle = [own[place] for place in rng.permutation(len(own)).tolist()]
        rankings = [{found.doc: found.score for found in q.result.ranking} for q in circle]
        for shift in range(1, min(n_shifts, len(own) - 1) + 1):
            for place, scored in enumerate(circle):
                key = str(len(owners))
                owners.append(scored.query.id)
                qrels[key] = circle[(place + shift) % len(circle)].query.relevant
                runs[key] = rankings[place]
    if not owners:
        return {}
    found = evaluate_rankings(qrels, runs, names, convention=CONVENTION)
    return {name: _averages(owners, found.scores[name].tolist()) for name in names}


def _averages(owners: Sequence[str], values: Sequence[float]) -> Column:
    sums: dict[str, list[float]] = {}
    for owner, value in zip(owners, values, strict=True):
        sums.setdefault(owner, []).append(value)
    return {owner: math.fsum(own) / len(own) for owner, own in sums.items()}


# --- the most popular documents ---


def _popular(
    by_corpus: Mapping[str, Sequence[QueryScore]],
    names: Sequence[str],
    settings: Settings,
    outside: Outside | None,
) -> dict[str, Column]:
    qrels: dict[str, Grades] = {}
    runs: dict[str, dict[str, float]] = {}
    for own in by_corpus.values():
        if len(own) < 2:
            continue
        counts = _popularity(own, outside)
        ranked = sorted(counts, key=lambda doc: (-counts[doc], doc))
        for scored in own:
            relevant = scored.query.relevant
            # Nothing is known of its own labels, so they count for its neighbours only.
            mine = {doc for doc, grade in _of_corpus(scored, outside).items() if grade > 0}
            chosen = ranked[: settings.depth + len(mine)]
            others = {doc: counts[doc] - (doc in mine) for doc in chosen}
            order = sorted(
                (doc for doc in others if others[doc]), key=lambda doc: (-others[doc], doc)
            )[: settings.depth]
            qrels[scored.query.id] = relevant
            runs[scored.query.id] = {doc: float(-place) for place, doc in enumerate(order)}
    if not qrels:
        return {}
    found = evaluate_rankings(qrels, runs, names, convention=CONVENTION)
    return {
        name: dict(zip(found.query_ids, found.scores[name].tolist(), strict=True)) for name in names
    }


def _popularity(own: Sequence[QueryScore], outside: Outside | None) -> Counter[str]:
    return Counter(
        doc for scored in own for doc, grade in _of_corpus(scored, outside).items() if grade > 0
    )


def _most_popular(
    by_corpus: Mapping[str, Sequence[QueryScore]], outside: Outside | None
) -> list[PopularDocument]:
    found = []
    for corpus, own in sorted(by_corpus.items()):
        counts = _popularity(own, outside)
        if not counts:
            continue
        doc = min(counts, key=lambda each: (-counts[each], each))
        found.append(
            PopularDocument(corpus=corpus, doc=doc, n_relevant=counts[doc], n_queries=len(own))
        )
    return found


# --- in words ---


def not_beaten(block: NullSystems) -> list[tuple[str, str]]:
    """Return each null system and metric of it that the run is not better than."""
    return [
        (system, name)
        for system, found in block.systems.items()
        for name, mean in found.metrics.items()
        if mean.is_beaten is False
    ]


def null_sentences(run: SearchRun, names: Sequence[str]) -> list[str]:
    """Return what systems without skill would get, and which metrics are no better than that.

    Parameters
    ----------
    names
        Metrics whose null values are named.
    """
    block = run.null_systems
    if block is None:
        return []
    values = [
        f"{name} {' / '.join(_value(block, system, name) for system in WORDS)}"
        for name in names
        if name in run.metrics
    ]
    listed = " / ".join(WORDS.values())
    found = [f"Without skill ({listed}): {', '.join(values)}."] if values else []
    failed = not_beaten(block)
    for system in WORDS:
        metrics = [name for each, name in failed if each == system]
        if metrics:
            found.append(
                f"Not better than {WORDS[system]}: {', '.join(metrics)}{_why(block, system)}."
            )
    return found


def _value(block: NullSystems, system: str, name: str) -> str:
    mean = block.systems[system].metrics.get(name)
    return "unknown" if mean is None or mean.value is None else f"{mean.value:.3f}"


def _why(block: NullSystems, system: str) -> str:
    """Return the document that suits most queries, where that may be why."""
    worst = max(block.popular, key=lambda each: each.n_relevant / each.n_queries, default=None)
    if system == "random" or worst is None or worst.n_relevant < 2:
        return ""
    queries = f"{worst.n_relevant:,} of {counted(worst.n_queries, 'query')}"
    return f" (document {worst.doc} is relevant to {queries} of {worst.corpus})"


def null_notes(baseline: SearchRun, guarded: Collection[str], only: str | None = None) -> list[str]:
    """Return what a guard of some metrics says of a baseline that a null system would equal.

    With ``only`` one null system is looked at.
    """
    block = baseline.null_systems
    failed = [] if block is None else not_beaten(block)
    found = []
    for system in WORDS:
        metrics = [name for each, name in failed if each == system and name in guarded]
        if metrics and block is not None and only in (None, system):
            found.append(
                f"the baseline is not better than {WORDS[system]} in {', '.join(metrics)}"
                f"{_why(block, system)}: a guard of these protects nothing"
            )
    return found
