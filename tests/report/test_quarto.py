from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import yaml

from retrieval_eval.errors import RenderError
from retrieval_eval.report import assets, quarto

STAND_IN = """#!{python}
import json, pathlib, sys
out = sys.argv[sys.argv.index("--output") + 1]
here = pathlib.Path.cwd()
notebook = json.loads((here / sys.argv[2]).read_text())
seen = {{
    "argv": sys.argv[1:],
    "files": sorted(p.relative_to(here).as_posix() for p in here.rglob("*") if p.is_file()),
    "mimes": sorted(
        {{m for c in notebook["cells"] for o in c.get("outputs", []) for m in o["data"]}}
    ),
    "echo": [c["source"][0] for c in notebook["cells"] if c["cell_type"] == "code"],
}}
{action}
"""


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    def make(action: str = "(here / out).write_text(json.dumps(seen))") -> None:
        folder = tmp_path / "bin"
        folder.mkdir()
        program = folder / "quarto"
        program.write_text(STAND_IN.format(python=sys.executable, action=action))
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(folder))

    return make


def test_quarto_gets_markdown_outputs_the_project_and_our_style(
    stand_in, executed, made_run, tmp_path
):
    stand_in()
    target = tmp_path / "index.html"
    quarto.render(executed(made_run), target, title="Retrieval report: <made>")
    seen = json.loads(target.read_text())
    assert seen["argv"][:5] == ["render", "report.ipynb", "--to", "html", "--no-execute"]
    assert seen["argv"][-1] == "pagetitle:Retrieval_report_made"
    assert seen["files"] == [
        "_quarto.yml",
        "report.ipynb",
        "retrieval_eval/report/templates/report.css",
    ]
    assert seen["mimes"] == ["text/markdown"]
    assert set(seen["echo"]) == {"#| echo: false\n"}


def test_a_pdf_is_set_by_typst(stand_in, executed, made_run, tmp_path):
    stand_in()
    quarto.render(executed(made_run), tmp_path / "report.pdf", title="t")
    assert json.loads((tmp_path / "report.pdf").read_text())["argv"][3] == "typst"


def test_a_failure_says_what_quarto_said(stand_in, executed, made_run, tmp_path):
    stand_in("sys.exit('no such format')")
    with pytest.raises(RenderError, match="exit code 1: no such format"):
        quarto.render(executed(made_run), tmp_path / "index.html", title="t")
    assert not (tmp_path / "index.html").exists()


def test_an_empty_success_is_a_failure(stand_in, executed, made_run, tmp_path):
    stand_in("pass")
    with pytest.raises(RenderError, match="wrote no index"):
        quarto.render(executed(made_run), tmp_path / "index.html", title="t")


def test_a_missing_quarto_is_named_with_its_command(monkeypatch, executed, made_run, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RenderError, match="pip install"):
        quarto.render(executed(made_run), tmp_path / "index.html", title="t")


def test_the_project_never_executes_and_needs_no_network():
    project = yaml.safe_load(assets.quarto_project().read_text(encoding="utf-8"))
    assert project["execute"]["enabled"] is False
    html = project["format"]["html"]
    assert html["minimal"] is True
    assert html["embed-resources"] is True
    assert html["html-math-method"] == "mathml"
    assert "theme" not in html
    assert html["css"] == quarto.STYLE
    assert Path(quarto.STYLE).name == assets.style_sheet().name
    assert "typst" in project["format"]
