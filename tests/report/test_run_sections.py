"""Sections of the run report where trials or tasks of different places share a name."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from retrieval_eval.model.impact import LetThrough
from retrieval_eval.report import Report, Run
from retrieval_eval.report.exhibits import Figure
from retrieval_eval.report.loading import load_run
from tests.factories import BASELINE, MCP, write_run
from tests.runs import write_task, write_trial


def strips(report: Report) -> dict[str, int]:
    """Return the number of events that the strip of each config shows."""
    (figure,) = report.one_task().exhibits
    assert isinstance(figure, Figure)
    labels = [row[0].split(",")[0] for row in figure.data.rows]
    return {config: labels.count(config) for config in labels}


def test_one_task_shows_one_trial_a_config_also_where_runs_share_names(tmp_path):
    first = write_run(tmp_path, run_id="first", n_events=8)
    second = write_run(tmp_path, run_id="second", n_events=8)
    assert strips(Report(Run([first]))) == {BASELINE: 8, MCP: 8}
    assert strips(Report(Run([first, second]))) == {BASELINE: 8, MCP: 8}


@pytest.fixture
def batches(tmp_path):
    """Two trials of one name in two batches: the first reads one file, the second two."""
    write_task(tmp_path / "benchmarks", "task-one", ["src/a.py"])
    for day, n in (("05", 1), ("06", 2)):
        reads = [*(f"src/x{i}.py" for i in range(n)), "src/a.py"]
        batch = f"2026-01-{day}__10-00-00"
        write_trial(tmp_path / "runs/run-1", "base", "task-one", reads, batch=batch)
    return load_run(
        "run-1",
        runs_root=tmp_path / "runs",
        benchmarks_root=tmp_path / "benchmarks",
        output_dir=tmp_path / "out",
    )


def test_batches_that_use_a_name_again_are_told_apart(batches):
    assert strips(Report(batches)) == {"base": 2}
    trial = batches.trial("task-one")
    assert trial.finding("events") == "2 events, first hit at step 1"
    assert trial.finding("ground_truth") == "1 ground-truth file: 1 read"
    second = batches.trial("task-one", batch="2026-01-06__10-00-00")
    assert second.finding("events") == "3 events, first hit at step 2"
    assert len(set(batches.trial_folders)) == 2


def test_files_of_tasks_of_the_same_name_in_two_suites_are_counted_apart(tmp_path):
    folder = write_run(tmp_path, task_names=("same", "same"), n_tasks=2, configs=(BASELINE,))
    block = Report(Run([folder])).most_missed()
    # Ten files in each of the two tasks, each with one trial.
    assert block.finding.endswith(" of 20 ground-truth files missed by every trial")
    (table,) = block.exhibits
    assert {row[2] for row in table.rows} == {"1 of 1 trials"}


def test_time_to_first_counts_tasks_as_the_analysis_does(made_run):
    # The analysis takes the first of a task's repeats, so its n is no number of trials.
    block = Report(made_run).time_to_first()
    assert block.finding.startswith("Never found a relevant file: ")
    assert " of 12 tasks with " in block.finding
    figure, table = block.exhibits
    assert isinstance(figure, Figure)
    assert figure.alt.startswith("Share of tasks")
    assert "trials" not in f"{table.caption}{table.notes}{figure.data.caption}"


def test_every_definition_has_a_direction_also_with_one_config(tmp_path):
    folder = write_run(tmp_path, n_tasks=3, configs=(BASELINE,))
    (table,) = Report(Run([folder])).definitions().exhibits
    better = {row[0]: row[2] for row in table.rows}
    assert (better["File recall"], better["MAP"]) == ("higher", "higher")
    assert better["Time to first relevant (s)"] == "lower"
    assert set(better.values()) == {"higher", "lower"}


def test_average_precision_is_defined_as_a_sum_over_the_hits(made_run):
    # AP is not divided by the number of hits: one hit at rank 1 of two relevant files gives 0.5.
    (table,) = Report(made_run).definitions().exhibits
    definition = next(row[1] for row in table.rows if row[0] == "MAP")
    assert definition == "precision at each hit, summed / ground-truth files"


WHOLE_RUN_SECTIONS = ("associations", "rewarded", "time_to_first")


def counted_in(impact, folder):
    report = Report(Run([folder], impact=impact))
    return [getattr(report, name)().sentences[-1:] for name in WHOLE_RUN_SECTIONS]


def test_sections_of_the_whole_run_say_which_trials_count(tmp_path):
    folder = write_run(tmp_path)
    impact = Run([folder]).impact
    rows = (
        LetThrough(config_name=BASELINE, n_trials=12, n_used=9, removed={"degraded_trace": 3}),
        LetThrough(config_name=MCP, n_trials=12, n_used=0, removed={"crashed_before_start": 12}),
    )
    said = (
        "Counted here: 9 of 24 trials, those that the validity gate let through; left out: crashed "
        "before the agent ran (12), degraded trace (3). No trial is left of mcp-remote-direct."
    )
    assert counted_in(replace(impact, let_through=rows), folder) == [(said,)] * 3
    rows = tuple(replace(row, n_used=12, removed={}) for row in rows)
    said = ("Counted here: all 24 trials; the validity gate let every one through.",)
    assert counted_in(replace(impact, let_through=rows), folder) == [said] * 3
    # An analysis of an earlier version does not say, and is not made to.
    assert counted_in(impact, folder) == [()] * 3
