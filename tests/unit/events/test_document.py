from __future__ import annotations

import json

import pytest
from msgspec import structs

from retrieval_eval.events.document import event_document, iso
from retrieval_eval.events.normalise import extract_events
from retrieval_eval.model import from_builtins, to_builtins
from retrieval_eval.model.common import Coverage, Provenance
from retrieval_eval.model.events import EventDocument
from retrieval_eval.records import ToolCall, ToolResult, Trace
from retrieval_eval.schema import faults
from tests.trials import trial, truth

PROVENANCE = Provenance(run_id="r", task_name="t", config_name="c", benchmark="b")
COVERAGE = Coverage(
    has_trajectory=False,
    has_transcript=True,
    has_ground_truth=True,
    trace_source="transcript",
    degraded_reason=None,
)


@pytest.fixture
def measured():
    return trial(
        truth(
            "one::src/a.py",
            "two::src/a.py",
            edits=["one::src/a.py"],
            chunks=[("one::src/a.py", 3, 9)],
        ),
        ("matched", "one::src/b.py two::src/a.py", {"is_mcp": True, "server": "s"}),
        ("opened", "one::src/a.py", {"lines": ((1, 5),), "via": "shell"}),
        ("written", "one::src/a.py"),
        ("written", "/tmp/answer.md"),
    )


def document(events) -> dict:
    raw = event_document(events, provenance=PROVENANCE, coverage=COVERAGE)
    written = structs.replace(raw, generated_at="2026-01-01T00:00:00Z")
    return json.loads(json.dumps(to_builtins(written)))


def test_the_document_follows_its_schema(measured):
    assert faults(document(measured), "retrieval_events") == []


def test_the_seeds_fields_stand_in_the_document(measured):
    first = document(measured)["events"][0]
    assert first["target_files"] == ["src/b.py", "src/a.py"]
    assert first["hits_ground_truth"]
    assert first["matched_ground_truth_files"] == ["src/a.py"]
    assert first["targets"][1] == {
        "file": "src/a.py",
        "repository": "two",
        "access": "matched",
        "lines": None,
        "is_whole": False,
    }


def test_a_plain_1_0_document_is_read():
    plain = {
        "schema_version": "1.0",
        "generated_at": "2026-01-01T00:00:00Z",
        "provenance": to_builtins(PROVENANCE),
        "coverage": to_builtins(COVERAGE),
        "ground_truth": {"files": ["src/A.py"]},
        "events": [
            {
                "step_index": 0,
                "timestamp": None,
                "tool_name": "Grep",
                "tool_category": "code_search",
                "target_files": ["/workspace/src/a.py"],
                "is_mcp": False,
            }
        ],
    }
    read = from_builtins(plain, EventDocument, "old.json")
    assert read.ground_truth.files == ("src/A.py",)
    assert (read.events[0].target_files, read.events[0].targets) == (("/workspace/src/a.py",), ())


def test_iso_times():
    assert iso(0.0015) == "1970-01-01T00:00:00.001Z"
    assert iso(None) is None
    assert iso(1e300) is None


def test_a_file_below_a_folder_named_like_its_repository():
    paths = ("gcc--96df/gcc/a.cc", "gcc--96df/gcc/b.cc", "gcc--96df/b.cc")
    reads = tuple(
        ToolCall(path, "Read", {"file_path": f"/workspace/{path}"}, ToolResult("1\tx\n2\ty"))
        for path in paths
    )
    events = extract_events(Trace(reads, "test", "transcript", False, True), truth("gcc::gcc/a.cc"))
    written = document(events)["events"]
    assert [event["target_files"] for event in written] == [["gcc/a.cc"], ["gcc/b.cc"], ["b.cc"]]
    assert [event["hits_ground_truth"] for event in written] == [True, False, False]
