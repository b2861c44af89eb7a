"""`demo` is the built-in demonstration only where it can mean nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from retrieval_eval.agents.runs.evaluate import evaluate
from retrieval_eval.cli import run
from retrieval_eval.demo import write_demo
from retrieval_eval.errors import BadInputError
from retrieval_eval.report import load_diff, load_search


def own_trial(place: Path) -> Path:
    trial = place / "baseline" / "task-one__x"
    trial.mkdir(parents=True)
    (trial / "result.json").write_text('{"task_name": "task-one", "trial_name": "task-one__x"}')
    return place


@pytest.mark.parametrize("place", ["runs/demo", "demo"])
def test_it_is_refused_where_a_run_or_folder_has_that_name(tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    own = own_trial(tmp_path / place)
    with pytest.raises(BadInputError) as caught:
        evaluate(["demo"])
    assert f"of the folder {own}" in str(caught.value)
    assert "`retrieval-eval demo`" in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == [place.partition("/")[0]]


def test_a_root_that_the_environment_names_is_one_that_was_given(tmp_path, monkeypatch, capsys):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    own = own_trial(tmp_path / "all/demo")
    monkeypatch.setenv("RETRIEVAL_EVAL_RUNS_ROOT", str(tmp_path / "all"))
    (found,) = evaluate(["demo"]).runs
    assert found.folder.is_relative_to(own)
    by_environment = (run(["evaluate", "demo"]), capsys.readouterr().out)
    by_path = run(["evaluate", str(tmp_path / "all/demo")])
    assert by_environment == (by_path, capsys.readouterr().out)
    assert not any((tmp_path / "here").iterdir())


def test_elsewhere_it_is_the_built_in_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    own_trial(tmp_path / "runs/other")
    (found,) = evaluate(["demo"], output_dir=tmp_path / "out").runs
    counts = found.summary.counts
    assert counts.simulated == counts.evaluated + counts.degraded > 0


def test_a_demo_never_replaces_a_run_that_no_demo_wrote(tmp_path):
    own = own_trial(tmp_path / "runs/demo")
    before = {p: p.read_bytes() for p in own.rglob("*") if p.is_file()}
    with pytest.raises(BadInputError, match="no demonstration that was written here before"):
        write_demo(tmp_path)
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before
    (tmp_path / "new").mkdir()
    write_demo(tmp_path / "new")
    write_demo(tmp_path / "new")


def test_a_search_run_is_named_and_never_guessed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInputError, match="no search run was given"):
        load_search("")
    with pytest.raises(BadInputError, match="name two search runs, a and b; none was given"):
        load_diff("")
    with pytest.raises(TypeError):
        load_search()
    with pytest.raises(BadInputError, match="'demo' is neither a file nor the label"):
        load_diff("demo", "after")
    (tmp_path / "demo").write_text("{}")
    with pytest.raises(BadInputError, match=r"of a file here: name the file as \./demo"):
        load_search("demo")
    assert [path.name for path in tmp_path.iterdir()] == ["demo"]


def test_the_command_demo_means_its_own_run_wherever_it_is_called(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    own = own_trial(tmp_path / "runs/demo")
    called = {}

    def build(names, **given):
        called.update(given, names=names)
        return Path("page")

    monkeypatch.setattr("retrieval_eval.report.build", build, raising=False)
    assert run(["demo"]) == 0
    assert capsys.readouterr().out == "page\n"
    (found,) = evaluate(
        called["names"], **{k: called[k] for k in ("runs_root", "benchmarks_root", "output_dir")}
    ).runs
    assert found.summary.counts.simulated > 0
    assert sorted(path.name for path in own.rglob("*.json")) == ["result.json"]
