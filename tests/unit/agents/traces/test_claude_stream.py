from __future__ import annotations

import pytest

from retrieval_eval.agents.traces.formats.claude_code import read_claude_stream
from retrieval_eval.io.files import Line


def read(*entries):
    lines = [Line(number, entry) for number, entry in enumerate(entries, start=1)]
    return read_claude_stream(lines, "agent/claude-code.txt")


INIT = {
    "type": "system",
    "subtype": "init",
    "cwd": "/workspace",
    "session_id": "s1",
    "model": "model-x",
    "claude_code_version": "2.1.87",
    "tools": [],
}
DONE = {"type": "result", "subtype": "success", "session_id": "s1", "total_cost_usd": 0.5}


def use(call_id, name="Read", parent=None, message="m1", usage=None, timestamp=None, **arguments):
    block = {"type": "tool_use", "id": call_id, "name": name, "input": arguments}
    line = {
        "type": "assistant",
        "message": {"id": message, "content": [block], "usage": usage},
        "parent_tool_use_id": parent,
        "session_id": "s1",
    }
    return line | ({"timestamp": timestamp} if timestamp else {})


def answer(call_id, content="ok", parent=None, second=1, structured=None, is_error=False):
    block = {
        "type": "tool_result",
        "tool_use_id": call_id,
        "content": content,
        "is_error": is_error,
    }
    line = {
        "type": "user",
        "message": {"content": [block]},
        "parent_tool_use_id": parent,
        "timestamp": f"1970-01-01T00:00:{second:02d}Z",
    }
    return line | ({"tool_use_result": structured} if structured is not None else {})


def test_calls_and_results_are_joined_by_id():
    reading = read(
        INIT,
        use("a", file_path="/workspace/a.py"),
        use("b", file_path="/workspace/b.py"),
        answer("b", [{"type": "text", "text": "B"}, {"type": "text", "text": "b"}], second=4),
        answer("a", "A", second=5, structured={"type": "text"}, is_error=True),
        DONE,
    )
    first, second = reading.calls
    assert (first.call_id, first.arguments) == ("a", {"file_path": "/workspace/a.py"})
    assert first.result.text == "A"
    assert first.result.structured == {"type": "text"}
    assert first.result.is_error
    assert second.result.text == "B\nb"
    assert not second.result.is_error
    assert first.where == "agent/claude-code.txt:2"
    assert first.cwd == "/workspace"
    assert reading.flags == ()
    assert reading.problems == ()


def test_what_the_run_was_is_taken_from_its_first_and_last_line():
    reading = read(INIT, DONE)
    assert (reading.harness, reading.harness_version) == ("claude-code", "2.1.87")
    assert (reading.model, reading.cwd) == ("model-x", "/workspace")
    assert reading.session_ids == {"s1"}
    assert reading.declared_cost_usd == 0.5


def test_a_time_on_the_call_is_preferred_to_that_of_its_result():
    reading = read(INIT, use("a", timestamp="1970-01-01T00:00:02Z"), answer("a", second=7), DONE)
    assert reading.calls[0].timestamp == 2.0
    assert reading.started_at == 2.0


def test_declared_tokens_include_sub_agents_where_the_result_line_does():
    main = {"input_tokens": 1, "cache_read_input_tokens": 2, "output_tokens": 3}
    models = {
        "a": {"inputTokens": 1, "cacheReadInputTokens": 2, "outputTokens": 3},
        "b": {"inputTokens": 10, "cacheCreationInputTokens": 20, "outputTokens": 30},
    }

    def declared(**stated):
        return read(INIT, use("a"), DONE | stated).declared_tokens

    assert declared(usage=main, modelUsage=models) == 66
    assert declared(usage=main) == 6
    assert declared(usage=5, modelUsage=[1]) is None
    assert read(INIT, use("a")).declared_tokens is None
    # One result ends each turn, and each states the tokens of its own.
    turns = [DONE | {"usage": main}, DONE | {"usage": {"input_tokens": 4}}]
    assert read(INIT, use("a"), *turns).declared_tokens == 10


def test_what_was_paid_before_a_session_was_resumed_is_not_the_run_s():
    seen = {"input_tokens": 1000, "output_tokens": 1}
    call = use("a", usage=seen)
    call["message"]["model"] = "m"
    run = {"input_tokens": 1000, "output_tokens": 9}

    def reading(n_read):
        models = {"m": {"inputTokens": n_read, "outputTokens": 70}}
        end = DONE | {"usage": run, "modelUsage": models, "total_cost_usd": 0.5}
        return read(INIT, call, answer("a"), end)

    assert (reading(1000).declared_tokens, reading(1000).declared_cost_usd) == (1070, 0.5)
    # The models read more than this run's messages: the session's totals began before it.
    assert (reading(5000).declared_tokens, reading(5000).declared_cost_usd) == (1009, None)


