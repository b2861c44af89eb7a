"""Inspect's evaluation logs."""

from __future__ import annotations

import json
import struct
import sys
import types
import zipfile
import zlib

import pytest

from retrieval_eval.agents.traces import NoTraceError, SeveralTracesError, read_trace
from retrieval_eval.agents.traces.formats.inspect_log import read_sample
from retrieval_eval.io import packed
from retrieval_eval.records import CUT_HERE

START = "2026-01-05T10:00:00+00:00"


def tool(call_id, function, arguments, result="", **more):
    return {
        "event": "tool",
        "type": "function",
        "timestamp": "2026-01-05T10:00:05+00:00",
        "completed": "2026-01-05T10:00:06+00:00",
        "id": call_id,
        "function": function,
        "arguments": arguments,
        "result": result,
        "truncated": None,
        "error": None,
        **more,
    }


def model(**usage):
    return {
        "event": "model",
        "uuid": "u1",
        "timestamp": START,
        "model": "anthropic/claude-x",
        "output": {"usage": usage},
    }


def sample(*events, number=1, **more):
    return {
        "id": f"task-{number}",
        "epoch": 1,
        "uuid": f"s{number}",
        "messages": [{"role": "user", "content": "Fix it."}],
        "events": list(events),
        "scores": {},
        "model_usage": {
            "anthropic/claude-x": {
                "input_tokens": 10,
                "output_tokens": 5,
                "input_tokens_cache_read": 85,
                "total_tokens": 100,
                "total_cost": 0.25,
            }
        },
        "attachments": {},
        **more,
    }


HEADER = {
    "version": 2,
    "status": "success",
    "eval": {"model": "anthropic/claude-x", "packages": {"inspect_ai": "0.3.260"}},
}
WHOLE = sample(
    model(input_tokens=10, output_tokens=5, input_tokens_cache_read=85, total_tokens=100),
    {"event": "sandbox", "action": "read_file", "file": "/repo/secret.py", "output": "x"},
    tool("c1", "bash", {"cmd": "cat src/a.py"}, "attachment://1f"),
    tool("c2", "read_file", {"file_path": "attachment://2f"}, "1\timport os"),
    attachments={"1f": "import os\n", "2f": "/repo/src/b.py"},
)


def log(*samples):
    return {**HEADER, "samples": list(samples)}


def archive(path, *samples, method=zipfile.ZIP_DEFLATED, header="header.json"):
    with zipfile.ZipFile(path, "w", method) as target:
        target.writestr(header, json.dumps(HEADER))
        target.writestr("summaries.json", "[]")
        for one in samples:
            name = f"samples/{one['id']}_epoch_{one['epoch']}.json"
            target.writestr(name, json.dumps(one))
    return path


def outline(trace):
    return [(c.call_id, c.name, dict(c.arguments), c.result and c.result.text) for c in trace.calls]


@pytest.mark.parametrize("shape", ["json", "eval", "unfinished", "sample"])
def test_the_one_sample_of_a_log_is_read(shape, tmp_path):
    path = tmp_path / "log.bin"
    if shape in ("eval", "unfinished"):
        header = "header.json" if shape == "eval" else "_journal/start.json"
        archive(path, WHOLE, header=header)
    else:
        path.write_text(json.dumps(WHOLE if shape == "sample" else log(WHOLE), indent=1))
    trace = read_trace(path)
    assert (trace.format, trace.flags, trace.problems) == ("inspect", (), ())
    assert (trace.harness, trace.model) == ("inspect-ai", "anthropic/claude-x")
    assert trace.harness_version == (None if shape == "sample" else "0.3.260")
    assert outline(trace) == [
        ("c1", "bash", {"cmd": "cat src/a.py"}, "import os\n"),
        ("c2", "read_file", {"file_path": "/repo/src/b.py"}, "1\timport os"),
    ]
    assert (trace.started_at, trace.finished_at) == (1767607200.0, 1767607206.0)
    assert (trace.declared_tokens, trace.counted_tokens, trace.declared_cost_usd) == (
        100,
        100,
        0.25,
    )
    assert [call.cumulative_tokens for call in trace.calls] == [100, 100]


def test_tokens_of_attempts_that_ended_in_an_error_count_and_are_flagged():
    failed = {"message": "boom", "events": [model(total_tokens=40), {"event": "state"}]}
    reading = read_sample({**WHOLE, "error_retries": [failed, failed, "odd"]}, HEADER, "l")
    assert reading.flags == ("sample_retried",)
    assert reading.declared_tokens == 180
    assert len([item for item in reading.items if hasattr(item, "call_id")]) == 2


