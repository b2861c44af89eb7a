"""Unwrapping of JSON around text around JSON, whole and cut off."""

from __future__ import annotations

import json
from typing import Any

import pytest

from retrieval_eval.traces.results.payload import unwrapped

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
def test_whole_results(text: str, structured: Any, inner: str, value: Any) -> None:
    assert unwrapped(text, structured) == (inner, value)


def test_a_text_cut_anywhere_gives_a_start_of_the_text() -> None:
    text = 'line\n"quoted" \\ back ü \U0001f600 end'
    whole = json.dumps({"text": text})
    opening = whole.index('": "') + 4
    for end in range(opening, len(whole)):
        shown, value = unwrapped(whole[:end], None)
        assert value is None
        # Half of a surrogate pair may be left where the cut went through it.
        assert text.startswith(shown.rstrip("\ud83d"))


def test_records_cut_anywhere_give_only_whole_paths() -> None:
    records = [{"file": f'src/"{n}".py', "repo": f"r/{n}"} for n in range(4)]
    whole = json.dumps({"blocks": records})
    for end in range(12, len(whole) - 1):
        _, value = unwrapped(whole[:end], None)
        assert [v["file"] for v in value] == [r["file"] for r in records[: len(value)]]


def test_json_too_deep_is_text() -> None:
    deep = "[" * 200_000
    assert unwrapped(deep, None) == (deep, None)
