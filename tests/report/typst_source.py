"""Reading typst again: what is code in it, and what is text."""

from __future__ import annotations

import re

_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-f]+)\}|(.))", re.DOTALL)
_BREAK = "\u200b"


def strings(source: str) -> list[str]:
    """Return the texts of all string literals, without the places where a line may break."""
    return [_plain(text).replace(_BREAK, "") for text in _STRING.findall(source)]


def code(source: str) -> str:
    """Return all that is not in a string literal."""
    return _STRING.sub('""', source)


def _plain(text: str) -> str:
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else found[2], text)
