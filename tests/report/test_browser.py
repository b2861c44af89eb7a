"""Pages in a real browser, opened from their files; each is visited once."""

from __future__ import annotations

import pytest

from tests.report.conftest import assert_accessible, opened
from tests.report.pages import PAGES

pytestmark = [pytest.mark.browser, pytest.mark.slow]

WITHOUT_ANSWER = ("trial", "index", "details")


@pytest.mark.parametrize("name", PAGES)
def test_a_page_asks_for_nothing_is_accessible_and_fits(name, browser, page):
    window = opened(browser, page(name), name)
    if name not in WITHOUT_ANSWER and "hostile" not in name:
        box = window.locator(".block.answer").first.bounding_box()
        assert box["y"] + box["height"] <= 1000, "the first screen holds the answer"
    for width in (800, 390, 320):
        window.set_viewport_size({"width": width, "height": 900})
        assert window.evaluate("document.documentElement.scrollWidth") <= width
        if width == 390 and not name.startswith(("search", "diff")):
            for region in window.locator(".answer .table").all():
                assert region.evaluate("e => e.scrollWidth <= e.clientWidth")
            assert window.evaluate(
                "[...document.querySelectorAll('caption')].every(c => c.offsetWidth <= innerWidth)"
            )
    window.close()


@pytest.mark.parametrize("name", ["demo", "search", "tables", "index"])
def test_a_page_is_accessible_narrow_and_dark(name, browser, page):
    window = opened(browser, page(name), f"{name}-390-dark", width=390, scheme="dark")
    paper = "getComputedStyle(document.body).backgroundColor"
    dark = window.evaluate(paper)
    window.emulate_media(color_scheme="light")
    light = window.evaluate(paper)
    assert light != dark
    for _ in range(2):
        window.locator(".theme").click()
    assert window.evaluate("document.documentElement.dataset.theme") == "dark"
    assert window.evaluate(paper) == dark
    if name == "tables":
        assert_accessible(window)
    window.emulate_media(media="print")
    assert window.evaluate(paper) == light
    window.close()


def test_everything_is_there_without_scripts(browser, page):
    context = browser.new_context(java_script_enabled=False)
    window = context.new_page()
    window.goto(page("demo").as_uri())
    assert window.locator("h1").count() == 1
    assert window.locator("figure img").count() == 8
    assert window.locator("button, input, output").count() == 0
    window.locator("figure details summary").first.click()
    assert window.locator("figure details[open] table").first.is_visible()
    context.close()


def test_the_skip_link_leads_to_the_report(browser, page):
    window = browser.new_page()
    window.goto(page("trial").as_uri())
    window.keyboard.press("Tab")
    assert window.evaluate("document.activeElement.className") == "skip"
    window.keyboard.press("Enter")
    assert window.evaluate("document.activeElement.id") == "main"
    window.close()
