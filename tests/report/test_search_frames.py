from __future__ import annotations

import json

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.report import load_search
from retrieval_eval.report.columns import SEARCH_FRAMES, expand
from retrieval_eval.report.loading import load_backlog
from retrieval_eval.schema import faults
from tests.report.search_made import (
    BACKLOG,
    MEASURES,
    artefact,
    delta,
    failed,
    gold_of,
    hostile,
    ordinary,
    query,
    searched,
    shortened,
    unanswerable,
    write,
)


@pytest.mark.parametrize(
    "document",
    [artefact(), artefact(delta=delta(), backlog=BACKLOG), artefact([failed("a")]), hostile()],
    ids=["plain", "delta", "failed", "hostile"],
)
def test_what_the_tests_are_made_of_is_a_valid_search_run(document):
    # A file cannot hold a lone surrogate as it stands; the page is tested with it.
    text = json.dumps(document).replace("\\ud800", "")
    assert faults(json.loads(text), "search_run") == []


@pytest.mark.parametrize("document", [artefact(), artefact([]), hostile()], ids=["a", "b", "c"])
def test_every_frame_has_exactly_the_declared_columns(document):
    run = searched(document)
    for name, (_, declared) in SEARCH_FRAMES.items():
        expected = [c.name for c in expand(declared, run.measures, of="measure")]
        assert list(run.frame(name).columns) == expected
        assert len(expected) == len(set(expected))
        assert all(c.meaning for c in declared)
    with pytest.raises(KeyError):
        run.frame("document")


def test_frames_of_a_search_run_are_copies_and_assignment_is_refused():
    run = searched(artefact(delta=delta(), backlog=BACKLOG))
    for name in SEARCH_FRAMES:
        before = run.frame(name)
        frame = run.frame(name)
        frame.loc[:, frame.columns[0]] = "planted"
        frame.pop(frame.columns[-1])
        assert run.frame(name).equals(before)
        if hasattr(run, name):
            with pytest.raises(AttributeError, match=rf"SearchRun\.{name} cannot be assigned"):
                setattr(run, name, frame)
    with pytest.raises(AttributeError, match="the part of the queries that pass"):
        run.stored = None


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


def test_rankings_hold_every_document_in_order():
    rankings = searched(artefact([query("a", [("x", None), ("y", 2)])])).rankings
    assert rankings["doc"].tolist() == ["x", "y"]
    assert rankings["rank"].tolist() == [1, 2]
    assert rankings["grade"].isna().tolist() == [True, False]


def test_the_first_relevant_document_has_grade_one_or_more():
    run = searched(artefact([query("a", [("x", 0), ("y", None), ("z", 1), ("w", 2)])]))
    assert run.queries["first_relevant"].tolist() == [3]
    assert run.queries["first_document"].tolist() == ["x"]


def test_the_gold_set_adds_what_was_not_retrieved():
    document = artefact([query("a", [("x", 1), ("y", 0)])])
    without = searched(document).relevant
    assert without["doc"].tolist() == ["x"]
    run = searched(document, gold=gold_of(document, {"missed": 2, "judged": 0}))
    assert run.relevant["doc"].tolist() == ["x", "missed"]
    assert run.relevant["rank"].isna().tolist() == [False, True]
    assert run.queries["n_relevant"].tolist() == [2]


def test_the_change_has_a_row_for_the_whole_and_for_each_part():
    frame = searched(artefact(delta=delta())).delta
    assert list(dict.fromkeys(frame["level"])) == ["all", "docs", "notes"]
    assert len(frame) == 3 * len(MEASURES)
    whole = frame[(frame["dimension"] == "all") & (frame["measure"] == "P@5")].iloc[0]
    assert (whole["delta_points"], whole["ci_low_points"], whole["n_pairs"]) == (1.0, -2.0, 12)
    assert searched(artefact()).delta.empty


def test_contributions_arrive_unchanged():
    frame = searched(artefact(delta=delta())).contributions
    assert frame.to_numpy().tolist() == [["q01", "P@5", 1.5], ["q02", "P@5", -0.5]]


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


def test_a_named_baseline_is_compared_with_query_by_query(tmp_path):
    before = shortened(artefact(label="before", generated_at="2026-01-05T10:00:00Z"))
    asked = ordinary()
    asked[3]["metrics"] = {**asked[3]["metrics"], "P@5": 0.46 + 0.24}
    after = shortened(artefact(asked))
    path = write(tmp_path, after)
    run = load_search(path, baseline=write(tmp_path, before, "b.json"))
    row = run.contributions.set_index("id").loc["q03"]
    assert row["points"] == pytest.approx(100 * 0.24 / 12)
    assert run.stored.delta.baseline.label == "before"


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


def test_the_baseline_of_the_guard_is_read_where_the_runs_lie_elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path / "results", artefact(delta=delta()))
    same = artefact(label="before", generated_at="2026-01-05T10:00:00Z")
    write(tmp_path / "data" / "eval", same, "baseline.json")
    assert load_search(path).baseline.label == "before"
    # The one beside the run is another run's: it hides nothing.
    write(tmp_path / "results", {**same, "label": "another"}, "baseline.json")
    assert load_search(path).baseline.label == "before"
    write(tmp_path / "data" / "eval", {**same, "label": "another"}, "baseline.json")
    assert load_search(path).baseline is None


def test_a_gold_set_that_was_not_asked_is_left_out_and_said(tmp_path):
    gold = tmp_path / "gold.jsonl"
    gold.write_text('{"query": "x", "corpus": "docs", "source": "chair", "relevant": {"a": 1}}\n')
    run = load_search(write(tmp_path, artefact()), gold=gold)
    assert run.gold is None
    assert "is not the one that was asked (abababababab)" in run.gold_problem
    gold.write_text("{half\n")
    with pytest.raises(BadInputError, match="line 1"):
        load_search(write(tmp_path, artefact()), gold=gold)


def test_a_counted_backlog_is_read_back_and_checked(tmp_path):
    assert load_backlog(str(write(tmp_path, BACKLOG, "b.json"))) == BACKLOG
    for wrong, message in (
        ({**BACKLOG, "total": 12}, "do not sum"),
        ({**BACKLOG, "approved": "5"}, "/approved: expected a count"),
        ({**BACKLOG, "rejected": -1}, "/rejected: expected a count"),
        ([], "/pending_review: expected a count"),
    ):
        with pytest.raises(BadInputError, match=message):
            load_backlog(str(write(tmp_path, wrong, "b.json")))
    (tmp_path / "b.json").write_text("{")
    with pytest.raises(BadInputError, match=r"b\.json"):
        load_backlog(str(tmp_path / "b.json"))


def test_a_backlog_of_items_is_counted(tmp_path):
    items = tmp_path / "items.jsonl"
    rows = [{"review_status": s, "created_at": None} for s in ("pending_review", "approved")]
    items.write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = load_search(write(tmp_path, artefact(backlog=BACKLOG)), backlog=str(items))
    assert (run.backlog["pending_review"], run.backlog["total"]) == (1, 2)
    assert load_search(write(tmp_path, artefact(backlog=BACKLOG))).backlog == BACKLOG
