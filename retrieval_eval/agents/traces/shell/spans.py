"""Line ranges through a pipeline: what ``sed -n 10,99p f | head -5`` shows of ``f``.

Spans are ``(first, last)`` pairs, 1-based and inclusive, in the order they are shown; the last
may be open (None: to the end of the file).
"""

from __future__ import annotations

import re
from typing import Final

from retrieval_eval.agents.traces.results.base import merged_ranges
from retrieval_eval.records import LineRange

Span = tuple[int, int | None]
Spans = tuple[Span, ...]

WHOLE: Final[Spans] = ((1, None),)
"""The whole file."""


def take(spans: Spans | None, wanted: Spans | None) -> Spans | None:
    """Return the lines of ``spans`` at the stream positions ``wanted``.

    Examples
    --------
    >>> take(((10, 99),), ((1, 5),))
    ((10, 14),)
    >>> take(((10, 12), (20, 30)), ((3, 4),))
    ((12, 12), (20, 20))
    """
    if spans is None or wanted is None:
        return None
    found: list[Span] = []
    for first, last in wanted:
        position = 1
        for start, end in spans:
            length = None if end is None else end - start + 1
            low = max(first, position)
            high = last if length is None else position + length - 1
            if last is not None and high is not None:
                high = min(high, last)
            if high is None or high >= low:
                found.append(
                    (start + low - position, None if high is None else start + high - position)
                )
            if length is None:
                break
            position += length
    return tuple(found)


def close(spans: Spans | None, n_lines: int | None) -> tuple[LineRange, ...] | None:
    """Return ``spans`` as merged ranges; an open end is found from the number of lines shown.

    None when an end stays unknown.
    """
    if not spans:
        return None
    closed: list[LineRange] = []
    for first, last in spans:
        if last is None:
            if n_lines is None:
                return None
            last = first + n_lines - sum(b - a + 1 for a, b in closed) - 1
        if last >= first:
            closed.append((first, last))
    return merged_ranges(closed) or ()


_SED_PART = re.compile(r"(\d{1,9})(?:,(\+?)(\d{1,9}|\$))?(p|q|d)?")


def sed_spans(script: str) -> Spans | None:
    """Return the lines that ``sed -n script`` prints; None when they depend on the text.

    Examples
    --------
    >>> sed_spans("1,3p;10,$p"), sed_spans("/x/,/y/p")
    (((1, 3), (10, None)), None)
    >>> sed_spans("1,100p;20q")
    ((1, 20),)
    """
    found: list[Span] = []
    end: int | None = None
    for part in filter(None, (p.strip() for p in re.split(r"[;\n]", script.strip("{} \n")))):
        match = _SED_PART.fullmatch(part.replace(" ", ""))
        if match is None or match[4] not in ("p", "q"):
            return None
        first = int(match[1])
        if match[4] == "q":
            # What stands before it still sees the line on which it quits.
            found, end = _until(found, first), first - 1
            continue
        last: int | None = first
        if match[3]:
            last = None if match[3] == "$" else int(match[3]) + (first if match[2] else 0)
        if last is not None and last < first:
            last = first
        found += _until([(first, last)], end)
    return tuple(sorted(found, key=lambda s: s[0])) or None


def _until(spans: list[Span], end: int | None) -> list[Span]:
    """Return the spans as far as line ``end``; all of them where there is no end."""
    if end is None:
        return spans
    return [(a, end if b is None else min(b, end)) for a, b in spans if a <= end]


_AWK_FLAT = re.compile(r"F?NR(>=|<=|==|>|<)(\d{1,9})")


def awk_spans(program: str) -> Spans | None:
    """Return the lines an awk program selects by number alone, else None.

    Examples
    --------
    >>> awk_spans("NR>=10 && NR<=20"), awk_spans("NR==5{print; exit}"), awk_spans("/x/")
    (((10, 20),), ((5, 5),), None)
    """
    text = re.sub(r"\s+", "", program)
    text = re.sub(r"\{printf?[^{};]*(;exit)?;?\}", "", text)
    text = re.sub(r";?F?NR>=?\d+\{exit\}$", "", text)
    edges = re.fullmatch(r"F?NR==(\d{1,9}),F?NR==(\d{1,9})", text)
    if edges:
        return ((int(edges[1]), int(edges[2])),)
    low, high = 1, None
    for part in text.split("&&"):
        match = _AWK_FLAT.fullmatch(part)
        if match is None:
            return None
        number = int(match[2])
        if match[1] == "==":
            return ((number, number),) if "&&" not in text else None
        if match[1][0] == ">":
            low = max(low, number + (match[1] == ">"))
        else:
            top = number - (match[1] == "<")
            high = top if high is None else min(high, top)
    return ((low, high),)
