"""Ranking measures: the same definitions for the files of a trial and for millions of queries.

The measures of one ranking are plain Python; what works on arrays is imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from retrieval_eval.metrics.ranking.measures import Measure, parse_measure
from retrieval_eval.metrics.ranking.single import rank_metrics

if TYPE_CHECKING:
    from retrieval_eval.metrics.ranking.evaluate import evaluate_rankings
    from retrieval_eval.metrics.ranking.result import RankingResult

__all__ = ["Measure", "RankingResult", "evaluate_rankings", "parse_measure", "rank_metrics"]


def __getattr__(name: str) -> Any:
    if name == "evaluate_rankings":
        from retrieval_eval.metrics.ranking.evaluate import evaluate_rankings

        return evaluate_rankings
    if name == "RankingResult":
        from retrieval_eval.metrics.ranking.result import RankingResult

        return RankingResult
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
