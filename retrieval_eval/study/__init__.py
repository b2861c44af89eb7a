"""Studies: configurations compared, and what goes with what. Associations, never causes."""

from __future__ import annotations

from retrieval_eval.study.analysis import impact_analysis
from retrieval_eval.study.associations import Associations, associate
from retrieval_eval.study.compare import Comparison, compare

__all__ = ["Associations", "Comparison", "associate", "compare", "impact_analysis"]
