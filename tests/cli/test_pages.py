"""What the commands that make a page have in common."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from retrieval_eval.cli import EXIT_BAD_INPUT, EXIT_USAGE, group, run
from retrieval_eval.errors import NothingToEvaluateError
from tests.runs import write_trial


def _commands(parent: click.Group, name: str = "") -> Iterator[tuple[str, click.Command]]:
    context = click.Context(parent)
    for child in parent.list_commands(context):
        command = parent.get_command(context, child)
        assert command is not None
        if isinstance(command, click.Group):
            yield from _commands(command, f"{name} {child}")
        else:
            yield f"{name} {child}".strip(), command


def _options(command: click.Command) -> dict[str, click.Parameter]:
    return {option: p for p in command.params for option in p.opts}


OPTIONS = {name: _options(command) for name, command in _commands(group)}


@pytest.mark.parametrize("option", ["--renderer", "--pdf", "--privacy", "--trials"])
def test_options_of_a_page_are_those_of_report(option):
    assert [name for name, options in OPTIONS.items() if option in options] == ["report"]


@pytest.mark.parametrize(
    ("command", "builder"),
    [
        (["report", "demo"], "retrieval_eval.report.build"),
        (["report", "demo", "--trial", "task"], "retrieval_eval.report.build_trial"),
        (["report", "run.json"], "retrieval_eval.report.build_search"),
        (["report", "run.json", "run.json"], "retrieval_eval.report.build_diff"),
        (["report", "past"], "retrieval_eval.report.build_history"),
    ],
)
def test_the_renderer_chosen_is_the_one_that_renders(tmp_path, monkeypatch, command, builder):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.json").write_text("{}")
    (tmp_path / "past").mkdir()
    (tmp_path / "past/eval-report-1.json").write_text("{}")
    given = {}
    monkeypatch.setattr(builder, lambda *_, **values: given.update(values))
    assert run([*command, "--renderer", "quarto", "--pdf"]) == 0
    assert (given["renderer"], given["pdf"]) == ("quarto", True)


@pytest.mark.parametrize(("command", "builder"), [
    (["demo"], "retrieval_eval.report.build"),
    (["compare", "demo", "--report"], "retrieval_eval.report.build"),
])  # fmt: skip
def test_other_pages_are_made_as_the_project_file_states(tmp_path, monkeypatch, command, builder):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "retrieval-eval.toml").write_text('renderer = "quarto"\nreports = "pages"\n')
    given = {}
    monkeypatch.setattr(builder, lambda *_, **values: given.update(values))
    # The demo's verdict is fragile.
    assert run(command) == (2 if command[0] == "compare" else 0)
    assert (given["renderer"], given["reports_dir"]) == ("quarto", Path("pages"))


def test_the_page_of_one_trial_is_that_of_one_run(capsys):
    for words in (["a", "b", "--trial", "t"], ["a", "--trials", "--trial", "t"], ["--trial", "t"]):
        assert run(["report", *words]) == EXIT_USAGE
        assert "--trial goes with one RUN" in capsys.readouterr().err


def test_the_index_of_all_reports_is_written_anew(tmp_path, capsys):
    root = ("--reports-dir", str(tmp_path))
    assert run(["report", "--index", *root]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "index.html")
    (tmp_path / "one").mkdir()
    (tmp_path / "one/index.html").write_text("<h1>a</h1>")
    (tmp_path / "one/report.json").write_text("{")
    assert run(["report", "--index", "--json", *root]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out) == {"index": str(tmp_path / "index.html"), "n_reports": 1}
    assert "one/report.json: not valid JSON" in said.err
    assert run(["report", "demo", "--index", *root]) == EXIT_USAGE
    (tmp_path / "index.html").write_text("<h1>My site</h1>")
    assert run(["report", "--index", *root]) == EXIT_BAD_INPUT
    assert "is another page" in capsys.readouterr().err


def test_a_folder_of_runs_is_a_report_of_each_and_an_index(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ("one", "two"):
        for batch in ("2026-01-01__10-00-00", "2026-01-02__10-00-00"):
            write_trial(tmp_path / "all" / name, "plain", "task", ["src/a.py"], batch=batch)
    made = []

    def build(runs, *, reports_dir, **_):
        if runs == ("all",):
            raise NothingToEvaluateError("all is no run")
        (folder,) = map(Path, runs)
        made.append(folder.name)
        if folder.name == "one":
            raise NothingToEvaluateError("nothing could be measured")
        page = reports_dir / folder.name / "index.html"
        page.parent.mkdir(parents=True)
        page.write_text("<h1>two</h1>")
        return page

    monkeypatch.setattr("retrieval_eval.report.build", build)
    assert run(["report", "all"]) == 2
    said = capsys.readouterr()
    assert made == ["one", "two"]
    assert said.out.strip() == "reports/index.html"
    assert "nothing could be measured" in said.err
    assert run(["report", "all/one"]) == 2, "a run is a run"
    assert made == ["one", "two", "one"]
