from __future__ import annotations

import json

import pytest

from retrieval_eval.agents.traces import read_trace
from retrieval_eval.agents.traces.formats import read_document, read_lines
from retrieval_eval.agents.traces.formats.cline import read_cline_document
from retrieval_eval.agents.traces.tokens import count_tokens
from retrieval_eval.agents.traces.tools import interpret
from retrieval_eval.io.files import Line
from retrieval_eval.records import CUT_HERE

DETAILS = (
    "<environment_details>\n# Current Working Directory (/workspace) Files\nsrc/a.py\n"
    "</environment_details>"
)


def text(value):
    return {"type": "text", "text": value}


def says(*blocks, at=1_700_000_001_000):
    metrics = {"tokens": {"prompt": 90, "completion": 10, "cached": 0}, "cost": 0.25}
    info = {"modelId": "a-model", "providerId": "p"}
    message = {"role": "assistant", "content": list(blocks), "ts": at}
    return {**message, "modelInfo": info, "metrics": metrics}


def user(*blocks, at=1_700_000_002_000):
    return {"role": "user", "content": list(blocks), "ts": at}


def use(call_id, name, **arguments):
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def result(call_id, value, **more):
    content = [{"type": "text", "text": value}]
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def read(*messages):
    return read_document({"messages": list(messages)}, "agent/s.messages.json")


def xml(name, parameter, value):
    call = f"I look.\n\n<{name}>\n<{parameter}>{value}</{parameter}>\n</{name}>"
    return {"role": "assistant", "content": [text(call)]}


def touched(call):
    return [(t.path, t.access) for t in interpret(call).targets]


def test_blocks_are_joined_by_id():
    found = "Found 1 result.\n\nsrc/b.py\n│----\n│x = 1\n│----\n"
    reading = read(
        user(text("<task>\nfind x\n</task>"), text(DETAILS), at=1_700_000_000_000),
        says(use("c1", "read_file", path="src/a.py"), use("c2", "search_files", regex="x")),
        user(result("c2", found), result("c1", "import os")),
    )
    assert [touched(call) for call in reading.calls] == [
        [("/workspace/src/a.py", "opened")],
        [("/workspace/src/b.py", "matched")],
    ]
    assert (reading.model, reading.cwd) == ("a-model", "/workspace")
    assert (count_tokens(reading.items), reading.declared_cost_usd) == (100, 0.25)
    assert (reading.started_at, reading.finished_at) == (1_700_000_001, 1_700_000_002)
    assert (reading.harness, reading.flags) == ("cline-cli", ())


def test_a_call_as_xml_is_answered_below_a_line_that_names_the_tool():
    messages = [
        user(text("<task>\nfind x\n</task>"), text(DETAILS)),
        {
            "role": "assistant",
            "content": [text("I look.\n\n<read_file>\n<path>src/a.py</path>\n</read_file>")],
        },
        user(text("[read_file for 'src/a.py'] Result:"), text("import os"), text(DETAILS)),
        {
            "role": "assistant",
            "content": [text("<execute_command>\n<command>ls</command>\n</execute_command>")],
        },
        user(
            text("[execute_command for 'ls'] Result:\nCommand executed.\nOutput:\na.py"),
            text(DETAILS),
        ),
        xml("read_file", "path", "b.py"),
        user(text("Please use a tool.")),
    ]
    lines = [Line(n, m) for n, m in enumerate(messages, start=1)]
    reading = read_lines(lines, "agent/api_conversation_history.json")
    assert [(c.name, c.result and c.result.text) for c in reading.calls] == [
        ("read_file", "import os"),
        ("execute_command", "a.py"),
        ("read_file", None),
    ]
    assert touched(reading.calls[0]) == [("/workspace/src/a.py", "opened")]
    assert reading.calls[0].where == "agent/api_conversation_history.json#/1"


def test_a_server_s_tool_has_its_own_name():
    (call,) = read(
        says(use("c", "use_mcp_tool", server_name="sg", tool_name="find", arguments='{"q": "x"}'))
    ).calls
    assert (call.name, call.arguments) == ("mcp__sg__find", {"q": "x"})


@pytest.mark.parametrize(
    ("answer", "text", "is_error", "is_unfinished"),
    [
        (result("c", "Command executed.\nOutput:\na.py"), "a.py", False, False),
        (result("c", "Command failed with exit code 2.\nOutput:\na.py"), "a.py", True, False),
        (
            result(
                "c",
                "Command is still running in the user's terminal.\nHere's the output so far:\na.py"
                "\n\nYou will be updated on the terminal status and new output in the future.",
            ),
            "a.py",
            True,
            False,
        ),
        (result("c", "Command is still running in the user's terminal."), "", True, True),
        (result("c", "no", is_error=True), "no", True, True),
    ],
)
def test_sentences_around_an_output_say_how_a_command_ended(answer, text, is_error, is_unfinished):
    (call,) = read(says(use("c", "execute_command", command="ls")), user(answer)).calls
    assert (call.result.text, call.result.is_error) == (text, is_error)
    assert call.result.is_unfinished == is_unfinished


