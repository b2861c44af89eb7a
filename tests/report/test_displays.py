"""How a run and a comparison show themselves: integrity, answer box, tables of metrics."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

import retrieval_eval as rev
from retrieval_eval.report import Run, displays, words
from retrieval_eval.report.exhibits import Table
from tests.factories import BASELINE, MCP, write_run
from tests.report.made import arm, comparison, ledger
from tests.studies import study


def table_of(exhibit) -> Table:
    (table,) = exhibit.block().exhibits
    assert isinstance(table, Table)
    return table


def states_of(*states: tuple[str, str, str | None]) -> dict:
    return {
        "discrimination": [
            {"metric": m, "status": status, "detail": "d", "with": like}
            for m, status, like in states
        ]
    }


def headline(tmp_path, *states: tuple[str, str, str | None]) -> Table:
    run = Run([write_run(tmp_path, changes=states_of(*states))])
    return displays.headline(run.impact.comparisons[0])


def test_the_verdict_s_metric_never_leaves_the_headline(tmp_path):
    table = headline(tmp_path, ("file_recall", "saturated", None))
    assert table.rows[0][0] == "File recall"


def test_run_integrity_adds_up_and_counts_what_is_wrong(tmp_path):
    left = {"path": "p", "config_name": BASELINE, "reason": "link", "detail": None}
    folder = write_run(tmp_path, n_without_trace=2, n_without_ground_truth=1, excluded=(left,))
    run = Run([folder])
    table = displays.integrity(run)
    assert [row[0] for row in table.rows] == [BASELINE, MCP, "All"]
    counts = {
        name: tuple(int(row[column]) for row in table.rows)
        for column, name in enumerate(table.header)
        if column
    }
    assert counts["Found"] == (13, 12, 25)
    assert counts["Measured"] == (9, 9, 18)
    for found, *parts in zip(
        *(counts[name] for name in ("Found", "Left out", "Not measured", "Measured")), strict=True
    ):
        assert found == sum(parts)
    assert counts["Incomplete trace"] == (2, 2, 4)
    assert dict(displays.run_header(run).badges)["Suites"] == "suite_a, suite_b"


def test_the_answer_of_a_failed_gate_shows_the_failed_rules_and_no_means(withheld_run):
    box = displays.answer_box(withheld_run.study)
    assert box.finding == f"No verdict: {BASELINE} and {MCP} cannot be compared"
    why = (
        f"12 of 12 trials of {MCP} made no successful call of a required tool. A difference between"
    )
    assert box.sentences[0].startswith(why)
    (table,) = box.exhibits
    assert [row[0] for row in table.rows] == ["Required tool not used"]
    assert dict(box.badges)["Completeness"].endswith("their comparison withheld")


def test_a_ledger_that_does_not_add_up_is_named():
    good = arm(10, {"model_differs": 2}, {"no valid trial in the other arm": 1}, 7)
    assert words.is_balanced(good)
    bad = replace(comparison(), ledger=ledger(good, replace(good, used=8)))
    assert "do not add up" in words.pairs_formed(bad)
    one = replace(good, outcomes_only={"no_ground_truth": 1})
    assert words.is_balanced(one)
    assert not words.is_balanced(replace(one, outcomes_only={"no_ground_truth": 9}))


def test_a_wrong_metric_in_a_frame_of_estimates_is_no_crash():
    found = rev.compare(study(8), "baseline", "mcp").estimates
    assert not table_of(rev.table.estimates(found, ["file_recall"])).notes
    assert rev.table.estimates(found.iloc[:0]).nothing == "No metric is compared."
    with pytest.raises(rev.BadInputError, match="no metric 'rewrd'; it has reward"):
        rev.table.estimates(found, ["rewrd"])
    with pytest.raises(rev.BadInputError, match="no column 'metric'"):
        rev.table.estimates(found.drop(columns="metric"))
