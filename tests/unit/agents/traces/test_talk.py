"""What answers without a call that can be read, and the replies to them, look like."""

from __future__ import annotations

import time
from typing import Any

import pytest

from retrieval_eval.agents.traces.formats import read_document, read_lines
from retrieval_eval.agents.traces.merge import join_trace
from retrieval_eval.agents.traces.reading import (
    Reading,
    Unreadable,
    complains_of_format,
    holds_call,
    is_output,
    is_talk,
)
from retrieval_eval.io.files import Line


@pytest.mark.parametrize(
    "text",
    [
        "Your output was not formatted correctly. You must always include one discussion and one",
        "Your last output did not use any tool calls!\nPlease make sure your output includes",
        "Your last output included multiple tool calls!",
        "No action was found in the response. Answer with one.",
        "Found 0 actions in your last message.",
        "[ERROR] You did not use a tool in your previous response! Please retry with a tool use.",
        "Please always provide **EXACTLY ONE** action in triple backticks.",
        "Respond with a single bash code block.",
        "Error: parsing error: expected a JSON object",
        "Could not parse LLM output: I think",
        "Invalid or incomplete response",
        "Invalid Format: Missing 'Action:' after 'Thought:'",
        "The action could not be parsed.",
        "Exit due to repeated format/blocklist/bash syntax errors",
        "Please continue working on the task on whatever approach you think is suitable.",
    ],
)
def test_a_complaint_of_the_format_of_an_answer(text):
    assert complains_of_format(text)


@pytest.mark.parametrize(
    "text",
    [
        "a.py\nb.py\n",
        "import os\n\nx = 1\n",
        "bash: foo: command not found",
        "OBSERVATION: x = 1",
        "Your command ran successfully and did not produce any output.",
        "Thanks, and how do I sort it?",
        "New Terminal Output:\nu@h:/repo# cat a.py",
    ],
)
def test_no_complaint(text):
    assert not complains_of_format(text)


def test_an_answer_may_have_the_form_of_a_call():
    calls = [
        *("```\nls\n```", "I look.\n```bash\nls\n```", "~~~run\nls\n~~~", "<read_file>", "$ ls"),
        *("<|tool_call|>", '{"command": "ls"}', "Action: ls", "[TOOL_CALLS]", "run('ls')"),
    ]
    assert all(map(holds_call, calls))
    words = ["Hello!", "I would use `ls` (a command).", "Use this:\n```python\nprint(1)\n```"]
    assert not any(map(holds_call, words))
    assert [is_talk(text) for text in (words[1], "ls", calls[0])] == [True, False, False]


def test_a_reply_may_have_the_form_of_an_output():
    shown = ["Observation: x", "EXECUTION RESULT of [bash]: x", "<output>\nx", '{"returncode": 0}']
    shown += ["a.py\n(Open file: n/a)\n(Current directory: /w)\nbash-$"]
    assert all(map(is_output, shown))
    assert not any(map(is_output, ["Thanks.", "The output is wrong.", "a.py"]))


def _said(*texts: str) -> Any:
    roles = ("user", "assistant") * len(texts)
    said = [{"role": role, "content": text} for role, text in zip(roles, texts, strict=False)]
    return read_document({"messages": said}, "m.json")


def _messages(*texts: str) -> Reading:
    return _reading(_said(*texts))


def _reading(found: Any) -> Reading:
    assert isinstance(found, Reading), found
    return found


CHAT = ("Hello", "Hi, how can I help?", "Tell me of sorting.", "There are many ways.", "Thanks.")
CALL, SHOWN = "<execute>cat a.py</execute>", "x = 1"
REFUSED = "Your output was not formatted correctly. Please include one command."


def test_a_person_who_talks_with_an_agent_saw_all_of_it():
    assert _messages(*CHAT).flags == ()
    assert join_trace(None, _messages(*CHAT)).flags == ()
    assert _messages("Go.", *("I look.", REFUSED) * 2, CALL, REFUSED).flags == ()
    for work in ((CALL, SHOWN), ("I list the files.", "OBSERVATION: a.py")):
        assert isinstance(_said("Go.", *work * 2), Unreadable)


def _steps(*steps: tuple[str, str], observed: str | None = None) -> Reading:
    made: list[dict[str, Any]] = [
        {"step_id": n, "source": source, "message": text} for n, (source, text) in enumerate(steps)
    ]
    for step in made if observed else ():
        step["observation"] = {"results": [{"content": observed}]}
    agent = {"name": "my-agent", "version": "1"}
    document = {"schema_version": "ATIF-v1.7", "agent": agent, "steps": made}
    return _reading(read_document(document, "t.json"))


def test_what_a_harness_refused_was_no_call_in_a_trajectory():
    talk = [("user", CHAT[0]), *zip(("agent", "user") * 2, CHAT[1:], strict=True)]
    assert _steps(*talk).flags == ()
    assert _steps(("agent", "I look."), ("agent", "So."), observed=REFUSED).flags == ()
    unread = _steps(("agent", "I look."), ("agent", "So."), observed=SHOWN)
    assert "calls_unreadable" in unread.flags


def test_what_swe_agent_refused_was_no_call():
    def read(observation: str, status: str = "exit_cost") -> Reading:
        step = {"action": "", "observation": observation, "thought": "I think.", "state": {}}
        info = {"exit_status": status, "model_stats": {"api_calls": 8}}
        document = {"trajectory": [step] * 2, "info": info, "history": [], "environment": "main"}
        return _reading(read_document(document, "a.traj"))

    assert "calls_unreadable" not in read("Your last output did not use any tool calls!").flags
    assert "calls_unreadable" in read("a.py\n").flags
    assert "calls_unreadable" not in read("", "exit_format").flags


def test_requests_of_a_chat_are_no_work():
    def chat(number: int, text: str) -> dict[str, Any]:
        said = [{"role": "assistant", "parts": [{"type": "text", "content": text}]}]
        return {
            "traceId": "t",
            "spanId": str(number),
            "name": "chat m",
            "startTimeUnixNano": str(number * 10**9),
            "attributes": {"gen_ai.operation.name": "chat", "gen_ai.output.messages": said},
        }

    def read(*texts: str) -> Reading:
        lines = [Line(n, chat(n, text)) for n, text in enumerate(texts, start=1)]
        return _reading(read_lines(lines, "spans.jsonl"))

    assert "calls_unreadable" not in read(*CHAT[1::2]).flags
    assert "calls_unreadable" in read(CALL, CALL).flags


@pytest.mark.parametrize(
    "piece", ["your last ", "you must use a ", "a_(", "```", "<a_a ", "(a", " "]
)
def test_hostile_texts_take_no_time(piece):
    text = piece * (200_000 // len(piece))
    start = time.process_time()
    complains_of_format(text)
    holds_call(text)
    is_output(text)
    is_talk(text)
    assert time.process_time() - start < 1
