"""The report: frames, figures, tables and sentences, notebook execution and rendering.

The names below load on first use; the libraries behind them are heavy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from retrieval_eval.report.building import (
        build,
        build_details,
        build_diff,
        build_search,
        build_trial,
    )
    from retrieval_eval.report.execute import check_parameters
    from retrieval_eval.report.exhibits import note
    from retrieval_eval.report.history import History, build_history, load_history
    from retrieval_eval.report.loading import load_diff, load_run, load_search
    from retrieval_eval.report.publishing import render_notebook
    from retrieval_eval.report.run import Run
    from retrieval_eval.report.search_diff import SearchDiff
    from retrieval_eval.report.search_run import SearchRun
    from retrieval_eval.report.trial import Trial

__all__ = [
    "History",
    "Run",
    "SearchDiff",
    "SearchRun",
    "Trial",
    "build",
    "build_details",
    "build_diff",
    "build_history",
    "build_search",
    "build_trial",
    "check_parameters",
    "load_diff",
    "load_history",
    "load_run",
    "load_search",
    "note",
    "render_notebook",
]

_LAZY = {
    "SearchDiff": "retrieval_eval.report.search_diff",
    "build_details": "retrieval_eval.report.building",
    "build_diff": "retrieval_eval.report.building",
    "load_diff": "retrieval_eval.report.loading",
    "Run": "retrieval_eval.report.run",
    "SearchRun": "retrieval_eval.report.search_run",
    "Trial": "retrieval_eval.report.trial",
    "build": "retrieval_eval.report.building",
    "build_search": "retrieval_eval.report.building",
    "build_trial": "retrieval_eval.report.building",
    "check_parameters": "retrieval_eval.report.execute",
    "build_history": "retrieval_eval.report.history",
    "History": "retrieval_eval.report.history",
    "load_history": "retrieval_eval.report.history",
    "load_run": "retrieval_eval.report.loading",
    "load_search": "retrieval_eval.report.loading",
    "note": "retrieval_eval.report.exhibits",
    "render_notebook": "retrieval_eval.report.publishing",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
