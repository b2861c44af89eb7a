"""Messages of LangChain and states of LangGraph."""

from __future__ import annotations

import json

import pytest

from retrieval_eval.agents.traces import read_trace
from retrieval_eval.agents.traces.formats import read_lines
from retrieval_eval.io.files import Line
from retrieval_eval.records import ToolCall


def call(call_id, name="read_file", **args):
    return {"name": name, "args": args, "id": call_id, "type": "tool_call"}


def ai(*calls, **more):
    return {"type": "ai", "content": "Next.", "tool_calls": list(calls), **more}


def tool(call_id, content, **more):
    return {"type": "tool", "content": content, "tool_call_id": call_id, **more}


USED = {"input_tokens": 1010, "output_tokens": 21, "input_token_details": {"cache_read": 500}}
MESSAGES = [
    {"type": "system", "content": "You are an agent."},
    {"type": "human", "content": "Where is the limit?"},
    ai(
        call("c1", "grep", pattern="limit", path="src"),
        id="m1",
        usage_metadata=USED,
        response_metadata={"model_name": "gpt-x"},
    ),
    tool("c1", "src/a.py", status="success"),
    ai(call("c2", path="b.py"), id="m2", usage_metadata=USED),
    tool("c2", "Error: not there", status="error"),
]
NAMES = {"human": "HumanMessage", "ai": "AIMessage", "tool": "ToolMessage"}


def dumped(message):
    name = NAMES.get(message["type"], "SystemMessage")
    path = ["langchain", "schema", "messages", name]
    return {"lc": 1, "type": "constructor", "id": path, "kwargs": message}


SHAPES = {
    "messages_to_dict": [{"type": m["type"], "data": m} for m in MESSAGES],
    "fields": MESSAGES,
    "dumpd": list(map(dumped, MESSAGES)),
}


@pytest.mark.parametrize("place", ["lines", "array", "state", "values", "updates", "checkpoint"])
@pytest.mark.parametrize("shape", SHAPES)
def test_each_form_is_read_wherever_it_lies(shape, place, tmp_path):
    messages = SHAPES[shape]
    state = {"messages": messages}
    text = {
        "lines": "\n".join(map(json.dumps, messages)),
        "array": json.dumps(messages, indent=1),
        "state": json.dumps(state, indent=1),
        "values": json.dumps({"values": state, "next": []}, indent=1),
        "updates": "\n".join(json.dumps({"model": {"messages": [m]}}) for m in messages),
        "checkpoint": json.dumps({"checkpoint": {"channel_values": state}}),
    }
    path = tmp_path / "trace.json"
    path.write_text(text[place])
    trace = read_trace(path)
    assert (trace.format, trace.flags, trace.problems) == ("langchain-messages", (), ())
    assert [(c.call_id, c.name, c.result and c.result.text) for c in trace.calls] == [
        ("c1", "grep", "src/a.py"),
        ("c2", "read_file", "Error: not there"),
    ]
    assert [c.result.is_error for c in trace.calls] == [False, True]
    assert (trace.model, trace.calls[-1].cumulative_tokens) == ("gpt-x", 2 * 1031)


def read(*messages):
    return read_lines((Line(n, m) for n, m in enumerate(messages, start=1)), "m.jsonl")


def test_a_state_that_is_written_again_counts_once():
    once = read({"messages": MESSAGES[:4]})
    again = read({"messages": MESSAGES[:4]}, {"messages": MESSAGES[:4]})
    assert [c.call_id for c in again.calls] == [c.call_id for c in once.calls]


def test_arguments_that_could_not_be_read_were_not_carried_out():
    broken = {"name": "read_file", "args": '{"path": "a.', "id": "c", "error": "not valid JSON"}
    reading = read(ai(invalid_tool_calls=[broken]))
    (only,) = reading.calls
    assert (only.result.text, only.result.is_unfinished) == ("not valid JSON", True)
    patched = "Tool call read_file with id c could not be executed"
    answered = read(ai(invalid_tool_calls=[broken]), tool("c", patched, status="error"))
    assert answered.calls[0].result.text == patched
    assert answered.flags == ()


def test_calls_of_a_model_s_interface_are_read_where_there_are_no_others():
    function = {"name": "read_file", "arguments": '{"path": "a.py"}'}
    older = {"tool_calls": [{"id": "c", "type": "function", "function": function}]}
    message = {"type": "ai", "content": "", "additional_kwargs": older}
    (only,) = read(message, tool("c", "x = 1")).calls
    assert (only.arguments, only.result.text) == ({"path": "a.py"}, "x = 1")


def test_pictures_are_an_answer():
    (only,) = read(ai(call("c", path="a.png")), tool("c", [{"type": "image", "base64": "a"}])).calls
    assert only.result.structured == {"type": "image"}


def test_a_summary_stands_for_calls_that_are_gone():
    summary = "Here is a summary of the conversation to date:\n\nIt read a.py."
    reading = read({"type": "human", "content": summary}, *MESSAGES[2:4])
    assert reading.flags == ("history_compacted",)


def test_the_harness_is_known_by_its_wording():
    text = "@@ lines 3-4 of 9 | next offset 4 @@\nc = 3\nd = 4"
    reading = read(ai(call("c", file_path="/a.py", offset=2, limit=2)), tool("c", text))
    assert reading.harness == "deepagents"
    (only,) = (item for item in reading.items if isinstance(item, ToolCall))
    assert only.result.text == "c = 3\nd = 4"
    assert read(*MESSAGES).harness is None
