"""Reads of local files whose answer the harness cut."""

from __future__ import annotations

from typing import Any

import pytest

from retrieval_eval.agents.traces.tools import interpret
from retrieval_eval.records import CUT_HERE, ToolCall, ToolResult

NUMBERED = f"1\ta\n2\tb\n3\tc\n{CUT_HERE}\n8\tx\n9\ty"
PLAIN = f"a\nb\nc\n{CUT_HERE}\nx\ny"


def read(text: str, arguments: dict[str, Any], value: Any = None) -> Any:
    result = ToolResult(text, value)
    use = interpret(ToolCall("c", "Read", {"file_path": "/w/a.py"} | arguments, result))
    return [(t.lines, t.is_whole, t.doubt) for t in use.targets]


@pytest.mark.parametrize(
    ("text", "arguments", "lines"),
    [
        (NUMBERED, {}, ((1, 2), (9, 9))),
        (PLAIN, {}, ((1, 2),)),
        (PLAIN, {"offset": 11, "limit": 90}, ((11, 12),)),
        (f"{CUT_HERE}\nx\ny", {}, None),
    ],
)
def test_a_read_that_was_cut_shows_the_lines_before_the_cut(text, arguments, lines):
    assert read(text, arguments) == [(lines, False, None)]


def test_the_text_says_what_was_shown_and_not_the_record_of_the_tool():
    record = {"file": {"filePath": "/w/a.py", "numLines": 9, "startLine": 1, "totalLines": 9}}
    assert read(NUMBERED, {}, record) == [(((1, 2), (9, 9)), False, None)]
    assert read("1\ta\n2\tb", {}, record)[0][1]


def test_half_a_name_is_none():
    text = f"/w/a.py\n/w/b.p\n{CUT_HERE}\n.py\n/w/d.py"
    use = interpret(ToolCall("c", "Glob", {"pattern": "*"}, ToolResult(text)))
    assert [t.path for t in use.targets] == ["/w/a.py", "/w/d.py"]
