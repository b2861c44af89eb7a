"""What is around a result: the harness's words, JSON around text, or text around JSON.

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

from retrieval_eval.agents.traces.dialects import added_blocks, previews, wording
from retrieval_eval.agents.traces.served import is_refusal
from retrieval_eval.agents.traces.untrusted import DEEPEST, dict_of, resource_text
from retrieval_eval.io.files import decode

# --------------------------------------------------------------------------------------------------
# Harness text around a result: reminders, size notices, failures, empty answers.


def is_failure(text: str) -> bool:
    """Whether a result text is one of the known failure messages.

    Examples
    --------
    >>> is_failure("repository not found: acme/widgets"), is_failure("12: repository not found")
    (True, False)
    """
    return is_refusal(text) or wording("failures").match(text[:400].lstrip()) is not None


def is_empty_answer(text: str) -> bool:
    """Whether the text of a result means that nothing was found."""
    return not text.strip() or wording("empty").match(text[:400].lstrip()) is not None


def is_harness_file(path: str) -> bool:
    """Whether a path belongs to the harness (saved results, memory), not to a repository.

    Examples
    --------
    >>> is_harness_file("/home/u/.claude/projects/-workspace/memory/MEMORY.md")
    True
    >>> is_harness_file("/workspace/src/memory/pool.c")
    False
    """
    return is_saved_result(path) or wording("own_files").search(path) is not None


def is_saved_result(path: str) -> bool:
    """Whether a path is a result the harness saved because it was too large to show."""
    return wording("saved_files").search(path) is not None


def undecorated(text: str) -> str:
    r"""Return a result without reminder blocks; of a saved result only the preview is left.

    Examples
    --------
    >>> undecorated("a.py\n\n<system-reminder>be careful</system-reminder>")
    'a.py\n\n'
    """
    for opening, closing in added_blocks():
        text = _without_blocks(text, opening, closing)
    for preview in previews():
        text = preview(text)
    return text


def _without_blocks(text: str, opening: str, closing: str) -> str:
    if opening not in text:
        return text
    kept: list[str] = []
    position = 0
    while (start := text.find(opening, position)) >= 0:
        end = text.find(closing, start)
        at_line_start = start == 0 or text[start - 1] == "\n"
        if end < 0 or not at_line_start:
            break
        kept.append(text[position:start])
        position = end + len(closing)
    return "".join(kept) + text[position:]


# --------------------------------------------------------------------------------------------------
# JSON around text, or text around JSON, whole or cut off.

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
    >>> is_envelope([{"type": "input_text", "text": "x"}])
    True
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


_TEXTS: Final = ("text", "input_text", "output_text")


def _block_text(block: Any) -> str | None:
    """Return the text of a block, None for a record that has a text beside a path or a line."""
    if not isinstance(block, dict) or block.get("type", "text") not in _TEXTS:
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


# --------------------------------------------------------------------------------------------------
# Truncated JSON documents: everything they certainly contained.

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
