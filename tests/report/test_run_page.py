"""The page of a run: five sections of exhibits, of any run, and every frame behind them."""

from __future__ import annotations

import re

import pandas as pd
import pytest

import retrieval_eval as rev
from retrieval_eval.report import Run, render, words
from retrieval_eval.report.exhibits import Link
from retrieval_eval.report.loading import load_run
from tests.factories import BASELINE, MCP, write_run
from tests.runs import write_task, write_trial

SECTIONS = ["Answer", "Did finding the files matter?", "Where?", "How does it fail?", "Tasks"]


def headings(html: str) -> list[str]:
    return [h.text for h in render.headings(html) if h.level == 2]


def exhibits(html: str) -> int:
    data = re.sub(r"<details>.*?</details>", "", html, flags=re.DOTALL)
    return html.count("<figure") + data.count('<div class="table')


def test_the_page_is_five_sections_of_ten_exhibits(page):
    html = page("demo").read_text(encoding="utf-8")
    assert headings(html)[:5] == SECTIONS
    assert exhibits(html) == 10
    text = re.sub(r"<(style|script)>.*?</\1>|<details>.*?</details>", "", html, flags=re.DOTALL)
    assert len(re.sub(r"<[^>]*>", " ", text).split()) < 1500


def test_the_notebook_has_few_lines_and_every_cell_shows_one_thing():
    from retrieval_eval.report import notebook_files
    from retrieval_eval.report.notebook_files import read_notebook

    cells = [
        c
        for c in read_notebook(notebook_files.notebook("run_report")).cells
        if c.cell_type == "code"
    ]
    shown = [c.source for c in cells if "parameters" not in c.metadata.get("tags", [])]
    assert sum(1 for source in shown for line in source.splitlines() if line) <= 28
    assert all(len(source.splitlines()) == 1 for source in shown[1:])


def test_where_no_verdict_is_possible_no_exhibit_gives_a_difference(withheld_run, page_of):
    html, study = page_of(withheld_run), withheld_run.study
    assert "cannot be compared" in html
    assert "Means of each configuration by itself" in html
    assert not rev.table.show(study.pairs).block().exhibits[0].sentence.startswith("There")
    assert rev.table.headline(study).data["mean"].notna().all()
    assert rev.plot.slices(study).nothing == study.why_not
    assert rev.plot.pairs(study).finding.startswith("24 trials: ")


def test_of_more_than_two_configurations_the_other_pairs_follow_one_another(tmp_path, page_of):
    run = Run([write_run(tmp_path, configs=(BASELINE, MCP, "third-mcp", "last-mcp"))])
    panes = run.other_pairs.panes
    assert len(panes) == 2
    led = {frozenset(run.study.arms)}
    pairs = {frozenset(re.findall(r"[○■] ([\w-]+)", said)) for said, _ in panes}
    assert len(pairs | led) == 3
    html = page_of(run)
    assert html.count('<details class="pane" name="switch">') == 2
    for n in (1, 2):
        assert html.count(f'id="fig-pairs-other-{n}"') == 1
    bundle = run.other_pairs._repr_mimebundle_()
    assert all(said in bundle["text/plain"] for said, _ in panes)


@pytest.fixture
def few(tmp_path):
    """Three trials of one task, one of which read nothing that was expected."""
    write_task(tmp_path / "benchmarks", "task-one", ["src/a.py", "src/b.py"])
    for config, files in (("a", ["src/a.py"]), ("b", ["src/a.py", "src/b.py"]), ("c", ["x.py"])):
        write_trial(tmp_path / "runs/r", config, "task-one", files)
    roots = {"runs_root": tmp_path / "runs", "benchmarks_root": tmp_path / "benchmarks"}
    return load_run("r", **roots, output_dir=tmp_path / "out")


def test_a_few_trials_are_shown_themselves(few, page_of):
    html = page_of(few)
    assert exhibits(html) == 2
    assert headings(html)[0] == "Answer"
    assert "3 scored trials found 3 of 6 expected files in all" in html
    cards = rev.table.cards(few.trials, few.ground_truth).block().exhibits[0]
    assert sorted(row[2:4] for row in cards.rows) == [
        ("0 of 2", "○○"),
        ("1 of 2", "●○"),
        ("2 of 2", "●●"),
    ]
    drawn = rev.plot.found(few.ground_truth)
    assert drawn.finding == "2 of 2 expected files were found by at least one trial"
    assert "<script" not in drawn.svg()


