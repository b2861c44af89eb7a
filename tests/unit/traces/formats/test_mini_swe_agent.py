from __future__ import annotations

import json

import pytest

from retrieval_eval.records import CUT_HERE
from retrieval_eval.traces import read_trace
from retrieval_eval.traces.formats import read_document
from retrieval_eval.traces.reading import Unreadable

INFO = {
    "model_stats": {"instance_cost": 0.03, "api_calls": 3},
    "mini_version": "2.4.6",
    "exit_status": "Submitted",
    "config": {"model": {"model_name": "a/model"}, "environment": {"cwd": "/testbed"}},
}


def says(*commands, at=10.0, ids=True):
    actions = [
        {"command": c} | ({"tool_call_id": f"c{at}-{n}"} if ids else {})
        for n, c in enumerate(commands)
    ]
    usage = {"prompt_tokens": 100, "completion_tokens": 7}
    extra = {"actions": actions, "response": {"usage": usage}, "timestamp": at}
    return {"role": "assistant", "content": "I look.", "extra": extra}


def shown(text, code=0):
    return f"<returncode>{code}</returncode>\n<output>\n{text}</output>"


def answers(call_id, content, at=11.0):
    message = {"role": "tool", "tool_call_id": call_id, "content": content}
    return {**message, "extra": {"raw_output": "all of it", "timestamp": at}}


def read(*messages, version="1.1", **more):
    document = {
        "trajectory_format": f"mini-swe-agent-{version}",
        "info": INFO,
        "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "task"}],
    }
    document["messages"] += messages
    return read_document({**document, **more}, "agent/m.json")


def test_answers_are_joined_by_id():
    reading = read(
        says("cat a.py", "cat b.py"),
        answers("c10.0-1", shown("b = 1\n")),
        answers("c10.0-0", shown("a = 1\n")),
    )
    assert [(c.arguments["command"], c.result.text) for c in reading.calls] == [
        ("cat a.py", "a = 1\n"),
        ("cat b.py", "b = 1\n"),
    ]
    assert reading.calls[0].cwd == "/testbed"
    assert (reading.calls[0].timestamp, reading.finished_at) == (10.0, 11.0)
    assert (reading.model, reading.harness_version) == ("a/model", "2.4.6")
    assert (reading.declared_cost_usd, reading.cwd) == (0.03, "/testbed")
    assert (reading.format, reading.flags) == ("mini-swe-agent-1.1", ())


def test_answers_without_ids_come_in_the_order_of_the_commands():
    reading = read(
        says("cat a.py", "cat b.py", ids=False),
        {"role": "user", "content": shown("a = 1\n")},
        {"role": "user", "content": shown("b = 1\n")},
    )
    assert [c.result.text for c in reading.calls] == ["a = 1\n", "b = 1\n"]


def test_items_of_the_responses_interface_are_joined_by_id():
    usage = {"input_tokens": 100, "output_tokens": 40}
    extra = {"actions": [{"command": "ls", "tool_call_id": "c"}]}
    reading = read(
        {"object": "response", "output": [], "usage": usage, "extra": extra},
        {"type": "function_call_output", "call_id": "c", "output": shown("a.py\n")},
    )
    assert reading.calls[0].result.text == "a.py\n"
    assert reading.items[0].total == 140


def test_the_first_version_has_one_block_that_the_next_message_answers():
    reading = read(
        {"role": "assistant", "content": "THOUGHT\n```bash\ncat a.py\n```\n"},
        {"role": "user", "content": shown("a = 1\n")},
        {"role": "assistant", "content": "```bash\ncat b.py\n```\n```bash\ncat c.py\n```"},
        {"role": "user", "content": "Please give exactly one action, found 2."},
        version="1",
    )
    assert [(c.arguments["command"], c.result.text) for c in reading.calls] == [
        ("cat a.py", "a = 1\n")
    ]


@pytest.mark.parametrize(
    ("content", "text", "is_error", "is_unfinished"),
    [
        (shown("", 1), "", True, False),
        (shown("a.py\n", 2), "a.py\n", True, False),
        ("<exception>action was not executed</exception>\n" + shown("", -1), "", True, True),
        ("<exception>timed out after 60 seconds</exception>\n" + shown("a\n", -1), "a\n", 1, 0),
        (
            (
                "The last command <command>cat a.py</command> timed out and has been killed.\n"
                "The output of the command was:\n<output>\n\n</output>"
            ),
            "\n",
            True,
            True,
        ),
    ],
)
def test_a_status_and_an_exception_say_how_a_command_ended(content, text, is_error, is_unfinished):
    (call,) = read(says("cat a.py"), answers("c10.0-0", content)).calls
    assert (call.result.text, call.result.is_error) == (text, bool(is_error))
    assert call.result.is_unfinished == bool(is_unfinished)


def test_of_a_long_output_the_head_and_the_tail_were_shown():
    content = (
        "<returncode>0</returncode>\n<warning>\ntoo long\n</warning>\n<output_head>\nfirst\n"
        "</output_head>\n<elided_chars>\n9 characters elided\n</elided_chars>\n<output_tail>\n"
        "last\n</output_tail>"
    )
    (call,) = read(says("cat a.py"), answers("c10.0-0", content)).calls
    assert call.result.text == f"first\n{CUT_HERE}\nlast"
    assert not call.result.is_truncated, "the agent saw no more than the trace holds"


def test_what_cannot_be_read_is_named():
    assert read(messages={}) == Unreadable(
        "agent/m.json: a mini-swe-agent trajectory without a list of messages"
    )
    reading = read(3, info={"mini_version": "1"})
    assert reading.problems == ("agent/m.json#/messages/2: expected an object",)
    assert reading.flags == ("no_result_event", "malformed_step")


def test_a_trajectory_may_be_only_its_messages(tmp_path):
    messages = [
        {"role": "user", "content": "Fix it."},
        {"role": "assistant", "content": "I look.\n\n```mswea_bash_command\ncat a.py\n```"},
        {"role": "user", "content": "<returncode>1</returncode>\n<output>\ncat: no\n</output>"},
        {"role": "assistant", "content": "Done.\n\n```mswea_bash_command\nls\n```"},
    ]
    path = tmp_path / "a.traj.json"
    path.write_text(json.dumps(messages, indent=1), encoding="utf-8")
    trace = read_trace(path)
    assert [call.arguments["command"].strip() for call in trace.calls] == ["cat a.py", "ls"]
    assert [call.result and call.result.is_error for call in trace.calls] == [True, None]
    assert "no_result_event" in trace.flags
