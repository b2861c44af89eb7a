"""The search report and the pages beside it: linked, private, small."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from retrieval_eval.report import SearchRun
from retrieval_eval.report.query_pages import Places, key, shown_names, write_pages
from tests.report.conftest import HOSTILE
from tests.report.pages import ordinary_run, search_page
from tests.report.search_made import (
    artefact,
    delta,
    gold_of,
    hostile,
    query,
    searched,
    unanswerable,
)
from tests.report.test_html import Page

MAX_BYTES = 2_000_000


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


@pytest.mark.parametrize(
    ("document", "privacy"),
    [(ordinary_run(), False), (ordinary_run(), True), (hostile(), False)],
    ids=["ordinary", "private", "hostile"],
)
def test_every_query_and_document_leads_to_its_place(document, privacy, tmp_path):
    given = {"baseline": document, "gold": gold_of(document, {"missed": 1})}
    plain = searched(document, **given)
    places = Places.of(*shown_names(plain.stored, plain.baseline, plain.gold))
    run = searched(document, **given, places=places, privacy=privacy)
    pages = linked(run, tmp_path, search_page(run))
    assert {"index.html", "queries.html", "documents.html"} <= set(pages)
    assert_no_link_is_dead(pages)
    to = [link["href"] or "" for link in pages["index.html"].all("a")]
    assert any(href.startswith("queries.html#") for href in to)
    assert any(href.startswith("documents.html#") for href in to)
    assert ("text of q01" in "".join(pages["queries.html"].text)) is (
        not privacy and "q01" in run.by_id
    )


def test_without_the_pages_beside_it_no_name_is_a_link(page):
    assert "queries.html" not in page("search").read_text(encoding="utf-8")


@pytest.mark.extra
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


@pytest.mark.extra
@pytest.mark.slow
def test_three_thousand_queries_stay_within_two_megabytes():
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
    html = search_page(searched(made, gold=gold_of(made, {f"missed-{i}": 1 for i in range(30)})))
    assert len(html.encode()) <= MAX_BYTES
