from __future__ import annotations

import json

import pytest

from retrieval_eval.agents.events.calls import read_calls
from retrieval_eval.agents.traces import read_trace
from retrieval_eval.agents.traces.formats import read_lines
from retrieval_eval.agents.traces.formats.codex import answer
from retrieval_eval.agents.traces.merge import join_trace, join_transcripts
from retrieval_eval.agents.traces.tokens import accumulate, count_tokens
from retrieval_eval.io.files import Line
from retrieval_eval.records import ToolCall, ToolResult

META = {
    "id": "019a-main",
    "timestamp": "2026-02-03T10:00:00Z",
    "cwd": "/workspace/app",
    "originator": "codex_exec",
    "cli_version": "0.150.0",
    "source": "exec",
    "git": {"branch": "main"},
}
OF_MAIN = {"parent_thread_id": "019a-main"}
CONTEXT = {"cwd": "/workspace/app", "model": "gpt-5-codex", "approval_policy": "never"}


def line(kind, second, **payload):
    return {"timestamp": f"2026-02-03T10:00:{second:02d}Z", "type": kind, "payload": payload}


def called(second, name, call_id, **arguments):
    return line(
        "response_item",
        second,
        type="function_call",
        name=name,
        call_id=call_id,
        arguments=json.dumps(arguments),
    )


def answered(second, call_id, output):
    return line(
        "response_item", second, type="function_call_output", call_id=call_id, output=output
    )


def custom(second, name, call_id, text):
    return line(
        "response_item", second, type="custom_tool_call", name=name, call_id=call_id, input=text
    )


def custom_output(second, call_id, output):
    return line(
        "response_item", second, type="custom_tool_call_output", call_id=call_id, output=output
    )


def tokens(second, prompt, output):
    total = {"input_tokens": prompt, "cached_input_tokens": prompt // 2, "output_tokens": output}
    return line("event_msg", second, type="token_count", info={"total_token_usage": total})


def item(second, kind, **fields):
    return line("event_msg", second, type="item_completed", item={"type": kind, **fields})


def ended(code, output):
    heading = f"Chunk ID: 8f1c\nWall time: 0.0511 seconds\nProcess exited with code {code}"
    return f"{heading}\nOriginal token count: 9\nOutput:\n{output}"


def read(*lines, meta=META):
    start = [line("session_meta", 0, **meta), line("turn_context", 1, **CONTEXT)]
    return read_lines(
        (Line(n, v) for n, v in enumerate([*start, *lines], start=1)), "agent/sessions/r.jsonl"
    )


def write(folder, *lines, name="rollout-a.jsonl", meta=META):
    start = [line("session_meta", 0, **meta), line("turn_context", 1, **CONTEXT)]
    path = folder / "agent/sessions/2026/02/03" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps(v) for v in [*start, *lines]), encoding="utf-8")
    return folder


LATE = "Exit code: 124\nWall time: 9 seconds\nOutput:\n"
LONG = "Exit code: 0\nWall time: 1 seconds\nTotal output lines: 900\nOutput:\n"

ENDED = "Exit code: 0\nWall time: 1 seconds\nOutput:\n"

SESSION = [
    line("event_msg", 2, type="task_started"),
    line("response_item", 3, type="message", role="assistant", content=[]),
    called(4, "exec_command", "c1", cmd="rg -n Retry src", workdir="/workspace/app"),
    tokens(5, 1000, 50),
    answered(6, "c1", ended(0, "src/retry.py:3:class Retry:\nsrc/http.py:9:    Retry()")),
    called(7, "shell_command", "c2", command="sed -n '1,3p' src/retry.py"),
    called(7, "exec_command", "c3", cmd="cat missing.py", workdir="/workspace/app/lib"),
    tokens(8, 2500, 90),
    tokens(8, 2500, 90),
    answered(9, "c2", "Exit code: 0\nWall time: 0 seconds\nOutput:\nimport time\n\nclass Retry:"),
    answered(9, "c3", ended(1, "cat: missing.py: No such file or directory")),
    custom(
        10,
        "apply_patch",
        "c4",
        "*** Begin Patch\n*** Update File: src/retry.py\n@@\n-x\n+y\n*** End Patch",
    ),
    tokens(11, 4000, 200),
    custom_output(
        12,
        "c4",
        json.dumps(
            {
                "output": "Success. Updated the following files:\nM src/retry.py",
                "metadata": {"exit_code": 0, "duration_seconds": 0.1},
            }
        ),
    ),
    line("event_msg", 13, type="task_complete"),
]


