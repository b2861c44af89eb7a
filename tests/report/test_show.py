from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval_eval.escape import html_text
from retrieval_eval.report.exhibits import Block, Empty, Link, Links, Table
from retrieval_eval.report.show import breakable, table_html, to_html, to_plain

TABLE = Table("t", "What it is", ("Name", "n"), (("a|b", "1"), ("<i>", "2")), notes=("A note.",))
anything = st.text(st.characters(codec=None), max_size=30)


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.cells: list[str] = []
        self.data = ""
        self._open = False

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self._open = tag in ("td", "th")
        if self._open:
            self.cells.append("")

    def handle_endtag(self, tag):
        self._open = False

    def handle_data(self, data):
        self.data += data
        if self._open:
            self.cells[-1] += data


def test_a_table_has_caption_and_scopes():
    html = table_html(TABLE)
    assert '<caption id="tbl-t" class="line">What it is</caption>' in html
    assert html.count('scope="col"') == 2
    assert html.count('scope="row"') == 2
    assert "&lt;i&gt;" in html


@given(anything, anything)
def test_no_text_can_add_a_tag_or_a_row(first, second):
    table = Table("t", first, (first, "n"), ((first, second),), notes=(second,))
    parser = Tags()
    parser.feed(table_html(table))
    ours = {
        "div",
        "table",
        "caption",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "p",
        "wbr",
        "span",
        "time",
    }
    assert set(parser.tags) <= ours
    assert len(parser.cells) == 4


def test_a_block_offers_html_markdown_and_plain_text():
    block = Block(
        "answer", "It <b>helped</b>", ("So it is.",), (TABLE, Empty("e", "Nothing.")), tone="better"
    )
    bundle = block._repr_mimebundle_()
    assert set(bundle) == {"text/html", "text/markdown", "text/plain"}
    assert 'class="block answer tone-better"' in to_html(block)
    assert "It &lt;b&gt;helped&lt;/b&gt;" in to_html(block)
    assert bundle["text/markdown"].startswith("```{=typst}\n")
    assert to_plain(block).splitlines() == [
        "It <b>helped</b>",
        "So it is.",
        "What it is",
        "Nothing.",
    ]


@given(anything)
def test_a_break_inside_a_word_changes_no_text(text):
    def read(html):
        parser = Tags()
        parser.feed(f"<td>{html}")
        parser.close()
        assert set(parser.tags) <= {"td", "wbr"}
        return parser.data

    assert read(breakable(text)) == read(html_text(text))


def test_a_cell_leads_to_a_place_inside_the_report_and_nowhere_else():
    def row(*places):
        cells = tuple(Link("<b>", place) for place in places)
        return table_html(Table("t", "", ("A", "B"), (cells,)))

    shown = row("trials/a@b/index.html", "#query-7")
    assert '<a href="trials/a@b/index.html">&lt;b&gt;</a>' in shown
    assert '<a href="#query-7">&lt;b&gt;</a>' in shown
    assert "<a" not in row("", "")
    for outside in ("//x", "http://x", "javascript:x", "a/../../b", "/etc", "a b", 'x"y'):
        with pytest.raises(ValueError, match="not a place"):
            row(outside, "")


def test_each_name_in_a_cell_leads_to_its_own_place():
    cell = Links.joined(
        ", ", [Links(Link("<a>", "b.html#a"), " (rank 2)"), Link("c", ""), "1 more"]
    )
    assert cell == "<a> (rank 2), c, 1 more"
    shown = table_html(Table("t", "", ("A",), ((cell,),)))
    assert '<a href="b.html#a">&lt;a&gt;</a> (rank 2), c, ' in shown
    assert shown.count("<a ") == 1
    with pytest.raises(ValueError, match="not a place"):
        table_html(Table("t", "", ("A",), ((Links(Link("x", "//x")),),)))
