from __future__ import annotations

import json

import pytest

from retrieval_eval.errors import BadInputError, SchemaError
from retrieval_eval.report import Report, Run, columns, load_run
from retrieval_eval.report.frames import _DTYPES, coerce, lookup
from retrieval_eval.report.separate import labels, relabelled_summary
from retrieval_eval.report.truth_rows import ground_truth_rows
from tests.factories import BASELINE, MCP, METRICS, rule, write_run


def test_every_frame_has_exactly_the_declared_columns(made_run):
    for name, (_, declared) in columns.FRAMES.items():
        expected = [c.name for c in columns.expand(declared, made_run.k_values)]
        assert list(made_run.frame(name).columns) == expected


def test_numbers_arrive_unchanged(made_run):
    trial = made_run.trial_files[3]
    row = made_run.trials.iloc[3]
    assert row["file_recall"] == trial.metrics["file_level_metrics"]["file_recall"]
    assert row["ndcg@5"] == trial.metrics["file_level_metrics"]["ndcg"]["5"]
    assert row["reward"] == trial.metrics["outcome"]["reward"]
    assert len(made_run.trials) == 24
    assert len(made_run.events) == 24 * 8


def test_missing_numbers_are_missing_and_never_zero(tmp_path):
    run = Run([write_run(tmp_path, n_tasks=3, n_without_ground_truth=1)])
    unscored = run.trials[run.trials["has_ground_truth"] == False]  # noqa: E712
    assert len(unscored) == 2
    assert unscored["file_recall"].isna().all()
    assert set(unscored["reason"]) == {"no_ground_truth"}


def test_the_pair_with_most_tasks_leads_and_comes_first(tmp_path):
    folder = write_run(tmp_path, configs=("z-base", "a-other"))
    run = Run([folder])
    assert run.comparison.baseline == "z-base"
    assert run.configs == ("z-base", "a-other")


def test_an_unknown_config_names_the_closest(tmp_path):
    run = Run([write_run(tmp_path, n_tasks=3)], mcp_config="mcp-remote")
    with pytest.raises(BadInputError, match=MCP):
        _ = run.comparison


def test_a_pair_asked_for_the_other_way_round_is_turned(tmp_path):
    folder = write_run(tmp_path)
    plain = Run([folder]).comparison.metrics["file_recall"]
    turned = Run([folder], baseline_config=MCP, mcp_config=BASELINE)
    result = turned.comparison.metrics["file_recall"]
    assert turned.comparison.baseline == MCP
    assert result.mean_difference == -plain.mean_difference
    assert (result.ci_low, result.ci_high) == (-plain.ci_high, -plain.ci_low)
    assert (result.wins, result.losses) == (plain.losses, plain.wins)


def test_hostile_documents_never_raise(tmp_path):
    folder = write_run(tmp_path, n_tasks=4)
    for path in sorted(folder.glob("*/*.json")):
        path.write_text(
            json.dumps(
                {
                    "schema_version": "1.1",
                    "provenance": [],
                    "coverage": None,
                    "file_level_metrics": "x",
                    "events": [1, {"target_files": 3}, None],
                    "ground_truth": {"files": [None, 1, "a.py"], "repositories": {}},
                    "outcome": {"reward": "NaN", "cost_usd": [], "elapsed_seconds": True},
                }
            )
        )
    run = Run([folder])
    for name in columns.FRAMES:
        run.frame(name)
    assert run.trials["reward"].isna().all()
    assert set(run.ground_truth["file"]) == {"a.py"}


def test_an_unreadable_trial_file_is_named_and_an_absent_one_leaves_an_empty_row(tmp_path):
    folder = write_run(tmp_path, n_tasks=2)
    path = folder / "0" / "0000.retrieval_metrics.json"
    path.write_text("{half")
    with pytest.raises(BadInputError, match=r"0000\.retrieval_metrics\.json: not valid JSON"):
        Run([folder]).trial_files  # noqa: B018
    path.unlink()
    run = Run([folder])
    assert len(run.trials) == 4
    assert run.trials["file_recall"].isna().sum() == 1


