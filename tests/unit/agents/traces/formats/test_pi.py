from __future__ import annotations

from retrieval_eval.agents.traces.formats import read_lines
from retrieval_eval.agents.traces.tokens import count_tokens
from retrieval_eval.io.files import Line

HEADER = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:01:00Z"}
HEADER["cwd"] = "/w"
USAGE = {"input": 10, "output": 2, "cacheRead": 5, "cacheWrite": 3, "cost": {"total": 0.5}}


def call(number, name="read", **more):
    block = {"type": "toolCall", "id": f"c{number}", "name": name, "arguments": {"path": "a.py"}}
    stop = {"stopReason": "toolUse", "model": "m", "usage": USAGE}
    return {"role": "assistant", "content": [block], **stop, **more}


def result(number):
    text = [{"type": "text", "text": "x = 1\n"}]
    return {"role": "toolResult", "toolCallId": f"c{number}", "toolName": "read", "content": text}


def entry(one, before, message, minute=2):
    time = {"timestamp": f"2026-01-01T00:{minute:02}:00Z"}
    return {"type": "message", "id": one, "parentId": before, "message": message, **time}


def read(*lines):
    return read_lines([Line(n, line) for n, line in enumerate(lines, start=1)], "s.jsonl")


def tokens(reading):
    return count_tokens(reading.items)


END = {"role": "assistant", "content": [{"type": "text", "text": "Done."}], "stopReason": "stop"}


def test_a_session_states_folder_model_tokens_and_cost():
    reading = read(HEADER, entry("1", None, call(1)), entry("2", "1", result(1)))
    (found,) = reading.calls
    assert (reading.format, reading.harness, reading.cwd) == ("pi-session", "pi", "/w")
    assert (reading.model, reading.harness_version) == ("m", None)
    assert found.result.text == "x = 1\n"
    assert (tokens(reading), reading.declared_cost_usd) == (20, 0.5)
    assert reading.flags == ("no_result_event",)


def test_calls_on_a_branch_that_was_left_are_marked():
    reading = read(
        HEADER,
        entry("1", None, call(1)),
        entry("2", "1", result(1)),
        entry("3", "2", call(2)),
        entry("4", "2", call(3)),
        entry("5", "4", END),
    )
    assert [one.is_abandoned for one in reading.calls] == [False, True, False]
    assert reading.flags == ()


def test_the_entries_that_a_fork_begins_with_are_not_counted():
    forked = {**HEADER, "parentSession": "/h/other.jsonl"}
    reading = read(forked, entry("1", None, call(1), minute=0), entry("2", "1", call(2)))
    assert len(reading.calls) == 2
    assert (tokens(reading), reading.declared_cost_usd) == (20, 0.5)


def test_a_summary_replaces_the_history_and_costs_tokens():
    summary = {"type": "compaction", "id": "2", "parentId": "1", "usage": USAGE}
    reading = read(HEADER, entry("1", None, call(1)), summary, entry("3", "2", END))
    assert reading.flags == ("context_compacted",)
    assert tokens(reading) == 40


def test_what_the_agent_was_shown_without_a_call_is_attached():
    rules = '<project_instructions path="/w/AGENTS.md">\nBe brief.\n</project_instructions>'
    system = {"role": "system", "sections": {"context": f"<project_context>\n{rules}"}}
    text = '<file name="/w/b.md">\nb\n</file>\n<file name="/w/c.png"></file>\nGo.'
    user = {"role": "user", "content": [{"type": "text", "text": text}]}
    own = {"role": "bashExecution", "command": "cat d.py", "output": "d"}
    reading = read(
        HEADER,
        entry("1", None, system),
        entry("2", "1", user),
        entry("3", "2", own),
        entry("4", "3", {**own, "excludeFromContext": True}),
        entry("5", "4", END),
    )
    known, open_ = reading.attached[:2], reading.attached[2:]
    assert [(one.path, one.doubt) for one in known] == [("/w/AGENTS.md", None), ("/w/b.md", None)]
    assert [(one.path, one.doubt) for one in open_] == [("/w/*", "opaque_call")]


def test_a_stream_is_whole_when_the_run_has_ended():
    events = [{"type": "message_end", "message": one} for one in (call(1), result(1), END)]
    partial = {"type": "message_update", "assistantMessageEvent": {"type": "text_delta"}}
    end = {"type": "agent_end", "messages": []}
    whole = read(HEADER, {"type": "agent_start"}, partial, *events, end)
    assert (whole.format, whole.flags, len(whole.calls)) == ("pi-json", (), 1)
    assert tokens(whole) == 20
    cut = read(HEADER, {"type": "agent_start"}, *events[:1])
    assert (cut.flags, cut.calls[0].result) == (("no_result_event",), None)
