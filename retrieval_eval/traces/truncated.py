"""Truncated JSON documents: everything they certainly contained."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from retrieval_eval.traces.untrusted import DEEPEST, dict_of

_STRING_BODY = re.compile(r'[^"\\]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\]*)*')
_SCALAR = re.compile(r"[-+.\w]+")
_SPACE = re.compile(r"[ \t\r\n]*")
_CLOSER = {"{": "}", "[": "]"}


@dataclass(slots=True)
class _Scan:
    """How far the text is valid: ``text[:end] + closers`` is JSON."""

    closers: list[str] = field(default_factory=list)
    expects_key: list[bool] = field(default_factory=list)
    end: int = 0
    tail: str = ""

    def mark(self, position: int, quote: str = "") -> None:
        self.end = position
        self.tail = quote + "".join(reversed(self.closers))


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
    scan = _Scan()
    position: int | None = 0
    while position is not None:
        position = _step(text, position, scan, keep_cut_text)
    if not scan.end:
        return None
    try:
        return json.loads(text[: scan.end] + scan.tail, strict=False)
    except (ValueError, RecursionError):
        return None


def _step(text: str, position: int, scan: _Scan, keep_cut_text: bool) -> int | None:
    """Read one token and return where the next begins, or None where soundness ends."""
    position = _SPACE.match(text, position).end()  # type: ignore[union-attr]
    if position == len(text):
        return None
    char = text[position]
    if char in _CLOSER:
        if len(scan.closers) >= DEEPEST:
            return None
        scan.closers.append(_CLOSER[char])
        scan.expects_key.append(char == "{")
        scan.mark(position + 1)
    elif char in "}]":
        if not scan.closers or scan.closers.pop() != char:
            return None
        scan.expects_key.pop()
        scan.mark(position + 1)
    elif char == ",":
        if not scan.closers:
            return None
        scan.expects_key[-1] = scan.closers[-1] == "}"
    elif char == ":":
        if not scan.closers:
            return None
        scan.expects_key[-1] = False
    elif char == '"':
        return _string(text, position + 1, scan, keep_cut_text)
    else:
        return _scalar(text, position, scan)
    return position + 1


def _string(text: str, start: int, scan: _Scan, keep_cut_text: bool) -> int | None:
    end = _STRING_BODY.match(text, start).end()  # type: ignore[union-attr]
    is_key = bool(scan.expects_key) and scan.expects_key[-1]
    if text[end : end + 1] != '"':
        if keep_cut_text and not is_key:
            scan.mark(end, '"')
        return None
    if not is_key:
        scan.mark(end + 1)
    return end + 1


def _scalar(text: str, start: int, scan: _Scan) -> int | None:
    match = _SCALAR.match(text, start)
    # A number or word that touches the cut may go on behind it.
    if match is None or match.end() == len(text):
        return None
    scan.mark(match.end())
    return match.end()


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
