from __future__ import annotations

from retrieval_eval.io.files import Line
from retrieval_eval.traces.formats.claude_session import read_claude_session
from retrieval_eval.traces.tokens import accumulate


def read(*entries):
    lines = [Line(number, entry) for number, entry in enumerate(entries, start=1)]
    return read_claude_session(lines, "s.jsonl")


def entry(kind, message, second, is_sidechain=False, **more):
    return {
        "type": kind,
        "message": message,
        "timestamp": f"1970-01-01T00:00:{second:02d}.000Z",
        "sessionId": "s1",
        "isSidechain": is_sidechain,
        "cwd": f"/workspace/{second}",
        "version": "2.1.220",
        **more,
    }


def use(call_id, second, **more):
    message = {
        "id": "m" + call_id,
        "model": "model-x",
        "content": [{"type": "tool_use", "id": call_id, "name": "Read", "input": {}}],
        "usage": {"input_tokens": 10, "output_tokens": 5},
    }
    return entry("assistant", message, second, **more)


def answer(call_id, second, **more):
    block = {"type": "tool_result", "tool_use_id": call_id, "content": "text"}
    return entry("user", {"content": [block]}, second, **more)


def test_calls_have_their_own_time_folder_and_structured_result():
    reading = read(
        {"type": "queue-operation", "sessionId": "s1", "timestamp": "1970-01-01T00:00:01Z"},
        entry("user", {"content": "the prompt"}, 2),
        use("a", 5),
        answer("a", 9, toolUseResult={"file": {"numLines": 3}}),
    )
    (call,) = reading.calls
    assert (call.timestamp, call.cwd) == (5.0, "/workspace/5")
    assert call.result.structured == {"file": {"numLines": 3}}
    # The clock starts with the agent, not with the prompt.
    assert (reading.started_at, reading.finished_at) == (5.0, 9.0)
    assert (reading.model, reading.harness_version) == ("model-x", "2.1.220")
    assert reading.session_ids == {"s1"}
    assert reading.flags == ()
    assert accumulate(reading.items)[0].cumulative_tokens == 15


def test_side_chains_are_sub_agents_and_do_not_name_the_model():
    side = use("s", 3, is_sidechain=True)
    side["message"]["model"] = "small-model"
    reading = read(side, use("a", 5))
    assert [c.is_subagent for c in reading.calls] == [True, False]
    assert reading.model == "model-x"


def test_messages_made_up_by_the_harness_do_not_name_the_model():
    made_up = entry("assistant", {"model": "<synthetic>", "content": []}, 1)
    assert read(made_up).model is None


def test_an_error_text_as_structured_result_is_not_repeated():
    reading = read(use("a", 1), answer("a", 2, toolUseResult="Error: no"))
    assert reading.calls[0].result.structured is None


def boundary(second, **more):
    line = entry("system", None, second, uuid="b", **more)
    return {**line, "subtype": "compact_boundary"}


def test_a_summary_whose_last_line_before_is_not_in_the_file_leaves_calls_out():
    def compacted(parent):
        return read(
            use("a", 1, uuid="1"),
            answer("a", 2, uuid="2"),
            boundary(3, parentUuid=None, logicalParentUuid=parent),
            use("b", 4, uuid="4"),
        )

    assert compacted("2").flags == ("context_compacted",)
    assert compacted(None).flags == ("context_compacted",)
    assert compacted("lost").flags == ("history_compacted",)


def test_a_side_chains_result_without_id_belongs_to_its_own_call():
    block = {"type": "tool_result", "content": "text"}
    line = entry("user", {"content": [block]}, 3, is_sidechain=True, agentId="x")
    assert read(use("a", 1, is_sidechain=True, agentId="x"), line).calls[0].result is not None
    assert read(use("a", 1, is_sidechain=True, agentId="y"), line).calls[0].result is None
    assert read(use("a", 1), line).calls[0].result is None
