from __future__ import annotations

import json

import pytest

from retrieval_eval.agents.traces.results.payload import complete_json

DOCUMENT = {"a": [1, {"b": 'q"\\\n'}], "path": "/src/a.py", "n": None, "t": True, "x": -1.5e3}


@pytest.mark.parametrize(
    ("text", "kept", "dropped"),
    [
        ('{"a": 1, "b": "hal', {"a": 1, "b": "hal"}, {"a": 1}),
        ('{"a": 1, "b"', {"a": 1}, {"a": 1}),
        ('{"a": 1, "b": ', {"a": 1}, {"a": 1}),
        ('{"a": 1, "b": 12', {"a": 1}, {"a": 1}),
        ("[1, 2, tru", [1, 2], [1, 2]),
        ('{"a": "x\\', {"a": "x"}, {}),
        ('{"a": "x\\u00', {"a": "x"}, {}),
        ('{"a": "x\\u00e9', {"a": "xé"}, {}),
        ('{"a": "line\nbreak', {"a": "line\nbreak"}, {}),
        ('[[{"a": [', [[{"a": []}]], [[{"a": []}]]),
        ("", None, None),
        ("12", None, None),
        ("nonsense", None, None),
        ("}", None, None),
        (",", None, None),
    ],
)
def test_a_cut_document_gives_what_it_certainly_held(text, kept, dropped):
    assert complete_json(text, keep_cut_text=True) == kept
    assert complete_json(text, keep_cut_text=False) == dropped


def test_a_whole_document_is_itself():
    assert complete_json(json.dumps(DOCUMENT), keep_cut_text=False) == DOCUMENT


def test_bottomless_nesting_ends():
    assert complete_json("[" * 100_000, keep_cut_text=True) is not None
