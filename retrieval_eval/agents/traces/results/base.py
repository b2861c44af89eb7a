"""Input and output of every result parser, and tolerant access to arguments."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from retrieval_eval.records import Access, Doubt, LineRange, RawTarget, ToolCategory

PATH_ARGUMENTS: Final = (
    "file_path",
    "filePath",
    "filepath",
    "path",
    "target_file",
    "absolute_path",
    "AbsolutePath",
    "notebook_path",
    "relative_path",
    "relativePath",
    "filename",
    "file",
)
"""Names under which tools take the path of one file, in order of preference."""

DISPLAY: Final = "display"
"""The name of the only entry of a structured result that is what a person saw of an answer."""

_REPOSITORY_ARGUMENTS: Final = ("repo", "repository", "repoName", "repo_name")
_LONGEST_PATH: Final = 4096
_LARGEST_LINE: Final = 10**9
_UNPRINTABLE: Final = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
_DRIVE: Final = re.compile(r"[A-Za-z]:[\\/]")
_STRENGTH: Final[dict[Access, int]] = {"listed": 0, "matched": 1, "opened": 2, "written": 3}


class Seen(Struct, frozen=True, gc=False):
    """A successful tool call as a parser sees it.

    ``text`` is free of harness decorations and of JSON wrapping; ``value`` is what the result holds
    beside it in machine-readable form. ``is_truncated``: the trace, not the tool, cut the result,
    so that the agent saw more than is known.
    """

    arguments: Mapping[str, Any]
    text: str
    value: Any
    category: ToolCategory
    cwd: str | None = None
    is_truncated: bool = False


class Found(Struct, frozen=True, gc=False):
    """The files a parser found in a result; ``category`` replaces the tool's when not None."""

    targets: tuple[RawTarget, ...] = ()
    is_opaque: bool = False
    is_error: bool = False
    category: ToolCategory | None = None


_Identity = tuple[str, str | None, Doubt | None, bool]
Parser = Callable[[Seen], Found]
NOTHING: Final = Found()


def is_display(value: Any) -> bool:
    """Whether a structured result is only what a person saw of the answer.

    Examples
    --------
    >>> is_display({DISPLAY: "Found 3 matches"}), is_display({"display": "", "files": []})
    (True, False)
    """
    return isinstance(value, dict) and value.keys() == {DISPLAY}


def text_argument(arguments: Mapping[str, Any], names: Sequence[str]) -> str | None:
    """Return the first non-empty text argument among ``names``, or None."""
    for name in names:
        value = arguments.get(name)
        if isinstance(value, str) and value.strip():
            return value.strip()
    return None


def integer(value: object) -> int | None:
    """Return a positive line number given as number or text, or None.

    Examples
    --------
    >>> integer("12"), integer(0), integer(True), integer("[1, 300]")
    (12, None, None, None)
    """
    if isinstance(value, str) and len(value) <= 10 and value.strip().isdecimal():
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 < value < _LARGEST_LINE else None


def repository_argument(arguments: Mapping[str, Any]) -> str | None:
    """Return the repository requested of a remote tool, as ``owner/name`` where split."""
    name = text_argument(arguments, _REPOSITORY_ARGUMENTS)
    owner = text_argument(arguments, ("owner",))
    return f"{owner}/{name}" if owner and name and "/" not in name else name


def strings(value: object) -> list[str]:
    """Return the text items of a list; anything else holds none."""
    return [v for v in value if isinstance(v, str)] if isinstance(value, list) else []


def is_file_path(text: str) -> bool:
    """Whether a text can be the path of a file: one line, not too long, no folder.

    Examples
    --------
    >>> is_file_path("app/(auth)/page.tsx"), is_file_path("src/")
    (True, False)
    """
    return (
        0 < len(text) <= _LONGEST_PATH
        and not text.isspace()
        and not text.endswith(("/", "\\"))
        and (text.isprintable() or _UNPRINTABLE.search(text) is None)
        and not (text[-1] == "." and text.rsplit("/", 1)[-1] in {".", ".."})
    )


def is_absolute(path: str) -> bool:
    """Whether a path does not depend on a working directory."""
    return path[:1] in ("/", "~") or (path[1:2] == ":" and _DRIVE.match(path) is not None)


def joined(base: str | None, path: str) -> str:
    """Return ``path`` below ``base``; absolute paths and unknown bases leave it as it is.

    Examples
    --------
    >>> joined("/workspace/flask/", "./src/app.py")
    '/workspace/flask/src/app.py'
    """
    if base is None or is_absolute(path):
        return path
    return posixpath.normpath(f"{base}/{path}")


def merged_ranges(ranges: Iterable[LineRange]) -> tuple[LineRange, ...] | None:
    """Return sorted, non-overlapping ranges; None when there are none.

    Examples
    --------
    >>> merged_ranges([(5, 9), (1, 2), (3, 3), (8, 12)])
    ((1, 3), (5, 12))
    """
    ordered = sorted(ranges)
    if len(ordered) < 2:
        return tuple(ordered) or None
    merged: list[LineRange] = []
    first, last = ordered[0]
    for start, end in ordered[1:]:
        if start > last + 1:
            merged.append((first, last))
            first, last = start, end
        elif end > last:
            last = end
    return (*merged, (first, last))


def distinct(targets: Iterable[RawTarget]) -> tuple[RawTarget, ...]:
    """Return one target per file in order of appearance, with the lines of all its mentions.

    A file that was both listed and matched counts as matched. A possible access stays beside
    a certain one that is weaker, and one that showed lines beside a write.
    """
    first: dict[_Identity, RawTarget] = {}
    ranges: dict[_Identity, list[LineRange]] = {}
    for target in targets:
        if not is_file_path(target.path):
            continue
        if target.repository is not None and not is_file_path(target.repository or "-"):
            continue
        key = (target.path, target.repository, target.doubt, target.access == "written")
        known = first.setdefault(key, target)
        if target.lines is not None:
            ranges.setdefault(key, []).extend(target.lines)
        if known is target:
            continue
        stronger = _STRENGTH[target.access] > _STRENGTH[known.access]
        if stronger or (target.is_whole and not known.is_whole):
            access = target.access if stronger else known.access
            first[key] = replace(known, access=access, is_whole=target.is_whole or known.is_whole)
    found: list[RawTarget] = []
    for key, target in first.items():
        certain = [first.get((*key[:2], None, is_write)) for is_write in (False, True)]
        if target.doubt is not None and any(_is_covered(target, other) for other in certain):
            continue
        lines = merged_ranges(ranges[key]) if key in ranges else None
        found.append(target if lines == target.lines else replace(target, lines=lines))
    return tuple(found)


def _is_covered(possible: RawTarget, certain: RawTarget | None) -> bool:
    """Whether a possible access adds nothing to a certain one of the same file."""
    return certain is not None and _STRENGTH[certain.access] >= _STRENGTH[possible.access]
