"""Ranking measures: the same definitions for the files of a trial and for millions of queries.

The measures of one ranking are plain Python; what works on arrays is imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from retrieval_eval.ranking.measures import Measure, parse_measure
from retrieval_eval.ranking.single import rank_metrics

if TYPE_CHECKING:
    from retrieval_eval.ranking.evaluate import evaluate_rankings
    from retrieval_eval.ranking.result import RankingResult

__all__ = ["Measure", "RankingResult", "evaluate_rankings", "parse_measure", "rank_metrics"]

_ON_ARRAYS: Final = {"evaluate_rankings": "evaluate", "RankingResult": "result"}


def __getattr__(name: str) -> Any:
    if name not in _ON_ARRAYS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_ON_ARRAYS[name]}"), name)
