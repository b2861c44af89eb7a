"""Spans of OpenTelemetry's conventions for generative AI, and of OpenInference."""

from __future__ import annotations

import json

import pytest

from retrieval_eval.agents.traces import NoTraceError, SeveralTracesError, read_trace
from retrieval_eval.agents.traces.formats import read_document, read_lines
from retrieval_eval.agents.traces.merge import join_trace
from retrieval_eval.agents.traces.reading import Reading
from retrieval_eval.agents.traces.tools import interpret
from retrieval_eval.io.files import Line

START = 1_767_607_200


def otlp_value(value):
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [otlp_value(inner) for inner in value]}}
    if isinstance(value, dict):
        pairs = [{"key": k, "value": otlp_value(v)} for k, v in value.items()]
        return {"kvlistValue": {"values": pairs}}
    return {"stringValue": value}


def otlp(identity, start, attributes, *, parent="", trace="t1", end=None, status=None):
    return {
        "traceId": trace,
        "spanId": identity,
        "parentSpanId": parent,
        "name": attributes.get("name", "span"),
        "startTimeUnixNano": str((START + start) * 10**9),
        "endTimeUnixNano": str((START + (end or start + 1)) * 10**9),
        "attributes": [{"key": k, "value": otlp_value(v)} for k, v in attributes.items()],
        "status": status or {},
    }


def document(*spans, service="my-agent"):
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": service}}]}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": list(spans)}]}]}


def tool(identity, start, name="read_file", call_id=None, arguments=None, result=None, **more):
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
    if call_id is not None:
        attributes["gen_ai.tool.call.id"] = call_id
    if arguments is not None:
        attributes["gen_ai.tool.call.arguments"] = arguments
    if result is not None:
        attributes["gen_ai.tool.call.result"] = result
    kept = {k: more.pop(k) for k in list(more) if k not in ("parent", "trace", "status", "end")}
    return otlp(identity, start, attributes | kept, **more)


def call(call_id, name="read_file", **arguments):
    part = {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}
    return {"role": "assistant", "parts": [part]}


def answer(call_id, result):
    part = {"type": "tool_call_response", "id": call_id, "result": result}
    return {"role": "tool", "parts": [part]}


def chat(identity, start, sent=(), received=(), *, as_text=False, **more):
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "gpt-x",
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 10,
    }
    for name, messages in (("input", sent), ("output", received)):
        if messages:
            value = json.dumps(messages) if as_text else list(messages)
            attributes[f"gen_ai.{name}.messages"] = value
    return otlp(identity, start, attributes, **more)


def read(*spans):
    reading = read_document(document(*spans), "spans.json")
    assert isinstance(reading, Reading), reading
    return reading


def outline(reading):
    return [
        (c.call_id, c.name, dict(c.arguments), c.result and c.result.text) for c in reading.calls
    ]


READ = ("c1", "read_file", {"path": "a.py"}, "x = 1")


@pytest.mark.parametrize("arguments", [{"path": "a.py"}, '{"path": "a.py"}'])
def test_a_tool_s_span_is_a_call_with_its_result(arguments):
    reading = read(tool("s", 1, call_id="c1", arguments=arguments, result="x = 1"))
    assert outline(reading) == [READ]
    assert (reading.format, reading.harness) == ("opentelemetry-genai", "my-agent")
    assert (reading.started_at, reading.finished_at) == (START + 1, START + 2)
    assert reading.calls[0].timestamp == START + 1


@pytest.mark.parametrize("as_text", [False, True])
def test_a_history_that_every_span_repeats_counts_once(as_text):
    sent, first, second = (
        {"role": "user", "parts": []},
        call("c1", path="a.py"),
        call("c2", "shell"),
    )
    history = [sent, first, answer("c1", "x = 1")]
    reading = read(
        chat("m1", 0, [sent], [first], as_text=as_text),
        tool("s1", 2, call_id="c1"),
        chat("m2", 4, history, [second], as_text=as_text),
        chat("m3", 8, [*history, second, answer("c2", "done")], as_text=as_text),
    )
    assert outline(reading) == [READ, ("c2", "shell", {}, "done")]
    assert reading.model == "gpt-x"
    trace = join_trace(None, reading)
    assert trace.counted_tokens == 330
    assert [c.cumulative_tokens for c in trace.calls] == [110, 220]
    assert [c.timestamp for c in trace.calls] == [START + 2, START + 5]


