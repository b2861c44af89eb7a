from __future__ import annotations

import json

import pytest

from retrieval_eval.agents.traces import NoTraceError, SeveralTracesError, Trace, read_trace


def put(folder, name, *lines):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps(line) for line in lines) + "\n", encoding="utf-8")
    return path


def stamp(second):
    return f"1970-01-01T00:00:{second:02d}Z"


def atif(*calls, **more):
    """A trajectory; each call is (id, name, arguments, result text or None)."""
    steps = [
        {
            "source": "agent",
            "tool_calls": [{"tool_call_id": i, "function_name": name, "arguments": arguments}],
            "observation": {"results": [{"source_call_id": i, "content": text}] if text else []},
        }
        for i, name, arguments, text in calls
    ]
    return {
        "schema_version": "ATIF-v1.2",
        "session_id": "s1",
        "agent": {"name": "claude-code", "version": "2.1.87"},
        "steps": steps,
        "final_metrics": {"total_prompt_tokens": 999},
        **more,
    }


def use(call_id, name="Read", parent=None, session="s1", tokens=10, message=None, **arguments):
    return {
        "type": "assistant",
        "session_id": session,
        "parent_tool_use_id": parent,
        "message": {
            "id": message or f"m-{call_id}",
            "content": [{"type": "tool_use", "id": call_id, "name": name, "input": arguments}],
            "usage": {"input_tokens": tokens, "output_tokens": 1},
        },
    }


def answer(call_id, second, text="told", parent=None, session="s1"):
    block = {"type": "tool_result", "tool_use_id": call_id, "content": text}
    return {
        "type": "user",
        "session_id": session,
        "parent_tool_use_id": parent,
        "message": {"content": [block]},
        "timestamp": stamp(second),
    }


DONE = {"type": "result", "subtype": "success", "usage": {"input_tokens": 50, "output_tokens": 5}}
STREAM = [
    use("t", "Task"),
    use("sub", parent="t"),
    answer("sub", 2, parent="t"),
    answer("t", 3),
    use("a", file_path="/w/a.py"),
    answer("a", 5, "text of a"),
    DONE,
]


def session_lines(*lines, is_sidechain=False, session="s1", offset=0):
    """Stream lines as a session file has them: a time on every line, an own session field."""
    return [
        {
            "type": line["type"],
            "message": line["message"],
            "timestamp": line.get("timestamp", stamp(index + offset)),
            "sessionId": session,
            "isSidechain": is_sidechain,
        }
        for index, line in enumerate(lines)
        if line["type"] != "result"
    ]


def ids(trace):
    return [call.call_id for call in trace.calls]


def refusal(path):
    with pytest.raises(NoTraceError) as caught:
        read_trace(path)
    assert str(caught.value) == f"{path}: {caught.value.reason}"
    return caught.value.reason


def test_a_single_file_is_read_as_what_it_is(tmp_path):
    trajectory = put(tmp_path, "elsewhere/run.json", atif(("a", "Read", {}, "x")))
    trace = read_trace(trajectory)
    assert (trace.source, trace.has_trajectory, trace.has_transcript, ids(trace)) == (
        *("trajectory", True, False),
        ["a"],
    )
    transcript = put(tmp_path, "elsewhere/session.jsonl", *STREAM)
    trace = read_trace(str(transcript))
    assert (trace.source, trace.has_trajectory, trace.has_transcript) == ("transcript", False, True)
    assert ids(trace) == ["t", "sub", "a"]
    (tmp_path / "noise.txt").write_text("12:00 starting\n", encoding="utf-8")
    assert refusal(tmp_path / "noise.txt").startswith(
        "not a known trace format (found text, no JSON lines); formats tried: atif, "
    )


def test_a_trial_without_files_has_no_trace(tmp_path):
    assert "agent/trajectory.json" in refusal(tmp_path)
    assert "agent/trajectory.json" in refusal(tmp_path / "missing")


