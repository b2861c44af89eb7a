from __future__ import annotations

import json

import pytest

from retrieval_eval.agents.traces import read_trace
from retrieval_eval.agents.traces.formats import read_document
from retrieval_eval.records import CUT_HERE

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


def test_json_that_a_command_printed_is_its_output():
    text = '{"returncode": 0, "output": "{\\"output\\": 1}"}'
    (call,) = read(says("cat a.json"), answers("c10.0-0", text)).calls
    assert call.result.text == '{"output": 1}'


def test_what_was_handed_in_was_sent_to_no_model():
    patch = "--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"
    submits = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && git diff"
    info = {**INFO, "submission": patch}
    skipped = {"returncode": -1, "output": "", "exception_info": "action was not executed"}
    second = read(says(submits), answers("c10.0-0", json.dumps(skipped)), info=info)
    first = read(
        {"role": "assistant", "content": f"```bash\n{submits}\n```"},
        {"role": "user", "content": patch},
        info=info,
        version="1",
    )
    for reading in (first, second):
        (call,) = reading.calls
        assert (call.result.text, call.result.doubt) == (patch, "display_only")
        assert reading.submission == patch
    (failed,) = read(says(submits), answers("c10.0-0", shown("no\n", 1)), info=info).calls
    assert (failed.result.text, failed.result.doubt) == ("no\n", None), "the run went on"


def test_the_first_version_keeps_when_a_response_was_made():
    extra = {"response": {"created": 1763509875}}
    reading = read(
        {"role": "assistant", "content": "```bash\nls\n```", "extra": extra},
        {"role": "user", "content": shown("a.py\n")},
        version="1",
    )
    assert reading.calls[0].timestamp == 1763509875.0


def refused(prompt, output):
    usage = {"prompt_tokens": prompt, "completion_tokens": output}
    extra = {"interrupt_type": "FormatError", "response": {"usage": usage}, "timestamp": 9.0}
    return {"role": "user", "content": "Tool call error: Unknown tool 'x'", "extra": extra}


def test_refused_answers_cost_tokens_and_nothing_is_missing(tmp_path):
    reading = read(refused(40, 2), refused(50, 3), refused(60, 4))
    assert sum(item.total for item in reading.items) == 159
    assert (reading.has_agent, reading.flags) == (True, ())


def says_in_text(text):
    return {"role": "assistant", "content": text}


def replies(text):
    return {"role": "user", "content": text}


PYTHON = says_in_text("exec_bash_cmd('ls')"), replies("a.py")


@pytest.mark.parametrize(
    ("messages", "api_calls", "is_unreadable"),
    [
        (PYTHON * 2, 0, True),
        (PYTHON, 0, False),
        (PYTHON, 18, True),
        ([says_in_text("The answer is 3.")], 1, False),
        ([says_in_text("A"), replies("Please always provide EXACTLY ONE action.")] * 3, 3, False),
        ([says_in_text("```bash\nls\n```"), replies(shown("a.py\n"))] * 3, 3, False),
        ([says_in_text("```bash\nls\n```"), replies(shown("a.py\n")), *PYTHON * 2], 3, True),
        ([says_in_text("```bash\nls\n```"), replies(shown("a\n"))] * 2 + [*PYTHON], 3, False),
    ],
)
def test_an_agent_at_work_whose_calls_cannot_be_read(messages, api_calls, is_unreadable):
    info = {**INFO, "model_stats": {"api_calls": api_calls}}
    reading = read(*messages, info=info, version="1")
    assert ("calls_unreadable" in reading.flags) == is_unreadable


def test_a_refusal_may_be_worded_by_the_configuration():
    template = "One block, please! You gave {{actions|length}}."
    config = {"agent": {"format_error_template": template}}
    messages = [says_in_text("A"), replies("One block, please! You gave 0.")] * 2
    assert read(*messages, info={**INFO, "config": config}, version="1").flags == ()
