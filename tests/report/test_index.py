"""The index of all reports: what a page says of itself, what is listed, and what is left alone."""

from __future__ import annotations

import json

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import write_text
from retrieval_eval.report import render
from retrieval_eval.report.exhibits import Block
from retrieval_eval.report.index import Listed, enter, entry_of, newest, way_back, write_index
from retrieval_eval.report.show import to_html
from tests.report.conftest import HOSTILE, check_in_browser
from tests.report.test_html import Page


def page(finding: str = "It helped", *, tone: str = "better", guard: str = "") -> str:
    blocks = [
        Block("header", "Simulated data", badges=(("Guard", guard),) if guard else ()),
        Block("answer", finding, ("A sentence.",), badges=(("Complete", "all"),), tone=tone),
        Block("section", "Another finding"),
    ]
    body = "<h1>Report</h1>" + "".join(map(to_html, blocks))
    return render.page_of_body(body, title="t", footer="f")


def put(root, name: str, finding: str = "It helped", **given):
    """Write a page with its entry, as publishing does."""
    folder = root / name
    write_text(folder / "index.html", page(finding))
    title = given.pop("title", f"Report {name}")
    enter(folder / "index.html", "run_report", title, Listed(root, **given), simulated=False)
    return folder


def rows(root) -> list[str]:
    html = (root / "index.html").read_text()
    return [row.split("</tr>")[0] for row in html.split("<tbody>")[1].split("<tr>")[1:]]


@pytest.mark.parametrize(
    ("given", "tone", "guard", "verdict"),
    [
        ("no verdict", "none", "", "no verdict"),
        ("", "worse", "", "worse"),
        ("", "none", "", ""),
        ("", "none", "FAILED (1 breach of 4 thresholds)", "failed"),
        ("better", "better", "", "better"),
        ("better", "none", "", "better, with cautions"),
    ],
)
def test_an_entry_holds_the_headline_and_the_verdict(tmp_path, given, tone, guard, verdict):
    html = page("Recall <b> & co rose", tone=tone, guard=guard)
    entry = entry_of(html, "run_report", "T", Listed(tmp_path, verdict=given), simulated=True)
    assert entry.finding == "Recall <b> & co rose"
    assert entry.verdict == verdict
    assert entry.is_simulated


def test_a_page_without_an_answer_has_its_first_finding_for_a_headline(tmp_path):
    def entry(body):
        html = render.page_of_body(f"<h1>a</h1>{body}", title="t", footer="f")
        return entry_of(html, "history", "T", Listed(tmp_path), simulated=False)

    found = entry(to_html(Block("header", "7 runs")) + to_html(Block("section", "Another")))
    assert (found.finding, found.verdict) == ("7 runs", "")
    assert entry("").finding == ""


def test_every_published_report_is_listed_newest_first(tmp_path):
    put(tmp_path, "old", measured_at="2026-01-02T10:00:00Z", n_trials=1200)
    put(tmp_path, "search/new", measured_at="2026-03-02T10:00:00Z", n_queries=1, verdict="worse")
    put(tmp_path, "undated")
    first, second, third = rows(tmp_path)
    assert '<a href="search/new/index.html">Report search/new</a>' in first
    assert "2026-03-02 10:00" in first
    assert "1 query" in first
    assert "worse" in first
    assert "1,200 trials" in second
    assert "undated/index.html" in third


def test_the_same_reports_give_the_same_index(tmp_path):
    for name in ("b", "a"):
        put(tmp_path / "one", name)
    for name in ("a", "b"):
        put(tmp_path / "two", name)
    assert (tmp_path / "one/index.html").read_bytes() == (tmp_path / "two/index.html").read_bytes()


def test_a_report_without_a_readable_entry_is_listed_by_its_name(tmp_path):
    put(tmp_path, "whole")
    put(tmp_path, "damaged")
    write_text(tmp_path / "bare/index.html", "<h1>a page</h1>")
    entry = json.loads((tmp_path / "damaged/report.json").read_text())
    (tmp_path / "damaged/report.json").write_text(json.dumps(entry | {"title": "changed"}))
    (tmp_path / "no-page").mkdir()
    written = write_index(tmp_path)
    assert written.n_reports == 3
    assert [p.split(":")[0] for p in written.problems] == ["damaged/report.json"]
    html = written.path.read_text()
    assert "2 reports without a readable report.json" in html
    assert ">bare</a>" in html
    assert "changed" not in html
    assert "no-page" not in html


