"""Simulators with planted behaviour: an invented run of coding agents, and a search collection.

The recorded data of the built-in demonstration come from them (``make demo-data``). They import
nothing of the package, because they know what it must measure.
"""

from __future__ import annotations

from tests.simulators.faults import Fault
from tests.simulators.model import Action, DemoPlan, Expected, Result, TaskPlan, TrialPlan
from tests.simulators.moves import Touch
from tests.simulators.tree import simulate_run

__all__ = [
    "Action",
    "DemoPlan",
    "Expected",
    "Fault",
    "Result",
    "TaskPlan",
    "Touch",
    "TrialPlan",
    "simulate_run",
]
