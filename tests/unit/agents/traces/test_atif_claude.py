from __future__ import annotations

import json

import pytest

from retrieval_eval.agents.traces.formats.atif import result_of_claude_code, undecorated


@pytest.mark.parametrize(
    ("content", "text", "structured", "is_error"),
    [
        ("plain", "plain", None, False),
        ("", "", None, False),
        ('[metadata] {"noOutputExpected": false}', "", {"noOutputExpected": False}, False),
        ("a\nb\n\n[stdout]\na\nb\n[metadata] {}", "a\nb", {}, False),
        ("out\nerr\n\n[stdout]\nout\n[stderr]\nerr\n[metadata] {}", "out\nerr", {}, False),
        ("x\n\n[stdout]\n  x", "x", None, False),
        ("boom\n\n[error] tool reported failure", "boom", None, True),
        ("[error] tool reported failure", "", None, True),
        ("a\n\n[stdout]\na\n[exit_code] 1\n[interrupted] False\n[metadata] {}", "a", {}, False),
        ("a\n\n[exit_code] 2\n[metadata] {}", "a", {}, False),
        ("[stdout]\na\n[stderr]\nb\n[exit_code] 0\n[metadata] {}", "a\nb", {}, False),
        # What the tool itself printed stays.
        ("log\n\n[stdout]\nsomething else", "log\n\n[stdout]\nsomething else", None, False),
        ("see [metadata] {x}", "see [metadata] {x}", None, False),
        ("a\n[metadata] {broken", "a\n[metadata] {broken", None, False),
        ("the [error] tool reported failure, twice", "the [error] tool reported failure, twice",
         None, False),
    ],
)  # fmt: skip
def test_decorations_are_taken_off_and_nothing_else(content, text, structured, is_error):
    assert undecorated(content) == (text, structured, is_error)


def test_a_decoration_inside_the_metadata_is_not_taken_for_the_decoration():
    structured = {"content": 'old\n[metadata] {"x": 1}\nnew'}
    content = "written\n\n[metadata] " + json.dumps(structured)
    assert undecorated(content) == ("written", structured, False)


def test_a_cut_decoration_gives_what_it_certainly_held():
    content = 'Found 2 files\n\n[metadata] {"mode": "files", "filenames": ["a.py", "b'
    assert undecorated(content, is_truncated=True) == (
        "Found 2 files",
        {"mode": "files", "filenames": ["a.py"]},
        False,
    )


def test_the_extra_of_another_call_is_not_used():
    extra = {"tool_result_metadata": {"raw_tool_result": {"tool_use_id": "b", "content": "B"}}}
    assert result_of_claude_code("a", "A", False, extra).text == "A"


def test_the_original_makes_a_cut_result_whole():
    raw = {"tool_use_id": "a", "content": [{"type": "text", "text": "whole"}]}
    parsed = result_of_claude_code(
        "a", "who", True, {"tool_result_metadata": {"raw_tool_result": raw}}
    )
    assert (parsed.text, parsed.is_truncated) == ("whole", False)