def test_what_the_model_was_sent_is_preferred_to_what_the_tool_returned():
    first = call("c1", path="a.py")
    reading = read(
        chat("m1", 0, [], [first]),
        tool("s1", 2, call_id="c1", result="the whole file"),
        chat("m2", 4, [first, answer("c1", "x = 1")]),
    )
    assert outline(reading) == [READ]


def test_spans_of_tools_without_an_id_are_joined_by_name_and_order():
    reading = read(
        chat("m1", 0, [], [call("c1", path="a.py"), call("c2", path="b.py")]),
        tool("s1", 2, result="x = 1"),
        tool("s2", 3, result="y = 2"),
        tool("s3", 4, "shell", result="z"),
    )
    assert outline(reading) == [
        READ,
        ("c2", "read_file", {"path": "b.py"}, "y = 2"),
        ("s3", "shell", {}, "z"),
    ]


def test_an_error_of_a_tool_serves_nothing_unless_it_returned_something():
    status = {"code": 2, "message": "no such file"}
    reading = read(
        tool("s1", 1, call_id="c1", status=status),
        tool("s2", 2, call_id="c2", result="partly", **{"error.type": "exit"}),
    )
    assert [(c.result.text, c.result.is_error, c.result.is_unfinished) for c in reading.calls] == [
        ("no such file", True, True),
        ("partly", True, False),
    ]


def test_the_client_s_span_inside_a_tool_s_is_the_same_call():
    reading = read(
        tool("s1", 1, call_id="c1", result="x"),
        tool("s2", 2, parent="s1", result="x"),
    )
    assert [c.call_id for c in reading.calls] == ["c1"]


def test_agents_inside_a_tool_are_sub_agents():
    def agent(identity, parent=""):
        return otlp(identity, 0, {"gen_ai.operation.name": "invoke_agent"}, parent=parent)

    reading = read(
        agent("main"),
        tool("s1", 1, parent="main", call_id="c1"),
        tool("s2", 2, "task", parent="main", call_id="c2"),
        agent("helper", "s2"),
        tool("s3", 3, parent="helper", call_id="c3"),
    )
    assert [(c.call_id, c.parent_id) for c in reading.calls] == [
        ("c1", None),
        ("c2", None),
        ("c3", "helper"),
    ]


def test_traces_of_one_session_are_one_and_others_are_chosen_among(tmp_path):
    path = tmp_path / "spans.jsonl"
    spans = [
        tool("s1", 1, call_id="c1", trace="t1", **{"session.id": "one"}),
        tool("s2", 2, call_id="c2", trace="t2", **{"session.id": "one"}),
        tool("s3", 3, call_id="c3", trace="t3"),
        otlp("s4", 4, {"http.method": "GET"}, trace="t4"),
    ]
    path.write_text("\n".join(json.dumps(document(span)) for span in spans))
    with pytest.raises(SeveralTracesError) as caught:
        read_trace(path)
    assert caught.value.names == ("one", "t3")
    assert [c.call_id for c in read_trace(path, sample="one").calls] == ["c1", "c2"]


# OpenInference, whose attributes are flat.


def span(identity, kind, attributes, *, parent=None, **more):
    return {
        "name": attributes.get("tool.name", "span"),
        "context": {"trace_id": "0xAB", "span_id": f"0x{identity}"},
        "parent_id": parent,
        "start_time": "2026-01-05T10:00:01+00:00",
        "end_time": "2026-01-05T10:00:02+00:00",
        "status": {"status_code": "OK"},
        "attributes": {"openinference.span.kind": kind, **attributes},
        **more,
    }