def test_the_own_share_of_a_result_is_taken_where_it_is_stated():
    def end(n_read, cost):
        share = {"m": {"inputTokens": n_read, "outputTokens": 5, "costUSD": cost}}
        whole = {"m": {"inputTokens": 9000, "outputTokens": 900}}
        stated = {"modelUsage": whole, "total_cost_usd": 9.5}
        return DONE | stated | {"model_usage_since_last_result": share}

    found = read(INIT, use("a"), answer("a"), end(100, 0.25), end(200, 0.5))
    assert (found.declared_tokens, found.declared_cost_usd) == (310, 0.75)
    strange = read(INIT, use("a"), DONE | {"model_usage_since_last_result": [{"m": 1}]})
    assert (strange.declared_tokens, strange.declared_cost_usd) == (None, None)


@pytest.mark.parametrize(
    ("last", "flags"),
    [
        ([], ("no_result_event",)),
        ([{"type": "result", "subtype": "error_max_turns"}], ("result_error_max_turns",)),
        ([{"type": "result"}], ()),
    ],
)
def test_how_a_run_ended_is_a_flag(last, flags):
    assert read(INIT, *last).flags == flags


def test_many_broken_lines_are_counted_not_listed():
    lines = [Line(1, INIT), *(Line(n, None, f"line {n}") for n in range(2, 102)), Line(102, [])]
    reading = read_claude_stream(lines, "f")
    assert reading.problems == ("line 2", "line 3", "line 4", "f: 98 further lines cannot be used")


def test_a_structured_result_goes_to_a_lone_result_only():
    pair = answer("a", structured={"stdout": "?"})
    pair["message"]["content"] += answer("b")["message"]["content"]
    reading = read(INIT, use("a"), use("b"), pair, DONE)
    assert [c.result.structured for c in reading.calls] == [None, None]


def answers(*contents, parent=None):
    line = answer("", parent=parent)
    blocks = [{"type": "tool_result", "content": content} for content in contents]
    return {**line, "message": {"content": blocks}}


def test_a_result_without_id_belongs_to_the_only_call_made_before_it():
    reading = read(INIT, use("a"), answers("A"), use("b", message="m2"), answers("B"), DONE)
    assert [call.result.text for call in reading.calls] == ["A", "B"]
    assert (reading.flags, reading.problems) == ((), ())
    side = read(INIT, use("t", "Task"), answer("t"), use("a", parent="t"), answers("A", parent="t"))
    assert side.calls[1].result.text == "A"


@pytest.mark.parametrize(
    "lines",
    [
        (use("a"), use("b"), answers("whose?")),
        (use("a"), use("b", message="m2"), answers("whose?")),
        (use("a"), answers("whose?", "whose?")),
        (use("a", parent="t"), answers("whose?")),
        (use("a"), answers("whose?", parent="t")),
        (use("a"), {"type": "user", "message": {"content": "go on"}}, answers("whose?")),
        (answers("whose?"), use("a")),
        (use("a"), answer(5, "whose?")),
    ],
)
def test_a_result_without_id_that_could_be_anothers_belongs_to_no_call(lines):
    reading = read(INIT, *lines, DONE)
    assert [call.result for call in reading.calls] == [None] * len(reading.calls)
    assert "a tool result does not name its call" in reading.problems[0]


def test_a_result_that_was_cleared_is_none():
    reading = read(INIT, use("a", "Grep"), answer("a", "[Old tool result content cleared]"), DONE)
    assert reading.calls[0].result is None


@pytest.mark.parametrize(
    "line",
    [
        [],
        7,
        {},
        {"type": ["assistant"]},
        {"type": "assistant", "message": None},
        {"type": "assistant", "message": {"content": None}},
        {"type": "assistant", "message": {"content": [None, 3, {"type": "tool_use"}]}},
        {"type": "assistant", "message": {"id": 3, "usage": [], "content": "text"}},
        {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": 5}]}},
        {"type": "user", "message": [], "timestamp": 12, "parent_tool_use_id": {}},
        {"type": "result", "usage": "none", "modelUsage": {"m": None}, "total_cost_usd": "1"},
        {"type": "system", "subtype": "init", "cwd": 3, "model": []},
    ],
)
def test_strange_lines_do_no_harm(line):
    reading = read(INIT, use("a"), line, answer("a"), DONE)
    assert [c.call_id for c in reading.calls] == ["a"]
    assert reading.calls[0].result.text == "ok"
