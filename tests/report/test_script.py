"""The script of a page in a real browser: tables, address and theme; and the page without it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from retrieval_eval.io.files import write_text
from retrieval_eval.report import render
from retrieval_eval.report.exhibits import Block, Link, Table
from retrieval_eval.report.show import to_html
from tests.report.conftest import HOSTILE
from tests.report.pages import tables_of_every_kind

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SORTED = {
    "number": ["[−0.20, 0.10]", "−0.10", "0.12", "+0.30", "45 %", "1,234", "—"],
    "share": ["0 of 9", "1 of 1,200", "12 of 30", "3 of 4 (0.75)", "5 of 6", "0 of 0", "—"],
    "time": ["−3 s", "300 ms", "45.5 s", "79 s", "1 min 20 s", "2 h", "—"],
    "text": ["a", "Ä", "b9", "b10", "c", "—", ""],
    "day": ["2024-01-01", "2025-12-31", "2026-01-31", "2026-02-01", "2026-10-01", "—", "—"],
}


@pytest.fixture
def opened(browser, page):
    """Return a function that opens the page with a query, in one window."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    file = page("tables")

    def open_page(query: str = "", place: Path = file):
        page = context.new_page()
        problems: list[str] = []
        page.on("console", lambda m: problems.append(m.text))
        page.on("pageerror", lambda e: problems.append(str(e)))
        page.goto(place.as_uri() + query)
        assert problems == []
        return page

    yield open_page
    context.close()


def column(page, key: str, number: int) -> list[str]:
    """The text of a column's cells that are shown, from the top."""
    return page.eval_on_selector_all(
        f".t-{key} tbody tr:not([hidden])",
        f"rows => rows.map(row => row.cells[{number}].textContent)",
    )


def press(page, key: str, name: str) -> None:
    page.locator(f".t-{key} th button", has_text=name).first.click()


def test_every_kind_of_cell_is_sorted_as_it_reads(opened):
    page = opened()
    for number, (name, expected) in enumerate(SORTED.items(), 1):
        head = page.locator(".t-short thead th").nth(number)
        press(page, "short", name)
        assert column(page, "short", number) == expected
        assert head.get_attribute("aria-sort") == "ascending"
        page.keyboard.press("Enter")  # the button has the focus
        nothing = [cell for cell in expected if cell in ("—", "", "0 of 0")]
        values = [cell for cell in expected if cell not in nothing]
        assert column(page, "short", number) == values[::-1] + nothing
        assert head.get_attribute("aria-sort") == "descending"
        press(page, "short", name)
        assert column(page, "short", 0) == [f"row {place}" for place in range(7)]
        assert head.get_attribute("aria-sort") is None


def test_a_search_shows_the_rows_that_have_all_its_words_and_counts_them(opened):
    page = opened()
    field = page.get_by_label("Search")
    assert field.count() == 1
    count = page.locator(".tools output")
    assert count.inner_text() == "51 of 51 rows"
    field.fill("TASK-1  0.10 suite")
    assert column(page, "long", 0) == ["task-15"]
    assert count.inner_text() == "1 of 51 rows"
    field.fill("0suite")
    assert count.inner_text() == "0 of 51 rows"
    field.fill("<script>")
    assert column(page, "long", 0) == [HOSTILE[0]]
    field.fill("nothing like it")
    assert column(page, "long", 0) == []
    assert count.inner_text() == "0 of 51 rows"


def test_columns_can_be_hidden_but_for_the_first(opened):
    page = opened()
    tools = page.locator(".tools").last
    tools.get_by_text("Columns").click()
    assert tools.locator("label").all_inner_texts() == [f" {name}" for name in "BCDEFGH"]
    tools.get_by_label("C").uncheck()
    assert page.locator(".t-wide th", has_text="C").is_hidden()
    assert page.locator(".t-wide td:visible").all_inner_texts()[:3] == ["0B", "0D", "0E"]
    tools.get_by_label("C").check()
    assert page.locator(".t-wide th", has_text="C").is_visible()


def test_the_address_brings_everything_back(opened):
    page = opened("#tables")
    press(page, "long", "Recall")
    press(page, "long", "Recall")
    page.get_by_label("Search").fill("suite 2")
    page.locator(".tools").first.get_by_text("Columns").click()
    page.get_by_label("Suite").uncheck()
    before = column(page, "long", 0)
    assert page.url.endswith("?long.sort=-2&long.find=suite+2&long.hide=2#tables")
    for same in (page.reload() and page, opened("?" + page.url.partition("?")[2])):
        assert column(same, "long", 0) == before
        assert same.get_by_label("Search").input_value() == "suite 2"
        assert same.locator(".t-long th", has_text="Suite").is_hidden()


@pytest.mark.parametrize(
    "query",
    [
        "?long.sort=99&short.sort=abc&wide.hide=77,x,-1",
        "?long.sort=1.5&long.hide=,,&wide.hide=0",
        "?long.find=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E&constructor.sort=1&%",
        "?" + "a=b&" * 500,
    ],
)
def test_a_strange_address_does_no_harm(opened, query):
    page = opened(query)
    assert page.locator(".t-wide th").first.is_visible()
    assert page.locator("img").count() == 0
    assert page.locator(".t-short tbody tr").count() == 7


def test_the_answer_has_no_controls_and_fits_a_narrow_window(opened):
    page = opened()
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.locator(".answer button").count() == 0
    label = page.locator(".t-headline td").first.evaluate(
        "e => getComputedStyle(e, '::before').content"
    )
    assert label == '"Value"'


def test_a_policy_stops_every_other_script(browser, tmp_path):
    html = tables_of_every_kind().replace(
        "</main>", "</main><script>document.title = 'stolen'</script>"
    )
    html = html.replace(
        "<h1>", '<img src="http://127.0.0.1:9/x.png" onerror="document.title=1"><h1>'
    )
    write_text(tmp_path / "x.html", html)
    page = browser.new_page()
    blocked: list[str] = []
    page.on("requestfailed", lambda request: blocked.append(request.failure))
    page.goto((tmp_path / "x.html").as_uri())
    assert page.title() == "Report"
    assert blocked == ["csp"]
    page.close()


def test_a_thousand_rows_stay_usable(opened, tmp_path):
    rows = tuple(
        (
            Link(f"task-{n}", f"trials/task-{n}/index.html"),
            "suite",
            *(f"{n * k % 97 / 97:.2f}" for k in range(8)),
        )
        for n in range(1000)
    )
    table = Table("all", "Every trial", ("Task", "Suite", *(f"M{k}" for k in range(8))), rows)
    html = "<h1>a</h1>" + to_html(Block("section", "All", exhibits=(table,)))
    write_text(tmp_path / "big.html", render.page_of_body(html, title="t", footer="f"))
    assert (tmp_path / "big.html").stat().st_size < 600_000
    page = opened(place=tmp_path / "big.html")
    started = time.monotonic()
    press(page, "all", "M3")
    page.get_by_label("Search").fill("task-99")
    assert page.locator(".tools output").inner_text() == "11 of 1000 rows"
    assert time.monotonic() - started < 5
