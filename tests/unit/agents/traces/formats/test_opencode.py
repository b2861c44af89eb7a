from __future__ import annotations

import json

import pytest

from retrieval_eval.agents.events.calls import read_calls
from retrieval_eval.agents.traces import read_trace
from retrieval_eval.agents.traces.formats import read_document, read_lines
from retrieval_eval.agents.traces.formats.opencode import answer
from retrieval_eval.agents.traces.served import is_refusal
from retrieval_eval.agents.traces.tokens import count_tokens
from retrieval_eval.agents.traces.tools import interpret
from retrieval_eval.io.files import Line
from retrieval_eval.records import CUT_HERE, ToolCall, ToolResult, Trace

AT = 1770112800000
FILE = "<path>/w/src/{}</path>\n<type>file</type>\n<content>\n{}\n</content>"
REMINDER = "\n\n<system-reminder>\n1: be brief\n</system-reminder>"


def tool(call_id, name, output="", status="completed", metadata=None, second=0, **arguments):
    state = {"status": status, "input": arguments, "time": {"start": AT + 1000 * second}}
    state |= {"error": output} if status == "error" else {"output": output}
    state |= {"title": "t", "metadata": metadata or {}}
    return {"id": f"prt_{call_id}", "type": "tool", "callID": call_id, "tool": name, "state": state}


def step(part_id, reason="stop", cost=0.01, **tokens):
    counts = {"input": 100, "output": 20, "reasoning": 5, "cache": {"read": 800, "write": 75}}
    counts |= tokens
    return {
        "id": part_id,
        "type": "step-finish",
        "reason": reason,
        "cost": cost,
        "tokens": counts,
    }


def event(kind, second, part):
    return {"type": kind, "timestamp": AT + 1000 * second, "sessionID": "ses_1", "part": part}


PARTS = [
    tool("c1", "read", FILE.format("a.py", "1: import os\n2: x\n\n(End of file - total 2 lines)")),
    tool("c2", "grep", "Found 2 matches\n/w/src/b.py:\n  Line 3: Retry\n\n/w/c d.py:\n  Line 9: y"),
    tool("c3", "bash", "import re\n", command="cat src/d.py", metadata={"exit": 0}),
    tool("c4", "bash", "cat: x.py: No such file", command="cat x.py", metadata={"exit": 1}),
    tool("c5", "read", "File not found: /w/no.py", status="error", filePath="/w/no.py"),
    tool("c6", "edit", "Edit applied successfully.", filePath="/w/src/a.py"),
]
PARTS[0]["state"]["input"] = {"filePath": "/w/src/a.py"}
PARTS[1]["state"]["input"] = {"pattern": "Retry"}

RUN = [
    event("step_start", 0, {"type": "step-start"}),
    *(event("tool_use", n, part) for n, part in enumerate(PARTS[:3], start=1)),
    event("step_finish", 4, step("s1", "tool-calls")),
    *(event("tool_use", n, part) for n, part in enumerate(PARTS[3:], start=5)),
    event("step_finish", 9, step("s2")),
]


def read(*events):
    return read_lines((Line(n, v) for n, v in enumerate(events, start=1)), "agent/opencode.txt")


def write(folder, *parts, name="agent/opencode.txt"):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    events = [event("tool_use", n, part) for n, part in enumerate(parts)]
    path.write_text("\n".join(map(json.dumps, events)), encoding="utf-8")
    return folder


def touched(trial):
    reads = read_calls(read_trace(trial))
    return [(t.access, t.path, t.lines) for r in reads for t, _ in r.raw_targets()]


def test_a_stream_states_times_tokens_and_cost(tmp_path):
    reading = read(*RUN)
    assert (reading.harness, reading.session_ids) == ("opencode", {"ses_1"})
    assert (reading.flags, reading.problems) == ((), ())
    assert reading.declared_cost_usd == pytest.approx(0.02)
    assert reading.finished_at - reading.started_at == 9
    path = tmp_path / "agent/opencode.txt"
    path.parent.mkdir()
    path.write_text("\n".join(map(json.dumps, RUN)), encoding="utf-8")
    trace = read_trace(tmp_path)
    assert [c.cumulative_tokens for c in trace.calls] == [1000] * 3 + [2000] * 3
    assert trace.calls[0].where == "agent/opencode.txt:2"


def test_what_a_read_shows(tmp_path):
    capped = "5: x\n6: y\n\n(Showing lines 5-6 of 90. Use offset=7 to continue.)"
    old = "<file>\n00001| import os\n\n(End of file - total 1 lines)\n</file>"
    trial = write(
        tmp_path,
        tool("c1", "read", FILE.format("a.py", capped) + REMINDER, filePath="/w/src/a.py"),
        tool("c2", "read", old, filePath="src/b.py"),
        tool("c3", "read", FILE.format("c.py", "\n(End of file - total 0 lines)"), filePath="c.py"),
    )
    reads = read_calls(read_trace(trial))
    assert [(t.path, t.lines, t.is_whole) for r in reads for t, _ in r.raw_targets()] == [
        ("/w/src/a.py", ((5, 6),), False),
        ("src/b.py", ((1, 1),), True),
    ]


