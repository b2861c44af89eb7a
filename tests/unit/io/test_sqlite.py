from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from retrieval_eval.io import sqlite
from retrieval_eval.io.sqlite import DatabaseError, reading_database
from tests.generated import database

PLAIN = "CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT); INSERT INTO note VALUES (1, 'a');"


def rows(path, table="note", columns=("id", "text"), root=None, **more):
    with reading_database(path, root or path.parent) as found:
        return found.rows(table, columns, **more), found.problems


def problem(path, root=None):
    with pytest.raises(DatabaseError) as caught, reading_database(path, root or path.parent):
        pass
    return str(caught.value)


def test_rows_of_a_plain_table_are_read_and_absent_columns_are_left_out(tmp_path):
    path = database(tmp_path / "a b?#%.db", PLAIN + "INSERT INTO note VALUES (2, 'b');")
    assert rows(path, columns=("text", "absent")) == ([{"text": "a"}, {"text": "b"}], [])
    assert rows(path, where=("text", ["b", "c"])) == ([{"id": 2, "text": "b"}], [])
    assert rows(path, table="absent") == rows(path, where=("absent", ["1"])) == ([], [])
    many = [str(number) for number in range(2000)]
    assert len(rows(path, where=("text", [*many, "a", "b"]))[0]) == 2


def test_text_that_is_no_utf8_and_bytes_are_decoded_with_replacement(tmp_path):
    path = database(tmp_path / "a.db", PLAIN)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("INSERT INTO note VALUES (2, CAST(x'61ff' AS TEXT)), (3, x'62ff')")
        connection.commit()
    assert [row["text"] for row in rows(path)[0]] == ["a", "a\ufffd", "b\ufffd"]


@pytest.mark.parametrize(
    "script",
    [
        "CREATE TABLE a (x); CREATE VIEW note AS SELECT x AS id, upper('t') AS text FROM a;",
        "CREATE TABLE a (x); CREATE VIRTUAL TABLE note USING fts5(id, text);",
    ],
    ids=["view", "virtual table"],
)
def test_only_plain_tables_are_read(tmp_path, script):
    assert rows(database(tmp_path / "a.db", script)) == ([], [])


def test_an_index_over_a_function_does_not_hide_the_tables(tmp_path):
    # Without trust in the schema, such an entry does not parse.
    index = (
        "CREATE INDEX role ON t (json_extract(data, '$.role')); CREATE INDEX j ON t (upper(data));"
    )
    script = f"{PLAIN}CREATE TABLE t (data TEXT); INSERT INTO t VALUES ('{{}}'); {index}"
    assert rows(database(tmp_path / "a.db", script)) == ([{"id": 1, "text": "a"}], [])
    assert rows(tmp_path / "a.db", "t", ("data",)) == ([{"data": "{}"}], [])


def test_a_computed_column_is_not_read(tmp_path):
    script = "CREATE TABLE note (id INTEGER, text TEXT AS (printf('%.*c', 9, 'x')));"
    path = database(tmp_path / "a.db", script + "INSERT INTO note (id) VALUES (1);")
    assert rows(path)[0] == [{"id": 1}]


def test_nothing_is_written_and_no_trigger_or_function_runs(tmp_path):
    path = database(tmp_path / "a.db", PLAIN)
    before = path.read_bytes()
    with reading_database(path, tmp_path) as found:
        for statement in (
            *("DELETE FROM note", "ATTACH 'b.db' AS b", "PRAGMA query_only=OFF"),
            *("DELETE FROM sqlite_master", "UPDATE sqlite_schema SET sql = ''"),
            *("SELECT load_extension('x')", "SELECT upper(text) FROM note", "VACUUM"),
            "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT 1 FROM n) SELECT x FROM n",
        ):
            with pytest.raises(sqlite3.DatabaseError):
                found._connection.execute(statement).fetchall()
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["a.db"]


