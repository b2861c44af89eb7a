"""Folders as they are published: each layout gives the rows that a table of trials would have.

A layout is recognised by what lies in the folder, never by its name. The first one that recognises
a place reads it. The layout of run trees is another, see :mod:`retrieval_eval.io.layout`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from retrieval_eval.agents.door.layouts import (
    harbor,
    inspect_logs,
    openhands,
    swe_bench,
    traces,
)
from retrieval_eval.agents.door.table import Rows

Find = Callable[[Path], Rows | None]

LAYOUTS: Final[dict[str, Find]] = {
    "Harbor's jobs": harbor.find,
    "Inspect's logs": inspect_logs.find,
    "OpenHands' evaluations": openhands.find,
    "SWE-bench's trajectories by task": swe_bench.find,
    "traces": traces.find,
}
"""Layouts by name, in the order in which they are tried."""

BEFORE_RUN_TREES: Final = ("Harbor's jobs",)
"""Layouts that state more than that of run trees, which reads their folders too."""


def recognised(place: Path, names: tuple[str, ...] | None = None) -> tuple[str, Rows] | None:
    """Return the layout of a folder or file with its trials, or None where none is known."""
    for name, find in LAYOUTS.items():
        if names is None or name in names:
            found = find(place)
            if found is not None and (found.rows or found.left_out):
                return name, found
    return None
