"""The review backlog: how many items wait for a review, and for how long."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from retrieval_eval.errors import BadInputError
from retrieval_eval.model.common import Record
from retrieval_eval.model.dashboard import Backlog
from retrieval_eval.model.gold import CASE_LAW
from retrieval_eval.search.gold.database import (
    check_identifier,
    parse_url,
    reading,
    require_columns,
    shown,
    table_of,
)
from retrieval_eval.search.gold.faults import user_lines

STATUSES: Final = ("pending_review", "approved", "rejected", "published")
NO_STATUS: Final = "(none)"
_MOST_FAULTS: Final = 20


class BacklogPreset(Record, frozen=True):
    """What a review database calls its table, its two columns, and the block of its counts."""

    table: str = "review_items"
    status: str = "review_status"
    created: str = "created_at"
    block: str = "backlog"


PRESETS: Final[Mapping[str, BacklogPreset]] = {
    "standard": BacklogPreset(),
    CASE_LAW: BacklogPreset(table="halachot", block="halacha_backlog"),
}
"""Presets by name; ``standard`` is the default."""


class BacklogSource(Record, frozen=True):
    """Where the items under review are.

    Parameters
    ----------
    source : str
        A SQLAlchemy URL (anything with ``://``), else the path of a JSONL file. It is only read.
    table : str
        The table or view of a database, ``name`` or ``schema.name``; of no use for a file.
    status, created : str
        The columns, or the keys of each line, that hold the review status and the time an item
        was made. A time without a zone is UTC.

    Examples
    --------
    >>> BacklogSource("items.jsonl").table
    'review_items'
    """

    source: str
    table: str = PRESETS["standard"].table
    status: str = PRESETS["standard"].status
    created: str = PRESETS["standard"].created


@dataclass(slots=True)
class _Tally:
    """Items counted one group at a time."""

    counts: Counter[str] = field(default_factory=Counter)
    oldest: datetime | None = None
    n_undated: int = 0

    def add(self, status: str, created: datetime | None, n: int = 1) -> None:
        self.counts[status] += n
        if status != STATUSES[0]:
            return
        if created is None:
            self.n_undated += n
        elif self.oldest is None or created < self.oldest:
            self.oldest = created

    def backlog(self, as_of: datetime) -> Backlog:
        others = {name: n for name, n in sorted(self.counts.items()) if name not in STATUSES}
        return Backlog(
            **{status: self.counts[status] for status in STATUSES},
            other=sum(others.values()),
            total=self.counts.total(),
            oldest_pending_at=self.oldest,
            oldest_pending_age_days=(
                None if self.oldest is None else (as_of - self.oldest) / timedelta(days=1)
            ),
            n_pending_undated=self.n_undated,
            other_statuses=others,
            as_of=as_of,
        )


def read_backlog(source: str | BacklogSource, *, as_of: datetime | None = None) -> Backlog:
    """Count the items under review in a database or a JSONL file.

    Parameters
    ----------
    source : str or BacklogSource
        Where they are; a text is a source whose table and columns have the default names.
    as_of : datetime, optional
        The moment to which the age of the oldest pending item is counted. Default: now. Without
        a zone it is UTC, too.

    Raises
    ------
    BadInputError
        The database is down, a table or column is missing or cannot be a name, or lines are
        unusable: all named. Or ``as_of`` lies outside the years 1 to 9999 in UTC.
    """
    place = source if isinstance(source, BacklogSource) else BacklogSource(source)
    now, problem = _moment(as_of or datetime.now(UTC))
    if now is None:
        raise BadInputError(f"the moment to count to: {problem}")
    if "://" in place.source:
        return _of_database(place).backlog(now)
    return _of_file(Path(place.source), place.status, place.created).backlog(now)


def _of_database(place: BacklogSource) -> _Tally:
    url = parse_url(place.source)
    name, status, created = place.table, place.status, place.created
    for each, what in ((name, "table"), (status, "column"), (created, "column")):
        check_identifier(each, what)
    from sqlalchemy import String, case, cast, func, null, select

    tally = _Tally()
    with reading(place.source) as connection:
        require_columns(connection, url, name, (status, created))
        items = table_of(name, (status, created))
        # As text, because the status may be of an enumerated type that lacks the value.
        state = cast(items.c[status], String).label("state")
        pending_since = case((state == STATUSES[0], items.c[created]), else_=null())
        # One statement, so that counts and oldest time are of the same moment.
        rows = select(state, pending_since.label("since")).subquery()
        grouped = select(rows.c.state, rows.c.since, func.count()).group_by(
            rows.c.state, rows.c.since
        )
        for state_name, since, n in connection.execute(grouped):
            moment, problem = _moment(since)
            if problem:
                raise BadInputError(f"{shown(url)}: table {name!r}, column {created!r}: {problem}")
            tally.add(state_name or NO_STATUS, moment, n)
    return tally


def _of_file(path: Path, status: str, created: str) -> _Tally:
    tally, faults = _Tally(), []
    for line in user_lines(path):
        if line.problem is not None:
            faults.append(line.problem)
        elif problem := _add(tally, line.value, status, created):
            faults.append(f"{path}: line {line.number}: {problem}")
    if faults:
        raise BadInputError("\n".join(_first(faults)))
    return tally


def _add(tally: _Tally, item: Any, status: str, created: str) -> str | None:
    """Count one item, or return what is wrong with it."""
    if not isinstance(item, dict):
        return f"expected an object with {status!r} and {created!r}"
    if status not in item:
        return f"no {status!r}; expected one of {', '.join(STATUSES)}"
    state = item[status]
    if state is not None and not isinstance(state, str):
        return f"{status!r} is no text; expected one of {', '.join(STATUSES)}"
    moment, problem = _moment(item.get(created))
    if problem:
        return f"{created!r}: {problem}"
    tally.add(state or NO_STATUS, moment)
    return None


def _moment(value: Any) -> tuple[datetime | None, str | None]:
    """Return a time in UTC, or what is wrong with it."""
    if value is None:
        return None, None
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day, tzinfo=UTC)
    if isinstance(value, str):
        with suppress(ValueError):
            value = datetime.fromisoformat(value)
    if not isinstance(value, datetime):
        return None, f"{str(value)[:40]!r} is no time; expected one such as 2026-05-31T08:00:00Z"
    try:
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).astimezone(UTC), None
    except OverflowError:
        return None, f"{value.isoformat()!r} lies outside the years 1 to 9999 in UTC"


def _first(faults: list[str]) -> Iterable[str]:
    yield from faults[:_MOST_FAULTS]
    if len(faults) > _MOST_FAULTS:
        yield f"and {len(faults) - _MOST_FAULTS} more"
