"""`report NOTEBOOK.ipynb`: the page of a notebook that a user changed and executed."""

from __future__ import annotations

import base64
import json
import re

import nbformat
import pandas as pd
import pytest

import retrieval_eval as rev
from retrieval_eval.cli import run
from retrieval_eval.cli.common import EXIT_BAD_INPUT, EXIT_RENDERING, EXIT_USAGE
from retrieval_eval.errors import BadInputError
from retrieval_eval.report import quarto, render_notebook

PICTURE = base64.encodebytes(b"\x89PNG\r\n\x1a\n" + bytes(80)).decode()


FRAME = pd.DataFrame({"config_name": ["a", "a", "b"], "file_recall": [0.25, 1.0, 0.5]})


@pytest.fixture
def own(tmp_path):
    """Return a function that saves a user's executed notebook, after changing it."""

    def saved(change=lambda notebook: None, name="my report.ipynb"):
        figure = rev.plot.ecdf(FRAME, "file_recall", by="config_name")._repr_mimebundle_()
        cells = [
            nbformat.v4.new_raw_cell(quarto.front_matter()),
            nbformat.v4.new_markdown_cell("# What I found\n\nWords."),
            nbformat.v4.new_code_cell("import retrieval_eval as rev", execution_count=1),
            nbformat.v4.new_markdown_cell("## A figure"),
            nbformat.v4.new_code_cell("rev.plot.ecdf(trials, 'file_recall')", execution_count=2),
        ]
        cells[-1].outputs = [nbformat.v4.new_output("display_data", figure)]
        notebook = nbformat.v4.new_notebook(cells=cells)
        change(notebook)
        path = tmp_path / name
        path.write_text(nbformat.writes(notebook), encoding="utf-8")
        return path

    return saved


def shows(notebook, data: dict[str, str]) -> None:
    """Add a cell of the user's own that shows this."""
    cell = nbformat.v4.new_code_cell("own", execution_count=99)
    cell.outputs = [nbformat.v4.new_output("display_data", data)]
    notebook.cells.append(cell)


def code(notebook) -> list:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_the_page_shows_what_the_user_changed(own, capsys):
    def change(notebook):
        notebook.cells[1].source = "# My <own> report"
        shows(notebook, {"image/png": PICTURE, "text/plain": "<Figure of mine>"})
        shows(notebook, {"image/svg+xml": "<svg xmlns='x'>a,b</svg>", "text/plain": "drawn"})
        shows(notebook, {"text/markdown": "Some *words*", "text/plain": "Markdown object"})
        notebook.cells[-1].outputs.append(nbformat.v4.new_output("stream", text="printed"))

    path = own(change)
    assert run(["report", str(path), "--renderer", "embedded"]) == 0
    page = path.with_suffix(".html")
    assert capsys.readouterr().out == f"{page}\n"
    html = page.read_text(encoding="utf-8")
    assert "<title>My &lt;own&gt; report</title>" in html
    assert "rendered by the embedded renderer" in html
    assert '<figure id="fig-ecdf-file_recall' in html
    assert "import retrieval_eval" not in html
    picture = PICTURE.replace("\n", "")
    assert f'<img src="data:image/png;base64,{picture}" alt="&lt;Figure of mine&gt;">' in html
    assert "data:image/svg+xml,%3Csvg%20xmlns%3D%27x%27%3Ea%2Cb%3C/svg%3E" in html
    assert "Some <em>words</em>" in html
    assert "printed" not in html


def test_simulated_data_is_named_in_the_title_once(own):
    def change(notebook):
        code(notebook)[-1].outputs[0].data["text/plain"] = "Simulated data: all are invented."

    path = own(change)
    html = render_notebook(path, path.with_suffix(".html")).read_text(encoding="utf-8")
    assert re.findall("<h1[^>]*>(.*?)<", html) == ["Simulated data: What I found"]
    assert "<title>Simulated data: What" in html


def test_it_can_be_printed(own):
    pytest.importorskip("weasyprint")
    path = own()
    assert run(["report", str(path), "--pdf", "--renderer", "embedded"]) == 0
    assert path.with_suffix(".pdf").read_bytes().startswith(b"%PDF")
    assert path.with_suffix(".html").exists()


def not_executed(notebook):
    for cell in code(notebook):
        cell.outputs, cell.execution_count = [], None


def half_executed(notebook):
    cell = nbformat.v4.new_code_cell("mine = 1\nmine")
    notebook.cells.append(cell)


def failed(notebook):
    error = nbformat.v4.new_output("error", ename="KeyError", evalue="'x\x1b[0m'", traceback=[])
    code(notebook)[-1].outputs = [error]


def of_something_else(notebook):
    for cell in code(notebook):
        cell.source = "import pandas  # not retrieval_eval"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            not_executed,
            "the cell 'import retrieval_eval as rev' was not executed; execute it first: papermill",
        ),
        (half_executed, "the cell 'mine = 1' was not executed"),
        (
            failed,
            r"ecdf\(trials, 'file_recall'\)' ended with KeyError: 'x\\u001b\[0m'",
        ),
        (of_something_else, "no cell imports retrieval_eval; other notebooks"),
    ],
)
def test_what_cannot_be_a_page_is_refused_in_a_sentence(own, change, message):
    path = own(change)
    with pytest.raises(BadInputError, match=message) as found:
        render_notebook(path, path.with_suffix(".html"))
    assert str(found.value).startswith(f"{path}: ")
    assert not path.with_suffix(".html").exists()


CELL = {"cell_type": "code", "source": "import retrieval_eval", "outputs": []}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# a page", "is no notebook: not valid JSON"),
        ("\xff", "is no notebook: not valid JSON"),
        ("[]", "is no notebook: it has not the format of a notebook, nbformat 4"),
        ('{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": ["x"]}', "is no notebook"),
        ('{"nbformat": 4, "nbformat_minor": "5", "metadata": {}, "cells": []}', "is no notebook"),
        ('{"nbformat": 4.0, "nbformat_minor": 5, "metadata": {}, "cells": []}', "is no notebook"),
        ('{"nbformat": 3, "worksheets": []}', "nbformat 4"),
        ('{"nbformat": 4}', "'metadata' is a required property"),
        (json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [CELL]}), "is "),
        ("[" * 90_000, "nested too deeply"),
    ],
)
def test_what_is_no_notebook_is_refused(tmp_path, capsys, text, message):
    path = tmp_path / "a.ipynb"
    path.write_text(text, encoding="utf-8")
    assert run(["report", str(path)]) == EXIT_BAD_INPUT
    said = capsys.readouterr().err
    assert str(path) in said
    assert message in said
    assert len(said.splitlines()) == 1


def test_a_notebook_is_never_overwritten(own, capsys):
    path = own()
    before = path.read_bytes()
    with pytest.raises(BadInputError, match=r"a page ends in \.html, a PDF in \.pdf"):
        render_notebook(path, path)
    assert path.read_bytes() == before
    assert run(["report", str(path), "--privacy"]) == EXIT_USAGE
    assert "--privacy does not go with a notebook" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"text/html": "<script>alert(1)</script>"}, "a <script> element that is not its own"),
        ({"text/html": '<img src="https://example.org/a.png">'}, "from outside"),
        ({"text/markdown": "# Another title"}, "has 2 main headings, not 1; in a notebook"),
    ],
)
def test_a_page_that_would_not_stand_alone_is_not_written(own, capsys, data, message):
    path = own(lambda notebook: shows(notebook, data))
    assert run(["report", str(path), "--renderer", "embedded"]) == EXIT_RENDERING
    assert message in capsys.readouterr().err
    assert not path.with_suffix(".html").exists()
