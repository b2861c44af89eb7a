"""Text with a line number before every line: ``12→…``, ``12<TAB>…``, ``12: …``."""

from __future__ import annotations

import re
from typing import Final

from retrieval_eval.records import LineRange
from retrieval_eval.traces.results.base import merged_ranges

_LISTED: Final = re.compile(r"^[ ]{0,9}\d{1,9}[→\t]")
_NUMBER: Final = re.compile(r"[ ]{0,9}L?(\d{1,9})(?:→|\t|\||:[ ]|:$)")


def line_ranges(text: str) -> tuple[LineRange, ...] | None:
    r"""Return the ranges of line numbers a listing shows, or None when it has no numbers.

    Examples
    --------
    >>> line_ranges("10: a\n11: b\n20: c")
    ((10, 11), (20, 20))
    """
    numbers = [int(m[1]) for line in text.split("\n") if (m := _NUMBER.match(line)) is not None]
    return merged_ranges((n, n) for n in numbers if n > 0)


def without_numbers(text: str) -> str:
    r"""Return a numbered listing without its numbers; any other line stays as it is.

    Examples
    --------
    >>> without_numbers("     1\ta.py\n     2\tb.py")
    'a.py\nb.py'
    """
    return "\n".join(_LISTED.sub("", line, count=1) for line in text.split("\n"))


def has_content(text: str) -> bool:
    """Whether any line has something besides its number.

    Code hosts answer a range behind the end of a file with one empty numbered line.
    """
    for line in text.split("\n"):
        match = _NUMBER.match(line)
        if line[match.end() if match else 0 :].strip():
            return True
    return False