@pytest.mark.parametrize("shape", ["json", "eval"])
def test_a_log_of_several_samples_lists_them_and_reads_the_named_one(shape, tmp_path):
    path, two = tmp_path / "log.bin", sample(tool("z", "bash", {"cmd": "ls"}), number=2)
    ten = WHOLE | {"id": "task-10"}
    if shape == "eval":
        archive(path, ten, two)
    else:
        path.write_text(json.dumps(log(two, ten)))
    with pytest.raises(SeveralTracesError) as caught:
        read_trace(path)
    assert caught.value.names == ("task-2_epoch_1", "task-10_epoch_1")
    assert read_trace(path, sample="task-2").calls[0].call_id == "z"
    with pytest.raises(SeveralTracesError, match="2 traces named 'task'"):
        read_trace(path, sample="task")


@pytest.mark.parametrize(
    ("error", "result", "state"),
    [
        ({"type": "timeout", "message": "Command timed out before completing."}, "", (True, True)),
        ({"type": "approval", "message": "no"}, "", (True, True)),
        ({"type": "file_not_found", "message": "File 'x' was not found."}, "", (True, True)),
        ({"type": "file_not_found", "message": "File 'x' was not found."}, "a", (True, False)),
        ({"type": "limit", "message": "too long"}, "a.py:3:x", (False, False)),
        ({"type": "limit", "message": "too long"}, "", (True, True)),
    ],
)
def test_the_kind_of_an_error_says_whether_the_call_ran(error, result, state):
    reading = read_sample(sample(tool("c", "bash", {}, result, error=error)), {}, "l")
    answer = reading.calls[0].result
    assert (answer.is_error, answer.is_unfinished) == state
    assert answer.text.removesuffix(f"\n{CUT_HERE}") == (result or error["message"])
    assert (CUT_HERE in answer.text) == (error["type"] == "limit" and bool(result))


def test_what_was_printed_before_a_call_was_ended_was_shown():
    late = {"type": "timeout", "message": "Command timed out before completing."}
    reading = read_sample(sample(tool("c", "bash", {}, "a.py", error=late)), {}, "l")
    answer = reading.calls[0].result
    assert (answer.text, answer.is_error) == ("a.py", True)
    assert (answer.is_stopped, answer.is_unfinished) == (True, False)


def test_messages_are_read_where_there_are_no_tool_events():
    messages = [
        {"role": "assistant", "tool_calls": [{"id": "c", "function": "grep", "arguments": {}}]},
        {"role": "tool", "tool_call_id": "c", "function": "grep", "content": "a.py:1:x"},
    ]
    reading = read_sample(sample(messages=messages), {}, "l")
    assert outline(reading) == [("c", "grep", {}, "a.py:1:x")]


def test_the_agent_of_a_tool_is_a_sub_agent_and_the_agent_of_the_sample_is_none():
    def span(identity, kind, parent=None):
        return {"event": "span_begin", "id": identity, "type": kind, "parent_id": parent}

    reading = read_sample(
        sample(
            span("solver", "solver"),
            span("main", "agent", "solver"),
            tool("c1", "bash", {}, span_id="main"),
            span("t", "tool", "main"),
            span("helper", "agent", "t"),
            tool("c2", "bash", {}, span_id="helper"),
        ),
        {},
        "l",
    )
    assert [(c.is_subagent, c.parent_id) for c in reading.calls] == [
        (False, None),
        (True, "helper"),
    ]


def test_a_tool_that_called_further_tools_is_a_sub_agent_by_its_span():
    def span(identity, parent=None):
        return {"event": "span_begin", "id": identity, "type": "tool", "parent_id": parent}

    reading = read_sample(
        sample(
            span("outer"),
            tool("c1", "search_agent", {}, span_id="outer"),
            span("inner", "outer"),
            tool("c2", "bash", {}, span_id="inner"),
        ),
        {},
        "l",
    )
    assert [(call.is_subagent, call.parent_id) for call in reading.calls] == [
        (False, None),
        (True, "outer"),
    ]
    assert (reading.sub_agents, reading.delegated) == ({"outer"}, {"c1": "outer"})


def test_older_logs_keep_the_events_of_a_sub_agent_in_its_call():
    inner = {"event": "subtask", "events": [tool("c2", "bash", {"cmd": "ls"}, "a.py")]}
    reading = read_sample(sample(tool("c1", "search_agent", {}, "done", events=[inner])), {}, "l")
    assert [(c.call_id, c.parent_id) for c in reading.calls] == [("c1", None), ("c2", "c1")]


