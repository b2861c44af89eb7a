"""Searches of local files: what Grep of Claude Code and of Cursor shows, and grep's lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from retrieval_eval.agents.traces.received import whole_lines
from retrieval_eval.agents.traces.results.base import (
    NOTHING,
    Found,
    Seen,
    distinct,
    integer,
    joined,
    merged_ranges,
    strings,
    text_argument,
)
from retrieval_eval.agents.traces.results.listing import listed_names, located
from retrieval_eval.agents.traces.results.mentions import read_mentions
from retrieval_eval.agents.traces.results.payload import is_empty_answer
from retrieval_eval.records import LineRange, RawTarget, ToolCategory

# --------------------------------------------------------------------------------------------------
# Lines that grep and ripgrep print: ``path:12:text``, ``path-13-context``, ``12:text``.
#
# A path may itself hold ``-13-``, and a context line may hold ``:12:``. Every file with context has
# at least one matching line, which has colons; so a split of a line is accepted when some matching
# line has the same path.

_SPLIT: Final = re.compile(r"([:-])(\d{1,9})(?=\1)")
_BARE: Final = re.compile(r"(\d{1,9})([:-])")
_SPLIT_WITHIN: Final = 4096
_MOST_SPLITS: Final = 8
_Split = tuple[str, str, int]


class GrepLines(Struct, frozen=True, gc=False):
    """The files and ranges in a block of lines.

    ``files`` maps each printed path to the ranges shown, empty where lines carry no numbers.
    ``single`` holds the ranges of lines that carry no path at all (None: they do carry one).
    ``is_uncertain``: some line could not be attributed.
    """

    files: dict[str, tuple[LineRange, ...]]
    single: tuple[LineRange, ...] | None = None
    is_uncertain: bool = False


def grep_lines(lines: Sequence[str], *, within: str | None = None) -> GrepLines:
    """Attribute grep output to files; ``within`` is the absolute path that was searched.

    Examples
    --------
    >>> grep_lines(["a-1-b.py-8-x", "a-1-b.py:9:y"]).files
    {'a-1-b.py': ((8, 9),)}
    >>> grep_lines(["12:x", "13-y"]).single
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
    for match in _SPLIT.finditer(line[:_SPLIT_WITHIN]):
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
    """Read ``path:text`` lines, certain only where the path lies in the place searched.

    Where that is the working directory, names that begin with ``./`` are certain.
    """
    folder = "./" if within is None else within.rstrip("/") + "/"
    heads = [line[:_SPLIT_WITHIN].partition(":") for line in lines]
    inside = [head for head, colon, _ in heads if colon and _may_lie_in(head, folder)]
    if within is None and not inside:
        return GrepLines({}, None, bool(lines))
    if not inside:
        return GrepLines({}, ())
    known = frozenset(inside)
    # A context line has a dash behind the path of a matching line.
    context = [line for line in lines if _before_dashes(line) & known]
    names = dict.fromkeys(head for head in inside if not _before_dashes(head) & known)
    n_read = len(inside) + sum(line.partition(":")[0] not in known for line in context)
    return GrepLines(dict.fromkeys(names, ()), None, n_read < len(lines))


def _before_dashes(line: str) -> set[str]:
    """Return what stands before each of the first dashes of a line."""
    parts = line[:_SPLIT_WITHIN].split("-", _MOST_SPLITS)
    return {"-".join(parts[:n]) for n in range(1, len(parts))}


def _may_lie_in(path: str, folder: str) -> bool:
    """Whether a path is absolute in a folder, or relative and repeats the end of its path.

    The place may be the file itself.
    """
    path += "/"
    if path.startswith("/") or folder == "./":
        return path.startswith(folder)
    parts = folder.strip("/").split("/")
    return any(path.startswith("/".join(parts[start:]) + "/") for start in range(len(parts)))


# --------------------------------------------------------------------------------------------------
# Claude Code's Grep: file names, counts, or matching lines with and without their path.

_COUNT: Final = re.compile(r"(.+):(\d{1,9})$")
_HAS_LINES: Final = re.compile(r"^[ ]{0,9}(?:L|Line )\d{1,9}: ", re.MULTILINE)
_FOOTER: Final = re.compile(r"\[Showing results|Found \d+ total|\(Results are ")


def grep_category(arguments: Mapping[str, Any]) -> ToolCategory:
    """Return ``code_search`` for a search that shows content, else ``file_search``."""
    mode = text_argument(arguments, ("output_mode", "outputMode"))
    return "code_search" if mode == "content" else "file_search"


def read_grep(seen: Seen) -> Found:
    """Return the files with matches and, in content mode, the lines shown."""
    if is_empty_answer(seen.text) and not isinstance(seen.value, dict):
        return NOTHING
    mode = text_argument(seen.arguments, ("output_mode", "outputMode"))
    if mode is None and isinstance(seen.value, dict):
        mode = text_argument(seen.value, ("mode",))
    if mode == "content":
        return replace(_content(seen), category="code_search")
    if mode == "count":
        return _counts(seen)
    names = strings(seen.value.get("filenames")) if isinstance(seen.value, dict) else []
    if not names and not is_empty_answer(seen.text):
        names = listed_names(seen.text, seen.is_truncated)
        if _FOUND.match(seen.text) is not None and _HAS_LINES.search(seen.text) is not None:
            return _sections(seen)
        if _HAS_LINES.search(seen.text) is not None:
            return read_mentions(replace(seen, category="code_search"))
    return Found(_matched(located(names, _place(seen), seen.cwd)), is_opaque=seen.is_truncated)


