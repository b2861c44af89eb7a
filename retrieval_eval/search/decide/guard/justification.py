"""Written justifications: two people accept a breach up to a size, for a reason and for a time."""

from __future__ import annotations

import contextlib
import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final

from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import read_json
from retrieval_eval.search.decide.thresholds import (
    Part,
    Table,
    Threshold,
    part_of,
    raise_faults,
    read_toml,
)
from retrieval_eval.search.run.named_metrics import check_metric_name

# Sums of shares are off by their last digits.
_ROUNDING: Final = 1e-9
_IS_AUTHOR: Final = "is the author; another person has to approve"


_MOST: Final = 100.0
_SIZES: Final = (
    "expected the largest drop that is excused, in points by metric, such as "
    'metrics = { "P@5" = 1.0 }'
)
# Only where a word begins, so that a long text is not tried from each of its places.
_ADDRESS: Final = re.compile(
    r"""(?<![^\s<>()\[\],;:"'])(?:mailto:)?([^\s<>()\[\],;:"']+@[^\s<>()\[\],;:"']+)"""
)
_ACCOUNT: Final = re.compile(r"(?<!\S)@([A-Za-z0-9][A-Za-z0-9-]{0,38})(?!\S)")
# Letters and marks that are never shown.
_INVISIBLE: Final = frozenset([*"\u034f\u115f\u1160\u3164\uffa0", *map(chr, range(0xFE00, 0xFE10))])


@dataclass(frozen=True, slots=True)
class Justification:
    """Why breaches are accepted, how large ones, by whom, and up to which day (included).

    ``metrics`` holds the largest excused harm of each metric, in points: what it may lose against
    the baseline, or lie beyond its floor or ceiling. It excuses no other metric and no more.

    Raises
    ------
    BadInputError
        When no size is stated, one is none, or the second approver is the author.
    """

    metrics: Mapping[str, float]
    reason: str
    author: str
    second_approver: str
    expires: date
    part: Part | None = None

    def __post_init__(self) -> None:
        if not self.metrics or not all(0 < size <= _MOST for size in self.metrics.values()):
            raise BadInputError(f"a justification without a size between 0 and {_MOST:g}: {_SIZES}")
        for name in (self.author, self.second_approver):
            if not is_named(name):
                raise BadInputError(f"{name!r} names no person")
        if is_same_person(self.author, self.second_approver):
            raise BadInputError(f"the second approver of a justification {_IS_AUTHOR}")

    @property
    def names(self) -> list[str]:
        """The metrics, each with the slice where there is one."""
        return [f"{name} [{self.part}]" if self.part else name for name in self.metrics]

    def covers(self, threshold: Threshold) -> bool:
        """Return whether it is about this threshold: one of its metrics, and the same slice."""
        return threshold.metric in self.metrics and self.part == threshold.part

    def excuses(self, threshold: Threshold, points: float) -> bool:
        """Return whether it is about this threshold and states at least this size."""
        return self.covers(threshold) and points <= self.metrics[threshold.metric] + _ROUNDING

    def is_valid(self, today: date) -> bool:
        """Return whether it has not expired."""
        return today <= self.expires


def is_same_person(one: str, other: str) -> bool:
    """Return whether two texts name one person: by name, by address, or by either.

    Letter case, white space, punctuation, the order of names, forms of Unicode and invisible
    characters do not count, nor does what stands behind a plus sign in an address. A name alone is
    the person whose mailbox is called so.

    Examples
    --------
    >>> is_same_person("Ann Lee <ann@x.org>", "ANN@x.org"), is_same_person("@ann", "ann@x.org")
    (True, True)
    >>> is_same_person("Ann Lee <ann@x.org>", "Ben Ray <ben@x.org>")
    False
    """
    (name, boxes), (other_name, other_boxes) = map(_person, (one, other))
    if (name and name == other_name) or boxes & other_boxes or accounts(one) & accounts(other):
        return True
    by_box = (not boxes and name in _mailboxes(other_boxes)) or (
        not other_boxes and other_name in _mailboxes(boxes)
    )
    return bool(by_box)


def accounts(text: str) -> frozenset[str]:
    """Return the accounts of a Git host in a text, in small letters and without the sign.

    Examples
    --------
    >>> accounts("Ann Lee @Ann-Lee <ann@x.org>")
    frozenset({'ann-lee'})
    """
    return frozenset(found.lower() for found in _ACCOUNT.findall(text))


def is_named(text: str) -> bool:
    """Return whether a text names a person at all."""
    name, boxes = _person(text)
    return bool(name or boxes)


def read_justifications(path: Path) -> tuple[Justification, ...]:
    """Return the justifications of a TOML or JSON file (by its ending).

    The file holds ``justification``, a list of tables with ``metrics`` (by metric the largest
    excused harm, in points), ``reason``, ``author``, ``second_approver``, ``expires`` (a date), and
    ``slice`` as the threshold has it.

    Raises
    ------
    BadInputError
        When the file cannot be read, or a table lacks something, holds more, or has one person
        approve twice; every fault is listed with its pointer.
    """
    top = Table(_document(path), "", [])
    tables = top.tables("justification")
    found = [_justification(table) for table in tables]
    top.report_unknown_keys()
    raise_faults(path, top.faults)
    return tuple(one for one in found if one is not None)


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
    metrics = _metrics(table)
    names = ("reason", "author", "second_approver")
    reason, author, second = (table.text(name).strip() for name in names)
    for key, name in (("author", author), ("second_approver", second)):
        if name and not is_named(name):
            table.fault(key, "names no person")
    if author and second and is_same_person(author, second):
        table.fault("second_approver", _IS_AUTHOR)
    expires = _date(table)
    part = part_of(table)
    table.report_unknown_keys()
    if len(table.faults) > n_before or expires is None:
        return None
    return Justification(metrics, reason, author, second, expires, part)


def _metrics(table: Table) -> dict[str, float]:
    """Return the largest excused harm by metric; a metric without a size is a fault."""
    if table.raw("metric") is not None:
        table.fault("metric", f"a metric without a size excuses nothing; {_SIZES}")
        return {}
    sizes = table.table("metrics")
    if not sizes.given:
        table.fault("metrics", f"is missing; {_SIZES}")
    found = {}
    for name in sizes.given:
        try:
            check_metric_name(name)
        except BadInputError as error:
            sizes.fault(name, str(error))
        size = sizes.number(name, least=0.0, most=_MOST)
        if size == 0:
            sizes.fault(name, "expected more than 0 points: nothing would be excused")
        found[name] = size or 0.0
    return found


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


def _person(text: str) -> tuple[str, frozenset[str]]:
    """Return the name in a text and the addresses in it, in a form to be compared."""
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    shown = "".join(c for c in text if c.isspace() or (c.isprintable() and c not in _INVISIBLE))
    boxes = {_without_tag(address) for address in _ADDRESS.findall(shown)}
    words = _ADDRESS.sub(" ", shown)
    # An account beside a name is no part of it; alone, it is the name.
    return _words(_ACCOUNT.sub(" ", words)) or _words(words), frozenset(boxes)


def _without_tag(address: str) -> str:
    *local, host = address.split("@")
    return "@".join([*(part.partition("+")[0] for part in local), host])


def _mailboxes(addresses: Iterable[str]) -> set[str]:
    return {_words(address.partition("@")[0]) for address in addresses}


def _words(text: str) -> str:
    """Return the words of a name, in whatever order and however they were set apart."""
    kept = (" " if unicodedata.category(c)[0] in "PSZ" else c for c in text)
    return "".join(sorted("".join(kept).split()))