CALLED = "llm.output_messages.0.message.tool_calls.0.tool_call."
MODEL = span(
    "m1",
    "LLM",
    {
        "llm.model_name": "claude-x",
        f"{CALLED}id": "c1",
        f"{CALLED}function.name": "read_file",
        f"{CALLED}function.arguments": '{"path": "a.py"}',
        "llm.token_count.prompt": 100,
        "llm.token_count.completion": 10,
        "llm.cost.total": 0.5,
    },
)
ANSWERED = span(
    "m2",
    "LLM",
    {
        "llm.input_messages.1.message.role": "tool",
        "llm.input_messages.1.message.tool_call_id": "c1",
        "llm.input_messages.1.message.content": "x = 1",
        "llm.cost.total": 0.25,
    },
)


def as_exported(entry):
    """A row of a table of spans, whose columns are the attributes."""
    flat = {f"attributes.{key}": value for key, value in entry["attributes"].items()}
    context = {f"context.{key}": value for key, value in entry["context"].items()}
    rest = {k: v for k, v in entry.items() if k not in ("attributes", "context")}
    return rest | context | flat


def as_nested(entry):
    nested = {}
    for key, value in entry["attributes"].items():
        place, parts = nested, key.split(".")
        for part in parts[:-1]:
            place = place.setdefault(part, {})
        place[parts[-1]] = value
    return {**entry, "attributes": nested}


@pytest.mark.parametrize("shape", [dict, as_exported, as_nested])
def test_messages_of_openinference_are_read_in_every_layout(shape):
    lines = [Line(n, shape(entry)) for n, entry in enumerate((MODEL, ANSWERED), start=1)]
    reading = read_lines(lines, "spans.jsonl")
    assert outline(reading) == [READ]
    assert (reading.format, reading.model) == ("openinference", "claude-x")
    assert reading.declared_cost_usd == 0.75
    assert join_trace(None, reading).counted_tokens == 110


def test_a_tool_s_span_of_openinference():
    reading = read_lines(
        [
            Line(1, span("a", "TOOL", {"tool.name": "read_file", "tool.id": "c1"})),
            Line(
                2,
                span(
                    "b",
                    "TOOL",
                    {
                        "tool.name": "shell",
                        "input.value": '{"input": {"command": "ls"}}',
                        "output.value": '{"content": "a.py", "tool_call_id": "z", "type": "tool"}',
                    },
                ),
            ),
        ],
        "s",
    )
    assert outline(reading) == [
        ("c1", "read_file", {}, None),
        ("b", "shell", {"command": "ls"}, "a.py"),
    ]


def test_what_a_retriever_returned_is_possibly_what_the_model_saw():
    found = {
        "input.value": "limit",
        "retrieval.documents.0.document.id": "d1",
        "retrieval.documents.0.document.metadata": '{"source": "src/a.py"}',
        "retrieval.documents.1.document.id": "src/b.py",
    }
    reading = read_lines([Line(1, span("r", "RETRIEVER", found))], "s")
    assert [(c.name, c.result.text, c.result.doubt) for c in reading.calls] == [
        ("retriever_search", "src/a.py\nsrc/b.py", "display_only")
    ]


def test_openai_s_messages_in_a_span_of_a_model():
    function = {"name": "read_file", "arguments": '{"path": "a.py"}'}
    asked = {"role": "assistant", "tool_calls": [{"id": "c1", "function": function}]}
    answered = {"role": "tool", "tool_call_id": "c1", "content": "x = 1"}
    assert outline(read(chat("m", 0, [asked, answered]))) == [READ]


def test_the_definition_of_a_tool_is_not_what_it_was_called_with():
    attributes = {"tool.name": "read_file", "tool.id": "c", "tool.parameters": '{"type": "object"}'}
    (found,) = read_lines([Line(1, span("a", "TOOL", attributes))], "s").calls
    assert found.arguments == {}


