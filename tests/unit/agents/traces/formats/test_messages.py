"""Bare messages of Anthropic's and OpenAI's interfaces."""

from __future__ import annotations

import json

import pytest

from retrieval_eval.agents.traces import SeveralTracesError, read_trace
from retrieval_eval.agents.traces.formats import read_document, read_lines
from retrieval_eval.agents.traces.reading import Reading, Unreadable
from retrieval_eval.io.files import Line


def use(call_id, name="read_file", kind="tool_use", **arguments):
    block = {"type": kind, "id": call_id, "name": name, "input": arguments}
    return {"role": "assistant", "content": [{"type": "text", "text": "I look."}, block]}


def result(call_id, text, **more):
    block = {"type": "tool_result", "tool_use_id": call_id, "content": text, **more}
    return {"role": "user", "content": [block]}


ANTHROPIC = [
    {"role": "user", "content": "Where is the limit?"},
    use("t1", "bash", command="grep -rn limit src"),
    result("t1", [{"type": "text", "text": "src/a.py:3:limit = 1"}]),
    {**use("t2", path="src/a.py"), "id": "msg_2", "model": "claude-x"}
    | {"usage": {"input_tokens": 10, "cache_read_input_tokens": 90, "output_tokens": 5}},
    result("t2", "File not found", is_error=True),
]
CHAT = [
    {"role": "system", "content": "You are an agent."},
    {"role": "user", "content": "Where is the limit?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "c1",
                "type": "function",
                "function": {"name": "shell", "arguments": '{"command": "ls src"}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "a.py"},
]
ITEMS = [
    {"role": "user", "content": [{"type": "input_text", "text": "Where?"}]},
    {"type": "function_call", "call_id": "f1", "name": "shell", "arguments": '{"command": "ls"}'},
    {"type": "function_call_output", "call_id": "f1", "output": "a.py"},
    {"type": "mcp_call", "id": "m1", "server_label": "code", "name": "search", "output": "a.py"},
]


def read(*values):
    reading = read_lines((Line(n, v) for n, v in enumerate(values, start=1)), "m.jsonl")
    assert isinstance(reading, Reading), reading
    return reading


def outline(reading):
    return [(c.call_id, c.name, c.result and c.result.text) for c in reading.calls]


@pytest.mark.parametrize("shape", ["lines", "array", "document", "request"])
@pytest.mark.parametrize(
    ("messages", "name", "expected"),
    [
        (
            ANTHROPIC,
            "anthropic-messages",
            [("t1", "bash", "src/a.py:3:limit = 1"), ("t2", "read_file", "File not found")],
        ),
        (CHAT, "openai-chat", [("c1", "shell", "a.py")]),
        (ITEMS, "openai-responses", [("f1", "shell", "a.py"), ("m1", "mcp__code__search", "a.py")]),
    ],
    ids=["anthropic", "chat", "responses"],
)
def test_each_shape_is_read_wherever_it_lies(shape, messages, name, expected, tmp_path):
    path = tmp_path / "trace.json"
    key = "input" if name == "openai-responses" else "messages"
    document = {
        "array": messages,
        "document": {key: messages},
        "request": {"request": {"body": {key: messages}}, "response": {"id": "r"}},
    }
    lines = "\n".join(map(json.dumps, messages))
    path.write_text(lines if shape == "lines" else json.dumps(document[shape], indent=1))
    trace = read_trace(path)
    assert (trace.format, trace.flags, trace.problems) == (name, (), ())
    assert outline(trace) == expected


def test_tokens_model_and_errors_of_anthropic_messages():
    reading = read(*ANTHROPIC)
    assert reading.model == "claude-x"
    assert [call.result.is_error for call in reading.calls] == [False, True]
    trace = read_lines([Line(n, v) for n, v in enumerate(ANTHROPIC)], "m")
    usages = [item for item in trace.items if not hasattr(item, "call_id")]
    assert [(u.message_id, u.prompt, u.output) for u in usages] == [("msg_2", 100, 5)]


def test_an_error_may_show_what_was_printed_and_a_refusal_shows_nothing():
    denied = "The user doesn't want to proceed with this tool use."
    reading = read(
        use("t1", "bash", command="cat a b"),
        result("t1", "text of a\ncat: b: No such file", is_error=True),
        use("t2", "bash", command="cat c"),
        result("t2", denied, is_error=True),
    )
    assert [call.result.is_unfinished for call in reading.calls] == [False, True]


def test_a_server_s_tools_are_named_by_their_server():
    call = use("t", "search", "mcp_tool_use", query="x")
    call["content"][1]["server_name"] = "code"
    answer = result("t", [{"type": "text", "text": "a.py"}])
    answer["content"][0]["type"] = "mcp_tool_result"
    assert outline(read(call, {**answer, "role": "assistant"})) == [
        ("t", "mcp__code__search", "a.py")
    ]


def test_a_result_without_an_id_is_joined_only_where_one_call_can_own_it():
    alone = result(None, "x")
    assert outline(read(use("t1"), alone)) == [("t1", "read_file", "x")]
    both = {"role": "assistant", "content": [*use("t1")["content"], *use("t2")["content"]]}
    reading = read(both, alone)
    assert outline(reading) == [("t1", "read_file", None), ("t2", "read_file", None)]
    assert reading.problems == ("m.jsonl:2: a tool result does not name its call",)


def test_a_history_that_grows_with_every_request_counts_once():
    """A proxy logs each request with everything before it, and the response."""

    def request(n, usage):
        choice = {"finish_reason": "tool_calls", "message": CHAT[2]}
        response = {
            "id": f"r{n}",
            "choices": [choice],
            "usage": usage,
            "created": 1_767_600_000 + n,
        }
        return {"request": {"model": "gpt-x", "messages": CHAT[:n]}, "response": response}

    usage = {"prompt_tokens": 100, "completion_tokens": 10}
    reading = read(request(2, usage), request(4, usage))
    assert outline(reading) == [("c1", "shell", "a.py")]
    assert reading.model == "gpt-x"
    assert (reading.started_at, reading.finished_at) == (1_767_600_002, 1_767_600_004)
    assert [(i.message_id, i.total) for i in reading.items if not hasattr(i, "call_id")] == [
        ("r2", 110),
        ("r4", 110),
    ]


def test_lines_of_several_conversations_are_several_traces(tmp_path):
    other = [{"role": "user", "content": "Something else"}, *CHAT[2:]]
    path = tmp_path / "set.jsonl"
    path.write_text("\n".join(json.dumps({"messages": m}) for m in (CHAT, other)))
    with pytest.raises(SeveralTracesError, match="holds 2 traces") as caught:
        read_trace(path)
    assert caught.value.names == ("line 1", "line 2")
    assert read_trace(path, sample="line 2").calls[0].call_id == "c1"
    with pytest.raises(
        SeveralTracesError, match="no trace named 'line 7'; there are line 1, line 2"
    ):
        read_trace(path, sample="line 7")


def test_a_summary_of_a_dropped_history_is_flagged():
    text = "This session is being continued from a previous conversation that ran out."
    assert "history_compacted" in read({"role": "user", "content": text}, *ANTHROPIC[1:]).flags


def test_messages_without_any_call_are_no_agent_that_found_nothing():
    """Its calls may lie in its text, as those of a ReAct agent do."""
    prose = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "Action: cat a.py"},
    ]
    for found in (
        read_lines([Line(n, message) for n, message in enumerate(prose)], "m.jsonl"),
        read_document({"messages": prose}, "m.json"),
    ):
        assert isinstance(found, Unreadable)
        assert "messages without any call of a tool" in found.reason


