"""Truncated JSON documents: everything they certainly contained."""

from __future__ import annotations

import json
import re
from typing import Any

from retrieval_eval.agents.traces.untrusted import DEEPEST, dict_of

_TOKEN = re.compile(
    r"""[ \t\r\n]*(?:
      (?P<opening>[{\[])
    | (?P<closing>[}\]])
    | (?P<between>[,:])
    | "[^"\\]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\]*)*(?P<quote>"?)
    | (?P<scalar>[-+.\w]+)
    )""",
    re.VERBOSE,
)
_CLOSER = {"{": "}", "[": "]"}


def complete_json(text: str, *, keep_cut_text: bool) -> Any:
    """Return what a cut JSON document certainly held, or None when that is nothing.

    Parameters
    ----------
    text
        The first characters of a JSON document (a whole object or array is returned as it is).
    keep_cut_text
        Whether a string in which the text ends is kept as far as it goes. Keep it for prose; omit
        it where half a value has another meaning, as with a path.

    Examples
    --------
    >>> complete_json('{"a": [1, 22], "b": "hal', keep_cut_text=True)
    {'a': [1, 22], 'b': 'hal'}
    >>> complete_json('{"a": [1, 22], "b": "hal', keep_cut_text=False)
    {'a': [1, 22]}
    """
    closers: list[str] = []
    position = end = 0
    is_key, tail = False, ""
    while (token := _TOKEN.match(text, position)) is not None:
        position, kind = token.end(), token.lastgroup
        if kind == "between":
            if not closers:
                break
            is_key = token["between"] == "," and closers[-1] == "}"
            continue
        if kind == "quote":
            if not token["quote"]:
                end, tail = (position, '"') if keep_cut_text and not is_key else (end, "")
                break
            if is_key:
                continue
        elif kind == "opening":
            if len(closers) >= DEEPEST:
                break
            closers.append(_CLOSER[token["opening"]])
            is_key = token["opening"] == "{"
        elif kind == "closing":
            if not closers or closers[-1] != token["closing"]:
                break
            del closers[-1]
            is_key = False
        elif position == len(text):
            # A number or word that touches the cut may go on behind it.
            break
        end = position
    if not end:
        return None
    try:
        return json.loads(text[:end] + tail + "".join(reversed(closers)), strict=False)
    except (ValueError, RecursionError):
        return None


# --------------------------------------------------------------------------------------------------
# Values that a trace corpus replaced by a preview of themselves.
#
# Such a value is an object with ``_corpus_truncated`` and ``preview``, the beginning of its JSON
# text followed by a marker.

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
    """Return whether a step only marks that steps were left out here."""
    return dict_of(step).get("source") == "corpus_builder"
