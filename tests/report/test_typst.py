from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval_eval.escape import raw_block, typst_string, visible
from retrieval_eval.report import typst
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


def test_a_short_table_stays_on_one_page():
    assert "breakable: false" in shown(table(*[("a", "1")] * 12))
    assert "breakable: true" in shown(table(*[("word " * 30, "1")] * 12))


def test_a_table_has_no_number_and_a_figure_has_its_own():
    assert "kind: table, supplement: none, numbering: none" in shown(table())
    figure = Figure("f", '<svg viewBox="0 0 1 1"></svg>', "What is drawn", "Caption", table())
    source = shown(figure)
    assert 'kind: image, supplement: "Figure", numbering: "1"' in source
    assert {"What is drawn", "Caption", figure.svg} <= set(strings(source))
    assert "table(" not in source.replace("kind: table", "")


def test_a_long_word_may_break_so_that_it_stays_in_its_cell():
    word = "a" * 90
    (literal,) = (part for part in shown(table((word, "1"))).split('"') if part.startswith("aaa"))
    assert max(map(len, literal.split("\u200b"))) == 20


@pytest.mark.parametrize("word", ["implementation", "baseline-local", "unreachable" * 3])
def test_a_word_of_a_sentence_does_not_break(word):
    source = shown(Empty("e", f"{word} is here"), sentences=(word,))
    assert "\u200b" not in source


def widths(*rows: tuple[str, ...], header=("a", "b", "n"), align=("left", "left", "right")):
    source = shown(Table("t", "c", header, rows, align))
    (columns,) = re.findall(r"columns: \((.*?), \)", source)
    return [0.0 if width == "auto" else float(width[:-2]) for width in columns.split(", ")]


def test_columns_that_fit_on_the_line_take_what_they_need():
    assert widths(("x" * 30, "y" * 40, "1")) == [0, 0, 0]


def test_a_head_that_would_be_squeezed_takes_part_in_sharing_the_line():
    header = ("Configuration", *(f"Long heading {i}" for i in range(8)))
    align = ("left", *["right"] * 8)
    first, *_ = widths(("baseline-local-direct", *["1"] * 8), header=header, align=align)
    assert first >= 1.2 * len("Configuration")


def test_columns_of_long_text_share_the_line():
    text = "word " * 40
    first, second, number = widths((text, "y " * 20, "1,234"))
    assert first > second > number > len("1,234")
    assert first + second + number == pytest.approx(typst._LINE, rel=0.01)


@given(st.lists(st.tuples(*[st.text("ab -_", max_size=50)] * 8), min_size=1, max_size=4))
def test_no_column_is_narrower_than_its_longest_word(rows):
    header = ("implementation", *"abcdefg")
    found = widths(*rows, header=header, align=("left",) * 8)
    for i, width in enumerate(found):
        longest = max((len(word) for row in rows for word in typst._pieces(row[i])), default=0)
        assert not width or width >= longest
    assert not found[0] or found[0] >= len("implementation")


def test_points_are_a_grid_of_plain_text():
    made = to_typst(Block("answer", "Better", points=(("Estimate", "= +0.1 #x"),)))
    assert '"Estimate", "= +0.1 #x",' in made
    assert "<points>" in made


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


@pytest.mark.parametrize(("tone", "label"), [("better", "answer-better"), ("", "answer")])
def test_an_answer_has_its_tone_as_its_label(tone, label):
    assert to_typst(Block("answer", "Found", tone=tone)).endswith(f"\n] <{label}>")


def test_titles_and_sentences_stay_with_what_they_are_about():
    assert shown(table(), sentences=("S.",)).count("sticky: true") == 2
    assert "sticky: false, par" in shown(sentences=("S.",))


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