def test_a_link_out_of_the_tree_a_folder_and_a_large_file_are_refused(tmp_path, monkeypatch):
    inside = tmp_path / "trial"
    inside.mkdir()
    outer = database(tmp_path / "outer.db", PLAIN)
    (inside / "a.db").symlink_to(outer)
    assert "a.db: a link that leads out" in problem(inside / "a.db", inside)
    assert problem(inside).endswith("is no file")
    assert "cannot be read" in problem(inside / "none.db")
    monkeypatch.setattr(sqlite, "_LARGEST", 100)
    assert "larger than" in problem(outer)


def test_a_file_that_is_no_database_or_holds_no_table_gets_a_sentence(tmp_path):
    path = tmp_path / "a.db"
    path.write_bytes(b"SQLite format 3\x00" + b"\x01" * 5000)
    assert problem(path).startswith("a.db: the database cannot be read")
    empty = database(tmp_path / "b.db", "PRAGMA user_version=1")
    assert problem(empty) == "b.db: the database holds no table that can be read"


def wal(folder):
    """A database whose second row lies only in its write-ahead log."""
    path = folder / "made" / "a.db"
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0;" + PLAIN)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("INSERT INTO note VALUES (2, 'newest')")
        connection.commit()
        kept = folder / "a.db"
        kept.write_bytes(path.read_bytes())
        log = folder / "a.db-wal"
        log.write_bytes(path.with_name("a.db-wal").read_bytes())
    return kept, log


def test_rows_of_a_write_ahead_log_are_read_and_both_files_stay_as_they_are(tmp_path):
    path, log = wal(tmp_path)
    before = path.read_bytes(), log.read_bytes()
    with reading_database(path, tmp_path) as found:
        assert [row["text"] for row in found.rows("note", ("text",))] == ["a", "newest"]
        assert not found.is_log_unread
    assert (path.read_bytes(), log.read_bytes()) == before
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.db", "a.db-wal", "made"]


@pytest.mark.parametrize("why", ["large", "link"])
def test_a_log_that_cannot_be_taken_is_reported(tmp_path, monkeypatch, why):
    path, log = wal(tmp_path)
    if why == "large":
        monkeypatch.setattr(sqlite, "_LARGEST_COPY", 100)
    else:
        log.rename(tmp_path / "made" / "other")
        log.symlink_to(tmp_path / "made" / "other")
    root = tmp_path if why == "large" else tmp_path / "root"
    if why == "link":
        root.mkdir()
        path, log = path.rename(root / "a.db"), log.rename(root / "a.db-wal")
    with reading_database(path, root) as found:
        assert [row["text"] for row in found.rows("note", ("text",))] == ["a"]
        assert found.is_log_unread


def test_a_query_ends_at_its_bounds_with_a_sentence(tmp_path, monkeypatch):
    many = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 30000)"
    path = database(tmp_path / "a.db", PLAIN + f"INSERT INTO note {many} SELECT x + 1, 'b' FROM n;")
    monkeypatch.setattr(sqlite, "_STEPS", 100)
    monkeypatch.setattr(sqlite, "_MOST_STEPS", 20_000)
    found, problems = rows(path)
    assert 0 < len(found) < 30_001
    assert "takes longer" in problems[0]
    monkeypatch.undo()
    monkeypatch.setattr(sqlite, "_MOST_TEXT", 50)
    assert rows(path)[1] == ["a.db: holds more than is read at once"]
    monkeypatch.undo()
    monkeypatch.setitem(sqlite._LIMITS, "SQLITE_LIMIT_LENGTH", 5000)
    path = database(tmp_path / "b.db", PLAIN + "INSERT INTO note VALUES (2, hex(zeroblob(9000)));")
    found, problems = rows(path)
    assert len(found) < 2
    assert "too big" in problems[0]


def test_a_database_whose_rows_lie_in_a_log_that_is_not_there_is_named(tmp_path):
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.executescript("CREATE TABLE t (x); DROP TABLE t; PRAGMA wal_checkpoint;")
        connection.executescript(PLAIN)
        copy = tmp_path / "copy.db"
        copy.write_bytes(path.read_bytes())
        assert problem(copy) == (
            "copy.db: the database holds no table that can be read; its rows may lie in "
            "copy.db-wal, which is not beside it"
        )