@pytest.mark.parametrize(
    ("text", "shown", "is_error", "is_unfinished"),
    [
        ("(no output)", "", False, False),
        ("a.py\n\n<bash_metadata>\nexit code 0\n</bash_metadata>", "a.py", False, False),
        (
            (
                "<bash_metadata>\nbash tool terminated command after exceeding timeout 9 ms\n"
                "</bash_metadata>"
            ),
            "",
            True,
            True,
        ),
        ("a.py\n\n(Command timed out after 9000 ms)", "a.py", True, False),
        ("\n\n(Command was aborted)", "", True, True),
        (
            "a\n\n...90 lines truncated...\n\nb",
            "a\n\n[... output truncated ...]\n\nb",
            False,
            False,
        ),
    ],
)
def test_the_notes_on_a_command_are_taken_off(text, shown, is_error, is_unfinished):
    result = answer(ToolCall("c", "bash", {"command": "ls"}, ToolResult(text)))
    assert (result.text, result.is_error, result.is_unfinished) == (shown, is_error, is_unfinished)


def test_a_denied_call_did_not_run():
    denied = tool("c1", "bash", "The user rejected permission to use this tool", status="error")
    failed = {"type": "error", "timestamp": AT, "sessionID": "ses_1", "error": {"name": "X"}}
    reading = read(event("tool_use", 1, denied), failed)
    assert reading.calls[0].result.is_unfinished
    assert reading.flags == ("result_error",)


def test_a_session_that_was_ended_in_a_step_lacks_what_the_step_took():
    info = {"role": "assistant", "time": {"created": AT}}
    running = tool("c", "bash", status="running", command="sleep 9")
    for parts, flags in (([running], ("no_result_event",)), ([running, step("p")], ())):
        message = {"info": info, "parts": parts}
        reading = read_document({"info": {"id": "s"}, "messages": [message]}, "s.json")
        assert reading.flags == flags


def test_a_summary_in_an_exported_session_is_noted():
    info = {"role": "assistant", "time": {"created": AT}}
    messages = [
        {"info": info, "parts": [tool("c1", "glob", "/w/a.py", pattern="*")]},
        {"info": {**info, "summary": True}, "parts": []},
    ]
    reading = read_document({"info": {"id": "s"}, "messages": messages}, "e.json")
    assert reading.flags == ("context_compacted",)


def test_a_question_is_no_retrieval_and_a_call_that_was_not_valid_did_not_run():
    invalid = ToolResult("The arguments provided to the tool are invalid: no JSON")
    calls = [
        ToolCall("c1", "question", {"questions": []}, ToolResult("User has answered: a.py")),
        ToolCall("c2", "invalid", {"tool": "edit"}, invalid),
        ToolCall(
            "c3", "bash", {"command": "ls"}, ToolResult("Error: The user rejected permission")
        ),
    ]
    found = [interpret(call) for call in calls]
    assert [use.is_opaque for use in found] == [False] * 3
    assert not found[0].is_retrieval
    assert [is_refusal(call.result.text) for call in calls] == [False, True, True]


def test_the_steps_that_a_forked_session_copied_are_not_counted_again(tmp_path):
    def said(number, seconds):
        info = {"role": "assistant", "time": {"created": AT + 1000 * seconds}}
        part = tool(f"c{number}", "glob", f"/w/{number}.py")
        return {"info": info, "parts": [part, step(f"s{number}-{seconds}")]}

    def exported(title, *messages, created=0):
        info = {"id": title, "directory": "/w", "version": "1.18.33", "title": title}
        info |= {"time": {"created": AT + 1000 * created}}
        return {"info": info, "messages": list(messages)}

    first = exported("Find x", said(1, 1), said(2, 2))
    # A copy has a part id of its own, and the time and the call ids of what it copies.
    fork = exported("Find x (fork #1)", said(1, 1), said(2, 2), said(3, 9), created=5)
    for copied in fork["messages"][:2]:
        copied["parts"][1]["id"] += "-copy"
    alone = read_document(fork, "agent/opencode-fork.json")
    assert (len(alone.calls), alone.declared_cost_usd) == (3, pytest.approx(0.01))
    assert count_tokens(alone.items) == 1000
    for name, document in (("1", first), ("2", fork)):
        path = tmp_path / "agent" / f"opencode-{name}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(document), encoding="utf-8")
    trace = read_trace(tmp_path)
    assert (len(trace.calls), trace.counted_tokens) == (3, 3000)


