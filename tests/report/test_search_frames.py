from __future__ import annotations

import json

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.report import load_search
from tests.report.search_made import (
    BACKLOG,
    artefact,
    delta,
    failed,
    ordinary,
    searched,
    unanswerable,
    write,
)


def test_numbers_arrive_unchanged_and_missing_ones_stay_missing():
    document = artefact([*ordinary(4), unanswerable("u", [("x", None)]), failed("f")])
    run = searched(document)
    queries = run.queries.set_index("id")
    assert list(queries["P@5"].fillna(-1)) == [0.4, 0.42, 0.44, 0.46, -1, -1]
    assert queries.loc["f", "status"] == "failed"
    assert queries["first_relevant"].isna().tolist() == [False] * 4 + [True] * 2
    assert queries["n_relevant"].isna().all()
    metrics = run.metrics.set_index("measure")
    assert metrics.loc["RR", "value"] == document["metrics"]["RR"]["value"]
    assert metrics.loc["RR", "n"] == 4
    assert metrics.loc["RR", "n_not_computable"] == 2
    notes = run.slices[(run.slices["level"] == "notes") & (run.slices["measure"] == "P@5")]
    assert notes[["n_queries", "n", "value"]].iloc[0].tolist() == [2, 2, (0.4 + 0.46) / 2]


def test_loading_reads_a_file_and_names_what_is_wrong(tmp_path):
    path = write(tmp_path, artefact())
    run = load_search(path)
    assert (run.name, len(run.queries), run.baseline, run.backlog) == ("changed", 12, None, None)
    assert load_search(write(tmp_path, artefact(label=""), "nameless.json")).name == "nameless"
    with pytest.raises(BadInputError, match="no such file"):
        load_search(tmp_path / "absent.json")
    broken = write(tmp_path, artefact(label=5), "broken.json")
    with pytest.raises(BadInputError, match="/label"):
        load_search(str(broken))
    with pytest.raises(BadInputError, match="given as text"):
        load_search(5)


def test_the_baseline_beside_a_run_is_read_only_when_it_is_the_runs(tmp_path):
    path = write(tmp_path, artefact(delta=delta()))
    assert load_search(path).baseline is None
    same = artefact(label="before", generated_at="2026-01-05T10:00:00Z")
    write(tmp_path, same, "baseline.json")
    assert load_search(path).baseline.label == "before"
    write(tmp_path, {**same, "label": "another"}, "baseline.json")
    assert load_search(path).baseline is None
    (tmp_path / "baseline.json").write_text("{half")
    assert load_search(path).baseline is None
    with pytest.raises(BadInputError, match="not a search run"):
        load_search(path, baseline=tmp_path / "baseline.json")


def test_a_gold_set_that_was_not_asked_is_left_out_and_said(tmp_path):
    gold = tmp_path / "gold.jsonl"
    gold.write_text('{"query": "x", "corpus": "docs", "source": "chair", "relevant": {"a": 1}}\n')
    run = load_search(write(tmp_path, artefact()), gold=gold)
    assert run.gold is None
    assert "is not the one that was asked (abababababab)" in run.gold_problem
    gold.write_text("{half\n")
    with pytest.raises(BadInputError, match="line 1"):
        load_search(write(tmp_path, artefact()), gold=gold)


def test_a_backlog_of_items_is_counted(tmp_path):
    items = tmp_path / "items.jsonl"
    rows = [{"review_status": s, "created_at": None} for s in ("pending_review", "approved")]
    items.write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = load_search(write(tmp_path, artefact(backlog=BACKLOG)), backlog=str(items))
    assert (run.backlog["pending_review"], run.backlog["total"]) == (1, 2)
    assert load_search(write(tmp_path, artefact(backlog=BACKLOG))).backlog == BACKLOG
