from __future__ import annotations

import csv
import io
import json

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.gold.labelling import (
    COLUMNS,
    Item,
    csv_sheet,
    jsonl_sheet,
    read_sheet,
    shown_digest,
)

ITEMS = (
    Item("i1", "late fees", 'A rule, "quoted"\nover two lines'),
    Item("i2", "=HYPERLINK(1)", "+49 is a prefix"),
)
SHOWN = {item.id: shown_digest(item.query, item.document) for item in ITEMS}


def _filled(path, grades, comments=("", ""), edit=lambda text: text):
    rows = list(csv.reader(io.StringIO(csv_sheet(ITEMS).decode("utf-8-sig"), newline="")))
    for row, grade, comment in zip(rows[1:], grades, comments, strict=True):
        row[3:] = [grade, comment]
    buffer = io.StringIO(newline="")
    csv.writer(buffer).writerows(rows)
    path.write_text(edit(buffer.getvalue()), encoding="utf-8", newline="")
    return path


def _read(path, max_grade=2):
    return read_sheet(path, SHOWN, max_grade=max_grade)


def test_a_spreadsheet_finds_no_formula():
    rows = list(csv.reader(io.StringIO(csv_sheet(ITEMS).decode("utf-8-sig"), newline="")))
    assert rows[0] == list(COLUMNS)
    assert rows[2][1:3] == ["'=HYPERLINK(1)", "'+49 is a prefix"]


def test_a_sheet_says_nothing_but_what_is_to_be_graded():
    (first, _) = jsonl_sheet(ITEMS).decode().splitlines()
    assert json.loads(first) == {
        "item": "i1",
        "query": "late fees",
        "document": 'A rule, "quoted"\nover two lines',
        "grade": None,
        "comment": "",
    }


def test_what_is_written_is_read_back(tmp_path):
    answers, faults = _read(_filled(tmp_path / "a.csv", ["2", ""], ["=not a formula", "'tis so"]))
    assert faults == []
    assert [(a.item, a.grade, a.comment) for a in answers] == [
        ("i1", 2, "=not a formula"),
        ("i2", None, "'tis so"),
    ]
    # The first item takes two lines of the file, so the second one begins on line 4.
    assert [a.where for a in answers] == ["a.csv: line 2", "a.csv: line 4"]


@pytest.mark.parametrize(
    "edit",
    [
        lambda text: text.replace("\r\n", "\n"),
        lambda text: "\ufeff" + text,
        lambda text: text + "\r\n,,,,\r\n",
        lambda text: "\r\n".join(
            ";".join(f'"{cell.replace(chr(34), chr(34) * 2)}"' for cell in row)
            for row in csv.reader(io.StringIO(text, newline=""))
        ),
    ],
    ids=["line feeds", "byte-order mark", "empty rows", "semicolons"],
)
def test_what_spreadsheets_do_to_a_file_does_no_harm(tmp_path, edit):
    answers, faults = _read(_filled(tmp_path / "a.csv", ["1", " 0 "], edit=edit))
    assert faults == []
    assert [answer.grade for answer in answers] == [1, 0]


@pytest.mark.parametrize("grade", ["3", "-1", "1.5", "yes", "٢", "1e0", "9999999999"])
def test_a_grade_off_the_scale_is_named_by_line(tmp_path, grade):
    answers, (fault,) = _read(_filled(tmp_path / "a.csv", ["1", grade]))
    assert [answer.grade for answer in answers] == [1]
    assert fault.startswith("a.csv: line 4: the grade")
    assert "0 to 2" in fault


def test_edited_text_and_foreign_items_are_named(tmp_path):
    edited = _filled(tmp_path / "a.csv", ["1", "1"], edit=lambda t: t.replace("fees", "fines"))
    _, (fault,) = _read(edited)
    assert fault.startswith("a.csv: line 2: the text of item i1 was edited")
    foreign = _filled(tmp_path / "b.csv", ["1", "1"], edit=lambda t: t.replace("i2", "i9"))
    _, (fault,) = _read(foreign)
    assert fault.startswith("b.csv: line 4: the item 'i9' is not in the key")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("{", "not valid JSON"),
        ("[]", "expected an object"),
        ('{"item":"i1"}', "expected an object with"),
        ('{"item":1,"query":"","document":"","grade":1,"comment":""}', "item: expected text"),
        ('{"item":"i1","query":"late fees","document":"D","grade":true,"comment":""}', "edited"),
    ],
)
def test_a_broken_line_is_named(tmp_path, row, message):
    path = tmp_path / "a.jsonl"
    path.write_text(f"\n{row}\n", encoding="utf-8")
    answers, (fault,) = _read(path)
    assert answers == []
    assert fault.startswith("a.jsonl: line 2: ")
    assert message in fault


@pytest.mark.parametrize("grade", [True, 1.0, "x", [], -1, 3])
def test_a_grade_in_json_is_a_whole_number(tmp_path, grade):
    row = {"item": "i2", "query": ITEMS[1].query, "document": ITEMS[1].document}
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({**row, "grade": grade, "comment": ""}), encoding="utf-8")
    answers, (fault,) = _read(path)
    assert answers == []
    assert "off the scale" in fault


def test_a_row_with_too_few_cells_is_named(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(",".join(COLUMNS) + "\ni1,late fees\n", encoding="utf-8")
    _, faults = _read(path)
    assert faults == ["a.csv: line 2: has 2 cells instead of 5"]


@pytest.mark.parametrize("text", ["", "item,query\n", "a,b,c,d,e\n", f"{','.join(COLUMNS)},rank\n"])
def test_a_file_that_is_no_sheet_is_refused(tmp_path, text):
    path = tmp_path / "a.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadInputError, match=r"a\.csv: line 1: expected the columns"):
        _read(path)


def test_files_that_cannot_be_read_are_refused(tmp_path):
    for name in ("none.csv", "none.jsonl"):
        with pytest.raises(BadInputError, match="cannot be read"):
            _read(tmp_path / name)
    broken = tmp_path / "broken.csv"
    broken.write_text(",".join(COLUMNS) + '\ni1,"open', encoding="utf-8")
    with pytest.raises(BadInputError, match="not valid CSV"):
        _read(broken)


def test_a_long_document_fits_into_a_cell(tmp_path):
    item = Item("i1", "q", "word " * 60_000)
    path = tmp_path / "a.csv"
    path.write_bytes(csv_sheet([item]))
    answers, faults = read_sheet(path, {"i1": shown_digest("q", item.document)}, max_grade=2)
    assert faults == []
    assert answers[0].grade is None