@pytest.mark.parametrize(
    "document",
    [{"messages": "none"}, {"messages": []}, {"messages": [3]}, {"input": "text", "output": "x"}],
)
def test_objects_that_hold_no_messages_are_no_trace(document):
    assert isinstance(read_document(document, "x.json"), Unreadable)


@pytest.mark.parametrize("name", ["messages.json", "own.jsonl"])
def test_a_trial_whose_agent_left_messages_has_a_trace(name, tmp_path):
    (tmp_path / "agent").mkdir()
    is_array = name.endswith(".json")
    text = json.dumps(ANTHROPIC) if is_array else "\n".join(map(json.dumps, ANTHROPIC))
    (tmp_path / "agent" / name).write_text(text)
    assert len(read_trace(tmp_path).calls) == 2


def test_answers_whose_calls_are_mostly_in_their_text_are_unreadable():
    written = {"role": "assistant", "content": "<function=execute_bash>ls</function>"}
    reply = {"role": "user", "content": "EXECUTION RESULT of [execute_bash]: a.py"}
    assert read(*ANTHROPIC[:3], *[written, reply] * 2).flags == ("calls_unreadable",)
    assert read(*ANTHROPIC[:3], written, reply, written).flags == ()
    assert read(*ANTHROPIC[:3], written).flags == ()


def test_a_log_of_openhands_keeps_the_calls_beside_the_messages_as_sent(tmp_path):
    def chat(call_id, command):
        function = {"name": "execute_bash", "arguments": json.dumps({"command": command})}
        return {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": call_id} | {"function": function}],
        }

    shown = "a = 1\n[Command finished with exit code 0]"
    entry = {
        "messages": [{"role": "assistant", "content": "<function=execute_bash>…"}],
        "fncall_messages": [
            {"role": "user", "content": "Fix it."},
            chat("c1", "cat a.py"),
            {"role": "tool", "tool_call_id": "c1", "content": shown},
        ],
        "response": {"choices": [{"message": {"role": "assistant", "content": "<function=…"}}]},
        "fncall_response": {"choices": [{"finish_reason": "stop", "message": chat("c2", "ls")}]},
        "timestamp": 1767607200.5,
        "cost": 0.25,
    }
    entry["fncall_response"]["usage"] = {"prompt_tokens": 900, "completion_tokens": 9}
    path = tmp_path / "completion.json"
    path.write_text(json.dumps(entry), encoding="utf-8")
    trace = read_trace(path)
    # The first request is not logged, so that what the last one took is not what all took.
    assert (trace.counted_tokens, trace.declared_cost_usd) == (None, None)
    assert [(c.arguments["command"], c.result and c.result.text) for c in trace.calls] == [
        ("cat a.py", "a = 1"),
        ("ls", None),
    ]
    assert (trace.harness, trace.format) == ("openhands", "openai-chat")
    assert "calls_unreadable" not in trace.flags
    # The time is that of the last request, which is none of the run.
    assert (trace.started_at, trace.finished_at) == (None, None)
    assert {call.timestamp for call in trace.calls} == {None}


