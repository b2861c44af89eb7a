"""Traces that openai-agents exports itself."""

from __future__ import annotations

import json

import pytest

from retrieval_eval.agents.traces import read_trace
from retrieval_eval.agents.traces.formats import read_lines
from retrieval_eval.agents.traces.formats.openai_agents import read_openai_agents_lines
from retrieval_eval.io.files import Line


def span(identity, parent, second, kind, *, error=None, **data):
    return {
        "object": "trace.span",
        "id": identity,
        "trace_id": "trace_1",
        "parent_id": parent,
        "started_at": f"2026-01-05T10:00:{second:02d}+00:00",
        "ended_at": f"2026-01-05T10:00:{second + 1:02d}+00:00",
        "span_data": {"type": kind, **data},
        "error": error,
    }


def function(identity, parent, second, name, arguments, output, **more):
    given = json.dumps(arguments)
    return span(identity, parent, second, "function", name=name, input=given, output=output, **more)


USED = {"input_tokens": 1010, "output_tokens": 21}
TRACE = {"object": "trace", "id": "trace_1", "workflow_name": "Agent workflow", "group_id": "g"}
# A span is written when it ends, so that the inner ones come first.
SPANS = [
    span("r1", "turn", 2, "response", response_id="resp_1", usage=USED),
    span("r2", "inner", 4, "response", response_id="resp_2", usage=USED),
    function("f2", "inner", 5, "read_file", {"path": "a.py"}, "x = 1"),
    span("inner", "f1", 3, "agent", name="helper", tools=["read_file"]),
    function("f1", "turn", 3, "helper", {"input": "Look."}, "Done."),
    span("turn", "main", 1, "custom", name="turn", data={"usage": USED}),
    span("main", "task", 1, "agent", name="finder", tools=["helper"]),
    span("task", None, 0, "custom", name="task", data={"usage": USED}),
]


@pytest.mark.parametrize("place", ["lines", "batch"])
def test_calls_tokens_and_sub_agents_of_a_trace(place, tmp_path):
    path = tmp_path / "trace.jsonl"
    items = [TRACE, *SPANS]
    lines = "\n".join(map(json.dumps, items))
    path.write_text(lines if place == "lines" else json.dumps({"data": items}, indent=1))
    trace = read_trace(path)
    assert (trace.format, trace.harness, trace.flags) == (
        "openai-agents-trace",
        "openai-agents",
        (),
    )
    assert [(c.name, c.result.text, c.is_subagent) for c in trace.calls] == [
        ("helper", "Done.", False),
        ("read_file", "x = 1", True),
    ]
    assert [c.cumulative_tokens for c in trace.calls] == [1031, 2062]


def calls(*spans):
    reading = read_lines((Line(n, v) for n, v in enumerate(spans, start=1)), "t.jsonl")
    return list(reading.calls)


def test_a_server_is_named_and_its_blocks_are_text():
    about = {"mcp_data": {"server": "files"}}
    block = {"type": "text", "text": "it's\nhere ü"}
    one, two, other = calls(
        function("a", None, 1, "read_text", {}, str(block), **about),
        function("b", None, 2, "read_text", {}, str([block, {**block, "text": 'a"'}]), **about),
        function("c", None, 3, "read_text", {}, "{'type': 'text', 'text': '\\q", **about),
    )
    assert (one.name, one.result.text) == ("mcp__files__read_text", "it's\nhere ü")
    assert two.result.text == "it's\nhere ü\na\""
    assert other.result.text.startswith("{'type'")


def test_the_error_of_a_call_and_the_messages_of_a_generation():
    failed = {"message": "Error running tool", "data": {"tool_name": "read_file", "error": "boom"}}
    said = "An error occurred while running the tool. Please try again. Error: boom"
    made = {"id": "c1", "function": {"name": "read_file", "arguments": '{"path": "a.py"}'}}
    asked = {"role": "assistant", "content": None, "tool_calls": [made]}
    answered = {"role": "tool", "tool_call_id": "c1", "content": said}
    (only,) = calls(
        span("g1", None, 1, "generation", output=[asked], model="m", usage=USED),
        function("f1", None, 2, "read_file", {"path": "a.py"}, said, error=failed),
        span("g2", None, 3, "generation", input=[asked, answered], model="m", usage=USED),
    )
    assert (only.call_id, only.result.is_error) == ("c1", True)


def test_the_group_of_traces_is_a_session():
    again = [{**s, "trace_id": "trace_2", "id": f"{s['id']}b", "parent_id": None} for s in SPANS]
    items = [TRACE, {**TRACE, "id": "trace_2"}, *SPANS, *again]
    reading = read_openai_agents_lines([Line(n, v) for n, v in enumerate(items)], "t.jsonl")
    assert reading.session_ids == {"g"}
    assert len(reading.calls) == 4
