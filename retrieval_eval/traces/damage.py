"""Values that a trace corpus replaced by a preview of themselves.

Such a value is an object with ``_corpus_truncated`` and ``preview``, the beginning of its JSON
text followed by a marker.
"""

from __future__ import annotations

from typing import Any

from retrieval_eval.traces.foreign import dict_of
from retrieval_eval.traces.partial import complete_json

CUT_MARKER = "...[truncated]..."
TRUNCATED = "truncated"
TRIMMED = "trimmed"


def preview_of(value: Any) -> str | None:
    """Return the preview in place of a truncated value, or None when ``value`` is whole."""
    entry = dict_of(value)
    if not entry.get("_corpus_truncated"):
        return None
    preview = entry.get("preview")
    return preview.removesuffix(CUT_MARKER) if isinstance(preview, str) else ""


def whole_or_rest(value: Any, *, keep_cut_text: bool) -> Any:
    """Return ``value``, or what the preview in its place certainly holds (None for nothing)."""
    preview = preview_of(value)
    return value if preview is None else complete_json(preview, keep_cut_text=keep_cut_text)


def is_placeholder(step: Any) -> bool:
    """Return whether a step only says that steps were left out here."""
    return dict_of(step).get("source") == "corpus_builder"
