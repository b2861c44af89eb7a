"""TREC files: runs (query Q0 document rank score tag) and qrels (query 0 document grade)."""

from __future__ import annotations

import math
from codecs import BOM_UTF8
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, Final, Literal

from retrieval_eval.errors import BadInputError
from retrieval_eval.ranking.inputs import Row, Rows

Kind = Literal["run", "qrels", "ranks"]
"""What a file is read as: ``ranks`` is a run of which the rank is the number, not the score."""

_RUN: Final = ("query", "Q0", "document", "rank", "score", "tag")
_FIELDS: Final = {"run": _RUN, "qrels": ("query", "0", "document", "grade"), "ranks": _RUN}
_NUMBER: Final = {"run": 4, "qrels": 3, "ranks": 3}
_DOCUMENT: Final = 2


class TrecFile(Rows):
    """The rows of a TREC run or qrels file.

    Fields are separated by white space; blank lines and a byte-order mark are skipped. The rank
    column of a ``run`` is ignored, as trec_eval does: the score decides.

    Raises
    ------
    BadInputError
        When the file cannot be read. What reads its rows raises it, too, when a line has another
        number of fields, no number, or a document for the second time; the message names the line.
    """

    unit = "line"

    def __init__(self, path: Path, kind: Kind) -> None:
        self.name = str(path)
        self.kind: Kind = kind
        self.is_grade = kind == "qrels"
        try:
            text = path.read_bytes()
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise BadInputError(f"{path}: cannot be read: {why}") from error
        # It would become part of the first query's id, and that query would be missing.
        self.text = text.removeprefix(BOM_UTF8)

    def packed(self) -> tuple[bytes, int, int]:
        """Return the text, the number of fields and the place of the number among them."""
        return self.text, len(_FIELDS[self.kind]), _NUMBER[self.kind]

    def rows(self) -> Iterator[Row]:
        """Yield the rows with the numbers of their lines."""
        for place, line in enumerate(BytesIO(self.text), 1):
            if not line.strip():
                continue
            try:
                query, doc, number = trec_row(line, self.kind)
                if self.kind == "run" and math.isinf(number):
                    raise BadInputError(f"a score of {number}; expected a finite number")
            except BadInputError as error:
                raise BadInputError(f"{self.where(place)}: {error}") from error
            yield place, query, doc, number


def read_trec(path: Path, kind: Kind) -> dict[str, dict[str, Any]]:
    """Return the rows of a file as ``{query: {document: number}}`` (see `TrecFile`)."""
    return TrecFile(path, kind).nested()


def trec_row(line: bytes, kind: Kind) -> tuple[str, str, float]:
    """Return query, document and number of a line; raises `BadInputError` saying what is wrong."""
    fields = _FIELDS[kind]
    # The white space of trec_eval: an id may contain other kinds.
    parts = line.split()
    if not line.isascii():
        try:
            line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise BadInputError(f"not UTF-8 text: {error}") from error
    if len(parts) != len(fields):
        raise BadInputError(
            f"expected {len(fields)} fields ({' '.join(fields)}), found {len(parts)}"
        )
    text = parts[_NUMBER[kind]].decode()
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if math.isnan(number):
        raise BadInputError(f"{text[:40]!r} is not a number")
    return parts[0].decode(), parts[_DOCUMENT].decode(), number
