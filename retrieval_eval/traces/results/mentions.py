"""Results of remote searches: files named by JSON records, headers, links, diffs or grep lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from retrieval_eval.paths import diff_path
from retrieval_eval.records import Access, LineRange, RawTarget
from retrieval_eval.traces.results.base import (
    Found,
    Seen,
    distinct,
    joined,
    repository_argument,
    strings,
    text_argument,
)
from retrieval_eval.traces.results.decorations import is_empty_answer
from retrieval_eval.traces.results.links import links_in
from retrieval_eval.traces.results.listing import listed_names
from retrieval_eval.traces.results.records_in import file_records, texts_in

_HEADER: Final = re.compile(r"# ([^\s/]+/\S*) [–—-] (\S.*)$")
_SECTION: Final = re.compile(r"(?:Path|File): (\S.*)$|(/\S{0,4096}[^\s:]):$")
_NUMBER: Final = re.compile(r"[ ]{0,9}(?:L|Line )?(\d{1,9})(?:: |:$|\t)")
_DIFF: Final = re.compile(r"(?:---|\+\+\+) (\"?[ab]/.+)$|rename (?:from|to) (\S.*)$")
_ROW: Final = re.compile(
    r"[ ]{0,9}(?:\||#{1,6} |[-*] |\d{1,3}[.)] )\s{0,9}[`*]{0,4}"
    r"([\w.@+()\[\]-]{1,255}(?:/[\w.@+()\[\]-]{1,255}){1,40}\.\w{1,12})"
    r"(?::(\d{1,9}))?(?=[`*:|,;]|\s|$)"
)
_GREP: Final = re.compile(r"([^\s:]{1,1024}):(\d{1,9}):")
_READ_NOTE: Final = re.compile(r"- ((?:[^\s/]+/){2}[^\s/]+)/(\S[^\n]{0,2048}?)@[0-9a-f]{4,40}: ")
_QUERIED: Final = re.compile(r"(?<![\w-])repo:\^([\w.@/\\-]{1,300})\$")
_LONGEST_LINE: Final = 8192
_PROSE_CATEGORIES: Final = frozenset({"commit_search", "deep_search"})


def read_mentions(seen: Seen) -> Found:
    """Return the files that a search, navigation, commit or deep-search result names.

    A result that says something but names no file in a known grammar is opaque.
    """
    if is_empty_answer(seen.text) and seen.value is None:
        return Found()
    lines = strings(seen.value)
    if lines and lines == seen.value:
        seen = replace(seen, text="\n".join(lines), value=None)
    asked = _asked_repository(seen.arguments)
    access: Access = "listed" if seen.category == "file_search" else "matched"
    if seen.value is None:
        found = list(_in_text(seen.text, access, asked))
        found = found or _bare_paths(seen, access, asked) or _in_rows(seen, access, asked)
        has_answer = True
    else:
        found = list(file_records(seen.value, access, asked))
        if seen.category in _PROSE_CATEGORIES:
            for text in texts_in(seen.value):
                found.extend(_in_text(text, access, asked))
        has_answer = seen.category != "file_search" and _holds_records(seen.value)
    targets = distinct(t if t.repository else _placed(t, seen.cwd) for t in found)
    return Found(targets, is_opaque=seen.is_truncated or (has_answer and not targets))


def _bare_paths(seen: Seen, access: Access, asked: str | None) -> list[RawTarget]:
    """Read an answer of one path a line, certain only when every line is one."""
    names = listed_names(seen.text, seen.is_truncated)
    if not all("/" in name and " " not in name for name in names):
        return []
    return [RawTarget(name, access, asked) for name in names]


def _in_rows(seen: Seen, access: Access, asked: str | None) -> list[RawTarget]:
    """Read the files that begin the rows of a table, a list or a series of headings."""
    if seen.category in _PROSE_CATEGORIES:
        return []
    rows = (_ROW.match(line[:_LONGEST_LINE]) for line in seen.text.split("\n"))
    return [
        RawTarget(
            row[1], access, asked, ((int(row[2]), int(row[2])),) if int(row[2] or 0) else None
        )
        for row in rows
        if row is not None
    ]


def _asked_repository(arguments: Mapping[str, Any]) -> str | None:
    """Return the one repository a search was confined to, or None."""
    named = repository_argument(arguments)
    if named is not None:
        return named
    several = strings(arguments.get("repos"))
    query = text_argument(arguments, ("query",)) or ""
    several = several or [m[1].replace("\\", "") for m in _QUERIED.finditer(query[:_LONGEST_LINE])]
    return several[0] if len(several) == 1 else None


def _holds_records(value: object) -> bool:
    """Whether a JSON answer holds anything besides empty lists and objects."""
    children = list(value.values()) if isinstance(value, dict) else value
    if not isinstance(children, list):
        return True
    return any(child not in ([], {}, None, 0, "", False) for child in children)


def _placed(target: RawTarget, base: str | None) -> RawTarget:
    path = joined(base, target.path)
    return RawTarget(path, target.access, None, target.lines, target.is_whole)


def _in_text(text: str, access: Access, asked: str | None) -> Iterator[RawTarget]:
    """Walk the lines; numbered lines belong to the file named last."""
    current: tuple[str, str | None] | None = None
    numbers: list[LineRange] = []
    for full in text.split("\n"):
        line = full[:_LONGEST_LINE].rstrip("\r")
        number = _NUMBER.match(line)
        if number is not None:
            numbers.append((int(number[1]), int(number[1])))
            continue
        named = _headline(line, asked)
        if named is not None:
            if current is not None:
                yield RawTarget(current[0], access, current[1], tuple(numbers) or None)
            current, numbers = named, []
            continue
        yield from _inline(line, access, asked)
    if current is not None:
        yield RawTarget(current[0], access, current[1], tuple(numbers) or None)


def _headline(line: str, asked: str | None) -> tuple[str, str | None] | None:
    header = _HEADER.match(line)
    if header is not None:
        return header[2].strip(), header[1].split("@", 1)[0]
    section = _SECTION.match(line)
    return None if section is None else ((section[1] or section[2]).strip(), asked)


def _inline(line: str, access: Access, asked: str | None) -> Iterator[RawTarget]:
    diff = _DIFF.match(line)
    if diff is not None:
        path = diff_path(diff[1]) if diff[1] else diff[2].strip()
        if path is not None:
            yield RawTarget(path, access, asked)
        return
    note = _READ_NOTE.match(line)
    if note is not None:
        yield RawTarget(note[2], access, note[1])
        return
    grep = _GREP.match(line)
    if grep is not None and any(c.isalpha() for c in grep[1]) and "//" not in grep[1]:
        start = int(grep[2])
        yield RawTarget(grep[1], access, asked, ((start, start),) if start else None)
        return
    for repository, path, lines in links_in(line):
        yield RawTarget(path, access, repository, lines)
