"""Tool results as Claude Code's ATIF converter writes them: original text plus decorations.

A result's content is the original text, then ``[stdout]``, ``[stderr]`` and ``[metadata]`` copies
of the structured result, then ``[error] tool reported failure``. The original is kept in the
step's ``extra``; where that was lost, the decorations are taken off again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from retrieval_eval.records import ToolResult
from retrieval_eval.traces.claude_lines import marked
from retrieval_eval.traces.foreign import blocks_text, clean, dict_of
from retrieval_eval.traces.partial import complete_json

_FAILURE = "[error] tool reported failure"
_METADATA = "[metadata] {"
_STREAM = re.compile(r"(?:\A|\n\n)\[std(?:out|err)\]\n")


def result(call_id: str, content: str, is_truncated: bool, extra: Mapping[str, Any]) -> ToolResult:
    """Return the result of a call.

    Parameters
    ----------
    call_id, content, is_truncated
        The observed result; a truncated one may end anywhere.
    extra
        The ``extra`` of a step with this one call (empty when it has several).
    """
    text, structured, is_error = undecorated(content, is_truncated)
    metadata = dict_of(extra.get("tool_result_metadata"))
    raw = dict_of(metadata.get("raw_tool_result"))
    if raw.get("tool_use_id") == call_id and isinstance(raw.get("content"), (str, list)):
        text, is_truncated = blocks_text(raw["content"]), False
    if isinstance(metadata.get("tool_use_result"), (dict, list)):
        structured = clean(metadata["tool_use_result"])
    is_error = is_error or extra.get("tool_result_is_error") is True or raw.get("is_error") is True
    return marked(ToolResult(text, structured, is_error, is_truncated))


def undecorated(content: str, is_truncated: bool = False) -> tuple[str, Any, bool]:
    r"""Return a result's original text, its structured result and whether it failed.

    Examples
    --------
    >>> undecorated('a.py\n\n[stdout]\na.py\n[metadata] {"noOutputExpected": false}')
    ('a.py', {'noOutputExpected': False}, False)
    >>> undecorated("no such file\n\n[error] tool reported failure")
    ('no such file', None, True)
    """
    text, is_error, structured = content, False, None
    if text.endswith(_FAILURE):
        text, is_error = text.removesuffix(_FAILURE).rstrip("\n"), True
    # The copies are JSON on one line, so the last line that begins like this is the decoration.
    at = text.rfind("\n" + _METADATA) + 1
    if text.startswith(_METADATA, at):
        structured = _decoded(text[at + len(_METADATA) - 1 :], is_truncated)
        if structured is not None:
            text = text[:at].rstrip("\n")
    return _without_streams(text), structured, is_error


def _decoded(text: str, is_truncated: bool) -> Any:
    if is_truncated:
        return clean(complete_json(text, keep_cut_text=False))
    try:
        return clean(json.loads(text))
    except (ValueError, RecursionError):
        return None


def _without_streams(text: str) -> str:
    """Cut the copy of standard output where it certainly repeats what stands before it."""
    found = _STREAM.search(text)
    if found is None:
        return text
    before = text[: found.start()]
    copy = text[found.end() :].split("\n[stderr]\n", 1)[0].strip()
    is_copy = bool(before) and (before.startswith(copy) or copy.startswith(before))
    return before if is_copy else text
