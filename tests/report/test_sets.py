"""Many reports by one command: what is read, what is made, what is kept, what fails."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from retrieval_eval.cli.main import run
from retrieval_eval.errors import BadInputError, NothingToEvaluateError, RenderError
from retrieval_eval.report import assets, sets
from retrieval_eval.report.parameters import of_notebook
from retrieval_eval.report.sets import build_sets, read_sets

WHOLE = """
defaults:
  runs_root: data/runs
  seed: 3
reports:
  - run_id: nightly
  - notebook: compare_runs
    run_id: nightly, weekly
    seed: 4
  - notebook: trial_report
    run_id: nightly
    trial: task-one
  - notebook: search_report
    run: run.json
    reports_dir: elsewhere
    pdf: true
  - notebook: search_diff
    a: one
    b: two
    flag_points: 1
    renderer: quarto
"""


@pytest.fixture
def file(tmp_path):
    """A function that writes a file of sets."""

    def write(text: str, name: str = "reports.yml") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def built(monkeypatch):
    """What the builders were called with, which pages are current, and which errors are raised."""
    calls, current, errors = [], set(), {}

    def builder(kind):
        def build(*names, reports_dir, keep, progress=None, **given):
            subject = names[0]
            calls.append((kind, names, reports_dir, given))
            if progress is not None:
                progress(1, 9, "a cell")
            if subject in errors:
                raise errors[subject]
            page = reports_dir / kind / str(subject) / "index.html"
            keep(page, subject in current)
            return page

        return build

    for kind in ("build", "build_trial", "build_search", "build_diff"):
        monkeypatch.setattr(sets, kind, builder(kind))
    return calls, current, errors


def test_every_set_reaches_the_builder_of_its_notebook(file, built, tmp_path):
    calls, _, _ = built
    done = list(build_sets(read_sets(file(WHOLE)), reports_dir=tmp_path, jobs=2))
    assert [outcome.status for outcome in done] == ["made"] * 5
    assert [outcome.name for outcome in done] == [
        "run_report nightly",
        "compare_runs nightly, weekly",
        "trial_report nightly",
        "search_report run.json",
        "search_diff one",
    ]
    (one, two, trial, search, diff) = calls
    assert one[1:] == (
        ("nightly",),
        tmp_path,
        {
            "notebook": "run_report",
            "renderer": "auto",
            "pdf": False,
            "jobs": 2,
            "runs_root": "data/runs",
            "seed": 3,
        },
    )
    assert (two[3]["notebook"], two[3]["seed"]) == ("compare_runs", 4)
    assert (trial[0], trial[1]) == ("build_trial", ("nightly", "task-one"))
    assert (search[0], search[2], search[3]["pdf"]) == ("build_search", Path("elsewhere"), True)
    assert "runs_root" not in search[3], "it has no such parameter"
    assert (diff[0], diff[1][0], diff[3]["flag_points"]) == ("build_diff", "one", 1)
    assert (diff[3]["renderer"], diff[3]["pdf"]) == ("quarto", False)


def test_the_parameters_beside_a_report_are_a_set(file):
    names = of_notebook(assets.notebook("run_report"))
    text = "notebook: run_report\nrenderer: embedded\npdf: false\n" + "".join(
        f"{name}: {json.dumps(p.default)}\n" for name, p in names.items() if name != "run_id"
    )
    (found,) = read_sets(file(text + "run_id: demo\n", "params.yml"))
    assert (found.notebook, found.name) == ("run_report", "run_report demo")
    assert list(found.values) == list(names)
    assert found.page == {"notebook": "run_report", "renderer": "embedded", "pdf": False}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected 'reports' with a list"),
        ("[a]", "expected 'reports' with a list"),
        ("reports: []", "'reports' is a list of one or more"),
        ("reports: {run_id: a}", "'reports' is a list of one or more"),
        ("reports: [a]", "report 1 is not a mapping"),
        ("reports: [{run_id: a}]\nreport: 1", "unknown key 'report'; did you mean reports"),
        ("defaults: 1\nreports: [{run_id: a}]", "'defaults' is a mapping"),
        ("defaults: {run_root: x}\nreports: [{run_id: a}]", "defaults: unknown key 'run_root'"),
        (
            "reports: [{run_id: a}, {runid: b}]",
            "report 2: unknown key 'runid'; did you mean run_id",
        ),
        ("reports: [{run_id: a, rendrer: quarto}]", "did you mean renderer"),
        ("reports: [{run_id: a, renderer: latex}]", "'renderer' is one of auto, embedded, quarto"),
        ("reports: [{run_id: a, pdf: 'yes'}]", "parameter 'pdf' is true or false"),
        ("reports: [{run_id: a, seed: '3'}]", "report 1: parameter 'seed' is a whole number"),
        ("reports: [{run_id: 7}]", "is text, not 7 (text is written in quotes)"),
        ("reports: [{run_id: a, seed: }]", "parameter 'seed' is a whole number, not None"),
        ("reports: [{seed: 3}]", "report 1: 'run_id' is missing"),
        (
            "reports: [{notebook: run_reprt, run_id: a}]",
            "no notebook 'run_reprt'; choose run_report",
        ),
        ("reports: [{notebook: ../x, run_id: a}]", "there is no notebook '../x'"),
        ("reports: [{notebook: [a], run_id: a}]", "there is no notebook"),
        ("run_id: a\nrun_id: b", "line 2, column 1: the key 'run_id' is there twice"),
        ("run_id: !!python/name:os.system", "could not determine a constructor"),
        ("run_id: [", "line 1"),
    ],
)
def test_a_faulty_file_is_refused_in_one_sentence_before_anything_is_made(
    file, built, text, message, capsys
):
    calls, _, _ = built
    path = file(text)
    with pytest.raises(BadInputError) as caught:
        read_sets(path)
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)
    assert run(["report", "--set", str(path)]) == 3
    assert capsys.readouterr().err.count("\n") == 1
    assert calls == []


def test_a_file_that_is_not_there_is_named(tmp_path, capsys):
    assert run(["report", "--set", str(tmp_path / "no.yml")]) == 3
    assert "no.yml" in capsys.readouterr().err


THREE = "reports: [{run_id: a}, {run_id: b}, {run_id: c}]"


def test_one_that_fails_does_not_stop_the_others_and_the_worst_code_is_kept(
    file, built, tmp_path, monkeypatch, capsys
):
    calls, current, errors = built
    monkeypatch.chdir(tmp_path)
    current.add("c")
    errors["a"] = RenderError("the cell failed")
    arguments = ["report", "--set", str(file(THREE)), "--reports-dir", "out"]
    assert run(arguments) == 4
    assert [names for _, names, *_ in calls] == [("a",), ("b",), ("c",)]
    out, err = capsys.readouterr()
    assert err == "failed    run_report a: the cell failed\n"
    assert out.splitlines() == [
        "made      out/build/b/index.html",
        "unchanged out/build/c/index.html",
        "1 made, 1 unchanged, 1 failed",
    ]
    errors["b"] = NothingToEvaluateError("no trial")
    assert run([*arguments, "--json"]) == 4
    document = json.loads(capsys.readouterr().out)
    assert document["reports"][1] == {
        "name": "run_report b",
        "status": "failed",
        "report": None,
        "error": "no trial",
    }
    assert {k: v for k, v in document.items() if k != "reports"} == {
        "made": 0,
        "unchanged": 1,
        "failed": 2,
        "exit_code": 4,
    }


@pytest.mark.parametrize(
    ("error", "code"),
    [(BadInputError("x"), 3), (NothingToEvaluateError("x"), 2), (ZeroDivisionError("x"), 70)],
)
def test_the_exit_code_is_that_of_the_error(file, built, tmp_path, monkeypatch, error, code):
    _, _, errors = built
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    errors["b"] = error
    assert run(["report", "--set", str(file(THREE)), "--reports-dir", str(tmp_path)]) == code


def test_two_sets_that_would_write_one_page_are_noticed(file, built, tmp_path):
    text = "reports: [{run_id: a}, {run_id: a, seed: 1}, {run_id: a, reports_dir: other}]"
    done = list(build_sets(read_sets(file(text)), reports_dir=tmp_path))
    assert [outcome.status for outcome in done] == ["made", "failed", "made"]
    assert "is the page of run_report a too: give one of them a reports_dir" in str(done[1].error)


def test_progress_counts_reports(file, built, tmp_path):
    steps = []
    sets_ = read_sets(file(THREE))
    list(build_sets(sets_, reports_dir=tmp_path, progress=lambda *step: steps.append(step)))
    assert steps[:3] == [
        (0, 3, "run_report a: start"),
        (0, 3, "run_report a: a cell"),
        (1, 3, "run_report b: start"),
    ]


@pytest.mark.parametrize(
    ("more", "message"),
    [(["demo"], "RUN does not go with --set"), (["--seed", "3"], "--seed does not go with --set")],
)
def test_what_is_a_parameter_of_a_report_goes_into_the_file(file, more, message, capsys):
    assert run(["report", "--set", str(file(THREE)), *more]) == 64
    assert message in capsys.readouterr().err


def test_no_notebook_has_a_parameter_that_is_about_the_page():
    for notebook in sets.NOTEBOOKS:
        known = of_notebook(assets.notebook(notebook))
        assert not {"notebook", "renderer", "pdf", "reports_dir"} & set(known)
        assert next(iter(known.values())).default == "", "what the report is about"


@pytest.mark.slow
def test_a_set_of_real_reports_is_made_once(file, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = "reports: [{run_id: demo}, {notebook: trial_report, run_id: demo, trial: nosuch}]"
    arguments = ["report", "--set", str(file(text)), "--json"]
    assert run(arguments) == 3
    first = json.loads(capsys.readouterr().out)
    assert [row["status"] for row in first["reports"]] == ["made", "failed"]
    page = Path("reports/demo/index.html")
    before = page.read_bytes()
    assert run(arguments) == 3
    second = json.loads(capsys.readouterr().out)
    assert [row["status"] for row in second["reports"]] == ["unchanged", "failed"]
    assert run(["report", "--set", "reports/demo/params.yml"]) == 0
    assert "0 made, 1 unchanged, 0 failed" in capsys.readouterr().out
    assert page.read_bytes() == before
