from __future__ import annotations

from retrieval_eval.agents.traces.tokens import (
    Gap,
    Usage,
    accumulate,
    anthropic_usage,
    count_tokens,
    largest,
)
from retrieval_eval.records import ToolCall


def call(call_id):
    return ToolCall(call_id, "Read", {}, None)


def counts(*items):
    return [c.cumulative_tokens for c in accumulate(items)]


def test_a_message_on_several_lines_counts_once_with_its_largest_counts():
    lines = (Usage("m", 100, 1), call("a"), Usage("m", 100, 9), call("b"))
    assert counts(*lines) == [109, 109]
    assert count_tokens(lines) == 109
    assert largest(lines) == {"m": Usage("m", 100, 9)}


def test_counts_run_over_all_messages_so_far_also_those_without_calls():
    lines = (Usage("m", 10, 1), Usage("n", 20, 2), call("a"), Usage("o", 30, 3), call("b"))
    assert counts(*lines) == [33, 66]


def test_interleaved_messages_never_count_down():
    lines = (
        Usage("main", 10, 0),
        call("a"),
        Usage("sub", 5, 0, is_subagent=True),
        call("b"),
        Usage("main", 10, 4),
        call("c"),
    )
    assert counts(*lines) == [14, 19, 19]


def test_nothing_is_known_before_the_first_usage_and_behind_a_gap():
    assert counts(call("a"), Usage("m", 5, 0), call("b"), Gap(), Usage("n", 7, 0), call("c")) == [
        None,
        5,
        None,
    ]
    assert counts(call("a")) == [None]
    assert count_tokens([call("a")]) is None


def test_a_message_without_usage_states_nothing():
    assert anthropic_usage("m", None) is None
    assert anthropic_usage("m", {"input_tokens": "12", "output_tokens": None}) is None
