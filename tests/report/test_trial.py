from __future__ import annotations

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.report import Run, TrialReport, render
from tests.factories import MCP, write_run


def test_a_trial_is_found_by_its_name_or_its_task(made_run):
    assert TrialReport(made_run, "task-003__0000001").trial["config_name"] == MCP
    assert TrialReport(made_run, "task-003", config=MCP).trial["trial_name"] == "task-003__0000001"
    assert TrialReport(made_run).trial["task_name"] == "task-000"


def test_what_is_not_computable_has_its_reason_below_the_table(tmp_path):
    run = Run([write_run(tmp_path, n_tasks=2, n_without_ground_truth=1)])
    (table,) = TrialReport(run, "task-000").answer().exhibits
    assert ("File recall", "—") in table.rows
    (note,) = [note for note in table.notes if "File recall" in note]
    assert note.startswith("— File recall, MRR, nDCG@10, ")
    assert note.endswith(": the task has no file-level ground truth.")


def test_an_unknown_trial_lists_the_closest(made_run):
    with pytest.raises(BadInputError, match="task-003"):
        TrialReport(made_run, "task-03")


def test_the_page_shows_every_step_and_hides_arguments_when_private(executed, made_run):
    def page(privacy: bool) -> str:
        notebook = executed(made_run, "trial_report", trial="task-003", privacy=privacy)
        return render.to_html(notebook, title="t", footer="f")

    assert page(False).count("secret-argument") == 8
    assert "secret-argument" not in page(True)


def test_hostile_trials_are_shown_as_text(executed, hostile_run):
    notebook = executed(hostile_run, "trial_report", trial="<script>alert(1)</script>")
    html = render.to_html(notebook, title="<b>", footer="<b>")
    assert html.count("<script") == 1
    assert "&lt;script&gt;alert(1)" in html
