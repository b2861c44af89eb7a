"""Reading of untrusted SQLite databases: rows of plain tables, and nothing else.

A database from elsewhere may be damaged or made to harm: views, triggers, virtual tables and
computed columns run functions, and a damaged tree of pages can be walked for ever. So only stored
columns of plain tables are read, no function runs, and values, rows and work are bounded.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from retrieval_eval.io.files import is_inside, label, probe
from retrieval_eval.io.locks import private_folder

if TYPE_CHECKING:
    import sqlite3

_LARGEST: Final = 4 << 30
"""Bytes of a database."""

_LARGEST_COPY: Final = 1 << 30
"""Bytes of a database with its write-ahead log, which are read from a copy."""

_LARGEST_VALUE: Final = 64 << 20
_MOST_TEXT: Final = 512 << 20
"""Bytes of all values that one query may return."""

_MOST_ROWS: Final = 2_000_000
_STEPS: Final = 100_000
_MOST_STEPS: Final = 300_000_000
"""Steps of SQLite's machine for one database; a plain scan takes about ten for each row."""

_MOST_LISTED: Final = 500

_LIMITS: Final = {
    "SQLITE_LIMIT_LENGTH": _LARGEST_VALUE,
    "SQLITE_LIMIT_SQL_LENGTH": 1 << 20,
    "SQLITE_LIMIT_EXPR_DEPTH": 100,
    "SQLITE_LIMIT_ATTACHED": 0,
    "SQLITE_LIMIT_TRIGGER_DEPTH": 1,
    "SQLITE_LIMIT_WORKER_THREADS": 0,
}
_PRAGMAS: Final = (
    # An entry of the schema that does not parse, such as an index over a function, is skipped
    # instead of hiding all tables; nothing is written, as only columns may be read.
    "PRAGMA writable_schema=ON",
    "PRAGMA trusted_schema=OFF",
    "PRAGMA cell_size_check=ON",
    "PRAGMA mmap_size=0",
    "PRAGMA locking_mode=EXCLUSIVE",
    "PRAGMA query_only=ON",
)


class DatabaseError(Exception):
    """A database that cannot be read; the message is a sentence that names the file."""


Row = Mapping[str, Any]
"""The values of a row by their columns, untrusted: text, numbers or None."""


@dataclass(frozen=True, slots=True)
class Database:
    """An open database: its plain tables with their columns.

    ``is_log_unread``: a write-ahead log lies beside the file that could not be read, so the newest
    rows are missing. ``problems`` collects sentences about tables of which rows are missing.
    """

    name: str
    tables: Mapping[str, frozenset[str]]
    is_log_unread: bool
    problems: list[str]
    _connection: sqlite3.Connection

    def rows(
        self, table: str, columns: Sequence[str], *, where: tuple[str, Sequence[str]] | None = None
    ) -> list[Row]:
        """Return the rows of a table in the order of the file; of none where it is not there.

        Bytes that are no text are decoded with replacement.

        Parameters
        ----------
        table
            The table's name.
        columns
            Which columns to return; those that the table does not have are left out.
        where
            A column, and the values of which it has to have one.
        """
        known = self.tables.get(table, frozenset())
        wanted = [column for column in columns if column in known]
        if not wanted or (where is not None and where[0] not in known):
            return []
        query = f"SELECT {', '.join(map(_quoted, wanted))} FROM {_quoted(table)}"  # noqa: S608
        if where is None:
            return self._select(query, wanted, ())
        column, values = where
        found: list[Row] = []
        for start in range(0, len(values), _MOST_LISTED):
            some = values[start : start + _MOST_LISTED]
            # The sign keeps SQLite from using an index, which may not fit its table.
            condition = f" WHERE +{_quoted(column)} IN ({', '.join('?' * len(some))})"
            found += self._select(query + condition, wanted, some)
        return found

    def _select(self, query: str, columns: Sequence[str], values: Sequence[str]) -> list[Row]:
        import sqlite3

        rows: list[Row] = []
        room = _MOST_TEXT
        try:
            for row in self._connection.execute(query, tuple(values)):
                texts = [_text(value) if isinstance(value, bytes) else value for value in row]
                room -= sum(len(text) for text in texts if isinstance(text, str))
                if room < 0 or len(rows) >= _MOST_ROWS:
                    self.problems.append(f"{self.name}: holds more than is read at once")
                    break
                rows.append(dict(zip(columns, texts, strict=True)))
        except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError) as error:
            self.problems.append(f"{self.name}: {_reason(error)}")
        return rows


@contextmanager
def reading_database(path: Path, root: Path) -> Iterator[Database]:
    """Open a database below ``root`` for reading; nothing in it runs, and it is not changed.

    Where a write-ahead log lies beside it, which holds the newest rows, both are read from a
    private copy. A log that cannot be read so is reported in the database. Raises
    :class:`DatabaseError` where the file is no database that can be read.
    """
    name = label(path, root)
    try:
        import sqlite3
    except ImportError:
        raise DatabaseError(f"{name}: this Python reads no SQLite databases") from None
    _check(path, root, name)
    log = path.with_name(f"{path.name}-wal")
    has_log = probe(log.is_symlink) or (probe(log.exists) and _size(log) != 0)
    try:
        with ExitStack() as stack:
            copy = None
            if has_log:
                copy = _copied(path, log, root, stack.enter_context(private_folder()))
            connection = _connected(sqlite3, copy or path, is_copy=copy is not None)
            stack.enter_context(closing(connection))
            tables = _tables(connection)
            if not tables:
                log_name = f"; its rows may lie in {log.name}, which is not beside it"
                missing = log_name if not has_log and _keeps_log(path) else ""
                raise DatabaseError(
                    f"{name}: the database holds no table that can be read{missing}"
                )
            yield Database(name, tables, has_log and copy is None, [], connection)
    except (sqlite3.Error, sqlite3.Warning, OSError, UnicodeDecodeError) as error:
        raise DatabaseError(f"{name}: {_reason(error)}") from None


