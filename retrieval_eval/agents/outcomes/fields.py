"""Reads single values from untrusted JSON objects: numbers, times, text; never raises."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final

_LONGEST_TIME = 64
_FIRST_PLAUSIBLE = 946_684_800.0  # 2000-01-01: an earlier time is a clock that was never set


def section(document: Any, *keys: str) -> dict[str, Any]:
    """Return the object at ``keys``, or an empty one where anything on the way is not an object."""
    for key in keys:
        document = document.get(key) if isinstance(document, dict) else None
    return document if isinstance(document, dict) else {}


def number(value: Any) -> float | None:
    """Return a finite JSON number, or None; text and booleans are not numbers.

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


# --------------------------------------------------------------------------------------------------
# Fields of a trial's outcome files that hold another type than they should.

_KINDS: Final[dict[str, tuple[type, ...]]] = {
    "a text": (str,),
    "a number": (int, float),
    "an object": (dict,),
}
_EXPECTED: Final[tuple[tuple[tuple[str, ...], str], ...]] = (
    (("task_name",), "a text"),
    (("verifier_result",), "an object"),
    (("verifier_result", "rewards"), "an object"),
    (("agent_info",), "an object"),
    (("agent_execution",), "an object"),
    (("agent_result",), "an object"),
    (("agent_result", "n_input_tokens"), "a number"),
    (("agent_result", "n_cache_tokens"), "a number"),
    (("agent_result", "n_output_tokens"), "a number"),
    (("agent_result", "cost_usd"), "a number"),
)
_EXPECTED_METRICS: Final[tuple[tuple[tuple[str, ...], str], ...]] = (
    (("cost_usd",), "a number"),
    (("input_tokens",), "a number"),
    (("output_tokens",), "a number"),
    (("cache_creation_tokens",), "a number"),
    (("cache_read_tokens",), "a number"),
    (("agent_execution_seconds",), "a number"),
    (("wall_clock_seconds",), "a number"),
    (("tool_usage",), "an object"),
    (("tool_usage", "cost_usd"), "a number"),
    (("tool_usage", "total_input_tokens"), "a number"),
    (("tool_usage", "total_output_tokens"), "a number"),
    (("timing",), "an object"),
    (("timing", "agent"), "a number"),
)


def misfits(result: Any, metrics: Any = None) -> Iterator[str]:
    """Yield a sentence for each field of the files that cannot be used; null is allowed.

    ``result`` is the decoded result.json, ``metrics`` the decoded task_metrics.json.

    Examples
    --------
    >>> list(misfits({"verifier_result": [], "agent_result": {"cost_usd": 0.5}}))
    ['result.json: /verifier_result is no object']
    """
    for name, document, expected in (
        ("result.json", result, _EXPECTED),
        ("task_metrics.json", metrics, _EXPECTED_METRICS),
    ):
        for keys, kind in expected:
            value = section(document, *keys[:-1]).get(keys[-1])
            yield from _misfit(f"{name}: /{'/'.join(keys)}", kind, value)


def _misfit(where: str, kind: str, value: Any) -> Iterator[str]:
    is_fit = isinstance(value, _KINDS[kind]) and not isinstance(value, bool)
    if value is not None and not is_fit:
        yield f"{where} is no {kind.partition(' ')[2]}"
    elif kind == "a number" and value is not None and not 0 <= value < math.inf:
        yield f"{where} is negative or not finite"
