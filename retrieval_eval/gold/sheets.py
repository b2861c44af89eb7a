"""Labelling sheets: what a labeller sees, fills in and sends back, as CSV or JSONL."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from retrieval_eval.errors import BadInputError
from retrieval_eval.gold.faults import kind
from retrieval_eval.io.csv_cells import cell_text, csv_text
from retrieval_eval.io.files import iter_jsonl
from retrieval_eval.io.named import named_text

COLUMNS: Final = ("item", "query", "document", "grade", "comment")

_DELIMITERS: Final = ",;\t"


@dataclass(frozen=True, slots=True)
class Item:
    """One document to be graded for one query; ``id`` says nothing about either."""

    id: str
    query: str
    document: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What a labeller wrote beside an item; ``grade`` is None where it was left empty."""

    item: str
    grade: int | None
    comment: str
    where: str


def shown_digest(query: str, document: str) -> str:
    """Return the SHA-256 (hexadecimal) of what is shown, white space collapsed.

    Spreadsheets change line ends when they save; words they leave alone.
    """
    words = "\0".join(" ".join(text.split()) for text in (query, document))
    return hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()


def csv_sheet(items: Iterable[Item]) -> bytes:
    """Return a sheet as CSV: UTF-8 with a byte-order mark, which spreadsheets need to see it."""
    rows = ([item.id, item.query, item.document, "", ""] for item in items)
    return csv_text(COLUMNS, rows).encode("utf-8-sig")


def jsonl_sheet(items: Iterable[Item]) -> bytes:
    """Return a sheet as JSONL, one item a line, with ``grade`` null."""
    rows = (
        {"item": item.id, "query": item.query, "document": item.document, "grade": None}
        for item in items
    )
    lines = (json.dumps({**row, "comment": ""}, ensure_ascii=False) + "\n" for row in rows)
    return "".join(lines).encode("utf-8")


def read_sheet(
    path: Path, shown: Mapping[str, str], *, max_grade: int
) -> tuple[list[Answer], list[str]]:
    """Return the answers of a sheet that came back, and every fault by file and line.

    Parameters
    ----------
    path
        A ``.csv`` (commas, semicolons or tabs, as spreadsheets like it) or ``.jsonl`` sheet.
    shown
        The digest of what was shown, by item (see :func:`shown_digest`).
    max_grade
        The top of the scale.

    Raises
    ------
    BadInputError
        When the file cannot be read at all.
    """
    rows = _jsonl_rows(path) if path.suffix.lower() == ".jsonl" else _csv_rows(path)
    answers: list[Answer] = []
    faults: list[str] = []
    for where, row in rows:
        if isinstance(row, str):
            faults.append(f"{where}: {row}")
            continue
        answer, problem = _answer(where, row, shown, max_grade)
        if problem is not None:
            faults.append(f"{where}: {problem}")
        if answer is not None:
            answers.append(answer)
    return answers, faults


def _answer(
    where: str, row: Mapping[str, Any], shown: Mapping[str, str], max_grade: int
) -> tuple[Answer | None, str | None]:
    for name in ("item", "query", "document", "comment"):
        if not isinstance(row[name], str):
            return None, f"{name}: expected text, found {kind(row[name])}"
    item = row["item"].strip()
    if item not in shown:
        return None, f"the item {item[:80]!r} is not in the key; is this sheet of another pool?"
    if shown_digest(row["query"], row["document"]) != shown[item]:
        return None, (
            f"the text of item {item} was edited; a grade must belong to what was shown"
            " (restore query and document, and use the column comment)"
        )
    grade = _grade(row["grade"])
    if grade is None or not -1 <= grade <= max_grade:
        found = repr(row["grade"])[:40]
        return None, (
            f"the grade {found} of item {item} is off the scale;"
            f" expected a whole number from 0 to {max_grade}, or nothing"
        )
    return Answer(item, None if grade < 0 else grade, row["comment"], where), None


def _grade(value: Any) -> int | None:
    """Return a grade, -1 for an empty cell, or None for what is neither."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return -1
    if isinstance(value, str):
        return int(value) if re.fullmatch(r"\s*[0-9]{1,9}\s*", value) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _jsonl_rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any] | str]]:
    real = Path(os.path.realpath(path))
    for line in iter_jsonl(real, real.parent):
        where = f"{path.name}: line {line.number}"
        if line.number == 0:
            raise BadInputError(f"{path}: cannot be read")
        if line.problem is not None:
            yield where, line.problem.removeprefix(f"{real.name}: line {line.number}: ")
        elif not isinstance(line.value, dict) or set(line.value) != set(COLUMNS):
            yield where, f"expected an object with {', '.join(COLUMNS)}"
        else:
            yield where, line.value


def _csv_rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any] | str]]:
    text = named_text(path)
    head = text.split("\n", 1)[0]
    delimiter = max(_DELIMITERS, key=head.count)
    limit = csv.field_size_limit(sys.maxsize)
    try:
        # Read at once, for the limit holds for the whole process.
        rows = list(_numbered(text, delimiter))
    except csv.Error as error:
        raise BadInputError(f"{path}: not valid CSV ({error})") from None
    finally:
        csv.field_size_limit(limit)
    if not rows or sorted(rows[0][1]) != sorted(COLUMNS):
        raise BadInputError(
            f"{path.name}: line 1: expected the columns {', '.join(COLUMNS)};"
            " leave the heads as they are, and use the column comment for remarks"
        )
    names = rows[0][1]
    for number, cells in rows[1:]:
        where = f"{path.name}: line {number}"
        if len(cells) != len(names):
            yield where, f"has {len(cells)} cells instead of {len(names)}"
        else:
            yield where, {n: cell_text(cell) for n, cell in zip(names, cells, strict=True)}


def _numbered(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield rows that are not blank with the line on which they begin."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    start = 1
    for cells in reader:
        if any(cells):
            yield start, cells
        start = reader.line_num + 1
