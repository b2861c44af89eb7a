from __future__ import annotations

import pytest

from retrieval_eval.agents.traces.formats import read_lines
from retrieval_eval.agents.traces.formats.copilot import answer
from retrieval_eval.agents.traces.tokens import accumulate, count_tokens
from retrieval_eval.agents.traces.tools import interpret
from retrieval_eval.io.files import Line
from retrieval_eval.records import ToolCall, ToolResult

START = {
    "sessionId": "s1",
    "copilotVersion": "0.0.400",
    "selectedModel": "a-model",
    "context": {"cwd": "/workspace", "gitRoot": "/workspace"},
}


def event(kind, seconds=0, agent=None, **data):
    line = {"type": kind, "data": data, "id": f"e{seconds}", "parentId": None}
    line["timestamp"] = f"2026-01-01T00:00:{seconds:02}Z"
    return line | ({"agentId": agent} if agent else {})


def start(call_id, name, seconds=1, agent=None, **arguments):
    data = {"toolCallId": call_id, "toolName": name, "arguments": arguments}
    return event("tool.execution_start", seconds, agent, **data)


def complete(call_id, text, seconds=2, success=True, **more):
    result = {"content": text, "detailedContent": "for a person", **more}
    data = {"toolCallId": call_id, "success": success, "result": result}
    return event("tool.execution_complete", seconds, **data)


def read(*events):
    usage = {"inputTokens": 900, "outputTokens": 100}
    end = event("session.shutdown", 9, modelMetrics={"a-model": {"usage": usage}})
    lines = (event("session.start", **START), *events, end)
    return read_lines([Line(n, e) for n, e in enumerate(lines, start=1)], "agent/e.jsonl")


def test_a_request_its_start_and_its_end_are_one_call():
    request = {"toolCallId": "c1", "name": "view", "arguments": '{"path": "/workspace/a.py"}'}
    reading = read(
        event("assistant.message", 1, content="I look.", toolRequests=[request]),
        start("c1", "view", 2, path="/workspace/a.py"),
        complete("c1", "1. import os", 3),
    )
    (call,) = reading.calls
    assert call.arguments == {"path": "/workspace/a.py"}
    assert call.result.text == "1. import os"
    assert [t.path for t in interpret(call).targets] == ["/workspace/a.py"]
    assert (reading.model, reading.harness_version) == ("a-model", "0.0.400")
    assert (reading.cwd, reading.session_ids) == ("/workspace", {"s1"})
    assert (reading.declared_tokens, reading.declared_cost_usd) == (1000, None)
    assert reading.finished_at - reading.started_at == 8
    assert reading.flags == ()


def test_calls_of_servers_and_of_sub_agents_are_known_by_their_start():
    named = start("c1", "github-read_file", path="a.py")
    named["data"] |= {"mcpServerName": "github", "mcpToolName": "get_file_contents"}
    reading = read(named, start("c2", "bash", agent="agent-1", command="ls"))
    assert reading.calls[0].name == "mcp__github__get_file_contents"
    assert (reading.calls[1].is_subagent, reading.calls[1].parent_id) == (True, "agent-1")


@pytest.mark.parametrize(
    ("events", "text", "is_error", "is_unfinished"),
    [
        ([complete("c", "a\n<exited with exit code 0>")], "a", False, False),
        ([complete("c", "a\n<exited with exit code 1>")], "a", True, False),
        (
            [complete("c", "a", contents=[{"type": "terminal", "exitCode": 2, "cwd": "/w"}])],
            "a",
            True,
            False,
        ),
        ([complete("c", "no", success=False)], "no", True, True),
        (
            [
                event("permission.requested", requestId="r", permissionRequest={"toolCallId": "c"}),
                event("permission.completed", requestId="r", result={"kind": "denied-by-rules"}),
            ],
            "denied-by-rules",
            True,
            True,
        ),
    ],
)
def test_an_end_says_how_a_call_ended(events, text, is_error, is_unfinished):
    (call,) = read(start("c", "bash", command="ls"), *events).calls
    assert (call.result.text, call.result.is_error) == (text, is_error)
    assert call.result.is_unfinished == is_unfinished


def test_a_call_that_fetches_the_output_of_a_command_shows_that_command():
    text = "<command started in background with shellId: 7>"
    calls = read(
        start("c", "bash", command="cat a.py", mode="async"),
        complete("c", text),
        start("d", "read_bash", shellId="7", delay=5),
        complete("d", "a = 1\n<exited with exit code 0>"),
    ).calls
    assert (calls[1].name, calls[1].arguments["command"]) == ("bash", "cat a.py")
    assert calls[1].result.text == "a = 1"


