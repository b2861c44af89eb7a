"""One content in every rendering: the page, and its print by typst, in the same order."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from retrieval_eval.escape import visible
from retrieval_eval.report.exhibits import Block, Empty, Figure, Link, Table
from retrieval_eval.report.show import to_html, to_markdown
from tests.report.conftest import HOSTILE
from tests.report.typst_source import strings

HTML, PRINT = "text/html", "text/markdown"
_TEXTS = {"p", "dt", "dd", "caption", "th", "td", "figcaption", "summary"}
_RUNNING = re.compile(r"#metadata\(.*?\) <running>\n")
_DRAWING = re.compile(r"bytes\(\".*?(?<!\\)\"\)", re.DOTALL)


class _Texts(HTMLParser):
    """The texts that print shows, in order: the data of figures is for the screen alone."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.texts: list[str] = []
        self._inside = False
        self._hidden = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "details" and dict(attrs).get("class") != "pane":
            self._hidden = True
        if self._hidden:
            return
        if tag in _TEXTS:
            self._inside = True
            self.texts.append("")
        if tag == "img":
            self.texts.append(dict(attrs)["alt"] or "")

    def handle_endtag(self, tag: str) -> None:
        if tag == "details":
            self._hidden = False
        if tag in _TEXTS:
            self._inside = False

    def handle_data(self, data: str) -> None:
        if self._inside and not self._hidden:
            self.texts[-1] += data


def texts_of_html(html: str) -> list[str]:
    found = _Texts()
    found.feed(html)
    return found.texts


def texts_of_typst(source: str) -> list[str]:
    """Return the texts of typst blocks: without drawings, names of labels, and settings."""
    plain = _DRAWING.sub("", _RUNNING.sub("", source))
    plain = re.sub(r'#label\(".*?"\)|format: "svg"|supplement: "Figure"|numbering: "1"', "", plain)
    return strings(plain.replace('separator: ". "', ""))


def shown(notebook) -> list[dict[str, str]]:
    """Return what every cell shows in the grammar of the report."""
    outputs = [o.get("data", {}) for c in notebook.cells for o in c.get("outputs", [])]
    return [data for data in outputs if HTML in data]


@pytest.mark.parametrize("name", ["made_run", "hostile_run"])
def test_every_cell_shows_the_same_on_a_page_and_in_print(executed, request, name):
    outputs = shown(executed(request.getfixturevalue(name)))
    assert len(outputs) > 15
    for data in outputs:
        assert texts_of_html(data[HTML]) == texts_of_typst(data[PRINT])


@pytest.mark.parametrize("text", HOSTILE)
def test_every_part_of_a_block_is_in_both(text):
    data = Table("d", "Data", ("n",), (("1",),))
    table = Table("t", f"A {text}", ("a", text), ((Link(text, "b.html"), "1"),), notes=(text,))
    figure = Figure("f", '<svg viewBox="0 0 1 1"><text>"x"</text></svg>', text, text, data)
    empty = Empty("e", f"None of {text}.")
    block = Block("answer", text, (text, "Two"), (figure, table, empty), (("Run", text),))
    found = texts_of_html(to_html(block))
    assert found == texts_of_typst(to_markdown(block))
    assert found.count(visible(text)) == 8


def missing_from(source: str, order: list[str]) -> list[str]:
    """Return which of the texts are not in a source, each behind the one before."""
    place = 0
    missing = []
    for text in order:
        found = source.find(text, place)
        if found < 0:
            missing.append(text[:80])
        else:
            place = found + len(text)
    return missing