def test_the_spans_of_vercel_s_sdk():
    attributes = {
        "ai.toolCall.id": "c1",
        "ai.toolCall.name": "read_file",
        "ai.toolCall.args": '{"path": "a.py"}',
        "ai.toolCall.result": "x = 1",
    }
    assert outline(read(otlp("s", 1, attributes))) == [READ]


def test_json_that_a_tool_returned_is_not_taken_for_a_message():
    text = '{"name": "widgets", "content": "x"}'
    (found,) = read(tool("s", 1, call_id="c1", result=text)).calls
    assert found.result.text == text


@pytest.mark.parametrize("value", [{"resourceSpans": []}, document(), document(otlp("s", 1, {}))])
def test_spans_about_something_else_are_no_trace(value, tmp_path):
    path = tmp_path / "spans.json"
    path.write_text(json.dumps(value))
    with pytest.raises(NoTraceError, match="not a known trace format"):
        read_trace(path)


def test_agents_alone_hold_no_call(tmp_path):
    path = tmp_path / "spans.json"
    path.write_text(json.dumps(document(otlp("s", 1, {"gen_ai.operation.name": "invoke_agent"}))))
    with pytest.raises(NoTraceError, match="hold no call of a tool and none of a model"):
        read_trace(path)


def test_a_chain_of_parents_that_is_a_circle_ends():
    reading = read(
        tool("s1", 1, "a", call_id="c1", parent="s2"),
        tool("s2", 2, "b", call_id="c2", parent="s1"),
    )
    assert len(reading.calls) == 2


def agent_of(harness, **totals):
    attributes = {"openinference.span.kind": "AGENT", "agent.name": harness}
    return otlp("root", 0, {**attributes, "agent.version": "2.1.0", **totals}, end=90)


def used(identity, start, name, given, shown):
    attributes = {"openinference.span.kind": "TOOL", "tool.name": name}
    return otlp(
        identity, start, {**attributes, "input.value": given, "output.value": shown}, parent="root"
    )


def test_the_span_around_the_others_names_a_known_harness_and_states_totals():
    totals = {"llm.token_count.prompt": 900, "llm.token_count.completion": 100}
    root = agent_of("claude-code", **totals, **{"llm.cost.total": 0.5})
    reading = read(root, used("a", 1, "Bash", '{"command": "cat a.py"}', "import os"))
    assert (reading.harness, reading.harness_version) == ("claude-code", "2.1.0")
    assert (reading.declared_tokens, reading.declared_cost_usd) == (1000, 0.5)
    other = read(agent_of("researcher"), used("a", 1, "Bash", "{}", "x"))
    assert (other.harness, other.harness_version) == ("my-agent", None)


def test_spans_made_from_a_trajectory_are_without_its_decorations():
    decorated = 'import os\n\n[stdout]\nimport os\n[metadata] {"noOutputExpected": false}'
    root = agent_of("claude-code", **{"atif.schema_version": "ATIF-v1.7"})
    call = used("a", 1, "Bash", '{"command": "cat a.py"}', decorated)
    (found,) = read(root, call).calls
    assert (found.result.text, found.result.structured) == (
        "import os",
        {"noOutputExpected": False},
    )
    (plain,) = read(agent_of("claude-code"), call).calls
    assert plain.result.text == decorated


def test_what_an_exporter_cut_holds_what_stands_before_the_cut():
    given = '{"file_path": "/w/a.py", "old_string": "x = ' + "1" * 40 + "...[truncated]"
    call = used("a", 1, "Read", given, "1\timport os\n2\timp...[truncated]")
    (found,) = read(agent_of("researcher"), call).calls
    assert found.arguments == {"file_path": "/w/a.py"}
    assert (found.result.text, found.result.is_truncated) == ("1\timport os\n2\timp", True)


def test_requests_to_a_model_without_any_call_are_unreadable():
    text = {"role": "assistant", "parts": [{"type": "text", "content": "ls"}]}
    assert read(chat("m1", 1, [], [text]), chat("m2", 2, [], [text])).flags == ("calls_unreadable",)
    assert read(chat("m1", 1, [], [text])).flags == ()


