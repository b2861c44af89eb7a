"""Read-only access to databases, and the backlog of items that wait for a review there."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from retrieval_eval.distribution import install_hint
from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import probe
from retrieval_eval.model.common import Record
from retrieval_eval.model.dashboard import Backlog
from retrieval_eval.model.gold import CASE_LAW
from retrieval_eval.search.gold.faults import user_lines

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection, Engine, TableClause

CONNECT_TIMEOUT_SECONDS: Final = 10
ROWS_AT_A_TIME: Final = 2000

_SECRET = re.compile(r"pass|pwd|secret|token|odbc_connect", re.IGNORECASE)
_FORM = "expected a SQLAlchemy URL such as postgresql://user@host/name or sqlite:///file.db"


def parse_url(text: str) -> URL:
    """Return a database URL; raises :class:`BadInputError`, which never repeats the text."""
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise BadInputError(f"the database URL cannot be read; {_FORM}") from None
    # Part of a password that contains "@" would be read as the host and shown in messages.
    if url.password is not None and "@" in f"{url.host or ''}{url.database or ''}":
        raise BadInputError(
            "the database URL has more than one @; write the password percent-encoded "
            "(@ is %40, : is %3A, / is %2F)"
        )
    if url.drivername in ("postgres", "postgresql"):
        url = url.set(drivername="postgresql+psycopg")
    return url


def shown(url: URL) -> str:
    """Return a URL for messages and artefacts: the password hidden, secret parameters left out."""
    secrets = [name for name in url.query if _SECRET.search(name)]
    return url.difference_update_query(secrets).render_as_string(hide_password=True)


def open_engine(url: URL, **settings: Any) -> Engine:
    """Return an engine whose connections can only read; nothing is connected yet.

    A SQLite file must exist, because SQLite would create an empty one for a misspelt name.

    Raises
    ------
    BadInputError
        The database is of no known kind, its driver is not installed, or its file is missing.
    """
    from sqlalchemy import create_engine
    from sqlalchemy.exc import SQLAlchemyError

    name = shown(url)
    arguments: dict[str, Any] = {}
    if url.get_backend_name() == "sqlite":
        url = _existing_sqlite(url, name)
    elif url.drivername == "postgresql+psycopg" and "connect_timeout" not in url.query:
        arguments["connect_timeout"] = CONNECT_TIMEOUT_SECONDS
    try:
        return create_engine(
            url,
            connect_args=arguments,
            execution_options={"postgresql_readonly": True},
            **settings,
        )
    except ImportError as error:
        extra = f"; {install_hint('postgres')}" if error.name == "psycopg" else ""
        raise BadInputError(f"{name}: the driver {error.name!r} is not installed{extra}") from None
    except SQLAlchemyError:
        raise BadInputError(f"{name}: no such kind of database; {_FORM}") from None
    except (ValueError, TypeError) as error:
        why = _reason(error, url)
        raise BadInputError(f"{name}: a parameter of the URL cannot be used ({why})") from None


def _existing_sqlite(url: URL, name: str) -> URL:
    database = url.database
    if not database or database == ":memory:":
        raise BadInputError(f"{name}: names no SQLite file; expected sqlite:///path/to/file.db")
    if not database.startswith("file:"):
        if not probe(Path(database).is_file):
            raise BadInputError(f"{name}: no such SQLite file")
        database = "file:" + quote(database)
    return url.set(database=database, query={**url.query, "mode": "ro", "uri": "true"})


@contextmanager
def reading(text: str) -> Iterator[Connection]:
    """Yield a read-only connection to the database of a URL, and close it afterwards.

    Raises
    ------
    BadInputError
        One sentence, without the password, when the database is down or refuses a statement.
    """
    url = parse_url(text)
    from sqlalchemy import NullPool

    engine = open_engine(url, poolclass=NullPool)
    with sentences(url), connected(engine, url) as connection:
        yield connection


@contextmanager
def connected(engine: Engine, url: URL) -> Iterator[Connection]:
    """Yield a connection of an engine; raises one sentence when the database is down."""
    from sqlalchemy.exc import SQLAlchemyError

    try:
        connection = engine.connect()
    except (SQLAlchemyError, OSError) as error:
        raise BadInputError(
            f"{shown(url)}: cannot be reached ({_reason(error, url)}); "
            "is the database running, and the URL right?"
        ) from None
    with connection:
        yield connection


@contextmanager
def sentences(url: URL) -> Iterator[None]:
    """Turn the errors of a database's driver into one sentence that names the database."""
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    # SQLite's driver raises the last one itself, for a number that the database cannot hold.
    except (SQLAlchemyError, UnicodeError, OverflowError) as error:
        raise BadInputError(f"{shown(url)}: the database refused ({_reason(error, url)})") from None


def _reason(error: Exception, url: URL) -> str:
    """Return the first line of the driver's message; SQLAlchemy's own text repeats parameters."""
    driver_text = str(getattr(error, "orig", None) or error).strip() or type(error).__name__
    line = driver_text.splitlines()[0]
    secrets = [url.password, *(url.query[name] for name in url.query if _SECRET.search(name))]
    for secret in secrets:
        if secret:
            line = line.replace(str(secret), "***")
    return line


def check_identifier(name: str, what: str) -> None:
    """Raise `BadInputError` for a text that is no name of a table or column of any database."""
    if not name.strip() or len(name) > _LONGEST_NAME or not name.isprintable():
        raise BadInputError(
            f"{name[:40]!r} cannot name a {what}; expected up to {_LONGEST_NAME} printable"
            " characters"
        )


def table_of(name: str, columns: Iterable[str]) -> TableClause:
    """Return a table to select from; ``schema.table`` names a table of a schema.

    SQLAlchemy quotes the names where they need it, so a name can hold anything.
    """
    from sqlalchemy import column, table

    schema, _, plain = name.rpartition(".")
    return table(plain, *(column(each) for each in dict.fromkeys(columns)), schema=schema or None)


def require_columns(connection: Connection, url: URL, name: str, columns: Iterable[str]) -> None:
    """Check that a table or view has the columns that will be read.

    Raises
    ------
    BadInputError
        The table or columns are missing; the message names them and those there are.
    """
    from sqlalchemy import inspect

    schema, _, plain = name.rpartition(".")
    inspector = inspect(connection)
    if not inspector.has_table(plain, schema=schema or None):
        there = inspector.get_table_names(schema or None) + inspector.get_view_names(schema or None)
        raise BadInputError(
            f"{shown(url)}: no table or view {name!r} (there: {_listed(there)}); {_REMAP}"
        )
    present = [str(each["name"]) for each in inspector.get_columns(plain, schema=schema or None)]
    missing = [each for each in dict.fromkeys(columns) if each not in present]
    if missing:
        raise BadInputError(
            f"{shown(url)}: table {name!r} has no column {', '.join(map(repr, missing))} "
            f"(there: {_listed(present)}); {_REMAP}"
        )


_REMAP = "tables and columns of other names can be named, see docs/gold-database.md"
_MOST_NAMES = 30
_LONGEST_NAME = 200


def _listed(names: Iterable[str]) -> str:
    found = sorted(names)
    more = f" and {len(found) - _MOST_NAMES} more" if len(found) > _MOST_NAMES else ""
    return ", ".join(found[:_MOST_NAMES]) + more or "none"


# --------------------------------------------------------------------------------------------------
# The review backlog: how many items wait for a review, and for how long.

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
