"""Ranking measures: one set of definitions for a trial's files and for a million queries."""

from __future__ import annotations

from retrieval_eval.metrics.ranking.evaluate import evaluate_rankings
from retrieval_eval.metrics.ranking.measures import Measure, parse_measure
from retrieval_eval.metrics.ranking.result import RankingResult
from retrieval_eval.metrics.ranking.single import rank_metrics

__all__ = ["Measure", "RankingResult", "evaluate_rankings", "parse_measure", "rank_metrics"]