def test_a_session_is_read_with_its_calls_times_and_tokens():
    reading = read(*SESSION)
    assert (reading.harness, reading.harness_version, reading.model) == (
        "codex",
        "0.150.0",
        "gpt-5-codex",
    )
    assert (reading.session_ids, reading.cwd) == ({"019a-main"}, "/workspace/app")
    assert (reading.declared_tokens, reading.flags, reading.problems) == (4200, (), ())
    assert reading.finished_at - reading.started_at == 12
    assert [c.result.text for c in reading.calls] == [
        "src/retry.py:3:class Retry:\nsrc/http.py:9:    Retry()",
        "import time\n\nclass Retry:",
        "cat: missing.py: No such file or directory",
        "Success. Updated the following files:\nM src/retry.py",
    ]
    assert [c.result.is_error for c in reading.calls] == [False, False, True, False]
    assert not any(c.result.is_unfinished for c in reading.calls)
    assert reading.calls[0].where == "agent/sessions/r.jsonl:5"


def test_output_that_was_fetched_later_belongs_to_the_command():
    running = "Chunk ID: a\nWall time: 10.0 seconds\nProcess running with session ID {}\nOutput:\n"
    reading = read(
        called(2, "exec_command", "c1", cmd="make && cat src/a.py"),
        answered(3, "c1", running.format(42) + "built"),
        called(4, "exec_command", "c2", cmd="cat src/b.py"),
        answered(5, "c2", running.format(43)),
        called(6, "write_stdin", "w1", session_id=42, chars=""),
        answered(7, "w1", ended(0, "import os")),
        called(8, "write_stdin", "w2", session_id=99, chars=""),
        answered(9, "w2", ended(0, "import re")),
    )
    made, late, poll, stray = reading.calls
    assert (made.result.text, made.result.doubt) == ("built\nimport os", None)
    assert (late.result.text, late.result.doubt) == ("", "background")
    assert (poll.result.text, stray.result.text) == ("", "import re")


def test_commands_of_a_script_are_certain_where_its_output_holds_theirs():
    script = 'const r = await tools.exec_command({cmd: "cat src/a.py"}); text(r.output)'
    command = {"cwd": "/workspace/app", "status": "completed", "exit_code": 0, "parsed_cmd": []}
    reading = read(
        custom(2, "exec", "cell1", script),
        item(
            3,
            "CommandExecution",
            id="exec-1",
            command=["bash", "-lc", "cat src/a.py"],
            aggregated_output="import os\n",
            **command,
        ),
        item(
            4,
            "CommandExecution",
            id="exec-2",
            command=["bash", "-lc", "cat src/b.py"],
            aggregated_output="import re\n",
            **command,
        ),
        item(
            5,
            "CommandExecution",
            id="exec-3",
            command=["bash", "-lc", "rm -rf /"],
            cwd="file:///workspace/app",
            status="declined",
        ),
        custom_output(
            6,
            "cell1",
            [
                {
                    "type": "input_text",
                    "text": "Script completed\nWall time 0.2 seconds\nOutput:\n",
                },
                {"type": "input_text", "text": "import os\n"},
            ],
        ),
    )
    cell, first, second, third = reading.calls
    assert cell.result.text == ""
    assert (first.result.text, first.result.doubt) == ("import os\n", None)
    assert (second.result.text, second.result.doubt) == ("import re\n", "display_only")
    assert (third.result.is_error, third.result.is_unfinished) == (True, True)
    assert third.arguments["workdir"] == "/workspace/app"