def test_a_log_of_openhands_sdk_says_that_a_call_failed_and_what_requests_cost(tmp_path):
    function = {"name": "terminal", "arguments": json.dumps({"command": "cat a.py; exit 3"})}
    failed = "[An error occurred during execution.]\n"
    lost = "The terminal session was reset because its server disappeared."
    entry = {
        "messages": [
            {"role": "user", "content": "Fix it."},
            {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "function": function}]},
            {
                "role": "tool",
                "tool_call_id": "c",
                "content": [{"type": "text", "text": failed}, {"type": "text", "text": lost}],
            },
        ],
        "response": {"id": "r", "choices": [], "usage": {"prompt_tokens": 9}},
        "cost": 0.25,
        "latency_sec": 0.5,
        "usage_summary": {"prompt_tokens": 9},
    }
    folder = tmp_path / "completions"
    folder.mkdir()
    for name, number in (("a", 1), ("b", 2)):
        response = {**entry["response"], "id": name}
        log = json.dumps({**entry, "response": response, "timestamp": 1767607200.0 + number})
        (folder / f"{name}.json").write_text(log, encoding="utf-8")
    trace = read_trace(folder)
    assert (trace.harness, trace.declared_cost_usd) == ("openhands-sdk", 0.5)
    assert [(c.result.text, c.result.is_error) for c in trace.calls] == [("", True)]


@pytest.mark.parametrize(
    ("text", "folder"),
    [
        (
            "<uploaded_files>\n/workspace/a__b__1.0\n</uploaded_files>\nFix it.",
            "/workspace/a__b__1.0",
        ),
        ("I've uploaded it.\n<uploaded_files> /testbed </uploaded_files>", "/testbed"),
        ("<uploaded_files>\n</uploaded_files>", None),
        ("<uploaded_files>\nsrc\n</uploaded_files>", None),
        ("<uploaded_files>" * 2000, None),
    ],
)
def test_the_first_message_may_state_the_folder(text, folder):
    assert read({"role": "user", "content": text}, *CHAT[2:]).cwd == folder
    assert read(CHAT[1], *CHAT[2:], {"role": "user", "content": text}).cwd is None


# Logs of requests, one a file or a line: conversations of sub-agents among them.


def request(*messages, answer=None, second=0, **more):
    entry = {"messages": list(messages), "timestamp": 1_767_607_200.0 + second, **more}
    return entry if answer is None else {**entry, "response": {"choices": [choice(answer)]}}


def choice(message):
    return {"message": message, "finish_reason": "tool_calls"}


def asks(call_id, name, **arguments):
    function = {"name": name, "arguments": json.dumps(arguments)}
    made = {"id": call_id, "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [made]}


def answers(call_id, text):
    return {"role": "tool", "tool_call_id": call_id, "content": text}


PROMPT = {"role": "user", "content": "Find the limit."}
HANDED = {"role": "user", "content": [{"type": "text", "text": "Look into a.py.\n<CONTEXT/>"}]}
TASK = asks("c1", "task", prompt="Look into a.py.", description="Look")
READ = asks("s1", "read_file", path="a.py")
LOGS = [
    request(PROMPT, answer=TASK),
    request(HANDED, answer=READ, second=1),
    request(HANDED, READ, answers("s1", "x = 1"), answer={"role": "assistant"}, second=2),
    request(PROMPT, TASK, answers("c1", "It is 1."), answer={"role": "assistant"}, second=3),
]


@pytest.mark.parametrize("place", ["lines", "folder"])
def test_what_a_call_handed_on_begins_the_conversation_of_a_sub_agent(place, tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, LOGS)))
    if place == "folder":
        path = tmp_path / "completions"
        path.mkdir()
        for n, log in enumerate(LOGS):
            (path / f"openai__m-4o-17676072{n:02d}.123-ab{9 - n}.json").write_text(json.dumps(log))
    trace = read_trace(path)
    assert (trace.format, trace.flags) == ("openai-chat", ())
    assert [(c.name, c.result.text, c.is_subagent) for c in trace.calls] == [
        ("task", "It is 1.", False),
        ("read_file", "x = 1", True),
    ]


def test_another_conversation_is_no_sub_agent_s(tmp_path):
    path = tmp_path / "log.jsonl"
    other = [request({"role": "user", "content": "Another task."}, answer=READ)]
    path.write_text("\n".join(map(json.dumps, [*LOGS, *other])))
    with pytest.raises(SeveralTracesError):
        read_trace(path)