@pytest.mark.parametrize("name", ["trajectory.json", "claude-code.txt", "whatever.jsonl"])
def test_a_trace_may_lie_in_the_trial_directory_itself(tmp_path, name):
    put(tmp_path, name, *([atif(("a", "Read", {}, None))] if name.endswith(".json") else STREAM))
    assert isinstance(read_trace(tmp_path), Trace)


def test_a_transcript_adds_times_results_tokens_and_sub_agents(tmp_path):
    put(
        tmp_path,
        "agent/trajectory.json",
        atif(("t", "Task", {}, None), ("a", "Read", {"file_path": "/w/a.py"}, None)),
    )
    put(tmp_path, "agent/claude-code.txt", *STREAM)
    trace = read_trace(tmp_path)
    assert trace.source == "merged"
    assert trace.format == "atif-1.2+claude-code-stream-json"
    assert [(c.call_id, c.is_subagent, c.timestamp) for c in trace.calls] == [
        ("t", False, 2.0),
        ("sub", True, 2.0),
        ("a", False, 5.0),
    ]
    assert [c.cumulative_tokens for c in trace.calls] == [11, 22, 33]
    assert trace.calls[2].result.text == "text of a"
    assert trace.declared_tokens == 55
    assert trace.flags == ()


def test_a_call_that_only_the_trajectory_has_is_kept_in_its_place(tmp_path):
    put(
        tmp_path,
        "agent/trajectory.json",
        atif(
            ("t", "Task", {}, None),
            ("extra", "Bash", {"command": "ls"}, "a.py"),
            ("a", "Read", {"file_path": "/w/a.py"}, None),
        ),
    )
    put(tmp_path, "agent/claude-code.txt", *STREAM)
    trace = read_trace(tmp_path)
    assert [c for c in ids(trace) if c != "sub"] == ["t", "extra", "a"]
    assert trace.calls[ids(trace).index("extra")].result.text == "a.py"
    assert trace.calls[-1].result.text == "text of a"


def test_a_conflict_keeps_the_trajectory_and_is_flagged(tmp_path):
    put(tmp_path, "agent/trajectory.json", atif(("a", "Read", {"file_path": "/w/b.py"}, "b")))
    put(tmp_path, "agent/claude-code.txt", *STREAM)
    trace = read_trace(tmp_path)
    (call,) = [c for c in trace.calls if c.call_id == "a"]
    assert (call.arguments, call.result.text) == ({"file_path": "/w/b.py"}, "b")
    assert "source_conflict" in trace.flags


def test_damage_that_the_transcript_mends_is_no_flag(tmp_path):
    document = atif(("a", "Read", {"file_path": "/w/a.py"}, None), _corpus_trim_applied=True)
    put(tmp_path, "agent/trajectory.json", document)
    assert read_trace(tmp_path).flags == ("trimmed",)
    put(tmp_path, "agent/claude-code.txt", *STREAM)
    assert read_trace(tmp_path).flags == ()


def test_a_transcript_of_another_session_is_not_mixed_in(tmp_path):
    put(tmp_path, "agent/trajectory.json", atif(("b", "Read", {}, "b")))
    put(tmp_path, "agent/claude-code.txt", use("x", session="s2"), answer("x", 1, session="s2"))
    trace = read_trace(tmp_path)
    assert (ids(trace), trace.source, trace.has_transcript) == (["b"], "trajectory", True)
    assert "transcript_of_another_session" in trace.flags


def test_an_empty_trajectory_leaves_the_transcript(tmp_path):
    put(tmp_path, "agent/trajectory.json", atif())
    put(tmp_path, "agent/claude-code.txt", *STREAM)
    trace = read_trace(tmp_path)
    assert (trace.source, trace.has_trajectory, len(trace.calls)) == ("transcript", True, 3)


