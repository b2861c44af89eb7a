from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from retrieval_eval.agents.traces import SeveralTracesError, read_trace
from retrieval_eval.agents.traces.formats import read_document, read_lines
from retrieval_eval.agents.traces.merge import join_trace
from retrieval_eval.agents.traces.tools import interpret
from retrieval_eval.io.files import Line
from retrieval_eval.records import ToolCall, ToolResult


def action(number, kind, call_id=None, **args):
    event = {
        "id": number,
        "timestamp": f"2025-01-01T00:00:{number:02}",
        "source": "agent",
        "action": kind,
        "args": {**args, "thought": "I look."},
    }
    if call_id is not None:
        first = {"function": {"name": "other", "arguments": "{}"}, "id": "call_first"}
        response = {"model": "a-model", "choices": [{"message": {"tool_calls": [first]}}]}
        event["tool_call_metadata"] = {
            "function_name": kind,
            "tool_call_id": call_id,
            "model_response": response,
        }
    return event


def observation(number, cause, kind, content, code=None, folder="/w", **more):
    metadata = {} if code is None else {"exit_code": code, "working_dir": folder}
    return {
        "id": number,
        "timestamp": f"2025-01-01T00:00:{number:02}",
        "source": "agent",
        "cause": cause,
        "observation": kind,
        "content": content,
        "extras": {"metadata": metadata} if metadata else {},
        **more,
    }


def totals(cost, prompt, output):
    usage = {"model": "a-model", "prompt_tokens": prompt, "completion_tokens": output}
    return {"llm_metrics": {"accumulated_cost": cost, "accumulated_token_usage": usage}}


VIEW = "Here's the result of running `cat -n` on /w/src/a.py:\n     1\timport os\n"
SESSION = [
    {
        "id": 0,
        "source": "agent",
        "action": "system",
        "args": {"openhands_version": "0.59.0"},
    },
    {"id": 1, "source": "user", "action": "message", "args": {"content": "task"}},
    action(2, "run", "c2", command="cd src") | totals(0.1, 100, 10),
    observation(3, 2, "run", "", 0, "/w/src"),
    action(4, "run", "c4", command="cat b.py") | totals(0.3, 250, 30),
    observation(5, 4, "run", "b = 1", 0, "/w/src"),
    action(6, "read", "c6", path="/w/src/a.py", view_range=[1, 1]),
    observation(7, 6, "read", VIEW),
    action(8, "run_ipython", "c8", code="print(open('/w/c.py').read())"),
    observation(9, 8, "run_ipython", "c = 1\n[Jupyter current working directory: /w]"),
    action(10, "call_tool_mcp", "c10", name="read_file", arguments={"repo": "r", "path": "d"}),
    observation(
        11, 10, "mcp", json.dumps({"content": [{"type": "text", "text": "1: x"}], "isError": False})
    ),
    action(12, "finish", "c12"),
]


def read(*events):
    lines = (Line(n, event) for n, event in enumerate(events or SESSION))
    return read_lines(lines, "agent/sessions/s/events")


def touched(call):
    return [(t.path, t.access, t.lines) for t in interpret(call).targets]


def test_a_session_is_read_from_its_actions_and_observations():
    reading = read()
    assert [(c.call_id, c.name) for c in reading.calls] == [
        *(("c2", "execute_bash"), ("c4", "execute_bash"), ("c6", "str_replace_editor")),
        *(("c8", "execute_ipython_cell"), ("c10", "read_file"), ("c12", "finish")),
    ]
    assert reading.calls[1].arguments == {"command": "cat b.py", "workdir": "/w/src"}
    assert reading.calls[1].result.text == "b = 1"
    assert touched(reading.calls[2]) == [("/w/src/a.py", "opened", ((1, 1),))]
    assert touched(reading.calls[3]) == [("/w/c.py", "opened", None)]
    assert reading.calls[3].result.text == "c = 1"
    assert reading.calls[4].result.text == "1: x"
    assert reading.calls[0].where == "agent/sessions/s/events:2"


def test_running_totals_become_what_each_step_used():
    reading = read()
    assert (reading.declared_cost_usd, reading.declared_tokens) == (0.3, 280)
    assert [i.total for i in reading.items if hasattr(i, "total")] == [110, 170]
    assert (reading.model, reading.harness_version) == ("a-model", "0.59.0")
    assert (reading.harness, reading.cwd, reading.flags) == ("openhands", "/w/src", ())
    assert reading.finished_at - reading.started_at == 10


