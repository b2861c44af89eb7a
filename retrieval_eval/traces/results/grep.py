"""Claude Code's Grep: file names, counts, or matching lines with and without their path."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from retrieval_eval.records import LineRange, RawTarget
from retrieval_eval.traces.results.base import (
    NOTHING,
    Found,
    Seen,
    distinct,
    joined,
    strings,
    text_argument,
)
from retrieval_eval.traces.results.decorations import is_empty_answer
from retrieval_eval.traces.results.grep_lines import GrepLines, read_lines
from retrieval_eval.traces.results.listing import listed_names, located
from retrieval_eval.traces.results.mentions import read_mentions

_COUNT: Final = re.compile(r"(.+):(\d{1,9})$")
_HAS_LINES: Final = re.compile(r"^[ ]{0,9}(?:L|Line )\d{1,9}: ", re.MULTILINE)
_FOOTER: Final = re.compile(r"\[Showing results|Found \d+ total|\(Results are ")


def grep_category(arguments: Mapping[str, Any]) -> str:
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
        if _HAS_LINES.search(seen.text) is not None:
            return read_mentions(seen)
    return Found(_matched(located(names, _place(seen), seen.cwd)), is_opaque=seen.is_truncated)


def _content(seen: Seen) -> Found:
    """Lines without a path belong to the named file: a folder's lines all carry their path."""
    if is_empty_answer(seen.text):
        return NOTHING
    lines = [ln for ln in seen.text.split("\n") if ln and not _FOOTER.match(ln)]
    if not lines:
        return NOTHING
    if seen.is_truncated and len(lines) > 1:
        lines.pop()
    place = _place(seen)
    shown = read_lines(lines, within=None if place is None else joined(seen.cwd, place))
    if shown.single is not None:
        if place is None:
            return Found(is_opaque=True)
        return Found((RawTarget(joined(seen.cwd, place), "matched", None, shown.single or None),))
    return Found(
        _with_lines(shown, place, seen.cwd), is_opaque=shown.is_uncertain or seen.is_truncated
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
    return text_argument(seen.arguments, ("path", "dir_path", "directory"))


def _matched(paths: Iterable[str]) -> tuple[RawTarget, ...]:
    return distinct(RawTarget(path, "matched") for path in paths)
