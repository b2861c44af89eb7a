"""How answers are cut, whether calls finish, who delegates, what counters count.

Every harness and every format answers these questions, and where one does not, nothing is certain
about it.
"""

from __future__ import annotations

import pytest

from retrieval_eval.agents.events import extract_events
from retrieval_eval.agents.events.evidence import evidence
from retrieval_eval.agents.traces.dialects import DIALECTS, dialect_of
from retrieval_eval.agents.traces.formats import FORMATS, LineFormat, read_lines
from retrieval_eval.agents.traces.merge import join_trace
from retrieval_eval.agents.traces.reading import Reading
from retrieval_eval.agents.traces.tokens import Usage
from retrieval_eval.io.files import Line
from retrieval_eval.records import FileRef, GroundTruth, ToolCall, ToolResult, Trace

HARNESSES = [name for name, dialect in DIALECTS.items() if dialect.harnesses]


@pytest.mark.parametrize("question", ["cut", "finished", "delegated"])
@pytest.mark.parametrize("name", HARNESSES)
def test_every_harness_answers_each_question(name, question):
    assert getattr(DIALECTS[name], question), f"{name} does not say: {question}"


@pytest.mark.parametrize("name", list(FORMATS))
def test_every_format_says_what_its_counters_count(name):
    assert FORMATS[name].counters


def _said(call: ToolCall, *, harness: str | None, expected: str = "src/a.py") -> str:
    trace = join_trace(None, Reading("example", (call,), harness=harness, cwd="/testbed"))
    truth = GroundTruth(files=tuple(FileRef(path) for path in expected.split(",")), reason=None)
    found = evidence(extract_events(trace, truth))
    return ",".join(found.values())


def _events(call: ToolCall, harness: str | None) -> Trace:
    return join_trace(None, Reading("example", (call,), harness=harness, cwd="/testbed"))


LONG = "".join(f"line_{n} = {n}\n" for n in range(400))


def test_no_long_answer_of_an_unknown_harness_is_a_whole_file():
    """Some harnesses cut answers of 2,000 characters, and not all say so."""
    for harness, is_whole in (("claude-code", True), ("no-such-harness", False), (None, False)):
        call = ToolCall("1", "bash", {"command": "cat src/a.py"}, ToolResult(LONG))
        trace = _events(call, harness)
        truth = GroundTruth(files=(FileRef("src/a.py"),), reason=None)
        events = extract_events(trace, truth).events
        targets = [target for event in events for target in event.targets]
        assert [target.is_whole for target in targets] == [is_whole], harness


def test_of_several_files_in_its_long_answer_the_later_ones_are_possible():
    call = ToolCall("1", "bash", {"command": "cat src/a.py src/b.py"}, ToolResult(LONG))
    said = _said(call, harness="no-such-harness", expected="src/a.py,src/b.py")
    assert said.split(",")[1] == "possible"


def test_what_a_failed_command_of_an_unknown_harness_printed_is_possible():
    """Without a status, the text may be the message of a call that did not run."""
    call = ToolCall("1", "bash", {"command": "cat src/a.py"}, ToolResult("x = 1\n", is_error=True))
    assert _said(call, harness="no-such-harness") == "possible"
    done = ToolResult("x = 1\n", is_error=True, structured={"exit_code": 1})
    call = ToolCall("1", "bash", {"command": "cat src/a.py; false"}, done)
    assert _said(call, harness="no-such-harness") == "certain"


@pytest.mark.parametrize(
    ("tool", "is_missing"),
    [
        *[("run_subagent", True), ("spawn", True), ("delegate_work", True)],
        *[("wait_agent", True), ("read_agent", True), ("list_agents", False)],
    ],
)
def test_a_tool_of_an_unknown_harness_delegates_if_its_name_says_so(tool, is_missing):
    call = ToolCall("1", tool, {"prompt": "look"}, ToolResult("done"))
    assert ("subagent_calls_missing" in _events(call, "no-such-harness").flags) == is_missing


def test_a_format_that_does_not_say_what_it_counts_states_no_count(monkeypatch):
    def read(lines: object, name: str) -> Reading:
        call = ToolCall("1", "read_file", {"path": "a.py"}, ToolResult("x"))
        return Reading("silent", (Usage("m", 10, 5), call), declared_tokens=7, declared_cost_usd=1)

    monkeypatch.setattr(FORMATS, "_entries", dict(FORMATS.items()))
    entry = LineFormat(recognises=lambda line: "silent" in line, read=read, example=({},))
    FORMATS.add("silent", entry)
    found = read_lines([Line(1, {"silent": 1})], "x.jsonl")
    assert isinstance(found, Reading)
    assert (found.declared_tokens, found.declared_cost_usd, len(found.calls)) == (None, None, 1)
    assert join_trace(None, found).counted_tokens is None


def test_a_harness_without_a_dialect_has_answered_nothing():
    assert dialect_of("no-such-harness") is None
