"""Opening databases: only for reading, and never with the password in a message."""

from __future__ import annotations

import socket
import sys
import traceback

import pytest
from sqlalchemy import text

from retrieval_eval.errors import BadInputError
from retrieval_eval.search.gold.database import (
    BacklogSource,
    parse_url,
    read_backlog,
    reading,
    shown,
)

SECRET = "correct-horse"


def _refusal(url):
    with pytest.raises(BadInputError) as caught, reading(url) as connection:
        connection.execute(text("SELECT 1"))
    message = str(caught.value)
    assert "\n" not in message
    assert SECRET not in "".join(traceback.format_exception(caught.value, chain=False))
    return message


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (f"postgresql://ann:{SECRET}@db/law", "postgresql+psycopg://ann:***@db/law"),
        (f"postgres://ann:{SECRET}@db/law", "postgresql+psycopg://ann:***@db/law"),
        (
            f"postgresql://db/law?user=ann&password={SECRET}&sslmode=require",
            "postgresql+psycopg://db/law?sslmode=require&user=ann",
        ),
        ("sqlite:///a/b.db", "sqlite:///a/b.db"),
    ],
)
def test_a_url_is_shown_without_its_secrets(url, expected):
    found = shown(parse_url(url))
    assert found.replace("user=ann&sslmode=require", "sslmode=require&user=ann") == expected


@pytest.mark.parametrize(
    "url",
    [
        "",
        "nonsense",
        f"postgresql://ann:{SECRET}@db:port/law",
        f"ann:{SECRET}@db",
        "://",
        "a://b:x:y",
    ],
)
def test_what_is_no_url_is_not_repeated(url):
    message = _refusal(url)
    assert "URL" in message
    assert url == "" or not message.startswith(url)


def test_a_password_with_an_at_sign_is_not_taken_for_the_host():
    message = _refusal(f"postgresql://ann:pa@{SECRET}@db/law")
    assert "%40" in message


def test_a_database_that_is_down_is_one_sentence():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    message = _refusal(f"postgresql://ann:{SECRET}@127.0.0.1:{port}/law?connect_timeout=5")
    assert message.startswith(f"postgresql+psycopg://ann:***@127.0.0.1:{port}/law")
    assert "cannot be reached" in message


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("cobol://host/db", "no such kind of database"),
        ("mysql+pymysql://host/db", "driver 'pymysql' is not installed"),
        ("sqlite://", "names no SQLite file"),
    ],
)
def test_databases_that_cannot_be_opened_are_named(url, said):
    assert said in _refusal(url)


def test_a_missing_driver_is_named_with_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    said = r"pip install '\.\[postgres\]'"
    with pytest.raises(BadInputError, match=said), reading("postgresql://host/law"):
        pass


def test_a_misspelt_sqlite_file_is_not_created(tmp_path):
    message = _refusal(f"sqlite:///{tmp_path}/absent.db")
    assert message.endswith("no such SQLite file")
    assert list(tmp_path.iterdir()) == []
    assert _refusal(f"sqlite:///{tmp_path}/{'a' * 300}").endswith("no such SQLite file")


def test_a_file_that_is_no_database_is_one_sentence(tmp_path):
    (tmp_path / "letter.db").write_bytes(b"Dear database, " * 100)
    with (
        pytest.raises(BadInputError, match=r"the database refused .*not a database"),
        reading(f"sqlite:///{tmp_path}/letter.db") as connection,
    ):
        connection.execute(text("SELECT * FROM sqlite_master"))


@pytest.mark.parametrize("parameter", ["timeout=abc", "detect_types=x", "check_same_thread=maybe"])
def test_an_unreadable_parameter_is_one_sentence(tmp_path, parameter):
    (tmp_path / "a.db").touch()
    said = "a parameter of the URL cannot be used"
    with (
        pytest.raises(BadInputError, match=said),
        reading(f"sqlite:///{tmp_path}/a.db?{parameter}"),
    ):
        pass


def test_a_sqlite_path_may_hold_anything(tmp_path):
    path = tmp_path / "a b#c&d.db"
    path.touch()
    with reading(f"sqlite:///{path}") as connection:
        assert connection.execute(text("SELECT 1")).scalar_one() == 1


@pytest.mark.parametrize("statement", ["CREATE TABLE other (id INTEGER)", "DELETE FROM things"])
def test_nothing_can_be_written(database, statement):
    database.run("CREATE TABLE things (id INTEGER)")
    with (
        pytest.raises(BadInputError, match=r"the database refused .*read-?only"),
        reading(database.url) as connection,
    ):
        connection.execute(text(statement))


HOSTILE = (
    'items"; DROP TABLE items; --',
    "items'; DROP TABLE items; --",
    "items) UNION SELECT secret FROM vault --",
    "(SELECT secret FROM vault)",
    "items UNION SELECT 1, 2",
    'main"."items',
    "pragma_table_info('items')",
    ":name",
    "%(name)s",
    "a" * 200,
    "a\x00b",
    "a\nb",
)


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_a_name_of_a_table_or_column_is_a_name_and_no_statement(database, name):
    database.run("CREATE TABLE items (review_status TEXT, created_at TEXT)")
    database.run("INSERT INTO items VALUES ('approved', '2026-01-05')")
    database.run("CREATE TABLE vault (secret TEXT)")
    database.run("INSERT INTO vault VALUES ('hush')")
    for place in ("table", "status", "created"):
        given = {"table": "items", "status": "review_status", "created": "created_at"}
        with pytest.raises(BadInputError) as caught:
            read_backlog(BacklogSource(database.url, **given | {place: name}))
        assert "hush" not in str(caught.value)
    assert read_backlog(BacklogSource(database.url, table="items")).total == 1
