from __future__ import annotations

import pytest

from retrieval_eval.agents.traces.untrusted import (
    DEEPEST,
    amount_of,
    blocks_text,
    clean,
    count_of,
    dict_of,
    list_of,
    text_of,
)


@pytest.mark.parametrize("value", [None, 3, True, [], {}, "", float("nan")])
def test_only_text_is_text(value):
    assert text_of(value) is None


def test_lone_surrogates_are_replaced_and_pairs_are_joined():
    assert text_of("a\ud800b") == "a\ufffdb"
    assert text_of("\ud83d\ude00") == "\U0001f600"
    cleaned = clean({"k\udc00": ["\udfff", 1, None, {"x": "\ud800"}]})
    assert cleaned == {"k\ufffd": ["\ufffd", 1, None, {"x": "\ufffd"}]}


def test_nesting_is_kept_to_a_limit():
    value: object = "bottom"
    for _ in range(DEEPEST + 300):
        value = [value]
    kept, depth = clean(value), 0
    while isinstance(kept, list):
        kept, depth = kept[0], depth + 1
    assert (kept, depth) == (None, DEEPEST)


@pytest.mark.parametrize(
    ("value", "count"),
    [(7, 7), (7.9, 7), ("7", 0), (-7, 0), (None, 0), (True, 0), (float("inf"), 0), (10**400, 0)],
)
def test_a_count_is_a_non_negative_number_or_nothing(value, count):
    assert count_of(value) == count


def test_an_amount_keeps_zero_apart_from_unknown():
    assert amount_of(0) == 0.0
    assert amount_of("0") is None
    assert amount_of(float("nan")) is None


def test_wrong_containers_are_empty():
    assert dict_of([1]) == {}
    assert list_of({"a": 1}) == []


def test_text_blocks_are_joined_by_newlines_and_others_are_left_out():
    blocks = [{"type": "text", "text": "a"}, {"type": "tool_reference"}, None, {"text": 3}, "b"]
    assert blocks_text(blocks) == "a\nb"
    assert blocks_text("plain") == "plain"
    assert blocks_text({"text": "no list"}) == ""
