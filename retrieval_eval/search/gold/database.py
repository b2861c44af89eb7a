"""Read-only access to databases; errors of drivers become one-sentence messages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from retrieval_eval.distribution import install_hint
from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import probe

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
