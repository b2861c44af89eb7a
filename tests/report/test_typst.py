from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval_eval.escape import raw_block, typst_string, visible
from retrieval_eval.report.exhibits import Block, Empty, Figure, Table
from retrieval_eval.report.show import to_markdown
from retrieval_eval.report.typst import to_typst
from tests.report.conftest import HOSTILE
from tests.report.typst_source import code, strings

PLANTED = (
    "= Heading",
    "- item",
    "+ item",
    "/ term: text",
    "#set page(width: 1pt)",
    "$x$",
    "<label>",
)
anything = st.text(st.characters(codec=None), max_size=60)


def table(*rows: tuple[str, ...], **given) -> Table:
    return Table("t", "What it is", ("Name", "n"), rows or (("a", "1"),), **given)


def shown(*exhibits, **given) -> str:
    return to_typst(Block("section", "Found", exhibits=exhibits, **given))


@given(anything)
def test_a_string_keeps_the_text_and_cannot_be_left(text):
    literal = typst_string(visible(text))
    assert code(literal) == '""'
    assert not set("{}`") & set(literal.replace("\\u{", "").replace("}", ""))
    assert [visible(text).replace("\u200b", "")] == strings(literal)


def form(source: str) -> str:
    """Return the code of a block, whatever the widths of its columns."""
    return re.sub(r"auto|[\d.e+]+fr", "width", re.sub("true|false", "is", code(source)))


@given(anything)
def test_no_text_changes_the_code_of_a_block(text):
    def made(text: str) -> str:
        exhibits = (table((text, "1"), notes=(text,)), Empty("e", text))
        return form(to_typst(Block("answer", text, (text,), exhibits, ((text, text),))))

    assert made(f"x{text}") == made("x")


@pytest.mark.parametrize("text", [*PLANTED, *HOSTILE])
def test_a_cell_is_text_and_nothing_else(text):
    source = shown(table((text, "1")))
    assert visible(text) in strings(source)
    assert form(source) == form(shown(table(("x", "1"))))
    assert "{{<" not in source


def test_a_long_table_breaks_over_pages_and_repeats_its_head():
    rows = tuple((f"task-{i}", str(i)) for i in range(200))
    source = shown(table(*rows))
    assert "show figure: set block(breakable: true)" in source
    assert code(source).count("table.header(") == 1
    printed = strings(source)
    assert [text for text in printed if text.startswith("task-")] == [name for name, _ in rows]


def test_a_long_word_may_break_so_that_it_stays_in_its_cell():
    word = "a" * 90
    (literal,) = (part for part in shown(table((word, "1"))).split('"') if part.startswith("aaa"))
    assert max(map(len, literal.split("\u200b"))) == 20


def test_labels_are_the_classes_and_the_places_links_lead_to():
    figure = Figure("f", '<svg viewBox="0 0 1 1"></svg>', "What is drawn", "Caption", table())
    source = shown(figure, table(notes=("n",)), Empty("e", "None."), sentences=("S.",))
    for name in ("<finding>", "<sentence>", "<note>", "<empty>"):
        assert source.count(name) == 1
    assert '#label("fig-f")' in source
    assert '#label("tbl-t")' in source
    header = to_typst(Block("header", badges=(("Run", "demo"), ("Suites", "a"))))
    assert '#metadata("Run demo") <running>' in header
    assert "<badges>" in header


@given(st.text("`a\n", max_size=30))
def test_no_text_ends_a_raw_block(text):
    first, *_, last = raw_block("typst", text).split("\n")
    assert first == f"{last}{{=typst}}"
    assert last not in text.split("\n")


def test_the_markdown_of_a_block_is_one_raw_block():
    block = Block("section", "It <b>helped</b>", exhibits=(table(("{{< x >}}", "1")),))
    lines = to_markdown(block).rstrip("\n").split("\n")
    assert (lines[0], lines[-1]) == ("```{=typst}", "```")
    assert not any(line.startswith("```") for line in lines[1:-1])
