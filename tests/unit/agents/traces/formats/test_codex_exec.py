from __future__ import annotations

import json

from retrieval_eval.agents.events import extract_events
from retrieval_eval.agents.events.evidence import evidence
from retrieval_eval.agents.traces import read_trace
from retrieval_eval.agents.traces.formats import read_lines
from retrieval_eval.agents.traces.merge import join_trace
from retrieval_eval.io.files import Line
from tests.trials import truth

USAGE = {"input_tokens": 24763, "cached_input_tokens": 24448, "output_tokens": 122}


def event(kind, item_id, item_type, **fields):
    return {"type": f"item.{kind}", "item": {"id": item_id, "type": item_type, **fields}}


def command(item_id, text, output="", code=0, status="completed", kind="completed"):
    return event(
        kind,
        item_id,
        "command_execution",
        command=text,
        aggregated_output=output,
        exit_code=code,
        status=status,
    )


RUN = [
    {"type": "thread.started", "thread_id": "019a-main"},
    {"type": "turn.started"},
    event("completed", "item_0", "reasoning", text="**Look**"),
    command("item_1", "bash -lc ls", code=None, status="in_progress", kind="started"),
    command("item_1", "bash -lc ls", "README.md\nsrc\n"),
    command("item_2", "/bin/bash -lc 'cat /workspace/src/a.py'", "import os\n"),
    command("item_3", "bash -lc 'cat nothing.py'", "cat: nothing.py: No such file or directory", 1),
    command("item_4", "bash -lc 'cat /workspace/src/b.py'", code=None, status="declined"),
    event(
        "completed",
        "item_5",
        "mcp_tool_call",
        server="code",
        tool="read_file",
        arguments={"path": "/workspace/src/c.py"},
        result={"content": [{"type": "text", "text": "x = 1"}], "structured_content": None},
        error=None,
        status="completed",
    ),
    event(
        "completed",
        "item_6",
        "file_change",
        changes=[{"path": "/workspace/src/a.py", "kind": "update"}],
        status="completed",
    ),
    event("completed", "item_7", "agent_message", text="Done."),
    {"type": "turn.completed", "usage": USAGE},
]


def read(*events):
    return read_lines((Line(n, v) for n, v in enumerate(events, start=1)), "agent/codex.txt")


def write(folder, events, name="agent/codex.txt"):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(map(json.dumps, events)), encoding="utf-8")


def test_the_items_of_a_run_are_its_calls():
    reading = read(*RUN)
    assert (reading.harness, reading.session_ids) == ("codex", {"019a-main"})
    assert (reading.declared_tokens, reading.flags, reading.problems) == (None, (), ())
    assert [(c.name, c.result.is_error, c.result.is_unfinished) for c in reading.calls] == [
        ("exec_command", False, False),
        ("exec_command", False, False),
        ("exec_command", True, False),
        ("exec_command", True, True),
        ("mcp__code__read_file", False, False),
        ("apply_patch", False, False),
    ]
    assert reading.calls[0].where == "agent/codex.txt:4"


def test_the_middle_of_a_long_output_is_not_known_to_have_been_seen():
    lines = [f"src/f{n}.py:1:import os" for n in range(2000)]
    result = read(*RUN[:2], command("item_1", "rg import", "\n".join(lines))).calls[0].result
    assert result.is_truncated
    assert lines[0] in result.text
    assert lines[-1] in result.text
    assert lines[1000] not in result.text
    assert set(result.text.split("\n")) <= {*lines, "[... output truncated ...]"}


def test_a_call_that_did_not_end_has_no_result():
    started = command("item_1", "bash -lc ls", code=None, status="in_progress", kind="started")
    reading = read(*RUN[:2], started)
    assert [c.result for c in reading.calls] == [None]
    assert reading.flags == ("no_result_event",)
    failed = {"type": "turn.failed", "error": {"message": "stream disconnected"}}
    assert read(*RUN[:2], started, failed).flags == ("result_error",)


def test_other_items_are_calls_too():
    spawn = {"tool": "spawn_agent", "prompt": "look", "receiver_thread_ids": ["019b"]}
    reading = read(
        *RUN[:2],
        event("completed", "item_1", "collab_tool_call", status="completed", **spawn),
        event("completed", "item_2", "web_search", query="retry", action={"type": "search"}),
        event("completed", "item_3", "file_change", changes=[3], status="failed"),
        event("completed", "item_4", "picture_of_a_cat"),
        event("completed", "item_5", "mcp_tool_call", server="s", tool="t", status="in_progress"),
    )
    assert [(c.name, c.result and c.result.is_unfinished) for c in reading.calls] == [
        ("spawn_agent", False),
        ("web_search", None),
        ("apply_patch", True),
        ("mcp__s__t", None),
    ]


def test_what_other_programs_wrote_before_is_left_out():
    first = Line(1, None, "agent/codex.txt: line 1: not valid JSON")
    lines = (Line(n, v) for n, v in enumerate(RUN, start=2))
    assert read_lines([first, *lines], "agent/codex.txt").flags == ()


