"""Observations of Langfuse, in the layouts in which it gives them away."""

from __future__ import annotations

import json

import pytest

from retrieval_eval.agents.traces import SeveralTracesError, read_trace
from retrieval_eval.agents.traces.formats import read_lines
from retrieval_eval.io.files import Line


def row(identity, parent, second, kind, name, **more):
    return {
        "id": identity,
        "traceId": "t1",
        "parentObservationId": parent,
        "type": kind,
        "name": name,
        "startTime": f"2026-01-05T10:00:{second:02d}.000Z",
        "endTime": f"2026-01-05T10:00:{second:02d}.500Z",
        "level": "DEFAULT",
        "statusMessage": None,
        **more,
    }


def answer(call_id, text):
    return {"type": "tool", "content": text, "tool_call_id": call_id, "status": "success"}


MADE = {"name": "read_file", "args": {"path": "a.py"}, "id": "c1", "type": "tool_call"}
ASKED = {"role": "assistant", "content": "Next.", "tool_calls": [MADE]}
USED = {"input": 510, "output": 21, "total": 1031, "input_cache_read": 500}
ROWS = [
    row("root", None, 0, "CHAIN", "LangGraph", input="{}", output="{}"),
    row(
        "g1",
        "root",
        1,
        "GENERATION",
        "ChatOpenAI",
        input=json.dumps([{"role": "user", "content": "Where?"}]),
        output=json.dumps(ASKED),
        model="gpt-x",
        usageDetails=USED,
        costDetails={"total": 0.5},
    ),
    row(
        "f1",
        "root",
        2,
        "TOOL",
        "read_file",
        input=json.dumps({"path": "a.py"}),
        output=json.dumps(answer("c1", "x = 1")),
    ),
]


@pytest.mark.parametrize("place", ["download", "trace", "page", "rows", "lines", "python"])
def test_calls_tokens_and_cost_in_each_layout(place, tmp_path):
    python = [
        {{"traceId": "trace_id", "startTime": "start_time"}.get(k, k): v for k, v in one.items()}
        for one in ROWS
    ]
    text = {
        "download": json.dumps({"observations": ROWS, "scores": []}, indent=1),
        "trace": json.dumps({"trace": {"id": "t1", "observations": ROWS}, "observations": ROWS}),
        "page": json.dumps({"data": ROWS, "meta": {"page": 1}}, indent=1),
        "rows": json.dumps(ROWS, indent=1),
        "lines": "\n".join(map(json.dumps, ROWS)),
        "python": json.dumps(python),
    }
    path = tmp_path / "trace.json"
    path.write_text(text[place])
    trace = read_trace(path)
    assert (trace.format, trace.flags, trace.problems) == ("langfuse-observations", (), ())
    assert [(c.call_id, c.name, c.result.text) for c in trace.calls] == [
        ("c1", "read_file", "x = 1")
    ]
    assert (trace.model, trace.calls[0].cumulative_tokens, trace.declared_cost_usd) == (
        "gpt-x",
        1031,
        0.5,
    )


def calls(*rows):
    return read_lines((Line(n, v) for n, v in enumerate(rows, start=1)), "t.jsonl").calls


def test_work_below_a_tool_is_a_sub_agent_s():
    inner = [
        row("t", "root", 2, "TOOL", "task", input='{"prompt": "Look."}', output="Done."),
        row("g", "t", 3, "GENERATION", "chat", output='{"role": "assistant", "content": "I do"}'),
        row("f", "t", 4, "TOOL", "read_file", input={"path": "a.py"}, output={"content": "x = 1"}),
    ]
    assert [(c.name, c.is_subagent) for c in calls(ROWS[0], *inner)] == [
        ("task", False),
        ("read_file", True),
    ]


def test_an_error_is_one_and_a_download_without_contents_has_no_result():
    failed = row("f", "root", 1, "TOOL", "read_file", input={"path": "a"}, level="ERROR")
    light = row("h", "root", 2, "TOOL", "read_file")
    one, two = calls({**failed, "statusMessage": "no such file"}, light)
    assert (one.result.is_error, one.result.is_unfinished) == (True, True)
    assert two.result is None


def test_several_traces_are_never_joined(tmp_path):
    path = tmp_path / "rows.jsonl"
    other = [{**one, "id": f"{one['id']}b", "traceId": "t2"} for one in ROWS]
    path.write_text("\n".join(map(json.dumps, [*ROWS, *other])))
    with pytest.raises(SeveralTracesError):
        read_trace(path)
    assert len(read_trace(path, sample="t2").calls) == 1
