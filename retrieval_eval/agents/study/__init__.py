"""Comparisons of configurations and associations of metrics with outcomes; nothing is causal."""

from __future__ import annotations

from retrieval_eval.agents.study.analysis import impact_analysis
from retrieval_eval.agents.study.associations import Associations, associate
from retrieval_eval.agents.study.compare import Comparison, compare
from retrieval_eval.agents.study.pilot import TasksNeeded, tasks_needed

__all__ = [
    "Associations",
    "Comparison",
    "TasksNeeded",
    "associate",
    "compare",
    "impact_analysis",
    "tasks_needed",
]
