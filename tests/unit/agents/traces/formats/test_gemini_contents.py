"""Contents of Gemini's interface, as JSON and as Python's library dumps them."""

from __future__ import annotations

import json

import pytest

from retrieval_eval.agents.traces import SeveralTracesError, read_trace
from retrieval_eval.agents.traces.formats import read_lines
from retrieval_eval.io.files import Line


def user(text):
    return {"role": "user", "parts": [{"text": text}]}


def call(name, call_id=None, **args):
    function = {"name": name, "args": args} | ({"id": call_id} if call_id else {})
    return {"functionCall": function, "thoughtSignature": "c2ln"}


def model(*parts):
    return {"role": "model", "parts": [{"text": "Next."}, *parts]}


def answers(*named):
    parts = [{"functionResponse": {"name": name, "response": value}} for name, value in named]
    return {"role": "user", "parts": parts}


CONTENTS = [
    user("Where is the limit?"),
    model(call("run_shell", command="ls src"), call("read_file", path="src/a.py")),
    answers(("read_file", {"result": "x = 1"}), ("run_shell", {"result": "a.py"})),
    model(call("read_file", path="b.py")),
    answers(("read_file", {"error": "FileNotFoundError: b.py"})),
    {"role": "model", "parts": [{"text": "In a.py."}]},
]
READ = [("run_shell", "a.py"), ("read_file", "x = 1"), ("read_file", "FileNotFoundError: b.py")]


def dumped(content):
    """Return a content with the names of Python and a null for what it has not."""
    parts = [
        {
            "text": part.get("text"),
            "function_call": part.get("functionCall"),
            "function_response": part.get("functionResponse"),
        }
        for part in content["parts"]
    ]
    return {"role": content["role"], "parts": parts}


@pytest.mark.parametrize("place", ["lines", "array", "request", "requests"])
@pytest.mark.parametrize("form", ["interface", "python"])
def test_each_form_is_read_wherever_it_lies(form, place, tmp_path):
    contents = CONTENTS if form == "interface" else list(map(dumped, CONTENTS))
    grown = [
        {"request": {"contents": contents[:n]}, "response": {"candidates": [{"content": last}]}}
        for n, last in ((1, contents[1]), (3, contents[3]), (5, contents[5]))
    ]
    text = {
        "lines": "\n".join(map(json.dumps, contents)),
        "array": json.dumps(contents, indent=1),
        "request": json.dumps({"contents": contents}, indent=1),
        "requests": "\n".join(map(json.dumps, grown)),
    }
    path = tmp_path / "trace.json"
    path.write_text(text[place])
    trace = read_trace(path)
    assert (trace.format, trace.flags, trace.problems) == ("gemini-contents", (), ())
    assert [(c.name, c.result.text) for c in trace.calls] == READ
    assert [c.result.is_error for c in trace.calls] == [False, False, True]


def read(*values):
    return read_lines((Line(n, v) for n, v in enumerate(values, start=1)), "m.jsonl")


def test_tokens_model_and_time_of_responses():
    used = {"promptTokenCount": 90, "candidatesTokenCount": 5, "thoughtsTokenCount": 4}
    about = {"modelVersion": "gemini-x", "responseId": "r1", "createTime": "2026-01-05T10:00:00Z"}
    response = {"candidates": [{"content": CONTENTS[1]}], "usageMetadata": used, **about}
    reading = read({"request": {"contents": CONTENTS[:1]}, "response": response})
    assert reading.model == "gemini-x"
    assert [(i.prompt, i.output) for i in reading.items if not hasattr(i, "name")] == [(90, 9)]
    assert reading.started_at is not None


def test_ids_join_where_there_are_some():
    two = model(call("read_file", "f1", path="a.py"), call("read_file", "f2", path="b.py"))
    parts = [
        {"functionResponse": {"id": key, "name": "read_file", "response": {"output": key}}}
        for key in ("f2", "f1")
    ]
    reading = read(CONTENTS[0], two, {"role": "user", "parts": parts})
    assert [(c.call_id, c.result.text) for c in reading.calls] == [("f1", "f1"), ("f2", "f2")]


def test_an_answer_of_a_server_is_unwrapped():
    answer = {"content": [{"type": "text", "text": "no such file"}], "isError": True}
    reading = read(model(call("read_text", path="a")), answers(("read_text", answer)))
    assert (reading.calls[0].result.text, reading.calls[0].result.is_error) == (
        "no such file",
        True,
    )


def test_several_conversations_are_never_joined(tmp_path):
    path = tmp_path / "log.jsonl"
    other = [user("Another task"), *CONTENTS[1:3]]
    lines = [{"contents": CONTENTS}, {"contents": other}]
    path.write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(SeveralTracesError):
        read_trace(path)
    assert len(read_trace(path, sample="line 2").calls) == 2