@pytest.mark.parametrize(
    ("kind", "content", "code", "text", "is_error", "is_unfinished"),
    [
        ("run", "a\n", 1, "a\n", True, False),
        ("error", "cannot run", None, "cannot run", True, True),
        ("user_rejected", "no", None, "no", True, True),
        ("run", "a\n[The command timed out after 30 seconds. Wait.]", -1, "a", True, False),
        ("run", "[The command has no new output after 30 seconds.]", -1, "", True, True),
        ("run", "a", -1, "a", False, False),
    ],
)
def test_an_observation_says_how_a_command_ended(
    kind, content, code, text, is_error, is_unfinished
):
    (call,) = read(
        action(1, "run", "c", command="ls"), observation(2, 1, kind, content, code)
    ).calls
    assert (call.result.text, call.result.is_error) == (text, is_error)
    assert call.result.is_unfinished == is_unfinished


def test_an_empty_command_waits_for_the_one_that_is_running():
    late = "compiling\n[The command has no new output after 10 seconds. Wait.]"
    calls = read(
        action(1, "run", "c1", command="make; cat a.py"),
        observation(2, 1, "run", late, -1),
        action(3, "run", "c3", command="", is_input="true"),
        observation(4, 3, "run", "a = 1", 0),
        action(5, "run", "c5", command=""),
    ).calls
    assert calls[1].arguments == {"command": "make; cat a.py", "workdir": "/w"}
    assert calls[1].result.text == "a = 1"
    assert calls[2].arguments["command"] == ""


def test_an_array_and_a_folder_of_files_say_the_same(tmp_path):
    whole = tmp_path / "whole" / "agent" / "openhands.trajectory.json"
    whole.parent.mkdir(parents=True)
    whole.write_text(json.dumps(SESSION), encoding="utf-8")
    folder = tmp_path / "parts" / "agent" / "sessions" / "s" / "events"
    folder.mkdir(parents=True)
    for event in SESSION:
        (folder / f"{event['id']}.json").write_text(json.dumps(event), encoding="utf-8")
    one, other = read_trace(whole.parent.parent), read_trace(folder.parents[3])
    assert [(c.name, c.result) for c in one.calls] == [(c.name, c.result) for c in other.calls]
    assert one.format == other.format == "openhands-events"
    assert read_trace(folder).calls[1].result.text == "b = 1"


def test_a_broken_file_of_a_folder_is_named(tmp_path):
    folder = tmp_path / "agent" / "events"
    folder.mkdir(parents=True)
    for event in SESSION:
        (folder / f"{event['id']}.json").write_text(json.dumps(event), encoding="utf-8")
    (folder / "5.json").write_text("{", encoding="utf-8")
    trace = read_trace(tmp_path)
    assert trace.calls[1].result is None
    assert "malformed_event" in trace.flags
    assert trace.problems[0].startswith("agent/events/5.json: not valid JSON")


# The SDK


def sdk_action(call_id, name, **arguments):
    return {
        "kind": "ActionEvent",
        "source": "agent",
        "timestamp": "2026-01-01T00:00:00",
        "tool_name": name,
        "tool_call_id": call_id,
        "tool_call": {"id": call_id, "name": name, "arguments": json.dumps(arguments)},
        "action": {"kind": "Action", **arguments},
    }


def sdk_result(call_id, text, **more):
    content = [{"type": "text", "text": text}]
    return {
        "kind": "ObservationEvent",
        "source": "environment",
        "timestamp": "2026-01-01T00:00:05",
        "tool_call_id": call_id,
        "action_id": "a",
        "observation": {"kind": "Observation", "content": content, "is_error": False, **more},
    }


STATE = {
    "id": "0f3c",
    "agent": {"llm": {"model": "a-model"}},
    "workspace": {"kind": "LocalWorkspace", "working_dir": "/w"},
    "execution_status": "finished",
    "stats": {
        "usage_to_metrics": {
            "agent": {
                "accumulated_cost": 0.5,
                "accumulated_token_usage": {"prompt_tokens": 90, "completion_tokens": 10},
            }
        }
    },
}


