"""Reading single values out of foreign JSON objects: numbers, times, text; never an error."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

_LONGEST_TIME = 64
_FIRST_PLAUSIBLE = 946_684_800.0  # 2000-01-01: an earlier time is a clock that was never set


def section(document: Any, *keys: str) -> dict[str, Any]:
    """Return the object at ``keys``, or an empty one where anything on the way is none."""
    for key in keys:
        document = document.get(key) if isinstance(document, dict) else None
    return document if isinstance(document, dict) else {}


def number(value: Any) -> float | None:
    """Return a finite JSON number, or None; text and booleans are no numbers.

    Examples
    --------
    >>> number(2), number("2"), number(True), number(float("nan"))
    (2.0, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def count(value: Any) -> int | None:
    """Return a non-negative whole number, or None."""
    found = number(value)
    return int(found) if found is not None and found >= 0 and found.is_integer() else None


def text(value: Any, longest: int = 200) -> str | None:
    """Return a non-blank string cut to ``longest`` characters, or None."""
    return value.strip()[:longest] if isinstance(value, str) and value.strip() else None


def seconds(value: Any) -> float | None:
    """Return an ISO 8601 timestamp as Unix seconds, or None; a naive one is taken as UTC.

    Examples
    --------
    >>> seconds("2026-03-02T18:09:51Z") == seconds("2026-03-02T18:09:51")
    True
    """
    if not isinstance(value, str) or len(value) > _LONGEST_TIME:
        return None
    try:
        moment = datetime.fromisoformat(value.strip())
        found = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
    return found if found >= _FIRST_PLAUSIBLE else None


def span(start: float | None, end: float | None) -> float | None:
    """Return the seconds between two times, or None when one is unknown or they are reversed."""
    return end - start if start is not None and end is not None and end >= start else None
