from __future__ import annotations

import json

from retrieval_eval.agents.events.calls import read_calls
from retrieval_eval.agents.traces import read_trace
from retrieval_eval.agents.traces.formats import read_lines
from retrieval_eval.io.files import Line

AT = "2026-02-03T10:00:0{}.000Z"
INIT = {"type": "init", "timestamp": AT.format(0), "session_id": "5a1c", "model": "gemini-3-pro"}
DONE = {
    "type": "result",
    "timestamp": AT.format(9),
    "status": "success",
    "stats": {"total_tokens": 3100, "input_tokens": 3000, "output_tokens": 90, "cached": 900},
}


def used(call_id, name, **parameters):
    return {
        "type": "tool_use",
        "timestamp": AT.format(2),
        "tool_name": name,
        "tool_id": call_id,
        "parameters": parameters,
    }


def shown(call_id, output=None, status="success", **more):
    event = {"type": "tool_result", "timestamp": AT.format(3), "tool_id": call_id}
    event |= {"status": status, **more}
    return event if output is None else {**event, "output": output}


RUN = [
    INIT,
    {"type": "message", "timestamp": AT.format(1), "role": "assistant", "content": "", "delta": 1},
    used("c1", "read_file", file_path="/w/src/a.py"),
    shown("c1", ""),
    used("c2", "read_file", file_path="/w/src/b.py", start_line=1, end_line=5),
    shown("c2", "Read lines 1-5 of 90 from b.py"),
    used("c3", "grep_search", pattern="Retry", dir_path="/w/src"),
    shown("c3"),
    used("c4", "glob", pattern="**/*.py"),
    shown("c4", "Found 3 matching file(s)"),
    used("c5", "run_shell_command", command="cat /w/src/c.py"),
    shown("c5", "import os"),
    used("c6", "read_file", file_path="/w/no.py"),
    shown("c6", status="error", error={"type": "file_not_found", "message": "File not found"}),
    used("c7", "list_directory", dir_path="/w/lib"),
    shown("c7", "Listed 0 item(s)."),
    used("c8", "mcp_code_read_file", path="/w/src/d.py"),
    shown("c8", "import re"),
    DONE,
]


def write(folder, lines, name):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")


def read(*lines):
    return read_lines((Line(n, v) for n, v in enumerate(lines, start=1)), "agent/gemini-cli.txt")


def test_a_stream_states_model_times_and_tokens():
    reading = read(*RUN)
    assert (reading.harness, reading.model) == ("gemini-cli", "gemini-3-pro")
    assert (reading.session_ids, reading.declared_tokens) == ({"5a1c"}, 3100)
    assert (reading.flags, reading.problems) == ((), ())
    assert reading.finished_at - reading.started_at == 8
    error = reading.calls[5].result
    assert (error.text, error.is_error, error.is_unfinished) == ("File not found", True, True)


def test_reads_are_certain_and_what_searches_found_is_possible(tmp_path):
    write(tmp_path, RUN, "agent/gemini-cli.txt")
    reads = read_calls(read_trace(tmp_path))
    assert [(t.access, t.path, t.lines, t.doubt) for r in reads for t, _ in r.raw_targets()] == [
        ("opened", "/w/src/a.py", None, None),
        ("opened", "/w/src/b.py", ((1, 5),), None),
        ("matched", "/w/src/*", None, "display_only"),
        ("listed", "*.py", None, "display_only"),
        ("opened", "/w/src/c.py", ((1, 1),), None),
        ("opened", "/w/src/d.py", None, "display_only"),
    ]


def test_a_broken_stream_says_what_is_wrong():
    reading = read(INIT, shown("c9", "x"), {"type": "tool_use", "tool_id": "c"}, 3)
    assert reading.flags == ("no_result_event", "malformed_line")
    assert reading.problems == (
        "agent/gemini-cli.txt:2: a tool result does not name its call",
        "agent/gemini-cli.txt:3: a tool call without a name",
        "agent/gemini-cli.txt: line 4: expected a JSON object",
    )
