"""Takes out of a draft what is no text of it, without moving a character."""

from __future__ import annotations

import re
from typing import Final

_MARKERS: Final = re.compile(
    r"""
    \[\^?\d+(?:\s*[,;\u2013-]\s*\^?\d+)*\]                    # [1], [2, 3], [^4]
    | \[(?:doc|source|ref|block|cite)s?\b[^\]\n]{0,120}\]       # [source: handbook]
    | \[[\w.]*(?:[-_:/.]\w+)+\](?!\()                          # [pd-linux-card], but no [text](url)
    | \((?:sources?|see|refs?|cf)\b[.:]?\s[^()\n]{1,120}\)      # (source: handbook)
    | \u3010[^\u3011\n]{0,120}\u3011                           # a chat client's own brackets
    | \]\([^()\s]{1,500}\)                                      # the address of a Markdown link
    | \*\*|`                                                    # emphasis and code
    """,
    re.VERBOSE | re.IGNORECASE,
)


def masked(draft: str) -> str:
    """Return the draft with citation markers and mark-up replaced by as many spaces.

    Examples
    --------
    >>> masked("It is **safe** [1].")
    'It is   safe      .'
    """
    return _MARKERS.sub(lambda found: " " * len(found[0]), draft)


def collapsed(text: str) -> str:
    """Return a text with every run of white space as one space, and none at a punctuation mark."""
    return re.sub(r"\s+(?=[.,;:!?](?:\s|$))", "", " ".join(text.split()))