def test_an_event_about_a_call_that_an_item_makes_adds_no_call():
    reading = read(
        called(2, "exec_command", "c1", cmd="cat a.py"),
        item(3, "CommandExecution", id="c1", command=["cat", "a.py"], status="failed"),
        line("event_msg", 3, type="exec_command_end", call_id="c1", exit_code=2),
        answered(4, "c1", "cat: a.py: No such file or directory"),
        item(5, "CommandExecution", id="u1", command=["ls"], source="userShell"),
        item(6, "CommandExecution", id="other", command=["cat", "a.py"], status="failed"),
    )
    (call,) = reading.calls
    assert (call.result.is_error, call.result.is_unfinished) == (True, False)


def test_a_file_of_events_alone_is_read_by_them():
    command = {"command": ["cat", "a.py"], "cwd": "/workspace/app", "status": "completed"}
    long = "\n".join(f"line {n}" for n in range(9000))
    reading = read(
        item(2, "CommandExecution", id="e1", exit_code=0, aggregated_output="import os", **command),
        item(3, "CommandExecution", id="e2", exit_code=0, aggregated_output=long, **command),
        item(4, "CommandExecution", id="e3", source="userShell", **command),
    )
    short, cut = (c.result for c in reading.calls)
    assert (short.text, short.doubt, short.is_truncated) == ("import os", None, False)
    assert (len(cut.text) < 11_000, cut.is_truncated) == (True, True)


def test_items_of_a_script_include_servers_and_files():
    result = {"content": [{"type": "text", "text": "x = 1"}], "isError": False}
    reading = read(
        custom(2, "exec", "cell1", "await tools.code.read({})"),
        item(
            3,
            "McpToolCall",
            id="m1",
            server="code",
            tool="read_file",
            arguments={"path": "a.py"},
            status="completed",
            result=result,
        ),
        item(4, "McpToolCall", id="m2", server="s", tool="t", error={"message": "no access"}),
        item(5, "FileChange", id="f1", changes={"/w/a.py": {"type": "update"}}, status="completed"),
        custom_output(6, "cell1", "Script completed\nWall time 0.1 seconds\nOutput:\nx = 1"),
    )
    _, read_file, failed, patch = reading.calls
    assert (read_file.name, read_file.result.doubt) == ("mcp__code__read_file", None)
    assert (failed.result.text, failed.result.is_unfinished) == ("no access", True)
    assert patch.arguments == {"files": [{"path": "/w/a.py", "kind": "update"}]}


def test_events_state_how_calls_ended():
    command = item(3, "CommandExecution", id="e1", command=["ls"], status="inProgress")
    reading = read(
        called(2, "apply_patch", "p1", input="*** Begin Patch"),
        line("event_msg", 2, type="patch_apply_end", call_id="p1", success=False),
        answered(2, "p1", "it did not apply"),
        called(2, "mcp__code__read", "m1", path="a.py"),
        line("event_msg", 2, type="mcp_tool_call_end", call_id="m1", result={"Err": "no access"}),
        answered(2, "m1", "no access"),
        custom(3, "exec", "cell1", "await tools.ls()"),
        tokens(3, 10, 1),
        command,
        item(3, "DynamicToolCall", id="d1", tool="lookup", arguments={"q": "x"}, success=False),
        item(3, "McpToolCall", id="m2", server="s", tool="t", status="inProgress"),
        item(3, "Reasoning", id="r1"),
        item(3, "Reasoning"),
        tokens(4, 100, 10),
        tokens(5, 50, 5),
    )
    patch, remote, _, running, dynamic, open_call = reading.calls
    assert (patch.result.is_error, remote.result.is_error) == (True, True)
    assert (running.result, open_call.result) == (None, None)
    assert (dynamic.name, dynamic.result.is_error) == ("lookup", True)
    # The totals began again: both were paid.
    assert reading.declared_tokens == 165


