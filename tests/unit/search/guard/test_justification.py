from __future__ import annotations

import json
from datetime import date

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.search.guard.justification import read_justifications, valid_for
from retrieval_eval.search.guard.thresholds import Part, Threshold

ONE = {
    "metric": "P@5",
    "reason": "chunks changed, labels follow",
    "author": "first",
    "second_approver": "second",
    "expires": "2026-03-31",
}
P5 = Threshold("P@5", "down is bad", 0.5, "points")


def read(folder, *rows):
    path = folder / "why.json"
    path.write_text(json.dumps({"justification": rows}))
    return read_justifications(path)


def test_toml_and_json_say_the_same(tmp_path):
    path = tmp_path / "why.toml"
    lines = [f'{key} = "{value}"' for key, value in ONE.items() if key != "expires"]
    path.write_text("\n".join(["[[justification]]", *lines, "expires = 2026-03-31"]))
    (found,) = read_justifications(path)
    assert (found,) == read(tmp_path, ONE)
    assert found.expires == date(2026, 3, 31)
    assert (found.author, found.second_approver) == ("first", "second")


def test_it_holds_up_to_its_day_and_for_its_metric_and_slice_only(tmp_path):
    found = read(tmp_path, ONE)
    assert valid_for(P5, found, date(2026, 3, 31)) is found[0]
    assert valid_for(P5, found, date(2026, 4, 1)) is None
    assert valid_for(Threshold("RR", "down is bad", 1.0, "points"), found, date(2026, 1, 1)) is None
    part = Part("corpus", "docs")
    of_docs = Threshold("P@5", "down is bad", 0.5, "points", part=part)
    assert valid_for(of_docs, found, date(2026, 1, 1)) is None
    sliced = read(tmp_path, {**ONE, "slice": {"corpus": "docs"}})
    assert valid_for(of_docs, sliced, date(2026, 1, 1)) is sliced[0]
    assert valid_for(P5, sliced, date(2026, 1, 1)) is None


def test_an_expired_one_does_not_hide_a_valid_one(tmp_path):
    found = read(tmp_path, {**ONE, "expires": "2025-01-01"}, ONE)
    assert valid_for(P5, found, date(2026, 1, 1)) is found[1]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"reason": "  "}, "/justification/0/reason: expected a text"),
        ({"reason": None}, "/justification/0/reason: expected a text, found null"),
        ({"second_approver": "first"}, "/justification/0/second_approver: is the author"),
        ({"second_approver": " @First "}, "second_approver: is the author"),
        ({"second_approver": "fi\u200brst"}, "second_approver: is the author"),
        ({"second_approver": ""}, "/justification/0/second_approver: expected a text"),
        ({"expires": "soon"}, "/justification/0/expires: expected a date such as"),
        ({"expires": 20260101}, "/justification/0/expires: expected a date"),
        ({"expires": "2026-13-01"}, "expires: expected a date"),
        ({"expires": None}, "expires: expected a date"),
        ({"until": "2026-01-01"}, "/justification/0/until: unknown key"),
        ({"slice": {"corpus": 1}}, "/justification/0/slice/corpus: expected a text"),
    ],
)
def test_what_is_not_written_out_is_refused(tmp_path, change, fault):
    with pytest.raises(BadInputError) as caught:
        read(tmp_path, {**ONE, **change})
    assert fault in str(caught.value)
    assert "why.json: " in str(caught.value)


@pytest.mark.parametrize("name", list(ONE))
def test_nothing_may_be_left_out(tmp_path, name):
    with pytest.raises(BadInputError, match=f"/justification/0/{name}: "):
        read(tmp_path, {key: value for key, value in ONE.items() if key != name})


@pytest.mark.parametrize("text", ["", "[]", "{", '{"justifications": []}', '{"justification": {}}'])
def test_a_file_of_another_shape_is_refused(tmp_path, text):
    path = tmp_path / "why.json"
    path.write_text(text)
    with pytest.raises(BadInputError, match=r"why\.json"):
        read_justifications(path)


def test_a_file_that_is_not_there(tmp_path):
    for name in ("why.json", "why.toml"):
        with pytest.raises(BadInputError, match="no such file"):
            read_justifications(tmp_path / name)
