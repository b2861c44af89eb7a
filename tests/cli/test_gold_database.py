"""``gold bootstrap`` and ``gold backlog`` as a user runs them."""

from __future__ import annotations

import json

import click
import pytest
from click.testing import CliRunner

from retrieval_eval.cli.gold import backlog, bootstrap


@pytest.fixture
def filled(sqlite_database, tmp_path, monkeypatch):
    """A database with one query, and the folder of the gold set as working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RETRIEVAL_EVAL_DATABASE_URL", raising=False)
    sqlite_database.make_feedback_tables()
    sqlite_database.add_logs((1, "levy", "library"))
    sqlite_database.add_feedback((1, "d1"), (1, None))
    return sqlite_database


def _run(command: click.Command, *arguments: str, env: dict[str, str] | None = None) -> str:
    done = CliRunner().invoke(command, arguments, env=env, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_bootstrap_writes_the_default_file_and_says_what_changed(filled, tmp_path):
    said = _run(bootstrap, "--database", filled.url)
    assert "1 added, 0 changed, 0 unchanged, 0 dropped" in said
    assert "feedback rows without use: 1 (no_document)" in said
    first = (tmp_path / "data/eval/gold-set.jsonl").read_bytes()
    said = _run(bootstrap, env={"RETRIEVAL_EVAL_DATABASE_URL": filled.url})
    assert "up to date; nothing written" in said
    assert (tmp_path / "data/eval/gold-set.jsonl").read_bytes() == first


def test_bootstrap_without_a_database(filled):
    done = CliRunner().invoke(bootstrap, ())
    assert done.exit_code == 2  # click's own; the group turns usage errors into 64
    assert "no database" in done.stderr


def test_backlog_counts_a_file_even_when_a_database_is_in_the_environment(filled, tmp_path):
    (tmp_path / "items.jsonl").write_text(
        '{"review_status": "pending_review", "created_at": "2026-05-30"}\n'
        '{"review_status": "on \\u001b[31mhold", "created_at": null}\n'
    )
    arguments = ("--backlog", "items.jsonl")
    environment = {"RETRIEVAL_EVAL_DATABASE_URL": filled.url}
    said = _run(backlog, *arguments, env=environment)
    assert "oldest pending since 2026-05-30T00:00:00Z, " in said
    assert "\x1b" not in said
    document = json.loads(_run(backlog, *arguments, "--json", env=environment))
    assert (document["pending_review"], document["other"], document["total"]) == (1, 1, 2)


def test_backlog_of_a_database(filled, tmp_path):
    filled.run(
        "CREATE TABLE items (state TEXT, created_at TEXT)",
        "INSERT INTO items VALUES ('approved', NULL)",
    )
    names = '[backlog]\ntable = "items"\nstatus = "state"\n'
    (tmp_path / "retrieval-eval.toml").write_text(names)
    assert json.loads(_run(backlog, "--backlog", filled.url, "--json"))["approved"] == 1
    environment = {"RETRIEVAL_EVAL_DATABASE_URL": filled.url}
    assert json.loads(_run(backlog, "--json", env=environment))["approved"] == 1
    (tmp_path / "retrieval-eval.toml").write_text(f"{names}source = '{filled.url}'")
    assert json.loads(_run(backlog, "--json"))["approved"] == 1
    assert json.loads(_run(backlog, "--json", env=environment))["approved"] == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "no backlog source"),
        (("--backlog", "me:s3cret@host/name"), "is no file, and no database URL"),
    ],
)
def test_backlog_used_wrongly(filled, arguments, said):
    done = CliRunner().invoke(backlog, arguments)
    assert done.exit_code == 2
    assert said in done.stderr
    assert "s3cret" not in done.stderr
