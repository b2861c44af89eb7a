"""Runs over time: what is read, in which order, what is joined, and what the guard found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.report.columns import HISTORY_FRAMES, expand
from retrieval_eval.report.history import build_history, load_history
from tests.searches import answer, gold_query, gold_set, run_of

N = 30


def gold(n: int = N, *, reviewed: int = 10):
    """A gold set in which the answer of each query is ``a``."""
    return gold_set(
        *(
            gold_query(f"q{i}", {"a": 2}, source="chair" if i < reviewed else "bootstrap")
            for i in range(n)
        )
    )


def search_run(day: int, n_right: int, n: int = N, **fields):
    """A search run of a day that finds the answer of the first ``n_right`` queries."""
    asked = gold(n, **({"reviewed": fields.pop("reviewed")} if "reviewed" in fields else {}))
    answers = [
        answer(query.id, ["a", "b"] if i < n_right else ["b", "c"])
        for i, query in enumerate(asked.queries)
    ]
    moment = f"2026-01-{day:02d}T10:00:00Z"
    return run_of(asked, answers, generated_at=moment, label=f"day-{day}", **fields)


def write(folder: Path, name: str, document) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


@pytest.fixture
def searches(tmp_path) -> Path:
    """Four runs of which the second is worse, and the fourth asks more queries."""
    folder = tmp_path / "eval"
    for day, n_right in ((1, 28), (2, 10), (3, 28)):
        write(folder, f"eval-report-2026010{day}T100000Z.json", search_run(day, n_right))
    grown = search_run(4, 35, 40, reviewed=25)
    write(folder, "eval-report-20260104T100000Z.json", grown)
    write(folder, "baseline.json", grown)
    write(folder, "noise.json", {"schema_version": "1.0"})
    (folder / "notes.txt").write_text("no run")
    return folder


def test_frames_have_the_declared_columns(searches):
    history = load_history(searches)
    for name, (_, declared) in HISTORY_FRAMES.items():
        assert list(history.frame(name).columns) == [c.name for c in expand(declared, [])]


def test_runs_are_in_order_of_time_and_each_once(searches):
    runs = load_history(searches).runs
    assert list(runs["run"]) == ["day-1", "day-2", "day-3", "day-4"]
    assert set(runs["status"]) == {"read"}
    assert list(runs["source"])[-1] == "eval-report-20260104T100000Z.json", "not its copy"


def test_regressions_are_caught_against_the_run_before(searches):
    guard = load_history(searches).guard.set_index("run")
    assert list(guard.index) == ["day-2", "day-3", "day-4"]
    assert guard.loc["day-2", "verdict"] == "breach"
    assert guard.loc["day-2", "against"] == "day-1"
    assert guard.loc["day-2", "worst_points"] < -50
    assert guard.loc["day-2", "worst"] in guard.loc["day-2", "breaches"]
    assert guard.loc["day-3", "verdict"] != "breach"
    assert guard.loc["day-4", "verdict"] == "no_verdict", "another gold set"


def test_means_are_joined_only_where_they_rest_on_the_same(searches):
    metrics = load_history(searches).metrics
    lines = metrics[metrics["metric"] == "nDCG@10"].set_index("run")["line"]
    assert dict(lines) == {"day-1": 1, "day-2": 1, "day-3": 1, "day-4": 2}
    text = " ".join(load_history(searches).block().sentences)
    assert "no line joins the two" in text
    assert "1 are regressions" in text


def test_a_damaged_run_is_listed_with_its_reason(searches):
    write(searches, "eval-report-20260105T100000Z.json", {"schema_version": "1.0", "run": 1})
    (row,) = load_history(searches).runs.query("status == 'unreadable'").to_dict("records")
    assert row["run"] == "eval-report-20260105T100000Z"
    assert "not a search run" in row["reason"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "no folder was given"),
        ({"data": "nowhere"}, "nowhere: no such folder of search runs"),
        ({"data": "empty"}, "empty: no measured run"),
        ({"data": "eval", "subject": "dosc"}, "no run measured 'dosc'; there is docs"),
        ({"data": "eval", "thresholds": "no.toml"}, "no.toml"),
    ],
)
def test_bad_input_is_one_sentence(searches, tmp_path, monkeypatch, given, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInputError, match=message) as refused:
        load_history(**given)
    assert "\n" not in str(refused.value)


def test_a_link_out_of_the_folder_is_not_followed(searches, tmp_path):
    outside = write(tmp_path / "outside", "eval-report-20260107T100000Z.json", search_run(7, 28))
    (searches / "eval-report-20260107T100000Z.json").symlink_to(outside)
    runs = load_history(searches).runs
    assert "day-7" not in set(runs["run"])


def test_hostile_labels_are_text(tmp_path):
    evil = "<script>alert(1)</script>\u202e=1+1"
    document = search_run(1, 28) | {"label": evil}
    write(tmp_path, "eval-report-20260101T100000Z.json", document)
    history = load_history(tmp_path)
    assert list(history.runs["run"]) == [evil]
    assert "<script>" not in history._repr_mimebundle_()["text/html"]


def test_the_page_has_its_tables_and_parameters_beside_it(searches, tmp_path):
    given = {"reports_dir": tmp_path / "reports", "renderer": "embedded"}
    page = build_history(searches, **given)
    assert page == tmp_path / "reports" / "history" / "index.html"
    html = page.read_text(encoding="utf-8")
    assert "1 of 3 changes of search are regressions" in html
    assert "no line joins the two" in html
    names = {path.name for path in page.parent.iterdir()}
    assert names >= {f"{name}.csv" for name in HISTORY_FRAMES} | {"params.yml", "versions.csv"}
    assert "data:" in (page.parent / "params.yml").read_text()
