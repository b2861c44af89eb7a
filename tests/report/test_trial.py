"""The page of one trial: what it shows of the trial's documents, and nothing else."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import retrieval_eval as rev
from retrieval_eval.errors import BadInputError
from retrieval_eval.report import Run, render
from retrieval_eval.report.columns import TRIAL_FRAMES
from retrieval_eval.report.trial import page_folders
from tests.factories import BASELINE, MCP, write_run
from tests.report.conftest import HOSTILE


def call(step: int, *targets: dict[str, Any], hits: tuple[str, ...] = (), **given: Any) -> Any:
    """Return an event that touched these targets."""
    return {
        "step_index": step,
        "call_index": step,
        "tool_name": "Read",
        "tool_category": "file_read",
        "is_mcp": False,
        "is_error": False,
        "is_opaque": False,
        "arguments": {},
        "target_files": [t["file"] for t in targets],
        "targets": list(targets),
        "hits_ground_truth": bool(hits),
        "matched_ground_truth_files": list(hits),
        **given,
    }


def touched(file: str, access: str = "opened", lines: Any = None, **given: Any) -> dict[str, Any]:
    return {"file": file, "repository": None, "access": access, "lines": lines, **given}


@pytest.fixture
def trial_of(tmp_path):
    """Return a function that makes a trial of a run of one task from events and ground truth."""

    def make(truth: dict[str, Any], *events: Any, privacy: bool = False, **coverage: Any) -> Any:
        folder = write_run(tmp_path, n_tasks=1, configs=(BASELINE,))
        path = folder / "0" / "0000.retrieval_events.json"
        document = json.loads(path.read_text()) | {"ground_truth": truth, "events": list(events)}
        path.write_text(json.dumps(document))
        metrics = folder / "0" / "0000.retrieval_metrics.json"
        changed = json.loads(metrics.read_text())
        changed["coverage"] |= coverage
        metrics.write_text(json.dumps(changed))
        return Run([folder]).trial(privacy=privacy)

    return make


def rows(frame: Any, *columns: str) -> list[tuple[Any, ...]]:
    plain = frame.astype("object").where(frame.notna(), None)
    return list(plain[list(columns)].itertuples(index=False, name=None))


def test_a_trial_is_found_by_its_name_its_folder_or_its_task(made_run):
    assert made_run.trial("task-003__0000001").facts["config_name"] == MCP
    assert made_run.trial("task-003", config=MCP).name == "task-003__0000001"
    assert made_run.trial().facts["task_name"] == "task-000"
    for place, folder in enumerate(made_run.trial_folders):
        assert made_run.trial(folder).place == place


@pytest.mark.parametrize("name", ["task-03", "task_003", "x" * 500, "\ud800", "../../etc"])
def test_an_unknown_trial_lists_the_closest(made_run, name):
    with pytest.raises(BadInputError, match=r"the closest are .*task-0"):
        made_run.trial(name)


def test_every_frame_carries_what_its_table_says(made_run):
    trial = made_run.trial("task-003")
    for name in TRIAL_FRAMES:
        shown = rev.table.show(trial.frame(name))
        assert shown.key != "show"
        assert shown.finding or name == "pages"


def test_steps_say_what_was_asked_and_what_came_back(trial_of):
    trial = trial_of(
        {"files": ["src/a.py", "src/b.py"]},
        call(
            0,
            touched("src/a.py", "matched", [[3, 4], [4, 6]]),
            touched("src/c.py", "matched", [[1, 1]]),
            hits=("src/a.py",),
            tool_name="Grep",
            tool_category="code_search",
            arguments={"pattern": "def a", "path": "/src"},
        ),
        call(1, tool_name="Bash", tool_category="other", arguments={"command": "cat src/a.py"}),
        call(
            2,
            touched("src/a.py", "opened", None, is_whole=True),
            hits=("src/a.py",),
            tool_name="cat",
            via="shell",
            call_index=1,
        ),
        call(3, arguments={"file_path": "gone.py"}, is_error=True),
        call(4, is_opaque=True, tool_name="mystery", tool_category="other"),
        call(5, touched("src/b.py", "written"), tool_name="Edit", tool_category="file_write"),
    )
    assert rows(trial.steps, "tool", "input", "came_back", "hits") == [
        (
            "Grep (code search)",
            "def a · in /src",
            "matched 2 files (5 lines): src/a.py, src/c.py",
            "first: src/a.py",
        ),
        ("Bash (other)", "cat src/a.py", "ran 1 command", None),
        (
            "cat (file read, in the shell)",
            "in the call of step 1",
            "read 1 file (whole): src/a.py",
            "again",
        ),
        ("Read (file read)", "gone.py", "failed", None),
        ("mystery (other)", None, "files not known", None),
        ("Edit (file write)", None, "wrote 1 file: src/b.py", None),
    ]
    assert list(trial.steps["status"]) == [*["served"] * 3, "failed", "unresolved", "served"]
    calls = rows(trial.calls, "tool", "came_back", "hits")
    assert len(calls) == 5
    assert calls[1] == ("Bash: cat", "read 1 file (whole): src/a.py", "again")
    assert rev.table.show(trial.calls).finding == "2 of 5 calls touch an expected file"


def test_an_expected_file_says_how_much_of_it_was_delivered(trial_of):
    chunks = [
        {"file": "src/a.py", "line_start": 10, "line_end": 19},
        {"file": "src/b.py", "line_start": 1, "line_end": 4},
        {"file": "src/c.py", "line_start": 5, "line_end": 6},
        {"file": "src/d.py", "line_start": 5, "line_end": 5},
    ]
    files = [f"src/{name}.py" for name in "abcd"]
    trial = trial_of(
        {"files": files, "chunks": chunks},
        call(0, touched("src/a.py", lines=[[1, 12], [11, 14]]), hits=("src/a.py",)),
        call(1, touched("src/b.py"), hits=("src/b.py",)),
        call(2, touched("src/c.py", is_whole=True), hits=("src/c.py",)),
    )
    shares = [("src/a.py", 0.5), ("src/b.py", None), ("src/c.py", 1.0), ("src/d.py", 0.0)]
    assert rows(trial.ground_truth, "file", "share") == shares


def test_files_of_one_name_in_two_repositories_are_told_apart(trial_of):
    truth = {"files": ["package.json", "package.json"], "repositories": ["lodash", "webpack"]}
    trial = trial_of(
        truth,
        call(0, touched("package.json", repository="lodash"), hits=("package.json",)),
        call(1, touched("package.json", repository="webpack"), hits=("package.json",)),
    )
    found = [list(files) for files in trial.events["matched_ground_truth_files"]]
    assert found == [["lodash::package.json"], ["webpack::package.json"]]
    assert list(trial.calls["hits"]) == ["lodash::package.json", "webpack::package.json"]


def test_a_range_of_lines_of_any_size_is_counted_without_listing_it(trial_of):
    trial = trial_of({"files": []}, call(0, touched("a.py", lines=[[1, 10**12]])))
    assert list(trial.steps["n_lines"]) == [10**12]


def test_every_ground_truth_file_has_a_status(trial_of):
    trial = trial_of(
        {"files": ["a.py", "b.py", "c.py", "d.py"]},
        call(0, touched("b.py", "listed"), touched("a.py", "listed"), hits=("b.py", "a.py")),
        call(1, touched("a.py"), hits=("a.py",)),
        call(2, touched("a.py", "written"), hits=("a.py",)),
        call(3, touched("c.py"), hits=("c.py",)),
    )
    assert rows(
        trial.ground_truth, "file", "status", "first_step", "opened_step", "written_step"
    ) == [
        ("a.py", "edited", 0, 1, 2),
        ("b.py", "seen", 0, None, None),
        ("c.py", "read", 3, 3, None),
        ("d.py", "missed", None, None, None),
    ]
    assert rev.table.show(trial.ground_truth).finding == (
        "4 ground-truth files: 1 edited, 1 read, 1 seen, 1 missed"
    )


def test_a_file_that_an_incomplete_trace_does_not_hold_is_not_called_missed(trial_of):
    trial = trial_of({"files": ["a.py"]}, call(0, touched("b.py")), degraded_sources=["trace"])
    assert list(trial.ground_truth["status"]) == ["not in the trace"]


def test_a_private_trial_lists_what_it_leaves_out(trial_of):
    trial = trial_of(
        {"files": []},
        call(0, arguments={"command": "rm SECRET", "description": "SECRET"}),
        call(1, arguments={"query": "SECRET"}),
        call(2, arguments={"file_path": "SECRET", "content": "SECRET"}),
        privacy=True,
    )
    assert rows(trial.redacted, "kind", "n") == [
        ("Commands", 1),
        ("Queries and patterns", 1),
        ("Prompts and descriptions", 1),
        ("File content", 1),
        ("Other arguments of tools", 1),
    ]
    assert trial.steps["input"].isna().all()
    assert trial.events["arguments"].isna().all()
    for name in TRIAL_FRAMES:
        assert "SECRET" not in trial.frame(name).to_csv()
    assert rev.table.show(trial.redacted).finding.startswith("5 items left out")


def test_hostile_text_of_a_trace_stays_text_in_every_form(trial_of, executed):
    evil = "<script>alert(1)</script> `x` {{< include y >}} = #evil \u202e]()\x1b[2J"
    trial = trial_of(
        {"files": [evil], "chunks": [{"file": evil, "line_start": 1, "line_end": 2}]},
        call(
            0,
            touched(evil, lines=[[1, 1]]),
            touched(f"{evil}2"),
            hits=(evil,),
            tool_name=evil,
            arguments={"command": evil, evil: [evil, {evil: evil}]},
        ),
    )
    notebook = executed(trial.run, "trial_report")
    html = render.to_html(notebook, title="t", footer="f")
    assert "<script>alert" not in html
    assert html.count("&lt;script&gt;alert(1)") > 5
    text = json.dumps(notebook)
    assert "\x1b" not in text
    assert "\u202e" not in json.loads(text).__repr__()
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            assert "{{<" not in output["data"]["text/markdown"]


def test_a_folder_that_was_excluded_has_a_page_with_the_reason(tmp_path, executed):
    left_out = {
        "path": "batch/task-x__broken",
        "config_name": BASELINE,
        "reason": "nothing_recorded",
        "detail": None,
    }
    run = Run([write_run(tmp_path, n_tasks=2, excluded=(left_out,))])
    trial = run.trial("task-x__broken")
    (sentence,) = trial.block().sentences
    assert sentence == (
        "This folder was excluded from the evaluation: the folder is named like a trial "
        "but holds neither result nor trace."
    )
    assert all(len(trial.frame(name)) == 0 for name in TRIAL_FRAMES)
    html = render.to_html(
        executed(run, "trial_report", trial="task-x__broken"), title="t", footer="f"
    )
    assert "was excluded from the evaluation" in html


@dataclass
class Entry:
    """What the name of a page's folder depends on."""

    trial_name: str
    config_name: str = "base"
    task_name: str = "t"
    events_file: str = ""


@dataclass
class Files:
    """A trial of a run summary."""

    entry: Entry
    run_id: str = "r"
    folder: Path = field(default_factory=Path)


def folders(*entries: Entry) -> tuple[str, ...]:
    made = [Files(e) for e in entries]
    return page_folders(made)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [*HOSTILE, "../../etc/passwd", "..", "/", "C:\\x", "a/../b", ""])
def test_no_name_leaves_the_folder_of_the_trials(name):
    (found,) = folders(Entry(name, name))
    assert found == Path(found).name
    assert found not in ("", ".", "..")
    assert len(found.encode()) <= 255
    assert re.fullmatch(r"[\w.@+-]+", found)


def test_trials_of_equal_names_have_folders_of_their_own():
    entries = [
        Entry("a b", events_file="1"),
        Entry("a/b", events_file="2"),
        Entry("A_B", events_file="3"),
        Entry("a b", events_file="4"),
        Entry("x" * 400, "one", events_file="5"),
        Entry("x" * 400, "two", events_file="6"),
        Entry("other", events_file="7"),
    ]
    found = folders(*entries)
    assert len({name.casefold() for name in found}) == len(entries)
    assert found[-1] == "other@base"
    assert folders(*entries) == found
