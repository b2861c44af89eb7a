from __future__ import annotations

import json

import pytest

from retrieval_eval.agents.traces import read_trace
from retrieval_eval.agents.traces.formats import read_document, read_lines
from retrieval_eval.agents.traces.formats.gemini_cli import answer
from retrieval_eval.io.files import Line
from retrieval_eval.records import ToolCall, ToolResult

META = {
    "sessionId": "5a1c",
    "projectHash": "9f",
    "startTime": "2026-02-03T10:00:00.000Z",
    "lastUpdated": "2026-02-03T10:00:00.000Z",
    "kind": "main",
}
GREP = """Found 3 matches for pattern "Retry" in path "src":
---
File: http/retry.py
L3: class Retry:
L4-     pass
---
File: app.py
L9:     Retry()
---"""
CUT = """
IMPORTANT: The file content has been truncated.
Status: Showing lines 1-2 of 900 total lines.
Action: To read more of the file, you can use the 'start_line' and 'end_line' parameters.

--- FILE CONTENT (truncated) ---
import time
import os"""


def call(call_id, name, output=None, status="success", error=None, **args):
    response = {"error": error} if error else {"output": output}
    part = {"functionResponse": {"id": call_id, "name": name, "response": response}}
    return {"id": call_id, "name": name, "args": args, "status": status, "result": [part]}


def message(message_id, second, *calls, kind="gemini", **more):
    return {
        "id": message_id,
        "timestamp": f"2026-02-03T10:00:{second:02d}.000Z",
        "type": kind,
        "content": "",
        "toolCalls": list(calls),
        **more,
    }


SESSION = [
    META,
    message("u1", 1, kind="user"),
    message("g1", 2),
    message(
        "g1",
        2,
        call("c1", "grep_search", GREP, pattern="Retry", dir_path="src"),
        call("c2", "read_file", CUT, file_path="src/http/retry.py"),
        model="gemini-3-pro",
        tokens={"input": 1000, "output": 40, "cached": 900, "thoughts": 10, "total": 1050},
    ),
    message(
        "g2",
        5,
        call(
            "c3",
            "run_shell_command",
            "Output: import os\nProcess Group PGID: 71",
            command="cat src/app.py",
        ),
        call("c4", "read_file", error="File not found: /w/x.py", status="error", file_path="x.py"),
        call("c5", "replace", "Successfully modified file", file_path="/w/src/app.py"),
        tokens={"input": 2000, "output": 50, "cached": 0, "total": 2050},
    ),
    {"$set": {"lastUpdated": "2026-02-03T10:00:09.000Z"}},
]


def read(*lines):
    return read_lines((Line(n, v) for n, v in enumerate(lines, start=1)), "agent/g.jsonl")


def write(folder, lines, name="agent/gemini-cli.trajectory.jsonl"):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return folder


def test_a_session_is_read_with_its_calls_times_and_tokens(tmp_path):
    reading = read(*SESSION)
    assert (reading.harness, reading.model, reading.session_ids) == (
        "gemini-cli",
        "gemini-3-pro",
        {"5a1c"},
    )
    assert (reading.flags, reading.problems) == ((), ())
    assert reading.finished_at - reading.started_at == 7
    assert [c.call_id for c in reading.calls] == ["c1", "c2", "c3", "c4", "c5"]
    trace = read_trace(write(tmp_path, SESSION))
    assert [c.cumulative_tokens for c in trace.calls] == [1050, 1050, 3100, 3100, 3100]
    assert trace.calls[0].where == "agent/gemini-cli.trajectory.jsonl:3"


def test_a_document_holds_the_same_session():
    messages = [m for m in SESSION[1:-1] if m != SESSION[2]]
    reading = read_document({**META, "messages": messages}, "agent/gemini-cli.trajectory.json")
    lines = read(*SESSION)
    assert [(c.call_id, c.result) for c in reading.calls] == [
        (c.call_id, c.result) for c in lines.calls
    ]
    assert reading.calls[0].where == "agent/gemini-cli.trajectory.json#/messages/1"


def test_a_document_is_found_under_its_names(tmp_path):
    document = {**META, "messages": SESSION[1:2] + SESSION[3:5]}
    for name in ("agent/gemini-cli.trajectory.json", "agent/session-2026-02-03T10-00-5a1c.json"):
        path = tmp_path / name.replace("/", "_") / "agent" / name.rsplit("/", 1)[1]
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(document), encoding="utf-8")
        assert len(read_trace(path.parent.parent).calls) == 5