def test_another_major_version_is_refused_by_name(tmp_path):
    folder = write_run(tmp_path, n_tasks=2)
    path = folder / "run_retrieval_summary.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"schema_version": "2.0"}))
    with pytest.raises(SchemaError, match=r"2\.0"):
        Run([folder])


@pytest.mark.parametrize("kind", ["retrieval_metrics", "retrieval_events"])
def test_a_trial_of_another_major_version_is_refused_by_name(tmp_path, kind):
    folder = write_run(tmp_path, n_tasks=2)
    path = folder / "0" / f"0000.{kind}.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"schema_version": "2.0"}))
    with pytest.raises(SchemaError, match=rf"0000\.{kind}\.json: schema version 2\.0"):
        Run([folder]).frame("events")


def test_a_missing_summary_says_to_evaluate_first(tmp_path):
    with pytest.raises(BadInputError, match="evaluate the run first"):
        Run([tmp_path])


@pytest.mark.parametrize("path", ["a", "a/b", "a/b/c"])
def test_lookup_of_what_is_not_there(path):
    assert lookup({"a": {"b": 5}} if path == "a/b/c" else [], path) is None


def test_coercion_keeps_types_apart():
    assert coerce(True, "number") is None
    assert coerce(2.5, "integer") is None
    assert coerce([1, 2], "integer") == 2
    assert coerce("x", "list") == []
    assert coerce(float("nan"), "number") is None


def test_files_of_equal_path_are_told_apart_by_repository():
    document = {
        "ground_truth": {"files": ["package.json", "package.json"], "repositories": ["a", "b"]},
        "events": [
            {
                "step_index": 4,
                "tool_category": "file_read",
                "matched_ground_truth_files": ["package.json"],
                "targets": [{"file": "package.json", "repository": "b", "access": "opened"}],
            },
            {
                "step_index": 5,
                "tool_category": "file_write",
                "matched_ground_truth_files": ["package.json"],
                "targets": [{"file": "package.json", "repository": "a", "access": "written"}],
            },
        ],
    }
    first, second = ground_truth_rows(document, {})
    assert (first["is_retrieved"], first["is_written"], first["first_step"]) == (False, True, None)
    assert (second["is_retrieved"], second["is_opened"], second["first_step"]) == (True, True, 4)


def test_a_plain_document_without_targets_goes_by_category():
    document = {
        "ground_truth": {"files": ["a.py", "b.py"]},
        "events": [
            {
                "step_index": 0,
                "tool_category": "code_search",
                "matched_ground_truth_files": ["a.py"],
            },
            {"step_index": 1, "tool_category": "file_read", "matched_ground_truth_files": ["b.py"]},
        ],
    }
    a, b = ground_truth_rows(document, {})
    assert (a["is_retrieved"], a["is_opened"]) == (True, False)
    assert (b["is_retrieved"], b["is_opened"]) == (True, True)


def test_the_page_of_columns_is_well_formed():
    for frames in (columns.FRAMES, columns.SEARCH_FRAMES, columns.DIFF_FRAMES):
        for meaning, declared in frames.values():
            assert meaning.startswith("one row a")
            assert {c.type for c in declared} <= set(_DTYPES)
            assert all(c.name and c.meaning and c.source for c in declared)
            assert len({c.name for c in declared}) == len(declared)


def test_the_ledger_of_a_comparison_adds_up_in_its_frame(made_run):
    ledger = made_run.pair_ledger
    for arm in (BASELINE, MCP):
        own = ledger[ledger["arm"] == arm].set_index("fate")["n"]
        assert own["all"] == own["removed"] + own["used"] == 13