def test_a_session_is_read_with_the_file_beside_it(tmp_path):
    folder = tmp_path / "agent" / "sessions" / "s1"
    folder.mkdir(parents=True)
    history = {"messages": [says(use("c", "read_file", path="a.py")), user(result("c", "x"))]}
    (folder / "s1.messages.json").write_text(json.dumps(history), encoding="utf-8")
    session = {"session_id": "s1", "cwd": "/w", "usage": {"totalCost": 9.5}}
    (folder / "s1.json").write_text(json.dumps(session), encoding="utf-8")
    trace = read_trace(tmp_path)
    assert (trace.format, trace.calls[0].result.text) == ("cline-history", "x")
    assert (trace.cwd, trace.flags) == ("/w", ())


def test_the_description_of_a_session_states_folder_and_cost():
    document = {
        "session_id": "s1",
        "cwd": "/workspace",
        "model": "a-model",
        "usage": {"inputTokens": 5, "outputTokens": 2, "totalCost": 0.5},
    }
    reading = read_document(document, "agent/s1.json")
    assert (reading.cwd, reading.model) == ("/workspace", "a-model")
    # Its tokens leave out those of sub-agents.
    assert (reading.declared_tokens, reading.declared_cost_usd) == (None, 0.5)


def history(session, *messages, **origin):
    origin = {"sessionId": session, "version": "3.0.65", **origin}
    return {"sessionId": session, "origin": origin, "messages": list(messages)}


def spent(*blocks, **metrics):
    return {**says(*blocks), "metrics": metrics}


def test_the_history_of_a_sub_agent_beside_that_of_the_agent_belongs_to_it(tmp_path):
    folder = tmp_path / "agent"
    folder.mkdir()
    metrics = {"inputTokens": 1000, "outputTokens": 20, "cacheReadTokens": 500}
    lead = history(
        "1_a",
        spent(use("c1", "spawn_agent", task="look"), **metrics),
        user(result("c1", '{"text": "done"}')),
    )
    sub = history(
        "1_a__agent_1",
        spent(use("c2", "read_files", files=["src/a.py"]), **metrics),
        user(result("c2", json.dumps([{"query": "src/a.py", "result": "1 | x", "success": True}]))),
        parentThreadId="1_a",
        subagent="agent_1",
    )
    for name, document in (("1_a", lead), ("agent_1", sub)):
        (folder / f"{name}.messages.json").write_text(json.dumps(document), encoding="utf-8")
    trace = read_trace(tmp_path)
    assert [(call.call_id, call.parent_id) for call in trace.calls] == [
        ("c1", None),
        ("c2", "agent_1"),
    ]
    assert (trace.harness_version, trace.flags) == ("3.0.65", ())
    # The input includes the cached tokens, and the sub-agent's belong to the total.
    assert (trace.declared_tokens, trace.counted_tokens) == (None, 2040)
    # The lead's file alone brings those of its sub-agents.
    alone = read_trace(folder / "1_a.messages.json")
    assert [call.parent_id for call in alone.calls] == [None, "agent_1"]
    assert (alone.flags, alone.counted_tokens) == ((), 2040)


def test_where_a_long_output_was_cut_is_marked():
    cut = "[... output truncated: 200000 chars total. Refine the command ...]"
    answer = json.dumps([{"query": "cat a b", "result": f"x\n{cut}\ny", "success": True}])
    reading = read(
        says(use("c1", "run_commands", commands=["cat a b"])), user(result("c1", answer))
    )
    assert reading.calls[0].result.text == f"x\n{CUT_HERE}\ny"


# The tools of the newest versions, which do several things in one call.


def several(name, arguments, content, **more):
    call = {"type": "tool_use", "id": "c", "name": name, "input": arguments}
    answered = {"type": "tool_result", "tool_use_id": "c", "content": content, **more}
    messages = [
        {"role": "assistant", "modelInfo": {"id": "a-model"}, "content": [call]},
        {"role": "user", "content": [answered]},
    ]
    return read_document({"messages": messages}, "s.messages.json").calls


def operation(query, result="", error=None):
    entry = {"query": query, "result": result, "success": error is None}
    return entry if error is None else {**entry, "error": error}


def test_each_command_of_a_call_has_its_own_result():
    calls = several(
        "run_commands",
        {"commands": ["cat src/a.py", {"command": "cat", "args": ["src/b c.py"]}, "make"]},
        [
            operation("cat src/a.py", "import os"),
            operation("cat", "part", error="Command exited with code 1"),
            operation("make", error="Command failed: Command timed out after 30000ms"),
        ],
    )
    assert [(c.arguments["command"], c.result.text) for c in calls] == [
        ("cat src/a.py", "import os"),
        ("cat 'src/b c.py'", "part"),
        ("make", "Command failed: Command timed out after 30000ms"),
    ]
    assert [(c.result.is_error, c.result.is_unfinished) for c in calls] == [
        (False, False),
        (True, False),
        (True, True),
    ]
    assert interpret(calls[0]).command == "cat src/a.py"


