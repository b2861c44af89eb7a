from __future__ import annotations

import json

import pytest

from retrieval_eval.agents.traces.formats import read_document
from retrieval_eval.agents.traces.formats.swe_agent import call_of
from retrieval_eval.agents.traces.tools import interpret
from retrieval_eval.records import CUT_HERE


def step(action, observation="", cwd="/testbed", open_file="n/a"):
    state = {"working_dir": cwd, "open_file": open_file}
    return {"action": action, "observation": observation, "thought": "t", "state": state}


WINDOW = (
    "[File: /testbed/src/a.py (200 lines total)]\n(99 more lines above)\n100:x = 1\n101:y = 2\n"
)
SESSION = {
    "environment": "main",
    "trajectory": [
        step("find_file a.py", 'Found 1 matches for "a.py" in /testbed:\n/testbed/src/a.py'),
        step("open src/a.py 100", WINDOW, open_file="/testbed/src/a.py"),
        step(
            "scroll_down",
            "[File: /testbed/src/a.py (200 lines total)]\n102:z",
            open_file="/testbed/src/a.py",
        ),
        step(
            "search_dir foo src",
            'Found 3 matches for "foo" in /testbed/src:\n/testbed/src/b.py (3 matches)\n'
            'End of matches for "foo" in /testbed/src',
        ),
        step(
            "search_file foo src/b.py",
            'Found 2 matches for "foo" in /testbed/src/b.py:\nLine 3:foo\nLine 9:foo()\n',
        ),
        step("cd src", "", cwd="/testbed/src"),
        step("cat c.py", "import os", cwd="/testbed/src"),
        step("submit", "diff --git a/src/a.py b/src/a.py"),
    ],
    "history": [{"role": "system"}],
    "info": {
        "model_stats": {
            "instance_cost": 0.25,
            "tokens_sent": 900,
            "tokens_received": 100,
            "api_calls": 8,
        },
        "exit_status": "submitted",
        "swe_agent_version": "1.1.0",
    },
    "replay_config": json.dumps({"agent": {"model": {"name": "a-model"}}}),
}


def read(document=None, **more):
    return read_document({**(document or SESSION), **more}, "agent/x.traj")


def touched(call):
    return [(t.path, t.access, t.lines) for t in interpret(call).targets]


def test_a_session_is_read_with_what_its_windows_show():
    reading = read()
    assert [c.name for c in reading.calls] == [
        *("find_file", "open", "scroll_down", "search_dir", "search_file"),
        *("bash", "bash", "submit"),
    ]
    found, opened, scrolled, folder, file, *_ = map(touched, reading.calls)
    assert found == [("/testbed/src/a.py", "listed", None)]
    assert opened == [("/testbed/src/a.py", "opened", ((100, 101),))]
    assert scrolled == [("/testbed/src/a.py", "opened", ((102, 102),))]
    assert folder == [("/testbed/src/b.py", "matched", None)]
    assert file == [("/testbed/src/b.py", "matched", ((3, 3), (9, 9)))]
    assert reading.calls[6].arguments == {"command": "cat c.py", "workdir": "/testbed/src"}
    assert (reading.calls[1].where, reading.calls[1].timestamp) == (
        "agent/x.traj#/trajectory/1",
        None,
    )


def test_tokens_cost_model_and_version_are_stated_in_the_file():
    reading = read()
    assert (reading.declared_tokens, reading.declared_cost_usd) == (1000, 0.25)
    assert (reading.model, reading.harness, reading.harness_version) == (
        "a-model",
        "swe-agent",
        "1.1.0",
    )
    assert reading.flags == ()


@pytest.mark.parametrize(
    ("info", "flags"),
    [({}, ("no_result_event",)), ({"exit_status": "exit_cost"}, ("result_exit_cost",))],
)
def test_a_run_that_did_not_submit_is_flagged(info, flags):
    assert read(info=info).flags == flags


@pytest.mark.parametrize(
    ("text", "unfinished"),
    [
        ("Your bash command contained syntax errors and was NOT executed. Try again.", True),
        ("The command 'cat a' was cancelled because it took more than 30 seconds.", True),
        ("File src/x.py not found", False),
    ],
)
def test_an_observation_that_refuses_or_fails_is_no_content(text, unfinished):
    (call,) = read(trajectory=[step("open src/x.py", text)]).calls
    assert (call.result.is_error, call.result.is_unfinished) == (True, unfinished)
    assert touched(call) == []