def test_the_figures_of_a_study_follow_it_and_take_no_frame(made_run):
    study, trials = made_run.study, made_run.trials
    part = rev.compare(trials[trials["task_name"] != trials["task_name"].iloc[0]])
    for name in ("pairs", "slices"):
        whole, cut = (getattr(rev.plot, name)(s) for s in (study, part))
        assert whole.finding != cut.finding or whole.data.shape != cut.data.shape
        assert whole.svg().startswith("<svg")
        with pytest.raises(rev.BadInputError, match="shows what compare"):
            getattr(rev.plot, name)(trials)
    with pytest.raises(rev.BadInputError, match="draws several panels"):
        rev.plot.outcomes(study, pd.DataFrame(), ax=1)
    assert rev.plot.pairs(study, "nothing").nothing == "nothing was not compared."


def test_tasks_have_a_column_a_side_and_lead_to_the_pages_of_their_trials(tmp_path):
    run = Run([write_run(tmp_path, n_tasks=8)], trial_pages_at="trials")
    shown = rev.table.tasks(run.study, run.trials).block().exhibits[0]
    assert shown.header[:4] == ("Task", "Δ recall", "Recall ○", "Recall ■")
    pages = {(t.task_name, t.config_name): t.page for t in run.trials.itertuples()}
    for row in shown.rows:
        sides = [cell.href for cell in row if isinstance(cell, Link)]
        assert sides == [pages[str(row[0]), config] for config in run.study.arms]
    changes = [float(row[1].replace("−", "-")) for row in shown.rows]
    assert changes == sorted(changes)


def test_failures_tell_how_far_a_trial_came():
    from retrieval_eval.report.run import cause_of

    def file(**flags):
        names = ("is_written", "is_opened", "is_retrieved", "is_possible")
        return {name: flags.get(name, False) for name in names}

    assert cause_of([file()]) == "not found"
    assert cause_of([file(is_possible=True)]) is None
    assert cause_of([file(is_retrieved=True)]) == "name only"
    assert cause_of([file(is_retrieved=True, is_opened=True)]) == "opened"
    assert cause_of([file(is_written=True), file()]) == "some edited"
    assert cause_of([file(is_written=True)]) == "all edited"


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
    trial = batches.trial("task-one")
    assert "First hit: step 1 of 2 events" in rev.plot.timeline(trial.events).finding
    assert rev.table.show(trial.ground_truth).finding == "1 ground-truth file: 1 read"
    second = batches.trial("task-one", batch="2026-01-06__10-00-00")
    assert "First hit: step 2 of 3 events" in rev.plot.timeline(second.events).finding
    assert len(set(batches.trial_folders)) == 2


def test_files_of_tasks_of_the_same_name_in_two_suites_are_counted_apart(tmp_path):
    folder = write_run(tmp_path, task_names=("same", "same"), n_tasks=2, configs=(BASELINE,))
    found = Run([folder]).missed
    # Ten files in each of the two tasks, each with one trial.
    assert words.most_missed(found).endswith(" of 20 ground-truth files missed by every trial")
    assert set(found["n_trials"]) == {1}


def test_errors_have_their_denominators_and_tools_their_files(made_run):
    errors = made_run.errors
    assert len(errors) == 24 * 5
    assert set(errors["denominator"]) == {10}
    drawn = rev.plot.errors(errors, (BASELINE, MCP))
    assert drawn.finding.startswith("Missed key evidence: ")
    assert drawn.data["count"].sum() == errors["count"].sum()
    found = made_run.found_by
    assert found.groupby("trial_name")["is_first"].sum().max() <= 2
    assert found["n_files"].sum() >= found["n_expected"].sum()


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


def test_a_trial_whose_files_are_only_possible_says_so():
    from retrieval_eval.report.run import state

    reasons = dict.fromkeys(("file_recall", "reason", "ground_truth_reason", "status_reason"))
    assert state({**reasons, "recall_width": 1.0}) == (
        "not scored: nothing relevant is certain, and some of it may have happened"
    )
