"""The run report as its notebooks show it: every case of a run, and every frame behind it."""

from __future__ import annotations

import re

import pytest

import retrieval_eval as rev
from retrieval_eval.report import Run, words
from retrieval_eval.report.exhibits import Link
from retrieval_eval.report.loading import load_run
from tests.factories import BASELINE, MCP, write_run
from tests.runs import write_task, write_trial

SIGNED = re.compile(r"[+−]\d")
DIFFERENCES = (
    "Paired comparison",
    "Shares and rewards side by side",
    "Cost, time and tokens side by side",
    "More tasks or more repeats?",
    "Every metric",
    "How sure each difference is",
    "Views: what counts as retrieved",
    "Metrics that discriminate",
    "Slices",
    "Differences with differences",
    "Largest differences",
)
WITHHELD = "No verdict: the configurations cannot be compared"


def strips(run: Run) -> dict[str, int]:
    """Return the number of events that the strip of each config shows."""
    drawn = rev.plot.timeline(run.one_task(*words.example(run.study)))
    return run.one_task(*words.example(run.study))["config_name"].value_counts().to_dict() | (
        {} if drawn.ax is not None else {"nothing": 0}
    )


def test_where_no_verdict_is_possible_no_cell_gives_a_difference(shown, withheld_run, made_run):
    withheld, made = shown(withheld_run), shown(made_run)
    for name in DIFFERENCES:
        assert not SIGNED.search(withheld[name]), name
        assert "A difference could come from that, so it is withheld." in withheld[name]
        assert "withheld" not in made[name]
    assert words.DESCRIBES in withheld["Retrieval quality"]
    assert words.DESCRIBES in withheld["Time to first relevant file"]
    assert WITHHELD in withheld["In numbers"]
    assert "0 of 12 trials" not in withheld["Retrieval quality"]
    assert "Median file recall" in withheld["File recall"]
    assert SIGNED.search(made["Paired comparison"])


def test_one_task_shows_one_trial_a_config_also_where_runs_share_names(tmp_path):
    first = write_run(tmp_path, run_id="first", n_events=8)
    second = write_run(tmp_path, run_id="second", n_events=8)
    assert strips(Run([first])) == {BASELINE: 8, MCP: 8}
    assert strips(Run([first, second])) == {BASELINE: 8, MCP: 8}


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
    assert strips(batches) == {"base": 2}
    trial = batches.trial("task-one")
    assert rev.plot.timeline(trial.events).finding == "First hit: step 1 of 2 events with base"
    assert rev.table.show(trial.ground_truth).finding == "1 ground-truth file: 1 read"
    second = batches.trial("task-one", batch="2026-01-06__10-00-00")
    assert rev.plot.timeline(second.events).finding == "First hit: step 2 of 3 events with base"
    assert len(set(batches.trial_folders)) == 2


def test_files_of_tasks_of_the_same_name_in_two_suites_are_counted_apart(tmp_path):
    folder = write_run(tmp_path, task_names=("same", "same"), n_tasks=2, configs=(BASELINE,))
    found = Run([folder]).missed
    # Ten files in each of the two tasks, each with one trial.
    assert words.most_missed(found).endswith(" of 20 ground-truth files missed by every trial")
    assert set(found["n_trials"]) == {1}


def test_errors_and_utilization_have_their_denominators(made_run):
    errors = made_run.errors
    assert len(errors) == 24 * 5
    assert set(errors["denominator"]) == {10}
    missed = errors[errors["mode"] == "missed_key_evidence"]
    assert words.shares("Missed", missed, "count", "denominator").startswith("Missed: 30 % with ")
    used = made_run.utilization.groupby(["trial_name", "config_name"])["n_files"].sum()
    assert set(used) == {10}
    assert made_run.tools["n_events"].sum() == len(made_run.events)


def test_a_broken_file_of_the_outcome_is_no_incomplete_trace(tmp_path):
    write_task(tmp_path / "benchmarks", "task-one", ["src/a.py"])
    for config in (BASELINE, "cut", "whole"):
        folder = write_trial(tmp_path / "runs" / "r", config, "task-one", ["src/a.py"])
        if config == BASELINE:
            (folder / "task_metrics.json").write_text("[")
        elif config == "cut":
            trace = folder / "agent" / "claude-code.txt"
            trace.write_text(trace.read_text().rstrip()[:-9])
    run = load_run(
        "r",
        runs_root=tmp_path / "runs",
        benchmarks_root=tmp_path / "benchmarks",
        output_dir=tmp_path / "out",
    )
    assert dict(zip(run.trials["config_name"], run.trials["state"], strict=True)) == {
        "whole": "scored",
        BASELINE: "scored, a file of its outcome unreadable",
        "cut": "scored, from an incomplete trace",
    }


def test_tasks_lead_to_the_pages_of_their_trials_where_there_are_some(tmp_path):
    run = Run([write_run(tmp_path, n_tasks=3)], trial_pages_at="trials")
    shown = rev.table.tasks(run.trials, ["file_recall"], run.configs).block().exhibits[0]
    pages = {(t.task_name, t.config_name): t.page for t in run.trials.itertuples()}
    for task, _, recall in shown.rows:
        sides = [part.href for part in recall.parts if isinstance(part, Link)]
        assert sides == [pages[task, config] for config in run.configs]
        assert task.href == sides[0]
        assert task.href.startswith("trials/")
    assert "the values of file recall to one of each configuration" in shown.notes[0]
