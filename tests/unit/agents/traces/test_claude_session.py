from __future__ import annotations

from retrieval_eval.agents.traces.formats.claude_code import read_claude_session
from retrieval_eval.agents.traces.tokens import accumulate
from retrieval_eval.io.files import Line


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


def thread(kind, message, uuid, parent, **more):
    return {"type": kind, "message": message, "sessionId": "s1", "uuid": uuid} | {
        "parentUuid": parent,
        **more,
    }


def made(call_id, uuid, parent, message=None):
    block = {"type": "tool_use", "id": call_id, "name": "Read", "input": {}}
    return thread("assistant", {"id": message or uuid, "content": [block]}, uuid, parent)


def got(call_id, uuid, parent):
    block = {"type": "tool_result", "tool_use_id": call_id, "content": "text"}
    return thread("user", {"content": [block]}, uuid, parent)


def abandoned(*lines):
    return [call.call_id for call in read(*lines).calls if call.is_abandoned]


def test_a_branch_that_was_rewound_is_marked():
    first = [made("a", "1", None), got("a", "2", "1"), made("b", "3", "2"), got("b", "4", "3")]
    again = [thread("user", {"content": "no"}, "5", "2"), made("c", "6", "5"), got("c", "7", "6")]
    assert abandoned(*first) == []
    assert abandoned(*first, *again) == ["b"]
    # What it showed and cost was shown and paid.
    assert [call.call_id for call in read(*first, *again).calls] == ["a", "b", "c"]


def test_parallel_calls_are_no_branches():
    lines = [
        made("a", "1", None, message="m"),
        made("b", "2", "1", message="m"),
        got("b", "3", "2"),
        got("a", "4", "1"),
        made("c", "5", "4"),
    ]
    assert abandoned(*lines) == []


def test_a_summary_of_the_history_is_no_branch():
    summary = {"parentUuid": None, "logicalParentUuid": "2", "uuid": "3", "sessionId": "s1"}
    boundary = {"type": "system", "subtype": "compact_boundary", **summary}
    first = [made("a", "1", None), got("a", "2", "1")]
    assert abandoned(*first, boundary, made("b", "4", "3")) == []
    # A line that is not in the file leaves open what stands before it.
    assert abandoned(*first, made("b", "4", "gone")) == []


def attachment(**stated):
    return {"type": "attachment", "sessionId": "s1", "cwd": "/w", "uuid": "x"} | {
        "attachment": stated
    }


def test_of_an_attached_folder_the_names_were_shown():
    listing = {"path": "/w/src", "displayPath": "src", "content": "a.py\nsub/\nb.py\n"}
    reading = read(attachment(type="directory", **listing))
    assert [(file.path, file.access) for file in reading.attached] == [
        ("/w/src/a.py", "listed"),
        ("/w/src/b.py", "listed"),
    ]
    (unknown,) = read(attachment(type="directory", path="/w/src")).attached
    assert (unknown.path, unknown.is_pattern, unknown.doubt) == ("/w/src/*", True, "display_only")


def test_what_was_shown_without_a_call_is_attached():
    file = {"filePath": "/w/a.py", "content": "x\ny", "numLines": 2, "startLine": 1}
    reading = read(
        attachment(type="file", filename="/w/a.py", content={"file": {**file, "totalLines": 2}}),
        attachment(type="file", content={"file": {**file, "totalLines": 9, "filePath": "/w/b.py"}}),
        attachment(type="edited_text_file", filename="/w/c.py", snippet="7\tz"),
        attachment(type="selected_lines_in_ide", filename="/w/d.py", content="z", lineStart=3)
        | {"isSidechain": False},
        attachment(type="instructions", files=[{"path": "/w/CLAUDE.md", "content": "# Notes"}, 3]),
        attachment(type="nested_memory", path="/w/lib/CLAUDE.md", content={"content": "# Lib"}),
        attachment(
            type="hook_additional_context",
            content=["Contents of /w/lib/AGENTS.md:\n\n# Rules\n", "A hook's own words.", None],
        ),
        attachment(type="hook_additional_context", content={"Contents of": "/w/x"}),
        # Names alone are no content.
        attachment(type="compact_file_reference", filename="/w/e.py"),
        attachment(type="file", filename="/w/f.py", content={"type": "file_unchanged"}),
        attachment(type="opened_file_in_ide", filename="/w/g.py"),
        attachment(type="instructions", files="none"),
        attachment(type=["file"]),
        use("a", 3),
    )
    assert [(file.path, file.lines, file.is_whole) for file in reading.attached] == [
        ("/w/a.py", ((1, 2),), True),
        ("/w/b.py", ((1, 2),), False),
        ("/w/c.py", None, False),
        ("/w/d.py", None, False),
        ("/w/CLAUDE.md", None, False),
        ("/w/lib/CLAUDE.md", None, False),
        ("/w/lib/AGENTS.md", None, False),
    ]


def test_the_costs_of_a_session_count_its_sub_agents():
    usage = {"m": {"inputTokens": 70, "outputTokens": 5, "cacheReadInputTokens": 25}}
    state = {"type": "cost-state", "sessionId": "s1", "totalCostUSD": 0.5, "modelUsage": usage}
    reading = read(use("a", 3), {**state, "totalCostUSD": 0.1}, answer("a", 4), state)
    assert (reading.declared_cost_usd, reading.declared_tokens) == (0.5, 100)
    other = read(use("a", 3), {**state, "sessionId": "s0"})
    assert (other.declared_cost_usd, other.declared_tokens) == (None, None)


def test_a_command_that_went_on_in_the_background_was_stopped_for_the_agent():
    note = (
        "Command did not complete within its 2s timeout and was moved to the background (ID: b1). "
        "Output is being written to: /tmp/claude-0/b1.output. You will be notified."
    )
    block = {"type": "tool_result", "tool_use_id": "a", "content": f"import os\n{note}"}
    (call,) = read(use("a", 3), entry("user", {"content": [block]}, 4)).calls
    assert (call.result.text, call.result.is_stopped) == ("import os", True)


def test_an_answer_names_the_sub_agent_that_it_started():
    def started(name, content, **structured):
        message = {"id": "m", "content": [{"type": "tool_use", "id": "t", "name": name}]}
        block = {"type": "tool_result", "tool_use_id": "t", "content": content}
        more = {"toolUseResult": structured} if structured else {}
        return read(entry("assistant", message, 1), entry("user", {"content": [block]}, 2, **more))

    assert started("Agent", "done", agentId="a1").delegated == {"t": "a1"}
    assert started("Agent", "done\nagentId: a1 (for resuming)").delegated == {"t": "a1"}
    assert started("Workflow", "Workflow launched\nRun ID: wf_7").delegated == {"t": "wf_7"}
    assert started("Bash", "agentId: a1").delegated == {}
    idle = started("Agent", "done", agentId="a1", totalToolUseCount=0)
    assert idle.sub_agents == {"a1"}