def test_a_session_file_fills_in_the_stream(tmp_path):
    put(tmp_path, "agent/claude-code.txt", *STREAM)
    main = [line for line in STREAM if line.get("parent_tool_use_id") is None]
    lines = session_lines(*main, offset=1)
    lines[0]["message"] = {**lines[0]["message"], "usage": {"input_tokens": 10, "output_tokens": 7}}
    put(tmp_path, "agent/sessions/projects/-w/s1.jsonl", *lines)
    trace = read_trace(tmp_path)
    assert ids(trace) == ["t", "sub", "a"]
    assert (trace.source, trace.has_trajectory) == ("transcript", False)
    # The session knows when the calls were made, and the real number of output tokens.
    assert [c.timestamp for c in trace.calls] == [1.0, 2.0, 3.0]
    assert [c.cumulative_tokens for c in trace.calls] == [17, 28, 39]
    assert trace.format == "claude-code-stream-json+claude-code-session-jsonl"


def test_missing_sub_agents_are_flagged(tmp_path):
    put(tmp_path, "agent/sessions/s1.jsonl", *session_lines(use("t", "Task"), answer("t", 4)))
    assert read_trace(tmp_path).flags == ("subagent_calls_missing",)
    put(tmp_path, "agent/trajectory.json", atif(("t", "Agent", {}, "found it")))
    assert "subagent_calls_missing" in read_trace(tmp_path).flags


def test_a_transcript_fills_what_a_trajectory_refers_to_other_files_for(tmp_path):
    trajectory = atif(("t", "Task", {}, "told"), continued_trajectory_ref="trajectory.cont-1.json")
    (result,) = trajectory["steps"][0]["observation"]["results"]
    result["subagent_trajectory_ref"] = [{"trajectory_path": "sub.json"}]
    put(tmp_path, "agent/trajectory.json", trajectory)
    assert set(read_trace(tmp_path).flags) >= {"continued_elsewhere", "subagent_elsewhere"}
    put(tmp_path, "agent/claude-code.txt", *STREAM)
    trace = read_trace(tmp_path)
    assert ids(trace) == ["t", "sub", "a"]
    assert trace.flags == ()


@pytest.mark.parametrize("name", ["a-old.jsonl", "z-old.jsonl"])
def test_a_session_of_another_run_is_left_out_whatever_it_is_called(tmp_path, name):
    put(tmp_path, "agent/claude-code.txt", use("a"), answer("a", 3))
    put(tmp_path, "agent/sessions/m-own.jsonl", *session_lines(use("a"), answer("a", 3)))
    put(tmp_path, f"agent/sessions/{name}", *session_lines(use("old"), session="s0"))
    trace = read_trace(tmp_path)
    assert ids(trace) == ["a"]
    assert "other_session_left_out" in trace.flags


def test_the_same_file_twice_is_one_run(tmp_path):
    lines = session_lines(use("a"), answer("a", 3), use("b"), answer("b", 5))
    put(tmp_path, "agent/claude-code.txt", *lines)
    put(tmp_path, "agent/sessions/s1.jsonl", *lines)
    trace = read_trace(tmp_path)
    assert ids(trace) == ["a", "b"]
    assert trace.format == "claude-code-session-jsonl"
    assert [c.cumulative_tokens for c in trace.calls] == [11, 22]


def test_cursor_lines_in_a_trajectory_file_are_read(tmp_path):
    event = {"type": "tool_call", "subtype": "started", "call_id": "a"}
    body = {"tool_call": {"readToolCall": {"args": {"path": "x"}}}}
    put(tmp_path, "agent/trajectory.json", {"type": "thinking"}, event | body)
    trace = read_trace(tmp_path)
    assert (trace.has_trajectory, trace.format) == (True, "cursor-jsonl")
    assert ids(trace) == ["a"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "agent/trajectory.json: not valid JSON (line 1, column 1"),
        ('{"schema_version": "ATIF-v1.2", "steps": [', "agent/trajectory.json: not valid JSON"),
        ("[]", "agent/trajectory.json: the file is empty"),
        ("{}", "agent/trajectory.json: not a known trace format (found {})"),
        ('{"schema_version": "ATIF-v2.1"}', "agent/trajectory.json: schema_version ATIF-v2.1"),
        ("[" * 100_000, "agent/trajectory.json: not valid JSON"),
    ],
)
def test_an_unreadable_trajectory_is_named(tmp_path, text, reason):
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent/trajectory.json").write_text(text, encoding="utf-8")
    assert refusal(tmp_path).startswith(reason)
    put(tmp_path, "agent/claude-code.txt", *STREAM)
    trace = read_trace(tmp_path)
    assert (trace.source, trace.has_trajectory) == ("transcript", False)
    assert trace.problems[0].startswith(reason)