def test_trial_pages_are_reached_from_the_page_of_their_run(tmp_path):
    put(tmp_path, "run/trials/a")
    assert "run/trials/a/index.html" in rows(tmp_path)[0]
    put(tmp_path, "run")
    assert len(rows(tmp_path)) == 1
    assert way_back(tmp_path / "run/x", tmp_path) == [("All reports", "../../index.html")]
    assert way_back(tmp_path / "run", tmp_path) == [("All reports", "../index.html")]


def test_links_out_of_the_folder_are_not_followed(tmp_path):
    put(tmp_path / "elsewhere", "report")
    root = tmp_path / "reports"
    root.mkdir()
    (root / "link").symlink_to(tmp_path / "elsewhere/report")
    assert write_index(root).n_reports == 0
    assert "There is no report in this folder yet." in (root / "index.html").read_text()


def test_another_page_of_that_name_is_never_replaced(tmp_path):
    write_text(tmp_path / "index.html", "<h1>My site</h1>")
    put(tmp_path, "run")
    assert (tmp_path / "run/report.json").is_file()
    assert way_back(tmp_path / "run", tmp_path) == []
    with pytest.raises(BadInputError, match="is another page"):
        write_index(tmp_path)
    assert (tmp_path / "index.html").read_text() == "<h1>My site</h1>"
    with pytest.raises(BadInputError, match="no such folder"):
        write_index(tmp_path / "missing")


def test_hostile_titles_findings_and_folders_are_shown_as_text(tmp_path):
    for number, name in enumerate(HOSTILE):
        put(tmp_path, f"r{number}", name, title=name, verdict=name)
    write_text(tmp_path / "<b>%2e#?a/index.html", "<h1>a</h1>")
    write_index(tmp_path)
    html = (tmp_path / "index.html").read_text()
    render.check_page(html)
    found = Page(html)
    assert len(found.all("script")) == 1
    assert not found.all("b")
    text = "".join(found.text)
    assert all(name in text for name in HOSTILE[:6])
    places = [a["href"] for a in found.all("a")]
    assert "%3Cb%3E%252e%23%3Fa/index.html" in places


def test_the_newest_time_wins_in_whatever_zone():
    assert newest(["2026-01-01T00:30:00+02:00", "2025-12-31T23:00:00Z"]) == "2025-12-31T23:00:00Z"
    assert newest(["x", ""]) is None


def test_the_index_is_also_a_document_of_quarto(tmp_path):
    put(tmp_path, "a", f"{HOSTILE[4]} ```` <b>")
    write_index(tmp_path)
    source = (tmp_path / "index.qmd").read_text(encoding="utf-8")
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    head, _, body = source.partition("{=html}\n")
    assert "pagetitle: 'All reports'" in head
    assert "retrieval-eval-html: default" in head
    assert body.rpartition("\n`")[0].rstrip("`\n") in page
    assert "{{<" not in source


def test_a_document_of_another_origin_is_left_alone(tmp_path):
    put(tmp_path, "a")
    write_text(tmp_path / "index.qmd", "my own list")
    write_index(tmp_path)
    assert (tmp_path / "index.qmd").read_text() == "my own list"


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1440, "light")])
def test_the_index_is_accessible_and_searchable(browser, tmp_path, width, scheme):
    for n in range(12):
        put(
            tmp_path, f"run-{n}", f"Recall rose by {n}", measured_at=f"2026-01-{n + 1:02}T10:00:00Z"
        )
    path = tmp_path / "index.html"
    check_in_browser(browser, path, f"index-{width}-{scheme}", width=width, scheme=scheme)
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.goto(path.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.get_by_label("Search").fill("run-11")
    assert page.locator("tbody tr:visible th").all_inner_texts() == ["Report run-11"]
    page.get_by_text("Report run-11").click()
    page.wait_for_url("**/run-11/index.html")
    page.close()
