"""Injected defects of code-review tasks: the one source with real line ranges."""

from __future__ import annotations

from pathlib import Path

from retrieval_eval.ground_truth import shapes
from retrieval_eval.ground_truth.source import Source, items, load_json


def read(task_dir: Path) -> Source | None:
    """Return the files and line ranges of ``expected_defects.json``, or None without the file.

    The document is a list of defects or an object with the list under ``defects``; a defect
    names ``file``, and its ``line_start`` and ``line_end`` make a chunk when they are a range.
    """
    loaded = load_json(task_dir, "tests", "expected_defects.json")
    if loaded is None:
        return None
    name, document, problems = loaded
    listed = document.get("defects") if isinstance(document, dict) else document
    if not problems and not isinstance(listed, list):
        problems = (f"{name}: expected a list of defects",)
    defects = [item for item in items(listed) if isinstance(item, dict)]
    ranges = shapes.chunks(defects)
    entries = shapes.entries(defects)
    missing = len(entries) - len(ranges)
    notes = (f"{name}: {missing} of {len(entries)} defects have no line range",) if missing else ()
    return Source(name, "high", entries, chunks=ranges, problems=problems, notes=notes)
