from __future__ import annotations

import json

import pytest

from retrieval_eval.agents.events.calls import read_calls
from retrieval_eval.agents.traces import read_trace
from retrieval_eval.agents.traces.formats import read_lines
from retrieval_eval.io.files import Line

GREP = 'Found 1 match for pattern "Retry" in path "src":\n---\nFile: http.py\nL3: class Retry:\n---'


def entry(line, before, kind, second, parts, **more):
    return {
        "uuid": line,
        "parentUuid": before,
        "sessionId": "5a1c",
        "timestamp": f"2026-02-03T10:00:{second:02d}.000Z",
        "type": kind,
        "cwd": "/w",
        "version": "0.14.0",
        "message": {"role": "model" if kind == "assistant" else "user", "parts": parts},
        **more,
    }


def asked(line, before, second, call_id, name, tokens=None, **args):
    part = {"functionCall": {"id": call_id, "name": name, "args": args}}
    usage = {"promptTokenCount": 900, "candidatesTokenCount": 90, "totalTokenCount": 1000}
    usage = usage if tokens is None else tokens
    more = {"model": "qwen3-coder", "usageMetadata": usage}
    return entry(line, before, "assistant", second, [{"text": "…"}, part], **more)


def answered(line, before, second, call_id, output=None, error=None, status="success"):
    response = {"output": output} if error is None else {"error": error}
    part = {"functionResponse": {"id": call_id, "name": "x", "response": response}}
    record = {"callId": call_id, "status": status}
    return entry(line, before, "tool_result", second, [part], toolCallResult=record)


SESSION = [
    entry("u1", None, "user", 0, [{"text": "fix it"}]),
    asked("u2", "u1", 1, "c1", "grep_search", pattern="Retry", path="src"),
    answered("u3", "u2", 2, "c1", GREP),
    asked("u4", "u3", 3, "c2", "run_shell_command", command="cat src/a.py"),
    answered("u5", "u4", 4, "c2", "Command: cat src/a.py\nDirectory: (root)\nOutput: import os"),
    asked("u6", "u5", 5, "c3", "read_file", file_path="/w/no.py"),
    answered("u7", "u6", 6, "c3", error="File not found: /w/no.py", status="error"),
    asked("u8", "u7", 7, "c4", "edit", file_path="/w/src/a.py"),
    answered("u9", "u8", 8, "c4", "The file was edited."),
]


def read(*entries):
    return read_lines((Line(n, v) for n, v in enumerate(entries, start=1)), "agent/q.jsonl")


def write(folder, entries, name="agent/qwen-sessions/w/chats/5a1c.jsonl"):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(map(json.dumps, entries)), encoding="utf-8")
    return folder


def touched(trial):
    reads = read_calls(read_trace(trial))
    return [(t.access, t.path, t.lines) for r in reads for t, _ in r.raw_targets()]


def test_a_session_is_read_with_its_calls_times_and_tokens(tmp_path):
    trace = read_trace(write(tmp_path, SESSION))
    assert (trace.format, trace.harness) == ("qwen-code-session-jsonl", "qwen-code")
    assert (trace.harness_version, trace.model, trace.cwd) == ("0.14.0", "qwen3-coder", "/w")
    assert [c.cumulative_tokens for c in trace.calls] == [1000, 2000, 3000, 4000]
    assert trace.finished_at - trace.started_at == 7
    assert (trace.flags, trace.problems) == ((), ())
    failed = trace.calls[2].result
    assert (failed.text, failed.is_unfinished) == ("File not found: /w/no.py", True)
    assert touched(tmp_path) == [
        ("matched", "/w/src/http.py", ((3, 3),)),
        ("opened", "/w/src/a.py", ((1, 1),)),
        ("written", "/w/src/a.py", None),
    ]


def test_lines_that_were_left_behind_were_shown_all_the_same():
    again = asked("v1", "u3", 9, "c9", "glob", pattern="*.py")
    reading = read(*SESSION, again, answered("v2", "v1", 9, "c9", "/w/src/b.py"))
    assert [(c.call_id, c.is_abandoned) for c in reading.calls] == [
        ("c1", False),
        *[("c2", True), ("c3", True), ("c4", True)],
        ("c9", False),
    ]
    assert reading.flags == ("history_rewound",)


def test_nothing_is_left_out_where_the_first_line_is_not_in_the_file():
    assert len(read(*SESSION[1:]).calls) == 4
    assert read(*SESSION[1:]).flags == ()


def test_the_calls_of_sub_agents_are_marked():
    own = asked("a1", None, 4, "b1", "read_file", file_path="/w/src/c.py")
    sub = {**own, "isSidechain": True, "agentId": "explore-1"}
    calls = read(*SESSION, sub).calls
    assert [(c.call_id, c.is_subagent, c.parent_id) for c in calls][-1] == ("b1", True, "explore-1")
    assert not any(c.is_subagent for c in calls[:-1])


def test_a_compressed_history_is_noted():
    compressed = entry("s1", "u9", "system", 9, [], subtype="chat_compression", systemPayload={})
    assert read(*SESSION, compressed).flags == ("context_compacted",)


INIT = {
    "type": "system",
    "subtype": "init",
    "session_id": "5a1c",
    "cwd": "/w",
    "model": "qwen3-coder",
    "tools": ["read_file", "grep_search"],
    "qwen_code_version": "0.14.0",
}


