"""Unwrapping of JSON around text around JSON, whole and cut off."""

from __future__ import annotations

import json

import pytest

from retrieval_eval.agents.traces.results.payload import is_envelope, states_failure, unwrapped

BLOCKS = {"blocks": [{"file": "a.py", "repo": "r/r"}]}


@pytest.mark.parametrize(
    ("text", "structured", "inner", "value"),
    [
        ("plain", None, "plain", None),
        ("plain", "Error: x", "plain", None),
        ('{"text": "a"}', None, "a", None),
        ('{"content": "1: a"}', None, "1: a", None),
        ('{"result": "1: a"}', None, "1: a", None),
        (json.dumps(json.dumps({"result": "1: a"})), None, "1: a", None),
        (json.dumps({"result": json.dumps("1: a")}), None, "1: a", None),
        (json.dumps({"result": json.dumps({"result": "a"})}), None, "a", None),
        ('{"result": "1: a\\n2: b', None, "1: a\n2: b", None),
        ("x", {"result": "a"}, "a", None),
        ("x", {"text": "a"}, "a", None),
        ("x", {"content": "y", "structuredContent": {"text": "a"}}, "a", None),
        ("x", [{"type": "text", "text": '{"text": "a"}'}], "a", None),
        ("x", {"content": [{"text": {"text": "a"}}], "isError": False}, "a", None),
        ("x", {"meta": None, "content": [{"type": "text", "text": "a"}]}, "a", None),
        (json.dumps(BLOCKS), None, json.dumps(BLOCKS), BLOCKS),
        ("x", {"content": json.dumps(BLOCKS)}, json.dumps(BLOCKS), BLOCKS),
        ("x", [{"path": "a"}], "x", [{"path": "a"}]),
        ("{not json", None, "{not json", None),
    ],
)
def test_whole_results(text, structured, inner, value):
    assert unwrapped(text, structured) == (inner, value)


def test_a_text_cut_anywhere_gives_a_start_of_the_text():
    text = 'line\n"quoted" \\ back ü \U0001f600 end'
    whole = json.dumps({"text": text})
    opening = whole.index('": "') + 4
    for end in range(opening, len(whole)):
        shown, value = unwrapped(whole[:end], None)
        assert value is None
        # Half of a surrogate pair may be left where the cut went through it.
        assert text.startswith(shown.rstrip("\ud83d"))


def test_records_cut_anywhere_give_only_whole_paths():
    records = [{"file": f'src/"{n}".py', "repo": f"r/{n}"} for n in range(4)]
    whole = json.dumps({"blocks": records})
    for end in range(12, len(whole) - 1):
        _, value = unwrapped(whole[:end], None)
        assert [v["file"] for v in value] == [r["file"] for r in records[: len(value)]]


def test_json_too_deep_is_text():
    deep = "[" * 200_000
    assert unwrapped(deep, None) == (deep, None)


HITS = {"hits": [{"path": "a.py", "line": 7, "text": "x"}]}
BLOCK = {"type": "text", "text": json.dumps(HITS)}
EXECUTED = {"type": "text", "text": "[Tool 'find_symbol' executed.]"}
IMAGE = {"type": "image", "data": "x", "mimeType": "image/png"}


@pytest.mark.parametrize(
    "envelope",
    [
        BLOCK,
        [BLOCK],
        [EXECUTED, BLOCK],
        [BLOCK, IMAGE],
        {"content": [BLOCK], "isError": False},
        {"content": [{"type": "text", "text": "a.py:7: x"}], "structuredContent": HITS},
        {"content": [BLOCK], "structuredContent": {"result": json.dumps(HITS)}, "_meta": None},
    ],
)
def test_an_answer_of_mcp_is_the_same_in_every_envelope(envelope):
    assert is_envelope(envelope)
    for text, structured in (("", envelope), (json.dumps(envelope), None)):
        assert unwrapped(text, structured)[1] == HITS


@pytest.mark.parametrize(
    ("text", "inner", "value"),
    [
        ("a.py:7: x\n\n" + json.dumps(HITS), "a.py:7: x", HITS),
        (json.dumps(HITS) + "\n" + json.dumps(HITS, indent=2), json.dumps(HITS), HITS),
        ('plain\n\n{"result": "plain"}', "plain", None),
        ('plain\n\n{"result": "else"}', 'plain\n\n{"result": "else"}', None),
        ("plain\n{not json}", "plain\n{not json}", None),
    ],
)
def test_structured_content_may_stand_behind_the_text(text, inner, value):
    assert unwrapped(text, None) == (inner, value)


def test_a_file_may_end_in_json_of_its_own():
    text = 'See:\n\n{"hits": []}'
    assert unwrapped(text, None, is_content=True) == (text, None)
    assert unwrapped('x = 1\n\n{"result": "x = 1"}', None, is_content=True) == ("x = 1", None)


def test_a_resource_is_the_content_and_the_other_blocks_are_about_it():
    resource = {"type": "resource", "resource": {"uri": "file:///a.py", "text": "x = 1"}}
    about = {"type": "text", "text": "successfully downloaded text file (SHA: 1f)"}
    assert unwrapped("", [about, resource]) == ("x = 1", None)


@pytest.mark.parametrize(
    ("value", "has_failed"),
    [
        ({"content": [], "isError": True}, True),
        ({"result": {"content": [BLOCK], "isError": True}}, True),
        ({"content": [BLOCK], "isError": False}, False),
        ({"content": [{"type": "text", "text": '{"isError": true}'}]}, True),
        (["isError"], False),
    ],
)
def test_an_error_is_marked_in_any_layer(value, has_failed):
    assert states_failure("", value) == has_failed
    assert states_failure(json.dumps(value), None) == has_failed


@pytest.mark.parametrize(
    "value", [None, 3, {}, [], {"text": "x"}, [{"text": "x"}], {"type": "text"}]
)
def test_records_are_no_envelope(value):
    assert not is_envelope(value)