def test_text_that_is_not_utf8_is_named(tmp_path):
    path = put(tmp_path, "agent/claude-code.txt", *STREAM)
    path.write_bytes(b'{"type": "\xff"}\n' + path.read_bytes())
    trace = read_trace(tmp_path)
    assert ids(trace) == ["t", "sub", "a"]
    assert trace.problems == ("agent/claude-code.txt: line 1 is not UTF-8",)
    (tmp_path / "agent/trajectory.json").write_bytes(b'{"schema_version": "\xff"}')
    assert "agent/trajectory.json: line 1 is not UTF-8" in read_trace(tmp_path).problems


def test_what_vibe_prints_is_named_and_not_read(tmp_path):
    entry = {"generationStatus": "completed", "inputEntryId": "u", "turnId": "t", "sessionId": "s"}
    said = {**entry, "type": "message", "role": "assistant", "content": "Done."}
    (tmp_path / "printed.json").write_text(json.dumps([said, {**entry, "type": "effect"}]))
    assert "found what Mistral Vibe prints: its journal" in refusal(tmp_path / "printed.json")


def test_a_plain_log_matters_only_where_there_is_nothing_else(tmp_path):
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent/openhands.txt").write_text("12:00 starting\n", encoding="utf-8")
    (tmp_path / "agent/setup.txt").write_text("installing\n", encoding="utf-8")
    (tmp_path / "agent/history.md").write_text("# aider chat started at 10:00", encoding="utf-8")
    expected = "agent/openhands.txt: not a known trace format (found text, no JSON lines); agent/"
    assert refusal(tmp_path).startswith(expected)
    assert "formats tried: atif, " in refusal(tmp_path)
    assert "found a chat history of aider: prose" in refusal(tmp_path / "agent/history.md")
    put(tmp_path, "agent/trajectory.json", atif(("a", "Read", {}, "x")))
    trace = read_trace(tmp_path)
    assert trace.problems == ()
    assert trace.flags == ("transcript_unreadable",)
    assert not trace.has_transcript


def test_links_out_of_the_trial_are_not_followed(tmp_path):
    outside, trial = tmp_path / "outside", tmp_path / "trial"
    put(outside, "trajectory.json", atif(("a", "Read", {}, "x")))
    put(outside, "claude-code.txt", *STREAM)
    put(outside, "s.jsonl", *session_lines(use("z")))
    (trial / "agent/sessions").mkdir(parents=True)
    (trial / "agent/trajectory.json").symlink_to(outside / "trajectory.json")
    (trial / "agent/claude-code.txt").symlink_to(outside / "claude-code.txt")
    (trial / "agent/sessions/s.jsonl").symlink_to(outside / "s.jsonl")
    (trial / "agent/sessions/more").symlink_to(outside)
    reason = refusal(trial)
    for name in ("trajectory.json", "claude-code.txt", "sessions/s.jsonl"):
        assert f"agent/{name}: a link that leads out of the" in reason


def test_links_inside_the_trial_are_followed(tmp_path):
    path = put(tmp_path, "agent/run.jsonl", *STREAM)
    path.rename(tmp_path / "kept.data")
    (tmp_path / "agent/claude-code.txt").symlink_to(tmp_path / "kept.data")
    assert ids(read_trace(tmp_path)) == ["t", "sub", "a"]


