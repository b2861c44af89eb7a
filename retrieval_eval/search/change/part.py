"""Some queries of a search run, measured anew by the functions that measured the whole."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec.structs import replace

from retrieval_eval.model.gold import GoldSet
from retrieval_eval.model.search_run import (
    MetricMean,
    QueryResult,
    RunSettings,
    RunSlice,
    RunSlices,
    SearchRun,
)
from retrieval_eval.search.ask.protocol import QueryResult as Answer
from retrieval_eval.search.ask.protocol import ScoredDoc
from retrieval_eval.search.claims.coverage import claims_within
from retrieval_eval.search.run.abstention import Gate, abstention_of
from retrieval_eval.search.run.document import status_of
from retrieval_eval.search.run.scoring import DIMENSIONS, NO_NAME, Score, mean_of, score_run
from retrieval_eval.search.run.settings import Settings
from retrieval_eval.search.run.trust import recounted
from retrieval_eval.values import REASONS, Value


def part_of(run: SearchRun, ids: Collection[str], gold: GoldSet | None = None) -> SearchRun:
    """Return a search run of some of its queries, every number of which rests on these alone.

    Means, intervals, slices, refusals and claims are those that a run of these queries would have.
    The composite, the comparison with random documents and the change against a baseline are left
    out: the first two are of whole runs, and the change is measured anew by comparing two parts.

    Parameters
    ----------
    run
        A search run.
    ids
        Ids of the queries to keep.
    gold
        The gold set of the run. Without it the range over ties and the bounds of unjudged
        documents are not known, and are None.
    """
    kept = tuple(query for query in run.queries if query.id in ids)
    own = run.run.settings
    metrics, slices = _measured(kept, own, gold)
    refusals = run.abstention
    if refusals is not None:
        gate = Gate(refusals.gate.min_true_positive_rate, refusals.gate.max_false_refusal_rate)
        refusals = abstention_of(
            kept, threshold=refusals.threshold, confidence=own.confidence, gate=gate
        )
    trust = recounted(run, kept)
    return replace(
        run,
        status=status_of(kept, metrics, trust),
        trust=None if run.trust is None else trust,
        metrics=metrics,
        slices=slices,
        queries=kept,
        abstention=refusals,
        claims=None if run.claims is None else claims_within(run.claims, kept, own),
        composite=None,
        random=None,
        delta=None,
        delta_withheld=(),
    )


def _measured(
    queries: Sequence[QueryResult], own: RunSettings, gold: GoldSet | None
) -> tuple[dict[str, MetricMean], RunSlices]:
    settings = Settings(
        k_values=own.k_values,
        depth=own.depth,
        seed=own.seed,
        n_resamples=own.n_resamples,
        confidence=own.confidence,
    )
    if gold is not None and queries and settings.measures == own.measures:
        scores = score_run(gold, [answer_of(query) for query in queries], settings)
        parts = {name: dict(levels) for name, levels in scores.slices.items()}
        return dict(scores.overall.metrics), RunSlices(**parts)
    known = {query.id: _scores(query, own.measures) for query in queries}

    def means(chosen: Sequence[QueryResult]) -> dict[str, MetricMean]:
        ordered = sorted(chosen, key=lambda query: query.id)
        return {m: mean_of([known[q.id][m] for q in ordered], settings) for m in own.measures}

    levels: dict[str, dict[str, RunSlice]] = {}
    for dimension in DIMENSIONS:
        groups: dict[str, list[QueryResult]] = {}
        for query in queries:
            groups.setdefault(getattr(query, dimension) or NO_NAME, []).append(query)
        levels[dimension] = {
            name: RunSlice(n_queries=len(group), metrics=means(group))
            for name, group in sorted(groups.items())
        }
    return means(queries), RunSlices(**levels)


def _scores(query: QueryResult, measures: Sequence[str]) -> Mapping[str, Score]:
    found = {}
    for name in measures:
        value = query.metrics.get(name)
        reason = query.reasons.get(name, "")
        if value is None:
            is_lost = reason == "query_failed" and query.answerable is True
            gap = Value.missing(reason if reason in REASONS else "not_recorded")
            found[name] = Score(gap, is_lost=is_lost)
        else:
            found[name] = Score(Value.of(value, 1))
    return found


def answer_of(query: QueryResult) -> Answer:
    """Return the answer that a search run keeps of a query, as it was scored."""
    ranking = tuple(ScoredDoc(found.doc, found.score) for found in query.ranking)
    return Answer(query.id, query.status, query.error, ranking, query.is_refused, query.problems)