def test_what_followed_a_point_that_the_agent_was_put_back_to_was_shown_and_paid(tmp_path):
    lines = [*SESSION, {"$rewindTo": "g2"}, message("g3", 9, call("c9", "glob", "/w/a.py"))]
    reading = read(*lines)
    assert [(c.call_id, c.is_abandoned) for c in reading.calls] == [
        *[("c1", False), ("c2", False)],
        *[("c3", True), ("c4", True), ("c5", True)],
        ("c9", False),
    ]
    assert reading.flags == ("history_rewound",)
    assert read_trace(write(tmp_path, lines)).counted_tokens == 3100


def test_what_a_prompt_carries_is_attached():
    text = (
        "--- Context from: /w/GEMINI.md ---\nUse spaces.\n--- End of Context ---\n\nfix it\n"
        "--- Content from referenced files ---\n\nContent from @src/a.py:\nimport os\n"
    )
    reading = read(META, {"id": "u", "type": "user", "content": [{"text": text}]}, *SESSION[1:])
    assert [(file.path, file.how) for file in reading.attached] == [
        ("/w/GEMINI.md", "instructions"),
        ("src/a.py", "named by the prompt"),
    ]


def test_a_checkpoint_adds_messages_and_takes_none_away():
    masked = message("g2", 5, call("c3", "run_shell_command", "[masked]", command="x"))
    summary = message("s1", 6, kind="user")
    later = message("g4", 8, call("c9", "glob", "/w/a.py", pattern="*.py"))
    reading = read(*SESSION, {"$set": {"messages": [summary, masked, later]}})
    assert [c.call_id for c in reading.calls] == ["c1", "c2", "c3", "c4", "c5", "c9"]
    assert reading.calls[2].result.text == "import os"
    assert reading.flags == ("context_compacted",)


def test_a_call_that_did_not_end_has_no_result():
    record = {"id": "c1", "name": "read_file", "args": {}, "status": "executing"}
    assert [c.result for c in read(META, message("g", 1, record)).calls] == [None]


@pytest.mark.parametrize(
    ("text", "shown", "is_error", "is_unfinished", "doubt"),
    [
        ("Output: a\nb\nProcess Group PGID: 7", "a\nb", False, False, None),
        ("Output: (empty)\nExit Code: 2", "", True, False, None),
        ("Output: a\nError: spawn failed\nExit Code: 1\nSignal: (none)", "a", True, False, None),
        ("<untrusted_context>\nOutput: a\n</untrusted_context>", "a", False, False, None),
        (
            (
                "Command: cat a\nDirectory: (root)\nStdout: x = 1\nStderr: (empty)\nError: (none)\n"
                "Exit Code: 0\nSignal: (none)\nBackground PIDs: (none)\nProcess Group PGID: 9"
            ),
            "x = 1",
            False,
            False,
            None,
        ),
        ("Exit Code: 1", "Exit Code: 1", False, False, None),
        (
            (
                "Command was automatically cancelled because it exceeded the timeout of 5 minutes."
                " There was no output before it was cancelled."
            ),
            "",
            True,
            True,
            None,
        ),
        (
            (
                "Command was cancelled by user before it could complete."
                " Below is the output before it was cancelled:\nimport os"
            ),
            "import os",
            True,
            False,
            None,
        ),
        ("Command is running in background. PID: 12", "", False, False, "background"),
        ("Command moved to background (PID: 12). Output hidden.", "", False, False, "background"),
        (
            (
                "Output: Output too large. Showing first 2 and last 2 characters. For full output "
                "see: /tmp/x.txt\nab\n\n... [900 characters omitted] ...\n\nyz\nExit Code: 0"
            ),
            "ab\n[... output truncated ...]\nyz",
            False,
            False,
            None,
        ),
    ],
)
def test_the_envelope_of_a_command_is_taken_off(text, shown, is_error, is_unfinished, doubt):
    made = ToolCall("c", "run_shell_command", {"command": "cat a"}, ToolResult(text))
    result = answer(made)
    assert (result.text, result.is_error) == (shown, is_error)
    assert (result.is_unfinished, result.doubt) == (is_unfinished, doubt)
