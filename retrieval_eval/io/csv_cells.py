r"""Writes CSV whose cells no spreadsheet executes and no terminal interprets, without loss.

A cell of text that would be a formula gets an apostrophe before it, as spreadsheets write text. A
control character becomes ``\u....``. :func:`cell_text` undoes both. Numbers are not text and stay
as they are.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any, Final

# What a spreadsheet would execute as a formula, also after white space, which some drop. Full-width
# forms are read as their plain ones.
_FORMULA: Final = re.compile(r"'*(?:[\t\r\n]|\s*[=+\-@＝＋－＠])")

# Controls but for tab and line ends, the two direction overrides, and halves of characters, which
# have no bytes.
_CONTROLS: Final = r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202d\u202e\ud800-\udfff"
_CONTROL: Final = re.compile(f"[{_CONTROLS}]")
# A text may hold such an escape itself; then its backslash is escaped.
_ESCAPE: Final = re.compile(
    r"\\u(00[01][0-9a-f]|007f|00[89][0-9a-f]|202[de]|d[89a-f][0-9a-f]{2}|005c)"
)


def cell(text: str) -> str:
    r"""Return a text as a cell that is shown and never run.

    Examples
    --------
    >>> cell("=1+1"), cell("1+1"), cell("a\x1b[2J"), cell_text(cell("'=x"))
    ("'=1+1", '1+1', 'a\\u001b[2J', "'=x")
    """
    if text[:1].isalnum() and "\\" not in text and text.isascii() and text.isprintable():
        return text  # nearly all of them, and the rest is slow
    shown = _ESCAPE.sub(r"\\u005cu\1", text)
    shown = _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", shown)
    return f"'{shown}" if _FORMULA.match(shown) else shown


def cell_text(shown: str) -> str:
    """Return the original text of a cell that :func:`cell` made."""
    if shown.startswith("'") and _FORMULA.match(shown, 1):
        shown = shown[1:]
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), shown)


def csv_text(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """Return a table as CSV (RFC 4180); None is an empty cell.

    Only what ends a line is quoted: with a line feed alone, a carriage return would start a row.
    """
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\r\n")
    for row in chain((head,), rows):
        writer.writerow([cell(value) if isinstance(value, str) else value for value in row])
    return buffer.getvalue()


# --------------------------------------------------------------------------------------------------
# Writing YAML: the parameters that a page was made with, for papermill to read again.


def yaml_text(values: Mapping[str, Any]) -> str:
    """Return a mapping as YAML, in its order; invisible characters are escaped."""
    import yaml

    def dumped(*, is_readable: bool) -> str:
        options = {"sort_keys": False, "width": 4096, "allow_unicode": is_readable}
        return str(yaml.safe_dump(dict(values), **options))

    text = dumped(is_readable=True)
    return text if text.replace("\n", "").isprintable() else dumped(is_readable=False)
