"""What a reader sees of a comparison's validity: gate, ledger, views, metrics that tell nothing."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from retrieval_eval.report import Report, Run, findings, load_run, tables, tables_validity
from retrieval_eval.report.comparison import is_balanced, is_fragile
from retrieval_eval.report.exhibits import Block, Empty, Figure, Table
from retrieval_eval.report.run_view import RunView
from retrieval_eval.report.sections import DESCRIBES
from retrieval_eval.report.show import to_plain
from tests.factories import BASELINE, MCP, rule, write_run
from tests.report.made import arm, gate, ledger
from tests.report.made import rule as rule_of
from tests.runs import write_task, write_trial

SIGNED = re.compile(r"[+−]\d")
DIFFERENCES = (
    "answer",
    "paired",
    "by_suite",
    "every_metric",
    "every_pair",
    "views",
    "slices",
    "difference_associations",
    "cost",
    "largest_differences",
    "all_tasks",
)
DESCRIPTIONS = (
    *("recall", "cutoffs", "means", "time_to_first", "utilized", "error_modes"),
    *("one_task", "all_tasks"),
)


def shown(block: Block) -> str:
    """Return every word and cell a block shows."""
    tables = [e.data if isinstance(e, Figure) else e for e in block.exhibits]
    cells = [
        " ".join((*table.header, *(" ".join(row) for row in table.rows), *table.notes))
        for table in tables
        if isinstance(table, Table)
    ]
    return " ".join((to_plain(block), *cells))


@pytest.fixture(scope="module")
def report(made_run) -> Report:
    return Report(made_run)


@pytest.fixture(scope="module")
def withheld(withheld_run) -> Report:
    return Report(withheld_run)


@pytest.mark.parametrize("section", DIFFERENCES)
def test_no_section_gives_a_difference_of_arms_that_failed(section, withheld, report):
    assert not SIGNED.search(shown(getattr(withheld, section)()))
    assert SIGNED.search(shown(getattr(report, section)())), "the same section gives it otherwise"


@pytest.mark.parametrize("section", DESCRIPTIONS)
def test_sections_on_single_arms_say_that_they_compare_nothing(section, withheld, report):
    assert DESCRIBES in getattr(withheld, section)().sentences
    assert DESCRIBES not in getattr(report, section)().sentences


def test_the_first_screen_of_a_failed_gate_shows_the_failed_rules_and_no_means(withheld):
    block = withheld.answer()
    assert block.finding == f"No verdict: {BASELINE} and {MCP} cannot be compared"
    assert block.sentences[0] == f"12 of 13 trials of {MCP} made no MCP call that succeeded."
    (table,) = block.exhibits
    assert table.rows == (
        ("Dead MCP server", "what dead_mcp_server means", "12", "12", "0.10", "failed"),
    )


def test_completeness_does_not_say_that_withheld_tasks_are_analysed(withheld, report):
    assert dict(withheld.header().badges)["Completeness"] == withheld.coverage().finding
    assert withheld.coverage().finding == "12 of 12 tasks matched, their comparison withheld"
    assert report.coverage().finding == "12 of 12 tasks enter the paired analysis"


def test_the_gate_lists_every_rule_and_the_trials_it_found(report):
    block = report.gate()
    assert block.finding == "The arms may be compared: 1 rule passed, 2 trials removed"
    rules, trials = block.exhibits
    assert rules.rows == (
        ("Degraded trace", "what degraded_trace means", "2", "2", "0.10", "passed"),
    )
    assert [row[:3] for row in trials.rows] == [
        ("Degraded trace", BASELINE, "task-000"),
        ("Degraded trace", MCP, "task-001"),
    ]


def test_many_found_trials_are_cut_and_the_rest_is_named(tmp_path):
    found = rule("degraded_trace", (MCP,), n=30)
    gate = {"passed": True, "failed": [], "rules": [found]}
    block = Report(Run([write_run(tmp_path, n_tasks=3, changes={"gate": gate})])).gate()
    assert len(block.exhibits[1].rows) == tables_validity.MAX_FOUND
    assert block.exhibits[1].notes == ("10 further rows in gate.csv.",)


def test_the_ledger_starts_with_all_trials_and_ends_with_those_used(report):
    (table,) = report.pair_ledger().exhibits
    assert table.rows == (
        ("All trials", "13", "13"),
        ("− removed: degraded trace", "1", "1"),
        ("= used in pairs", "12", "12"),
    )
    assert table.notes == ("They form 12 matched tasks; repeats are averaged.",)


def test_a_ledger_that_does_not_add_up_says_so(made_run):
    comparison = made_run.comparison
    good = arm(10, {"model_differs": 2}, {"no valid trial in the other arm": 1}, 7)
    assert is_balanced(good)
    bad = replace(comparison, ledger=ledger(good, replace(good, used=8)))
    notes = tables_validity.ledger_table(bad).notes
    assert "do not add up" in notes[1]
    whole = replace(comparison, ledger=ledger(good, good))
    assert len(tables_validity.ledger_table(whole).notes) == 1


def test_views_mark_the_cells_that_turn(tmp_path):
    flips = [
        {
            "metric": "mrr",
            "view": "opened",
            "kind": "sign",
            "default": 0.1,
            "there": -0.1,
            "sentence": "s",
        }
    ]
    block = Report(Run([write_run(tmp_path, n_tasks=7, changes={"flips": flips})])).views()
    assert block.finding == "1 conclusion depends on what counts as retrieved"
    (table,) = block.exhibits
    assert table.header == ("Metric", "accessed", "opened", "structured", "listing discounted")
    marked = {
        (row[0], i) for row in table.rows for i, c in enumerate(row) if c.endswith("(changes)")
    }
    assert marked == {("MRR", 2)}
    assert table.rows[-1] == ("Conclusion on file recall", *["better"] * 4)


def states_of(*states: tuple[str, str, str | None]) -> dict:
    return {
        "discrimination": [
            {"metric": m, "status": status, "detail": "d", "with": like}
            for m, status, like in states
        ]
    }


def headline(tmp_path, *states: tuple[str, str, str | None]) -> Table:
    run = Run([write_run(tmp_path, changes=states_of(*states))])
    return tables.headline(run.comparison)


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
    assert table.notes[1] == (
        "Left out, unable to tell the two apart: MRR (saturated), nDCG@10 (repeats File recall), "
        "Context efficiency (constant)."
    )


def test_a_metric_leaves_as_redundant_only_when_the_one_it_repeats_stays(tmp_path):
    table = headline(tmp_path, ("mrr", "saturated", None), ("ndcg@10", "redundant", "mrr"))
    assert "nDCG@10" in [row[0] for row in table.rows]


def test_the_verdict_s_metric_never_leaves_the_headline(tmp_path):
    table = headline(tmp_path, ("file_recall", "saturated", None))
    assert table.rows[0][0] == "File recall"


def test_the_headline_says_what_stands_after_adjustment_and_on_which_side(report):
    # The made run has p (Holm) 0.04 where more is better and 0.3 elsewhere.
    note = tables.headline(report.run.comparison).notes[2]
    assert note.startswith(
        "Adjusted for 11 metrics (Holm), p stays below 0.05 only for File recall"
    )
    assert "File recall (better)" in note
    assert "Cost" not in note


def test_the_headline_says_how_many_groups_its_p_rests_on(report):
    # Twelve tasks in two suites: the signs of two groups allow p = 1/2 and 1 only.
    comparison = report.run.comparison
    assert tables.headline(comparison).notes[1] == (
        "Tasks that share a suite are resampled together: 12 tasks in 2 groups, so that p is at "
        "least 0.500."
    )
    many = replace(comparison.metrics["file_recall"], n_clusters=12, cluster_by="repository")
    note = tables.headline(replace(comparison, metrics={"file_recall": many})).notes[1]
    assert note.endswith("12 tasks in 12 groups.")
    alone = replace(many, n_clusters=None, cluster_by=None)
    notes = tables.headline(replace(comparison, metrics={"file_recall": alone})).notes
    assert not any("resampled" in note for note in notes)


def test_the_headline_says_what_few_groups_and_one_group_mean(report):
    comparison = report.run.comparison
    recall = comparison.metrics["file_recall"]
    few = replace(recall, n_clusters=5, cluster_by="repository", averaged_over="clusters")
    note = tables.headline(replace(comparison, metrics={"file_recall": few})).notes[1]
    assert note == (
        "12 tasks in 5 groups by repository: the means, difference and interval are those of the "
        "repository means (t with 4 degrees of freedom), each counting the same."
    )
    one = replace(recall, n_clusters=1, cluster_by="repository")
    note = tables.headline(replace(comparison, metrics={"file_recall": one})).notes[1]
    assert (
        note == "All 12 tasks are of one repository, so the result is about this repository only."
    )


def test_a_time_in_the_headline_has_its_share_without_a_hit(report):
    comparison = report.run.comparison
    time = replace(
        comparison.metrics["ttfr_seconds"],
        n_never_baseline=6,
        n_watched_baseline=12,
        n_never_comparison=0,
        n_watched_comparison=12,
        ci_low=None,
        ci_high=None,
        p_holm=None,
        ci_reason="never_hit_differs",
    )
    metrics = {**comparison.metrics, "ttfr_seconds": time}
    table = tables.headline(replace(comparison, metrics=metrics))
    (row,) = [row for row in table.rows if row[0] == "Time to first relevant (s)"]
    assert row[4] == "never: 6 | 0 of 12"
    uneven = replace(time, n_watched_baseline=11, ci_low=-9.0, ci_high=-1.0)
    uneven = replace(comparison, metrics={**metrics, "ttfr_seconds": uneven})
    (row,) = [r for r in tables.headline(uneven).rows if r[0] == "Time to first relevant (s)"]
    assert row[4] == "[−9.0, −1.0], never: 6 of 11 | 0 of 12"
    whole = tables.differences(replace(comparison, metrics=metrics), ["ttfr_seconds"])
    assert whole.rows[1] == (tables.NEVER, "6 of 12", "0 of 12", "", "", "", "")
    assert tables.TIMES in whole.notes
    assert tables.UNTIMED.format(metrics="Time to first relevant") in whole.notes
    assert not any("Time to first relevant (better)" in note for note in table.notes)


def test_an_adjusted_metric_that_missing_values_could_overturn_is_called_fragile(report):
    comparison = report.run.comparison
    gaps = {"bound_low": -0.1, "bound_high": 0.3, "n_lacking_comparison": 16}
    recall = replace(comparison.metrics["file_recall"], mean_difference=0.1, p_holm=0.01, **gaps)
    note = tables.headline(replace(comparison, metrics={"file_recall": recall})).notes[-1]
    assert note.endswith("only for File recall (better, fragile).")
    assert not is_fragile(replace(recall, bound_low=0.01))
    assert is_fragile(replace(recall, mean_difference=-0.1))


def test_valid_trials_without_a_partner_are_counted_beside_the_rules():
    assert findings.gate(0, 12, 0, 16) == (
        "The arms may be compared: 12 rules passed, no trial removed, 16 without a partner"
    )


def test_use_of_mcp_is_counted_in_the_ledger(made_run):
    control, user = (arm(12, {}, {}, 12, ran=12, mcp_answered=n) for n in (0, 1))
    user = replace(user, mcp_called=12)
    table = tables_validity.ledger_table(replace(made_run.comparison, ledger=ledger(control, user)))
    assert table.rows[-1] == ("of all that ran, an MCP server answered in", "0 of 12", "1 of 12")


def test_tasks_without_ground_truth_are_in_the_ledger_as_part_of_those_used(made_run):
    one = arm(10, {"model_differs": 2}, {}, 8, outcomes_only={"no_ground_truth": 1})
    assert is_balanced(one)
    table = tables_validity.ledger_table(replace(made_run.comparison, ledger=ledger(one, one)))
    assert table.rows[-2:] == (
        ("= used in pairs", "8", "8"),
        ("of these for outcomes only: no ground truth", "1", "1"),
    )
    assert not is_balanced(replace(one, outcomes_only={"no_ground_truth": 9}))


def test_a_worse_metric_is_not_listed_as_if_it_were_better(report):
    cost = replace(report.run.comparison.metrics["cost_usd"], mean_difference=0.1, p_holm=0.01)
    metrics = {"cost_usd": cost}
    (note,) = tables.headline(replace(report.run.comparison, metrics=metrics)).notes[1:]
    assert note.endswith("only for Cost (worse).")


def test_discrimination_is_worded_for_every_state(tmp_path):
    states = (
        ("file_recall", "discriminates", None),
        ("mrr", "redundant", "file_recall"),
        ("reward", "constant", None),
    )
    block = Report(Run([write_run(tmp_path, changes=states_of(*states))])).discrimination()
    assert block.finding == "2 of 3 metrics cannot tell the configurations apart"
    assert [row[1] for row in block.exhibits[0].rows] == [
        "can discriminate",
        "cannot discriminate: redundant with File recall",
        "cannot discriminate: constant",
    ]


def test_every_pair_has_its_verdict_and_withheld_ones_no_number(tmp_path):
    names = ("base", "cli", "mcp")
    run = Run([write_run(tmp_path, configs=names)])
    first, *others = run.comparisons
    failed = replace(first, verdict="no_verdict", gate=gate(rule_of("model_differs")))
    spoiled = Run(run.folders, impact=replace(run.impact, comparisons=(failed, *others)))
    block = Report(spoiled).every_pair()
    assert block.finding == "2 pairs of configurations: 1 no verdict, 1 better"
    first, second = block.exhibits[0].rows
    assert first[:3] == ("base", "cli", "no verdict")
    assert first[-3:] == ("withheld", "withheld", "failed: another model")
    assert second[2] == "better"
    assert second[-1] == "passed"


def test_a_pooled_sign_that_turns_is_told_in_words_with_its_groups(made_run):
    associations = tuple(
        replace(
            a,
            spearman_r=0.5 if a.scope == "config" else -0.4,
            sign_change=a.scope == "pooled",
        )
        for a in made_run.impact.associations
    )
    run = Run(made_run.folders, impact=replace(made_run.impact, associations=associations))
    block = Report(run).associations()
    assert block.finding.startswith("0 of 2 pooled associations stand out")
    assert block.finding.endswith("2 change sign within groups")
    assert block.sentences[0].startswith(
        f"Sign change: File recall ~ reward is −0.40 pooled, but +0.50 within {BASELINE} (n = 24), "
        f"+0.50 within {MCP} (n = 24)."
    )
    assert len(block.sentences) == 3
    assert block.sentences[-1].startswith("A pooled value whose sign changes mixes groups")
    table = block.exhibits[1]
    assert table.rows[0] == (
        "File recall ~ reward",
        "−0.40 [+0.10, +0.60]",
        "+0.50",
        "+0.50",
        "—",
        "yes",
    )
    assert "2 pooled associations change sign" in " ".join(Report(run).answer().sentences)


def test_few_pairs_show_the_way_to_them_and_no_means(tmp_path):
    block = Report(Run([write_run(tmp_path, n_tasks=2)])).answer()
    assert block.finding == "Too few matched tasks for a verdict: 2"
    assert block.exhibits[0].rows[0][0] == "All trials"


def test_the_runs_section_counts_trials_and_tasks(report):
    (table,) = report.runs().exhibits
    assert table.rows == (
        ("made", BASELINE, "12", "12", "model-one", "claude-code"),
        ("made", MCP, "12", "12", "model-one", "claude-code"),
    )


def test_of_several_pairs_the_header_says_which_one_the_answer_is_about(tmp_path, report):
    run = Run([write_run(tmp_path, configs=("base", "cli", "mcp"))])
    assert (
        "Answer on",
        "cli against base, one of 2 pairs; the others under Paired comparison",
    ) in (Report(run).header().badges)
    assert "Answer on" not in dict(report.header().badges)


def test_pairs_too_few_for_a_statistic_are_not_called_withheld(tmp_path):
    (table,) = Report(Run([write_run(tmp_path, n_tasks=2)])).every_pair().exhibits
    assert table.rows[0][2:] == ("too few pairs", "File recall", "2", "—", "—", "passed")


def test_metrics_without_enough_values_are_not_said_to_discriminate(tmp_path):
    states = [("file_recall", "not_computable", None), ("mrr", "not_computable", None)]
    block = Report(Run([write_run(tmp_path, changes=states_of(*states))])).discrimination()
    assert block.finding == "Too few values to say which metrics can tell the configurations apart"


def test_differences_without_enough_pairs_are_one_sentence(tmp_path):
    block = Report(Run([write_run(tmp_path, n_tasks=2)])).difference_associations()
    assert isinstance(block.exhibits[0], Empty)
    assert "fewer values than the statistic needs" in block.exhibits[0].sentence


def test_tasks_that_both_configs_scored_and_no_pair_holds_are_not_comparable(tmp_path):
    changes = {"pairs": []}
    statuses = RunView(Run([write_run(tmp_path, n_tasks=7, changes=changes)])).statuses()
    assert {fate: n for fate, n in statuses.items() if n} == {"scored in both, not comparable": 7}


def test_a_broken_file_of_the_outcome_is_no_incomplete_trace(tmp_path):
    write_task(tmp_path / "benchmarks", "task-one", ["src/a.py"])
    for config in (BASELINE, "cut", "whole"):
        folder = write_trial(tmp_path / "runs" / "r", config, "task-one", ["src/a.py"])
        if config == BASELINE:
            (folder / "task_metrics.json").write_text("[")
        elif config == "cut":
            trace = folder / "agent" / "claude-code.txt"
            trace.write_text("".join(trace.read_text().splitlines(keepends=True)[:-1]))
    run = load_run(
        "r",
        runs_root=tmp_path / "runs",
        benchmarks_root=tmp_path / "benchmarks",
        output_dir=tmp_path / "out",
    )
    (table,) = Report(run).trial_fates().exhibits
    configs = table.header[1:-1]
    found = {row[0]: configs[row[1:-1].index("1")] for row in table.rows[:-1]}
    assert found == {
        "scored": "whole",
        "scored, a file of its outcome unreadable": BASELINE,
        "scored, from an incomplete trace": "cut",
    }


@pytest.mark.parametrize(("n_tasks", "is_told"), [(12, True), (60, False)])
def test_intervals_of_few_costs_and_times_come_with_a_caution(tmp_path, n_tasks, is_told):
    comparison = Run([write_run(tmp_path, n_tasks=n_tasks)]).comparison
    for metric, is_endless in (("ttfr_seconds", True), ("cost_usd", True), ("reward", False)):
        table = tables.differences(comparison, ("file_recall", metric))
        assert (tables.FEW_FOR_TAILS in table.notes) == (is_told and is_endless)
