from __future__ import annotations

import html
import json
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from urllib.parse import unquote

import nbformat
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from retrieval_eval import __version__
from retrieval_eval.errors import FallbackWarning, RenderError
from retrieval_eval.escape import raw_block, visible
from retrieval_eval.report import notebook_files, publishing, quarto, render
from retrieval_eval.report.publishing import publish
from tests.processes import ends

TITLE = "Retrieval report: <made> $1 {{< include x >}}"
FOOTER = "made *here* {{< y >}}"

STAND_IN = """#!{python}
import json, os, pathlib, subprocess, sys, time
out = "index.html" if sys.argv[-1].endswith("html") else "report.pdf"
here = pathlib.Path.cwd()
seen = {{
    "argv": sys.argv[1:],
    "files": sorted(p.relative_to(here).as_posix() for p in here.rglob("*") if p.is_file()),
    "notebook": json.loads((here / sys.argv[2]).read_text()),
    "colour": os.environ.get("NO_COLOR"),
}}
{action}
"""
TELL = (
    "(here / out).write_text('<h1>t</h1><pre>' + json.dumps(seen).replace('<', chr(92) + 'u003c'))"
)


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """Return a function that puts a program on the path which does as it is told."""

    def make(action: str = TELL) -> None:
        folder = tmp_path / "bin"
        folder.mkdir()
        program = folder / "quarto"
        program.write_text(STAND_IN.format(python=sys.executable, action=action))
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(folder))

    return make


def rendered(notebook, suffix: str = "html") -> bytes:
    named = quarto.with_front_matter(notebook, title=TITLE, footer=FOOTER)
    return quarto.to_file(named, suffix)


def told(data: bytes) -> dict:
    return json.loads(data.decode().removeprefix("<h1>t</h1><pre>"))


def front_matter_of(source: str) -> dict:
    first, *lines, last = source.split("\n")
    assert first == last == "---"
    return yaml.safe_load("\n".join(lines))


@pytest.mark.parametrize(("suffix", "name"), quarto.FORMATS.items())
def test_quarto_gets_the_executed_notebook_as_it_is_and_our_formats(
    stand_in, executed, made_run, suffix, name
):
    stand_in()
    notebook = executed(made_run)
    seen = told(rendered(notebook, suffix))
    assert seen["argv"] == ["render", "report.ipynb", "--no-execute", "--to", name]
    assert seen["colour"] == "1"
    extension = {f"_extensions/retrieval-eval/{path.name}" for path in files_of_extension()}
    assert set(seen["files"]) == extension | {"report.ipynb"}
    first, *others = seen["notebook"]["cells"]
    assert first["cell_type"] == "raw"
    assert name in front_matter_of("".join(first["source"]))["format"]
    shown = [o["data"] for c in notebook.cells for o in c.get("outputs", [])]
    assert [sorted(o["data"]) for c in others for o in c.get("outputs", [])] == [
        sorted(data) for data in shown
    ]


@given(st.text(st.characters(codec=None), min_size=1, max_size=60))
def test_no_text_is_markup_in_front_matter(text):
    found = front_matter_of(quarto.front_matter(text, text, [(text, "../../index.html")]))
    for encoded in (found["pagetitle"], found["footer"], found["back"][0]["text"]):
        assert unquote(encoded) == visible(text)
        assert not set(encoded) & set("<>{}[]()*`$\\~^@#|!\"'&=/")
        assert not encoded.startswith(("-", ".", "_"))
    assert unquote(found["back"][0]["place"]) == "../../index.html"
    assert set(found["format"]) == set(quarto.FORMATS.values())


def files_of_extension() -> list[Path]:
    return [path for path in notebook_files.extension().iterdir() if path.is_file()]