def test_circular_links_end(tmp_path):
    (tmp_path / "agent/sessions").mkdir(parents=True)
    (tmp_path / "agent/sessions/again").symlink_to(tmp_path / "agent")
    (tmp_path / "agent/trajectory.json").symlink_to(tmp_path / "agent/trajectory.json")
    assert refusal(tmp_path)


def test_what_is_read_can_be_written(tmp_path):
    tricky = use("a", file_path="/w/\ud800.py", number=float("nan"))
    put(tmp_path, "agent/claude-code.txt", tricky, answer("a", 2, "x\udfffy"), DONE)
    (call,) = read_trace(tmp_path).calls
    assert call.arguments["file_path"] == "/w/\ufffd.py"
    assert call.result.text == "x\ufffdy"
    json.dumps(dict(call.arguments), ensure_ascii=False).encode("utf-8")


def test_a_folder_where_a_file_should_be_is_no_trace(tmp_path):
    (tmp_path / "agent/trajectory.json").mkdir(parents=True)
    (tmp_path / "agent/claude-code.txt").mkdir()
    assert refusal(tmp_path)


def test_a_trajectory_goes_on_in_numbered_files(tmp_path):
    def part(name, call_id, **more):
        call = {"tool_call_id": call_id, "function_name": "read", "arguments": {"path": "a.py"}}
        step = {"step_id": 1, "source": "agent", "tool_calls": [call]}
        result = {"source_call_id": call_id, "content": "x = 1"}
        copied = {**step, "is_copied_context": True}
        document = {
            "schema_version": "ATIF-v1.6",
            "agent": {"name": "an-agent", "version": "1"},
            "steps": [copied, {**step, "observation": {"results": [result]}}],
            **more,
        }
        (tmp_path / "agent").mkdir(exist_ok=True)
        (tmp_path / "agent" / name).write_text(json.dumps(document), encoding="utf-8")

    part("trajectory.json", "c1", continued_trajectory_ref="trajectory.cont-1.json")
    assert "continued_elsewhere" in read_trace(tmp_path).flags
    part("trajectory.cont-10.json", "c3", final_metrics={"total_prompt_tokens": 30})
    part("trajectory.cont-9.json", "c2", final_metrics={"total_prompt_tokens": 20})
    trace = read_trace(tmp_path)
    assert [call.call_id for call in trace.calls] == ["c1", "c2", "c3"]
    assert (trace.declared_tokens, trace.flags) == (30, ())
    (tmp_path / "agent" / "trajectory.cont-11.json").write_text("{", encoding="utf-8")
    assert "trajectory.cont-11.json: not valid JSON" in read_trace(tmp_path).problems[0]


# --------------------------------------------------------------------------------------------------
# Sessions where their harness keeps them, with the files of their sub-agents beside.


def claude_project(folder):
    """A project's folder with two sessions, one of which has a sub-agent and a workflow."""
    main = [use("t", "Agent"), answer("t", 4), use("w", "Workflow"), answer("w", 5, "Run ID: wf_1")]
    put(folder, "s1.jsonl", *session_lines(*main))
    put(folder, "s2.jsonl", *session_lines(use("z"), session="s2", offset=30))
    side = session_lines(use("p"), is_sidechain=True, offset=3)
    put(folder, "s1/subagents/agent-1.jsonl", *({**line, "agentId": "1"} for line in side))
    put(folder, "s1/subagents/agent-1.meta.json", {"toolUseId": "t"})
    inner = session_lines(use("q"), is_sidechain=True, offset=4)
    workflow = "s1/subagents/workflows/wf_1"
    put(folder, f"{workflow}/agent-2.jsonl", *({**line, "agentId": "2"} for line in inner))
    put(folder, f"{workflow}/journal.jsonl", {"type": "started", "key": "k"})
    return folder


@pytest.mark.parametrize("name", ["s1.jsonl", "s1"])
def test_a_session_is_read_with_the_files_of_its_sub_agents(tmp_path, name):
    trace = read_trace(claude_project(tmp_path) / name)
    assert sorted(ids(trace)) == ["p", "q", "t", "w"]
    assert [c.call_id for c in trace.calls if c.is_subagent] == ["p", "q"]
    assert (trace.flags, trace.counted_tokens) == ((), 44)


