"""Scores of a run: each query, and means with everything that qualifies them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.metrics.ranking import RankingResult, evaluate_rankings, parse_measure
from retrieval_eval.model.gold import GoldQuery, GoldSet
from retrieval_eval.search.means import Score, Slice, mean_of
from retrieval_eval.search.results import QueryResult
from retrieval_eval.search.settings import CONVENTION, Settings
from retrieval_eval.search.unjudged import upper_bounds
from retrieval_eval.values import Value

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
class QueryScore:
    """One query, what came back for it, and its measures by name."""

    query: GoldQuery
    result: QueryResult
    scores: Mapping[str, Score]


@dataclass(frozen=True, slots=True)
class Scores:
    """A scored run: its queries in the order of the gold set, all of them, and slices."""

    settings: Settings
    queries: tuple[QueryScore, ...]
    overall: Slice
    slices: Mapping[str, Mapping[str, Slice]]


def score_run(gold: GoldSet, results: Sequence[QueryResult], settings: Settings) -> Scores:
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

    Raises
    ------
    NothingToEvaluateError
        When there is no result.
    BadInputError
        When a result belongs to no query of the gold set.
    """
    if not results:
        raise NothingToEvaluateError("no query was evaluated")
    queries = _scored(gold, results, settings)
    return Scores(
        settings,
        queries,
        _slice(queries, settings),
        {
            dimension: {
                name: _slice([q for q in queries if name_of(q.query) == name], settings)
                for name in sorted({name_of(q.query) for q in queries})
            }
            for dimension, name_of in DIMENSIONS.items()
        },
    )


def _scored(
    gold: GoldSet, results: Sequence[QueryResult], settings: Settings
) -> tuple[QueryScore, ...]:
    by_id = {query.id: query for query in gold.queries}
    if unknown := sorted({result.id for result in results} - by_id.keys()):
        raise BadInputError(f"the gold set has no query {unknown[0]!r}")
    rankings = {result.id: result.ranking for result in results if result.status == "ok"}
    qrels = {query: dict(by_id[query].relevant) for query in rankings}
    runs = {query: {d.doc: d.score for d in docs} for query, docs in rankings.items()}
    found = evaluate_rankings(qrels, runs, settings.measures, convention=CONVENTION)
    scores = _scores_by_query(by_id, found, upper_bounds(qrels, rankings, settings.measures))
    failed = dict.fromkeys(settings.measures, Score(Value.missing("query_failed")))
    return tuple(
        QueryScore(by_id[result.id], result, scores.get(result.id, failed)) for result in results
    )


def _scores_by_query(
    by_id: Mapping[str, GoldQuery],
    found: RankingResult,
    bounds: Mapping[str, Mapping[str, float]],
) -> dict[str, dict[str, Score]]:
    """Return the measures of each query that did not fail."""
    tied = found.tie_bands
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
    has_truth = query.relevant if parse_measure(name).name == "Judged" else query.n_relevant
    return Score(Value.missing("nothing_retrieved" if has_truth else "no_ground_truth"))


def _slice(queries: Sequence[QueryScore], settings: Settings) -> Slice:
    # Resampling picks positions, which must not depend on the order of the gold file.
    ordered = sorted(queries, key=lambda q: q.query.id)
    means = {
        name: mean_of([q.scores[name] for q in ordered], settings) for name in settings.measures
    }
    return Slice(len(queries), means)
