"""Unwrap results that are JSON around text, or text around JSON, whole or cut off.

Remote tools answer ``{"text": …}``, ``{"content": …}``, ``{"blocks": […]}`` or ``{"files": […]}``;
harnesses put that into text blocks, into ``structuredContent`` or into a JSON string. FastMCP
answers ``{"result": …}``, whose text may be JSON again.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from retrieval_eval.io.files import decode

_DEEPEST: Final = 5
_OPEN_STRING: Final = re.compile(r'\s*\{\s*"(?:text|content|result)"\s*:\s*"')
_STRING: Final = r'"((?:[^"\\]|\\.)*)"'
_OPEN_RECORD: Final = re.compile(
    rf'"(?:file|path)"\s*:\s*{_STRING}(?:\s*,\s*"repo"\s*:\s*{_STRING})?'
)
_WHOLE_CHARACTERS: Final = re.compile(r'(?:[^"\\]|\\[^u]|\\u[0-9a-fA-F]{4})*', re.DOTALL)


def unwrapped(text: str, structured: Any) -> tuple[str, Any]:
    r"""Return the innermost text of a result and its machine-readable part, if any.

    Parameters
    ----------
    text
        The result as text, possibly JSON, possibly cut off.
    structured
        The decoded result where the trace keeps one.

    Examples
    --------
    >>> unwrapped('{"text": "a.py"}', None)
    ('a.py', None)
    >>> unwrapped('{"result": "{\\"text\\": \\"a.py\\"}"}', None)
    ('a.py', None)
    >>> unwrapped("", {"content": '{"files": []}'})
    ('{"files": []}', {'files': []})
    >>> unwrapped('{"text": "# r – a.py\\n1: x', None)
    ('# r – a.py\n1: x', None)
    """
    value: Any = structured
    if not isinstance(structured, dict | list):
        text, value = _plain(text)
    for _ in range(_DEEPEST):
        inner = _inner(value)
        if inner is None:
            break
        if isinstance(inner, str):
            text, value = _plain(inner)
        else:
            value = inner
    return (text, value) if value is not None else _cut_off(text)


def _plain(text: str) -> tuple[str, Any]:
    """Return a text and its value; a text that was encoded as JSON once more is decoded."""
    for _ in range(_DEEPEST):
        if not (len(text) > 1 and text[0] == '"' and text.rstrip()[-1:] == '"'):
            break
        inner = decode(text)[0]
        if not isinstance(inner, str):
            break
        text = inner
    return text, parsed(text)


def parsed(text: str) -> Any:
    """Return the JSON object or array a text is, or None when it is something else."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    value = decode(text)[0]
    return value if isinstance(value, dict | list) else None


def _inner(value: Any) -> Any:
    """Return what one layer of wrapping holds, or None when ``value`` is not a wrapper."""
    if isinstance(value, list):
        texts = [_block_text(block) for block in value]
        known = [t for t in texts if t is not None]
        return "\n".join(known) if known and len(known) == len(texts) else None
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("structuredContent"), dict):
        return value["structuredContent"]
    if isinstance(value.get("text"), str) and not _records(value):
        return value["text"]
    if value.keys() == {"result"} and isinstance(value["result"], str | list | dict):
        return value["result"]
    content = value.get("content")
    if isinstance(content, str) and not _records(value):
        return content
    if isinstance(content, list) and _inner(content) is not None:
        return content
    return None


def _records(value: dict[str, Any]) -> bool:
    return any(isinstance(value.get(key), list) for key in ("blocks", "files", "items", "tree"))


_OF_A_BLOCK: Final = frozenset({"text", "annotations", "_meta", "meta", "cache_control", "id"})


def _block_text(block: Any) -> str | None:
    """Return the text of a block, None for a record that has a text beside a path or a line."""
    if not isinstance(block, dict) or block.get("type", "text") != "text":
        return None
    if "type" not in block and not block.keys() <= _OF_A_BLOCK:
        return None
    text = block.get("text")
    if isinstance(text, dict):
        text = text.get("text")
    return text if isinstance(text, str) else None


def _cut_off(text: str) -> tuple[str, Any]:
    """Return what the visible part of truncated JSON certainly contains."""
    opening = _OPEN_STRING.match(text[:200])
    if opening is not None:
        return _string_start(text[opening.end() :]), None
    if text.lstrip()[:12].startswith(('{"blocks"', '{"files"')):
        found = _OPEN_RECORD.finditer(text)
        return text, [
            {"file": _string_start(m[1]), "repo": _string_start(m[2] or "")} for m in found
        ]
    return text, None


def _string_start(raw: str) -> str:
    """Decode the start of a JSON string up to its end or to where the text was cut."""
    shown = _WHOLE_CHARACTERS.match(raw)
    try:
        value = json.loads(f'"{shown[0] if shown else ""}"', strict=False)
    except ValueError:
        return ""
    return value if isinstance(value, str) else ""
