"""Impact: what goes with what. Matched pairs and associations, never causes."""

from __future__ import annotations

from retrieval_eval.study.analysis import impact_analysis

__all__ = ["impact_analysis"]
