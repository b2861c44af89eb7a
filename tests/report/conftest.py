"""A page without a kernel: the notebook's own cells, run in this process on made artefacts.

And the browser that such pages are opened in.
"""

from __future__ import annotations

import ast
import copy
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from html import unescape
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary
from xml.etree import ElementTree as ET

import pytest

from retrieval_eval.escape import slug
from retrieval_eval.io.files import write_text
from retrieval_eval.report import Run, build, load_run, notebook_files, publishing, render
from retrieval_eval.report import loading as loading_module
from retrieval_eval.report.exhibits import Empty, Figure, Table
from retrieval_eval.report.notebook_files import notebook_text, read_notebook
from tests.sharing import shared

CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
FONTS = {"sans-serif": "DejaVu Sans", "serif": "DejaVu Serif", "monospace": "DejaVu Sans Mono"}
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "a|b `code` *x* _y_ # z",
    "$\\frac{1}{0}$ \\(x\\)",
    "{{< include /etc/passwd >}}",
    "](javascript:alert(1))",
    "one\ntwo\u202eevil\u200b\x07",
    "lone \ud800 surrogate",
    "=cmd|' /C calc'!A0",
    "long-" * 400,
    "任务-🙂-עברית",
)


def run_cells(notebook: Any, loader: tuple[Any, str], run: Any, /, **parameters: Any) -> Any:
    """Return a notebook whose own cells were run on ``run``; of each the last expression shows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(*loader, lambda *_, **__: run)
        for cell, data in values_of(notebook, parameters):
            output = {"output_type": "execute_result", "metadata": {}, "execution_count": 1}
            cell.outputs = [_node(output | {"data": data._repr_mimebundle_()})]
    return notebook


def values_of(notebook: Any, parameters: Mapping[str, Any]) -> Iterator[tuple[Any, Any]]:
    """Run the cells of a notebook; yield each that ends in an expression, with its value."""
    space: dict[str, Any] = {}
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        tree = ast.parse(cell.source)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "cell", "exec"), space)
        if "parameters" in cell.metadata.get("tags", []):
            space.update(parameters)
        if isinstance(last, ast.Expr):
            yield cell, eval(compile(ast.Expression(last.value), "cell", "eval"), space)


SHARED: WeakKeyDictionary[Run, str] = WeakKeyDictionary()
"""Runs that every worker has, with their names: each of their notebooks is executed once."""


@pytest.fixture(scope="session")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """Return a function that runs a notebook in this process on a given run, once for each."""
    done: WeakKeyDictionary[Run, dict[str, Any]] = WeakKeyDictionary()

    def executed_on(run: Run, name: str = "run_report", **parameters: Any) -> Any:
        key = slug(repr((SHARED.get(run), name, sorted(parameters.items()))))
        known = done.setdefault(run, {})

        def execute() -> Any:
            notebook = read_notebook(notebook_files.notebook(name))
            return run_cells(notebook, (loading_module, "load_run"), run, **parameters)

        def make(folder: Path) -> None:
            write_text(folder / "executed.ipynb", notebook_text(execute()))

        if key not in known and run in SHARED:
            folder = shared(tmp_path_factory, f"executed-{key}", make)
            known[key] = read_notebook(folder / "executed.ipynb")
        elif key not in known:
            known[key] = execute()
        return copy.deepcopy(known[key])

    return executed_on


def _node(output: dict[str, Any]) -> Any:
    import nbformat

    return nbformat.from_dict(output)


@pytest.fixture(scope="session")
def page_of(executed: Callable[..., Any]) -> Callable[..., str]:
    """Return a function that renders a notebook over a run to HTML."""

    def render_page(run: Run, name: str = "run_report", **parameters: Any) -> str:
        notebook = executed(run, name, **parameters)
        is_short = name in publishing.SHORT
        whole = render.gathered(notebook) if is_short else notebook
        return render.to_html(whole, title="Report: made", footer="made")

    return render_page


@pytest.fixture(scope="session")
def page(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Callable[[str], Path]:
    """Return a function that gives the file of a page of ``PAGES``, made once for all workers."""
    from tests.report.pages import PAGES

    def file_of(name: str) -> Path:
        def make(folder: Path) -> None:
            write_text(folder / "index.html", PAGES[name](request.getfixturevalue))

        return shared(tmp_path_factory, f"page-{name}", make) / "index.html"

    return file_of


def _shared_run(factory: pytest.TempPathFactory, name: str, **given: Any) -> Run:
    from tests.factories import write_run

    folder = shared(factory, f"run-{name}", lambda place: write_run(place, **given))
    run = Run([folder / "made" / "retrieval_events"])
    SHARED[run] = name
    return run


@pytest.fixture(scope="session")
def hostile_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run whose task, config and suite names attack the page."""
    return _shared_run(
        tmp_path_factory,
        "hostile",
        n_tasks=14,
        task_names=HOSTILE,
        configs=("<b>base</b>", "$mcp$ `x` | {{y}} \ud800"),
        suites=("<i>suite</i>", "s|t\udfff"),
        n_without_trace=1,
        excluded=(
            {"path": "<u>p</u>", "config_name": None, "reason": "<s>", "detail": "`<script>`"},
        ),
    )


