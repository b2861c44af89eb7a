from __future__ import annotations

import copy
import json
import subprocess
import sys
from contextlib import suppress
from importlib.metadata import EntryPoint

import pytest

from retrieval_eval.agents.traces import NoTraceError, read_trace
from retrieval_eval.agents.traces.dialects import DIALECTS
from retrieval_eval.agents.traces.formats import (
    FORMATS,
    DocumentFormat,
    FileFormat,
    LineFormat,
    StoreFormat,
    read_document,
    read_file,
    read_lines,
)
from retrieval_eval.agents.traces.merge import join_trace
from retrieval_eval.agents.traces.reading import Reading, Unreadable
from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import Line
from tests.generated import example_bytes, source_of

STREAM_INIT = {"type": "system", "subtype": "init", "tools": [], "mcp_servers": []}
CURSOR_INIT = {"type": "system", "subtype": "init", "model": "Opus", "permissionMode": "default"}


def read(*values):
    return read_lines((Line(n, v) for n, v in enumerate(values, start=1)), "agent/x.txt")


@pytest.mark.parametrize(
    ("values", "trace_format"),
    [
        ([STREAM_INIT], "claude-code-stream-json"),
        ([{"type": "user", "parent_tool_use_id": None}], "claude-code-stream-json"),
        (["noise", 3, STREAM_INIT], "claude-code-stream-json"),
        ([{"type": "assistant", "message": {"id": "m", "content": []}}], "claude-code-stream-json"),
        ([{"type": "assistant", "message": {"content": []}}], "claude-code-stream-json"),
        ([{"type": "queue-operation", "sessionId": "s"}], "claude-code-session-jsonl"),
        (
            [{"type": "summary"}, {"type": "user", "sessionId": "s", "message": {}}],
            "claude-code-session-jsonl",
        ),
        (
            [{"type": "system", "sessionId": "s", "parentUuid": None}],
            "claude-code-session-jsonl",
        ),
        ([CURSOR_INIT], "cursor-jsonl"),
        ([CURSOR_INIT, {"type": "user"}, {"type": "thinking", "text": "…"}], "cursor-jsonl"),
        ([{"type": "tool_call", "subtype": "started"}], "cursor-jsonl"),
        ([{"type": "assistant", "model_call_id": "c", "message": {}}], "cursor-jsonl"),
    ],
)
def test_formats_are_told_by_content(values, trace_format):
    reading = read(*values)
    assert isinstance(reading, Reading)
    assert reading.format == trace_format


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([], "agent/x.txt: the file is empty"),
        (
            [{"type": "item.completed"}, {"type": "a"}],
            "agent/x.txt: not a known trace format (found JSON lines of type a, item.completed)",
        ),
        ([{"a": 1}], "agent/x.txt: not a known trace format (found JSON lines without a type)"),
        ([None, "log line"], "agent/x.txt: not a known trace format (found text, no JSON lines)"),
        (
            # Other programs give their records a type and a session, too.
            [{"type": "effect", "sessionId": "s"}, {"type": "message", "sessionId": "s"}],
            "agent/x.txt: not a known trace format (found JSON lines of type effect, message)",
        ),
        (
            [{"type": {}, "sessionId": "s"}],
            "agent/x.txt: not a known trace format (found JSON lines without a type)",
        ),
    ],
)
def test_other_formats_are_refused_with_what_was_seen(values, reason):
    assert read(*values) == Unreadable(reason, is_unknown=bool(values))


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_a_format_declares_what_it_keeps_and_what_it_was_read_from(tmp_path, name):
    entry = FORMATS[name]
    (tmp_path / "example").write_bytes(example_bytes(entry))
    reading = read_file(tmp_path / "example", tmp_path)
    calls = reading.calls
    shown = {
        "times": any(call.timestamp is not None for call in calls),
        "tokens": reading.declared_tokens is not None or len(reading.items) > len(calls),
        "cost": reading.declared_cost_usd is not None,
        "model": reading.model is not None,
        "version": reading.harness_version is not None,
        "sub-agents": any(call.is_subagent for call in calls),
    }
    assert {item for item, is_kept in shown.items() if is_kept} <= set(entry.keeps)
    assert source_of(name)


def test_a_file_that_cannot_be_opened_says_why():
    assert read_lines([Line(0, None, "x: cannot be read")], "x") == Unreadable("x: cannot be read")


