import json
import tracemalloc
from itertools import chain

import pytest
from msgspec.structs import replace

from retrieval_eval.agents.events import TrialEvents, extract_events
from retrieval_eval.agents.events.document import coverage, event_document
from retrieval_eval.agents.metrics import measure
from retrieval_eval.agents.traces import read_trace
from retrieval_eval.agents.traces.formats import FORMATS, LineFormat
from retrieval_eval.agents.traces.tokens import Gap, Item, Usage
from retrieval_eval.io import spooled
from retrieval_eval.io.artefacts import encoded
from retrieval_eval.io.files import Line
from retrieval_eval.io.spooled import Spooled
from retrieval_eval.model.common import Provenance
from retrieval_eval.records import (
    Chunk,
    Event,
    FileRef,
    GroundTruth,
    Target,
    ToolCall,
    ToolResult,
)


def test_what_comes_back_from_the_file_is_what_went_in():
    items: list[Item] = [
        ToolCall("é", "Read", {"a": [1, None, {"b": 0.5}]}, ToolResult("x\n", {"n": 2**63})),
        Gap(),
        Usage("m", 3, 4),
        ToolCall("2", "Bash", {}, None, timestamp=1.5, cumulative_tokens=7),
    ]
    kept: Spooled[Item] = Spooled(Item, room=0)
    kept.extend(items)
    kept[1] = kept[3]
    assert not kept.is_small
    assert list(kept) == [items[0], items[3], items[2], items[3]]
    assert (len(kept), kept[-1], kept[1:3]) == (4, items[3], [items[3], items[2]])
    with pytest.raises(IndexError):
        kept[4]


def test_what_cannot_be_written_stays_in_memory(monkeypatch):
    huge = ToolCall("1", "Read", {"n": 10**30, "text": "\ud800"}, None)
    kept: Spooled[Item] = Spooled(Item, room=0)
    kept.extend([huge, Gap()])
    assert list(kept) == [huge, Gap()]
    kept[0] = Gap()
    assert list(kept) == [Gap(), Gap()]

    def refuse(**_):
        raise OSError("no room")

    monkeypatch.setattr(spooled.tempfile, "TemporaryFile", refuse)
    alone: Spooled[Item] = Spooled(Item, room=0)
    alone.append(huge)
    assert alone.done() == (huge,)


def lines(start, n):
    for i in range(start, start + n):
        call = {"type": "tool_use", "id": f"c{i}", "name": "Read"}
        call["input"] = {"file_path": f"/workspace/src/f{i % 7}.py"}
        told = {"id": f"m{i}", "content": [call], "usage": {"input_tokens": 9, "output_tokens": i}}
        yield {"type": "assistant", "sessionId": "s", "session_id": "s", "message": told}
        answer = {"type": "tool_result", "tool_use_id": f"c{i}", "content": f"1\timport f{i}"}
        if i % 5:
            yield {"type": "user", "sessionId": "s", "session_id": "s"} | {
                "message": {"content": [answer]},
                "parent_tool_use_id": None,
            }


@pytest.mark.parametrize("has_session", [False, True])
def test_a_large_trace_gives_the_same_events_from_a_file(tmp_path, monkeypatch, has_session):
    (tmp_path / "agent" / "sessions").mkdir(parents=True)
    init = {
        "type": "system",
        "subtype": "init",
        "tools": [],
        "session_id": "s",
        "cwd": "/workspace",
    }
    stream = map(json.dumps, chain([init], lines(0, 40)))
    (tmp_path / "agent" / "claude-code.txt").write_text("\n".join(stream))
    if has_session:
        session = map(json.dumps, lines(20, 40))
        (tmp_path / "agent" / "sessions" / "s.jsonl").write_text("\n".join(session))
    truth = GroundTruth(files=(FileRef("src/f3.py"),), reason=None)
    plain = read_trace(tmp_path)
    found = extract_events(plain, truth)
    monkeypatch.setattr(spooled, "ROOM", 0)
    large = read_trace(tmp_path)
    assert isinstance(large.calls, Spooled)
    assert tuple(large.calls) == plain.calls
    assert (large.flags, large.counted_tokens) == (plain.flags, plain.counted_tokens)
    again = extract_events(large, truth)
    assert tuple(again.events) == found.events
    assert again.ledger == found.ledger
    stated = Provenance(run_id="r", task_name="t", config_name="c", benchmark="b")
    document = event_document(again, provenance=stated, coverage=coverage(again, large, None))
    assert isinstance(document.events, Spooled)
    assert encoded(document) == encoded(replace(document, events=tuple(document.events)))


def test_neither_measuring_nor_encoding_holds_the_events_of_a_large_trial():
    files = [FileRef(f"src/f{i}.py") for i in range(7)]
    ways = ("opened", "listed", "matched", "written")
    spool: Spooled[Event] = Spooled(Event, room=0)
    n, each = 1000, "x" * 1000
    for i in range(n):
        target = Target(files[i % 7], ways[i % 4], lines=((i + 1, i + 3),), is_whole=i % 5 == 0)
        open_ones = (Target(files[0], "opened", doubt="no_result"),) if i % 9 == 0 else ()
        called = Event(i, i, f"c{i}", "Read", "file_read", is_mcp=False, targets=(target,))
        spool.append(replace(called, possible=open_ones, arguments={"text": f"{i}{each}"}))
    truth = GroundTruth(files=(files[3], files[0]), chunks=(Chunk(files[3], 1, 40),))
    small, large = (
        TrialEvents(e, truth, own_output=frozenset({files[5].key})) for e in (tuple(spool), spool)
    )
    assert measure(large) == measure(small)
    assert list(large.accesses) == list(large.accesses) == list(small.accesses)
    assert list(large.accesses)

    anew = TrialEvents(spool, truth)
    stated = Provenance(run_id="r", task_name="t", config_name="c", benchmark="b")
    covered = coverage(small, None, "no_trace")
    tracemalloc.start()
    try:
        document = event_document(anew, provenance=stated, coverage=covered)
        measure(anew)
        measuring = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        data = encoded(document)
        encoding = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert measuring < n * len(each) / 2
    assert n * len(each) < len(data) < encoding < 1.5 * len(data)


@pytest.mark.parametrize(
    "name", sorted(name for name, entry in FORMATS.items() if isinstance(entry, LineFormat))
)
def test_lines_of_every_format_are_read_without_keeping_their_calls(monkeypatch, name):
    def read():
        values = (Line(n, value) for n, value in enumerate(FORMATS[name].example, start=1))
        return FORMATS[name].read(values, "x.jsonl")

    plain = read()
    monkeypatch.setattr(spooled, "ROOM", 0)
    large = read()
    assert isinstance(plain.items, tuple)
    assert isinstance(large.items, Spooled)
    assert replace(large, items=tuple(large.items)) == plain