def test_a_history_that_a_sub_agent_was_given_stays_the_main_thread_s(tmp_path):
    own = [called(2, "spawn_agent", "s1"), answered(3, "s1", "{}")]
    write(tmp_path, *own)
    meta = {**META, "id": "019b", "source": {"subagent": "review"}}
    further = [called(4, "shell", "c9", command=["ls"]), answered(5, "c9", "a.py")]
    write(tmp_path, *own, *further, name="rollout-b.jsonl", meta=meta)
    calls = read_trace(tmp_path).calls
    assert [(c.call_id, c.is_subagent, c.parent_id) for c in calls] == [
        ("s1", False, None),
        ("c9", True, "019b"),
    ]


def test_a_summary_of_calls_that_the_file_does_not_hold_is_noted():
    compacted = line("compacted", 2, message="what was done so far")
    assert read(compacted, *SESSION).flags == ("history_compacted",)
    assert read(*SESSION, compacted).flags == ("context_compacted",)


def test_items_of_old_files_stand_alone():
    call = {
        "type": "function_call",
        "name": "shell",
        "call_id": "c",
        "arguments": '{"command": []}',
    }
    old = [{"id": "s", "timestamp": "2025-05-07T17:24:21.597Z"}, {"record_type": "state"}, call]
    reading = read_lines((Line(n, v) for n, v in enumerate(old, start=1)), "r.jsonl")
    assert [c.name for c in reading.calls] == ["shell"]


def test_older_streams_hold_the_events_of_a_session():
    done = {"command": ["bash", "-lc", "cat a.py"], "cwd": "/w", "exit_code": 0}
    message = {"server": "code", "tool": "read", "arguments": {"path": "b.py"}}
    content = {"content": [{"type": "text", "text": "x = 1"}]}
    usage = {"total_token_usage": {"input_tokens": 90, "output_tokens": 10}}
    events = [
        {"type": "session_configured", "session_id": "019a", "model": "gpt-5"},
        {"type": "exec_command_begin", "call_id": "c1", "command": ["cat"]},
        {"type": "exec_command_end", "call_id": "c1", "formatted_output": "import os", **done},
        {"type": "mcp_tool_call_end", "call_id": "c2", "invocation": message}
        | {"result": {"Ok": content}},
        {"type": "patch_apply_end", "call_id": "c3", "success": True, "changes": {"/w/a.py": {}}},
        {"type": "token_count", "info": usage},
    ]
    lines = [{"workdir": "/w", "model": "gpt-5"}, *({"id": "0", "msg": e} for e in events)]
    reading = read_lines((Line(n, v) for n, v in enumerate(lines, start=1)), "codex.txt")
    assert (reading.format, reading.model, reading.cwd) == ("codex-exec-events", "gpt-5", "/w")
    assert (reading.session_ids, reading.declared_tokens) == ({"019a"}, 100)
    assert [(c.call_id, c.name, c.result.text) for c in reading.calls] == [
        ("c1", "exec_command", "import os"),
        ("c2", "mcp__code__read", "x = 1"),
        ("c3", "apply_patch", ""),
    ]
    assert reading.flags == ("no_result_event",)
    ended = [*lines, {"id": "0", "msg": {"type": "task_complete"}}]
    assert read_lines([Line(1, v) for v in ended], "codex.txt").flags == ()


@pytest.mark.parametrize(
    ("text", "shown", "is_error", "is_unfinished"),
    [
        ("exec command rejected by user", "exec command rejected by user", True, True),
        ("aborted by user after 2.1s", "aborted by user after 2.1s", True, True),
        ("Wall time: 3.1 seconds\naborted by user", None, True, True),
        ("execution error: Io(Os { code: 2 })", None, True, True),
        ("exec_command failed for `x`: CreateProcess { message }", None, True, True),
        (
            f"{LATE}command timed out after 9000 milliseconds\n",
            "",
            True,
            True,
        ),
        (
            f"{LATE}command timed out after 9000 milliseconds\nimport os",
            "import os",
            True,
            False,
        ),
        ('{"output": "", "metadata": {"exit_code": 1, "duration_seconds": 0}}', "", True, False),
        ('{"output": "x", "metadata": 3}', '{"output": "x", "metadata": 3}', False, False),
        ("err: tool call failed", "err: tool call failed", True, True),
        (f"{ENDED}err: no such key", "err: no such key", False, False),
        (f"{ENDED}command timed out after 5 milliseconds\n", None, False, False),
        ("Output:\nnot an envelope", "Output:\nnot an envelope", False, False),
        (
            f"{LONG}a.py:1:x\nb.py:2:y\u2026300 tokens truncated\u2026z\nc.py:3:z",
            "a.py:1:x\nb.py:2:y\n[... output truncated ...]\nz\nc.py:3:z",
            False,
            False,
        ),
    ],
)
def test_the_envelope_of_a_result_is_taken_off(text, shown, is_error, is_unfinished):
    result = answer(ToolCall("c", "shell", {}, ToolResult(text)))
    assert shown is None or result.text == shown
    assert (result.is_error, result.is_unfinished) == (is_error, is_unfinished)


