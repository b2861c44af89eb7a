"""Timestamps as traces write them, as Unix seconds."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

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
