"""The search report as one HTML page: complete, silent, safe, small; also in a real browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from retrieval_eval.io.files import write_text
from retrieval_eval.report import SearchRun, assets, render
from retrieval_eval.report.notebook_files import read_notebook
from retrieval_eval.report.search import loading
from tests.report.conftest import HOSTILE, check_in_browser, check_width, run_cells
from tests.report.search_made import (
    BACKLOG,
    artefact,
    delta,
    failed,
    gold_of,
    hostile,
    ordinary,
    query,
    unanswerable,
)
from tests.report.search_practice import whole
from tests.report.test_html import Page
from tests.report.typst_source import code
from tests.searches import abstention_block

MAX_BYTES = 2_000_000


@pytest.fixture(scope="module")
def executed() -> Callable[..., Any]:
    """Return a function that runs the notebook's own cells, in this process, on a made run."""

    def executed_on(run: SearchRun, **parameters: Any) -> Any:
        notebook = read_notebook(assets.notebook("search_report"))
        return run_cells(notebook, (loading, "load_search"), run, **parameters)

    return executed_on


@pytest.fixture(scope="module")
def page_of(executed) -> Callable[..., str]:
    def render_page(document: dict[str, Any], *, privacy: bool = False, **fields: Any) -> str:
        notebook = executed(SearchRun(document, **fields), privacy=privacy)
        return render.to_html(notebook, title="Search report: made", footer="made")

    return render_page


def ordinary_run() -> dict[str, Any]:
    asked = [*ordinary(), query("lost", [], value=0.0), unanswerable("u", [("x", None)])]
    block = abstention_block(asked, threshold=2.5)
    return artefact(asked, delta=delta(top1=["q01"]), backlog=BACKLOG, abstention=block)


@pytest.fixture(scope="module")
def pages(page_of) -> dict[str, str]:
    made = ordinary_run()
    bootstrap = [q | {"source": "bootstrap"} for q in ordinary()]
    return {
        "ordinary": page_of(made, gold=gold_of(made, {"missed": 1})),
        "hostile": page_of(hostile()),
        "failed": page_of(artefact([*ordinary(), failed("f")], delta=delta(), backlog=BACKLOG)),
        "provisional": page_of(artefact(bootstrap)),
        "empty": page_of(artefact([unanswerable("u")])),
        "everything": page_of(whole().document, **beside(whole())),
    }


def beside(run: SearchRun) -> dict[str, Any]:
    """What stands beside a run."""
    return {name: getattr(run, name) for name in ("baseline", "gold", "corpus", "noise")}


@pytest.fixture(params=["ordinary", "hostile", "failed", "provisional", "empty", "everything"])
def page(request, pages) -> Page:
    return Page(pages[request.param])


def test_headings_and_contents(page):
    assert page.headings.count(1) == 1
    pairs = zip(page.headings, page.headings[1:], strict=False)
    assert all(after <= before + 1 for before, after in pairs)
    ids = [attrs.get("id") for _, attrs in page.tags if attrs.get("id")]
    assert len(ids) == len(set(ids))
    targets = [a["href"] for a in page.all("a") if (a["href"] or "").startswith("#")]
    assert len(targets) >= 9
    assert all(target.removeprefix("#") in ids for target in targets)


def test_nothing_runs_and_nothing_is_fetched(page):
    names = {tag for tag, _ in page.tags}
    assert not names & {"iframe", "object", "embed", "link", "base", "form", "b", "i"}
    for _, attrs in page.tags:
        assert not any(name.startswith("on") for name in attrs)
        assert (attrs.get("src") or "data:").startswith("data:")
    assert all(not re.match("[a-z]+:", a["href"] or "") for a in page.all("a"))


def test_figures_and_tables_can_be_read_without_seeing_them(page):
    images = page.all("img")
    assert len(images) <= 14
    assert all(len(image["alt"] or "") > 40 for image in images)
    assert len(page.all("figcaption")) == len(images) == len(page.all("details")) - 1
    assert len(page.all("caption")) == len(page.all("table"))
    assert all(th.get("scope") in ("col", "row") for th in page.all("th"))


def test_the_ordinary_page_has_its_five_figures(pages):
    assert pages["ordinary"].count("<figure") == 5


def test_hostile_texts_are_shown_as_text(pages):
    text = "".join(Page(pages["hostile"]).text)
    for name in HOSTILE[:6]:
        assert name in text
    assert "one two\\u202eevil\\u200b\\u0007" in text


def test_hostile_texts_are_harmless_in_print(executed):
    for cell in executed(SearchRun(hostile())).cells:
        for output in cell.get("outputs", []):
            text = output["data"]["text/markdown"]
            assert "{{<" not in text
            bare = code(text)
            for attack in ("<script", "<img src", "{{<", "](javascript", "`code`", "$\\frac"):
                assert attack not in bare


def test_private_pages_hold_no_text_of_queries(page_of):
    html = page_of(ordinary_run(), privacy=True)
    assert "text of" not in html
    assert "secret-folder" not in html
    assert "q01" in html


def test_the_same_run_gives_the_same_bytes(page_of, pages):
    made = ordinary_run()
    assert page_of(made, gold=gold_of(made, {"missed": 1})) == pages["ordinary"]


@pytest.mark.slow
def test_three_thousand_queries_stay_within_two_megabytes(page_of):
    asked = [
        query(
            f"q{i}",
            [(f"document-{i}-{place}", place % 3) for place in range(20)] if i % 5 else [],
            query=f"what is said about subject number {i} in the documents " * 2,
            corpus=f"corpus-{i % 12}",
            area=f"area-{i % 150}",
            problems=["fewer_than_k"],
            value=(i % 100) / 100,
        )
        for i in range(3000)
    ]
    asked += [unanswerable(f"u{i}", [("x", None)]) for i in range(200)]
    moved = {f"q{i}": {"P@5": (i % 41 - 20) / 100, "Recall@20": 0.01} for i in range(3000)}
    made = artefact(asked, delta=delta(contributions=moved, top1=list(moved)))
    html = page_of(made, gold=gold_of(made, {f"missed-{i}": 1 for i in range(30)}))
    assert len(html.encode()) <= MAX_BYTES


@pytest.fixture(scope="module")
def files(pages, tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("search-pages")
    for name, html in pages.items():
        write_text(folder / f"{name}.html", html)
    return {name: folder / f"{name}.html" for name in pages}


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["ordinary", "hostile", "failed", "provisional", "empty", "everything"]
)
def test_the_page_is_silent_accessible_and_asks_for_nothing(name, browser, files):
    check_in_browser(browser, files[name], f"search-{name}")


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("width", [320, 800, 1280])
def test_the_page_never_scrolls_sideways(width, browser, files):
    check_width(browser, files.values(), width)


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("name", ["ordinary", "failed", "provisional", "everything"])
def test_the_first_screen_holds_answer_status_and_backlog(name, browser, files):
    page = browser.new_page(viewport={"width": 1280, "height": 1000})
    page.goto(files[name].as_uri())
    for place in (".block.answer", ".badges"):
        box = page.locator(place).first.bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= 1000
    badges = page.locator(".badges").first.inner_text()
    assert "Review backlog" in badges
    assert "Queries" in badges
    assert "Guard" in badges
    page.close()


@pytest.mark.browser
@pytest.mark.slow
def test_everything_is_there_without_scripts(browser, files):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(files["ordinary"].as_uri())
    assert page.locator("figure img").count() == 5
    page.locator("figure details summary").first.click()
    assert page.locator("figure details[open] table").first.is_visible()
    context.close()