@pytest.fixture(scope="session")
def made_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """An ordinary run of twelve tasks under two configs."""
    return _shared_run(tmp_path_factory, "made")


@pytest.fixture(scope="session")
def demo_run(demo_roots: dict[str, Path]) -> Run:
    """The recorded demo."""
    run = load_run("demo", **demo_roots)
    SHARED[run] = "demo"
    return run


@pytest.fixture(scope="session")
def demo_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the recorded demo, in the folder that its report is."""

    def make(folder: Path) -> None:
        build("demo", reports_dir=folder, renderer="embedded")

    return shared(tmp_path_factory, "demo-report", make) / "demo" / "index.html"


@pytest.fixture(scope="session")
def withheld_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run whose second arm never got an answer from its MCP server."""
    return _shared_run(tmp_path_factory, "withheld", has_mcp_answers=False)


@pytest.fixture(scope="session")
def shown(executed: Callable[..., Any]) -> Callable[..., dict[str, str]]:
    """Return a function that gives what each cell of a report shows, by its heading.

    A page's words and cells, without tags and pictures.
    """

    def of_run(run: Run, name: str = "run_report", **parameters: Any) -> dict[str, str]:
        found, heading = {}, "header"
        for cell in executed(run, name, **parameters).cells:
            if cell.cell_type == "markdown" and cell.source.startswith("##"):
                heading = cell.source.splitlines()[0].strip("# ")
            elif cell.get("outputs"):
                html = re.sub(
                    r'src="data:[^"]*"|srcset="[^"]*"', "", cell.outputs[0].data["text/html"]
                )
                alts = " ".join(re.findall(r'alt="([^"]*)"', html))
                words = re.sub(r"<[^>]*>", " ", html)
                found[heading] = unescape(" ".join(f"{alts} {words}".split()))
        return found

    return of_run


@pytest.fixture(scope="session")
def fonts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A configuration of fontconfig with the fonts that come with matplotlib, and no others.

    What a machine has installed then changes no line break. DejaVu is the widest of the fonts that
    systems usually have, so what fits in it fits in theirs.
    """
    import matplotlib as mpl

    folder = tmp_path_factory.mktemp("fonts")
    root = ET.Element("fontconfig")
    ET.SubElement(root, "dir").text = str(Path(mpl.get_data_path()) / "fonts" / "ttf")
    ET.SubElement(root, "cachedir").text = str(folder / "cache")
    for generic, name in FONTS.items():
        alias = ET.SubElement(root, "alias", binding="same")
        ET.SubElement(alias, "family").text = generic
        ET.SubElement(ET.SubElement(alias, "prefer"), "family").text = name
    path = folder / "fonts.conf"
    ET.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)
    return path


@pytest.fixture(scope="module")
def browser(fonts: Path) -> Iterator[Any]:
    """A real browser with `fonts`; tests that need it are skipped where it is not installed."""
    playwright = pytest.importorskip("playwright.sync_api")
    if not Path(CHROMIUM).exists():
        pytest.skip("Chromium is not installed; install the package chromium")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(
            executable_path=CHROMIUM,
            args=FLAGS,
            env={**os.environ, "FONTCONFIG_FILE": str(fonts)},
        )
        yield opened
        opened.close()


def opened(browser: Any, path: Path, name: str, *, width: int = 1280, scheme: str = "light") -> Any:
    """Open a page from its file: it asks for nothing, says nothing, and is accessible.

    What it looks like is kept as a picture of this name.
    """
    page = browser.new_page(viewport={"width": width, "height": 1000}, color_scheme=scheme)
    requests: list[str] = []
    problems: list[str] = []
    page.on("request", lambda r: requests.append(r.url))
    page.on("console", lambda m: problems.append(m.text))
    page.on("pageerror", lambda e: problems.append(str(e)))
    page.on("dialog", lambda d: problems.append(d.message))
    page.goto(path.as_uri())
    assert [u for u in requests if not u.startswith(("data:", path.as_uri()))] == []
    assert problems == []
    assert_accessible(page)
    screenshots = Path(os.environ.get("RETRIEVAL_EVAL_SCREENSHOTS", "build/screenshots"))
    screenshots.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=screenshots / f"{name}.png", full_page=True)
    return page


def assert_accessible(page: Any) -> None:
    from axe_playwright_python.sync_playwright import Axe

    results = Axe().run(page)
    assert results.violations_count == 0, results.generate_report()


def assert_complete(block: Any) -> None:
    """Fail unless a section has a finding, and every exhibit what a reader needs."""
    assert block.finding or block.badges
    assert block.exhibits or block.badges
    for exhibit in block.exhibits:
        match exhibit:
            case Table():
                assert exhibit.caption
                assert all(len(row) == len(exhibit.header) for row in exhibit.rows)
            case Figure():
                assert len(exhibit.alt) > 40
                assert exhibit.caption
            case Empty():
                assert exhibit.sentence.endswith(".")