@pytest.mark.parametrize(
    ("events", "flags"),
    [
        ([event("step_finish", 3, step("s1", "tool-calls"))], ()),
        ([], ("no_result_event",)),
        (
            [
                event("step_finish", 3, step("s1", "tool-calls")),
                event("step_start", 4, {"type": "step-start"}),
                event("tool_use", 5, PARTS[1]),
            ],
            ("no_result_event",),
        ),
    ],
    ids=["ended", "cut off in the step", "cut off in a later step"],
)
def test_a_request_that_nobody_may_grant_ends_the_run_after_its_step(events, flags):
    rejected = tool(
        "c1",
        "bash",
        "The user rejected permission to use this specific tool call.",
        status="error",
        command="rm x",
    )
    assert read(event("tool_use", 1, rejected), *events).flags == flags


def test_kilo_is_known_by_its_tools_and_its_files():
    own = tool("c1", "kilo_local_recall", "nothing", query="x")
    assert read(event("tool_use", 1, own)).harness == "kilo"
    saved = {"exit": 0, "outputPath": "/h/.local/share/kilo/tool-output/tool_1"}
    kept = tool("c1", "bash", "x", command="cat a", metadata=saved)
    assert read(event("tool_use", 1, kept)).harness == "kilo"


def test_a_cut_that_only_the_record_states_is_marked_at_both_ends():
    cut = tool("c1", "bash", "x = 1", command="cat a b", metadata={"exit": 0, "truncated": True})
    (call,) = read(event("tool_use", 1, cut)).calls
    assert call.result.text == f"{CUT_HERE}\nx = 1\n{CUT_HERE}"


def test_what_a_command_printed_before_its_limit_was_shown_and_what_follows_it_was_not():
    note = (
        "<shell_metadata>\nshell tool terminated command after exceeding timeout\n</shell_metadata>"
    )
    late = tool(
        "c1", "bash", f"x = 1\n\n{note}", command="cat a; sleep 9; cat b", metadata={"exit": None}
    )
    (call,) = read(event("tool_use", 1, late)).calls
    assert (call.result.text, call.result.is_stopped) == ("x = 1", True)


def test_what_a_prompt_names_is_attached():
    def shown(text):
        return {"type": "text", "synthetic": True, "text": text}

    def file(path, mime="text/plain"):
        return {"type": "file", "mime": mime, "url": f"file://{path}"}

    listing = "<path>/w/src</path>\n<type>directory</type>\n<entries>\na.py\nsub/\n\n(2 entries)"
    parts = [
        shown('Called the Read tool with the following input: {"filePath":"/w/b c.py"}'),
        shown(FILE.format("b c.py", "1: import os")),
        file("/w/b%20c.py?start=1"),
        shown(listing),
        file("/w/src", "application/x-directory"),
        file("/w/lib", "application/x-directory"),
        {"type": "file", "mime": "image/png", "url": "data:image/png;base64,aaaa"},
    ]
    document = {"info": {"id": "s"}, "messages": [{"info": {"role": "user"}, "parts": parts}]}
    reading = read_document(document, "s.json")
    assert [(a.path, a.access, a.doubt) for a in reading.attached] == [
        ("/w/b c.py", "opened", None),
        ("/w/src/a.py", "listed", None),
        ("/w/lib/*", "listed", "display_only"),
    ]


def test_a_folder_is_listed(tmp_path):
    entries = "<path>/w/src</path>\n<type>directory</type>\n<entries>\na.py\nlib/\n\n(2 entries)\n"
    tree = "/w/src/\n  lib/\n    b.py\n  a.py\n"
    trial = write(
        tmp_path,
        tool("c1", "read", f"{entries}</entries>", filePath="/w/src"),
        tool("c2", "list", tree, path="/w/src"),
        tool("c3", "glob", "/w/src/a.py\n/w/src/lib/b.py", pattern="**/*.py"),
    )
    assert touched(trial) == [
        ("listed", "/w/src/a.py", None),
        ("listed", "/w/src/lib/b.py", None),
        ("listed", "/w/src/a.py", None),
        ("listed", "/w/src/a.py", None),
        ("listed", "/w/src/lib/b.py", None),
    ]


@pytest.mark.parametrize(
    ("text", "is_mcp"),
    [
        ("Model tried to call unavailable tool 'open_document'. Available tools: read", False),
        ("x", True),
    ],
)
def test_a_name_that_no_tool_has_is_not_a_servers(text, is_mcp):
    call = ToolCall("c", "open_document", {"path": "a.py"}, ToolResult(text, None, not is_mcp))
    kept = {"has_trajectory": False, "has_transcript": True, "harness": "kilo"}
    trace = Trace((call,), "opencode-store", "transcript", **kept)
    (read,) = read_calls(trace)
    assert read.use.is_mcp == is_mcp
