from __future__ import annotations

import copy
import json

import pytest
from msgspec import structs

from retrieval_eval.agents.events import extract_events
from retrieval_eval.agents.events.document import event_document, iso, trial_events
from retrieval_eval.agents.metrics import measure
from retrieval_eval.errors import SchemaError
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


def read(document, name):
    return trial_events(from_builtins(document, EventDocument, name))


def document(events) -> dict:
    raw = event_document(events, provenance=PROVENANCE, coverage=COVERAGE)
    written = structs.replace(raw, generated_at="2026-01-01T00:00:00Z")
    return json.loads(json.dumps(to_builtins(written)))


def test_the_document_follows_its_schema_and_reads_back_the_same(measured):
    written = document(measured)
    assert faults(written, "retrieval_events") == []
    again = read(written, "document")
    assert measure(again) == measure(measured)
    assert document(again)["events"] == written["events"]


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
            },
            {
                "step_index": 1,
                "timestamp": None,
                "tool_name": "Write",
                "tool_category": "file_write",
                "target_files": ["src/new.py"],
                "is_mcp": False,
            },
        ],
    }
    block = measure(read(plain, "old.json"))
    assert block.file_level_metrics.file_recall == 1.0
    assert block.file_level_metrics.views["opened"].file_recall == 0.0
    assert block.utilization_probes.files_written == 1


def test_a_fault_is_named_by_pointer(measured):
    broken = copy.deepcopy(document(measured))
    broken["events"][2]["tool_category"] = "guessing"
    with pytest.raises(SchemaError, match=r"x\.json: /events/2/tool_category: .*'guessing'"):
        read(broken, "x.json")
    for nonsense in (None, [], "text", {}, {"schema_version": 1}):
        with pytest.raises(SchemaError, match=r"Expected|schema_version"):
            read(nonsense, "x.json")


def test_a_file_below_a_folder_named_like_its_repository_reads_back_the_same():
    paths = ("gcc--96df/gcc/a.cc", "gcc--96df/gcc/b.cc", "gcc--96df/b.cc")
    reads = tuple(
        ToolCall(path, "Read", {"file_path": f"/workspace/{path}"}, ToolResult("1\tx\n2\ty"))
        for path in paths
    )
    events = extract_events(Trace(reads, "test", "transcript", False, True), truth("gcc::gcc/a.cc"))
    again = read(document(events), "document")
    files = [t.file for event in again.events for t in event.targets]
    assert [f.path for f in files] == ["gcc/a.cc", "gcc/b.cc", "b.cc"]
    assert [event.matched for event in again.events] == [(0,), (), ()]


def test_iso_times():
    assert iso(0.0015) == "1970-01-01T00:00:00.001Z"
    assert iso(None) is None
    assert iso(1e300) is None