def test_ids_begin_again_in_each_turn():
    reading = read(*RUN, *RUN[1:])
    assert len(reading.calls) == 12


def test_a_session_file_of_the_run_takes_the_place_of_the_stream(tmp_path):
    call = {
        "type": "function_call",
        "name": "exec_command",
        "call_id": "call_1",
        "arguments": json.dumps({"cmd": "cat src/a.py"}),
    }
    session = [
        {"type": "session_meta", "payload": {"id": "019a-main", "cwd": "/workspace"}},
        {"type": "response_item", "payload": call},
        {
            "type": "response_item",
            "payload": {"type": "function_call_output", "call_id": "call_1", "output": "import os"},
        },
    ]
    write(tmp_path, RUN)
    write(tmp_path, session, "agent/sessions/2026/02/03/rollout-a.jsonl")
    trace = read_trace(tmp_path)
    assert [c.call_id for c in trace.calls] == ["call_1"]
    assert (trace.declared_tokens, trace.flags) == (None, ())
    assert trace.format == "codex-rollout+codex-exec-json"


def test_a_stream_of_another_run_is_left_out(tmp_path):
    session = [{"type": "session_meta", "payload": {"id": "other", "cwd": "/workspace"}}]
    session += [
        {"type": "function_call", "name": "shell", "call_id": "c", "arguments": "{}"},
    ]
    write(tmp_path, RUN)
    write(tmp_path, session, "agent/sessions/rollout-a.jsonl")
    assert read_trace(tmp_path).flags == ("other_session_left_out",)


def test_a_short_relative_path_may_be_in_any_folder_for_no_workdir_is_stated(tmp_path):
    lines = [*RUN[:2], command("item_1", "bash -lc 'cat totals.py'", "x = 1\n")]
    lines.append(command("item_2", "bash -lc 'cat src/cart/rates.py'", "y = 1\n"))
    lines.append({"type": "turn.completed", "usage": USAGE})
    (tmp_path / "agent").mkdir()
    text = "\n".join(map(json.dumps, lines))
    (tmp_path / "agent/codex.jsonl").write_text(text, "utf-8")
    expected = truth("src/cart/totals.py", "src/cart/rates.py", "totals.md")
    found = evidence(extract_events(read_trace(tmp_path), expected))
    assert list(found.values()) == ["possible", "certain", "none"]


def with_usage(**usage):
    return [*RUN[:-1], {"type": "turn.completed", "usage": {"input_tokens": 9, **usage}}]


def test_streams_of_versions_that_know_code_mode_show_what_was_displayed():
    older = read(*with_usage(output_tokens=1)).calls[0]
    newer = read(*with_usage(output_tokens=1, cache_write_input_tokens=0)).calls[0]
    assert (older.result.doubt, newer.result.doubt) == (None, "display_only")
    # A stream that was cut off does not tell its version.
    assert read(*RUN[:-1]).calls[0].result.doubt == "display_only"


def collab(number, tool, *agents):
    fields = {"tool": tool, "receiver_thread_ids": list(agents), "status": "completed"}
    return event("completed", f"item_{number}", "collab_tool_call", **fields)


def test_who_waits_for_a_sub_agent_had_one_started():
    assert "subagent_calls_missing" in join_trace(None, read(*RUN[:2], collab(1, "wait"))).flags
    assert read(*RUN[:2], collab(1, "wait", "t2")).delegated == {"turn1/item_1": "t2"}
    both = read(*RUN[:2], collab(1, "spawn_agent", "t2"), collab(2, "wait", "t2"))
    assert both.delegated == {"turn1/item_1": "t2"}
    assert [call.name for call in both.calls] == ["spawn_agent", "wait_agent"]


def test_what_a_command_printed_before_its_time_limit_is_a_part():
    late = command(
        "item_1", "cat a.py; sleep 9", "command timed out after 9 milliseconds\nx", code=124
    )
    result = read(*RUN[:2], late).calls[0].result
    assert (result.text, result.is_stopped, result.is_error) == ("x", True, True)


def test_a_trajectory_of_the_run_takes_the_place_of_the_stream(tmp_path):
    call = {"tool_call_id": "call_1", "function_name": "exec_command", "arguments": {"cmd": "ls"}}
    result = {"source_call_id": "call_1", "content": "a.py"}
    step = {"step_id": 1, "source": "agent", "tool_calls": [call]}
    trajectory = {
        "schema_version": "ATIF-v1.7",
        "session_id": "019a-main",
        "agent": {"name": "codex"},
        "steps": [{**step, "observation": {"results": [result]}}],
    }
    write(tmp_path, RUN)
    (tmp_path / "agent/trajectory.json").write_text(json.dumps(trajectory), encoding="utf-8")
    trace = read_trace(tmp_path)
    assert [c.call_id for c in trace.calls] == ["call_1"]
