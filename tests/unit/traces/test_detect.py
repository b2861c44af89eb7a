from __future__ import annotations

import pytest

from retrieval_eval.io.files import Line
from retrieval_eval.traces.detect import read_lines
from retrieval_eval.traces.reading import Reading, Unreadable

STREAM_INIT = {"type": "system", "subtype": "init", "tools": [], "mcp_servers": []}
CURSOR_INIT = {"type": "system", "subtype": "init", "model": "Opus", "permissionMode": "default"}


def read(*values):
    return read_lines((Line(n, v) for n, v in enumerate(values, start=1)), "agent/x.txt")


@pytest.mark.parametrize(
    ("values", "trace_format"),
    [
        ([STREAM_INIT], "claude-code-stream-json"),
        ([{"type": "user", "parent_tool_use_id": None}], "claude-code-stream-json"),
        (["noise", 3, STREAM_INIT], "claude-code-stream-json"),
        ([{"type": "assistant", "message": {"id": "m", "content": []}}], "claude-code-stream-json"),
        ([{"type": "assistant", "message": {"content": []}}], "claude-code-stream-json"),
        ([{"type": "queue-operation", "sessionId": "s"}], "claude-code-session-jsonl"),
        ([{"type": "summary"}, {"type": "user", "sessionId": "s"}], "claude-code-session-jsonl"),
        ([CURSOR_INIT], "cursor-jsonl"),
        ([CURSOR_INIT, {"type": "user"}, {"type": "thinking", "text": "…"}], "cursor-jsonl"),
        ([{"type": "tool_call", "subtype": "started"}], "cursor-jsonl"),
        ([{"type": "assistant", "model_call_id": "c", "message": {}}], "cursor-jsonl"),
    ],
)
def test_formats_are_told_by_content(values, trace_format):
    reading = read(*values)
    assert isinstance(reading, Reading)
    assert reading.format == trace_format


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([], "agent/x.txt: the file is empty"),
        (
            [{"type": "item.completed"}, {"type": "thread.started"}],
            "agent/x.txt: not a known trace format (lines of type item.completed, thread.started)",
        ),
        ([{"a": 1}], "agent/x.txt: not a known trace format (JSON lines without a type)"),
        ([None, "log line"], "agent/x.txt: not a known trace format (no JSON lines)"),
        (
            [{"type": {}, "sessionId": "s"}],
            "agent/x.txt: not a known trace format (JSON lines without a type)",
        ),
    ],
)
def test_other_formats_are_refused_with_what_was_seen(values, reason):
    assert read(*values) == Unreadable(reason)


def test_a_file_that_cannot_be_opened_says_why():
    assert read_lines([Line(0, None, "x: cannot be read")], "x") == Unreadable("x: cannot be read")
