from __future__ import annotations

from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from retrieval_eval.errors import BadInputError
from retrieval_eval.serve.dashboard import Sources, answer_schema
from tests.unit.serve.documents import (
    BACKLOG,
    BACKLOG_SERVED,
    dashboard_of,
    delta,
    search_run,
    write,
)


def checked(document, backlog_name="backlog"):
    schema = answer_schema("dashboard", Sources(Path(), Path(), backlog_name=backlog_name))
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(document)
    return document


def test_the_latest_run_leads(tmp_path):
    write(tmp_path, "1", search_run("old", "2026-01-01T00:00:00Z", p5=0.25))
    write(tmp_path, "2", search_run("new", "2026-01-02T00:00:00Z", p5=0.5))
    shown = checked(dashboard_of(tmp_path))
    assert shown["latest_run"]["label"] == "new"
    assert shown["latest_run"]["n_queries"] == 4
    assert shown["n_runs"] == 2
    assert [run["label"] for run in shown["runs"]] == ["new", "old"]
    assert [run["headline"]["P@5"]["value"] for run in shown["runs"]] == [0.5, 0.25]


def test_the_headline_has_n_and_interval(tmp_path):
    write(tmp_path, "1", search_run(p5=0.5, n_failed=1))
    latest = checked(dashboard_of(tmp_path))["latest_run"]
    p5 = latest["headline"]["P@5"]
    assert (p5["value"], p5["n"], p5["ci_low"], p5["ci_high"]) == (0.5, 3, 0.4, 0.6)
    assert latest["status"]["n_ok"] == 3
    assert latest["status"]["n_failed"] == 1
    assert latest["status"]["has_verdict"] is False


def test_a_headline_that_was_not_measured_is_no_zero(tmp_path):
    document = search_run()
    del document["metrics"]["Recall@20"]
    write(tmp_path, "1", document)
    found = checked(dashboard_of(tmp_path))["latest_run"]["headline"]["Recall@20"]
    known = {name: value for name, value in found.items() if value is not None}
    assert known == {
        "n": 0,
        "computable": False,
        "reason": "not_recorded",
        "n_not_computable": 0,
        "not_computable": {},
    }


def test_distance_to_the_baseline(tmp_path):
    write(tmp_path, "1", search_run(with_delta=True))
    found = checked(dashboard_of(tmp_path))["latest_run"]["delta"]
    assert found["metrics"]["P@5"]["delta_points"] == 25.0
    assert found["metrics"]["P@5"]["n_pairs"] == 4
    assert found["n_queries_top1_changed"] == 2
    assert found["baseline"] == delta()["baseline"]
    assert "queries" not in found


def test_without_a_baseline_there_is_no_delta_and_a_reason(tmp_path):
    write(tmp_path, "1", search_run())
    latest = checked(dashboard_of(tmp_path))["latest_run"]
    assert latest["delta"] is None
    assert "without a baseline" in latest["delta_reason"]


def test_a_delta_that_was_withheld_says_why(tmp_path):
    write(tmp_path, "1", search_run() | {"delta_withheld": ["the run is truncated"]})
    latest = checked(dashboard_of(tmp_path))["latest_run"]
    assert (latest["delta"], latest["delta_reason"]) == (None, "the run is truncated")


def test_one_corpus(tmp_path):
    write(tmp_path, "1", search_run(with_delta=True))
    latest = checked(dashboard_of(tmp_path, corpus="cases"))["latest_run"]
    assert latest["corpus"] == "cases"
    assert latest["n_queries"] == 2
    assert latest["headline"]["P@5"]["value"] == 0.6
    assert latest["delta"]["metrics"]["P@5"]["delta_points"] == 50.0
    other = checked(dashboard_of(tmp_path, corpus="notes"))["latest_run"]
    assert other["headline"]["P@5"]["value"] is None
    assert other["headline"]["P@5"]["reason"] == "no_ground_truth"
    assert other["delta"]["metrics"] == {}


@pytest.mark.parametrize("wanted", ["old", "eval-report-1", "eval-report-1.json"])
def test_a_run_by_label_or_name(tmp_path, wanted):
    write(tmp_path, "1", search_run("old", "2026-01-01T00:00:00Z"))
    write(tmp_path, "2", search_run("new", "2026-01-02T00:00:00Z"))
    assert checked(dashboard_of(tmp_path, run=wanted))["latest_run"]["name"] == "eval-report-1.json"


def test_an_unknown_run_or_corpus_names_those_there_are(tmp_path):
    write(tmp_path, "1", search_run("old"))
    with pytest.raises(BadInputError, match="no run with the label or name 'x'; there are: old"):
        dashboard_of(tmp_path, run="x")
    with pytest.raises(BadInputError, match="no corpus 'x' in the run; there are: cases, notes"):
        dashboard_of(tmp_path, corpus="x")
    with pytest.raises(BadInputError, match="no run with the label or name 'x'; there are: none"):
        dashboard_of(tmp_path / "none", run="x")
    with pytest.raises(BadInputError, match="no corpus 'x'"):
        dashboard_of(tmp_path / "none", corpus="x")


def test_nothing_measured_yet(tmp_path):
    shown = checked(dashboard_of(tmp_path))
    assert shown["latest_run"] is None
    assert "search run" in shown["latest_run_reason"]
    assert (shown["runs"], shown["n_runs"], shown["skipped"]) == ([], 0, [])
    assert "no folder 'gone'" in dashboard_of(tmp_path / "gone")["latest_run_reason"]


def test_the_backlog_block_under_the_name_of_a_deployment(tmp_path):
    shown = dashboard_of(tmp_path, backlog=lambda: BACKLOG, backlog_name="halacha_backlog")
    assert checked(shown, "halacha_backlog")["halacha_backlog"] == BACKLOG_SERVED
    assert "backlog" not in shown


def test_an_unknown_backlog_is_null_with_a_reason(tmp_path):
    shown = checked(dashboard_of(tmp_path))
    assert shown["backlog"] is None
    assert "--backlog" in shown["backlog_reason"]

    def down():
        raise BadInputError("postgresql://me:***@db/x: cannot connect")

    shown = checked(dashboard_of(tmp_path, backlog=down))
    assert shown["backlog"] is None
    assert shown["backlog_reason"] == "postgresql://me:***@db/x: cannot connect"


def test_a_reader_who_changes_what_it_got_changes_nothing_for_the_next(tmp_path):
    write(tmp_path, "1", search_run(p5=0.5, with_delta=True))
    first = dashboard_of(tmp_path)
    first["latest_run"]["headline"]["P@5"]["value"] = 9
    first["latest_run"]["status"].clear()
    first["latest_run"]["delta"]["metrics"].clear()
    first["runs"][0]["headline"]["P@5"].clear()
    again = checked(dashboard_of(tmp_path))
    assert again["latest_run"]["headline"]["P@5"]["value"] == 0.5
    assert again["latest_run"]["delta"]["metrics"]["P@5"]["delta_points"] == 25.0
