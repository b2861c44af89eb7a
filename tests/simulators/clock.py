"""Fixed dates of the demo: no file ever holds the time at which it was written."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


def batch_start(batch: str) -> datetime:
    """Return the moment that a batch folder is named after.

    Examples
    --------
    >>> batch_start("2026-01-05__09-00-00").isoformat()
    '2026-01-05T09:00:00+00:00'
    """
    return datetime.strptime(batch, "%Y-%m-%d__%H-%M-%S").replace(tzinfo=UTC)


def stamp(start: datetime, second: float) -> str:
    """Return a moment with milliseconds and ``Z``, as Claude Code writes it."""
    moment = start + timedelta(seconds=second)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"


def naive(start: datetime, second: float) -> str:
    """Return a moment with microseconds and without a zone, as OpenHands writes it."""
    return f"{start + timedelta(seconds=second):%Y-%m-%dT%H:%M:%S.%f}"
