"""The index of all reports: what a page says of itself, what is listed, and what is left alone."""

from __future__ import annotations

import json

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import write_text
from retrieval_eval.report import render
from retrieval_eval.report.index import Listed, entry_of, way_back, write_index
from tests.report.conftest import HOSTILE
from tests.report.pages import page, put
from tests.report.test_html import Page


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
