from __future__ import annotations

import json
import re

import pytest

from retrieval_eval.errors import BadInputError, SchemaError
from retrieval_eval.model import from_builtins
from retrieval_eval.model.events import EventDocument
from retrieval_eval.report import Run, columns, load_run
from retrieval_eval.report.columns import _DTYPES
from retrieval_eval.report.documents import ground_truth_rows
from tests.factories import BASELINE, MCP, write_run
from tests.report.pages import two_runs
from tests.report.search_made import artefact, delta, hostile, searched

LOADED = {
    "run": (columns.FRAMES, lambda made_run: made_run),
    "trial": (columns.TRIAL_FRAMES, lambda made_run: made_run.trial("task-003")),
    "search": (columns.SEARCH_FRAMES, lambda _: searched(artefact(delta=delta()))),
    "no search": (columns.SEARCH_FRAMES, lambda _: searched(artefact([]))),
    "hostile search": (columns.SEARCH_FRAMES, lambda _: searched(hostile())),
    "difference": (columns.DIFF_FRAMES, lambda _: two_runs()),
    "hostile difference": (columns.DIFF_FRAMES, lambda _: two_runs(hostile(), hostile())),
}


@pytest.mark.parametrize(("frames", "load"), LOADED.values(), ids=LOADED)
def test_every_frame_has_the_declared_columns_and_is_a_copy(made_run, frames, load):
    found = load(made_run)
    by = getattr(found, "k_values", None) or getattr(found, "measures", ())
    for name, (_, declared) in frames.items():
        of = "measure" if "measures" in dir(found) else "k"
        before, frame = found.frame(name), found.frame(name)
        assert list(before.columns) == [c.name for c in columns.expand(declared, by, of=of)]
        frame.iloc[:, 0] = None
        frame.pop(frame.columns[-1])
        assert found.frame(name).equals(before)
        if hasattr(found, name):
            with pytest.raises(AttributeError, match=rf"\.{name} cannot be assigned"):
                setattr(found, name, frame)
    with pytest.raises((KeyError, AttributeError)):
        found.frame("document")


def test_missing_numbers_are_missing_and_never_zero(tmp_path):
    run = Run([write_run(tmp_path, n_tasks=3, n_without_ground_truth=1)])
    unscored = run.trials[run.trials["has_ground_truth"] == False]  # noqa: E712
    assert len(unscored) == 2
    assert unscored["file_recall"].isna().all()
    assert set(unscored["reason"]) == {"no_ground_truth"}


def test_a_pair_requested_the_other_way_round_has_every_sign_changed(tmp_path):
    folder = write_run(tmp_path)
    plain = Run([folder]).comparison.metrics["file_recall"]
    turned = Run([folder], baseline_config=MCP, mcp_config=BASELINE)
    result = turned.comparison.metrics["file_recall"]
    assert turned.comparison.baseline_config == MCP
    assert result.mean_difference == -plain.mean_difference
    assert (result.ci_low, result.ci_high) == (-plain.ci_high, -plain.ci_low)
    assert (result.wins, result.losses) == (plain.losses, plain.wins)


def change(path, pointer, value):
    """Replace a member of the JSON file ``path``, which slash-separated keys lead to."""
    document = json.loads(path.read_text())
    *steps, last = pointer.split("/")
    place = document
    for step in steps:
        place = place[int(step)] if isinstance(place, list) else place[step]
    place[last] = value
    path.write_text(json.dumps(document))


@pytest.mark.parametrize(
    ("name", "pointer", "value"),
    [
        ("0/0000.retrieval_metrics.json", "provenance", []),
        ("0/0000.retrieval_metrics.json", "file_level_metrics/file_recall", "high"),
        ("0/0000.retrieval_metrics.json", "file_level_metrics", "x"),
        ("0/0000.retrieval_metrics.json", "error_taxonomy/slices/evidence_type", "\ud800"),
        ("0/0000.retrieval_events.json", "events", [1]),
        ("0/0000.retrieval_events.json", "ground_truth/files", [None]),
        ("run_retrieval_summary.json", "trials", {}),
        ("run_impact_analysis.json", "comparisons/0/gate", []),
        ("run_impact_analysis.json", "comparisons/0/gate", None),
        ("run_impact_analysis.json", "comparisons/0/verdict", ["better"]),
        ("run_impact_analysis.json", "comparisons/0/verdict", "unheard_of"),
        ("run_impact_analysis.json", "comparisons/0/metrics", {"file_recall": "high"}),
        ("run_impact_analysis.json", "comparisons/0/ledger", {"baseline": {"trials": None}}),
        ("run_impact_analysis.json", "comparisons/0/flips", [{}]),
        ("run_impact_analysis.json", "associations", "x"),
    ],
)
def test_a_document_that_is_not_as_declared_is_refused_with_file_and_pointer(
    tmp_path, name, pointer, value
):
    folder = write_run(tmp_path, n_tasks=4)
    change(folder / name, pointer, value)
    named = rf"{re.escape(name)}: /.*; evaluate the run "
    with pytest.raises(SchemaError, match=named) as caught:
        Run([folder]).frame("events")
    if value != "\ud800":
        assert f": /{pointer}" in str(caught.value)


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


def event_document(truth, *events):
    """Return an event document with this ground truth and these events."""
    trial = {"run_id": "r", "task_name": "t", "config_name": "c", "benchmark": "b"}
    coverage = dict.fromkeys(("has_trajectory", "has_transcript", "has_ground_truth"), True)
    base = {"tool_name": "x", "is_mcp": False, "target_files": []}
    plain = {
        "schema_version": "1.0",
        "provenance": trial,
        "coverage": coverage | {"trace_source": None, "degraded_reason": None},
        "ground_truth": truth,
        "events": [base | event for event in events],
    }
    return from_builtins(plain, EventDocument, "made.json")


def test_files_of_equal_path_are_told_apart_by_repository():
    document = event_document(
        {"files": ["package.json", "package.json"], "repositories": ["a", "b"]},
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
    )
    first, second = ground_truth_rows(document, {})
    assert (first["is_retrieved"], first["is_written"], first["first_step"]) == (False, True, None)
    assert (second["is_retrieved"], second["is_opened"], second["first_step"]) == (True, True, 4)


def test_every_column_says_what_it_is():
    for frames in (
        columns.FRAMES,
        columns.SEARCH_FRAMES,
        columns.DIFF_FRAMES,
        columns.HISTORY_FRAMES,
        columns.STUDY_FRAMES,
        columns.TRIAL_FRAMES,
    ):
        for meaning, declared in frames.values():
            assert meaning.startswith("one row a")
            assert {c.type for c in declared} <= set(_DTYPES)
            assert all(c.name and c.meaning and c.source for c in declared)
            assert len({c.name for c in declared}) == len(declared)


def test_a_seed_that_no_generator_takes_is_bad_input(tmp_path):
    with pytest.raises(BadInputError, match="the seed is -1; it must be 0 or more"):
        load_run("any", runs_root=tmp_path, seed=-1)
