from __future__ import annotations

import json

import pytest

from retrieval_eval.agents.traces import read_trace
from retrieval_eval.agents.traces.formats import read_lines
from retrieval_eval.agents.traces.formats.cursor import read_cursor_document, read_cursor_lines
from retrieval_eval.agents.traces.reading import Unreadable
from retrieval_eval.io.files import Line

INIT = {
    "type": "system",
    "subtype": "init",
    "cwd": "/workspace",
    "session_id": "c1",
    "model": "Opus",
}
DONE = {
    "type": "result",
    "subtype": "success",
    "usage": {
        "inputTokens": 1,
        "outputTokens": 20,
        "cacheReadTokens": 300,
        "cacheWriteTokens": 4000,
    },
}


def event(subtype, call_id, name="shellToolCall", args=None, result=None, at=1000):
    body = {"args": {"command": "ls"} if args is None else args}
    if result is not None:
        body["result"] = result
    return {
        "type": "tool_call",
        "subtype": subtype,
        "call_id": call_id,
        "tool_call": {name: body},
        "timestamp_ms": at,
    }


def read(*steps, **more):
    document = {"schema_version": "cursor-jsonl-v1", "steps": list(steps), **more}
    return read_cursor_document(document, "agent/trajectory.json")


def test_started_and_completed_are_one_call_at_the_time_it_started():
    shell = {"success": {"stdout": "a.py\n", "interleavedOutput": "a.py\n", "exitCode": 0}}
    reading = read(
        INIT, event("started", "a"), event("completed", "a", result=shell, at=3000), DONE
    )
    (call,) = reading.calls
    assert (call.name, call.arguments, call.timestamp) == ("shellToolCall", {"command": "ls"}, 1.0)
    assert (call.result.text, call.result.is_error) == ("a.py\n", False)
    assert call.result.structured == shell["success"]
    assert (call.cwd, call.where) == ("/workspace", "agent/trajectory.json#/steps/1")
    assert (reading.started_at, reading.finished_at) == (1.0, 3.0)
    assert (reading.model, reading.session_ids) == ("Opus", {"c1"})
    assert reading.declared_tokens == 4321
    assert reading.flags == ()


def test_lines_and_document_say_the_same():
    events = [INIT, event("started", "a"), event("completed", "a", result={"success": {}}), DONE]
    lines = read_cursor_lines([Line(n, e) for n, e in enumerate(events, start=1)], "x.txt")
    assert [(c.call_id, c.result) for c in lines.calls] == [
        (c.call_id, c.result) for c in read(*events).calls
    ]
    assert lines.calls[0].where == "x.txt:2"


def test_what_stands_beside_the_outcome_is_no_outcome():
    result = {"isBackground": False, "success": {"stdout": "x"}}
    parsed = read(event("completed", "a", result=result)).calls[0].result
    assert (parsed.text, parsed.is_error) == ("x", False)


def test_a_call_whose_start_was_lost_counts():
    (call,) = read(event("completed", "a", result={"success": {}}, at=7000)).calls
    assert (call.timestamp, call.result.is_error) == (7.0, False)


def test_repeated_events_are_one_call():
    done = event("completed", "a", result={"success": {"stdout": "1"}})
    assert len(read(event("started", "a"), event("started", "a"), done, done).calls) == 1


def test_a_cut_call_keeps_the_arguments_of_its_start():
    whole = {"editToolCall": {"args": {"path": "/w/a.py", "streamContent": "z" * 200}}}
    preview = json.dumps(whole)[:90] + "...[truncated]..."
    cut = {
        "type": "tool_call",
        "subtype": "completed",
        "call_id": "a",
        "tool_call": {"_corpus_truncated": True, "preview": preview, "original_bytes": 999},
    }
    args = whole["editToolCall"]["args"]
    both = read(event("started", "a", name="editToolCall", args=args), cut)
    assert both.calls[0].arguments == args
    assert both.calls[0].result.is_truncated
    assert "truncated" in both.flags
    assert read(cut).calls[0].arguments == {"path": "/w/a.py"}


