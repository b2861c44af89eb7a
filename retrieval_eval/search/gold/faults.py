"""Faults in untrusted lines: their place, and a description of what was found there."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from retrieval_eval.io.files import Line, iter_jsonl
from retrieval_eval.io.user_files import followed

MAX_DEPTH: Final = 64
"""Rows nested deeper than this are rejected, because they could not be written again."""

_AFTER_THE_LINE: Final = re.compile(r"\(line 2, column 1: ")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True, order=True)
class LineFault:
    """What is wrong with one line of a file; line 0 is the file as a whole."""

    line: int
    message: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}" if self.line else self.message


def user_lines(path: Path) -> Iterator[Line]:
    """Yield the decoded lines of a JSONL file given by a person; links are followed.

    A problem begins with the name as it was given, and the number of the line.
    """
    real = followed(path)
    for line in iter_jsonl(real, real.parent):
        problem = line.problem and f"{path}: {line_problem(line.problem, real)}"
        yield Line(line.number, line.value, problem)


def line_problem(problem: str, path: Path) -> str:
    """Return a problem of `iter_jsonl` without the file's name and JSON's own count of lines.

    Examples
    --------
    >>> line_problem("a.jsonl: line 7: not valid JSON (line 1, column 2: x)", Path("a.jsonl"))
    'line 7: not valid JSON (column 2: x)'
    """
    found = problem.removeprefix(f"{path.name}: ").replace("(line 1, ", "(", 1)
    # A line is decoded with its line feed, so a missing end is reported on a second line.
    return _AFTER_THE_LINE.sub("(at the end: ", found)


def pointer(*parts: object) -> str:
    """Return the JSON pointer (RFC 6901) of a place in a row.

    Examples
    --------
    >>> pointer("relevant", "a/b")
    '/relevant/a~1b'
    """
    return "".join(f"/{str(part)[:80].replace('~', '~0').replace('/', '~1')}" for part in parts)


def kind(value: Any) -> str:
    """Return a description of a JSON value for a message."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"the number {str(value)[:40]}"
    if isinstance(value, str):
        return f"the text {value[:40]!r}" if value.strip() else "an empty text"
    return "a list" if isinstance(value, list) else "an object"


def unusable_part(value: Any) -> str | None:
    """Return the first part that cannot round-trip through JSON, or None.

    That is NaN and infinity, half of a surrogate pair, and nesting deeper than
    :data:`MAX_DEPTH`.
    """
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                below.extend(item)
                below.extend(item.values())
            elif isinstance(item, list):
                below.extend(item)
            elif isinstance(item, str) and _SURROGATE.search(item):
                return "holds half of a character (a lone surrogate); write the character whole"
            elif isinstance(item, float) and not math.isfinite(item):
                return f"holds {item}, which is no JSON number"
        if not below:
            return None
        level = below
    return f"is nested deeper than {MAX_DEPTH} levels"
