from __future__ import annotations

import pytest
from msgspec.structs import replace

from retrieval_eval.agents.traces.merge import (
    as_sub_agent,
    grouped,
    join_trace,
    join_transcripts,
    merge_calls,
)
from retrieval_eval.agents.traces.reading import Reading
from retrieval_eval.agents.traces.tokens import Gap, Usage
from retrieval_eval.records import ToolCall, ToolResult


def call(call_id, timestamp=None, name="Read", result=None, **arguments):
    return ToolCall(call_id, name, arguments, result, timestamp=timestamp)


def ids(merged):
    return "".join(item.call_id for item in merged.items if isinstance(item, ToolCall))


def test_known_times_decide_among_calls_that_one_side_has():
    base = [call("a", 1.0), call("b", 3.0), call("c", 5.0), call("d", 9.0)]
    other = [call("a", 1.0), call("x", 4.0), call("y", 6.0), call("d", 9.0), call("z", 2.0)]
    assert ids(merge_calls(base, other)) == "abxcydz"


def test_files_without_a_shared_call_are_sorted_into_each_other_by_time():
    base = [Usage("m", 1, 0), call("a", 1.0), Usage("n", 1, 0), call("b", 5.0), call("c", 9.0)]
    other = [Usage("s", 1, 0), call("x", 4.0), Usage("t", 1, 0), call("y", 7.0)]
    merged = merge_calls(base, other)
    assert ids(merged) == "axbyc"
    # What a message cost stays with the calls it made.
    names = [i.message_id if isinstance(i, Usage) else i.call_id for i in merged.items]
    assert names == ["m", "a", "s", "x", "n", "b", "t", "y", "c"]


def test_what_is_missing_is_filled_in():
    base = [
        call("a", file_path="a.py"),
        call("b", 5.0, result=ToolResult("cu", is_truncated=True)),
        call("c", result=ToolResult("text", is_error=True)),
    ]
    other = [
        call("a", 2.0, result=ToolResult("found"), file_path="a.py"),
        call("b", 4.0, result=ToolResult("cut no more")),
        call("c", result=ToolResult("other text", structured={"n": 1})),
    ]
    a, b, c = merge_calls(base, other).items
    assert (a.result.text, a.timestamp) == ("found", 2.0)
    assert (b.result.text, b.result.is_truncated, b.timestamp) == ("cut no more", False, 4.0)
    assert (c.result.text, c.result.structured, c.result.is_error) == ("text", {"n": 1}, True)


def test_calls_with_an_id_in_reuse_are_matched_by_what_was_called():
    base = [call("x", command="2", result=None)]
    other = [
        call("x", command="1", result=ToolResult("one")),
        call("x", command="2", result=ToolResult("two")),
    ]
    merged = merge_calls(base, other)
    assert [(i.arguments["command"], i.result.text) for i in merged.items] == [
        ("1", "one"),
        ("2", "two"),
    ]


def test_usages_are_joined_by_message_and_gaps_of_the_second_file_are_left_out():
    merged = merge_calls([Usage("m", 10, 1), call("a")], [Gap(), Usage("m", 9, 30), call("a")])
    assert merged.items == (Usage("m", 10, 30), call("a"))


def native(*items, **more):
    return Reading("own-record", items, harness="a", is_native=True, **more)


def test_a_harness_s_own_record_wins_over_the_trajectory_made_from_it():
    lost = ToolResult("")
    failed = ToolResult("denied", is_error=True, is_unfinished=True)
    trajectory = Reading(
        "atif-1.7",
        (call("a", path="of another call", result=lost), call("b", result=ToolResult("x"))),
        flags=("argument_mismatch",),
        declared_cost_usd=0.5,
    )
    trace = join_trace(trajectory, native(call("a", path="a.py", result=failed)))
    assert [(c.call_id, c.arguments) for c in trace.calls] == [("a", {"path": "a.py"}), ("b", {})]
    assert trace.calls[0].result == failed
    assert (trace.source, trace.format) == ("merged", "own-record+atif-1.7")
    assert (trace.flags, trace.declared_cost_usd) == ((), 0.5)


def test_ids_that_a_converter_made_up_add_no_calls():
    trajectory = Reading("atif-1.5", (call("call_1"), call("call_2")), harness="a")
    trace = join_trace(trajectory, native(call("step/0"), call("step/1")))
    assert [c.call_id for c in trace.calls] == ["step/0", "step/1"]
    assert trace.source == "transcript"


def test_the_record_of_another_session_is_left_out():
    trajectory = Reading("atif-1.5", (call("a"),), session_ids=frozenset({"s"}))
    other = native(call("b"), session_ids=frozenset({"t"}))
    trace = join_trace(trajectory, other)
    assert [c.call_id for c in trace.calls] == ["a"]
    assert "transcript_of_another_session" in trace.flags


def test_the_folder_of_a_trial_is_that_of_its_main_agent():
    sub = Reading("f", (replace(call("s1"), is_subagent=True),), cwd="/tmp/worktree")
    main = Reading("f", (call("m1"),), cwd="/srv/app")
    for first, second in ((sub, main), (main, sub)):
        assert join_transcripts([first, second]).cwd == "/srv/app"


