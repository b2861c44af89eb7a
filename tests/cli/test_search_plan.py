"""``retrieval-eval search plan``."""

from __future__ import annotations

import json

import pytest

from retrieval_eval.cli.main import run
from retrieval_eval.search.run_files import run_bytes
from tests.guards import run_with


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_the_plan_of_stated_numbers_in_text_and_as_json(capsys):
    arguments = ["search", "plan", "--moved", "0.1", "--metric", "P@5"]
    assert run([*arguments, "--n-queries", "600"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("P@5: 90 queries catch a drop of 2 points in 80 % of guards")
    assert "P@5: 600 queries catch a drop of" in text
    assert "####" in text
    assert run([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["rule"], found["n_tested"]) == ("threshold_and_real", 5)
    assert found["metrics"][0]["n_queries"] == 90


def test_the_plan_of_two_runs(tmp_path, capsys):
    before = [i % 6 for i in range(120)]
    after = [(i + 1) % 6 if i % 7 == 0 else i % 6 for i in range(120)]
    for name, hits in (("a", before), ("b", after)):
        (tmp_path / f"{name}.json").write_bytes(run_bytes(run_with(hits, label=name)))
    assert run(["search", "plan", "--change", "a.json", "b.json", "--json"]) == 0
    rows = {row["metric"]: row for row in json.loads(capsys.readouterr().out)["metrics"]}
    found = rows["P@5"]
    assert found["n_queries_low"] <= found["n_queries"] <= found["n_queries_high"]
    assert found["n_asked"] == found["n_queries"]
    assert found["assumptions"][0]["value"] == pytest.approx(18 / 120)
    assert rows["claim_coverage"]["reason"] == "the runs have no query with it in both"


def test_a_plan_without_anything_to_rest_on_is_refused(capsys):
    assert run(["search", "plan"]) == 3
    assert "state what the plan rests on" in capsys.readouterr().err
