"""Lines that grep and ripgrep print: ``path:12:text``, ``path-13-context``, ``12:text``.

A path may itself hold ``-13-``, and a context line may hold ``:12:``. What decides is that every
file with context has at least one matching line, which has colons: a split of a line is believed
when some matching line has the same path.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from retrieval_eval.records import LineRange
from retrieval_eval.traces.results.base import merged_ranges

_SPLIT: Final = re.compile(r"([:-])(\d{1,9})(?=\1)")
_BARE: Final = re.compile(r"(\d{1,9})([:-])")
_HEAD: Final = 4096
_MOST_SPLITS: Final = 8
_Split = tuple[str, str, int]


@dataclass(frozen=True, slots=True)
class GrepLines:
    """What a block of lines says.

    ``files`` maps each printed path to the ranges shown, empty where lines carry no numbers.
    ``single`` holds the ranges of lines that carry no path at all (None: they do carry one).
    ``is_uncertain`` says that some line could not be attributed.
    """

    files: dict[str, tuple[LineRange, ...]]
    single: tuple[LineRange, ...] | None = None
    is_uncertain: bool = False


def read_lines(lines: Sequence[str], *, within: str | None = None) -> GrepLines:
    """Attribute grep output to files; ``within`` is the absolute path that was searched.

    Examples
    --------
    >>> read_lines(["a-1-b.py-8-x", "a-1-b.py:9:y"]).files
    {'a-1-b.py': ((8, 9),)}
    >>> read_lines(["12:x", "13-y"]).single
    ((12, 13),)
    """
    lines = [line for line in lines if line != "--"]
    splits = [_splits(line) for line in lines]
    bare = [m for line in lines if (m := _BARE.match(line)) is not None]
    # A path may start like "2024-01-": then no line starts with a number and a colon.
    has_match = any(m[2] == ":" for m in bare) or not any(_colon_paths(s) for s in splits)
    if lines and len(bare) == len(lines) and has_match:
        return GrepLines({}, merged_ranges((int(m[1]), int(m[1])) for m in bare))
    if not any(splits):
        return _without_numbers(lines, within)
    return _with_numbers(splits)


def _splits(line: str) -> list[_Split]:
    """Return the ways to cut a line into path, separator and number, leftmost first."""
    found: list[_Split] = []
    for match in _SPLIT.finditer(line[:_HEAD]):
        path = line[: match.start()]
        if path and len(found) < _MOST_SPLITS:
            found.append((path, match[1], int(match[2])))
    return found


def _with_numbers(splits: Sequence[Sequence[_Split]]) -> GrepLines:
    known = {path for line in splits for path in _colon_paths(line)}
    tails = {path.rsplit("/", 1)[-1] for path in known}
    numbers: dict[str, list[int]] = {}
    is_uncertain = False
    for line in splits:
        chosen = _choose(line, known, tails)
        if chosen is None:
            is_uncertain = True
        else:
            numbers.setdefault(chosen[0], []).append(chosen[2])
    files = {p: merged_ranges((n, n) for n in ns) or () for p, ns in numbers.items()}
    return GrepLines(files, None, is_uncertain)


def _colon_paths(line: Sequence[_Split]) -> list[str]:
    """Return the path of a matching line; a context line with spaces and colons has none."""
    colons = [path for path, separator, _ in line if separator == ":"]
    return [p for p in colons[:1] if not any(c.isspace() for c in p) or line[0][1] == ":"]


def _choose(line: Sequence[_Split], known: set[str], tails: set[str]) -> _Split | None:
    for split in line:
        if split[0] in known:
            return split
    # The harness shortens the paths of matching lines only, so a context line may be absolute.
    for split in line:
        if split[1] == "-" and split[0].rsplit("/", 1)[-1] in tails:
            return split
    return line[0] if len(line) == 1 else None


def _without_numbers(lines: Sequence[str], within: str | None) -> GrepLines:
    """Read ``path:text`` lines, certain only where the path lies in the folder searched."""
    if within is None:
        return GrepLines({}, None, bool(lines))
    folder = within.rstrip("/") + "/"
    heads = [line[:_HEAD].partition(":") for line in lines]
    inside = [head for head, colon, _ in heads if colon and _may_lie_in(head, folder)]
    if not inside:
        return GrepLines({}, ())
    return GrepLines(dict.fromkeys(inside, ()), None, len(inside) < len(lines))


def _may_lie_in(path: str, folder: str) -> bool:
    """Whether a path is absolute in a folder, or relative and repeats the end of its path."""
    if path.startswith("/"):
        return path.startswith(folder)
    parts = folder.strip("/").split("/")
    return any(path.startswith("/".join(parts[start:]) + "/") for start in range(len(parts)))
