"""Ground truth written down as such: the seed's first source, in all its shapes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from retrieval_eval.ground_truth import shapes
from retrieval_eval.ground_truth.source import Source, items, load_json
from retrieval_eval.records import Confidence

FILE_NAMES = ("ground_truth.json", "ground_truth_agent.json", "oracle_answer.json")
"""The files read, the first that lists files wins; copies such as ``*.original.json`` are not."""

PLACEHOLDER = "{name}: all line ranges are the same placeholder, so they are left out"


def read(task_dir: Path, file_name: str = FILE_NAMES[0]) -> Source | None:
    """Return what ``file_name`` of a task says, or None when the task has no such file.

    The confidence is high (the seed's), or lower where the document itself says so. Line ranges
    that are all the same one from line 1 on are placeholders of a generator and left out.
    """
    loaded = load_json(task_dir, "tests", file_name)
    if loaded is None:
        return None
    name, document, problems = loaded
    fields: dict[str, Any] = document if isinstance(document, dict) else {}
    if not problems and not isinstance(document, dict | list):
        problems = (f"{name}: expected a list or an object",)
    notes: tuple[str, ...] = ()
    listed = list(items(fields.get("chunks")))
    ranges = shapes.chunks(listed)
    if len(ranges) < len(listed):
        missing = len(listed) - len(ranges)
        notes = (f"{name}: {missing} of {len(listed)} chunks have no file or no line range",)
    if ranges and shapes.are_placeholders(ranges):
        ranges, notes = (), (*notes, PLACEHOLDER.format(name=name))
    edits = shapes.entries(fields.get("expected_edit_files"))
    return Source(
        name=name,
        confidence=_confidence(fields.get("confidence")),
        entries=shapes.file_entries(document),
        symbols=shapes.symbols(fields.get("symbols")),
        chunks=ranges,
        edit_entries=edits or None,
        problems=problems,
        notes=notes,
    )


def _confidence(stated: Any) -> Confidence:
    if stated == "low":
        return "low"
    return "medium" if stated == "medium" else "high"