_FOUND: Final = re.compile(r"Found \d{1,9} match")
_SECTION_LINE: Final = re.compile(r" {1,9}Line (\d{1,9}): ")


def _sections(seen: Seen) -> Found:
    """Read OpenCode's answer: a path and a colon, and below it numbered lines."""
    found: dict[str, list[LineRange]] = {}
    current: list[LineRange] | None = None
    for line in whole_lines(seen.text, with_beginnings=True)[1:]:
        number = _SECTION_LINE.match(line)
        if number is not None and current is not None:
            current.append((int(number[1]), int(number[1])))
        elif line.endswith(":") and not line.startswith((" ", "(")):
            current = found.setdefault(line[:-1], [])
    paths = located(list(found), _place(seen), seen.cwd)
    targets = distinct(
        RawTarget(path, "matched", None, tuple(n for n in lines if n[0] > 0) or None)
        for path, lines in zip(paths, found.values(), strict=True)
    )
    return Found(targets, is_opaque=seen.is_truncated, category="code_search")


def _content(seen: Seen) -> Found:
    """Lines without a path belong to the named file: a folder's lines all carry their path."""
    if is_empty_answer(seen.text):
        return NOTHING
    shown = whole_lines(seen.text, with_beginnings=True)
    lines = [line for line in shown if line and not _FOOTER.match(line)]
    if not lines:
        return NOTHING
    if seen.is_truncated and len(lines) > 1:
        lines.pop()
    place = _place(seen)
    hits = grep_lines(lines, within=None if place is None else joined(seen.cwd, place))
    if hits.single is not None:
        if place is None:
            return Found(is_opaque=True)
        return Found((RawTarget(joined(seen.cwd, place), "matched", None, hits.single or None),))
    return Found(
        _with_lines(hits, place, seen.cwd), is_opaque=hits.is_uncertain or seen.is_truncated
    )


def _with_lines(shown: GrepLines, place: str | None, cwd: str | None) -> tuple[RawTarget, ...]:
    paths = located(list(shown.files), place, cwd)
    ranges: Iterable[tuple[LineRange, ...]] = shown.files.values()
    return distinct(
        RawTarget(path, "matched", None, lines or None)
        for path, lines in zip(paths, ranges, strict=True)
    )


def _counts(seen: Seen) -> Found:
    content = seen.value.get("content") if isinstance(seen.value, dict) else None
    text = content if isinstance(content, str) and content else seen.text
    matches = [m for n in listed_names(text, seen.is_truncated) if (m := _COUNT.match(n))]
    names = [m[1] for m in matches if int(m[2]) > 0]
    place = _place(seen)
    if not matches and text.strip().isdecimal() and int(text.strip()[:9]) > 0 and place is not None:
        names = [joined(seen.cwd, place)]
    return Found(_matched(located(names, place, seen.cwd)), is_opaque=seen.is_truncated)


def _place(seen: Seen) -> str | None:
    several = strings(seen.arguments.get("paths"))
    stated = {"paths": several[0]} if len(several) == 1 else {}
    return text_argument({**seen.arguments, **stated}, ("path", "dir_path", "directory", "paths"))


def _matched(paths: Iterable[str]) -> tuple[RawTarget, ...]:
    return distinct(RawTarget(path, "matched") for path in paths)


# --------------------------------------------------------------------------------------------------
# Cursor's grepToolCall: file names, counts or matches, grouped by workspace folder.


def read_cursor_grep(seen: Seen) -> Found:
    """Return the files that ``workspaceResults`` names, relative to their workspace folder."""
    results = seen.value.get("workspaceResults") if isinstance(seen.value, dict) else None
    if not isinstance(results, dict):
        return read_grep(seen)
    found = [t for root, result in results.items() for t in _in_workspace(root, result)]
    return Found(distinct(found), is_opaque=seen.is_truncated)


def _in_workspace(root: str, result: Any) -> Iterator[RawTarget]:
    if not isinstance(result, dict):
        return
    for name in strings(_member(result, "files", "files")):
        yield RawTarget(joined(root, name), "matched")
    for key, inner in (("content", "matches"), ("count", "counts")):
        records = _member(result, key, inner)
        for record in records if isinstance(records, list) else []:
            path = text_argument(record, ("file",)) if isinstance(record, dict) else None
            if path is not None:
                yield RawTarget(joined(root, path), "matched", None, _lines(record) or None)


def _lines(record: dict[str, Any]) -> tuple[tuple[int, int], ...]:
    matches = record.get("matches")
    rows = [m for m in matches if isinstance(m, dict)] if isinstance(matches, list) else []
    numbers = [n for m in rows if (n := integer(m.get("lineNumber"))) is not None]
    return tuple((n, n) for n in numbers)


def _member(value: dict[str, Any], key: str, inner: str) -> Any:
    block = value.get(key)
    return block.get(inner) if isinstance(block, dict) else None