def test_the_history_that_a_sub_agent_was_given_is_not_its_own():
    meta = {**META, "thread_source": "subagent", "subagent_history_start_ordinal": 6}
    lines = [
        called(2, "exec_command", "c1", cmd="cat a.py"),
        answered(3, "c1", ended(0, "import os")),
        tokens(3, 5_000_000, 9000),
        called(4, "exec_command", "c2", cmd="cat b.py"),
        answered(5, "c2", ended(0, "import re")),
        tokens(5, 300, 10),
    ]
    start = [line("session_meta", 0, **meta), line("turn_context", 1, **CONTEXT)]
    values = [{**v, "ordinal": n} for n, v in enumerate([*start, *lines])]
    # The copy ends before the call of its own.
    values[5]["ordinal"], values[6]["ordinal"], values[7]["ordinal"] = 6, 7, 8
    reading = read_lines((Line(n, v) for n, v in enumerate(values, start=1)), "r.jsonl")
    assert [(c.call_id, c.is_subagent) for c in reading.calls] == [("c1", False), ("c2", True)]
    usages = [entry for entry in reading.items if not isinstance(entry, ToolCall)]
    assert [(u.prompt, u.output, u.is_subagent) for u in usages] == [(300, 10, True)]


def stated(second, prompt, output, last=None):
    return line(
        "event_msg",
        second,
        type="token_count",
        info={
            "total_token_usage": {"input_tokens": prompt, "output_tokens": output},
            "last_token_usage": last and {"input_tokens": last[0], "output_tokens": last[1]},
        },
    )


def record(second, response, prompt, output):
    usage = {"input_tokens": prompt, "output_tokens": output}
    return line("token_usage_record", second, response_id=response, usage=usage)


def usages(reading):
    return [(u.prompt, u.output) for u in reading.items if not isinstance(u, ToolCall)]


@pytest.mark.parametrize(
    ("totals", "expected"),
    [
        # the total falls, or is that of one request alone
        ([(1000, 100, None), (900, 50, None)], [(1000, 100), (900, 50)]),
        ([(1000, 100, None), (1050, 50, None)], [(1000, 100), (1050, 50)]),
        ([(1000, 100, (1000, 100)), (1200, 100, (1200, 100))], [(1000, 100), (1200, 100)]),
        # the same total again is no request
        ([(1000, 100, (1000, 100)), (1000, 100, (1000, 100))], [(1000, 100)]),
        ([(1000, 100, None), (2200, 200, (1200, 100))], [(1000, 100), (1200, 100)]),
        # a counter that was put back to an earlier total
        ([(9000, 100, None), (5300, 80, (300, 10))], [(9000, 100), (300, 10)]),
    ],
)
def test_a_counter_that_begins_anew_adds_to_what_was_counted(totals, expected):
    reading = read(*(stated(n, prompt, out, last) for n, (prompt, out, last) in enumerate(totals)))
    assert usages(reading) == expected
    counted = sum(map(sum, expected))
    assert (count_tokens(reading.items), reading.declared_tokens) == (counted, counted)