def test_the_sdk_joins_by_the_id_of_the_call():
    reading = read(
        STATE,
        sdk_action("c1", "terminal", command="cat a.py"),
        sdk_action("c2", "grep", pattern="x"),
        sdk_result("c2", "Found 1 file", matches=["/w/b.py"]),
        sdk_result("c1", "a = 1", exit_code=0, metadata={"working_dir": "/w"}),
    )
    assert [c.result.text for c in reading.calls] == ["a = 1", "Found 1 file"]
    assert reading.calls[0].arguments == {"command": "cat a.py", "workdir": "/w"}
    assert touched(reading.calls[1]) == [("/w/b.py", "matched", None)]
    assert interpret(reading.calls[1]).category == "file_search"
    assert (reading.declared_cost_usd, reading.declared_tokens) == (0.5, 100)
    assert (reading.model, reading.cwd, reading.session_ids) == ("a-model", "/w", {"0f3c"})
    assert (reading.harness, reading.flags) == ("openhands-sdk", ())


@pytest.mark.parametrize(
    "event",
    [
        {"kind": "UserRejectObservation", "tool_call_id": "c", "rejection_reason": "no"},
        {"kind": "AgentErrorEvent", "tool_call_id": "c", "error": "no such tool"},
    ],
)
def test_a_rejected_call_did_not_run(event):
    (call,) = read(sdk_action("c", "terminal", command="ls"), event).calls
    assert (call.result.is_error, call.result.is_unfinished) == (True, True)


def test_a_conversation_of_the_sdk_without_a_call_is_one():
    prompt = {"kind": "SystemPromptEvent", "source": "agent", "system_prompt": {"text": "x"}}

    def message(source, text):
        said = {"role": source, "content": [{"type": "text", "text": text}]}
        return {"kind": "MessageEvent", "source": source, "llm_message": said}

    told = read(prompt, message("user", "Hello"), message("agent", "Hi."))
    assert (told.calls, told.flags, told.has_agent) == ((), (), True)
    silent = join_trace(None, read(prompt, message("user", "Hello")))
    assert silent.flags == ("no_agent_step",)


def test_a_folder_of_the_sdk_is_read_with_the_state_beside_it(tmp_path):
    folder = tmp_path / "agent" / "sessions" / "0f3c" / "events"
    folder.mkdir(parents=True)
    (folder.parent / "base_state.json").write_text(json.dumps(STATE), encoding="utf-8")
    events = [sdk_action("c1", "terminal", command="ls"), sdk_result("c1", "a.py", exit_code=0)]
    for number, event in enumerate(events):
        path = folder / f"event-{number:05}-3d1f.json"
        path.write_text(json.dumps(event), encoding="utf-8")
    trace = read_trace(tmp_path)
    assert (trace.format, trace.model, trace.cwd) == ("openhands-sdk-events", "a-model", "/w")
    assert trace.calls[0].result.text == "a.py"
    alone = read_trace(folder)
    assert (alone.model, alone.problems, len(alone.calls)) == (None, (), 1)


def test_an_array_without_events_is_no_trace():
    assert "found an array of entries" in read_document([1, {"a": 2}], "x.json").reason


# The output of an evaluation: the events of one task a line, in the forms that they had.

RAN = {
    "id": 5,
    "timestamp": "2025-01-01T00:00:01",
    "source": "agent",
    "action": "run",
    "args": {"command": "cat src/a.py"},
}
SHOWN = {
    "id": 6,
    "timestamp": "2025-01-01T00:00:02",
    "source": "agent",
    "cause": 5,
    "observation": "run",
    "content": "import os",
    "extras": {"metadata": {"exit_code": 0, "working_dir": "/workspace/widgets"}},
}
FLAT = [
    {"content": "Fix it.", "action": "message", "images_urls": []},
    {"action": "run", "command": "cat src/a.py", "thought": "I look."},
    {"observation": "run", "content": "import os", "command": "cat src/a.py", "exit_code": 0},
    {"action": "run", "command": "cat src/b.py"},
    {"observation": "run", "content": "cat: no such file", "exit_code": 1},
    {"observation": "run", "content": "of no action", "exit_code": 0},
]


def output(instance, history, **more):
    metrics = {"accumulated_cost": 0.25, "accumulated_token_usage": {"prompt_tokens": 9}}
    metadata = {"llm_config": {"model": "a-model"}}
    return {"instance_id": instance, "metrics": metrics, "metadata": metadata} | (
        {"history": history} | more
    )


