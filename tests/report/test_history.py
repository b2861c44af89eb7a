"""Runs over time: what is read, in which order, what is joined, and what the guard found."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import retrieval_eval as rev
from retrieval_eval.cli.main import run
from retrieval_eval.errors import BadInputError
from retrieval_eval.report.columns import HISTORY_FRAMES, expand
from retrieval_eval.report.history import _agent_means, build_history, load_history
from retrieval_eval.report.run import Run
from tests.factories import write_run
from tests.runs import write_task, write_trial
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


def test_the_interval_of_a_mean_share_stays_between_0_and_1():
    values = [0.0, 0.2, 0.9, 1.0]
    trials = pd.DataFrame(
        {
            "benchmark": "suite",
            "config_name": "own",
            "task_name": ["a", "b", "c", "d"],
            "ground_truth_digest": "x",
            "task_checksum": "y",
            "file_recall": values,
            "cost_usd": [0.1, 0.1, 0.1, 9.0],
        }
    )
    recall, cost = _agent_means(trials, (1, 5), 1)
    assert (recall["ci_low"], recall["ci_high"]) == (0.0, 1.0)
    assert cost["ci_high"] > 1.0


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


def test_a_run_with_claims_stands_for_the_one_without(searches):
    other = search_run(3, 28)
    write(searches, "eval-report-20260103T100000Z.claims.json", other)
    runs = load_history(searches).runs
    assert list(runs["run"]) == ["day-1", "day-2", "day-3", "day-4"]
    assert runs["source"][2].endswith(".claims.json")


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


def test_labels_grow_by_source(searches):
    labels = load_history(searches).labels
    grown = labels[labels["run"] == "day-4"].set_index("source")
    assert dict(grown["n"]) == {"bootstrap": 15, "chair": 25}
    assert dict(grown["is_reviewed"]) == {"bootstrap": False, "chair": True}
    assert set(grown["n_queries"]) == {40}


def test_a_damaged_run_is_listed_with_its_reason(searches):
    write(searches, "eval-report-20260105T100000Z.json", {"schema_version": "1.0", "run": 1})
    (row,) = load_history(searches).runs.query("status == 'unreadable'").to_dict("records")
    assert row["run"] == "eval-report-20260105T100000Z"
    assert "not a search run" in row["reason"]


@pytest.fixture
def agents(tmp_path) -> Path:
    """Two measured runs, and one that was not."""
    root = tmp_path / "runs"
    write_run(root, run_id="one")
    write_run(root, run_id="two", seed=8)
    (root / "three").mkdir()
    return root


def test_runs_of_agents_are_read_and_not_measured(agents):
    history = load_history(runs_root=agents)
    runs = history.runs.set_index("run")
    assert dict(runs["status"]) == {"one": "read", "two": "read", "three": "not_evaluated"}
    assert runs.loc["one", "moment"] == "2026-01-02T03:04:05Z"
    assert runs.loc["one", "moment_of"] == "first batch"
    assert "better" in runs.loc["one", "verdict"]
    assert not (agents / "three" / "retrieval_events").exists()
    recall = history.metrics.query("metric == 'file_recall' and run == 'one'")
    assert list(recall["subject"].unique()) == ["suite_a", "suite_b"]
    assert set(recall["n"]) == {6}
    assert (recall["ci_low"] <= recall["mean"]).all()
    assert (recall["mean"] <= recall["ci_high"]).all()


def test_the_same_tasks_are_one_line_and_other_tasks_another(agents):
    recall = load_history(runs_root=agents).metrics.query("metric == 'file_recall'")
    assert set(recall["line"]) == {1}
    write_run(agents, run_id="zeta", n_tasks=14)
    recall = load_history(runs_root=agents).metrics.query("metric == 'file_recall'")
    assert set(recall.query("run == 'zeta'")["line"]) == {2}


def test_a_damaged_run_of_agents_is_listed_with_its_reason(agents):
    (agents / "two" / "retrieval_events" / "run_retrieval_summary.json").write_text("{")
    (row,) = load_history(runs_root=agents).runs.query("status == 'unreadable'").to_dict("records")
    assert row["run"] == "two"
    assert "evaluate the run first" in row["reason"]


def test_one_subject_is_that_alone(agents):
    metrics = load_history(runs_root=agents, subject="suite_b").metrics
    assert set(metrics["subject"]) == {"suite_b"}


def test_both_sides_are_one_history(agents, searches):
    history = load_history(searches, runs_root=agents)
    assert list(history.runs["kind"]).count("search") == 4
    moments = list(history.runs["moment"].dropna())
    assert moments == sorted(moments)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "no folder was given"),
        (["nowhere"], "nowhere: no such folder of search runs"),
        (["--runs-root", "nowhere"], "runs root nowhere is not a folder"),
        (["empty"], "empty: no measured run"),
        (["--runs-root", "empty"], "empty: no measured run"),
        (["eval", "--subject", "dosc"], "no run measured 'dosc'; there is docs"),
        (["eval", "--thresholds", "no.toml"], "no.toml"),
    ],
)
def test_bad_input_is_one_sentence(searches, tmp_path, monkeypatch, capsys, given, message):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RETRIEVAL_EVAL_RUNS_ROOT", raising=False)
    (tmp_path / "empty").mkdir()
    assert run(["history", *given]) == 3
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1
    assert not (tmp_path / "reports").exists()


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


def test_folders_are_text():
    with pytest.raises(BadInputError, match="given as text"):
        load_history(["a"])


def test_a_metric_that_no_run_has_is_named_with_the_closest(searches):
    history = load_history(searches)
    assert len(history.of_metric("nDCG@10", "search")) == 4
    assert history.of_metric("file_recall", "agents").empty, "there is no run of agents"
    with pytest.raises(
        BadInputError, match="no run of search has the metric 'ndcg@10'; try nDCG@10"
    ):
        history.of_metric("ndcg@10", "search")


@pytest.mark.slow
def test_the_page_is_made_once_and_made_again_from_its_parameters(searches, agents, tmp_path):
    given = {"runs_root": agents, "reports_dir": tmp_path / "reports", "renderer": "embedded"}
    page = build_history(searches, **given)
    assert page == tmp_path / "reports" / "history" / "index.html"
    html = page.read_text(encoding="utf-8")
    assert "1 of 3 changes of search are regressions" in html
    assert "no line joins the two" in html
    names = {path.name for path in page.parent.iterdir()}
    assert names >= {f"{name}.csv" for name in HISTORY_FRAMES} | {"params.yml", "versions.csv"}
    before = page.read_bytes()
    kept = ["report", "--set", str(page.parent / "params.yml"), "--reports-dir"]
    assert run([*kept, str(tmp_path / "reports")]) == 0
    assert page.read_bytes() == before
    assert run([*kept, str(tmp_path / "again")]) == 0
    assert (tmp_path / "again" / "history" / "index.html").read_bytes() == before


@pytest.fixture
def compared(tmp_path, monkeypatch) -> Path:
    """Four evaluated runs of two configurations, whose difference varies, and one without any."""
    monkeypatch.chdir(tmp_path)
    for name in ("RETRIEVAL_EVAL_RUNS_ROOT", "RETRIEVAL_EVAL_BENCHMARKS_ROOT"):
        monkeypatch.delenv(name, raising=False)
    truth = [f"src/{name}.py" for name in "abcdefgh"]
    runs = tmp_path / "runs"
    for i in range(6):
        write_task(tmp_path / "benchmarks", f"task-{i}", truth)
    for number, more in enumerate((1, 2, 4, 3), start=1):
        for i in range(6):
            folder = runs / f"run-{number}"
            batch = f"2026-01-0{number}__10-00-00"
            write_trial(folder, "old", f"task-{i}", truth[: 1 + i % 2], batch=batch)
            write_trial(folder, "new", f"task-{i}", truth[: 1 + more + i % 3], batch=batch)
    write_trial(runs / "run-5", "old", "task-0", truth[:1], batch="2026-01-09__10-00-00")
    assert run(["evaluate", *(f"run-{n}" for n in range(1, 6)), "--jobs", "1"]) == 0
    return runs


@pytest.mark.slow
def test_a_comparison_is_pooled_over_all_runs(compared, tmp_path):
    history = load_history(runs_root=compared)
    rows = history.comparisons.query("metric == 'file_recall'")
    assert list(rows["run"]) == [f"run-{n}" for n in range(1, 5)]
    recorded = Run([compared / "run-2" / "retrieval_events"]).study.record.metrics["file_recall"]
    own = rows[rows["run"] == "run-2"].iloc[0]
    # Without repositories the tasks of one suite count each by itself.
    assert own["estimate"] == pytest.approx(recorded.mean_difference)
    assert (own["n"], own["scale"]) == (6, "difference")
    assert own["low"] < own["estimate"] < own["high"]
    pooled = rev.pool(history.of_pair("file_recall"), "file_recall")
    assert pooled.summary.n == 4
    assert pooled.sentences()[0].startswith("Over 4 studies the mean difference in file recall is")
    assert pooled.summary.tau.value > 0
    (costs, *_) = set(history.comparisons.query("metric == 'cost_usd'")["scale"])
    assert costs == "ratio"
    page = build_history(runs_root=compared, reports_dir=tmp_path / "reports", renderer="embedded")
    html = page.read_text(encoding="utf-8")
    assert "Over 4 studies the mean difference in file recall is" in html
    assert "The true value of a further study such as these lies between" in html
    assert 'id="fig-pooled"' in html
    assert (page.parent / "comparisons.csv").is_file()
