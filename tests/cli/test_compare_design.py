"""``compare`` with a design that a file or options state, and the design that it writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from retrieval_eval.cli import run
from tests.runs import write_task, write_trial


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A run of eight tasks: the second arm finds more, through a server."""
    monkeypatch.chdir(tmp_path)
    for number in range(8):
        task = f"task-{number:03d}"
        write_task(tmp_path / "benchmarks", task, ["src/a.py", "src/b.py"])
        runs = tmp_path / "runs" / "study"
        write_trial(runs, "plain", task, ["src/x.py"] if number % 2 else ["src/a.py"])
        write_trial(runs, "tool", task, ["mcp:src/a.py", "mcp:src/b.py"])
    return tmp_path


PAIR = ("compare", "study:plain", "study:tool", "--output-dir", "out")


def test_the_design_is_printed_with_its_sources(tree, capsys):
    assert run([*PAIR, "--verbose"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "tool: must use MCP (inferred: 8 of 8 trials of tool called an MCP server)" in text
    assert "plain: must not use MCP (inferred: 0 of 8 trials of plain called" in text


def test_options_override_the_file_and_each_source_is_given(tree, capsys):
    Path("own.toml").write_text("alpha = 0.1\nmargin = 0.2\nmissing = 'failure'\n")
    options = ["--alpha", "0.01", "--cluster", "task", "--metric", "mrr"]
    assert run([*PAIR, "--design", "own.toml", *options, "--json"]) in (0, 2)
    (found,) = json.loads(capsys.readouterr().out)["comparisons"]
    design = found["design"]
    assert (design["alpha"], design["margin"], design["missing"]) == (0.01, 0.2, "failure")
    assert found["verdict_metric"] == design["headline"] == "mrr"
    named = ("alpha", "margin", "missing", "cluster", "headline")
    assert [design["sources"][name] for name in named] == [
        *("argument", "own.toml", "own.toml", "argument", "argument")
    ]


def test_a_design_in_the_current_folder_is_read_and_named(tree, capsys):
    path = Path("study.toml")
    path.write_text('[arms.tool]\nmust_use = ["mcp"]\n[arms.plain]\nrole = "control"\n')
    assert run(["compare", "study", "--output-dir", "out", "--verbose"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "tool: must use MCP (study.toml)" in text
    assert "plain: must not use MCP (study.toml)" in text
    path.write_text("cluster = 'nothing'\n")
    assert run([*PAIR]) == 3
    assert (
        "study.toml: cluster: invalid enum value 'nothing'; there are:" in capsys.readouterr().err
    )
    assert run([*PAIR, "--no-design"]) == 0
    Path("empty.toml").write_text("")
    assert run([*PAIR, "--design", "empty.toml"]) == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[arms.toll]\nrole = 'control'", "no configuration 'toll'; closest: tool"),
        ("[arms.tool]\nmust_use = ['mpc']", "no trial called a tool or MCP server 'mpc'"),
        ("headline = 'file_recal'", "closest: file_recall"),
        ("[reward_scale]\nx = [0, 1]", "reward_scale: no suite 'x'"),
        ("alpha = 0.7", "alpha: expected `float` < 0.5"),
        ("margin = 0", "margin: expected `float` > 0.0"),
        ("alpha: 0.1", "own.toml: not valid TOML"),
    ],
)
def test_a_fault_in_the_design_is_bad_input(tree, capsys, text, message):
    Path("own.toml").write_text(text)
    assert run([*PAIR, "--design", "own.toml"]) == 3
    error = capsys.readouterr().err
    assert "own.toml" in error
    assert message in error


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--alpha", "0.5"], "alpha: expected `float` < 0.5"),
        (["--margin", "-1"], "margin: expected `float` > 0.0"),
        (["--margin", "1"], "margin: file recall lies between 0 and 1, so a margin of 1 holds"),
        (["--metric", "file_recal"], "closest: file_recall"),
        (["--cluster", "repository"], "no task states its repository"),
        (["--design", "absent.toml"], "absent.toml"),
    ],
)
def test_a_fault_in_an_option_is_bad_input(tree, capsys, options, message):
    assert run([*PAIR, *options]) == 3
    assert message in capsys.readouterr().err


def test_a_design_is_not_both_named_and_left_unread(tree, capsys):
    assert run([*PAIR, "--design", "own.toml", "--no-design"]) == 64
    assert "give one of them" in capsys.readouterr().err


@pytest.mark.parametrize("folder", [".", "runs/study"])
@pytest.mark.parametrize(
    ("name", "text"),
    [("study.toml", "alpha = 0.1\n"), ("retrieval-eval.toml", "[study]\nalpha = 0.1\n")],
)
def test_a_design_beside_the_run_is_read_by_compare_and_report(
    tree, capsys, monkeypatch, folder, name, text
):
    path = Path(folder) / name
    path.write_text(text)
    assert run([*PAIR, "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert (found["design"]["alpha"], found["design"]["sources"]["alpha"]) == (0.1, name)
    given = {}
    monkeypatch.setattr("retrieval_eval.report.build", lambda _, **more: given.update(more))
    run(["report", "study"])
    assert Path(given["design"]).resolve() == path.resolve()
    given.clear()
    run(["report", "study", "--no-design"])
    assert "design" not in given


def test_a_project_file_without_the_section_states_no_design(tree, capsys):
    Path("retrieval-eval.toml").write_text("jobs = 1\n")
    Path("runs/study/study.toml").write_text("alpha = 0.2\n")
    assert run([*PAIR, "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert found["design"]["alpha"] == 0.2
    Path("runs/study/study.toml").unlink()
    Path("retrieval-eval.toml").write_text("study = 3\n")
    assert run([*PAIR]) == 3
    assert "`$.study`" in capsys.readouterr().err


def test_a_pilot_says_how_many_tasks_the_next_comparison_needs(tree, capsys):
    assert run([*PAIR, "--pilot", "--difference", "0.1"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "To see a difference of 0.1 in file recall with 80 % power," in text
    assert "verdict" not in text
    assert run([*PAIR, "--pilot", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["needed"]
    assert found["n_tasks_low"] < found["n_tasks"] < found["n_tasks_high"]
    assert run([*PAIR, "--pilot", "--difference", "2"]) == 3
    assert run([*PAIR, "--pilot", "--report"]) == 64
    assert run([*PAIR, "--difference", "0.1"]) == 64
