"""The task folders hold what their kind of ground truth needs."""

from __future__ import annotations

import json
from pathlib import Path

from unidiff import PatchSet

from tests.simulators import DemoPlan
from tests.simulators.tasks import TASKS
from tests.simulators.workspace import Workspace


def test_every_ground_truth_file_exists_or_is_to_be_created() -> None:
    for task in TASKS:
        known = set(task.files()) | set(task.new_files)
        assert set(task.truth) <= known, task.name
        assert len(set(task.truth)) == len(task.truth), task.name


def test_the_patch_is_a_valid_diff_of_the_expected_files(
    demo_tree: Path, demo_plan: DemoPlan
) -> None:
    (task,) = [t for t in demo_plan.tasks if t.source == "reference_fix.patch"]
    folder = demo_tree / "benchmarks" / task.benchmark / task.task_name
    patch = PatchSet((folder / "tests/reference_fix.patch").read_text(encoding="utf-8"))
    assert [file.path for file in patch] == list(task.expected_edit_files or ())
    assert all((file.added, file.removed) == (1, 1) for file in patch)


def test_line_ranges_lie_inside_their_files(demo_tree: Path, demo_plan: DemoPlan) -> None:
    (plan,) = [t for t in demo_plan.tasks if t.chunks]
    task = next(t for t in TASKS if t.name == plan.task_name)
    space = Workspace(task)
    for file, first, last in plan.chunks:
        assert 1 <= first <= last <= len(space.lines(file))
    folder = demo_tree / "benchmarks" / plan.benchmark / plan.task_name
    defects = json.loads((folder / "tests/expected_defects.json").read_text(encoding="utf-8"))
    stored = [(d["file"], d["line_start"], d["line_end"]) for d in defects["defects"]]
    assert stored == list(plan.chunks)


def test_the_task_without_ground_truth_names_no_path(demo_tree: Path, demo_plan: DemoPlan) -> None:
    (task,) = [t for t in demo_plan.tasks if not t.files]
    folder = demo_tree / "benchmarks" / task.benchmark / task.task_name
    assert not (folder / "tests").exists()
    assert "/" not in (folder / "instruction.md").read_text(encoding="utf-8")


def test_only_tasks_that_want_an_answer_file_say_where(demo_tree: Path) -> None:
    for task in TASKS:
        text = (demo_tree / "benchmarks" / task.suite / task.name / "instruction.md").read_text()
        wants = task.is_reading and bool(task.truth)
        assert ("/workspace/answer.json" in text) == wants