@pytest.mark.parametrize(
    ("history", "results"),
    [
        ([RAN, SHOWN], [("import os", False)]),
        ([[RAN, SHOWN]], [("import os", False)]),
        (FLAT, [("import os", False), ("cat: no such file", True)]),
    ],
    ids=["today", "pairs", "flat"],
)
def test_the_output_of_an_evaluation_holds_the_events_of_a_task(history, results):
    reading = read_lines([Line(1, output("acme__widgets-1", history))], "output.jsonl")
    assert (reading.format, reading.harness) == ("openhands-output", "openhands")
    assert [(c.result.text, c.result.is_error) for c in reading.calls] == results
    assert (reading.model, reading.declared_tokens) == ("a-model", 9)
    assert reading.declared_cost_usd == 0.25
    assert reading.problems == ()


def test_a_task_of_several_is_chosen_by_its_name(tmp_path):
    path = tmp_path / "output.jsonl"
    issue = {"issue": {"number": 7}, "git_patch": "", "history": FLAT}
    values = [output("a-1", [RAN, SHOWN]), {"instance_id": "none", "history": []}, issue]
    padded = output("a-2", [{**RAN, "message": "x" * 70_000}, SHOWN])
    path.write_text("\n".join(map(json.dumps, [padded, *values])), encoding="utf-8")
    with pytest.raises(SeveralTracesError) as caught:
        read_trace(path)
    assert caught.value.names == ("a-2", "a-1", "7")
    assert len(read_trace(path, sample="7").calls) == 2


def test_the_sdk_states_totals_and_the_end_in_events_of_their_own():
    def update(key, value):
        return {
            "kind": "ConversationStateUpdateEvent",
            "source": "environment",
            "key": key,
            "value": value,
        }

    def stats(prompt, output, cost):
        usage = {"prompt_tokens": prompt, "completion_tokens": output}
        metrics = {"model_name": "a-model", "accumulated_cost": cost}
        return update(
            "stats", {"usage_to_metrics": {"agent": {**metrics, "accumulated_token_usage": usage}}}
        )

    def action(call_id, command):
        stated = {"kind": "TerminalAction", "command": command}
        event = {"kind": "ActionEvent", "source": "agent", "tool_name": "terminal"}
        return {**event, "tool_call_id": call_id, "action": stated}

    refused = {
        "kind": "ObservationEvent",
        "tool_call_id": "c1",
        "observation": {
            "content": [{"type": "text", "text": "Cannot execute multiple commands at once.\nx"}],
            "is_error": True,
        },
    }
    events = [
        update("execution_status", "running"),
        stats(90, 10, 0.1),
        action("c1", "cat a.py\ncat b.py"),
        refused,
        stats(190, 30, 0.3),
        action("c2", "cat a.py"),
    ]
    reading = read_lines([Line(n, event) for n, event in enumerate(events, start=1)], "e.jsonl")
    assert (reading.model, reading.declared_tokens, reading.declared_cost_usd) == (
        "a-model",
        220,
        0.3,
    )
    first, second = join_trace(None, reading).calls
    assert (first.cumulative_tokens, second.cumulative_tokens) == (100, 220)
    assert interpret(first).targets == ()
    assert "no_result_event" in reading.flags
    ended = [*events, update("execution_status", "finished")]
    reading = read_lines([Line(n, event) for n, event in enumerate(ended, start=1)], "e.jsonl")
    assert "no_result_event" not in reading.flags


def test_an_editor_that_could_not_write_wrote_nothing():
    text = (
        "Ran into [Errno 2] No such file or directory: '/w/a.py' while trying to write to /w/a.py"
    )
    call = ToolCall("c", "str_replace_editor", {"command": "create", "path": "/w/a.py"}, None)
    assert interpret(replace(call, result=ToolResult(text))).targets == ()


LATE = "[The command timed out after 2.0 seconds. You may wait longer to see additional output.]"
QUIET = "[The command has no new output after 30 seconds. Wait.]"


@pytest.mark.parametrize(
    ("text", "code", "suffix", "is_error", "is_stopped", "is_unfinished"),
    [
        ("a = 1", -1, f"\n{LATE}", True, True, False),
        ("a = 1", -1, f"\n{QUIET}", True, True, False),
        ("", -1, f"\n{LATE}", True, False, True),
        ("a = 1", 0, "\n[The command completed with exit code 0.]", False, False, False),
        ("a = 1", 124, "\n[The command completed with exit code 124.]", True, False, False),
        ("a = 1", -1, "", False, True, False),
    ],
)
def test_only_the_suffix_says_that_a_command_ran_into_its_time_limit(
    text, code, suffix, is_error, is_stopped, is_unfinished
):
    metadata = {"exit_code": code, "suffix": suffix}
    shown = sdk_result("c", text, exit_code=code, timeout=False, metadata=metadata)
    (call,) = read(sdk_action("c", "terminal", command="cat a.py; sleep 8; cat b.py"), shown).calls
    found = call.result
    assert (found.text, found.is_error) == (text, is_error)
    assert (found.is_stopped, found.is_unfinished) == (is_stopped, is_unfinished)


