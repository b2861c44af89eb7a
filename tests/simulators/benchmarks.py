"""The task folders: what is asked, and where the ground truth is written down."""

from __future__ import annotations

import json
from typing import Any

from tests.simulators.moves import OWN_OUTPUT
from tests.simulators.plan import chunks_of
from tests.simulators.task import Task
from tests.simulators.workspace import Workspace


def task_files(task: Task) -> dict[str, bytes]:
    """Return the files of a task's folder by relative path."""
    files = {"task.toml": _toml(task), "instruction.md": _instruction(task)}
    writers = {
        "reference_fix": ("tests/reference_fix.patch", _patch),
        "expected_changes": ("tests/expected_changes.json", _changes),
        "defects": ("tests/expected_defects.json", _defects),
        "list": ("tests/ground_truth.json", _list),
        "objects": ("tests/ground_truth.json", _objects),
        "repo_paths": ("tests/ground_truth.json", _repo_paths),
        "files": ("tests/ground_truth.json", _files),
    }
    if task.truth_form in writers:
        name, write = writers[task.truth_form]
        files[name] = write(task)
    return {name: text.encode() for name, text in files.items()}


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _toml(task: Task) -> str:
    kind = task.suite.removeprefix("demo_")
    lines = [
        'version = "1.0"',
        "",
        "[metadata]",
        f'name = "{task.name}"',
        f'description = "How {task.topic} is handled in {task.projects[0].name}"',
        "",
        "[task]",
        f'id = "{task.name}"',
        f'category = "{kind}"',
        f'language = "{task.projects[0].language}"',
        f'difficulty = "{"hard" if task.difficulty > 0.5 else "medium"}"',
    ]
    if not task.is_multi_repo:
        project = task.projects[0]
        lines.append(f'repo = "retrieval-demo/{project.name}--{project.revision}"')
    else:
        for project in task.projects:
            folder = project.name
            if not task.has_clone_folders:
                folder = f"{project.name}--{project.revision}"
            lines += [
                "",
                "[[repos]]",
                f'url = "https://github.com/retrieval-demo/{project.name}"',
                f'rev = "{project.revision}"',
                f'path = "{folder}"',
            ]
    return "\n".join([*lines, "", "[verification]", 'type = "test"']) + "\n"


def _instruction(task: Task) -> str:
    names = " and ".join(project.name for project in task.projects)
    lines = [f"# {task.topic.capitalize()} in {names}", ""]
    if not task.truth:
        lines += [f"Give a tour of {names} with an eye on {task.topic}; there is no one answer."]
    elif task.is_reading:
        lines += [
            f"Find every file of {names} that decides how {task.topic} is handled.",
            "",
            f"Write the list to `{OWN_OUTPUT}` as JSON with the key `files`.",
        ]
    else:
        lines += [f"Change how {task.topic} is handled in {names}, and nothing else."]
    return "\n".join(lines) + "\n"


def _files(task: Task) -> str:
    return _json({"files": list(task.truth)})


def _list(task: Task) -> str:
    return _json(list(task.truth))


def _objects(task: Task) -> str:
    repository = task.projects[0].name
    return _json({"files": [{"path": path, "repo": repository} for path in task.truth]})


def _repo_paths(task: Task) -> str:
    project = task.projects[0]
    return _json({"files": [f"retrieval-demo/{project.name}::{path}" for path in task.truth]})


def _changes(task: Task) -> str:
    return _json({"task_id": task.name, "expected_files": list(task.truth)})


def _defects(task: Task) -> str:
    defects = [
        {
            "id": f"defect-{number}",
            "file": file,
            "line_start": first,
            "line_end": last,
            "defect_type": "logic",
            "description": f"The {task.topic} is taken from the wrong place.",
        }
        for number, (file, first, last) in enumerate(chunks_of(task), start=1)
    ]
    return _json({"defects": defects})


def _patch(task: Task) -> str:
    space = Workspace(task)
    parts = []
    for path in task.truth:
        number = space.hits(path)[0]
        before, old, after = space.lines(path)[number - 2 : number + 1]
        parts += [
            f"diff --git a/{path} b/{path}",
            f"--- a/{path}",
            f"+++ b/{path}",
            f"@@ -{number - 1},3 +{number - 1},3 @@",
            f" {before}",
            f"-{old}",
            f"+{old.replace(task.topic, f'checked_{task.topic}')}",
            f" {after}",
        ]
    return "\n".join(parts) + "\n"