def test_the_first_line_that_proves_a_format_decides():
    cursor = {"type": "thinking"}
    session = {"type": "user", "sessionId": "s", "message": {}}
    stream = {"type": "user", "parent_tool_use_id": None}
    assert read({"type": "noise"}, cursor, session, stream).format == "cursor-jsonl"
    assert read(stream, cursor).format == "claude-code-stream-json"
    assert read({**stream, **cursor, **session}).format == "claude-code-session-jsonl"
    assert read({**stream, **cursor}).format == "cursor-jsonl"
    marked = {"type": "assistant", "message": {"id": "m"}, "model_call_id": "c"}
    assert read(marked).format == "claude-code-stream-json"
    assert read({**marked, "message": {}, **stream, "type": "assistant"}).format == "cursor-jsonl"


# What every format promises.


def entries():
    return [
        pytest.param(name, entry, id=name)
        for name, entry in FORMATS.items()
        if not isinstance(entry, FileFormat | StoreFormat)
    ]


def read_value(entry, example):
    if isinstance(entry, DocumentFormat):
        return read_document(example, "f")
    return read_lines([Line(n, v) for n, v in enumerate(example, start=1)], "f")


WITHOUT_RESULTS = ("cursor-transcript",)


@pytest.mark.parametrize(("name", "entry"), entries())
def test_a_format_is_recognised_by_its_example(name, entry):
    reading = read_value(entry, entry.example)
    assert isinstance(reading, Reading)
    assert reading == (
        entry.read(entry.example, "f")
        if isinstance(entry, DocumentFormat)
        else entry.read([Line(n, v) for n, v in enumerate(entry.example, start=1)], "f")
    )
    assert reading.problems == ()
    assert reading.has_agent
    assert any((call.result is not None) != (name in WITHOUT_RESULTS) for call in reading.calls)
    assert reading == read_value(entry, copy.deepcopy(entry.example)), "the input was changed"


@pytest.mark.parametrize(("name", "entry"), entries())
def test_a_call_without_a_name_is_complained_of(name, entry):
    """Wherever the example states the name of a tool, a call without it is not lost in silence."""
    whole = read_value(entry, entry.example)
    for place in places(entry.example):
        renamed = read_value(entry, replaced(entry.example, place, "own_tool"))
        names = [call.name for call in renamed.calls] if isinstance(renamed, Reading) else []
        if len(names) == len(whole.calls) and names.count("own_tool"):
            nameless = read_value(entry, replaced(entry.example, place, None))
            assert len(nameless.calls) == len(whole.calls) or any(
                "a tool call without a name" in problem for problem in nameless.problems
            )


# Lines of these are runs of their own.
RUNS = ("inspect-samples", "openhands-output")


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(entry, id=name)
        for name, entry in FORMATS.items()
        if isinstance(entry, LineFormat) and name not in RUNS
    ],
)
def test_a_line_that_cannot_be_used_is_named_and_the_others_are_read(entry):
    last = len(entry.example) + 1
    for broken in (Line(last, 3), Line(last, None, f"f: line {last}: not valid JSON")):
        lines = [Line(n, value) for n, value in enumerate(entry.example, start=1)]
        reading = read_lines([*lines, broken], "f")
        assert reading.calls == read_value(entry, entry.example).calls
        assert [flag for flag in reading.flags if flag.startswith("malformed_")]
        assert broken.problem in reading.problems or "expected a" in reading.problems[0]


@pytest.mark.parametrize(("name", "entry"), entries())
def test_a_format_survives_every_value_in_every_place(name, entry):
    """Each value of the example is replaced in turn; a reader answers and never raises."""
    for place in places(entry.example):
        for value in HOSTILE:
            reading = read_value(entry, replaced(entry.example, place, value))
            assert isinstance(reading, Reading | Unreadable), place
            if isinstance(reading, Reading):
                trace = join_trace(reading, None)
                json.dumps([dict(c.arguments) for c in trace.calls], ensure_ascii=False).encode()


@pytest.mark.parametrize(("name", "entry"), entries())
def test_a_format_survives_being_cut_anywhere(name, entry, tmp_path):
    is_document = isinstance(entry, DocumentFormat)
    values = [entry.example] if is_document else entry.example
    text = "\n".join(map(json.dumps, values))
    path = tmp_path / ("trajectory.json" if is_document else "claude-code.txt")
    for end in range(0, len(text), 7):
        path.write_text(text[:end], encoding="utf-8")
        with suppress(NoTraceError):
            assert read_trace(tmp_path).has_trajectory == is_document


