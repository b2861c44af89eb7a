"""How a run and a comparison show themselves: integrity, answer box, tables of metrics."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

import retrieval_eval as rev
from retrieval_eval.agents.study import Comparison
from retrieval_eval.agents.study.verdict import is_fragile
from retrieval_eval.report import Run, displays, words
from retrieval_eval.report.exhibits import Table
from retrieval_eval.report.table import estimates as tables
from tests.factories import BASELINE, MCP, write_run
from tests.report.made import arm, comparison, ledger
from tests.studies import study


@pytest.fixture(scope="module")
def stored(made_run):
    """The invented comparison that a made run holds, with every metric."""
    return made_run.impact.comparisons[0]


def study_of(record) -> Comparison:
    return Comparison(record.baseline_config, record.comparison_config, record)


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


def test_metrics_that_cannot_discriminate_leave_the_headline_by_name(tmp_path):
    table = headline(
        tmp_path,
        ("mrr", "saturated", None),
        ("ndcg@10", "redundant", "file_recall"),
        ("context_efficiency", "constant", None),
    )
    assert [row[0] for row in table.rows] == [
        "File recall",
        "Time to first relevant (s)",
        "Read overlap",
    ]
    assert table.notes[-1] == (
        "Left out, unable to tell the two apart: MRR (saturated), nDCG@10 (repeats File recall), "
        "Context efficiency (constant)."
    )


def test_the_verdict_s_metric_never_leaves_the_headline(tmp_path):
    table = headline(tmp_path, ("file_recall", "saturated", None))
    assert table.rows[0][0] == "File recall"


def test_a_time_is_led_by_restricted_means_and_says_on_how_many_tasks_it_never_hit(stored):
    time = replace(
        stored.metrics["ttfr_seconds"],
        headline="restricted_mean",
        n_never_baseline=6,
        n_never_comparison=0,
        mean_baseline=80.0,
        mean_comparison=50.0,
        estimate=-30.0,
        ci_low=-45.0,
        ci_high=-14.0,
        n_pairs=12,
        until=200.0,
    )
    metrics = {"file_recall": stored.metrics["file_recall"], "ttfr_seconds": time}
    record = replace(stored, metrics=metrics)
    table = table_of(rev.table.estimates(study_of(record).estimates))
    place = [row[0] for row in table.rows].index("Time to first relevant (s)")
    first = displays.headline(record).rows
    assert table.rows[place] in first
    assert not any("never found" in row[0] for row in first)
    assert table.rows[place][1:6] == ("−30.0 s", "[−45.0, −14.0]", "12", "80.0", "50.0")
    assert table.rows[place + 1] == (
        "Time to first relevant: never found (tasks)",
        *("", "", "", "6 of 12", "0 of 12", ""),
    )
    assert tables.TIMES.format(metrics="Time to first relevant within 200.0 s") in table.notes


def test_a_cost_is_led_by_its_ratio_and_has_a_row_for_the_total_bill(stored):
    cost = replace(
        stored.metrics["cost_usd"],
        headline="ratio",
        estimate=1.27,
        ci_low=1.1,
        ci_high=1.46,
        mean_difference=0.5,
        bill_low=0.1,
        bill_high=1.5,
    )
    record = replace(stored, metrics={"cost_usd": cost})
    shown = table_of(rev.table.estimates(study_of(record).estimates))
    assert shown.rows[0][:4] == ("Cost (USD)", "×1.27", "[1.10, 1.46]", "12")
    assert shown.rows[1] == (
        "Cost: total bill (USD a task)",
        *("+0.50 USD", "[+0.10, +1.50]", "12", "", "", ""),
    )
    assert tables.RATIOS in shown.notes
    assert tables.FEW_FOR_TAILS in shown.notes


def test_an_adjusted_metric_that_missing_values_could_overturn_is_called_fragile(stored):
    comparison = stored
    gaps = {"bound_low": -0.1, "bound_high": 0.3, "n_lacking_comparison": 16}
    recall = replace(
        comparison.metrics["file_recall"], mean_difference=0.1, estimate=0.1, p_holm=0.01, **gaps
    )
    note = displays.headline(replace(comparison, metrics={"file_recall": recall})).notes[-1]
    assert note.endswith("better file recall (fragile).")
    assert not is_fragile(replace(recall, bound_low=0.01))
    assert not is_fragile(replace(recall, bound_low=1e-8))
    assert is_fragile(replace(recall, bound_low=1e-17))
    assert is_fragile(replace(recall, mean_difference=-0.1))


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


def test_the_ledger_of_a_comparison_reads_from_all_trials_to_those_used():
    one = arm(10, {"model_differs": 2}, {}, 8, outcomes_only={"no_ground_truth": 1})
    other = arm(9, {"degraded_trace": 1}, {"no valid trial in the other arm": 1}, 7)
    rows = study_of(replace(comparison(), ledger=ledger(one, other))).ledger
    assert list(dict.fromkeys(rows["label"])) == [
        "All trials",
        "− removed: another model",
        "− removed: degraded trace",
        "− not matched: no valid trial in the other arm",
        "= used in pairs",
        "of these for outcomes only: no ground truth",
    ]


def test_a_wrong_metric_in_a_frame_of_estimates_is_no_crash():
    found = rev.compare(study(8), "baseline", "mcp").estimates
    assert not table_of(rev.table.estimates(found, ["file_recall"])).notes
    assert rev.table.estimates(found.iloc[:0]).nothing == "No metric is compared."
    with pytest.raises(rev.BadInputError, match="no metric 'rewrd'; it has reward"):
        rev.table.estimates(found, ["rewrd"])
    with pytest.raises(rev.BadInputError, match="no column 'metric'"):
        rev.table.estimates(found.drop(columns="metric"))
