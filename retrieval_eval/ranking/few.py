"""Evaluate a few rankings in plain Python, before numpy would have been loaded."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from retrieval_eval.ranking.measures import Measure
from retrieval_eval.ranking.result import Columns, RankingResult
from retrieval_eval.ranking.single import Judged, defined
from retrieval_eval.values import MAX_GRADE

if TYPE_CHECKING:
    from retrieval_eval.ranking.scoring import Scorer

MOST_DOCUMENTS: Final = 20_000
"""More documents in all rankings are not few."""


def evaluate_few(
    qrels: object, rankings: object, measures: tuple[Measure, ...]
) -> RankingResult | None:
    """Return what `evaluate_rankings` promises under the convention ``trec``.

    None where there are more than a few rankings, or anything unusual in them: all faults are
    found, and named, where many rankings are evaluated. The numbers are the same to the last bit.
    """
    if not isinstance(qrels, dict) or not isinstance(rankings, dict):
        return None
    if not _are_few(qrels, {int}) or not _are_few(rankings, {float}):
        return None
    if any(abs(grade) > MAX_GRADE for judged in qrels.values() for grade in judged.values()):
        return None
    if not all(all(map(math.isfinite, scores.values())) for scores in rankings.values()):
        return None
    judged = [_judged(grades, rankings.get(query, {})) for query, grades in qrels.items()]
    columns = {str(measure): [defined(measure, one) for one in judged] for measure in measures}
    return RankingResult(
        convention="trec",
        measures=measures,
        query_ids=tuple(qrels),
        missing_queries=tuple(query for query in qrels if query not in rankings),
        unjudged_queries=tuple(query for query in rankings if query not in qrels),
        scores=Columns(columns),
        _scorer=partial(_scorer, qrels, rankings, measures),
    )


def _are_few(data: Mapping[Any, Any], numbers: set[type]) -> bool:
    """Return whether all is ``{text: {text: number}}``, and how much of it is little."""
    inner = data.values()
    if not set(map(type, data)) <= {str} or not set(map(type, inner)) <= {dict}:
        return False
    if sum(map(len, inner)) > MOST_DOCUMENTS:
        return False
    return all(
        set(map(type, one)) <= {str} and set(map(type, one.values())) <= numbers for one in inner
    )


def _judged(grades: Mapping[str, int], scores: Mapping[str, float]) -> Judged:
    # Document ids descend within a tie (trec_eval's rule).
    ranked = sorted(zip(scores.values(), scores, strict=True), reverse=True)
    found = tuple((rank, grades[doc]) for rank, (_, doc) in enumerate(ranked, 1) if doc in grades)
    return Judged(len(scores), found, tuple(sorted(grades.values())))


def _scorer(qrels: Any, rankings: Any, measures: tuple[Measure, ...]) -> Scorer:
    from retrieval_eval.ranking.many import evaluate_many

    return evaluate_many(qrels, rankings, measures, "trec", None).arrays()
