from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.report.execute import declared
from retrieval_eval.report.quarto import front_matter

NOTEBOOKS = sorted(Path(__file__).resolve().parents[2].glob("notebooks/**/*.ipynb"))
REPORTS = [p for p in NOTEBOOKS if p.parent.name == "notebooks"]
PUBLIC = next(p for p in NOTEBOOKS if p.stem == "public_study")
"""The lesson on clones of public repositories; the others run as they are."""

LESSONS = [p for p in NOTEBOOKS if p.parent.name == "explore" and p != PUBLIC]
MAX_LINES = 20
MAX_LINES_OF_LOADING = 25
MAX_STATEMENTS = 9
MAX_WIDTH = 115
LOADERS = {
    "search_report": "load_search",
    "search_diff": "load_diff",
    "history": "load_history",
    "own_retriever": "load_gold_set",
}
FIRST = {"search_report": "run", "search_diff": "a", "history": "data"}
"""What a notebook's run is called, where it is not ``run_id``."""

SAYS = {
    "search_report": "no search run was given",
    "search_diff": "name two search runs",
    "history": "no folder was given",
}
"""What a notebook says without a run, where it is not that of a run id."""


def name(path: Path) -> str:
    return path.stem


def cells_of(path: Path) -> list:
    """Return the cells behind the first one, which names the formats of its pages."""
    return nbformat.read(path, as_version=4).cells[1:]


def code(path: Path) -> list:
    return [c for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name)
def test_stored_clean(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert notebook.metadata.kernelspec.name == "python3"
    for cell in notebook.cells:
        assert set(cell.metadata) <= {"tags"}
        if cell.cell_type == "code":
            assert cell.outputs == []
            assert cell.execution_count is None


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name)
def test_the_first_cell_names_the_formats_of_its_pages(path):
    first = nbformat.read(path, as_version=4).cells[0]
    assert (first.cell_type, first.source) == ("raw", front_matter())


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name)
def test_title_then_typed_parameters_then_loading(path):
    cells = cells_of(path)
    assert cells[0].cell_type == "markdown"
    assert cells[0].source.startswith("# ")
    assert cells[1].metadata["tags"] == ["parameters"]
    assert LOADERS.get(path.stem, "load_run") in cells[2].source
    assert "check_parameters()" in cells[2].source.splitlines()
    known = declared(cells[1].source)
    lines = ast.parse(cells[1].source).body
    assert all(isinstance(line, ast.AnnAssign) for line in lines), "each has a type"
    assert len(known) == len(cells[1].source.splitlines())
    assert all(p.meaning for p in known.values())


@pytest.mark.parametrize("path", REPORTS, ids=name)
def test_a_report_is_about_nothing_until_it_is_told(path):
    known = declared(cells_of(path)[1].source)
    assert next(iter(known)) == FIRST.get(path.stem, "run_id")
    assert next(iter(known.values())).default == ""


@pytest.mark.parametrize("path", LESSONS, ids=name)
def test_a_lesson_runs_as_it_is(path):
    known = declared(cells_of(path)[1].source)
    assert known["run_id"].default == "demo" if "run_id" in known else "gold_file" in known


def test_the_public_study_says_in_one_sentence_which_clones_are_missing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mini-swe-agent-CaM" / "run_results" / "mini-output").mkdir(parents=True)
    said = r"clones of public repositories .* missing: one at 'mini-swe-agent/.*', truth at '.*'$"
    with pytest.raises(BadInputError, match=said):
        exec("\n".join(cell.source for cell in code(PUBLIC)[:2]), {})


WRITES = {"open", "write_text", "write_bytes", "to_csv", "exec", "eval", "system"}
DEFINES = (ast.FunctionDef, ast.ClassDef, ast.Lambda, ast.For, ast.While, ast.With)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name)
def test_cells_are_short_and_write_nothing(path):
    for number, cell in enumerate(code(path)[1:]):
        most = MAX_LINES_OF_LOADING if number == 0 else MAX_LINES
        assert len(cell.source.splitlines()) <= most, cell.source
        statements = ast.parse(cell.source).body
        own = [s for s in statements if not isinstance(s, ast.Import | ast.ImportFrom)]
        assert len(own) <= MAX_STATEMENTS, cell.source
        assert max(map(len, cell.source.splitlines())) <= MAX_WIDTH, cell.source
        for node in ast.walk(ast.parse(cell.source)):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func).rsplit(".", 1)[-1]
                assert called not in WRITES, cell.source


@pytest.mark.parametrize("path", REPORTS, ids=name)
def test_a_report_defines_nothing_and_prints_nothing(path):
    for cell in code(path):
        for node in ast.walk(ast.parse(cell.source)):
            assert not isinstance(node, DEFINES), cell.source
            if isinstance(node, ast.Call):
                assert ast.unparse(node.func) != "print", cell.source


@pytest.mark.parametrize("path", REPORTS, ids=name)
def test_every_section_has_a_heading(path):
    cells = cells_of(path)[3:]
    assert cells[0].cell_type == "markdown"
    shown = [ast.parse(c.source).body[-1] for c in cells if c.cell_type == "code"]
    assert all(isinstance(last, ast.Expr) for last in shown), "every cell shows something"
    words = [c.source for c in cells if c.cell_type == "markdown" and c.source.startswith("#")]
    levels = [len(text) - len(text.lstrip("#")) for text in words]
    assert set(levels) <= {2, 3}
    assert levels[0] == 2
    assert len(words) == len(set(words))


@pytest.mark.parametrize("path", [p for p in REPORTS if p.stem != "trial_report"], ids=name)
def test_the_limits_are_always_printed(path):
    text = path.read_text(encoding="utf-8")
    assert "What this report cannot tell you" in text or "Associations are no causes" in text


def papermill(path: Path, folder: Path, *chosen: str) -> subprocess.CompletedProcess[str]:
    """Run a notebook as its user would, in an empty folder and without a home."""
    project = Path(__file__).resolve().parents[2]
    (folder / "home").mkdir(exist_ok=True)
    return subprocess.run(
        [sys.executable, "-m", "papermill", str(path), "out.ipynb", *chosen],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"HOME": str(folder / "home"), "PYTHONPATH": str(project)},
    )


def failure(path: Path) -> list[str]:
    """Return what an executed notebook shows of the error that ended it."""
    outputs = [output for cell in code(path) for output in cell.outputs]
    (error,) = (output for output in outputs if output.output_type == "error")
    return list(error.traceback)


@pytest.mark.parametrize("path", REPORTS, ids=name)
def test_without_a_run_it_stops_in_one_sentence_and_writes_nothing(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = "\n".join(cell.source for cell in code(path)[:2])
    with pytest.raises(BadInputError, match=f"^{SAYS.get(path.stem, 'no run id was given')}"):
        exec(source, {})
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_papermill_alone_runs_a_notebook_and_ends_with_that_sentence(tmp_path):
    chosen = ("-p", "run_id", "demo", "-p", "run_ids", "x")
    said = "the notebook has no parameter 'run_ids'"
    done = papermill(next(p for p in REPORTS if p.stem == "run_report"), tmp_path, *chosen)
    assert done.returncode != 0
    (sentence,) = failure(tmp_path / "out.ipynb")
    assert sentence.startswith(f"BadInputError: {said}")
    assert done.stderr.rstrip().endswith(sentence)
    assert not (tmp_path / "reports").exists()
