"""Ranking measures: the same definitions for the files of a trial and for millions of queries."""

from __future__ import annotations

from retrieval_eval.metrics.ranking.evaluate import evaluate_rankings
from retrieval_eval.metrics.ranking.measures import Measure, parse_measure
from retrieval_eval.metrics.ranking.result import RankingResult
from retrieval_eval.metrics.ranking.single import rank_metrics

__all__ = ["Measure", "RankingResult", "evaluate_rankings", "parse_measure", "rank_metrics"]
