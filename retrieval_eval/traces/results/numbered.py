"""Text with a line number before every line: ``12→…``, ``12<TAB>…``, ``12: …``."""

from __future__ import annotations

import re
from typing import Final

from retrieval_eval.records import LineRange
from retrieval_eval.traces.results.base import merged_ranges

_LISTED: Final = re.compile(r"^[ ]{0,9}\d{1,9}[→\t]")
_HEADING: Final = 2
_NUMBER: Final = re.compile(r"[ ]{0,9}L?(\d{1,9})(?:→|\t|\||:[ ]|:$)")


def line_ranges(text: str) -> tuple[LineRange, ...] | None:
    r"""Return the ranges of line numbers a listing shows, or None when it has no numbers.

    A listing begins with its numbers, but for a short heading, and most of its lines have one;
    elsewhere a line that begins with a number is content.

    Examples
    --------
    >>> line_ranges("10: a\n11: b\n20: c")
    ((10, 11), (20, 20))
    >>> line_ranges('import re\n\n\ndef f():\n    return {\n        200: "OK",\n    }') is None
    True
    """
    lines = [_NUMBER.match(line) for line in text.split("\n") if line.strip()]
    places = [place for place, match in enumerate(lines) if match is not None]
    if not places or places[0] > _HEADING or 2 * len(places) < places[-1] - places[0] + 1:
        return None
    numbers = [int(match[1]) for match in lines if match is not None]
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
