from __future__ import annotations

import pytest

from retrieval_eval.agents.traces.formats import read_lines
from retrieval_eval.agents.traces.tools import interpret
from retrieval_eval.io.files import Line

HEAD = {
    "working_dir": "/workspace",
    "description": "a task",
    "message_count": 4,
    "accumulated_total_tokens": 321,
    "model_config": {"model_name": "a-model"},
}


def request(call_id, name, **arguments):
    value = {"name": name, "arguments": arguments}
    content = {"type": "toolRequest", "id": call_id}
    content["toolCall"] = {"status": "success", "value": value}
    text = {"type": "text", "text": "I look."}
    return {"role": "assistant", "created": 1_700_000_000, "content": [text, content]}


def response(call_id, result):
    content = {"type": "toolResponse", "id": call_id, "toolResult": result}
    return {"role": "user", "created": 1_700_000_009, "content": [content]}


def done(text, **more):
    return {"status": "success", "value": {"content": [{"type": "text", "text": text}], **more}}


def read(*lines):
    return read_lines([Line(n, line) for n, line in enumerate(lines, start=1)], "agent/goose.txt")


def stream(*messages):
    lines = [{"type": "message", "message": {"id": "m", **message}} for message in messages]
    end = {"type": "complete", "input_tokens": 90, "output_tokens": 10, "cost_usd": 0.5}
    return read(*lines, end)


def test_a_session_file_is_read_with_what_its_first_line_states():
    view = "### src/a.py\n```py\n1: import os\n2: x = 1\n```"
    reading = read(
        HEAD,
        request("c1", "developer__text_editor", command="view", path="src/a.py"),
        response("c1", {"status": "success", "value": [{"type": "text", "text": view}]}),
    )
    (call,) = reading.calls
    (target,) = interpret(call).targets
    assert (target.path, target.lines) == ("src/a.py", ((1, 2),))
    assert interpret(call).server is None
    assert (call.timestamp, reading.finished_at) == (1_700_000_000, 1_700_000_009)
    assert (reading.cwd, reading.model) == ("/workspace", "a-model")
    assert (reading.declared_tokens, reading.flags) == (321, ())


def test_a_stream_ends_with_its_totals():
    call = request("c1", "developer__shell", command="ls")
    reading = stream(call, call, response("c1", done("a.py")))
    assert [c.result.text for c in reading.calls] == ["a.py"]
    assert (reading.declared_tokens, reading.declared_cost_usd) == (100, 0.5)
    assert reading.flags == ()
    cut = read({"type": "message", "message": call})
    assert cut.flags == ("no_result_event",)


@pytest.mark.parametrize(
    ("result", "text", "is_error", "is_unfinished"),
    [
        (done("a.py\nCommand exited with code 0"), "a.py", False, False),
        (done("a.py\nCommand exited with code 2"), "a.py", True, False),
        (done("no", isError=True), "no", True, False),
        ({"status": "error", "error": "denied"}, "denied", True, True),
        (done("Command timed out after 30 seconds"), "Command timed out", True, True),
        (done(""), "", False, False),
    ],
)
def test_a_status_says_how_a_call_ended(result, text, is_error, is_unfinished):
    (call,) = stream(request("c", "shell", command="ls"), response("c", result)).calls
    assert call.result.text.startswith(text)
    assert (call.result.is_error, call.result.is_unfinished) == (is_error, is_unfinished)


def test_the_copy_for_the_person_is_left_out():
    blocks = [
        {"type": "text", "text": "a.py", "annotations": {"audience": ["assistant"]}},
        {"type": "text", "text": "a.py in colours", "annotations": {"audience": ["user"]}},
    ]
    result = {"status": "success", "value": {"content": blocks}}
    (call,) = stream(request("c", "shell", command="ls"), response("c", result)).calls
    assert call.result.text == "a.py"


@pytest.mark.parametrize(
    ("extension", "name", "server"),
    [("developer", "shell", None), ("widgets", "find", "widgets"), (None, "shell", None)],
)
def test_the_extension_beside_a_call_says_who_offers_its_tool(extension, name, server):
    asked = request("c", name, command="ls")
    asked["content"][1]["_meta"] = {"goose_extension": extension}
    (call,) = read(asked).calls
    assert interpret(call).server == server


def test_a_call_and_its_answer_may_be_without_a_frame():
    asked = request("c", "developer__shell")
    asked["content"][1]["toolCall"] = {"name": "developer__shell", "arguments": {"command": "ls"}}
    (call,) = read(asked, response("c", "a.py")).calls
    assert (call.arguments, call.result.text) == ({"command": "ls"}, "a.py")