def test_the_printed_stream_is_flat():
    lines = [
        {"type": "tool_use", "id": "c", "name": "bash", "input": {"command": "ls"}},
        {"type": "tool_result", "tool_use_id": "c", "content": "a.py"},
    ]
    reading = read_lines([Line(n, e) for n, e in enumerate(lines, start=1)], "agent/c.jsonl")
    assert [(c.name, c.result.text) for c in reading.calls] == [("bash", "a.py")]
    assert (reading.format, reading.flags) == ("copilot-events", ())


def test_an_end_without_a_result_leaves_the_call_without_one():
    started = {"toolCallId": "c", "toolName": "view", "arguments": {"path": "/w/a.py"}}
    lines = [
        {"type": "session.start", "data": {"copilotVersion": "1.0.41"}},
        {"type": "tool.execution_start", "data": started},
        {"type": "tool.execution_complete", "data": {"toolCallId": "c", "success": True}},
    ]
    (call,) = read_lines([Line(n, v) for n, v in enumerate(lines, start=1)], "e.jsonl").calls
    assert call.result is None


@pytest.mark.parametrize(
    ("text", "shown", "is_error", "is_unfinished", "doubt"),
    [
        ("a.py\n<shellId: 0 completed with exit code 0>", "a.py", False, False, None),
        ("cat: no\n<shellId: 12 completed with exit code 1>", "cat: no", True, False, None),
        ("a.py\n<shellId: 0 completed>", "a.py", False, False, None),
        (
            "a.py\n<command with shellId: poll is still running after 2 seconds. Use read_bash.>",
            *("a.py", False, False, None),
        ),
        (
            "<command with shellId: 2 is already running, wait for output with read_bash>",
            "<command with shellId: 2 is already running, wait for output with read_bash>",
            *(True, True, None),
        ),
        (
            "<command with shellId: 5 is still running after 180 seconds. No output yet.>",
            "<command with shellId: 5 is still running after 180 seconds. No output yet.>",
            *(False, False, "background"),
        ),
    ],
)
def test_the_last_line_of_a_shell_says_how_its_command_ended(
    text, shown, is_error, is_unfinished, doubt
):
    result = answer(ToolCall("c", "bash", {"command": "ls"}, ToolResult(text)))
    assert (result.text, result.is_error) == (shown, is_error)
    assert (result.is_unfinished, result.doubt) == (is_unfinished, doubt)


def test_a_resumed_session_states_its_total_since_the_first_start_and_which_model_answered():
    def ended(prompt, output):
        usage = {"inputTokens": prompt, "outputTokens": output}
        return {"type": "session.shutdown", "data": {"modelMetrics": {"m": {"usage": usage}}}}

    lines = [
        {"type": "session.start", "data": {"selectedModel": "auto"}},
        {"type": "assistant.message", "data": {"model": "a-model", "toolRequests": []}},
        ended(90, 10),
        {"type": "session.resume", "data": {"selectedModel": "auto"}},
        ended(180, 20),
    ]
    reading = read_lines([Line(n, v) for n, v in enumerate(lines, start=1)], "e.jsonl")
    assert (reading.model, reading.declared_tokens) == ("a-model", 200)


@pytest.mark.parametrize(
    "text",
    [
        "Path /w/a.py does not exist. Please provide a valid path.",
        "Denied by preToolUse hook: No reason provided",
        "Tool 'view' does not exist. Available tools that can be called are report_intent.",
    ],
)
def test_a_sentence_of_failure_is_no_content(text):
    use = interpret(ToolCall("c", "view", {"path": "/w/a.py"}, ToolResult(text)))
    assert [target for target in use.targets if target.doubt is None] == []


def usage(seconds, agent=None, **counts):
    return event("session.usage_record", seconds, agent, usage=counts)


def lines_of(*events):
    return read_lines([Line(n, e) for n, e in enumerate(events, start=1)], "agent/e.jsonl")