def test_the_extension_has_every_file_that_it_names(tmp_path):
    copied = quarto.copy_extension(tmp_path)
    declared = yaml.safe_load((copied / "_extension.yml").read_text(encoding="utf-8"))
    formats = declared["contributes"]["formats"]
    named = {
        *(entry["path"] for entry in formats["common"]["filters"]),
        formats["html"]["template"],
        *formats["typst"]["template-partials"],
    }
    assert all((copied / name).is_file() for name in named)
    script = (copied / "report.lua").read_text(encoding="utf-8")
    assert set(re.findall(r'file\("([\w.]+)"\)', script)) == {"report.css", "report.js"}
    assert declared["version"] == __version__


def test_the_command_copies_the_extension_and_does_nothing_else(tmp_path, capsys):
    cli = import_module("retrieval_eval.cli")
    folder = tmp_path / "mine"
    assert cli.run(["report", "--quarto-extension", str(folder)]) == 0
    place = folder / "_extensions" / "retrieval-eval"
    assert capsys.readouterr().out == f"{place}\n"
    names = {path.name for path in place.iterdir()}
    assert names == {path.name for path in files_of_extension()}


def test_the_formats_never_execute_and_need_no_network():
    declared = yaml.safe_load(
        (notebook_files.extension() / "_extension.yml").read_text(encoding="utf-8")
    )
    formats = declared["contributes"]["formats"]
    assert formats["common"]["execute"]["enabled"] is False
    page = formats["html"]
    assert page["minimal"] is page["embed-resources"] is True
    assert (page["html-math-method"], page["html-table-processing"]) == ("mathml", "none")
    assert "theme" not in page


def test_the_filter_of_notebooks_leaves_no_html_for_which_quarto_would_add_scripts(
    executed, made_run
):
    notebook = executed(made_run)
    library = nbformat.v4
    fence = library.new_output("display_data", {"text/html": "<pre>\n````\n</pre>"})
    notebook.cells.append(library.new_code_cell("frame", outputs=[fence]))
    script = notebook_files.extension() / "html_as_markdown.py"
    done = subprocess.run(
        [sys.executable, script],
        input=nbformat.writes(notebook),
        capture_output=True,
        text=True,
        check=True,
    )
    filtered = nbformat.reads(done.stdout, as_version=4)
    pairs = zip(notebook.cells, filtered.cells, strict=True)
    outputs = [
        (a.data, b.data) for x, y in pairs for a, b in zip(_outputs(x), _outputs(y), strict=True)
    ]
    assert len(outputs) > 10
    for before, after in outputs:
        assert "text/html" not in after
        assert raw_block("html", before["text/html"]) in after["text/markdown"]
        assert after["text/markdown"].endswith(before.get("text/markdown", ""))
    assert "`````{=html}" in outputs[-1][1]["text/markdown"]


def _outputs(cell) -> list:
    return cell.get("outputs", [])


def test_a_failure_says_what_quarto_said(stand_in, executed, made_run):
    stand_in("print('ERROR: no such format', flush=True); sys.exit('second line')")
    with pytest.raises(RenderError, match="exit code 1:\nERROR: no such format\nsecond line"):
        rendered(executed(made_run))


def test_too_long_a_rendering_ends_with_all_that_it_started(
    stand_in, executed, made_run, tmp_path, monkeypatch
):
    child = tmp_path / "child"
    stand_in(
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"pathlib.Path({str(child)!r}).write_text(str(child.pid))\n"
        "print('Compiling', flush=True)\n"
        "time.sleep(600)"
    )
    monkeypatch.setattr(quarto, "TIMEOUT_SECONDS", 3)
    with pytest.raises(RenderError, match="did not end within 3 seconds:\nCompiling"):
        rendered(executed(made_run))
    assert ends(int(child.read_text()), 5)


def test_a_page_that_loads_a_script_is_refused(stand_in, executed, made_run):
    stand_in("(here / out).write_text('<h1>t</h1><script>x</script>')")
    with pytest.raises(RenderError, match="script"):
        rendered(executed(made_run))


def test_a_missing_quarto_is_named_with_its_command(monkeypatch, executed, made_run, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RenderError, match="pip install"):
        rendered(executed(made_run))