def test_a_sub_agent_whose_file_is_gone_is_missing(tmp_path):
    (claude_project(tmp_path) / "s1/subagents/agent-1.jsonl").unlink()
    assert read_trace(tmp_path / "s1.jsonl").flags == ("subagent_calls_missing",)


def test_of_a_folder_with_several_sessions_one_is_named(tmp_path):
    claude_project(tmp_path)
    with pytest.raises(SeveralTracesError, match="holds 2 sessions") as caught:
        read_trace(tmp_path)
    assert caught.value.names == ("s1.jsonl", "s2.jsonl")
    assert ids(read_trace(tmp_path, sample="s2")) == ["z"]
    assert sorted(ids(read_trace(tmp_path, sample="s1"))) == ["p", "q", "t", "w"]


def test_a_session_that_goes_on_in_another_file_is_one(tmp_path):
    lines = session_lines(use("a"), answer("a", 3))
    put(tmp_path, "s1.jsonl", *lines)
    # A forked session repeats what it began with under an id of its own.
    copied = ({**line, "sessionId": "s2"} for line in lines)
    put(tmp_path, "s2.jsonl", *copied, *session_lines(use("b"), session="s2", offset=9))
    trace = read_trace(tmp_path)
    assert (ids(trace), trace.counted_tokens) == (["a", "b"], 22)


def test_sessions_of_a_trial_that_nothing_links_are_joined_and_counted(tmp_path):
    put(tmp_path, "agent/sessions/s1.jsonl", *session_lines(use("a"), offset=1))
    put(tmp_path, "agent/sessions/s2.jsonl", *session_lines(use("b"), session="s2", offset=9))
    trace = read_trace(tmp_path)
    assert (ids(trace), trace.flags) == (["a", "b"], ("joined_2_sessions",))


def test_links_beside_a_session_are_not_followed(tmp_path):
    outside = claude_project(tmp_path / "outside")
    put(tmp_path, "inside/s1.jsonl", *session_lines(use("t", "Agent"), answer("t", 4)))
    (tmp_path / "inside/s1").symlink_to(outside / "s1")
    assert ids(read_trace(tmp_path / "inside/s1.jsonl")) == ["t"]
    (tmp_path / "inside/s1").unlink()
    (tmp_path / "inside/s1").mkdir()
    (tmp_path / "inside/s1/subagents").symlink_to(outside / "s1/subagents")
    assert ids(read_trace(tmp_path / "inside/s1.jsonl")) == ["t"]


def rollout(folder, name, thread, *call_ids, **meta):
    lines = [{"type": "session_meta", "payload": {"id": thread, "cwd": "/w", **meta}}]
    for call_id in call_ids:
        item = {"type": "function_call", "name": "spawn_agent", "call_id": call_id}
        lines.append({"type": "response_item", "payload": {**item, "arguments": "{}"}})
        lines[-1]["timestamp"] = stamp(int(name))
    return put(folder, f"rollout-{name}.jsonl", *lines)


def test_the_rollouts_of_sub_agents_lie_beside_that_of_their_parent(tmp_path):
    main = rollout(tmp_path, "1", "a", "c1")
    rollout(tmp_path, "2", "b", "c2", parent_thread_id="a")
    # A sub-agent of the sub-agent, which called nothing, and another session of that day.
    rollout(tmp_path, "3", "c", parent_thread_id="b", session_id="a")
    rollout(tmp_path, "4", "z", "c4")
    trace = read_trace(main)
    assert (ids(trace), trace.flags) == (["c1", "c2"], ())
    with pytest.raises(SeveralTracesError) as caught:
        read_trace(tmp_path)
    assert caught.value.names == ("rollout-1.jsonl", "rollout-4.jsonl")
    assert read_trace(tmp_path, sample="rollout-4").flags == ("subagent_calls_missing",)