def test_each_request_states_its_tokens_and_a_summary_its_own():
    totals = {"usage": {"inputTokens": 2100, "outputTokens": 50}}
    reading = lines_of(
        event("session.start", **START),
        usage(1, inputTokens=1000, outputTokens=20, cacheReadTokens=500),
        start("c1", "view", 2, path="/workspace/a.py"),
        complete("c1", "x", 3),
        event("session.compaction_complete", 4, compactionTokensUsed={"input": 300, "output": 9}),
        usage(5, "agent-1", inputTokens=1100, outputTokens=30),
        start("c2", "view", 6, agent="agent-1", path="/workspace/b.py"),
        complete("c2", "y", 7),
        event("session.shutdown", 8, modelMetrics={"a-model": totals}),
    )
    assert [call.cumulative_tokens for call in accumulate(reading.items)] == [1020, 2459]
    assert (count_tokens(reading.items), reading.declared_tokens) == (2459, 2459)


@pytest.mark.parametrize(
    ("first", "second", "total"),
    [((90, 10), (180, 20), 200), ((90, 10), (50, 5), 155)],
    ids=["since the first start", "since the last start"],
)
def test_the_ends_of_a_resumed_session(first, second, total):
    def ended(counts):
        stated = dict(zip(("inputTokens", "outputTokens"), counts, strict=True))
        return event("session.shutdown", 1, modelMetrics={"m": {"usage": stated}})

    resumed = event("session.resume", 2)
    reading = lines_of(event("session.start", **START), ended(first), resumed, ended(second))
    assert (reading.declared_tokens, reading.flags) == (total, ())
    # A session that goes on and does not end is cut off.
    assert lines_of(ended(first), resumed).flags == ("no_result_event",)


def test_the_printed_stream_ends_with_a_result():
    made = [start("c1", "view", path="/w/a.py"), complete("c1", "x")]
    assert lines_of(*made).flags == ("no_result_event",)
    ended = lines_of(*made, {"type": "result", "sessionId": "s", "exitCode": 0})
    assert (ended.flags, ended.session_ids) == ((), {"s"})


@pytest.mark.parametrize("is_started", [True, False])
def test_a_request_without_arguments_leaves_them_to_the_start_of_its_call(is_started):
    request = {"toolCallId": "c1", "name": "view", "args": {"path": "/w/a.py"}}
    begun = [start("c1", "view", 2, path="/w/a.py")] if is_started else []
    reading = lines_of(
        event("assistant.message", 1, toolRequests=[request]), *begun, complete("c1", "x", 3)
    )
    (call,) = reading.calls
    assert (call.name, call.result.text) == ("view", "x")
    assert call.arguments == ({"path": "/w/a.py"} if is_started else {})


def test_a_servers_answer_is_read_from_its_structured_content():
    named = start("c1", "hub-find", query="x")
    named["data"] |= {"mcpServerName": "hub", "mcpToolName": "find"}
    found = {"hits": [{"path": "src/a.py", "line": 2, "text": "x = 1"}]}
    (call,) = lines_of(named, complete("c1", "1 hit\n\n{}", structuredContent=found)).calls
    assert [(t.path, t.lines, t.doubt) for t in interpret(call).targets] == [
        ("src/a.py", ((2, 2),), None)
    ]


def test_sub_agents_are_linked_to_the_calls_that_started_them():
    started = event("subagent.started", 1, "agent-1", toolCallId="c1")
    reading = lines_of(event("session.start", **START), started)
    assert (reading.delegated, reading.sub_agents) == ({"c1": "agent-1"}, {"agent-1"})


def test_of_what_a_prompt_names_only_a_selection_states_what_was_sent():
    named = [
        {"type": "file", "path": "/w/a.py", "displayName": "a.py"},
        {"type": "directory", "path": "/w/src/", "displayName": "src"},
        {"type": "selection", "filePath": "/w/b.py", "text": "import os"},
        {"type": "blob", "data": "aaaa", "mimeType": "image/png"},
    ]
    reading = read(START, event("user.message", content="look", attachments=named))
    assert [(a.path, a.access, a.doubt, a.is_pattern) for a in reading.attached] == [
        ("/w/a.py", "opened", "display_only", False),
        ("/w/src/*", "listed", "display_only", True),
        ("/w/b.py", "opened", None, False),
    ]


def test_of_instructions_it_is_not_stated_of_which_file_they_are():
    content = "You help.\n\n<custom_instruction>\nBe brief.\n</custom_instruction>"
    reading = read(event("system.message", 1, role="system", content=content))
    assert {one.doubt for one in reading.attached} == {"unlinked_result"}
    assert "AGENTS.md" in [one.path for one in reading.attached]
    assert not read(event("system.message", 1, role="system", content="You help.")).attached