@pytest.mark.parametrize(
    ("heading", "is_part"),
    [
        ("Original token count: 9000", True),
        ("Original token count: 12", False),
        ("Original token count: 12\nTotal output lines: 400", True),
        ("Original token count: 12\nTotal output lines: 4", False),
    ],
)
def test_an_output_of_more_tokens_than_it_shows_was_cut_somewhere(tmp_path, heading, is_part):
    shown = f"Wall time: 0.1 seconds\nProcess exited with code 0\n{heading}\nOutput:\n"
    text = f"{shown}a = 1\n---\nb = 1\n---\nc = 1\n"
    dividers = "cat a.py; echo ---; cat b.py; echo ---; cat c.py"
    trial = write(
        tmp_path,
        called(2, "exec_command", "c1", cmd=dividers),
        answered(2, "c1", text),
        called(3, "exec_command", "c2", cmd="cat d.py e.py"),
        answered(3, "c2", f"{shown}d = 1\ne = 1\n\n\n\n"),
    )
    shown_files = [t for call in read_calls(read_trace(trial)) for t, _ in call.raw_targets()]
    found = [(t.path, t.is_whole) for t in shown_files if t.doubt is None]
    names = "abc" if is_part else "abcde"
    assert found == [(f"/workspace/app/{name}.py", not is_part) for name in names]


def test_records_of_requests_come_before_running_totals():
    reading = read(
        called(2, "exec_command", "c1", cmd="ls"),
        record(2, "r1", 100, 5),
        answered(2, "c1", ended(0, "a.py")),
        stated(2, 9100, 50, last=(100, 5)),
        record(3, "r2", 200, 6),
        record(3, "r2", 200, 6),
        stated(3, 9300, 56, last=(200, 6)),
    )
    assert count_tokens(reading.items) == 311
    assert accumulate(reading.items)[0].cumulative_tokens == 105


PARENT, CHILD = "019c22f1-d500-7000-8000-00000000000a", "019c22f1-e888-7000-8000-00000000000b"
"""Ids that begin with the time of their making, as those of threads and turns do."""
COPIED, OWN = "019c22f1-d8e8-7000-8000-000000000001", "019c22f1-e891-7000-8000-000000000002"


def after_a_copy(copied_turn, own_turn, seconds):
    """Return a history that was copied from another thread, and a turn of the thread's own."""
    copied, own = seconds
    return [
        line("session_meta", copied, **{**META, "id": PARENT}),
        line("turn_context", copied, turn_id=copied_turn, **CONTEXT),
        called(copied, "exec_command", "c1", cmd="cat a.py"),
        stated(copied, 1000, 100, last=(1000, 100)),
        line("turn_context", own, turn_id=own_turn, **CONTEXT),
        called(own, "exec_command", "c2", cmd="cat b.py"),
        stated(own, 1500, 150, last=(500, 50)),
    ]


def test_a_copied_history_ends_with_the_first_turn_of_the_thread_s_own():
    spawned = {"subagent": {"thread_spawn": {"parent_thread_id": PARENT}}}
    lines = after_a_copy(COPIED, OWN, (5, 5))
    reading = read(*lines, meta={**META, "id": CHILD, "source": spawned})
    assert [(c.call_id, c.is_subagent) for c in reading.calls] == [("c1", False), ("c2", True)]
    assert usages(reading) == [(500, 50)]
    assert (reading.part_of, reading.sub_agents) == (PARENT, {CHILD})
    # Of a fork the copy counts, once with the file that it was copied from.
    fork = read(*lines, meta={**META, "id": CHILD, "forked_from_id": PARENT})
    assert fork.declared_tokens == 1650
    first = read(*lines[2:4], meta={**META, "id": PARENT})
    assert count_tokens([*first.items, *fork.items]) == 1650


def test_ids_of_another_time_leave_it_to_the_times_of_the_lines():
    child = "01990000-0000-7000-8000-00000000000b"
    # The copied turn has a larger id than the thread, which is older than its lines.
    turns = [f"01990000-000{n}-7000-8000-000000000001" for n in (1, 7)]
    lines = after_a_copy(*turns, (5, 6))
    reading = read(*lines, meta={**META, "id": child, "parent_thread_id": PARENT})
    assert [(c.call_id, c.is_subagent) for c in reading.calls] == [("c1", False), ("c2", True)]