@pytest.fixture
def published(executed, made_run, tmp_path, monkeypatch):
    """Return a function that publishes a made run to one folder, and that folder."""
    text = nbformat.writes(executed(made_run))
    folder = tmp_path / "reports"

    def execute(source, target, values, **_):
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def tables(place: Path) -> list[tuple[str, str]]:
        (place / "trials.csv").write_text("new")
        return [("trials.csv", "one row a trial")]

    monkeypatch.setattr(publishing, "execute", execute)

    def make(**given) -> Path:
        return publish("run_report", {}, folder, title="Made", tables=tables, **given)

    return make, folder


def _leave_former_pages(folder: Path) -> None:
    folder.mkdir()
    for name in ("index.html", "report.pdf", "notes.txt"):
        (folder / name).write_text("former")


def test_auto_is_quarto_where_it_is_installed(stand_in, published):
    stand_in()
    make, folder = published
    seen = told(make(pdf=True).read_bytes())
    assert seen["argv"][-1] == "retrieval-eval-html"
    assert told((folder / "report.pdf").read_bytes())["argv"][-1] == "retrieval-eval-typst"
    # What Quarto gets is the executed notebook in the folder: rendered again, it is this page.
    assert seen["notebook"] == json.loads((folder / "run_report.ipynb").read_text())
    assert "params.yml" in str(seen["notebook"]["cells"][-1]).replace("\\", "")


def test_auto_is_the_embedded_renderer_where_quarto_is_not_installed(published, monkeypatch):
    monkeypatch.setenv("PATH", "")
    make, _ = published
    assert "rendered by the embedded renderer" in make().read_text(encoding="utf-8")


def test_where_quarto_fails_auto_is_the_embedded_renderer_and_warns(stand_in, published):
    stand_in("sys.exit('no such format')")
    make, _ = published
    with pytest.warns(FallbackWarning, match="the embedded renderer did: .*\nno such format"):
        page = make().read_text(encoding="utf-8")
    assert "rendered by the embedded renderer" in page


def test_a_failed_rendering_leaves_no_former_page_beside_new_tables(stand_in, published):
    stand_in("sys.exit('no such format')")
    make, folder = published
    _leave_former_pages(folder)
    with pytest.raises(RenderError, match="no such format"):
        make(renderer="quarto", pdf=True)
    left = {path.name for path in folder.iterdir()}
    assert left == {"run_report.ipynb", "trials.csv", "notes.txt", "figures"}


# What follows needs the real Quarto.


@pytest.fixture(scope="module")
def real_quarto() -> None:
    if quarto.executable() is None:
        pytest.skip("Quarto is not on the path")


def _main(page: str) -> str:
    return page[page.index("<main") : page.index("</main>")]


def _words(page: str) -> list[str]:
    return html.unescape(re.sub(r"<[^>]+>", " ", _main(page))).split()


def _tags(page: str) -> list[str]:
    return re.findall(r"<(/?\w+)", _main(page))


def _frame(page: str) -> list[str]:
    """Return what is around the content, without the style sheet, which Quarto reformats."""
    rest = re.sub(r"<style>.*?</style>", "", page.replace(_main(page), ""), flags=re.DOTALL)
    return html.unescape(rest).replace("<", " <").split()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["made_run", "hostile_run"])
def test_quartos_page_is_that_of_the_embedded_renderer(real_quarto, executed, request, name):
    notebook = executed(request.getfixturevalue(name))
    back = [("Run <b>", "../../index.html")]
    quarto.with_front_matter(notebook, title=TITLE, footer=FOOTER, back=back)
    theirs = quarto.to_file(notebook, "html").decode("utf-8")
    footer = f"{FOOTER} · rendered by Quarto"
    ours = render.to_html(notebook, title=TITLE, footer=footer, back=back)
    assert _words(theirs) == _words(ours)
    assert _tags(theirs) == _tags(ours)
    assert render.headings(theirs) == render.headings(ours)
    assert _frame(theirs) == _frame(ours)
