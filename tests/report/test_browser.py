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
    if name in ("search", "tables", "index"):
        assert_accessible_in_the_dark(window)
    window.close()


def assert_accessible_in_the_dark(window):
    paper = "getComputedStyle(document.body).backgroundColor"
    light = window.evaluate(paper)
    window.emulate_media(color_scheme="dark")
    assert_accessible(window)
    dark = window.evaluate(paper)
    assert light != dark
    window.emulate_media(color_scheme="light")
    assert window.evaluate(paper) == light
    for _ in range(2):
        window.locator(".theme").click()
    assert window.evaluate("document.documentElement.dataset.theme") == "dark"
    assert window.evaluate(paper) == dark
    window.emulate_media(media="print")
    assert window.evaluate(paper) == light


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
