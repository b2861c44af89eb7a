"""Comparisons of configurations and associations of metrics with outcomes; nothing is causal."""

from __future__ import annotations

from retrieval_eval.study.analysis import impact_analysis
from retrieval_eval.study.associations import Associations, associate
from retrieval_eval.study.compare import Comparison, compare
from retrieval_eval.study.pilot import TasksNeeded, tasks_needed

__all__ = [
    "Associations",
    "Comparison",
    "TasksNeeded",
    "associate",
    "compare",
    "impact_analysis",
    "tasks_needed",
]
