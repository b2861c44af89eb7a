from __future__ import annotations

import html
import json
import re
import sys
import time
from pathlib import Path

import nbformat
import pytest
import yaml

from retrieval_eval.errors import RenderError
from retrieval_eval.report import Run, assets, publishing, quarto, render
from retrieval_eval.report.publishing import publish
from tests.factories import write_run
from tests.report.conftest import check_in_browser

TITLE = "Retrieval report: <made> $1"

STAND_IN = """#!{python}
import json, os, pathlib, subprocess, sys, time
out = sys.argv[sys.argv.index("--output") + 1]
here = pathlib.Path.cwd()
notebook = json.loads((here / sys.argv[2]).read_text())
seen = {{
    "argv": sys.argv[1:],
    "files": sorted(p.relative_to(here).as_posix() for p in here.rglob("*") if p.is_file()),
    "kinds": sorted({{c["cell_type"] for c in notebook["cells"]}}),
    "text": "\\n\\n".join("".join(c["source"]) for c in notebook["cells"]),
    "template": (here / "page.html").read_text(),
    "header": (here / "print.typ").read_text(),
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
    return quarto.to_file(notebook, suffix, title=TITLE, footer="made")


def told(data: bytes) -> dict:
    return json.loads(data.decode().removeprefix("<h1>t</h1><pre>"))


def test_quarto_gets_the_html_of_our_page_and_no_code(stand_in, executed, made_run):
    stand_in()
    notebook = executed(made_run)
    seen = told(rendered(notebook))
    assert seen["argv"][:5] == ["render", "report.ipynb", "--to", "html", "--no-execute"]
    assert seen["argv"][-2:] == ["--template", "page.html"]
    assert "--quiet" not in seen["argv"]
    assert seen["colour"] == "1"
    assert {"_quarto.yml", "report.ipynb", "page.html"} <= set(seen["files"])
    assert seen["kinds"] == ["markdown"]
    shown = [o["data"]["text/html"] for c in notebook.cells for o in c.get("outputs", [])]
    assert shown
    assert all(f"```{{=html}}\n{output}\n```" in seen["text"] for output in shown)
    assert "{=typst}" not in seen["text"]


def test_the_page_around_is_that_of_the_embedded_renderer(stand_in, executed, made_run):
    stand_in()
    template = told(rendered(executed(made_run)))["template"]
    page = render.to_html(executed(made_run), title=TITLE, footer="made")
    assert "<title>Retrieval report: &lt;made&gt; $$1</title>" in template
    order = ("$table-of-contents$", "<h1>$title$</h1>", "$body$", "</main>")
    assert sorted(order, key=template.index) == list(order)
    for part in ("<style>", 'class="skip"', 'class="contents"', 'id="main"', "<footer"):
        assert page.count(part) == template.count(part) == 1
    assert assets.style_sheet().read_text(encoding="utf-8") in template.replace("$$", "$")


def test_a_pdf_is_set_by_typst(stand_in, executed, made_run):
    stand_in()
    notebook = executed(made_run)
    seen = told(rendered(notebook, "pdf"))
    assert seen["argv"][3] == "typst"
    assert seen["argv"][-2:] == ["--include-in-header", "print.typ"]
    assert '"Retrieval report: <made> $1"' in seen["header"]
    shown = [o["data"]["text/markdown"] for c in notebook.cells for o in c.get("outputs", [])]
    assert all(output in seen["text"] for output in shown)
    assert "{=html}" not in seen["text"]


def test_a_failure_says_what_quarto_said(stand_in, executed, made_run):
    stand_in("print('ERROR: no such format', flush=True); sys.exit('second line')")
    with pytest.raises(RenderError, match="exit code 1:\nERROR: no such format\nsecond line"):
        rendered(executed(made_run))


def test_what_quarto_said_is_short_and_harmless_in_a_terminal(stand_in, executed, made_run):
    stand_in("sys.exit('a' * 90_000 + '\\x1b[31mred\\x1b[0m \\x1b]0;title\\x07 end')")
    with pytest.raises(RenderError) as found:
        rendered(executed(made_run))
    said = str(found.value)
    assert said.endswith("ared \\u001b]0;title\\u0007 end")
    assert len(said) < 5000


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
    assert _ends(int(child.read_text()))


def _ends(process: int) -> bool:
    for _ in range(100):
        try:
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


def test_an_empty_success_is_a_failure(stand_in, executed, made_run):
    stand_in("pass")
    with pytest.raises(RenderError, match="wrote no report"):
        rendered(executed(made_run))


def test_a_page_that_loads_a_script_is_refused(stand_in, executed, made_run):
    stand_in("(here / out).write_text('<h1>t</h1><script>x</script>')")
    with pytest.raises(RenderError, match="script"):
        rendered(executed(made_run))


def test_a_missing_quarto_is_named_with_its_command(monkeypatch, executed, made_run, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RenderError, match="pip install"):
        rendered(executed(made_run))


def test_the_project_never_executes_and_needs_no_network():
    project = yaml.safe_load(assets.quarto_project().read_text(encoding="utf-8"))
    assert project["execute"]["enabled"] is False
    assert project["html-table-processing"] == "none"
    page = project["format"]["html"]
    assert page["minimal"] is True
    assert page["embed-resources"] is True
    assert page["html-math-method"] == "mathml"
    assert "theme" not in page
    assert page["css"] == quarto.STYLE
    assert Path(quarto.STYLE).name == assets.style_sheet().name
    assert "typst" in project["format"]


@pytest.fixture
def published(executed, made_run, tmp_path, monkeypatch):
    """Return a function that publishes a made run to one folder, and that folder."""
    text = nbformat.writes(executed(made_run))
    folder = tmp_path / "reports"

    def execute(source, target, values, *, progress):
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


def test_auto_is_the_embedded_renderer_also_where_quarto_is_installed(stand_in, published):
    stand_in("sys.exit('must not run')")
    make, _ = published
    assert "rendered by the embedded renderer" in make().read_text(encoding="utf-8")


def test_a_failed_rendering_leaves_no_former_page_beside_new_tables(stand_in, published):
    stand_in("sys.exit('no such format')")
    make, folder = published
    _leave_former_pages(folder)
    with pytest.raises(RenderError, match="no such format"):
        make(renderer="quarto", pdf=True)
    left = {path.name for path in folder.iterdir()}
    about = {"params.yml", "versions.csv", "figures"}
    assert left == {"run_report.ipynb", "trials.csv", "notes.txt"} | about


def test_a_page_alone_leaves_no_former_pdf_beside_it(published):
    make, folder = published
    _leave_former_pages(folder)
    make(renderer="embedded")
    assert not (folder / "report.pdf").exists()
    assert (folder / "index.html").read_text(encoding="utf-8") != "former"
    assert (folder / "notes.txt").exists()


def test_a_failed_pdf_leaves_the_new_page_and_no_former_pdf(stand_in, published):
    stand_in(f"{TELL} if out.endswith('html') else sys.exit('no font')")
    make, folder = published
    _leave_former_pages(folder)
    with pytest.raises(RenderError, match="no font"):
        make(renderer="quarto", pdf=True)
    assert (folder / "index.html").read_text(encoding="utf-8") != "former"
    assert not (folder / "report.pdf").exists()


# What follows needs the real Quarto.


@pytest.fixture(scope="module")
def real_quarto() -> None:
    if quarto.executable() is None:
        pytest.skip("Quarto is not on the path")


def _words(page: str) -> list[str]:
    main = page[page.index("<main") : page.index("</main>")]
    return html.unescape(re.sub(r"<[^>]+>", " ", main)).split()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["made_run", "hostile_run"])
def test_quartos_page_says_what_the_embedded_one_says(real_quarto, executed, request, name):
    notebook = executed(request.getfixturevalue(name))
    ours = render.to_html(notebook, title=TITLE, footer="made")
    theirs = rendered(notebook).decode("utf-8")
    assert _words(theirs) == _words(ours)
    # Figures are numbered by the style sheet, which is the only one to do so.
    assert theirs.count("<figcaption>") == ours.count("<figcaption>")
    heads = [[h.text for h in render.headings(page) if h.level > 1] for page in (ours, theirs)]
    assert heads[0] == heads[1]


@pytest.mark.slow
def test_quartos_page_has_a_layout(real_quarto, executed, made_run, browser, tmp_path):
    target = tmp_path / "index.html"
    target.write_bytes(rendered(executed(made_run)))
    check_in_browser(browser, target, "quarto_report")
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(target.as_uri())
    assert page.locator("h1").bounding_box()["x"] > 20
    box = page.locator(".block.answer")
    assert box.evaluate("e => getComputedStyle(e).backgroundColor") != "rgba(0, 0, 0, 0)"
    assert page.locator("nav.contents a").count() >= 10
    page.close()


@pytest.mark.slow
def test_a_pdf_by_quarto_has_room_for_every_row(real_quarto, executed, tmp_path):
    few, many = (
        _pages(rendered(executed(Run([write_run(tmp_path / str(n), n_tasks=n)])), "pdf"))
        for n in (12, 300)
    )
    # At most 60 rows of a table fit on a page.
    assert many - few >= 288 // 60


@pytest.mark.slow
def test_hostile_names_do_not_stop_a_pdf_by_quarto(real_quarto, executed, hostile_run):
    assert _pages(rendered(executed(hostile_run), "pdf")) > 5


def _pages(pdf: bytes) -> int:
    return max(int(count) for count in re.findall(rb"/Count (\d+)", pdf))
