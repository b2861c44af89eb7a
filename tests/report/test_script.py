"""The script of a page in a real browser: tables, address and theme; and the page without it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from retrieval_eval.io.files import write_text
from retrieval_eval.report import render
from retrieval_eval.report.exhibits import Block, Link, Table
from retrieval_eval.report.show import to_html
from tests.report.conftest import HOSTILE, check_in_browser

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CELLS = {
    "number": ["0.12", "+0.30", "−0.10", "—", "1,234", "45 %", "[−0.20, 0.10]"],
    "share": ["12 of 30", "5 of 6", "0 of 0", "1 of 1,200", "—", "3 of 4 (0.75)", "0 of 9"],
    "time": ["1 min 20 s", "45.5 s", "—", "2 h", "300 ms", "−3 s", "79 s"],
    "text": ["b10", "b9", "—", "a", "Ä", "", "c"],
    "day": ["2026-02-01", "2025-12-31", "—", "2026-01-31", "2026-10-01", "2024-01-01", "—"],
}
"""Cells of a column each; of all, what stands for nothing is last in either order."""

SORTED = {
    "number": ["[−0.20, 0.10]", "−0.10", "0.12", "+0.30", "45 %", "1,234", "—"],
    "share": ["0 of 9", "1 of 1,200", "12 of 30", "3 of 4 (0.75)", "5 of 6", "0 of 0", "—"],
    "time": ["−3 s", "300 ms", "45.5 s", "79 s", "1 min 20 s", "2 h", "—"],
    "text": ["a", "Ä", "b9", "b10", "c", "—", ""],
    "day": ["2024-01-01", "2025-12-31", "2026-01-31", "2026-02-01", "2026-10-01", "—", "—"],
}


def made() -> str:
    rows = tuple(
        (f"row {place}", *cells) for place, cells in enumerate(zip(*CELLS.values(), strict=True))
    )
    short = Table("short", "Cells of every kind", ("Name", *CELLS), rows)
    names = [Link(f"task-{n:02}", f"trials/task-{n:02}/index.html") for n in range(40)]
    body = tuple((name, f"{n % 7 / 10:.2f}", f"suite {n % 3}") for n, name in enumerate(names))
    hostile = tuple((name, "0.50", "<b>suite</b>") for name in HOSTILE)
    long = Table("long", "Every task", ("Task", "Recall", "Suite"), body + hostile)
    wide = Table(
        "wide",
        "Many columns",
        tuple("ABCDEFGH"),
        tuple(tuple(f"{r}{c}" for c in "ABCDEFGH") for r in range(3)),
    )
    answer = Table(
        "headline", "The answer", ("Metric", "Value"), (("A", "1"), ("B", "2"), ("C", "3"))
    )
    shown = [
        Block("answer", "It helped", exhibits=(answer,), tone="better"),
        Block("section", "Tables", exhibits=(short, long, wide)),
    ]
    html = '<h1>Report</h1>\n<h2 id="tables">Tables</h2>' + "".join(map(to_html, shown))
    return render.page_of_body(
        html, title="Report", footer="made", back=(("All reports", "../index.html"),)
    )


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("script") / "index.html"
    write_text(path, made())
    return path


@pytest.fixture
def opened(browser, file):
    """Return a function that opens the page with a query, in one window."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})

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


@pytest.mark.parametrize("number", range(5))
def test_every_kind_of_cell_is_sorted_as_it_reads(opened, number):
    page = opened()
    name = list(CELLS)[number]
    head = page.locator(".t-short thead th").nth(number + 1)
    expected = SORTED[name]
    press(page, "short", name)
    assert column(page, "short", number + 1) == expected
    assert head.get_attribute("aria-sort") == "ascending"
    press(page, "short", name)
    nothing = [cell for cell in expected if cell in ("—", "", "0 of 0")]
    values = [cell for cell in expected if cell not in nothing]
    assert column(page, "short", number + 1) == values[::-1] + nothing
    assert head.get_attribute("aria-sort") == "descending"
    press(page, "short", name)
    assert column(page, "short", 0) == [f"row {place}" for place in range(7)]
    assert head.get_attribute("aria-sort") is None


def test_a_table_is_sorted_by_keyboard(opened):
    page = opened()
    page.locator(".t-long th button").nth(1).focus()
    page.keyboard.press("Enter")
    assert column(page, "long", 1)[0] == "0.00"
    page.keyboard.press("Space")
    assert column(page, "long", 1)[0] == "0.60"


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


def test_the_theme_is_kept_for_the_tab(opened):
    page = opened()
    button = page.locator(".theme")
    paper = "getComputedStyle(document.body).backgroundColor"
    assert button.inner_text() == "Theme: system"
    button.click()
    assert button.inner_text() == "Theme: light"
    light = page.evaluate(paper)
    button.click()
    assert button.inner_text() == "Theme: dark"
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"
    assert page.evaluate(paper) != light
    page.reload()
    assert page.locator(".theme").inner_text() == "Theme: dark"
    page.emulate_media(media="print")
    assert page.evaluate(paper) == light


def test_the_page_follows_the_system(browser, file):
    colours = {}
    for scheme in ("light", "dark"):
        page = browser.new_page(color_scheme=scheme)
        page.goto(file.as_uri())
        colours[scheme] = page.evaluate("getComputedStyle(document.body).backgroundColor")
        page.close()
    assert colours["light"] != colours["dark"]


def test_the_answer_has_no_controls_and_fits_a_narrow_window(browser, file):
    page = browser.new_page(viewport={"width": 390, "height": 800})
    page.goto(file.as_uri())
    assert page.locator(".answer button").count() == 0
    region = page.locator(".t-headline")
    assert region.evaluate("e => e.scrollWidth <= e.clientWidth")
    label = page.locator(".t-headline td").first.evaluate(
        "e => getComputedStyle(e, '::before').content"
    )
    assert label == '"Value"'
    page.close()


def test_without_scripts_the_page_is_whole_and_has_no_controls(browser, file):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(file.as_uri())
    assert page.locator("button, input, output").count() == 0
    assert page.locator(".t-long tbody tr:visible").count() == 51
    assert page.locator(".contents a:visible").count() == 2
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_a_page_with_its_controls_is_accessible(browser, file, scheme, width):
    check_in_browser(browser, file, f"script-{scheme}-{width}", width=width, scheme=scheme)


def test_a_policy_stops_every_other_script(browser, tmp_path):
    html = made().replace("</main>", "</main><script>document.title = 'stolen'</script>")
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
