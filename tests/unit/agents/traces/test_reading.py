from __future__ import annotations

from retrieval_eval.agents.traces.reading import CallLog, Complaints, arguments_of
from retrieval_eval.records import ToolCall, ToolResult


def call(call_id, timestamp=None, **arguments):
    return ToolCall(call_id, "Bash", arguments, None, timestamp=timestamp)


def texts(log):
    return [item.result.text if item.result else None for item in log.items()]


def test_results_find_their_calls_in_any_order():
    log = CallLog(Complaints("f"))
    log.add(call("a", command="1"))
    log.add(call("b", command="2"))
    log.join("b", ToolResult("two"))
    log.join("a", ToolResult("one"))
    assert texts(log) == ["one", "two"]
    assert not log.flags


def test_a_repeated_line_is_one_call_and_its_second_result_is_left_out():
    log = CallLog(Complaints("f"))
    log.add(call("a", command="1"))
    log.add(call("a", command="1"))
    log.join("a", ToolResult("first"))
    log.join("a", ToolResult("again"))
    assert texts(log) == ["first"]
    assert not log.flags


def test_an_id_in_reuse_is_another_call_with_its_own_result():
    log = CallLog(Complaints("f"))
    log.add(call("a", command="1"))
    log.add(call("a", command="2"))
    log.join("a", ToolResult("one"))
    log.join("a", ToolResult("two"))
    assert texts(log) == ["one", "two"]
    assert "repeated_call_id" in log.flags


def test_a_result_prefers_the_calls_of_its_step():
    log = CallLog(Complaints("f"), are_ids_reused=True)
    log.begin_step()
    log.add(call("a", command="1"))
    log.begin_step()
    log.add(call("a", command="2"))
    log.join("a", ToolResult("two"))
    assert texts(log) == [None, "two"]


def test_where_ids_are_reused_the_same_command_later_is_another_call():
    log = CallLog(Complaints("f"), are_ids_reused=True)
    log.add(call("a", 1.0, command="ls"))
    log.add(call("a", 2.0, command="ls"))
    log.add(call("a", 2.0, command="ls"))
    assert len(log.items()) == 2


def test_a_result_without_a_call_is_flagged():
    log = CallLog(Complaints("f"))
    log.join("nobody", ToolResult("lost"))
    assert log.items() == ()
    assert list(log.flags) == ["result_without_call"]


def test_the_time_of_the_result_stands_in_but_an_earlier_sign_of_life_wins():
    log = CallLog(Complaints("f"))
    log.add(call("a"))
    log.add(call("b"))
    log.touch("a", 5.0)
    log.touch("a", 6.0)
    log.join("a", ToolResult(""), 9.0)
    log.join("b", ToolResult(""), 8.0)
    assert [item.timestamp for item in log.items()] == [5.0, 8.0]
    assert log.first_time == 5.0


def test_eight_thousand_calls_with_one_id_are_all_kept():
    log = CallLog(Complaints("f"))
    for number in range(8000):
        log.add(call("x", command=str(number)))
        log.join("x", ToolResult(str(number)))
    assert texts(log) == [str(number) for number in range(8000)]


def test_arguments_that_are_no_object_are_kept_as_input():
    assert arguments_of({"a": 1}) == {"a": 1}
    assert arguments_of(["ls"]) == {"input": ["ls"]}
    assert arguments_of(None) == {}
