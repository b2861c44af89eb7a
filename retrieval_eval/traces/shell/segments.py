"""Which lines of the output belong to which step.

Scripts print known lines between their commands (``echo "--- a.py ---"``). Where such a marker
is found as often as it was printed, it divides the output; the steps between two dividers share
the lines between them.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise

from retrieval_eval.traces.shell.output import Output
from retrieval_eval.traces.shell.steps import Marker, Step

BLANK = Marker(("",))


@dataclass(slots=True)
class Segment:
    """Lines shared by the steps numbered in ``members``.

    ``noise`` are marker lines that could not be placed, and ``is_cut`` says that the lines may be
    incomplete.
    """

    lines: list[str]
    members: list[int] = field(default_factory=list)
    noise: set[str] = field(default_factory=set)
    is_cut: bool = False


def align(steps: list[Step], output: Output) -> list[Segment]:
    """Return the segment of each step; steps without a divider between them share one."""
    placed = _place(steps, output)
    _place_blanks(steps, output.lines, placed)
    segments: list[Segment] = []
    current = Segment([])
    start = 0
    prefix: str | None = None
    for i, step in enumerate(steps):
        if i in placed and step.marker is not None:
            at = placed[i]
            current.lines += output.lines[start:at]
            start = at + 1
            following = Segment([])
            rest = _rest(step.marker, output.lines[at])
            if step.stages:
                segments.append(Segment([rest or ""], [i]))
            else:
                segments.append(Segment([], [i]))
                prefix = rest if not step.marker.ends_line else None
                if prefix:
                    following.lines.append(prefix)
            current = following
            continue
        if step.marker is not None and step.marker.text:
            current.noise.add(step.marker.text.rstrip())
        current.members.append(i)
        segments.append(current)
    current.lines += output.lines[start:]
    current.is_cut = output.is_cut
    return segments


def _rest(marker: Marker, line: str) -> str:
    """Return what ``line`` shows beyond the marker's known text."""
    if marker.text is not None:
        return line[len(marker.text) :]
    at = marker.parts.index(None)
    prefix = "".join(part or "" for part in marker.parts[:at])
    suffix = "".join(part or "" for part in marker.parts[at + 1 :])
    return line[len(prefix) : len(line) - len(suffix)]


def _place(steps: list[Step], output: Output) -> dict[int, int]:
    groups: dict[tuple[str, str, bool], list[int]] = defaultdict(list)
    for i, step in enumerate(steps):
        marker = step.marker
        if marker is None:
            continue
        key = _key(marker)
        if key is not None:
            groups[key].append(i)
    positions = _positions(groups, output.lines)
    chosen: dict[int, int] = {}
    for key, members in groups.items():
        places = positions[key]
        is_partial = output.is_cut or len(places) == 1 == len(members)
        if len(places) == len(members) or (is_partial and len(places) < len(members)):
            chosen.update(zip(members, places, strict=False))
    return _increasing(chosen)


def _key(marker: Marker) -> tuple[str, str, bool] | None:
    text = marker.text
    if text is not None:
        return (text.rstrip(), "", marker.ends_line) if text.strip() else None
    if marker.parts.count(None) != 1:
        return None
    at = marker.parts.index(None)
    prefix = "".join(part or "" for part in marker.parts[:at])
    suffix = "".join(part or "" for part in marker.parts[at + 1 :])
    return (prefix, suffix + "\0", True) if len((prefix + suffix).strip()) > 2 else None


def _positions(
    groups: dict[tuple[str, str, bool], list[int]], lines: tuple[str, ...]
) -> dict[tuple[str, str, bool], list[int]]:
    whole = {key[0] for key in groups if key[2] and not key[1]}
    found: dict[tuple[str, str, bool], list[int]] = {key: [] for key in groups}
    partial = [key for key in groups if key[1] or not key[2]][:200]
    for i, line in enumerate(lines):
        text = line.rstrip()
        if text in whole:
            found[(text, "", True)].append(i)
        for key in partial:
            prefix, suffix = key[0], key[1].rstrip("\0")
            is_long = len(line) >= len(prefix) + len(suffix)
            if is_long and line.startswith(prefix) and line.endswith(suffix):
                found[key].append(i)
    return found


def _increasing(chosen: dict[int, int]) -> dict[int, int]:
    kept: dict[int, int] = {}
    last = -1
    for step in sorted(chosen):
        if chosen[step] > last:
            kept[step] = last = chosen[step]
    return kept


def _place_blanks(steps: list[Step], lines: tuple[str, ...], placed: dict[int, int]) -> None:
    """Place ``echo ""`` between two dividers that enclose just as many blank lines."""
    edges = [-1, *sorted(placed), len(steps)]
    for left, right in pairwise(edges):
        blanks = [
            i
            for i in range(left + 1, right)
            if (marker := steps[i].marker) is not None and marker == BLANK
        ]
        if not blanks or any(steps[i].is_conditional for i in blanks):
            continue
        first = placed[left] + 1 if left >= 0 else 0
        last = placed[right] if right < len(steps) else len(lines)
        empty = [n for n in range(first, last) if not lines[n].strip()]
        if right == len(steps):
            # Blank lines at the very end of an output are trimmed by every harness.
            blanks = blanks[: len(empty)] if len(blanks) > len(empty) else blanks
        if len(empty) == len(blanks):
            placed.update(zip(blanks, empty, strict=True))
