"""Values of untrusted JSON, taken with care: any field may hold any type."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

DEEPEST = 64
"""Levels of nesting that are kept; what lies deeper becomes None."""

_CERTAIN = 1 << 53
"""Whole numbers below this one are numbers of any kind."""


def text_of(value: Any) -> str | None:
    """Return ``value`` if it is a non-empty string, free of lone surrogates, else None."""
    if not isinstance(value, str) or not value:
        return None
    return value if value.isascii() else _whole(value)


def dict_of(value: Any) -> Mapping[str, Any]:
    """Return ``value`` if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    """Return ``value`` if it is a JSON array, else an empty one."""
    return value if isinstance(value, list) else []


def count_of(value: Any) -> int:
    """Return a non-negative whole number; everything else counts as 0.

    Examples
    --------
    >>> count_of(12), count_of("12"), count_of(True), count_of(-1)
    (12, 0, 0, 0)
    """
    if type(value) is int and 0 <= value < _CERTAIN:
        return value
    return 0 if amount_of(value) is None else int(value)


def amount_of(value: Any) -> float | None:
    """Return a finite, non-negative number, else None."""
    if type(value) is int and 0 <= value < _CERTAIN:  # as most are
        return float(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def status_of(value: Any) -> int | None:
    """Return the exit status of a command, a whole number that may be negative, else None.

    Examples
    --------
    >>> status_of(0), status_of(-1), status_of("1"), status_of(True)
    (0, -1, None, None)
    """
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def clean(value: Any, depth: int = DEEPEST) -> Any:
    """Return ``value`` without lone surrogates and without what lies deeper than ``depth``."""
    if isinstance(value, str):
        return value if value.isascii() else _whole(value)
    if isinstance(value, dict):
        if depth == 0:
            return None
        return {
            key if key.isascii() else _whole(key): entry
            if entry is None
            or isinstance(entry, (int, float))
            or (isinstance(entry, str) and entry.isascii())
            else clean(entry, depth - 1)
            for key, entry in value.items()
        }
    if isinstance(value, list):
        return [clean(entry, depth - 1) for entry in value] if depth else None
    return value


def at(value: Any, *path: str) -> Any:
    """Return what lies under ``path`` in nested objects, or None.

    Examples
    --------
    >>> at({"a": {"b": 1}}, "a", "b"), at({"a": []}, "a", "b")
    (1, None)
    """
    for name in path:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value


def text_at(value: Any, *path: str) -> str | None:
    """Return the text under ``path``, see :func:`text_of`."""
    for name in path:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return text_of(value)


def dict_at(value: Any, *path: str) -> Mapping[str, Any]:
    """Return the object under ``path``, or an empty one."""
    return dict_of(at(value, *path))


def dicts_at(value: Any, *path: str) -> list[Mapping[str, Any]]:
    """Return the objects of the array under ``path``; what is no object is an empty one."""
    return [dict_of(entry) for entry in list_of(at(value, *path))]


def count_at(value: Any, *names: str) -> int:
    """Return the sum of the counts under these names of one object, see :func:`count_of`."""
    known = dict_of(value)
    return sum([count_of(known.get(name)) for name in names])


def blocks_text(content: Any) -> str:
    r"""Return the text of a message's content: a string, or the text blocks of a list.

    Where a block embeds a resource of MCP, that is the content, which the others are about.

    Examples
    --------
    >>> blocks_text([{"type": "text", "text": "a"}, {"type": "image"}, {"text": "b"}])
    'a\nb'
    >>> resource = {"type": "resource", "resource": {"uri": "file:///w/a.py", "text": "x = 1"}}
    >>> blocks_text([{"type": "text", "text": "found it"}, resource])
    'x = 1'
    """
    if isinstance(content, str):
        return content if content.isascii() else _whole(content)
    blocks = list_of(content)
    resources = [text for block in blocks if (text := resource_text(block)) is not None]
    texts: list[Any] = resources or [
        block if isinstance(block, str) else dict_of(block).get("text") for block in blocks
    ]
    found = "\n".join([text for text in texts if isinstance(text, str)])
    return found if found.isascii() else _whole(found)


def is_picture(content: Any) -> bool:
    """Whether a message's content is pictures without any text.

    Examples
    --------
    >>> is_picture([{"type": "image", "base64": "…"}]), is_picture([{"type": "text", "text": "a"}])
    (True, False)
    """
    kinds = [dict_of(block).get("type") for block in list_of(content)]
    return bool(kinds) and all(kind in ("image", "image_url", "input_image") for kind in kinds)


def resource_text(block: Any) -> str | None:
    """Return the text of a resource that a block of MCP embeds, or None for another block."""
    if not isinstance(block, dict) or block.get("type") != "resource":
        return None
    text = at(block, "resource", "text")
    return text if isinstance(text, str) else None


def _whole(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


# --------------------------------------------------------------------------------------------------
# Timestamps as traces write them, as Unix seconds.

_LONGEST = 64
_YEAR_3000 = 32_503_680_000


def unix_seconds(value: Any) -> float | None:
    """Return an ISO 8601 timestamp as Unix seconds (UTC), or None for anything else.

    Parameters
    ----------
    value
        Text with ``Z``, with an offset, or naive; a naive time is taken as UTC, which is what
        harnesses in containers write.

    Examples
    --------
    >>> unix_seconds("1970-01-01T00:01:00Z"), unix_seconds("1970-01-01T02:01:00+02:00")
    (60.0, 60.0)
    >>> unix_seconds("1970-01-01T00:01:00.5"), unix_seconds("soon")
    (60.5, None)
    """
    if not isinstance(value, str) or len(value) > _LONGEST:
        return None
    try:
        moment = datetime.fromisoformat(value.strip())
        seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
    # Some writers give year 1 for an unknown time.
    return seconds if seconds > 0 else None


def from_milliseconds(value: Any) -> float | None:
    """Return Unix milliseconds as Unix seconds, or None for anything but a positive number.

    Examples
    --------
    >>> from_milliseconds(1500), from_milliseconds("1500")
    (1.5, None)
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        seconds = float(value) / 1000
    except OverflowError:
        return None
    return seconds if 0 < seconds < _YEAR_3000 else None


def from_seconds(value: Any) -> float | None:
    """Return a positive number of Unix seconds as it is, or None for anything else.

    Examples
    --------
    >>> from_seconds(1.5), from_seconds("1.5"), from_seconds(True)
    (1.5, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if 0 < value < _YEAR_3000 else None


def earliest(*times: float | None) -> float | None:
    """Return the earliest of the known times, or None when none is known."""
    found: float | None = None
    for time in times:
        if time is not None and (found is None or time < found):
            found = time
    return found


def latest(*times: float | None) -> float | None:
    """Return the latest of the known times, or None when none is known."""
    found: float | None = None
    for time in times:
        if time is not None and (found is None or time > found):
            found = time
    return found