@pytest.mark.parametrize(
    ("action", "call"),
    [
        (
            "str_replace_editor view /w/a.py --view_range 3 9",
            (
                "str_replace_editor",
                {"command": "view", "path": "/w/a.py", "view_range": [3, 9]},
            ),
        ),
        ("open a.py | head", ("bash", {"command": "open a.py | head"})),
        ("open 'a", ("bash", {"command": "open 'a"})),
        ("edit 3:9\nx = (1;\nend_of_edit", ("edit", {"path": "/w/o.py"})),
        ("search_file foo", ("search_file", {"pattern": "foo", "path": "/w/o.py"})),
        ("", ("bash", {"command": ""})),
    ],
)
def test_an_action_is_one_tool_or_a_shell_command(action, call):
    assert call_of(action, "/w/o.py") == call


def test_before_1_0_the_state_is_a_text_and_from_before_the_step():
    def shell(open_file):
        return json.dumps({"open_file": open_file, "working_dir": "/acme__widgets"}) + "\n"

    shown = "[File: /acme__widgets/{} (2 lines total)]\n1:import os\n2:\n"
    steps = [
        {"action": "open a.py\n", "observation": shown.format("a.py"), "state": shell("n/a")},
        {"action": "create b.py\n", "observation": shown.format("b.py")},
        {"action": "edit 1:1\nx\nend_of_edit\n", "observation": shown.format("b.py")},
        {"action": "set_cursors 1 2\n", "observation": shown.format("b.py")},
        {"action": "python b.py\n", "observation": "1\n", "state": shell("/acme__widgets/b.py")},
    ]
    steps[1]["state"] = steps[2]["state"] = shell("/acme__widgets/a.py")
    document = {"environment": "main", "trajectory": steps, "history": [], "info": {}}
    calls = read_document(document, "a.traj").calls
    assert [(c.name, c.arguments.get("path"), c.cwd) for c in calls] == [
        ("open", "a.py", "/acme__widgets"),
        ("create", "b.py", "/acme__widgets"),
        ("edit", "/acme__widgets/b.py", "/acme__widgets"),
        ("set_cursors", "/acme__widgets/a.py", "/acme__widgets"),
        ("bash", None, "/acme__widgets"),
    ]
    assert [t.path for t in interpret(calls[3]).targets] == ["/acme__widgets/b.py"]


@pytest.mark.parametrize(
    ("stated", "patch"),
    [
        ({"info": {"submission": "diff --git"}}, "diff --git"),
        ({"model_patch": "diff --git"}, "diff --git"),
        ({"info": {"submission": None}}, None),
    ],
)
def test_the_patch_that_was_handed_in_is_kept(stated, patch):
    assert read(**stated).submission == patch


def test_actions_that_were_not_recognised_are_unreadable_and_not_none():
    unread = {**step("", "a.py\n"), "response": "~~~run\nls\n~~~"}
    assert "calls_unreadable" in read(trajectory=[unread, unread]).flags
    assert "calls_unreadable" in read(trajectory=[], info={"model_stats": {"api_calls": 9}}).flags
    assert "calls_unreadable" not in read(trajectory=[step("ls", "a.py"), unread]).flags


@pytest.mark.parametrize(
    ("version", "templates", "is_cut"),
    [
        ("1.1.0", {}, False),
        ("1.1.0", {"max_observation_length": 9}, True),
        (None, {"max_observation_length": 9}, True),
    ],
)
def test_the_model_was_sent_the_beginning_of_a_long_observation(version, templates, is_cut):
    config = json.dumps({"agent": {"templates": templates}})
    shown = step("cat a.py", "a = 1\nb = 2\nc = 3")
    info = {"swe_agent_version": version}
    (call,) = read(trajectory=[shown], info=info, replay_config=config).calls
    assert call.result.text == (f"a = 1\nb =\n{CUT_HERE}" if is_cut else "a = 1\nb = 2\nc = 3")


@pytest.mark.parametrize(("version", "is_cut"), [("1.1.0", True), (None, False)])
def test_a_hundred_thousand_characters_were_sent_since_the_first_version(version, is_cut):
    shown = step("cat a.py", "x" * 100_001)
    (call,) = read(trajectory=[shown], info={"swe_agent_version": version}).calls
    assert (CUT_HERE in call.result.text) == is_cut
