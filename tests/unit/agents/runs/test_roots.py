"""Where runs and tasks lie: an argument, the environment, the project file, a folder near."""

from __future__ import annotations

from pathlib import Path

import pytest

from retrieval_eval.agents.runs.layout import (
    RUNS_VARIABLE,
    default_benchmarks_root,
    default_runs_root,
    is_demo,
)
from retrieval_eval.model.design import PROJECT_FILE


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.delenv(RUNS_VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_environment_goes_before_the_project_file(here, monkeypatch):
    assert (default_runs_root(), default_benchmarks_root([])) == (None, None)
    (here / PROJECT_FILE).write_text('runs = "r"\nbenchmarks = "b"\n')
    assert (default_runs_root(), default_benchmarks_root([])) == (Path("r"), Path("b"))
    monkeypatch.setenv(RUNS_VARIABLE, "elsewhere")
    assert default_runs_root() == Path("elsewhere")


def test_a_stated_folder_with_a_run_called_demo_holds_the_demo(here):
    (here / PROJECT_FILE).write_text('runs = "r"\n')
    assert is_demo(["demo"], None)
    (here / "r" / "demo").mkdir(parents=True)
    assert not is_demo(["demo"], None)