def test_a_search_names_file_and_line():
    found = "Found 2 results for pattern: x\n\nsrc/a.py:3:1\n> 3: x\n\nsrc/b.py:9:5\n  8: y\n"
    (call,) = several("search_codebase", {"queries": ["x"]}, [operation("x", found)])
    assert [(t.access, t.path, t.lines) for t in interpret(call).targets] == [
        ("matched", "src/a.py", ((3, 3),)),
        ("matched", "src/b.py", ((9, 9),)),
    ]
    (call,) = several("search_codebase", {"queries": "x"}, [operation("x", "Found 0 results")])
    assert interpret(call).targets == ()
    assert not interpret(call).is_opaque


def test_a_file_that_the_prompt_names_is_attached():
    named = '<file_content path="src/a.py">\nx = 1\n</file_content>'
    said = {"role": "user", "content": [{"type": "text", "text": named}]}
    reading = read_cline_document({"messages": [said]}, "h.json")
    assert [(a.path, a.how) for a in reading.attached] == [("src/a.py", "named by the prompt")]


def stream(*entries):
    return read_lines([Line(n, one) for n, one in enumerate(entries, start=1)], "stdout")


def hook(name, agent, parent=None):
    stated = {"hookEventName": name, "agentId": agent, "parentAgentId": parent}
    return {"ts": "2026-01-01T00:00:00Z", "type": "hook_event", **stated}


def event(kind, **stated):
    return {"type": "agent_event", "event": {"type": kind, **stated}}


def tool(call_id, name, given, output, **more):
    stated = {"contentType": "tool", "toolName": name, "toolCallId": call_id}
    start = event("content_start", input=given, **stated)
    return [start, event("content_end", output=output, **stated, **more)]


def reads(call_id, path):
    done = [{"query": path, "result": "1 | x = 1", "success": True}]
    return tool(call_id, "read_files", {"files": [{"path": path}]}, done)


SPENT = event("usage", inputTokens=90, outputTokens=10, cacheReadTokens=50)
RESULT = {"type": "run_result", "finishReason": "completed", "model": {"id": "m"}}
RESULT["usage"] = {"totalCost": 0.5}


def test_the_events_of_a_stream_are_of_the_agent_whose_hook_came_last():
    asks, answers = tool("c1", "spawn_agent", {"task": "look"}, {"text": "Done."})
    reading = stream(
        hook("agent_start", "a"),
        SPENT,
        asks,
        hook("agent_start", "b", "a"),
        SPENT,
        *reads("c2", "/w/b.py"),
        hook("agent_end", "b", "a"),
        answers,
        *reads("c3", "/w/a.py"),
        RESULT,
    )
    assert [(call.call_id, call.parent_id) for call in reading.calls] == [
        ("c1", None),
        ("c2", "b"),
        ("c3", None),
    ]
    assert (reading.delegated, reading.sub_agents) == ({"c1": "b"}, {"b"})
    assert (count_tokens(reading.items), reading.declared_cost_usd) == (200, None)
    assert (reading.format, reading.model, reading.flags) == ("cline-json", "m", ())
    assert [call.result.text for call in reading.calls[1:]] == ["1: x = 1"] * 2


def test_a_stream_that_was_cut_has_no_result_and_a_refused_call_did_not_run():
    refused = tool("c", "run_commands", {"commands": ["ls"]}, {"error": "no"}, error="no")
    reading = stream(hook("agent_start", "a"), *refused)
    assert (reading.flags, reading.calls[0].result.is_unfinished) == (("no_result_event",), True)
    whole = stream(*refused, RESULT)
    assert (whole.flags, whole.declared_cost_usd) == ((), 0.5)


def test_of_a_long_result_the_model_was_sent_its_ends():
    lines = [f"{n:4} | line {n}" for n in range(1, 2001)]
    shown = [{"query": "/w/a.py", "result": "\n".join(lines), "success": True}]
    reading = stream(*tool("c", "read_files", {"files": ["/w/a.py"]}, shown), RESULT)
    seen = reading.calls[0].result.text
    assert CUT_HERE in seen
    assert len(seen) < 8100
    (target,) = interpret(reading.calls[0]).targets
    assert (target.is_whole, len(target.lines)) == (False, 2)


def test_what_stands_around_the_output_of_a_command_is_not_of_it():
    shown = "[Command exited with code 1]\nx = 1\n\n[stderr]\ncat: b.py: No such file\n"
    error = {"error": "Command exited with code 1", "success": False}
    output = [{"query": "cat a.py b.py", "result": shown, **error}]
    reading = stream(*tool("c", "run_commands", {"commands": ["cat a.py b.py"]}, output), RESULT)
    found = reading.calls[0].result
    assert found.text == "x = 1\ncat: b.py: No such file\n"
    assert (found.structured, found.is_unfinished) == ({"exit_code": 1}, False)


def test_a_file_beside_a_prompt_is_attached():
    named = {"type": "file", "path": "/w/b.md", "content": "b"}
    reading = read(user(text("go"), named, {**named, "content": ""}), says(text("Done.")))
    assert [one.path for one in reading.attached] == ["/w/b.md"]