def agent(identity, parent=None, name="span"):
    return {**span(identity, "AGENT", {}, parent=parent), "name": name}


def used_tool(identity, name, given, shown, parent=None, second=1):
    found = {"tool.name": name, "input.value": given, "output.value": shown}
    start = f"2026-01-05T10:00:{second:02}+00:00"
    return {**span(identity, "TOOL", found, parent=parent), "start_time": start}


def lines(*values):
    reading = read_lines((Line(n, v) for n, v in enumerate(values, start=1)), "s")
    assert isinstance(reading, Reading), reading
    return reading


def test_the_span_of_a_whole_run_is_no_agent_around_the_main_one():
    reading = lines(
        agent("a", name="Agent workflow"),
        span("b", "CHAIN", {}, parent="0xa"),
        agent("c", "0xb"),
        used_tool("d", "read_file", "{}", "x", "0xc"),
        agent("e", "0xd"),
        used_tool("f", "grep", "{}", "x", "0xe", second=2),
        agent("a1", "0xb"),
        used_tool("a2", "ls", "{}", "x", "0xa1", second=3),
    )
    agents = {call.name: call.parent_id for call in reading.calls}
    assert agents == {"read_file": None, "grep": "e", "ls": None}


def test_work_below_a_tool_that_delegates_is_a_sub_agent_s():
    reading = lines(
        span("a", "CHAIN", {}),
        used_tool("b", "task", '{"description": "Read."}', "It says x.", "0xa"),
        span("c", "CHAIN", {}, parent="0xb"),
        used_tool("d", "read_file", '{"path": "a.py"}', "x = 1", "0xc", second=2),
        used_tool("e", "ask_helper", "{}", "It says y.", "0xa", second=3),
        span("f", "LLM", {"llm.model_name": "m"}, parent="0xe"),
    )
    assert [(c.name, c.is_subagent, c.parent_id) for c in reading.calls] == [
        ("task", False, None),
        ("read_file", True, "b"),
        ("ask_helper", False, None),
    ]
    assert reading.sub_agents == {"b", "e"}
    assert reading.delegated == {"b": "b", "e": "e"}
    assert join_trace(None, reading).flags == ()


HIT = {"hits": [{"path": "src/a.py", "line": 7, "text": "x"}]}


@pytest.mark.parametrize(
    ("shown", "text", "is_error"),
    [
        ({"type": "text", "text": json.dumps(HIT)}, json.dumps(HIT), False),
        ([{"type": "text", "text": "a.py"}], "a.py", False),
        ({"content": [{"type": "text", "text": "no"}], "isError": True}, "no", True),
        ({"type": "tool", "data": {"content": "a.py", "tool_call_id": "c"}}, "a.py", False),
        ({"content": "no", "tool_call_id": "c", "status": "error"}, "no", True),
        ({"kwargs": {"content": "a.py", "tool_call_id": "c"}}, "a.py", False),
    ],
)
def test_what_a_tool_returned_lies_in_an_envelope(shown, text, is_error):
    (found,) = lines(used_tool("a", "find_symbol", "{}", json.dumps(shown, indent=1))).calls
    assert (found.result.text, found.result.is_error) == (text, is_error)


def test_a_failure_of_a_server_has_the_status_ok():
    shown = json.dumps({"type": "text", "text": "Error executing tool broken: cannot open a.py"})
    (found,) = lines(used_tool("a", "broken", '{"path": "a.py"}', shown)).calls
    assert interpret(found).is_error


