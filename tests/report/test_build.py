"""The whole way, with a real kernel: run ids to a folder with page, notebook and tables."""

from __future__ import annotations

import csv
import re
import shutil
from pathlib import Path

import nbformat
import pytest
import yaml

from retrieval_eval.errors import BadInputError, NothingToEvaluateError, RenderError
from retrieval_eval.report import assets, build, build_trial, building, load_run
from retrieval_eval.report.building import folder_name
from retrieval_eval.report.columns import FRAMES
from retrieval_eval.report.execute import check_outputs, execute
from tests.sharing import shared

pytestmark = pytest.mark.slow


@pytest.fixture(scope="session")
def demo_page(tmp_path_factory) -> Path:
    def make(folder: Path) -> None:
        build("demo", reports_dir=folder, renderer="embedded")

    return shared(tmp_path_factory, "demo-report", make) / "demo" / "index.html"


def test_the_demo_report_is_a_folder_that_stands_alone(demo_page):
    folder = demo_page.parent
    assert demo_page == folder / "index.html"
    assert folder.name == "demo"
    names = {p.name for p in folder.iterdir()}
    assert names >= {"run_report.ipynb", "appendix.csv", *(f"{n}.csv" for n in FRAMES)}
    html = demo_page.read_text(encoding="utf-8")
    assert "of 24 tasks enter the paired analysis" in html
    assert html.count("<figure") == 14


def test_the_executed_notebook_has_outputs_and_the_parameters(demo_page):
    notebook = nbformat.read(demo_page.parent / "run_report.ipynb", as_version=4)
    check_outputs(demo_page.parent / "run_report.ipynb")
    injected = [c for c in notebook.cells if "injected-parameters" in c.metadata.get("tags", [])]
    assert 'run_id = "demo"' in injected[0].source


def test_tables_are_complete(demo_page):
    def rows(name):
        with (demo_page.parent / name).open(encoding="utf-8", newline="") as stream:
            return list(csv.DictReader(stream))

    trials = rows("trials.csv")
    assert len(trials) + len(rows("excluded.csv")) == 50
    assert len(rows("appendix.csv")) == 24
    assert {r["config_name"] for r in trials} == {"baseline-local-direct", "mcp-remote-direct"}


def test_what_it_was_made_with_gives_the_same_page(demo_page, tmp_path):
    folder = demo_page.parent
    given = yaml.safe_load((folder / "params.yml").read_text(encoding="utf-8"))
    notebook = given.pop("notebook")
    assert notebook == "run_report"
    again = build(given.pop("run_id"), notebook=notebook, reports_dir=tmp_path, **given)
    for name in ("index.html", "params.yml", "versions.csv"):
        assert (again.parent / name).read_bytes() == (folder / name).read_bytes(), name
    figures = sorted(path.name for path in (folder / "figures").iterdir())
    assert len(figures) == 14
    html = demo_page.read_text(encoding="utf-8")
    for name in figures:
        assert f'href="figures/{name}"' in html
        assert f'<figure id="fig-{Path(name).stem}">' in html
        ours = (folder / "figures" / name).read_bytes()
        assert (again.parent / "figures" / name).read_bytes() == ours


def test_one_trial_step_by_step(demo_roots, tmp_path):
    steps = []
    page = build_trial(
        "demo",
        "crossrepo-route-contract-001",
        reports_dir=tmp_path,
        renderer="embedded",
        privacy=True,
        progress=lambda done, total, name: steps.append((done, total, name)),
        **demo_roots,
    )
    assert page.parent.parent == tmp_path / "demo" / "trials"
    assert re.fullmatch(
        r"crossrepo-route-contract-001__\w+@baseline-local-direct", page.parent.name
    )
    assert "crossrepo-route-contract-001" in page.read_text(encoding="utf-8")
    assert ("Every step") in [name for _, _, name in steps]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sead": 3}, "no parameter 'sead'"),
        ({"seed": "3"}, "whole number"),
        ({"mcp_config": "mcp-remot"}, "mcp-remote-direct"),
    ],
)
def test_bad_parameters_never_start_a_kernel(given, message, demo_roots, tmp_path, monkeypatch):
    def no_kernel(*_, **__):
        raise AssertionError("a kernel was started")

    monkeypatch.setattr("retrieval_eval.report.publishing.execute", no_kernel)
    with pytest.raises(BadInputError, match=message):
        build("demo", reports_dir=tmp_path, renderer="embedded", **demo_roots, **given)


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


