"""Whatever a trace file holds, reading it neither raises nor invents or loses calls."""

from __future__ import annotations

import copy
import json
import tempfile
from functools import reduce
from operator import getitem
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval_eval import extract_events, load_ground_truth, measure
from retrieval_eval.agents.traces import NoTraceError, Trace, read_trace
from retrieval_eval.agents.traces.formats import (
    FORMATS,
    DocumentFormat,
    LineFormat,
    read_document,
    read_lines,
)
from retrieval_eval.agents.traces.formats.atif import read_atif
from retrieval_eval.agents.traces.formats.cursor import read_cursor_document
from retrieval_eval.agents.traces.merge import join_trace, merge_calls
from retrieval_eval.agents.traces.reading import Reading, Unreadable
from retrieval_eval.agents.traces.results.payload import complete_json
from retrieval_eval.agents.traces.tokens import accumulate
from retrieval_eval.io.files import Line
from retrieval_eval.records import ToolCall
from tests.conftest import COSTLY

ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=()), max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=12,
)

ATIF = {
    "schema_version": "ATIF-v1.5",
    "session_id": "s",
    "agent": {"name": "openhands", "version": "1", "extra": {"cwds": ["/w"]}},
    "steps": [
        {
            "step_id": 1,
            "timestamp": "2026-03-13T16:33:07.430Z",
            "source": "agent",
            "message": "Running command: ls",
            "tool_calls": [
                {
                    "tool_call_id": "a",
                    "function_name": "execute_bash",
                    "arguments": {"command": "x"},
                }
            ],
            "observation": {"results": [{"source_call_id": "a", "content": "out"}]},
            "metrics": {"prompt_tokens": 5, "completion_tokens": 2, "extra": {"x": 1}},
            "extra": {"cwd": "/w", "tool_result_metadata": {"raw_tool_result": {"content": ""}}},
        },
        {"source": "corpus_builder"},
        {
            "source": "agent",
            "tool_calls": {"_corpus_truncated": True, "preview": '[{"tool_call_id": "b"'},
            "observation": {"_corpus_truncated": True, "preview": '{"results": [{"source'},
        },
    ],
    "subagent_trajectories": [{"trajectory_id": "t", "steps": []}],
    "final_metrics": {"total_prompt_tokens": 1},
}
LINES = [
    line for entry in FORMATS.values() if isinstance(entry, LineFormat) for line in entry.example
]


def places(value, path=()):
    yield path
    entries = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, entry in entries:
        yield from places(entry, (*path, key))


@st.composite
def mutated(draw, document):
    """The document with up to three of its values replaced by any JSON value."""
    document = copy.deepcopy(document)
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from([p for p in places(document) if p] or [()]))
        if not path:
            break
        parent = document
        for key in path[:-1]:
            parent = parent[key]
        parent[path[-1]] = draw(JSON)
    return document


def read(values):
    return read_lines([Line(n, v) for n, v in enumerate(values, start=1)], "f")


def assert_sound(reading):
    """A reading holds well-typed calls that can be written out."""
    if not isinstance(reading, Reading):
        assert reading.reason
        return
    for call in accumulate(reading.items):
        assert isinstance(call, ToolCall)
        assert call.name
        assert call.call_id
        assert isinstance(call.arguments, dict)
        assert call.timestamp is None or call.timestamp > 0
        assert call.cumulative_tokens is None or call.cumulative_tokens > 0
        texts = [call.name, call.call_id, call.where, call.cwd or ""]
        if call.result is not None:
            assert isinstance(call.result.text, str)
            assert isinstance(call.result.is_error, bool)
            texts += [call.result.text, json.dumps(call.result.structured, ensure_ascii=False)]
        texts.append(json.dumps(call.arguments, ensure_ascii=False))
        "".join(texts).encode("utf-8")


@given(mutated(ATIF))
def test_a_damaged_trajectory_is_read_or_refused(document):
    assert_sound(read_atif(document, "f"))


@given(JSON)
def test_any_json_is_read_or_refused(value):
    assert_sound(read([value]))
    assert_sound(read_atif({"schema_version": "ATIF-v1.2", "steps": [value]}, "f"))
    assert_sound(read_cursor_document({"steps": [value]}, "f"))


@given(st.lists(st.sampled_from(LINES), max_size=12))
def test_lines_of_several_formats_in_any_order_do_no_harm(lines):
    assert_sound(read(lines))


