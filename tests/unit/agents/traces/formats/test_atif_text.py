"""Trajectories (ATIF) that keep each answer of the model as it was, with its calls in the text."""

from __future__ import annotations

import json

import pytest

from retrieval_eval.agents.traces.formats import read_document


def trajectory(agent, *steps):
    numbered = [{"step_id": n, **step} for n, step in enumerate(steps, start=1)]
    about = {"name": agent, "version": "2.0.0", "model_name": "m"}
    return {"schema_version": "ATIF-v1.8", "session_id": "s", "agent": about, "steps": numbered}


def step(message, *shown):
    results = [{"source_call_id": None, "content": text} for text in shown]
    return {"source": "agent", "message": message, "observation": {"results": results}}


def outline(document):
    reading = read_document(document, "t.json")
    assert reading.problems == ()
    return [(c.name, c.result and c.result.text) for c in reading.calls], reading.flags


SCREEN = (
    "New Terminal Output:\n\nroot@x:/app# cat a.py\nx = 1\nroot@x:/app# ls\na.py\nroot@x:/app# "
)
TYPED = [{"keystrokes": "cat a.py\n", "duration": 0.1}, {"keystrokes": "ls\n"}]
XML = "".join(f"<keystrokes duration='0.1'>{one['keystrokes']}</keystrokes>\n" for one in TYPED)


@pytest.mark.parametrize(
    "message",
    [
        json.dumps({"analysis": "a", "plan": "p", "commands": TYPED}, indent=1),
        f"```json\n{json.dumps({'plan': 'p', 'commands': TYPED})}\n```",
        f"<response>\n<plan>p</plan>\n<commands>\n{XML}</commands>\n</response>",
    ],
    ids=["json", "fenced", "xml"],
)
def test_terminus_types_what_its_answer_holds(message):
    calls, flags = outline(trajectory("terminus-2", step(message, SCREEN)))
    assert calls == [("bash_command", "x = 1"), ("bash_command", "a.py")]
    assert flags == ()


def test_openhands_calls_one_function_in_its_answer():
    view = (
        "I look.\n<function=str_replace_editor>\n<parameter=command>view</parameter>\n"
        "<parameter=path>\n/w/a.py\n</parameter>\n</function>"
    )
    ran = "<function=execute_bash>\n<parameter=command>ls | grep '<a>'</parameter>\n"
    shown = "Here's the result of running `cat -n` on /w/a.py:\n     1\tx = 1"
    document = trajectory("openhands", step(view, shown), step(ran, "a.py"), step("Done."))
    calls, flags = outline(document)
    assert [name for name, _ in calls] == ["str_replace_editor", "execute_bash"]
    assert flags == ()
    reading = read_document(document, "t.json")
    assert [dict(c.arguments) for c in reading.calls] == [
        {"command": "view", "path": "/w/a.py"},
        {"command": "ls | grep '<a>'"},
    ]
