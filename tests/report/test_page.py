"""The demo report in a real browser, opened from a file."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from retrieval_eval.io.files import write_text
from retrieval_eval.report import render
from retrieval_eval.report.notebook_files import read_notebook
from tests.report.conftest import FONTS, check_in_browser, check_width
from tests.sharing import shared

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def pages(tmp_path_factory, request) -> dict[str, Path]:
    def make(folder: Path) -> None:
        page_of = request.getfixturevalue("page_of")
        demo_run = request.getfixturevalue("demo_run")
        trial = request.getfixturevalue("executed")(
            request.getfixturevalue("made_run"), "trial_report"
        )
        html = {
            "demo": page_of(demo_run),
            "hostile": page_of(request.getfixturevalue("hostile_run")),
            "compare": page_of(demo_run, "compare_runs"),
            "withheld": page_of(request.getfixturevalue("withheld_run")),
            "trial": render.to_html(trial, title="Trial report", footer="made"),
        }
        for name, text in html.items():
            write_text(folder / f"{name}.html", text)

    folder = shared(tmp_path_factory, "pages", make)
    return {path.stem: path for path in sorted(folder.glob("*.html"))}


@pytest.mark.parametrize("name", ["demo", "hostile", "compare", "withheld", "trial"])
def test_the_page_is_silent_accessible_and_asks_for_nothing(name, browser, pages):
    check_in_browser(browser, pages[name], name)


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (390, "dark"), (1440, "dark")])
def test_the_page_is_accessible_narrow_wide_and_dark(width, scheme, browser, pages):
    name = f"demo-{width}-{scheme}"
    check_in_browser(browser, pages["demo"], name, width=width, scheme=scheme)


def test_the_page_is_accessible_after_the_theme_was_switched(browser, pages):
    from axe_playwright_python.sync_playwright import Axe

    page = browser.new_page(color_scheme="light")
    page.goto(pages["demo"].as_uri())
    for _ in range(2):
        page.locator(".theme").click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    results = Axe().run(page)
    assert results.violations_count == 0, results.generate_report()
    page.close()


def test_the_answer_needs_no_scrolling_on_a_narrow_page(browser, pages):
    page = browser.new_page(viewport={"width": 390, "height": 900})
    for name in ("demo", "hostile", "compare", "withheld"):
        page.goto(pages[name].as_uri())
        regions = page.locator(".answer .table")
        for region in regions.all():
            assert region.evaluate("e => e.scrollWidth <= e.clientWidth"), name
        assert page.evaluate(
            "[...document.querySelectorAll('caption')].every(c => c.offsetWidth <= innerWidth)"
        ), name
    page.close()


@pytest.mark.parametrize("width", [320, 800, 1280])
def test_the_page_never_scrolls_sideways(width, browser, pages):
    check_width(browser, pages.values(), width)


def test_everything_is_there_without_scripts(browser, pages):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(pages["demo"].as_uri())
    assert page.locator("h1").count() == 1
    assert page.locator("figure img").count() == 14
    assert page.locator("button, input, output").count() == 0
    page.locator("figure details summary").first.click()
    assert page.locator("figure details[open] table").first.is_visible()
    context.close()


@pytest.mark.parametrize("name", ["demo", "compare", "withheld"])
def test_the_first_screen_holds_the_answer(name, browser, pages):
    page = browser.new_page(viewport={"width": 1280, "height": 1000})
    page.goto(pages[name].as_uri())
    box = page.locator(".block.answer").bounding_box()
    assert box is not None
    assert box["y"] + box["height"] <= 1000
    page.close()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux chooses fonts by fontconfig")
def test_pages_are_laid_out_in_the_fonts_of_the_tests(browser, pages):
    page = browser.new_page()
    page.goto(pages["demo"].as_uri())
    session = page.context.new_cdp_session(page)
    session.send("DOM.enable")
    session.send("CSS.enable")
    root = session.send("DOM.getDocument")["root"]["nodeId"]
    used = set()
    for place in ("h1", ".badges dd", ".block.answer .finding", ".block.answer td"):
        node = session.send("DOM.querySelector", {"nodeId": root, "selector": place})["nodeId"]
        found = session.send("CSS.getPlatformFontsForNode", {"nodeId": node})["fonts"]
        used |= {font["familyName"] for font in found}
    page.close()
    assert used == {FONTS["sans-serif"], FONTS["serif"]}


def test_the_skip_link_leads_to_the_report(browser, pages):
    page = browser.new_page()
    page.goto(pages["demo"].as_uri())
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.close()


def test_the_executed_notebook_alone_gives_the_same_page(pages, executed, demo_run, tmp_path):
    import nbformat

    path = tmp_path / "n.ipynb"
    nbformat.write(executed(demo_run), path)
    html = render.to_html(read_notebook(path), title="Report: made", footer="made")
    assert html == pages["demo"].read_text(encoding="utf-8")