@given(
    st.binary(max_size=200),
    st.sampled_from(["trajectory.json", "claude-code.txt", "sessions/x.jsonl"]),
    st.integers(0, 400),
)
def test_any_bytes_in_any_file_give_a_trace_or_a_reason(noise, name, cut):
    lines = "\n".join(map(json.dumps, FORMATS["claude-code-stream-json"].example)).encode()
    text = lines if name != "trajectory.json" else json.dumps(ATIF).encode()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "agent" / name
        path.parent.mkdir(parents=True)
        path.write_bytes(text[:cut] + noise)
        try:
            trace, reason = read_trace(folder), None
        except NoTraceError as error:
            trace, reason = None, error.reason
    assert isinstance(trace, Trace) or reason


calls = st.builds(
    ToolCall,
    call_id=st.sampled_from("abcdefgh"),
    name=st.just("Bash"),
    arguments=st.fixed_dictionaries({"command": st.integers(0, 2)}),
    result=st.none(),
    timestamp=st.none() | st.floats(1, 100),
)


@given(st.lists(calls, max_size=8), st.lists(calls, max_size=8))
def test_weaving_loses_no_call_and_keeps_the_order_of_the_first_file(base, other):
    merged = merge_calls(base, other).items
    names = [(c.call_id, c.arguments["command"]) for c in merged]
    assert len(merged) <= len(base) + len(other)
    assert {c.call_id for c in merged} == {c.call_id for c in [*base, *other]}
    rest = iter(names)
    assert all((c.call_id, c.arguments["command"]) in rest for c in base)


@given(st.lists(calls, max_size=8))
def test_weaving_a_file_with_itself_changes_nothing(items):
    merged = merge_calls(items, items)
    assert merged.items == tuple(items)
    assert not merged.has_added
    assert merged.n_conflicts == 0


@given(JSON.filter(lambda value: isinstance(value, dict | list)), st.data())
def test_what_is_completed_from_a_cut_document_was_in_it(value, data):
    text = json.dumps(value)
    cut = data.draw(st.integers(0, len(text)))
    kept = complete_json(text[:cut], keep_cut_text=False)
    assert kept is None or is_part(kept, json.loads(text))


def is_part(part, whole):
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(key in whole and is_part(entry, whole[key]) for key, entry in part.items())
    if isinstance(part, list) and isinstance(whole, list):
        return len(part) <= len(whole) and all(map(is_part, part, whole))
    return type(part) is type(whole) and (part == whole or part != part)


WRITTEN = [
    pytest.param(entry, id=name)
    for name, entry in FORMATS.items()
    if isinstance(entry, DocumentFormat | LineFormat)
]


@pytest.mark.parametrize("entry", WRITTEN)
@COSTLY
@given(data=st.data())
def test_every_format_reads_its_example_with_any_values_in_it(entry, data):
    is_document = isinstance(entry, DocumentFormat)
    example = dict(entry.example) if is_document else [*entry.example]
    changed = data.draw(mutated(json.loads(json.dumps(example))))
    if is_document:
        readings = [read_document(changed, "f"), entry.read(changed, "f")]
    else:
        lines = [Line(n, value) for n, value in enumerate(changed, start=1)]
        readings = [read_lines(lines, "f"), entry.read(lines, "f"), read_document(changed, "f")]
    for reading in readings:
        assert isinstance(reading, Reading | Unreadable)
        if isinstance(reading, Reading):
            assert_sound(reading)
            join_trace(None, reading)


@pytest.mark.parametrize("entry", WRITTEN)
def test_values_deeper_than_functions_can_call_each_other_are_survived(entry):
    """JSON that is just not too deep for its decoder may be too deep for what follows."""
    deep = "x"
    for _ in range(3000):
        deep = {"a": deep}
    text, truth = json.dumps(entry.example), load_ground_truth(None)
    is_document = isinstance(entry, DocumentFormat)
    for *outer, last in [place for place in places(json.loads(text)) if place]:
        document = json.loads(text)
        reduce(getitem, outer, document)[last] = deep
        lines = [] if is_document else [Line(n, line) for n, line in enumerate(document, start=1)]
        reading = entry.read(document if is_document else lines, "f")
        if isinstance(reading, Reading):
            measure(extract_events(join_trace(None, reading), truth))
