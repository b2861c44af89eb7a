"""Files a task expects to be changed."""

from __future__ import annotations

from pathlib import Path

from retrieval_eval.ground_truth import shapes
from retrieval_eval.ground_truth.source import Source, load_json


def read(task_dir: Path) -> Source | None:
    """Return the ``expected_files`` of ``expected_changes.json``, or None without the file.

    They are relevant files and expected edit files at once.
    """
    loaded = load_json(task_dir, "tests", "expected_changes.json")
    if loaded is None:
        return None
    name, document, problems = loaded
    if not problems and not isinstance(document, dict):
        problems = (f"{name}: expected an object with expected_files",)
    entries = shapes.entries(document.get("expected_files")) if isinstance(document, dict) else ()
    return Source(name, "high", entries=entries, edit_entries=entries or None, problems=problems)
