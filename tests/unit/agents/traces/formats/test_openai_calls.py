from __future__ import annotations

import pytest

from retrieval_eval.agents.traces.formats.messages import log_item, log_message
from retrieval_eval.agents.traces.transcript import Transcript


def log_of(log_one, *entries):
    log = Transcript("f")
    took = []
    for n, entry in enumerate(entries, start=1):
        log.at(f"f:{n}", float(n))
        took.append(log_one(log, entry))
    return log, took


def test_arguments_that_are_no_object_are_kept():
    log, _ = log_of(
        log_item,
        {"type": "custom_tool_call", "call_id": "p", "name": "apply_patch", "input": "*** Begin"},
        {"type": "function_call", "call_id": "c", "name": "shell", "arguments": '{"cmd": "l'},
        {"type": "function_call", "call_id": "d", "name": "shell", "arguments": {"cmd": "ls"}},
        {"type": "function_call", "call_id": "e", "name": "shell", "arguments": ""},
    )
    assert [c.arguments for c in log.items()] == [
        {"input": "*** Begin"},
        {"input": '{"cmd": "l'},
        {"cmd": "ls"},
        {},
    ]


def test_further_items_are_calls():
    edit = {"type": "update_file", "path": "a.py", "diff": "@@"}
    log, _ = log_of(
        log_item,
        {"type": "apply_patch_call", "call_id": "p", "operation": edit},
        {"type": "apply_patch_call_output", "call_id": "p", "status": "failed", "output": "no"},
        {"type": "function_call", "call_id": "m", "name": "read", "namespace": "mcp__code__"},
        {"type": "function_call", "call_id": "n", "name": "read", "namespace": "functions"},
        {"type": "function_call_output", "output": "x"},
    )
    patch, remote, own = log.items()
    assert (patch.name, patch.arguments["path"]) == ("apply_patch", "a.py")
    assert (patch.result.is_error, patch.result.is_unfinished) == (True, True)
    assert (remote.name, own.name) == ("mcp__code__read", "read")
    assert log.complaints.sentences() == ("f:5: a tool result does not name its call",)


def test_a_local_shell_states_command_and_folder():
    action = {"type": "exec", "command": ["bash", "-lc", "ls"], "working_directory": "/w"}
    log, _ = log_of(
        log_item,
        {"type": "local_shell_call", "call_id": "c", "status": "completed", "action": action},
        {"type": "local_shell_call_output", "call_id": "c", "output": "a.py"},
    )
    (call,) = log.items()
    assert call.arguments == {"command": ["bash", "-lc", "ls"], "workdir": "/w"}
    assert call.result.text == "a.py"


def test_each_command_of_a_shell_call_has_its_own_output():
    done = {"stdout": "a.py", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}
    failed = {"stdout": "", "stderr": "no", "outcome": {"type": "exit", "exit_code": 1}}
    late = {"stdout": "b", "stderr": "", "outcome": {"type": "timeout"}}
    log, _ = log_of(
        log_item,
        {"type": "shell_call", "call_id": "c", "action": {"commands": ["ls", "cat x", "make"]}},
        {"type": "shell_call_output", "call_id": "c", "output": [done, failed, late]},
    )
    calls = log.items()
    assert [c.arguments["command"] for c in calls] == ["ls", "cat x", "make"]
    results = [(c.result.text, c.result.is_error, c.result.is_unfinished) for c in calls]
    assert results == [("a.py", False, False), ("no", True, False), ("b", True, False)]
    assert [c.result.is_stopped for c in calls] == [False, False, True], "what it printed was shown"


@pytest.mark.parametrize(
    ("item", "text", "is_error"),
    [
        ({"output": "x"}, "x", False),
        ({"error": {"type": "http_error", "message": "no access"}, "output": None}, "no access", 1),
        ({"error": "no access"}, "no access", True),
    ],
)
def test_a_call_of_a_server_holds_its_output(item, text, is_error):
    call = {"type": "mcp_call", "id": "c", "name": "read", "server_label": "code"}
    log, _ = log_of(log_item, {**call, "arguments": '{"path": "a.py"}', **item})
    (call,) = log.items()
    assert (call.name, call.arguments) == ("mcp__code__read", {"path": "a.py"})
    assert (call.result.text, call.result.is_error) == (text, bool(is_error))
    assert call.result.is_unfinished == bool(is_error)


def test_an_unanswered_call_has_no_result():
    log, _ = log_of(
        log_item,
        {"type": "mcp_call", "id": "c", "name": "read", "server_label": "s", "output": None},
        {"type": "web_search_call", "id": "w", "status": "completed", "action": {"query": "q"}},
    )
    assert [(c.name, c.result) for c in log.items()] == [
        ("mcp__s__read", None),
        ("web_search", None),
    ]


def test_messages_are_joined_by_id():
    calls = [
        {"id": "a", "type": "function", "function": {"name": "read", "arguments": '{"p": 1}'}},
        {"id": "b", "type": "custom", "custom": {"name": "patch", "input": "*** Begin"}},
    ]
    log, took = log_of(
        log_message,
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "b", "content": "done"},
        {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "x = 1"}]},
    )
    assert [(c.name, c.arguments, c.result.text) for c in log.items()] == [
        ("read", {"p": 1}, "x = 1"),
        ("patch", {"input": "*** Begin"}, "done"),
    ]
    assert took == [False, True, True, True]


def test_a_result_without_an_id_belongs_to_the_only_call_before():
    old = {"role": "assistant", "function_call": {"name": "read", "arguments": "{}"}}
    log, _ = log_of(log_message, old, {"role": "function", "name": "read", "content": "x"})
    assert [c.result.text for c in log.items()] == ["x"]
    two = [{"function": {"name": "read"}}, {"function": {"name": "list"}}]
    log, _ = log_of(
        log_message, {"role": "assistant", "tool_calls": two}, {"role": "tool", "content": "x"}
    )
    assert [c.result for c in log.items()] == [None, None]
    assert log.complaints.sentences() == ("f:2: a tool result does not name its call",)
