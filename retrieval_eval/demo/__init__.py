"""A deterministic simulator with planted behaviour, so that a fresh clone can report the truth."""

from __future__ import annotations

from retrieval_eval.demo.faults import Fault
from retrieval_eval.demo.model import Action, DemoPlan, Expected, Result, TaskPlan, TrialPlan
from retrieval_eval.demo.moves import Touch
from retrieval_eval.demo.tree import write_demo

__all__ = [
    "Action",
    "DemoPlan",
    "Expected",
    "Fault",
    "Result",
    "TaskPlan",
    "Touch",
    "TrialPlan",
    "write_demo",
]
