"""Written justifications: a breach that two people accept, for a reason and for a time."""

from __future__ import annotations

import contextlib
import json
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import read_json
from retrieval_eval.search.guard.thresholds import Part, Threshold, part_of
from retrieval_eval.search.guard.toml import Table, raise_faults, read_toml


@dataclass(frozen=True, slots=True)
class Justification:
    """Why a breach of one threshold is accepted, by whom, and up to which day (included)."""

    metric: str
    reason: str
    author: str
    second_approver: str
    expires: date
    part: Part | None = None

    def covers(self, threshold: Threshold) -> bool:
        """Return whether it is about this threshold: the same metric and the same slice."""
        return (self.metric, self.part) == (threshold.metric, threshold.part)

    def is_valid(self, today: date) -> bool:
        """Return whether it has not expired."""
        return today <= self.expires


def read_justifications(path: Path) -> tuple[Justification, ...]:
    """Return the justifications of a TOML or JSON file (by its ending).

    The file holds ``justification``, a list of tables with ``metric``, ``reason``, ``author``,
    ``second_approver``, ``expires`` (a date), and ``slice`` as the threshold has it.

    Raises
    ------
    BadInputError
        When the file cannot be read, or a table lacks something, holds more, or has one person
        approve twice; every fault is listed with its pointer.
    """
    top = Table(_document(path), "", [])
    tables = top.tables("justification")
    found = [_justification(table) for table in tables]
    top.done()
    raise_faults(path, top.faults)
    return tuple(one for one in found if one is not None)


def valid_for(
    threshold: Threshold, justifications: Iterable[Justification], today: date
) -> Justification | None:
    """Return the first valid justification of a threshold, None without one."""
    for one in justifications:
        if one.covers(threshold) and one.is_valid(today):
            return one
    return None


def _document(path: Path) -> dict[str, Any]:
    if path.suffix.lower() != ".json":
        return read_toml(path)
    if not path.is_file():
        raise BadInputError(f"{path}: no such file")
    found = read_json(path, path.parent)
    if found.problem is not None:
        raise BadInputError(found.problem)
    if not isinstance(found.value, dict):
        raise BadInputError(f"{path}: expected an object with a list 'justification'")
    return found.value


def _justification(table: Table) -> Justification | None:
    n_before = len(table.faults)
    names = ("metric", "reason", "author", "second_approver")
    metric, reason, author, second = (table.text(name).strip() for name in names)
    if author and _person(author) == _person(second):
        table.fault("second_approver", "is the author; another person has to approve")
    expires = _date(table)
    part = part_of(table)
    table.done()
    if len(table.faults) > n_before or expires is None:
        return None
    return Justification(metric, reason, author, second, expires, part)


def _date(table: Table) -> date | None:
    value = table.raw("expires")
    if isinstance(value, str):
        with contextlib.suppress(ValueError):
            value = date.fromisoformat(value)
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    shown = json.dumps(value, default=str)
    table.fault("expires", f"expected a date such as 2026-01-31, found {shown}")
    return None


def _person(name: str) -> str:
    shown = "".join(c for c in unicodedata.normalize("NFKC", name) if c.isprintable())
    return " ".join(shown.split()).casefold().lstrip("@")
