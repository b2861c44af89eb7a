"""The evaluation of whole runs: discovery, trials, summary and impact, artefacts on disk."""

from __future__ import annotations

from retrieval_eval.agents.runs.evaluate import Evaluation, RunEvaluation, evaluate, evaluate_saved

__all__ = ["Evaluation", "RunEvaluation", "evaluate", "evaluate_saved"]
