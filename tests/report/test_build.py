"""From run ids to a folder with page, notebook and tables; no kernel starts here."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import pytest
import yaml

from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.report import build, load_run
from retrieval_eval.report.building import folder_name
from retrieval_eval.report.columns import FRAMES
from tests.runs import write_task, write_trial

pytestmark = pytest.mark.slow


def test_the_demo_report_is_a_folder_that_stands_alone(demo_page):
    folder = demo_page.parent
    assert demo_page == folder / "index.html"
    assert folder.name == "demo"
    names = {p.name for p in folder.iterdir()}
    assert names >= {"run_report.ipynb", "appendix.csv", *(f"{n}.csv" for n in FRAMES)}
    html = demo_page.read_text(encoding="utf-8")
    assert "49 trials of 24 tasks" in html
    assert html.count("<figure") == 8


def test_tables_are_complete(demo_page):
    def rows(name):
        with (demo_page.parent / name).open(encoding="utf-8", newline="") as stream:
            return list(csv.DictReader(stream))

    trials = rows("trials.csv")
    assert len(trials) + len(rows("excluded.csv")) == 50
    assert len(rows("appendix.csv")) == 24
    assert {r["config_name"] for r in trials} == {"baseline-local-direct", "mcp-remote-direct"}


@pytest.fixture
def few(tmp_path) -> Path:
    """The page of a run of two trials."""
    write_task(tmp_path / "benchmarks", "task-1", ["src/a.py", "src/b.py"])
    for config, files in (("a", ["src/a.py"]), ("b", ["src/a.py", "src/b.py"])):
        write_trial(tmp_path / "runs/r", config, "task-1", files)
    roots = {f"{name}_root": tmp_path / name for name in ("runs", "benchmarks")}
    given = roots | {"output_dir": tmp_path / "out", "reports_dir": tmp_path / "first"}
    return build("r", renderer="embedded", **given)


def test_what_it_was_made_with_gives_the_same_page(few, tmp_path):
    folder = few.parent
    given = yaml.safe_load((folder / "params.yml").read_text(encoding="utf-8"))
    notebook = given.pop("notebook")
    assert notebook == "run_report"
    again = build(given.pop("run_id"), reports_dir=tmp_path, **given)
    for name in ("index.html", "params.yml", "versions.csv"):
        assert (again.parent / name).read_bytes() == (folder / name).read_bytes(), name
    figures = sorted(path.name for path in (folder / "figures").iterdir())
    assert figures
    html = few.read_text(encoding="utf-8")
    for name in figures:
        assert f'<figure id="fig-{Path(name).stem}">' in html
        ours = (folder / "figures" / name).read_bytes()
        assert (again.parent / "figures" / name).read_bytes() == ours


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sead": 3}, "no parameter 'sead'"),
        ({"seed": "3"}, "whole number"),
        ({"mcp_config": "mcp-remot"}, "no configuration 'mcp-remot'"),
    ],
)
def test_bad_parameters_never_start_a_kernel(given, message, tmp_path):
    write_trial(tmp_path / "runs/r", "mcp-remote", "task-1", ["src/a.py"])
    roots = {"runs_root": tmp_path / "runs", "output_dir": tmp_path / "out"}
    with pytest.raises(BadInputError, match=message):
        build("r", reports_dir=tmp_path, renderer="embedded", **roots, **given)
    assert not (tmp_path / "r").exists()


def test_arms_in_different_runs_are_compared(demo_tree, tmp_path):
    for run, config in (("one", "baseline-local-direct"), ("two", "mcp-remote-direct")):
        shutil.copytree(demo_tree / "runs" / "demo" / config, tmp_path / "runs" / run / config)
    run = load_run(
        ["one", "two"],
        runs_root=tmp_path / "runs",
        benchmarks_root=demo_tree / "benchmarks",
        output_dir=tmp_path / "out",
    )
    assert run.run_ids == ("one", "two")
    assert run.comparison is not None
    assert run.comparison.metrics["file_recall"].n_pairs == 21
    assert set(run.trials["run_id"]) == {"one", "two"}


def test_a_run_without_trials_has_nothing_to_report(tmp_path):
    (tmp_path / "runs" / "alpha").mkdir(parents=True)
    with pytest.raises(NothingToEvaluateError):
        build(
            "alpha",
            reports_dir=tmp_path / "reports",
            runs_root=tmp_path / "runs",
            output_dir=tmp_path / "out",
        )
    assert not (tmp_path / "reports").exists()


def test_names_of_report_folders():
    assert folder_name(["official/a", "b"]) == "a+b"
    assert folder_name(["../../x y"]) == "x_y"
