"""Comparisons of configurations and associations of metrics with outcomes; nothing is causal."""

from __future__ import annotations

from retrieval_eval.study.analysis import impact_analysis
from retrieval_eval.study.associations import Associations, associate
from retrieval_eval.study.compare import Comparison, compare

__all__ = ["Associations", "Comparison", "associate", "compare", "impact_analysis"]