def test_statistics_arrive_unchanged(made_run):
    rows = made_run.statistics.set_index("metric")
    assert list(rows.index) == list(METRICS)
    assert rows.loc["file_recall", "verdict"] == "better"
    assert list(rows.index[rows["is_verdict_metric"]]) == ["file_recall"]
    recall = made_run.impact["comparisons"][0]["metrics"]["file_recall"]
    for name in ("p_holm", "rank_biserial", "n_clusters", "ci_low", "wins"):
        assert rows.loc["file_recall", name] == recall[name]


def test_gate_rows_name_every_trial(tmp_path):
    found = rule("model_differs", ("a", "b"), n=3, failed=True)
    changes = {"gate": {"passed": False, "failed": ["model_differs"], "rules": [found]}}
    run = Run([write_run(tmp_path, n_tasks=3, changes=changes)])
    row = run.gate.iloc[0]
    assert (row["rule"], row["failed"], row["count"]) == ("model_differs", True, 3)
    assert row["trials"] == [
        "a / task-000 / task-000__x",
        "b / task-001 / task-001__x",
        "a / task-002 / task-002__x",
    ]


def test_views_mark_what_turns(tmp_path):
    flip = {"metric": "mrr", "view": "opened", "kind": "sign", "default": 0.1, "there": -0.1}
    run = Run([write_run(tmp_path, n_tasks=6, changes={"flips": [flip]})])
    turned = run.views[run.views["flip"].notna()]
    assert list(zip(turned["view"], turned["metric"], strict=True)) == [("opened", "mrr")]
    assert len(run.views) == 4 * 2


@pytest.mark.parametrize(
    "broken",
    [
        {"gate": [], "ledger": 3, "views": {"opened": [1]}, "flips": {}, "slices": "x"},
        {"gate": {"rules": [{"trials": 5, "count": "many"}, 7]}, "verdict": ["better"]},
        {"ledger": {"baseline": {"removed": [1], "trials": None}}, "slices": [{"level": {}}]},
        {"views": {"opened": {"mrr": 4, "verdict": 9}}, "flips": [{"default": {}, "there": "x"}]},
        {"metrics": {"file_recall": "high"}, "verdict": "better", "verdict_metric": 5},
        {"discrimination": [{}], "difference_associations": [{}, None]},
    ],
)
def test_a_hostile_comparison_never_raises_and_never_gets_a_verdict_from_nothing(
    broken, tmp_path, page_of
):
    run = Run([write_run(tmp_path, n_tasks=7, changes=broken)])
    for name in columns.FRAMES:
        run.frame(name)
    page_of(run)
    page_of(run, "compare_runs")
    if "verdict" in broken:
        assert Report(run).answer().finding.startswith("No verdict")


def test_a_gate_that_does_not_say_it_passed_has_failed(tmp_path):
    run = Run([write_run(tmp_path, n_tasks=7, changes={"gate": {"rules": []}})])
    assert run.comparison.failed == ("not_passed",)
    assert Report(run).answer().finding.startswith("No verdict")
    missing = Run([write_run(tmp_path, n_tasks=7, changes={"gate": None})])
    assert missing.comparison.gate is None


def test_configs_of_one_name_in_two_runs_are_told_apart():
    summaries = [
        {"run_id": "one", "trials": [{"config_name": "base"}, {"config_name": "mcp"}]},
        {"run_id": "two", "trials": [{"config_name": "base"}], "configs": {"base": {}}},
    ]
    new = labels(summaries)
    assert new == [{"base": "base@one"}, {"base": "base@two"}]
    second = relabelled_summary(summaries[1], new[1])
    assert second["trials"] == [{"config_name": "base@two"}]
    assert list(second["configs"]) == ["base@two"]
    same = labels([summaries[0], summaries[0]])
    assert same[0]["base"] != same[1]["base"]


def test_a_seed_that_no_generator_takes_is_bad_input(tmp_path):
    with pytest.raises(BadInputError, match="the seed is -1; it must be 0 or more"):
        load_run("any", runs_root=tmp_path, seed=-1)