def _check(path: Path, root: Path, name: str) -> None:
    if not is_inside(path, root):
        raise DatabaseError(f"{name}: a link that leads out of the tree is not followed")
    try:
        status = path.stat()
    except OSError as error:
        raise DatabaseError(f"{name}: cannot be read ({error.strerror or error})") from None
    if not stat.S_ISREG(status.st_mode):
        raise DatabaseError(f"{name}: is no file")
    if status.st_size > _LARGEST:
        raise DatabaseError(f"{name}: larger than {_LARGEST >> 30} GiB")


_LOG_IN_USE: Final = b"\x02\x02"
_VERSIONS: Final = slice(18, 20)
"""Where a database states whether it is written by way of a write-ahead log."""


def _keeps_log(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(_VERSIONS.stop)[_VERSIONS] == _LOG_IN_USE


def _size(path: Path) -> int:
    """Return the size of a regular file, a negative number for anything else."""
    try:
        status = path.stat()
    except OSError:
        return -1
    return status.st_size if stat.S_ISREG(status.st_mode) else -1


def _copied(path: Path, log: Path, root: Path, folder: Path) -> Path | None:
    """Copy a database and its log, or return None where the log cannot be taken."""
    sizes = _size(path), _size(log)
    if min(sizes) < 0 or sum(sizes) > _LARGEST_COPY or not is_inside(log, root):
        return None
    copy = folder / "copy.db"
    try:
        for source, target in ((path, copy), (log, folder / "copy.db-wal")):
            shutil.copyfile(source, target)
    except OSError:
        return None
    return copy


def _connected(library: Any, path: Path, *, is_copy: bool) -> sqlite3.Connection:
    # Only the private copy may be written to: SQLite joins the log to it.
    mode = "mode=rw" if is_copy else "mode=ro&immutable=1"
    place = quote(os.fsencode(path.resolve().as_posix()))
    connection: sqlite3.Connection = library.connect(
        f"file:{place}?{mode}", uri=True, isolation_level=None
    )
    try:
        for limit, most in _LIMITS.items():
            connection.setlimit(getattr(library, limit), most)
        for pragma in _PRAGMAS:
            connection.execute(pragma).close()
        connection.text_factory = _text
        connection.set_progress_handler(_Budget().spend, _STEPS)
        connection.set_authorizer(_Rules(library).decide)
    except BaseException:
        connection.close()
        raise
    return connection


class _Budget:
    """Ends a query when a database has taken more work than any plain one."""

    def __init__(self) -> None:
        self._left = _MOST_STEPS // _STEPS

    def spend(self) -> int:
        self._left -= 1
        return self._left < 0


class _Rules:
    """What a statement may do: read columns of tables, not through a view or a trigger."""

    def __init__(self, library: Any) -> None:
        self._select, self._read = library.SQLITE_SELECT, library.SQLITE_READ
        self._pragma = library.SQLITE_PRAGMA
        self._yes, self._no = library.SQLITE_OK, library.SQLITE_DENY

    def decide(
        self, action: int, what: str | None, _: str | None, base: str | None, via: str | None
    ) -> int:
        is_listing = action == self._pragma and what == "table_xinfo"
        may = action in (self._select, self._read) or is_listing
        return int(self._yes if may and via is None and base in ("main", None) else self._no)


def _tables(connection: sqlite3.Connection) -> dict[str, frozenset[str]]:
    """Return the plain tables of a database with their columns."""
    import sqlite3

    found: dict[str, frozenset[str]] = {}
    listed = "SELECT type, name, sql FROM sqlite_master"
    for kind, table, sql in connection.execute(listed).fetchmany(_MOST_LISTED):
        is_plain = kind == "table" and isinstance(table, str) and isinstance(sql, str)
        if not is_plain or sql.lstrip()[:20].upper().split()[:2] != ["CREATE", "TABLE"]:
            continue
        try:
            columns = connection.execute(f"PRAGMA table_xinfo({_quoted(table)})").fetchall()
        except (sqlite3.Error, sqlite3.Warning, ValueError):
            continue
        # What is hidden is computed when it is read.
        found[table] = frozenset(str(name) for _, name, *_, hidden in columns if hidden == 0)
    return found


def _quoted(identifier: str) -> str:
    return '"' + identifier.replace('"', '""').replace("\x00", "") + '"'


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"cannot be read ({error.strerror or error})"
    if isinstance(error, UnicodeDecodeError):
        # The module decodes SQLite's own message, which quotes the damaged part.
        return "the database cannot be read (a damaged schema)"
    if str(error) == "interrupted":
        return "the database takes longer to read than any whole one"
    return f"the database cannot be read ({str(error)[:200]})"