def test_the_tokens_of_a_last_message_count_before_a_later_session_goes_on():
    first = [Usage("m", 100, 15), call("a", 1.0), Usage("n", 100, 15)]
    later = [Usage("o", 100, 15), call("b", 9.0)]
    joined = join_transcripts([Reading("s", first), Reading("s", later)])
    trace = join_trace(None, joined)
    assert [c.cumulative_tokens for c in trace.calls] == [115, 345]


def inner(call_id, agent):
    return ToolCall(call_id, "Read", {}, None, is_subagent=True, parent_id=agent)


DENIED = ToolResult("The user doesn't want to proceed with this tool use.", is_error=True)
STOPPED = ToolResult("[Request interrupted by user for tool use]", is_error=True)
FORKED = ToolResult('Skill "look" completed (forked execution).\n\nResult:\nfound')
LAUNCHED = ToolResult('Skill "look" launched (forked execution, running in the background)')
SPAWNS = "const a = await tools.spawn_agent({message: 'look'}); text(a);"


@pytest.mark.parametrize(
    ("items", "facts", "is_missing"),
    [
        # One of two transcripts: which call started it is stated, or not.
        ([call("t", name="Agent"), call("u", name="Agent"), inner("x", "1")], {}, True),
        (
            [call("t", name="Agent"), call("u", name="Agent"), inner("x", "1"), inner("y", "2")],
            {},
            False,
        ),
        (
            [call("t", name="Agent"), call("u", name="Agent"), inner("x", "1"), inner("y", "9")],
            {"delegated": {"t": "1", "u": "2"}},
            True,
        ),
        ([call("t", name="Agent"), inner("x", "t")], {}, False),
        ([call("t", name="Agent"), inner("x", None)], {}, False),
        ([call("t", name="Agent"), call("u", name="Agent"), inner("x", None)], {}, True),
        # A sub-agent is continued: its transcript is that of both calls.
        (
            [call("t", name="Agent"), call("u", name="Agent"), inner("x", "1")],
            {"delegated": {"t": "1", "u": "1"}},
            False,
        ),
        # The transcript is there and holds no call.
        ([call("t", name="Task")], {"sub_agents": frozenset({"1"})}, False),
        (
            [call("t", name="Task")],
            {"sub_agents": frozenset({"1"}), "delegated": {"t": "2"}},
            True,
        ),
        # What was refused started nothing; what was interrupted may have read before.
        ([call("t", name="Agent", result=DENIED)], {}, False),
        ([call("t", name="Agent", result=STOPPED)], {}, True),
        # The other ways to delegate.
        ([call("t", name="Workflow", script="await agent('look')")], {}, True),
        ([call("t", name="Skill", result=FORKED)], {}, True),
        ([call("t", name="Skill", result=LAUNCHED)], {}, True),
        ([call("t", name="Skill", result=ToolResult("Launching skill: look"))], {}, False),
        ([call("t", name="exec", input=SPAWNS)], {}, True),
        ([call("t", name="exec", input="text('spawn_agent')")], {}, False),
        ([call("t", name="collaboration__spawn_agent")], {}, True),
        # Who waits for a sub-agent that no call here started had one started before.
        ([call("t", name="wait_agent")], {}, True),
        ([call("t", name="wait_agent"), inner("x", "1")], {}, False),
        ([call("t", name="Agent", result=DENIED), call("u", name="wait_agent")], {}, False),
        ([call("t", name="wait_agent", id="2"), inner("x", "1")], {}, False),
    ],
)
def test_each_call_that_delegates_needs_the_transcript_of_its_sub_agent(items, facts, is_missing):
    trace = join_trace(None, Reading("s", items, **facts))
    assert ("subagent_calls_missing" in trace.flags) == is_missing


def test_files_of_one_run_are_those_that_ids_or_copied_calls_link():
    def reading(call_id, *sessions, **facts):
        return Reading("s", [call(call_id)], session_ids=frozenset(sessions), **facts)

    first, resumed, other = reading("a", "1"), reading("b", "1", "2"), reading("c", "3")
    copied = reading("c", "4")
    sub_agent = reading("d", "5", part_of="3")
    unknown = reading("e")
    runs = grouped([sub_agent, first, other, resumed, copied, unknown])
    assert runs == [[first, resumed, unknown], [other, copied, sub_agent]]


def test_what_lies_where_sub_agents_do_is_theirs():
    marked = as_sub_agent(Reading("s", [Usage("m", 1, 1), call("a")]), "7")
    assert marked.sub_agents == {"7"}
    assert [item.is_subagent for item in marked.items] == [True, True]
    assert marked.calls[0].parent_id == "7"


def test_calls_that_one_file_holds_are_not_unreadable():
    unread = Reading("atif-1.7", flags=("calls_unreadable",))
    read = Reading("native", (ToolCall("c", "Read", {}, ToolResult("x")),))
    assert join_trace(unread, read).flags == ()
    assert join_trace(unread, None).flags == ("calls_unreadable",)
    assert join_trace(None, join_transcripts([unread, read])).flags == ()
