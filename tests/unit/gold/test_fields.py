from __future__ import annotations

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.gold.gold_set import field_map
from retrieval_eval.model.gold import FieldMap


@pytest.fixture
def path(tmp_path):
    return tmp_path / "gold-set.jsonl"


def test_without_settings_our_names_and_those_of_the_seed_are_known(path):
    found = field_map(path)
    assert found == FieldMap()
    assert found.max_grade == 2
    meanings = found.meanings()
    assert meanings["relevant"] == meanings["relevant_case_law_ids"] == "relevant"
    assert meanings["area"] == meanings["practice_area"] == "area"
    assert "answers" not in meanings


def test_gold_toml_beside_the_file(path):
    (path.parent / "gold.toml").write_text(
        'max_grade = 3\n[fields]\nrelevant = "answers"\n[bootstrap.tables]\nlogs = "l"\n'
    )
    found = field_map(path)
    assert (found.names, found.max_grade, found.header) == ({"relevant": "answers"}, 3, None)


def test_a_header_line_goes_before_gold_toml_and_adds_to_it(path):
    (path.parent / "gold.toml").write_text(
        'max_grade = 3\n[fields]\nrelevant = "answers"\narea = "topic"\n'
    )
    header = '{"gold_set": {"max_grade": 4, "fields": {"relevant": "docs"}}}'
    path.write_bytes(b"\xef\xbb\xbf\r\n" + header.encode() + b"\r\n{}\n")
    found = field_map(path)
    assert found.names == {"relevant": "docs", "area": "topic"}
    assert (found.max_grade, found.header) == (4, header)


def test_a_header_without_a_scale_leaves_the_one_of_gold_toml(path):
    (path.parent / "gold.toml").write_text("max_grade = 3\n")
    path.write_text('{"gold_set": {"fields": {"relevant": "docs"}}}\n')
    assert field_map(path).max_grade == 3


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("max_grade = 0", r"gold\.toml: max_grade: expected a whole number from 1 to 1000"),
        ("max_grade = 1001", "max_grade"),
        ("max_grade = true", "max_grade"),
        ("max_grade = 2.0", "max_grade"),
        ("max_grad = 3", "unknown setting 'max_grad'"),
        ('[fields]\nanswer = "x"', "unknown field 'answer'; known: id, query"),
        ("[fields]\nrelevant = 3", "relevant: expected a field name as text"),
        ('[fields]\nrelevant = ""', "relevant: expected a field name as text"),
        ('[fields]\nrelevant = "x"\narea = "x"', "two fields have the same name"),
        ('fields = "x"', "expected our field names"),
        ("max_grade = ", "not valid TOML"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(path, toml, message):
    (path.parent / "gold.toml").write_text(toml)
    with pytest.raises(BadInputError, match=message):
        field_map(path)


@pytest.mark.parametrize("settings", ["3", "null", '{"max_grade": -1}', '{"field": {}}'])
def test_a_broken_header_names_file_and_line(path, settings):
    path.write_text(f'{{"gold_set": {settings}}}\n')
    with pytest.raises(BadInputError, match=rf"^{path}: line 1: /gold_set"):
        field_map(path)


def test_a_first_row_is_no_header(path):
    path.write_text('{"gold_set": 1, "query": "x"}\n')
    assert field_map(path).header is None
