"""Any text as printable ASCII and back, because the parser library is safe with nothing else.

The scanner of the bash grammar asks the C library for the class of each character, which for
characters beyond one byte reads memory that is not its own and can end the process. So it is
given word characters in place of every character that is not printable ASCII.
"""

from __future__ import annotations

import re
from typing import Final

_UNSAFE: Final = re.compile(r"Zq|[^\t\n -~]")
_ESCAPED: Final = re.compile(r"Zq([0-9a-f]{1,6})Zq")


def to_plain(text: str) -> bytes:
    r"""Return ``text`` with every unsafe character written as ``Zq<hex>Zq``.

    Examples
    --------
    >>> to_plain("a\u00e9"), from_plain(to_plain("Zq\u00e9\0"))
    (b'aZqe9Zq', 'Zqé\x00')
    """
    return _UNSAFE.sub(_escape, text).encode("ascii")


def _escape(match: re.Match[str]) -> str:
    return f"Zq{ord(match[0][0]):x}Zq{match[0][1:]}"


def from_plain(data: bytes) -> str:
    """Return the text that :func:`to_plain` wrote."""
    return _ESCAPED.sub(_character, data.decode("ascii", "replace"))


def _character(match: re.Match[str]) -> str:
    number = int(match[1], 16)
    return chr(number) if number <= 0x10FFFF else match[0]