def sdk_tool(call_id, tool, **arguments):
    event = sdk_action(call_id, tool)
    return {**event, "action": {"kind": "MCPToolAction", "data": arguments}}


@pytest.mark.parametrize(
    ("config", "tool", "name"),
    [
        (None, "find_symbol", "mcp__unknown__find_symbol"),
        ({"docs": {}}, "find_symbol", "mcp__docs__find_symbol"),
        ({"mcpServers": {"docs": {}}}, "find_symbol", "mcp__docs__find_symbol"),
        ({"docs": {}, "docs_web": {}}, "docs_web_find", "mcp__docs_web__find"),
        ({"docs": {}, "web": {}}, "find", "mcp__unknown__find"),
    ],
)
def test_a_server_s_tool_is_named_by_the_session_s_servers(config, tool, name):
    state = {**STATE, "agent": {"mcp_config": config}}
    executed = f"[Tool '{tool}' executed.]"
    blocks = [{"type": "text", "text": text} for text in (executed, '{"hits": []}')]
    shown = sdk_result("c", "")
    shown["observation"]["content"] = blocks
    (call,) = read(state, sdk_tool("c", tool, symbol="needle"), shown).calls
    assert (call.name, call.arguments) == (name, {"symbol": "needle"})
    assert call.result.text == '{"hits": []}'


def test_the_names_in_a_folder_were_not_sent_to_the_model():
    entries = [{"name": "a.py", "path": "/w/a.py", "is_directory": False}]
    shown = sdk_result("c", "Listed directory: /w (1 entries)", entries=entries)
    (call,) = read(sdk_action("c", "list_directory", dir_path="/w"), shown).calls
    assert touched(call) == []


def test_the_view_of_the_planning_editor_is_a_read():
    shown = sdk_result("c", VIEW)
    arguments = {"command": "view", "path": "/w/src/a.py"}
    (call,) = read(sdk_action("c", "planning_file_editor", **arguments), shown).calls
    assert interpret(call).category == "file_read"
    assert [path for path, *_ in touched(call)] == ["/w/src/a.py"]


def test_the_events_of_a_sub_agent_lie_below_the_conversation_s(tmp_path):
    parent, child = "11111111222243338444555555555555", "0b2a49eca9d542cbaf20d7263298a24e"
    place = f"/runs/{parent}/subagents/{child}"
    events = {
        parent: (
            {**STATE, "id": "11111111-2222-4333-8444-555555555555"},
            sdk_action("c1", "task", prompt="Read it."),
            sdk_result("c1", "It says x."),
        ),
        f"{parent}/subagents/{child}": (
            {**STATE, "id": "0b2a49ec-a9d5-42cb-af20-d7263298a24e", "persistence_dir": place},
            sdk_action("c2", "file_editor", command="view", path="/w/src/a.py"),
            sdk_result("c2", VIEW),
        ),
    }
    for folder, (state, *told) in events.items():
        (tmp_path / folder / "events").mkdir(parents=True)
        (tmp_path / folder / "base_state.json").write_text(json.dumps(state), encoding="utf-8")
        for number, event in enumerate(told):
            path = tmp_path / folder / "events" / f"event-{number:05}-x.json"
            path.write_text(json.dumps(event), encoding="utf-8")
    trace = read_trace(tmp_path / parent)
    assert [(c.name, c.is_subagent, c.parent_id) for c in trace.calls] == [
        ("task", False, None),
        ("file_editor", True, child),
    ]
    assert trace.flags == ()
    assert trace.declared_tokens == 100, "the conversation's totals hold those of its sub-agents"


@pytest.mark.parametrize("more", [{"test_result": {"git_patch": "diff"}}, {"git_patch": "diff"}])
def test_the_output_of_an_evaluation_keeps_the_patch(more):
    assert read_lines([Line(1, output("a-1", [RAN, SHOWN], **more))], "o").submission == "diff"
