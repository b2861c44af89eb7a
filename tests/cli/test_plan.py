"""``retrieval-eval plan``."""

from __future__ import annotations

import json

import pytest

import retrieval_eval as rev
from retrieval_eval.cli.main import run
from retrieval_eval.pipeline.planning import split_pilot
from tests.runs import write_task, write_trial


@pytest.fixture
def pilot(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("RETRIEVAL_EVAL_RUNS_ROOT", "RETRIEVAL_EVAL_BENCHMARKS_ROOT"):
        monkeypatch.delenv(name, raising=False)
    truth = ["src/a.py", "src/b.py", "src/c.py", "src/d.py"]
    for i in range(5):
        write_task(tmp_path / "benchmarks", f"task-{i}", truth)
        for config, n in (("old", 1), ("new", 1 + i % 3)):
            write_trial(tmp_path / "runs" / "first", config, f"task-{i}", truth[:n])
    return tmp_path


def test_stated_numbers_lead_to_tasks(capsys):
    assert run(["plan", "--sd", "0.2", "--difference", "0.1"]) == 0
    text = capsys.readouterr().out
    assert "To see a difference of 0.10 in file recall with 80 % power, 36 matched tasks" in text
    assert "standard deviation of the paired differences of tasks" in text
    curve = text[text.index("tasks  power") :].splitlines()[1:]
    assert len(curve) == 9
    assert all("#" in line for line in curve[1:])
    # Below the wanted power its place is marked.
    assert "|" in curve[0]
    assert "|" not in curve[-1]


def test_json_is_the_plan(capsys):
    given = ["--between", "0.1", "--within", "0.2", "--repeats", "2", "--tasks", "40"]
    assert run(["plan", *given, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    made = rev.plan(between=0.1, within=0.2, repeats=2, tasks=40)
    assert found == json.loads(json.dumps(made.to_json()))
    assert found["detectable"] < 0.15
    assert [a["source"] for a in found["assumptions"]] == ["default", "stated", "stated"]


def test_a_pilot_run_gives_the_spread(pilot, capsys):
    given = ["--output-dir", "out", "--jobs", "1", "--json"]
    assert run(["plan", "--pilot", "first", *given]) == 0
    found = json.loads(capsys.readouterr().out)
    trials = rev.load_run("first", output_dir="out").trials
    made = rev.plan(trials, source="pilot first")
    assert found == json.loads(json.dumps(made.to_json()))
    assert found["assumptions"][1]["source"].startswith("pilot first: 5 matched tasks")
    assert run(["plan", "--pilot", "first:new:old", *given]) == 0
    assert json.loads(capsys.readouterr().out)["n_tasks"] == found["n_tasks"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "state what the plan rests on: a pilot study"),
        (["--sd", "0.1", "--metric", "recal"], "'recal' is no metric; closest: recall"),
        (["--sd", "0.1", "--power", "2"], "the power lies between 0 and 1"),
        (["--pilot", "frist"], "no run 'frist' in runs; closest names: first"),
        (["--pilot", "first:od:new", "--output-dir", "out"], "no configuration 'od'"),
        (["--pilot", "a:b:c:d"], "'a:b:c:d' is no pilot: RUN, or RUN:BASELINE:COMPARISON"),
    ],
)
def test_what_cannot_be_planned_is_bad_input(pilot, capsys, given, message):
    assert run(["plan", *given]) == 3
    said = capsys.readouterr()
    assert message in said.err
    assert said.out == ""


def test_options_of_the_page_need_the_page(capsys):
    assert run(["plan", "--sd", "0.1", "--pdf"]) == 64
    assert "add --report" in capsys.readouterr().err


def test_a_path_with_colons_is_a_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a:b").mkdir()
    assert split_pilot("a:b") == ("a:b", "", "")
    assert split_pilot("a:b:old") == ("a:b", "old", "")
    assert split_pilot("a:b:old:new") == ("a:b", "old", "new")
    assert split_pilot("run:old") == ("run", "old", "")


@pytest.mark.slow
def test_the_page_shows_answer_curve_and_assumptions(pilot, capsys):
    given = ["--pilot", "first", "--output-dir", "out", "--jobs", "1", "--tasks", "30"]
    assert run(["plan", *given, "--report", "--renderer", "embedded"]) == 0
    printed = capsys.readouterr().out
    page = pilot / "reports" / "plan" / "first" / "index.html"
    assert printed.rstrip().endswith("reports/plan/first/index.html")
    html = page.read_text(encoding="utf-8")
    assert "matched tasks are needed" in html
    assert "30 matched tasks show a difference of" in html
    assert 'id="fig-power"' in html
    assert 'id="tbl-assumptions"' in html
    assert "What this report cannot tell you" in html
    assert (page.parent / "curve.csv").is_file()
    # The parameters beside the page make it again.
    before = page.read_bytes()
    assert run(["report", "--set", str(page.parent / "params.yml"), "--jobs", "1"]) == 0
    assert page.read_bytes() == before
