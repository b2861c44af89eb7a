"""Scores of a run: each query, and means with everything that qualifies them."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Final

from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.model.gold import GoldQuery, GoldSet
from retrieval_eval.model.search_run import MetricMean, RunSlice
from retrieval_eval.ranking import RankingResult, evaluate_rankings, parse_measure
from retrieval_eval.ranking.single import Judged, defined
from retrieval_eval.search.ask import QueryResult, ScoredDoc
from retrieval_eval.search.run import CONVENTION, Settings
from retrieval_eval.stats.intervals import bootstrap_mean
from retrieval_eval.values import Interval, Value

Qrels = Mapping[str, Mapping[str, int]]

NO_NAME: Final = "(none)"
"""The slice of queries that name no area or no origin, so that slices add up to the whole."""

DIMENSIONS: Final[Mapping[str, Callable[[GoldQuery], str]]] = {
    "corpus": lambda query: query.corpus,
    "area": lambda query: query.area or NO_NAME,
    "origin": lambda query: query.origin or NO_NAME,
    "source": lambda query: query.source,
}
"""What a run is sliced by."""


@dataclass(frozen=True, slots=True)
class Score:
    """One measure of one query, its range over orders of ties, and its unjudged upper bound.

    The three numbers are None where ``value`` is not computable, ``unjudged_high`` also where the
    measure has no such bound (Judged). ``is_lost`` says that there would be a value, had the query
    not failed: it may be anything from 0 to 1.
    """

    value: Value
    tie_low: float | None = None
    tie_high: float | None = None
    unjudged_high: float | None = None
    is_lost: bool = False


@dataclass(frozen=True, slots=True)
class QueryScore:
    """One query, what came back for it, and its measures by name."""

    query: GoldQuery
    result: QueryResult
    scores: Mapping[str, Score]


@dataclass(frozen=True, slots=True)
class Scores:
    """A scored run: its queries in the order of the gold set, all of them, and slices.

    One that ``is_repeat`` has means over all of them only (`score_run`).
    """

    settings: Settings
    queries: tuple[QueryScore, ...]
    overall: RunSlice
    slices: Mapping[str, Mapping[str, RunSlice]]
    is_repeat: bool = False


def score_run(
    gold: GoldSet,
    results: Sequence[QueryResult],
    settings: Settings,
    *,
    is_repeat: bool = False,
) -> Scores:
    """Score what a retriever returned against the gold set.

    Measures are those of `evaluate_rankings` under the convention ``trec``: an answerable query
    that came back empty scores 0 on all of them, P included (Judged, a share of what was
    retrieved, is not computable: ``nothing_retrieved``). Queries without a document of grade 1 or
    more, unanswerable ones among them, are not computable (``no_ground_truth``), as are failed
    ones (``query_failed``); both are counted.

    Parameters
    ----------
    results
        One for each query to be scored; the other queries of the gold set are left out.
    is_repeat
        Of a repeated run only queries and means are needed: there are no slices, intervals or
        bounds of unjudged documents.

    Raises
    ------
    NothingToEvaluateError
        When there is no result.
    BadInputError
        When a result belongs to no query of the gold set.
    """
    if not results:
        raise NothingToEvaluateError("no query was evaluated")
    queries = _scored(gold, results, settings, with_bounds=not is_repeat)
    if is_repeat:
        whole = _slice(queries, settings, with_intervals=False)
        return Scores(settings, queries, whole, {name: {} for name in DIMENSIONS}, is_repeat=True)
    whole = _slice(queries, settings)

    def sliced(part: Sequence[QueryScore]) -> RunSlice:
        return whole if len(part) == len(queries) else _slice(part, settings)

    return Scores(
        settings,
        queries,
        whole,
        {
            dimension: {
                name: sliced([q for q in queries if name_of(q.query) == name])
                for name in sorted({name_of(q.query) for q in queries})
            }
            for dimension, name_of in DIMENSIONS.items()
        },
    )


def _scored(
    gold: GoldSet, results: Sequence[QueryResult], settings: Settings, *, with_bounds: bool
) -> tuple[QueryScore, ...]:
    by_id = {query.id: query for query in gold.queries}
    if unknown := sorted({result.id for result in results} - by_id.keys()):
        raise BadInputError(f"the gold set has no query {unknown[0]!r}")
    rankings = {result.id: result.ranking for result in results if result.status == "ok"}
    qrels = {query: dict(by_id[query].relevant) for query in rankings}
    runs = {query: {d.doc: d.score for d in docs} for query, docs in rankings.items()}
    found = evaluate_rankings(qrels, runs, settings.measures, convention=CONVENTION)
    bounds = upper_bounds(qrels, rankings, settings.measures) if with_bounds else {}
    scores = _scores_by_query(by_id, found, bounds)
    return tuple(
        QueryScore(
            by_id[result.id],
            result,
            scores.get(result.id) or _lost(by_id[result.id], settings.measures),
        )
        for result in results
    )


def _lost(query: GoldQuery, measures: Sequence[str]) -> dict[str, Score]:
    gap = Value.missing("query_failed")
    return {name: Score(gap, is_lost=_has_truth(query, name)) for name in measures}


def _scores_by_query(
    by_id: Mapping[str, GoldQuery],
    found: RankingResult,
    bounds: Mapping[str, Mapping[str, float]],
) -> dict[str, dict[str, Score]]:
    """Return the measures of each query that did not fail."""
    tied = found.tied()
    columns = (tied[name].tolist() for name in ("query_id", "measure", "low", "high"))
    bands = {(query, name): (low, high) for query, name, low, high in zip(*columns, strict=True)}
    scores: dict[str, dict[str, Score]] = {query: {} for query in found.query_ids}
    for name, values in found.scores.items():
        for query, value in zip(found.query_ids, values.tolist(), strict=True):
            if math.isnan(value):
                scores[query][name] = _gap(by_id[query], name)
                continue
            low, high = bands.get((query, name), (value, value))
            # An empty ranking has no unjudged document: its bound is the value.
            bound = bounds[name].get(query, value) if name in bounds else None
            scores[query][name] = Score(Value.of(value, 1), low, high, bound)
    return scores


def _gap(query: GoldQuery, name: str) -> Score:
    """Return the measure of a query that did not fail and has no value."""
    has_truth = _has_truth(query, name)
    return Score(Value.missing("nothing_retrieved" if has_truth else "no_ground_truth"))


def _has_truth(query: GoldQuery, name: str) -> bool:
    return bool(query.relevant if parse_measure(name).name == "Judged" else query.n_relevant)


def _slice(
    queries: Sequence[QueryScore], settings: Settings, *, with_intervals: bool = True
) -> RunSlice:
    # Resampling picks positions, which must not depend on the order of the gold file.
    ordered = sorted(queries, key=lambda q: q.query.id)
    means = {
        name: mean_of([q.scores[name] for q in ordered], settings, with_interval=with_intervals)
        for name in settings.measures
    }
    return RunSlice(n_queries=len(queries), metrics=means)


def mean_of(
    scores: Sequence[Score], settings: Settings, *, with_interval: bool = True
) -> MetricMean:
    """Return the mean of one measure over queries, given in a stable order (by query id).

    The interval is the studentised bootstrap interval, queries being the units. ``failed_low`` and
    ``failed_high`` are the mean over these and the lost queries, had those scored 0, or 1.
    """
    numbers = [s.value.value for s in scores if s.value.value is not None]
    gaps = Counter(s.value.reason for s in scores if s.value.reason is not None)
    low = high = None
    if with_interval:
        interval = _within_range(
            bootstrap_mean(
                numbers,
                seed=settings.seed,
                n_resamples=settings.n_resamples,
                confidence=settings.confidence,
            )
        )
        low, high = interval.low.value, interval.high.value
    value = (
        Value.of(math.fsum(numbers) / len(numbers), len(numbers))
        if numbers
        else Value.missing("no_computable_values")
    )
    unjudged_high = _average(score.unjudged_high for score in scores)
    n_lost = sum(score.is_lost for score in scores)
    n_all = len(numbers) + n_lost
    return MetricMean(
        **value.to_json(),
        n_not_computable=gaps.total(),
        not_computable=dict(sorted(gaps.items())),
        ci_low=low,
        ci_high=high,
        tie_low=_average(score.tie_low for score in scores),
        tie_high=_average(score.tie_high for score in scores),
        unjudged_low=None if unjudged_high is None else value.value,
        unjudged_high=unjudged_high,
        failed_low=math.fsum(numbers) / n_all if n_lost else None,
        failed_high=(math.fsum(numbers) + n_lost) / n_all if n_lost else None,
    )


def _average(values: Iterable[float | None]) -> float | None:
    numbers = [value for value in values if value is not None]
    return math.fsum(numbers) / len(numbers) if numbers else None


def _within_range(interval: Interval) -> Interval:
    # Every measure lies between 0 and 1, and so does its mean; the interval does not know that.
    low, high = interval.low.value, interval.high.value
    if low is None or high is None:
        return interval
    ends = max(low, 0.0), min(high, 1.0)
    return Interval.of(*ends, interval.low.n, interval.confidence, interval.method)


def upper_bounds(
    qrels: Qrels, rankings: Mapping[str, Sequence[ScoredDoc]], measures: Sequence[str]
) -> dict[str, dict[str, float]]:
    """Return the largest value each measure of each query could have, had everything been judged.

    The largest over all choices of unjudged documents as relevant with grade 1, the others as not
    relevant. Both retrieved and other documents may be chosen; one outside the first k can only
    lower a measure at k (Recall and nDCG divide by more), so the best choice lies within them.
    P, Recall and RR are largest with all unjudged documents there relevant: Recall is then
    (hits + unjudged) / (R + unjudged). nDCG need not be, because its ideal order grows too. As
    equally many choices have the same ideal, the first of them gain most: the bound is the best of
    "the first m unjudged documents are relevant" over every m.

    The matching lower end is the value itself, where unjudged documents are not relevant. What
    else the corpus holds could lower Recall and nDCG further, by an unknown amount.

    Parameters
    ----------
    qrels
        Grades of the queries of ``rankings``.
    rankings
        Documents of each query in rank order.
    measures
        Their names; ``Judged`` has no bound and is left out.

    Returns
    -------
    dict
        Measure to query id to bound; only where the measure is computable as it stands.

    Examples
    --------
    >>> ranking = [ScoredDoc("x", 2.0), ScoredDoc("a", 1.0)]
    >>> upper_bounds({"q": {"a": 1}}, {"q": ranking}, ["P@1", "RR", "Recall@1"])
    {'P@1': {'q': 1.0}, 'RR': {'q': 1.0}, 'Recall@1': {'q': 0.5}}
    """
    wanted = [one for one in map(parse_measure, measures) if one.name != "Judged"]
    found: dict[str, dict[str, float]] = {str(measure): {} for measure in wanted}
    for query, ranking in rankings.items():
        judged = qrels[query]
        if not ranking or not any(grade >= 1 for grade in judged.values()):
            continue
        grades = dict(enumerate((judged.get(ranked.doc) for ranked in ranking), 1))
        unjudged = [rank for rank, grade in grades.items() if grade is None]
        supposed = cache(partial(_supposed, judged, grades, unjudged))
        for measure in wanted:
            # RR has no cut-off, but the first unjudged document alone decides it.
            most = bisect_right(unjudged, measure.cutoff) if measure.cutoff else len(unjudged[:1])
            tried = range(most + 1) if measure.name == "nDCG" else (most,)
            found[str(measure)][query] = max(defined(measure, supposed(m)) for m in tried)
    return found


def _supposed(
    judged: Mapping[str, int], grades: Mapping[int, int | None], unjudged: Sequence[int], m: int
) -> Judged:
    """Return a ranking in which the first ``m`` unjudged documents are relevant."""
    known = {**grades, **dict.fromkeys(unjudged[:m], 1)}
    ranked = tuple((rank, grade) for rank, grade in known.items() if grade is not None)
    return Judged(len(grades), ranked, tuple(sorted([*judged.values(), *[1] * m])))
