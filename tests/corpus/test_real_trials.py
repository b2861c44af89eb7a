"""Pages of real trials of three harnesses: they add up to what the metrics say."""

from __future__ import annotations

from collections import Counter

import pytest

from retrieval_eval.agents.runs.evaluate import evaluate
from retrieval_eval.report import Run, notebook_files, render
from retrieval_eval.report import loading as loading_module
from retrieval_eval.report.notebook_files import read_notebook
from retrieval_eval.report.trial import Trial
from tests.report.conftest import run_cells

pytestmark = [pytest.mark.corpus, pytest.mark.slow]

RUNS = (
    "openhands_sonnet46_20260308_190933",
    "cursor_opus_20260324_191755",
    "csb_sdlc_debug_sonnet_20260313_014723",
    "test_sonnet_20260219_032207",
)
"""Of each harness one run, and one whose ground truth names lines."""


@pytest.fixture(scope="module")
def runs(real_runs, tmp_path_factory) -> list[Run]:
    folders = [str(real_runs / "runs" / "official" / name) for name in RUNS]
    done = evaluate(folders, output_dir=tmp_path_factory.mktemp("real"))
    return [Run([run.folder], trial_pages_at="trials") for run in done.runs]


@pytest.fixture(scope="module")
def trials(runs) -> list[Trial]:
    return [Trial(run, place) for run in runs for place in range(len(run.trial_files))]


def test_frames_of_a_trial_add_up_to_its_metrics(trials):
    seen: Counter[str] = Counter()
    for trial in trials:
        metrics, document = trial.files.metrics, trial.files.events()
        seen[metrics.provenance.harness] += 1
        assert len(trial.steps) == len(document.events)
        files = metrics.file_level_metrics
        if files.computable:
            statuses = Counter(trial.ground_truth["status"])
            missed = statuses["missed"] + statuses["not in the trace"]
            assert len(trial.ground_truth) - missed == files.n_overlap
        overlap = metrics.chunk_level_metrics.line_overlap
        if overlap is not None and overlap.computable:
            seen["with lines"] += 1
            shares = trial.ground_truth["share"].dropna()
            assert shares.between(0, 1).all()
            assert (shares.sum() > 0) == (overlap.lines_seen > 0)
    assert set(seen) >= {"claude-code", "openhands", "cursor-cli", "with lines"}


def test_every_page_of_a_real_trial_is_rendered(runs):
    for run in runs:
        for place, folder in enumerate(run.trial_folders):
            notebook = read_notebook(notebook_files.notebook("trial_report"))
            run_cells(notebook, (loading_module, "load_run"), run, trial=folder, run_page=True)
            html = render.to_html(notebook, title="Trial", footer="made")
            assert Trial(run, place).name in html
            assert "../../index.html" in html
            text = "".join(str(cell.outputs) for cell in notebook.cells if "outputs" in cell)
            assert "Traceback" not in text
