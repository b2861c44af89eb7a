from __future__ import annotations

from retrieval_eval.agents.traces.reading import CallLog, Complaints
from retrieval_eval.records import ToolCall, ToolResult


def call(call_id, timestamp=None, **arguments):
    return ToolCall(call_id, "Bash", arguments, None, timestamp=timestamp)


def texts(log):
    return [item.result.text if item.result else None for item in log.items()]


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