def test_a_call_may_have_another_id_where_its_message_is_repeated():
    sent = [{"role": "user", "parts": []}]
    spans = []
    for n, path in enumerate(("a.py", "b.py", "a.py"), start=1):
        asked = call(f"call_{n}", path=path)
        spans.append(chat(f"m{n}", 10 * n, sent, [asked]))
        status = {"code": 2} if path == "b.py" else None
        given = {"path": path}
        spans.append(tool(f"t{n}", 10 * n + 2, arguments=given, result=f"in {n}", status=status))
        sent = [*sent, call(f"fc_{n}", path=path), answer(f"call_{n}", f"in {n}")]
    spans.append(chat("m4", 40, sent, [{"role": "assistant", "parts": []}]))
    assert [(c.call_id, c.result.text, c.result.is_error) for c in read(*spans).calls] == [
        ("call_1", "in 1", False),
        ("call_2", "in 2", True),
        ("call_3", "in 3", False),
    ]


def test_a_span_belongs_to_the_call_with_its_arguments():
    reading = read(
        chat("m", 1, [], [call("c1", path="a.py"), call("c2", path="b.py")]),
        tool("t1", 2, arguments={"path": "b.py"}, result="in b"),
        tool("t2", 3, arguments={"path": "a.py"}, result="in a"),
    )
    assert {c.call_id: c.result.text for c in reading.calls} == {"c1": "in a", "c2": "in b"}


def test_code_may_not_have_printed_what_a_tool_returned_to_it():
    given = {"args": [], "sanitize_inputs_outputs": True, "kwargs": {"path": "a.py"}}
    (found,) = lines(used_tool("a", "read_file", json.dumps(given), "x = 1")).calls
    assert (found.arguments, found.result.doubt) == ({"path": "a.py"}, "display_only")


def test_a_managed_agent_s_span_is_its_call_s():
    asked = {
        **MODEL,
        "attributes": {
            **MODEL["attributes"],
            f"{CALLED}function.name": "helper",
            f"{CALLED}function.arguments": '{"task": "Read."}',
        },
    }
    run = {**agent("a", "0xb", "helper.run")}
    run["attributes"] = {**run["attributes"], "output.value": "It says x."}
    reading = lines(span("b", "AGENT", {}), asked | {"parent_id": "0xb"}, run)
    assert [(c.name, c.result.text) for c in reading.calls] == [("helper", "It says x.")]


def test_a_page_of_spans_as_phoenix_gives_it():
    def row(identity, parent, kind, **attributes):
        return {
            "id": "U3Bhbjox",
            "name": "read_file",
            "context": {"trace_id": "t1", "span_id": identity},
            "span_kind": kind,
            "parent_id": parent,
            "start_time": "2026-01-05T10:00:00+00:00",
            "end_time": "2026-01-05T10:00:01+00:00",
            "status_code": "OK",
            "status_message": "",
            "attributes": attributes,
            "events": [],
        }

    tool = {"tool.name": "read_file", "input.value": '{"path": "a.py"}', "output.value": "x = 1"}
    page = {"data": [row("a", None, "AGENT", **{"agent.name": "x"}), row("b", "a", "TOOL", **tool)]}
    reading = read_document({**page, "next_cursor": None}, "page.json")
    assert reading.format == "openinference"
    assert [(c.name, c.result.text) for c in reading.calls] == [("read_file", "x = 1")]


def test_a_picture_that_messages_leave_out_is_the_tool_s_answer():
    made = {"id": "c", "function": {"name": "read_file", "arguments": '{"path": "a.png"}'}}
    asked = {"role": "assistant", "tool_calls": [made]}
    empty = {"role": "tool", "tool_call_id": "c", "content": ""}
    shown = {"tool_call_id": "c", "content": [{"type": "image", "base64": "a"}]}

    def line(identity, kind, **attributes):
        return {
            "span_id": identity,
            "trace_id": "t",
            "attributes": {"openinference.span.kind": kind, **attributes},
        }

    spans = [
        line("a", "LLM", **{"gen_ai.output.messages": [asked]}),
        line("b", "TOOL", **{"tool.name": "read_file", "output.value": json.dumps(shown)}),
        line("c", "LLM", **{"gen_ai.input.messages": [asked, empty]}),
    ]
    (only,) = read_lines([Line(n, span) for n, span in enumerate(spans)], "s.jsonl").calls
    assert only.result.structured == {"type": "image"}