def files():
    return [
        pytest.param(name, entry, id=name)
        for name, entry in FORMATS.items()
        if isinstance(entry, FileFormat | StoreFormat)
    ]


@pytest.mark.parametrize(("name", "entry"), files())
def test_a_file_is_recognised_by_its_first_bytes_and_survives_damage(name, entry, tmp_path):
    path = tmp_path / "trace.bin"
    example = example_bytes(entry)
    path.write_bytes(example)
    assert any(call.result is not None for call in read_trace(path).calls)
    step = max(1, len(example) // 300)
    for place in range(0, len(example), step):
        for changed in (
            example[:place],
            example[:place] + b"\xff\x00\xff\xff" + example[place + 4 :],
        ):
            path.write_bytes(changed)
            with suppress(NoTraceError):
                read_trace(path)


HOSTILE = (None, True, -1, 1e308, "", "\ud800", [], [[]], [None, 3], {}, {"type": {}}, {"id": []})


def places(value, above=()):
    """The way to every value inside a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, entry in inner:
        yield (*above, key)
        if isinstance(entry, dict | list | tuple):
            yield from places(entry, (*above, key))


def replaced(value, place, new):
    if not place:
        return new
    first, *rest = place
    if isinstance(value, dict):
        return {**value, first: replaced(value[first], rest, new)}
    return [replaced(v, rest, new) if i == first else v for i, v in enumerate(value)]


OUTSIDE = """
from retrieval_eval.records import ToolCall, ToolResult
from retrieval_eval.agents.traces.formats import LineFormat
from retrieval_eval.agents.traces.reading import Reading


def read(lines, name):
    calls = (line.value for line in lines if isinstance(line.value, dict))
    return Reading(
        "their-agent",
        tuple(
            ToolCall(str(c.get("id")), "read_file", {"path": c.get("file")}, ToolResult("x = 1"))
            for c in calls
        ),
    )


their_agent = LineFormat(
    recognises=lambda line: line.get("writer") == "their-agent",
    read=read,
    example=({"writer": "their-agent", "id": "1", "file": "/w/a.py"},),
    priority=10,
    file_names=("their-agent.log",),
)
"""


@pytest.mark.parametrize("registry", [FORMATS, DIALECTS], ids=["format", "dialect"])
def test_an_entry_that_cannot_be_used_is_named(registry, monkeypatch):
    for value, words in (("json:dumps", "is no"), ("no_such_module:x", "No module named")):
        points = [EntryPoint("theirs", value, registry.group)]
        monkeypatch.setattr("retrieval_eval.registry.entry_points", lambda group, p=points: p)
        fresh = type(registry)(registry.group, registry.noun)
        with pytest.raises(
            BadInputError, match=f"'theirs' cannot be loaded from {value}: .*{words}"
        ):
            fresh.load()


def test_another_distribution_adds_a_format(tmp_path):
    """An installed distribution with an entry point is enough, for detection and for reading."""
    site, trial = tmp_path / "site", tmp_path / "trial"
    (site / "theirs-1.0.dist-info").mkdir(parents=True)
    (site / "theirs.py").write_text(OUTSIDE, encoding="utf-8")
    metadata = {"METADATA": "Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n"}
    metadata["entry_points.txt"] = "[retrieval_eval.formats]\ntheir-agent = theirs:their_agent\n"
    for name, text in metadata.items():
        (site / "theirs-1.0.dist-info" / name).write_text(text, encoding="utf-8")
    (trial / "agent").mkdir(parents=True)
    # Its line also bears the mark of a format of this package: the priority decides.
    line = {"writer": "their-agent", "id": "1", "file": "/w/a.py", "parent_tool_use_id": None}
    (trial / "agent" / "their-agent.log").write_text(json.dumps(line), encoding="utf-8")
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from retrieval_eval.agents.traces import read_trace\n"
        "trace = read_trace(sys.argv[2])\n"
        "print(trace.format, *(call.arguments['path'] for call in trace.calls))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, site, trial], capture_output=True, text=True, check=True
    )
    assert done.stdout == "their-agent /w/a.py\n"
