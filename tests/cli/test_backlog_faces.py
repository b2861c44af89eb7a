"""The review backlog is the same wherever it is shown: command, run, report and HTTP."""

from __future__ import annotations

import json

import click
import pytest

from retrieval_eval.cli import run
from retrieval_eval.cli.search_options import backlog_option, backlog_source, data_option
from retrieval_eval.cli.serve import _sources
from retrieval_eval.report import load_search
from retrieval_eval.report.search_opening import backlog
from retrieval_eval.search.gold.database import PRESETS
from retrieval_eval.serve.app import create_app
from tests.unit.serve.asgi import ask

ROWS = ("('pending_review', '2026-01-02')", "('approved', NULL)", "('lost', NULL)")
MOVING = ("as_of", "oldest_pending_age_days")


def _served(tmp_path, options):
    made = []

    @click.command()
    @data_option
    @backlog_option
    def serve(data, backlog):
        made.append(_sources(data, tmp_path, backlog_source(backlog)))

    serve.main(["--data", str(tmp_path / "runs"), *options], standalone_mode=False)
    return ask(create_app(made[0]), "/api/system/diagnostics").json


@pytest.mark.parametrize("preset", PRESETS)
def test_four_faces_show_the_same_backlog(database, tmp_path, monkeypatch, capsys, preset):
    names = PRESETS[preset]
    database.run(f"CREATE TABLE {names.table} (review_status TEXT, created_at TIMESTAMP)")
    database.run(f"INSERT INTO {names.table} VALUES {', '.join(ROWS)}")
    monkeypatch.chdir(tmp_path)
    gold = '{"query": "late fees", "relevant": ["d1"], "source": "chair"}\n'
    (tmp_path / "gold.jsonl").write_text(gold)
    (tmp_path / "corpus.jsonl").write_text('{"id": "d1", "text": "late fees"}\n')
    (tmp_path / "retrieval-eval.toml").write_text(f'[backlog]\npreset = "{preset}"\n')
    options = ["--backlog", database.url]

    assert run(["gold", "backlog", *options, "--json"]) == 0
    block = json.loads(capsys.readouterr().out)
    assert [block[name] for name in ("pending_review", "approved", "other", "total")] == [1] * 3 + [
        3
    ]
    files = ["--gold", "gold.jsonl", "--retriever", "bm25:corpus.jsonl", "--out", "runs"]
    assert run(["search", "run", *files, *options, "--json"]) == 0
    recorded = json.loads(capsys.readouterr().out)["backlog"]
    (path,) = (tmp_path / "runs").glob("eval-report-*.json")
    shown = load_search(path).backlog
    answer = _served(tmp_path, options)
    assert answer[f"{names.block}_reason"] is None

    def facts(one):
        return {name: value for name, value in one.items() if name not in MOVING}

    assert facts(block) == facts(recorded) == facts(shown) == facts(answer[names.block])
    assert backlog(shown).startswith("1 of 3 pending, the oldest for ")
    markdown = path.with_suffix(".md").read_text()
    assert "pending review 1, approved 1, rejected 0, published 0" in markdown