def used(call_id, name, **arguments):
    block = {"type": "tool_use", "id": call_id, "name": name, "input": arguments}
    message = {"id": f"m{call_id}", "role": "assistant", "content": [block]}
    return {"type": "assistant", "parent_tool_use_id": None, "message": message}


def shown(call_id, content, *, is_error=False):
    block = {"type": "tool_result", "tool_use_id": call_id, "content": content}
    block |= {"is_error": is_error}
    return {"type": "user", "parent_tool_use_id": None, "message": {"content": [block]}}


def test_a_stream_is_read_with_its_envelopes(tmp_path):
    run = [
        INIT,
        used("c1", "run_shell_command", command="cat src/a.py"),
        shown("c1", "Output: import os\nExit Code: 0"),
        used("c2", "grep_search", pattern="x", path="/w/src"),
        shown("c2", "Found 3 matches"),
        used("c3", "read_file", file_path="/w/src/b.py"),
        shown("c3", "import re"),
        used("c4", "run_shell_command", command="cat src/d.py no.py"),
        shown("c4", "Output: import x\ncat: no.py: No such file\nExit Code: 1", is_error=True),
        {"type": "result", "subtype": "success", "usage": {"input_tokens": 9, "output_tokens": 1}},
    ]
    trace = read_trace(write(tmp_path, run, "agent/qwen.txt"))
    assert (trace.format, trace.harness) == ("qwen-code-stream-json", "qwen-code")
    assert (trace.harness_version, trace.model) == ("0.14.0", "qwen3-coder")
    assert (trace.declared_tokens, trace.flags) == (10, ())
    reads = read_calls(trace)
    assert [(t.path, t.doubt) for r in reads for t, _ in r.raw_targets()] == [
        ("/w/src/a.py", None),
        ("/w/src/*", "display_only"),
        ("/w/src/b.py", None),
        ("/w/src/d.py", None),
    ]


@pytest.mark.parametrize("first", [INIT, SESSION[0], SESSION[2]])
def test_a_file_is_recognised_by_any_of_its_lines(first):
    assert read(first).harness == "qwen-code"


def test_an_answer_without_a_response_leaves_the_call_without_a_result():
    head = {"sessionId": "s", "cwd": "/w", "version": "0.24.7", "timestamp": "2026-01-05T10:00:00Z"}
    call = {"functionCall": {"id": "c", "name": "read_file", "args": {"absolute_path": "/w/a.py"}}}
    lines = [
        {**head, "uuid": "1", "type": "assistant", "message": {"role": "model", "parts": [call]}},
        {
            **head,
            "uuid": "2",
            "parentUuid": "1",
            "type": "tool_result",
            "message": {"role": "user", "parts": [{"functionResponse": {"id": "c"}}]},
            "toolCallResult": {"callId": "c", "status": "success", "resultDisplay": "read"},
        },
    ]
    (found,) = read_lines([Line(n, v) for n, v in enumerate(lines, start=1)], "s.jsonl").calls
    assert found.result is None


def test_the_tokens_of_a_stream_are_those_of_its_messages_with_the_cached_ones_once(tmp_path):
    def spent(line, **usage):
        return {**line, "message": {**line["message"], "usage": usage}}

    run = [
        INIT,
        spent(
            used("c1", "glob", pattern="*"),
            input_tokens=1000,
            output_tokens=20,
            cache_read_input_tokens=500,
            total_tokens=1020,
        ),
        shown("c1", "/w/a.py"),
        # A resumed run ends with the totals of its session.
        {"type": "result", "subtype": "success", "usage": {"input_tokens": 84000}},
    ]
    trace = read_trace(write(tmp_path, run, "agent/qwen.txt"))
    assert (trace.declared_tokens, trace.counted_tokens) == (None, 1020)


def test_cached_tokens_of_a_streams_totals_are_in_the_input(tmp_path):
    usage = {"input_tokens": 5000, "output_tokens": 265, "cache_read_input_tokens": 2500}
    run = [INIT, used("c1", "glob", pattern="*"), {"type": "result", "usage": usage}]
    assert read_trace(write(tmp_path, run, "agent/qwen.txt")).declared_tokens == 5265


def test_a_broken_session_says_what_is_wrong():
    nameless = entry("u2", "u1", "assistant", 1, [{"functionCall": {"id": "c"}}])
    stray = entry("u3", "u2", "tool_result", 2, [{"functionResponse": {"response": {}}}])
    bad = asked("u4", "u3", 3, "c", "glob", tokens={"promptTokenCount": "many"})
    reading = read(SESSION[0], nameless, stray, bad, 3)
    assert reading.flags == ("malformed_line",)
    assert reading.problems == (
        "agent/q.jsonl: line 5: expected a JSON object",
        "agent/q.jsonl:2: a tool call without a name",
        "agent/q.jsonl:3: a tool result does not name its call",
        "agent/q.jsonl: 1 further lines cannot be used",
    )


def test_a_file_that_a_prompt_names_is_attached():
    texts = (
        "See @b.md",
        "\n--- Content from referenced files ---",
        "\nContent from b.md:\n",
        "b\n",
    )
    reading = read(entry("u1", None, "user", 0, [{"text": text} for text in texts]))
    assert [(one.path, one.cwd) for one in reading.attached] == [("b.md", "/w")]