def test_events_name_the_sub_agents_that_scripts_started():
    def activity(**fields):
        return item(3, "SubAgentActivity", **fields)

    collab = {"tool": "spawn_agent", "receiver_thread_ids": ["t2"], "prompt": "look"}
    spawned = read(item(3, "CollabAgentToolCall", id="e1", status="completed", **collab))
    assert spawned.delegated == {"e1": "t2"}
    waited = read(
        item(3, "CollabAgentToolCall", id="e1", tool="wait", receiver_thread_ids=["t2"]),
        item(4, "CollabAgentToolCall", id="e2", tool="wait", receiver_thread_ids=["t2"]),
    )
    assert [c.name for c in waited.calls] == ["wait_agent"]
    assert waited.delegated == {"e1": "t2"}
    assert read(activity(id="e1", agent_thread_id="t3")).delegated == {"e1": "t3"}
    # The cell that was open started it, and so does what the script printed say.
    script = "const a = await tools.spawn_agent({message: 'look'}); text(a);"
    output = custom_output(4, "cell", '{"agent_id":"t2"}')
    cell = read(custom(2, "exec", "cell", script), output)
    assert cell.delegated == {"cell": "t2"}
    both = read(
        custom(2, "exec", "cell", script),
        item(3, "CollabAgentToolCall", id="e1", status="completed", **collab),
        output,
    )
    assert both.delegated == {"cell": "t2", "e1": "t2"}
    direct = read(
        called(2, "spawn_agent", "c1", message="look"),
        item(3, "CollabAgentToolCall", id="c1", status="completed", **collab),
        answered(3, "c1", '{"agent_id":"t2"}'),
    )
    assert ([c.name for c in direct.calls], direct.delegated) == (["spawn_agent"], {"c1": "t2"})


def _lacks(*lines):
    return "subagent_calls_missing" in join_trace(None, read(*lines)).flags


@pytest.mark.parametrize(
    "events",
    [
        [{"type": "collab_agent_spawn_begin", "call_id": "e1", "prompt": "look"}],
        [{"type": "collab_agent_spawn_end", "call_id": "e1", "new_thread_id": "t2"}],
        [
            {"type": "collab_agent_spawn_begin", "call_id": "e1", "prompt": "look"},
            {"type": "collab_agent_spawn_end", "call_id": "e1", "prompt": "look"},
        ],
        [{"type": "collab_agent_interaction_end", "call_id": "e1", "receiver_thread_id": "t2"}],
        [{"type": "collab_waiting_begin", "call_id": "e1", "receiver_thread_ids": ["t2"]}],
        [{"type": "collab_waiting_end", "call_id": "e1", "statuses": {"t2": {"completed": "x"}}}],
        [{"type": "sub_agent_activity", "event_id": "e1", "agent_thread_id": "t2"}],
        [{"type": "entered_review_mode", "target": {"type": "uncommittedChanges"}}],
        [{"type": "entered_review_mode"}, {"type": "exited_review_mode"}],
        [{"type": "exited_review_mode", "review_output": {"findings": []}}],
    ],
)
def test_events_alone_show_that_work_was_delegated(events):
    reading = read(*(line("event_msg", 3, **event) for event in events))
    assert "subagent_calls_missing" in join_trace(None, reading).flags
    assert len(reading.calls) == 1


