"""retrieval_eval: know whether retrieval works, in agent traces and in search.

What a notebook needs; each name loads on first use, so that importing the package is fast. A trial
is measured in four lines::

    import retrieval_eval as rev

    trace, truth = rev.read_trace("run/config/trial"), rev.load_ground_truth("suite/task")
    events = rev.extract_events(trace, truth)
    rev.measure(events).file_level_metrics.file_recall
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from retrieval_eval import distribution
from retrieval_eval.errors import (
    BadInputError,
    NothingToEvaluateError,
    RenderError,
    RetrievalEvalError,
    SchemaError,
)
from retrieval_eval.values import Value

if TYPE_CHECKING:
    from retrieval_eval.agents.events import extract_events
    from retrieval_eval.agents.metrics import measure
    from retrieval_eval.agents.runs.evaluate import evaluate
    from retrieval_eval.agents.study import associate, compare, tasks_needed
    from retrieval_eval.agents.traces import read_trace
    from retrieval_eval.agents.truth import load_ground_truth
    from retrieval_eval.ranking import evaluate_rankings
    from retrieval_eval.report import load_history, load_run
    from retrieval_eval.report.registered import plot, table
    from retrieval_eval.search.gold import load_gold_set
    from retrieval_eval.search.measure import run_search

__version__ = "0.1.0"

__all__ = [
    "BadInputError",
    "NothingToEvaluateError",
    "RenderError",
    "RetrievalEvalError",
    "SchemaError",
    "Value",
    "__version__",
    "associate",
    "compare",
    "evaluate",
    "evaluate_rankings",
    "extract_events",
    "load_gold_set",
    "load_ground_truth",
    "load_history",
    "load_run",
    "measure",
    "plot",
    "read_trace",
    "run_search",
    "table",
    "tasks_needed",
]

distribution.refuse_conflict()

_LAZY = {
    "associate": "retrieval_eval.agents.study",
    "compare": "retrieval_eval.agents.study",
    "evaluate": "retrieval_eval.agents.runs.evaluate",
    "evaluate_rankings": "retrieval_eval.ranking",
    "extract_events": "retrieval_eval.agents.events",
    "load_ground_truth": "retrieval_eval.agents.truth",
    "load_gold_set": "retrieval_eval.search.gold",
    "load_history": "retrieval_eval.report",
    "load_run": "retrieval_eval.report",
    "measure": "retrieval_eval.agents.metrics",
    "plot": "retrieval_eval.report.registered",
    "read_trace": "retrieval_eval.agents.traces",
    "run_search": "retrieval_eval.search.measure",
    "table": "retrieval_eval.report.registered",
    "tasks_needed": "retrieval_eval.agents.study",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