@pytest.mark.usefixtures("without_kernel")
def test_two_runs_of_one_config_are_compared_and_not_taken_for_repeats(demo_tree, tmp_path):
    config = "baseline-local-direct"
    for name in ("one", "two"):
        shutil.copytree(demo_tree / "runs" / "demo" / config, tmp_path / "runs" / name / config)
    given = {
        "runs_root": tmp_path / "runs",
        "benchmarks_root": demo_tree / "benchmarks",
        "output_dir": tmp_path / "out",
    }
    assert load_run(["one", "two"], **given).comparison is None
    run = load_run(["one", "two"], separate_runs=True, **given)
    assert run.configs == (f"{config}@one", f"{config}@two")
    assert set(run.trials["config_name"]) == set(run.configs)
    assert run.comparison.verdict == "no_detectable_difference"
    result = run.comparison.metrics["file_recall"]
    assert (result.mean_difference, result.wins, result.losses) == (0, 0, 0)
    page = build(
        ["one", "two"],
        notebook="compare_runs",
        reports_dir=tmp_path / "reports",
        renderer="embedded",
        **given,
    )
    assert page == tmp_path / "reports" / "one+two" / "compare" / "index.html"
    html = page.read_text(encoding="utf-8")
    assert "No detectable difference in file recall" in html
    assert f"{config}@two" in html


def test_a_run_given_as_a_path_is_titled_by_its_name(demo_roots, tmp_path, monkeypatch):
    shown = {}
    monkeypatch.setattr(building, "publish", lambda *_, **given: shown.update(given))
    run = demo_roots["runs_root"] / "demo"
    build(run, reports_dir=tmp_path, privacy=True, **demo_roots | {"runs_root": None})
    assert shown["title"] == "Retrieval report: demo"


def test_an_unknown_notebook_is_refused(tmp_path):
    with pytest.raises(RenderError, match="choose run_report, compare_runs"):
        build("demo", reports_dir=tmp_path, notebook="other")


def test_an_unknown_run_is_named(tmp_path):
    (tmp_path / "runs" / "alpha").mkdir(parents=True)
    with pytest.raises(BadInputError, match="alpha"):
        build("alpah", reports_dir=tmp_path / "reports", runs_root=tmp_path / "runs")


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


def test_an_unknown_renderer_is_refused(demo_roots, tmp_path):
    with pytest.raises(RenderError, match="no renderer"):
        build("demo", reports_dir=tmp_path, renderer="latex", **demo_roots)


def write_notebook(path: Path, *sources: str) -> Path:
    cells = [nbformat.v4.new_markdown_cell("# t"), nbformat.v4.new_code_cell("x: int = 1  # x")]
    cells[1].metadata["tags"] = ["parameters"]
    cells += [nbformat.v4.new_code_cell(source) for source in sources]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path


def test_a_failing_cell_is_shown_with_its_error(tmp_path):
    source = write_notebook(tmp_path / "n.ipynb", "1", "1 / 0  # the culprit")
    with pytest.raises(RenderError, match=r"(?s)ZeroDivisionError.*the culprit"):
        execute(source, tmp_path / "out.ipynb", {})
    assert not (tmp_path / "out.ipynb").exists()


def test_an_error_of_ours_keeps_its_kind(tmp_path):
    source = write_notebook(
        tmp_path / "n.ipynb",
        "from retrieval_eval.errors import BadInputError\nraise BadInputError('no such run')",
    )
    with pytest.raises(BadInputError, match=r"^no such run$"):
        execute(source, tmp_path / "out.ipynb", {"x": 2})


def test_a_kernel_that_dies_is_a_rendering_failure(tmp_path):
    source = write_notebook(tmp_path / "n.ipynb", "import os\nos._exit(1)")
    with pytest.raises(RenderError, match="could not be executed"):
        execute(source, tmp_path / "out.ipynb", {})


def test_a_kernel_that_is_still_busy_at_the_end_says_nothing(tmp_path, capfd):
    # The last request of a run asks what the kernel is; this one answers, and lingers.
    lingering = """import time
kernel = get_ipython().kernel
answered = kernel.shell_handlers["kernel_info_request"]
async def linger(*message):
    await answered(*message)
    time.sleep(1)
kernel.shell_handlers["kernel_info_request"] = linger
1"""
    source = write_notebook(tmp_path / "n.ipynb", lingering)
    execute(source, tmp_path / "out.ipynb", {})
    assert capfd.readouterr().err == ""


def test_a_notebook_without_outputs_is_no_report(project):
    with pytest.raises(RenderError, match="no output after executing"):
        check_outputs(assets.notebook("run_report"))


def test_names_of_report_folders():
    assert folder_name(["official/a", "b"]) == "a+b"
    assert folder_name(["../../x y"]) == "x_y"


def test_pdf_has_the_report(demo_page):
    pytest.importorskip("weasyprint")
    from retrieval_eval.report.render import to_pdf

    data = to_pdf(demo_page.read_text(encoding="utf-8"))
    assert data.startswith(b"%PDF")
    assert len(data) > 50_000


@pytest.mark.usefixtures("without_kernel")
def test_a_pdf_that_cannot_be_made_leaves_the_page(demo_roots, tmp_path, monkeypatch):
    from retrieval_eval.report import publishing

    def refuse(html):
        raise RenderError("a PDF needs WeasyPrint")

    monkeypatch.setattr(publishing, "to_pdf", refuse)
    with pytest.raises(RenderError, match="WeasyPrint"):
        build("demo", reports_dir=tmp_path, renderer="embedded", pdf=True, **demo_roots)
    assert (tmp_path / "demo" / "index.html").is_file()
