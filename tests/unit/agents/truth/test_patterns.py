"""Entries of a ground truth with a wildcard mean the files of a trial that they match."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval_eval.agents.events import extract_events
from retrieval_eval.agents.events.document import coverage
from retrieval_eval.agents.truth import expanded, load_ground_truth, stated_ground_truth
from retrieval_eval.records import FileRef, ToolCall, ToolResult, Trace
from tests.runs import write_task


def matches(pattern, path):
    truth = stated_ground_truth([pattern], "given")
    return bool(expanded(truth, [FileRef(path)]).files)


@pytest.mark.parametrize(
    ("pattern", "path", "is_matched"),
    [
        ("src/**/*.py", "src/a.py", True),
        ("src/**/*.py", "src/b/c/d.py", True),
        ("src/**/*.py", "lib/src/a.py", False),
        ("src/*.py", "src/b/a.py", False),
        ("**/*.py", "a.py", True),
        ("src/**", "src/b/c", True),
        ("src/**", "source/b", False),
        ("SRC/*.PY", "src/a.py", True),
        ("app/[slug]/*.tsx", "app/[slug]/page.tsx", True),
        ("app/[slug]/*.tsx", "app/s/page.tsx", False),
        ("**/**/a.py", "x/a.py", True),
        ("/workspace/src/*.py", "src/a.py", True),
    ],
)
def test_a_pattern_matches_whole_paths_by_folders(pattern, path, is_matched):
    assert matches(pattern, path) is is_matched


def test_a_pattern_of_a_repository_matches_its_files_only():
    truth = stated_ground_truth(["widgets::src/*.py"], "given")
    found = expanded(truth, [FileRef("src/a.py", "widgets"), FileRef("src/b.py", "gadgets")])
    assert [str(file) for file in found.files] == ["widgets::src/a.py"]


def test_a_file_that_is_listed_too_counts_once_and_is_not_marked():
    truth = stated_ground_truth(["src/a.py", "src/*.py"], "given")
    found = expanded(truth, [FileRef("src/a.py"), FileRef("src/b.py")])
    assert [str(file) for file in found.files] == ["src/a.py", "src/b.py"]
    assert [str(file) for file in found.expanded] == ["src/b.py"]


@given(st.text("a*/", max_size=300), st.text("a/b", max_size=300))
def test_no_pattern_takes_long_or_fails(pattern, path):
    matches(f"x/{pattern}", f"x/{path}")


def trial(task, *paths):
    calls = tuple(
        ToolCall(path, "Read", {"file_path": f"/workspace/{path}"}, ToolResult("1\timport os"))
        for path in paths
    )
    trace = Trace(calls, "test", "transcript", False, True, cwd="/workspace")
    events = extract_events(trace, load_ground_truth(task))
    return events, coverage(events, trace, None)


def test_a_task_with_patterns_is_expanded_for_each_trial_and_marked(tmp_path):
    task = write_task(tmp_path, "task", ["src/**/*.py", "docs/*.md"])
    first, covered = trial(task, "src/a.py", "src/b/c.py", "x.py")
    assert [str(file) for file in first.ground_truth.files] == ["src/a.py", "src/b/c.py"]
    assert "ground_truth_expanded" in covered.quality_flags
    assert covered.has_ground_truth
    first_note, second_note = covered.ground_truth_problems
    assert "'src/**/*.py' matches 2 files that the trace names" in first_note
    assert "'docs/*.md' matches no file that the trace names, so it cannot" in second_note
    _, other = trial(task, "src/other.py")
    assert other.ground_truth_digest == covered.ground_truth_digest


def test_patterns_that_match_nothing_are_no_ground_truth(tmp_path):
    task = write_task(tmp_path, "task", ["docs/*.md"])
    events, covered = trial(task, "src/a.py")
    assert events.ground_truth.files == ()
    assert (covered.has_ground_truth, covered.ground_truth_reason) == (False, "no_ground_truth")