def test_events_about_a_call_name_its_sub_agent():
    reading = read(
        called(2, "spawn_agent", "c1", message="look"),
        line("event_msg", 3, type="collab_agent_spawn_begin", call_id="c1", prompt="look"),
        line("event_msg", 3, type="collab_agent_spawn_end", call_id="c1", new_thread_id="t2"),
        answered(3, "c1", '{"agent_id":"t2"}'),
        called(4, "wait_agent", "c2", ids=["t2"]),
        line("event_msg", 5, type="collab_waiting_end", call_id="c2", statuses={"t2": "x"}),
        answered(5, "c2", '{"status":{"t2":{"completed":"x"}}}'),
    )
    assert ([c.name for c in reading.calls], reading.delegated) == (
        ["spawn_agent", "wait_agent"],
        {"c1": "t2"},
    )


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("send_input", {"id": "t2", "message": "go on"}),
        ("followup_task", {"target": "lead/look", "message": "go on"}),
        ("assign_task", {"target": "look", "message": "go on"}),
        ("resume_agent", {"id": "t2"}),
        ("wait_agent", {"targets": ["t2"]}),
        ("wait_agent", {"timeout_ms": 10}),
        ("collaboration__wait_agent", {}),
    ],
)
def test_who_turns_to_a_sub_agent_had_one_started(name, arguments):
    assert _lacks(called(2, name, "c1", **arguments), answered(3, "c1", "{}"))
    script = f"text(await tools.{name}({json.dumps(arguments)}))"
    assert _lacks(custom(2, "exec", "c1", script), custom_output(3, "c1", "Script completed\n"))
    # Of the sub-agent that a call started, the file decides.
    own = read(
        called(1, "spawn_agent", "c0", message="look", task_name="look"),
        answered(1, "c0", '{"agent_id":"t2","task_name":"lead/look"}'),
        called(2, name, "c1", **arguments),
    )
    sub = read(called(2, "exec_command", "s1", cmd="ls"), meta={**META, "id": "t2", **OF_MAIN})
    both = join_trace(None, join_transcripts([own, sub]))
    assert "subagent_calls_missing" not in both.flags
    other = read(
        called(1, "spawn_agent", "c0", message="look"),
        answered(1, "c0", '{"agent_id":"t2"}'),
        called(2, "send_input", "c1", id="t3", message="go on"),
    )
    both = join_trace(None, join_transcripts([other, sub]))
    assert "subagent_calls_missing" in both.flags


def test_a_sub_agent_that_is_not_known_did_nothing():
    unknown = answered(3, "c1", "agent with id t2 not found")
    assert not _lacks(called(2, "send_input", "c1", id="t2", message="go on"), unknown)
    gone = answered(3, "c1", '{"status":{"t2":"not_found"},"timed_out":false}')
    assert not _lacks(called(2, "wait_agent", "c1", ids=["t2"]), gone)


def test_instructions_were_shown_without_a_call():
    def said(text):
        content = [{"type": "input_text", "text": text}]
        return line("response_item", 2, type="message", role="user", content=content)

    text = "# AGENTS.md instructions for /w/app\n\n<INSTRUCTIONS>\n# Notes\n</INSTRUCTIONS>"
    state = {"agents_md": {"directory": "/w/app", "text": "# Notes"}}
    reading = read(said(text), line("world_state", 2, full=True, state=state))
    assert [file.path for file in reading.attached] == ["/w/app/AGENTS.md"]
    # Of several files it is not stated in which folders they lie.
    assert read(said(f"{text}\n--- project-doc ---\nmore")).attached == ()
    assert read(said("look at AGENTS.md")).attached == ()


def test_what_a_process_printed_until_now_is_a_part():
    running = "Wall time: 1.0 seconds\nProcess running with session ID 3\nOutput:\nimport os\n"
    seen = answer(ToolCall("c", "exec_command", {}, ToolResult(running)))
    assert (seen.text, seen.is_stopped) == ("import os\n", True)
    late = (
        "Exit code: 124\nWall time: 1 seconds\nOutput:\ncommand timed out after 9 milliseconds\nx"
    )
    seen = answer(ToolCall("c", "shell", {}, ToolResult(late)))
    assert (seen.text, seen.is_stopped, seen.is_unfinished) == ("x", True, False)


def test_an_image_is_read_where_it_was_shown():
    image = [{"type": "input_image", "image_url": "data:image/png;base64,aaaa"}]
    reading = read(
        called(2, "view_image", "c1", path="/workspace/app/a.png"),
        answered(2, "c1", image),
        called(3, "view_image", "c2", path="b.png"),
        answered(3, "c2", "unable to locate image at `/workspace/app/b.png`"),
    )
    trace = join_trace(None, reading)
    found = [t.path for r in read_calls(trace) for t, _ in r.raw_targets() if t.access == "opened"]
    assert found == ["/workspace/app/a.png"]
