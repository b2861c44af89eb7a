"""Pages in print by WeasyPrint, as its layout places every word: nothing over another, or cut."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest

from retrieval_eval.report import render
from retrieval_eval.report.exhibits import Block, Table
from retrieval_eval.report.show import to_html
from tests.report.test_renderers import HTML, shown, texts_of_html

pytest.importorskip("weasyprint")

pytestmark = pytest.mark.slow


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a line on a printed page, and the tag of what it is in."""

    page: int
    text: str
    left: float
    top: float
    right: float
    bottom: float
    tag: str

    def covers(self, other: Piece) -> bool:
        """Whether the two share more than a hair's breadth."""
        wide = min(self.right, other.right) - max(self.left, other.left)
        high = min(self.bottom, other.bottom) - max(self.top, other.top)
        return wide > 1.5 and high > 0.3 * min(self.bottom - self.top, other.bottom - other.top)


@dataclass(frozen=True, slots=True)
class Printed:
    """All pieces of a document, and the widths and heights of its pages."""

    pieces: tuple[Piece, ...]
    sizes: tuple[tuple[float, float], ...]


@cache
def printed(html: str, size: str) -> Printed:
    from weasyprint import HTML
    from weasyprint.urls import URLFetcher

    html = html.replace("</style>", f"@page {{ size: {size} }}\n</style>", 1)
    fetcher = URLFetcher(allowed_protocols=("data",))
    document = HTML(string=html, base_url="data:,", url_fetcher=fetcher).render()
    pieces = [p for n, page in enumerate(document.pages) for p in _pieces(n, page._page_box)]
    return Printed(tuple(pieces), tuple((page.width, page.height) for page in document.pages))


def _pieces(number: int, box: Any, tag: str = "") -> Iterator[Piece]:
    tag = "thead" if tag == "thead" else box.element_tag or tag
    if type(box).__name__ == "TextBox" and box.text.strip():
        x, y = box.position_x, box.position_y
        yield Piece(number, box.text.strip(), x, y, x + box.width, y + box.height, tag)
    for child in getattr(box, "children", ()):
        yield from _pieces(number, child, tag)


@pytest.fixture(scope="module")
def pages(page_of, made_run, hostile_run) -> dict[str, str]:
    wide = Table(
        "wide",
        "Many columns of names and numbers",
        ("Task", "Suite", "Baseline configuration", *(f"Retrieved@{k}" for k in range(8)), "Note"),
        tuple(
            (name, "demo_crossrepo", "baseline-local-direct", *("+0.123",) * 8, "a note of words")
            for name in (f"ferrypath-open-ended-tour-{n:03}" for n in range(30))
        ),
        ("left", "left", "left", *("right",) * 8, "left"),
        ("A note.",),
    )
    body = "<h1>a</h1>" + to_html(Block("section", "Wide", exhibits=(wide,)))
    return {
        "made": page_of(made_run),
        "hostile": page_of(hostile_run),
        "wide": render.page_of_body(body, title="A title", footer="A title · 1.0"),
    }


@pytest.mark.parametrize(
    ("name", "size"), [("made", "A4"), ("hostile", "A4"), ("wide", "A4"), ("wide", "Letter")]
)
def test_no_word_is_printed_over_another_or_beyond_the_paper(pages, name, size):
    found = printed(pages[name], size)
    over = []
    for page, (width, height) in enumerate(found.sizes):
        here = sorted((p for p in found.pieces if p.page == page), key=lambda p: p.top)
        for place, piece in enumerate(here):
            if piece.right > width + 1 or piece.bottom > height + 1 or piece.left < -1:
                over.append((page + 1, piece.text, "beyond the paper"))
            for other in here[place + 1 :]:
                if other.top > piece.bottom:
                    break
                if piece.covers(other):
                    over.append((page + 1, piece.text, other.text))
    assert over == []


@pytest.mark.parametrize("name", ["made", "wide"])
def test_heads_of_tables_are_whole_words_and_repeated(pages, name):
    found = printed(pages[name], "A4")
    heads = [
        re.sub("<[^>]+>", "", head)
        for head in re.findall(r'<th scope="col"[^>]*>(.*?)</th>', pages[name])
    ]
    for piece in found.pieces:
        if piece.tag == "thead":
            end = r"(?:$|(?<=[-/ ])|(?=[-/ ]))"
            whole = re.compile(rf"(?:^|(?<=[-/ ])){re.escape(piece.text)}{end}")
            assert any(whole.search(head) for head in heads), piece.text
    if name == "wide":
        with_head = {piece.page for piece in found.pieces if piece.tag == "thead"}
        with_rows = {piece.page for piece in found.pieces if piece.tag == "td"}
        assert with_head == with_rows
        assert len(with_rows) > 1


@pytest.mark.parametrize("name", ["made", "wide"])
def test_captions_stay_with_their_tables_and_no_page_has_a_foot_only(pages, name):
    found = printed(pages[name], "A4")
    for page in range(len(found.sizes)):
        here = [p for p in found.pieces if p.page == page and p.tag not in ("", "html", "@page")]
        body = [p for p in here if not p.tag.startswith("@")]
        assert body, f"page {page + 1} has nothing but its foot"
        last = max(body, key=lambda p: p.top)
        assert last.tag not in ("caption", "h2", "h3", "thead"), last.text
    assert not any(piece.text == "data" for piece in found.pieces)


def test_print_of_a_page_has_every_word_in_its_order(pages, executed, made_run):
    printed_letters = iter(
        "".join(piece.text for piece in printed(pages["made"], "A4").pieces)
        .replace("\u00ad", "")
        .lower()
    )
    made = render.gathered(executed(made_run))
    cells = [re.sub(r' alt="[^"]*"', ' alt=""', d[HTML]) for d in shown(made)]
    # The style sheet writes verdicts in capitals.
    letters = "".join("".join(texts_of_html(cell)) for cell in cells).lower()
    assert [letter for letter in "".join(letters.split()) if letter not in printed_letters] == []