def test_a_history_that_was_compacted_is_flagged_and_its_calls_are_kept():
    events = (tool("c1", "bash", {}), {"event": "compaction"}, tool("c2", "bash", {}))
    reading = read_sample(sample(*events), {}, "l")
    assert (len(reading.calls), reading.flags) == (2, ("context_compacted",))


def test_a_sample_that_ended_in_an_error_or_at_a_limit_is_flagged():
    ended = sample(WHOLE["events"][2], error={"message": "x"}, limit={"type": "token", "limit": 9})
    assert read_sample(ended, {}, "l").flags == ("sample_error", "sample_limit")


def zstd_archive(path):
    """An archive that says of its sample that it is compressed with zstd."""
    archive(path, WHOLE, method=zipfile.ZIP_STORED)
    data = bytearray(path.read_bytes())
    for mark, place in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        start = data.find(mark)
        while start >= 0:
            data[start + place : start + place + 2] = struct.pack("<H", 93)
            start = data.find(mark, start + 4)
    path.write_bytes(bytes(data))
    return path


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="Python reads zstd itself from 3.14 on")
def test_zstd_is_read_with_its_package(tmp_path, monkeypatch):
    path = zstd_archive(tmp_path / "log.eval")
    fake = types.ModuleType("zstandard")
    fake.ZstdDecompressor = lambda: types.SimpleNamespace(
        stream_reader=lambda stream, read_across_frames: stream
    )
    monkeypatch.setitem(sys.modules, "zstandard", fake)
    assert len(read_trace(path).calls) == 2


def test_an_archive_is_hostile(tmp_path, monkeypatch):
    path = archive(tmp_path / "log.eval", WHOLE)
    monkeypatch.setattr(packed, "LARGEST", 100)
    with pytest.raises(NoTraceError, match=r"larger than"):
        read_trace(path)
    monkeypatch.undo()
    with zipfile.ZipFile(tmp_path / "up.eval", "w") as target:
        target.writestr("samples/../../../outside.json", json.dumps(WHOLE))
        target.writestr("samples/b.json", "[" * 100_000)
    with pytest.raises(SeveralTracesError) as caught:
        read_trace(tmp_path / "up.eval")
    assert caught.value.names == ("../../../outside", "b")
    assert len(read_trace(tmp_path / "up.eval", sample="../").calls) == 2
    assert [entry.name for entry in sorted(tmp_path.parent.glob("outside*"))] == []
    with pytest.raises(NoTraceError, match=r"b.json: not valid JSON"):
        read_trace(tmp_path / "up.eval", sample="b")
    (tmp_path / "cut.eval").write_bytes(path.read_bytes()[:50])
    with pytest.raises(NoTraceError, match="the archive cannot be read"):
        read_trace(tmp_path / "cut.eval")


def test_a_member_whose_checksum_is_wrong_is_not_used(tmp_path):
    path = archive(tmp_path / "log.eval", WHOLE, method=zipfile.ZIP_STORED)
    data = path.read_bytes()
    crc = struct.pack("<L", zlib.crc32(json.dumps(WHOLE).encode()))
    assert data.count(crc) == 2
    path.write_bytes(data.replace(crc, b"\x00\x01\x02\x03"))
    with pytest.raises(NoTraceError, match="cannot be read"):
        read_trace(path)


@pytest.mark.parametrize("kind", ["limit", "output_limit"])
def test_an_output_over_its_limit_was_shown_up_to_it(kind):
    note = "\nThe output of your call to bash was too long to be displayed.\n"
    text = f"{note}Here is a truncated version:\n<START_TOOL_OUTPUT>\na.py\n<END_TOOL_OUTPUT>\n"
    stated = tool("c", "bash", {"cmd": "ls"}, text, error={"type": kind, "message": "over"})
    (call,) = read_sample(sample(stated), {}, "log.json").calls
    assert (call.result.is_error, call.result.is_unfinished) == (False, False)


def test_answers_with_calls_in_their_text_are_unreadable():
    written = {"role": "assistant", "content": "run(ls)"}
    reply = {"role": "user", "content": "a.py"}
    reading = read_sample(sample(messages=[written, reply] * 2), {}, "x")
    assert reading.flags == ("calls_unreadable",)
    assert read_sample(sample(messages=[reply, written]), {}, "x").flags == ()
    again = {
        "role": "user",
        "content": "Please proceed to the next step using your best judgement.",
    }
    assert read_sample(sample(messages=[written, again] * 3), {}, "x").flags == ()
    assert read_sample(sample(model(), model()), {}, "x").flags == ("calls_unreadable",)
