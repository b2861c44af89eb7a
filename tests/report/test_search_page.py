"""The search report as one HTML page: complete, silent, safe, small; also in a real browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from retrieval_eval.io.files import write_text
from retrieval_eval.report import SearchRun, assets, loading, render
from retrieval_eval.report.notebook_files import read_notebook
from retrieval_eval.report.query_pages import Places, key, shown_names, write_pages
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
    searched,
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

    def executed_on(run: SearchRun) -> Any:
        notebook = read_notebook(assets.notebook("search_report"))
        return run_cells(notebook, (loading, "load_search"), run, privacy=run.privacy)

    return executed_on


@pytest.fixture(scope="module")
def page_of(executed) -> Callable[..., str]:
    def render_page(run: SearchRun) -> str:
        return render.to_html(executed(run), title="Search report: made", footer="made")

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
        "ordinary": page_of(searched(made, gold=gold_of(made, {"missed": 1}))),
        "hostile": page_of(searched(hostile(), baseline=hostile())),
        "failed": page_of(
            searched(artefact([*ordinary(), failed("f")], delta=delta(), backlog=BACKLOG))
        ),
        "provisional": page_of(searched(artefact(bootstrap))),
        "empty": page_of(searched(artefact([unanswerable("u")]))),
        "everything": page_of(
            whole(changes={"delta": delta(contributions={"q1": {"RR": -5.0}}, top1=["q1"])})
        ),
    }


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


def test_pages_have_their_figures(pages):
    # Differences, three curves, two metrics by slice and refusals; every query needs the baseline.
    assert pages["ordinary"].count("<figure") == 7
    assert pages["everything"].count("<figure") == 9


def test_hostile_texts_are_shown_as_text(pages):
    text = "".join(Page(pages["hostile"]).text)
    for name in HOSTILE[:6]:
        assert name in text
    assert "one two\\u202eevil\\u200b\\u0007" in text


def test_hostile_texts_are_harmless_in_print(executed):
    for cell in executed(searched(hostile(), baseline=hostile())).cells:
        for output in cell.get("outputs", []):
            text = output["data"]["text/markdown"]
            assert "{{<" not in text
            bare = code(text)
            for attack in ("<script", "<img src", "{{<", "](javascript", "`code`", "$\\frac"):
                assert attack not in bare


def test_private_pages_hold_no_text_of_queries(page_of):
    html = page_of(searched(ordinary_run(), privacy=True))
    assert "text of" not in html
    assert "secret-folder" not in html
    assert "q01" in html


def test_the_same_run_gives_the_same_bytes(page_of, pages):
    made = ordinary_run()
    assert page_of(searched(made, gold=gold_of(made, {"missed": 1}))) == pages["ordinary"]


def linked(run: SearchRun, folder: Path, html: str) -> dict[str, Page]:
    """The report and the pages beside it, by the name of the file."""
    write_pages(run, folder, title="made")
    found = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.html")}
    return {name: Page(text) for name, text in {**found, "index.html": html}.items()}


def assert_no_link_is_dead(pages: dict[str, Page]) -> None:
    ids = {name: {a.get("id") for _, a in page.tags} for name, page in pages.items()}
    for name, page in pages.items():
        own = [a.get("id") for _, a in page.tags if a.get("id")]
        assert len(own) == len(set(own))
        for link in page.all("a"):
            file, _, place = (link["href"] or "").partition("#")
            assert (file or name) in ids, link
            assert not place or place in ids[file or name], link


@pytest.mark.parametrize("document", [ordinary_run(), hostile()], ids=["ordinary", "hostile"])
def test_every_query_and_document_leads_to_its_place(document, tmp_path, page_of):
    plain = searched(document, baseline=document, gold=gold_of(document, {"missed": 1}))
    places = Places.of(*shown_names(plain.stored, plain.baseline, plain.gold))
    for run in (
        searched(document, baseline=document, gold=plain.gold, places=places),
        searched(document, baseline=document, gold=plain.gold, places=places, privacy=True),
    ):
        pages = linked(run, tmp_path, page_of(run))
        assert {"index.html", "queries.html", "documents.html"} <= set(pages)
        assert_no_link_is_dead(pages)
        to = [link["href"] or "" for link in pages["index.html"].all("a")]
        assert any(href.startswith("queries.html#") for href in to)
        assert any(href.startswith("documents.html#") for href in to)
        assert ("text of q01" in "".join(pages["queries.html"].text)) is (
            not run.privacy and "q01" in run.by_id
        )
    # Without the pages beside it no name is a link.
    assert "queries.html" not in page_of(plain)


def test_links_follow_a_filter(tmp_path, page_of):
    document = ordinary_run()
    plain = searched(document, baseline=document)
    places = Places.of(*shown_names(plain.stored, plain.baseline, None))
    part = searched(document, baseline=document, places=places).filter("corpus == 'docs'")
    pages = linked(part, tmp_path, page_of(part))
    assert_no_link_is_dead(pages)
    assert len(part.places.queries) == len(part.queries) < len(places.queries)


def test_a_shorter_report_leaves_no_pages_of_an_earlier_one(tmp_path):
    many = searched(artefact([query(f"q{i}", [(f"d{i}", 1)]) for i in range(250)]))
    write_pages(many, tmp_path, title="made")
    assert (tmp_path / "queries-2.html").is_file()
    write_pages(searched(artefact()), tmp_path, title="made")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["documents.html", "queries.html"]


@pytest.mark.slow
def test_six_hundred_queries_stay_usable(tmp_path):
    asked = [
        query(f"q{i}", [(f"document-{(i * 7 + k) % 900}", k % 3) for k in range(50)])
        for i in range(600)
    ]
    document = artefact(asked)
    plain = searched(document, baseline=document)
    places = Places.of(*shown_names(plain.stored, plain.baseline, None))
    run = searched(document, baseline=document, places=places)
    pages = linked(run, tmp_path, "<p></p>")
    assert all(path.stat().st_size <= MAX_BYTES for path in tmp_path.iterdir())
    assert {"queries-3.html", "documents-3.html"} <= set(pages)


def test_names_of_places_are_safe_and_no_two_alike():
    names = [*HOSTILE, "a b", "a_b", "a-b", "", "q" * 200, "q" * 201]
    keys = [key("query", name) for name in names]
    assert len(set(keys)) == len(names)
    assert all(re.fullmatch(r"[a-z0-9-]{5,60}", found) for found in keys)


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
    html = page_of(searched(made, gold=gold_of(made, {f"missed-{i}": 1 for i in range(30)})))
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
    assert page.locator("figure img").count() == 7
    page.locator("figure details summary").first.click()
    assert page.locator("figure details[open] table").first.is_visible()
    context.close()
