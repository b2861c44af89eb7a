"""The line range a read asked for, in the argument names of several harnesses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from retrieval_eval.records import LineRange
from retrieval_eval.traces.results.base import integer

_STARTS: Final = ("startLine", "start_line", "line_start", "start_line_one_indexed", "StartLine")
_ENDS: Final = ("endLine", "end_line", "line_end", "end_line_one_indexed_inclusive", "EndLine")


def requested_range(arguments: Mapping[str, Any]) -> LineRange | None:
    """Return the range a read asked for, or None when it asked for the whole file.

    ``offset`` and ``limit`` (or ``head``) cover offset … offset + limit - 1. An end that is not
    given, or that is -1, is open: the range then ends at the largest line number.

    Examples
    --------
    >>> requested_range({"offset": 900, "limit": 100})
    (900, 999)
    >>> requested_range({"view_range": [1, 40]})
    (1, 40)
    >>> requested_range({"file_path": "a.py"}) is None
    True
    """
    view = arguments.get("view_range")
    if isinstance(view, list) and len(view) == 2:
        return _range(integer(view[0]), integer(view[1]))
    start = _first(arguments, _STARTS)
    end = _first(arguments, _ENDS)
    if start is not None or end is not None:
        return _range(start, end)
    offset = integer(arguments.get("offset"))
    limit = _first(arguments, ("limit", "head"))
    if offset is None and limit is None:
        return None
    first = offset or 1
    return _range(first, None if limit is None else first + limit - 1)


def is_from_end(arguments: Mapping[str, Any]) -> bool:
    """Return whether the lines asked for are counted back from the end of the file."""
    offset = arguments.get("offset")
    is_negative = isinstance(offset, int | float) and offset < 0
    return is_negative or integer(arguments.get("tail")) is not None


def shown_range(asked: LineRange | None) -> tuple[LineRange, ...] | None:
    """Return a range asked for as the lines seen, unless it is open-ended and so unknown."""
    return None if asked is None or asked[1] == OPEN_END else (asked,)


OPEN_END: Final = 10**9
"""The end of a range that runs to the end of the file."""


def _range(start: int | None, end: int | None) -> LineRange | None:
    if start is None and end is None:
        return None
    first, last = start or 1, end or OPEN_END
    return (first, last) if first <= last else None


def _first(arguments: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    for name in names:
        value = integer(arguments.get(name))
        if value is not None:
            return value
    return None