def test_crashed_and_trimmed_runs_are_flagged():
    assert set(read(INIT, {"source": "malformed"}).flags) == {"malformed_line", "no_result_event"}
    assert "trimmed" in read(INIT, {"source": "corpus_builder"}, DONE).flags
    assert read(INIT, {"type": "result", "subtype": "error"}).flags == ("result_error",)


def test_a_document_without_steps_is_refused():
    assert isinstance(read_cursor_document({"steps": {}}, "t"), Unreadable)


def test_an_mcp_answer_may_say_that_it_is_an_error():
    body = {"content": [{"text": {"text": "boom"}}], "isError": True}
    read_ = read(INIT, event("completed", "a", "mcpToolCall", {}, {"success": body}), DONE)
    (call,) = read_.calls
    assert call.result.is_error


def test_an_event_that_names_no_tool_is_complained_of():
    broken = {"type": "tool_call", "subtype": "completed", "call_id": "a", "tool_call": ["x"]}
    found = read(INIT, broken, DONE)
    assert found.calls == ()
    assert found.flags == ("malformed_line",)
    assert found.problems == ("agent/trajectory.json#/steps/1: a tool call without a name",)


@pytest.mark.parametrize(
    "step",
    [
        None,
        [],
        {"type": "tool_call"},
        {"type": "tool_call", "tool_call": {"x": 3}},
        {"type": "tool_call", "tool_call": {"_corpus_truncated": True, "preview": 3}},
        {"type": "result", "usage": [], "subtype": {}},
        {"type": {}, "timestamp_ms": "now"},
    ],
)
def test_strange_steps_do_no_harm(step):
    assert len(read(event("started", "a"), step).calls) == 1


# Transcripts.


def said(*blocks, role="assistant"):
    return {"role": role, "message": {"content": [{"type": "text", "text": "I look."}, *blocks]}}


def used(name, **arguments):
    return {"type": "tool_use", "name": name, "input": arguments}


ENDED = {"type": "turn_ended", "status": "success"}


def transcript(*lines):
    return read_lines((Line(n, line) for n, line in enumerate(lines, start=1)), "t.jsonl")


def test_a_transcript_has_calls_and_no_results():
    reading = transcript(
        said(role="user"),
        said(used("Read", path="/w/a.py"), used("Shell", command="ls")),
        said(used("CallMcpTool", server="code", toolName="search", arguments={"query": "x"})),
        ENDED,
    )
    assert (reading.format, reading.harness, reading.flags) == ("cursor-transcript", "cursor", ())
    assert [(c.name, dict(c.arguments), c.result) for c in reading.calls] == [
        ("Read", {"path": "/w/a.py"}, None),
        ("Shell", {"command": "ls"}, None),
        ("mcp__code__search", {"query": "x"}, None),
    ]
    assert len({c.call_id for c in reading.calls}) == 3


@pytest.mark.parametrize(
    ("lines", "flags"),
    [
        ((said(used("Read", path="a")),), ("no_result_event",)),
        ((ENDED, said(used("Read", path="a"))), ("no_result_event",)),
        (
            (said(used("Read", path="a")), {**ENDED, "status": "error", "error": "aborted"}),
            ("result_error",),
        ),
    ],
)
def test_the_last_turn_says_how_a_transcript_ended(lines, flags):
    assert transcript(*lines).flags == flags


def test_the_transcripts_of_sub_agents_lie_beside(tmp_path):
    folder = tmp_path / "agent-transcripts" / "s1"
    (folder / "subagents").mkdir(parents=True)
    main = [said(used("Task", prompt="Look.", subagent_type="explore")), ENDED]
    inner = [said(used("Read", path="/w/a.py")), ENDED]
    (folder / "s1.jsonl").write_text("\n".join(map(json.dumps, main)))
    (folder / "subagents" / "s2.jsonl").write_text("\n".join(map(json.dumps, inner)))
    trace = read_trace(folder / "s1.jsonl")
    assert {(c.name, c.is_subagent) for c in trace.calls} == {("Task", False), ("Read", True)}
