"""Unwrap results that are JSON around text, or text around JSON, whole or cut off.

Remote tools answer ``{"text": …}``, ``{"content": …}``, ``{"blocks": […]}`` or ``{"files": […]}``;
harnesses put that into text blocks, into ``structuredContent`` or into a JSON string. FastMCP
answers ``{"result": …}``, whose text may be JSON again. Harnesses keep MCP's answer as an object, a
list of blocks, one block, JSON text of these, or a text with the JSON of its structured content
behind it; one puts a block of its own before the others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import unquote

from retrieval_eval.agents.traces.untrusted import resource_text
from retrieval_eval.io.files import decode

_DEEPEST: Final = 5
_MOST_PLACES: Final = 3
_EXECUTED: Final = re.compile(r"\[Tool '[^'\n]{1,300}' executed[^\]\n]{0,100}\]\s*")
_WITHOUT_TEXT: Final = frozenset({"image", "audio", "resource_link"})
_OPEN_STRING: Final = re.compile(r'\s*\{\s*"(?:text|content|result)"\s*:\s*"')
_STRING: Final = r'"((?:[^"\\]|\\.)*)"'
_OPEN_RECORD: Final = re.compile(
    rf'"(?:file|path)"\s*:\s*{_STRING}(?:\s*,\s*"repo"\s*:\s*{_STRING})?'
)
_WHOLE_CHARACTERS: Final = re.compile(r'(?:[^"\\]|\\[^u]|\\u[0-9a-fA-F]{4})*', re.DOTALL)


def unwrapped(text: str, structured: Any, *, is_content: bool = False) -> tuple[str, Any]:
    r"""Return the innermost text of a result and its machine-readable part, if any.

    Parameters
    ----------
    text
        The result as text, possibly JSON, possibly cut off.
    structured
        The decoded result where the trace keeps one.
    is_content
        Whether the text is a file's content, which may itself end in JSON.

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
    >>> unwrapped('a.py:3: x\n\n{"hits": [{"path": "a.py", "line": 3}]}', None)
    ('a.py:3: x', {'hits': [{'path': 'a.py', 'line': 3}]})
    """
    value: Any = structured
    if not isinstance(structured, dict | list):
        text, value = _plain(text)
        if value is None:
            text, value = _with_structure(text, is_content=is_content)
    for inner in _layers(value):
        if isinstance(inner, str):
            text, value = inner, parsed(inner)
        else:
            value = inner
    return (text, value) if value is not None else _cut_off(text)


def states_failure(text: str, structured: Any) -> bool:
    """Whether an answer of MCP is marked as an error in one of its layers.

    Examples
    --------
    >>> states_failure('{"result": {"content": [], "isError": true}}', None)
    True
    """
    values = [structured] if isinstance(structured, dict | list) else []
    values += [_plain(text)[1]] if "isError" in text else []
    layers = (layer for value in values for layer in (value, *_layers(value)))
    decoded = (parsed(layer) if isinstance(layer, str) else layer for layer in layers)
    return any(isinstance(value, dict) and value.get("isError") is True for value in decoded)


_ENVELOPE: Final = frozenset({"content", "structuredContent", "isError", "_meta", "meta"})


def is_envelope(value: Any) -> bool:
    """Whether a value is MCP's answer itself: an object with blocks, some blocks or one.

    Examples
    --------
    >>> is_envelope([{"type": "text", "text": "x"}]), is_envelope({"text": "x", "path": "a.py"})
    (True, False)
    """
    if isinstance(value, dict) and "content" in value and value.keys() <= _ENVELOPE:
        return isinstance(value["content"], list) and all(map(_is_typed, value["content"]))
    blocks = value if isinstance(value, list) else [value]
    return bool(blocks) and all(map(_is_typed, blocks))


def _is_typed(block: Any) -> bool:
    """Whether a value states that it is a block of text, or one that holds none."""
    if not isinstance(block, dict) or not isinstance(block.get("type"), str):
        return False
    return _is_without_text(block) or _block_text(block) is not None


def _is_without_text(block: Any) -> bool:
    kind = block.get("type") if isinstance(block, dict) else None
    return isinstance(kind, str) and kind in _WITHOUT_TEXT


def _layers(value: Any) -> Iterator[Any]:
    """Yield what each layer of wrapping holds, from the outside; a text is JSON or the last."""
    for _ in range(_DEEPEST):
        inner = _inner(value)
        if inner is None:
            return
        if isinstance(inner, str):
            inner, value = _plain(inner)
        else:
            value = inner
        yield inner


def _with_structure(text: str, *, is_content: bool) -> tuple[str, Any]:
    """Return a text and the value of the JSON object that stands behind it on lines of its own.

    Behind a file's content, only a copy of it is such an object.
    """
    if not text.rstrip().endswith("}"):
        return text, None
    place = -1
    for _ in range(_MOST_PLACES):
        place = text.find("\n{", place + 1)
        if place < 0:
            break
        value = parsed(text[place + 1 :])
        if value is None:
            continue
        before = text[:place].rstrip("\n")
        inner = [layer for layer in _layers(value) if isinstance(layer, str)]
        if inner:
            return (before, None) if inner[-1].strip() == before.strip() else (text, None)
        return (text, None) if is_content else (before, value)
    return text, None


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
        return _of_blocks(value)
    if not isinstance(value, dict):
        return None
    if value.get("type") == "text":
        return _block_text(value)
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


def _of_blocks(blocks: list[Any]) -> str | None:
    """Return the text of blocks; a resource is the content that other blocks are about."""
    resources = [block for block in blocks if resource_text(block) is not None]
    read = [resource_text(block) for block in resources] or [
        _block_text(block) for block in blocks if not _is_without_text(block)
    ]
    known = [text for text in read if text is not None]
    if len(known) < len(read):
        return None
    own = [text for text in known if not _EXECUTED.fullmatch(text)]
    return "\n".join(own or known) if known else None


_FILE_URI: Final = re.compile(r"file://(?:localhost)?(/[^?#]{1,4096})")


def resource_files(value: Any) -> list[str]:
    """Return the paths of the files that an answer of MCP embeds, or none where one is no file.

    Examples
    --------
    >>> resource = {"uri": "file:///w/a%20b.py", "text": "x = 1"}
    >>> resource_files({"content": [{"type": "resource", "resource": resource}]})
    ['/w/a b.py']
    """
    blocks = value.get("content") if isinstance(value, dict) else value
    uris = [
        block["resource"].get("uri")
        for block in (blocks if isinstance(blocks, list) else [])
        if resource_text(block) is not None
    ]
    named = [_FILE_URI.match(uri) if isinstance(uri, str) else None for uri in uris]
    return [unquote(found[1]) for found in named if found] if all(named) else []


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
