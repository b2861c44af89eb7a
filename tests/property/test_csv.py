"""CSV that is written here: no cell is a formula or an order to a terminal, and nothing is lost."""

from __future__ import annotations

import csv
import io
import unicodedata

import pandas as pd
from hypothesis import example, given
from hypothesis import strategies as st

from retrieval_eval.io.files import cell, cell_text, csv_text
from retrieval_eval.report.publishing import write_frame
from retrieval_eval.search.gold.labelling import Item, csv_sheet, read_sheet, shown_digest

TRICKY = st.text(
    alphabet="'=+-@\t\r\n ＝－a\\u05cdb1\x1b\x00\x85\u202e\ud800\ufeff;\",", max_size=12
)
TEXTS = st.text() | st.text(st.characters(exclude_categories=())) | TRICKY


def read(text):
    return list(csv.reader(io.StringIO(text, newline="")))


def is_run(shown):
    """Whether a spreadsheet may take this cell for a formula; some drop blanks at its start."""
    plain = unicodedata.normalize("NFKC", shown).lstrip()
    return plain.startswith(("=", "+", "-", "@")) or shown.startswith(("\t", "\r", "\n"))


def is_obeyed(shown):
    return any(
        unicodedata.category(c) == "Cc" or c in "\u202d\u202e" for c in shown if c not in "\t\r\n"
    )


@given(st.lists(TEXTS, min_size=1, max_size=4))
@example(["=1+1", "-0.12", "+49", "@x"])
@example([" =1+1", "\n=1", "'=1", "''=1"])
@example(["\\u001b", "\\u005cu001b", "\\\x1b", "\\u005c"])
@example(["\x00=1", "\x1b[2J", "\ud800", "＝1"])
def test_any_text_comes_back_and_none_is_run(texts):
    (head, row) = read(csv_text(texts, [texts]))
    assert head == row
    assert [cell_text(shown) for shown in row] == texts
    for shown in row:
        assert not is_run(shown)
        assert not is_obeyed(shown)
        shown.encode("utf-8")


@given(st.text().filter(str.isalnum))
def test_ordinary_text_is_not_touched(text):
    assert cell(text) == text


@given(TEXTS, TEXTS)
@example("\x1b[2J", "=cmd|' /C calc'!A0")
def test_a_sheet_comes_back_as_it_was(tmp_path_factory, query, document):
    path = tmp_path_factory.mktemp("sheet") / "sheet.csv"
    path.write_bytes(csv_sheet([Item("i1", query, document)]))
    (row,) = read(path.read_bytes().decode("utf-8-sig"))[1:]
    assert not any(map(is_run, row))
    assert not any(map(is_obeyed, row))
    (answer,), faults = read_sheet(path, {"i1": shown_digest(query, document)}, max_grade=2)
    assert faults == []
    assert answer.item == "i1"


@given(TEXTS, st.floats(allow_nan=False), st.integers())
def test_a_table_guards_texts_and_leaves_numbers(tmp_path_factory, text, real, whole):
    folder = tmp_path_factory.mktemp("table")
    columns = {"real": [real, None], "whole": [whole, -1], "list": [[text], []]}
    # The text type of pandas holds no halves of characters, columns of objects do.
    frame = pd.DataFrame({"text": pd.Series([text, None], dtype=object), **columns})
    write_frame("t", "a table", frame, folder)
    _, first, second = read((folder / "t.csv").read_bytes().decode("utf-8"))
    assert first[0] == first[3] == cell(text)
    assert (float(first[1]), int(first[2])) == (real, whole)
    assert second == ["", "", "-1", ""]
