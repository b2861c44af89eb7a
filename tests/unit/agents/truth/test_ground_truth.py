"""The priority chain as a whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from retrieval_eval.agents.truth import load_ground_truth
from retrieval_eval.records import Chunk, FileRef, Repository, Symbol


def task(root: Path, files: dict[str, Any]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return root


DIFF = "--- a/src/x.py\n+++ b/src/x.py\n@@ -1 +1 @@\n-a\n+b\n"
SOLVE = f"#!/bin/bash\ncat > /tmp/p.diff <<'EOF'\n{DIFF.replace('x.py', 'gold.py')}EOF\ngit apply\n"

CHAIN: list[tuple[str, Any, str, str]] = [
    ("tests/ground_truth.json", ["a/1.py"], "high", "a/1.py"),
    ("tests/ground_truth_agent.json", {"files": ["a/2.py"]}, "high", "a/2.py"),
    ("tests/oracle_answer.json", {"files": [{"repo": "o/r", "path": "a/3.py"}]}, "high", "a/3.py"),
    (
        "tests/expected_defects.json",
        [{"file": "a/4.py", "line_start": 1, "line_end": 1}],
        "high",
        "a/4.py",
    ),
    ("tests/expected_changes.json", {"expected_files": ["a/5.py"]}, "high", "a/5.py"),
    ("tests/reference_fix.patch", DIFF, "high", "src/x.py"),
    (
        "tests/task_spec.json",
        {"artifacts": {"oracle": {"required_files": [{"path": "a/6.py"}]}}},
        "high",
        "a/6.py",
    ),
    ("task.toml", '[[ground_truth.required_files]]\npath = "a/7.py"\n', "high", "a/7.py"),
    ("solution/solve.sh", SOLVE, "medium", "src/gold.py"),
    ("instruction.md", "Look at `lib/a/8.py` first.", "medium", "lib/a/8.py"),
    ("tests/test.sh", "grep -q foo lib/a/9.py", "low", "lib/a/9.py"),
]


@pytest.mark.parametrize("first", range(len(CHAIN)))
def test_the_first_source_that_yields_files_wins(tmp_path, first):
    task(tmp_path, {name: content for name, content, *_ in CHAIN[first:]})
    name, _, confidence, path = CHAIN[first]
    found = load_ground_truth(tmp_path)
    assert (found.source, found.confidence, found.reason) == (name, confidence, None)
    assert [f.path for f in found.files] == [path]
    assert found.problems == ()


def test_no_task_and_an_empty_task_have_no_ground_truth(tmp_path):
    for found in (load_ground_truth(None), load_ground_truth(tmp_path)):
        assert (found.files, found.source, found.reason) == ((), None, "no_ground_truth")


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        ("{\n  oops", "tests/ground_truth.json: not valid JSON (line 2, column 3"),
        ("3", "tests/ground_truth.json: expected a list or an object"),
        ('"a.py"', "tests/ground_truth.json: expected a list or an object"),
    ],
)
def test_a_broken_source_is_named_and_the_next_one_read(tmp_path, broken, sentence):
    task(
        tmp_path,
        {
            "tests/ground_truth.json": broken,
            "tests/expected_defects.json": [{"file": "a.py", "line_start": 2, "line_end": 3}],
        },
    )
    found = load_ground_truth(tmp_path)
    assert found.source == "tests/expected_defects.json"
    assert found.problems[0].startswith(sentence)


def test_a_source_that_is_not_utf8_is_named(tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/ground_truth.json").write_bytes(b'["a.py",\n"\xff"]')
    found = load_ground_truth(tmp_path)
    assert found.problems == ("tests/ground_truth.json: line 2 is not UTF-8",)


def test_a_link_out_of_the_task_is_not_followed(tmp_path):
    outside = tmp_path / "outside.json"
    outside.write_text('["secret.py"]')
    (tmp_path / "t" / "tests").mkdir(parents=True)
    (tmp_path / "t/tests/ground_truth.json").symlink_to(outside)
    found = load_ground_truth(tmp_path / "t")
    assert found.files == ()
    assert "link" in found.problems[0]


@pytest.mark.parametrize(
    ("stated", "confidence"),
    [("low", "low"), ("medium", "medium"), ("high", "high"), (0.4, "high"), (None, "high")],
)
def test_a_document_may_say_that_it_is_less_sure(tmp_path, stated, confidence):
    task(tmp_path, {"tests/ground_truth.json": {"files": ["a.py"], "confidence": stated}})
    assert load_ground_truth(tmp_path).confidence == confidence


def test_a_defect_without_lines_is_counted(tmp_path):
    task(tmp_path, {"tests/expected_defects.json": [{"file": "a.py"}]})
    found = load_ground_truth(tmp_path)
    assert found.problems == ("tests/expected_defects.json: 1 of 1 defects have no line range",)


def test_copies_of_the_original_are_no_source(tmp_path):
    task(tmp_path, {"tests/ground_truth.original.json": {"files": ["a.py"]}})
    assert load_ground_truth(tmp_path).reason == "no_ground_truth"


def test_lower_sources_give_what_the_winner_lacks(tmp_path):
    task(
        tmp_path,
        {
            "tests/ground_truth.json": {"files": ["lib::src/a.py", "lib::src/b.py"]},
            "tests/ground_truth_agent.json": {
                "files": ["src/other.py"],
                "symbols": [
                    {"file": "src/a.py", "symbol": "f", "repo": "org/lib--1f3c"},
                    {"file": "src/a.py", "symbol": "f", "repo": "org/lib--1f3c"},
                    {"file": "src/other.py", "symbol": "g", "repo": None},
                ],
                "expected_edit_files": ["src/b.py"],
            },
            "tests/expected_defects.json": {
                "defects": [
                    {"file": "src/b.py", "line_start": 5, "line_end": 9, "defect_type": "bug"},
                    {"file": "src/unrelated.py", "line_start": 1, "line_end": 2},
                ]
            },
        },
    )
    found = load_ground_truth(tmp_path)
    a, b = FileRef("src/a.py", "lib"), FileRef("src/b.py", "lib")
    assert found.files == (a, b)
    assert found.symbols == (Symbol(a, "f"),)
    assert found.chunks == (Chunk(b, 5, 9, "bug"),)
    assert found.expected_edit_files == (b,)
    assert found.repositories == (Repository("lib"),)


def test_symbols_come_from_the_task_specification(tmp_path):
    spec = {
        "artifacts": {
            "oracle": {
                "required_symbols": [{"repo": "org/lib", "path": "src/a.py", "symbol": "Widget"}]
            }
        }
    }
    task(tmp_path, {"tests/ground_truth.json": ["src/a.py"], "tests/task_spec.json": spec})
    assert load_ground_truth(tmp_path).symbols == (Symbol(FileRef("src/a.py"), "Widget"),)


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        ({}, None),
        ({"solution/solve.sh": SOLVE}, ["src/gold.py"]),
        ({"solution/solve.sh": SOLVE, "tests/expected.patch": DIFF}, ["src/x.py"]),
        (
            {"tests/expected.diff": DIFF, "tests/expected_changes.json": {"expected_files": ["c"]}},
            ["c"],
        ),
        ({"tests/ground_truth_agent.json": {"expected_edit_files": ["e.py"]}}, ["e.py"]),
        (
            {
                "tests/ground_truth_agent.json": {"expected_edit_files": ["e.py"]},
                "solution/solve.sh": SOLVE,
            },
            ["src/gold.py"],
        ),
    ],
)
def test_expected_edit_files_come_from_the_surest_source(tmp_path, extra, expected):
    task(tmp_path, {"tests/ground_truth.json": ["a.py"]} | extra)
    found = load_ground_truth(tmp_path).expected_edit_files
    assert (None if found is None else [f.path for f in found]) == expected


def test_edit_files_below_a_checkout_folder_are_the_ground_truth_files(tmp_path):
    task(
        tmp_path,
        {
            "tests/ground_truth.json": ["pandas/core/masked.py", "sklearn/utils/x.py"],
            "tests/expected_changes.json": {
                "expected_files": ["src/pandas/pandas/core/masked.py", "src/new/file.py"]
            },
        },
    )
    found = load_ground_truth(tmp_path)
    assert found.expected_edit_files == (
        FileRef("pandas/core/masked.py"),
        FileRef("src/new/file.py"),
    )


def test_ranges_that_are_none_are_counted(tmp_path):
    ranges = [(3, 4), (9, 3), (-1, 2), (1, None), ("5", "8")]
    chunks = [{"file": "a.py", "line_start": a, "line_end": b} for a, b in ranges]
    document = {"files": ["a.py"], "chunks": [*chunks, {"line_start": 1, "line_end": 2}, 7]}
    found = load_ground_truth(task(tmp_path, {"tests/ground_truth.json": document}))
    assert [(c.line_start, c.line_end) for c in found.chunks] == [(3, 4), (5, 8)]
    assert found.problems == (
        "tests/ground_truth.json: 5 of 7 chunks have no file or no line range",
    )


def test_placeholder_ranges_are_left_out_and_said_to_be(tmp_path):
    def chunk(file: str, start: int, end: int) -> dict[str, Any]:
        return {"file": file, "line_start": start, "line_end": end}

    document = {"files": ["a.py", "b.py"], "chunks": [chunk("a.py", 1, 50), chunk("b.py", 1, 50)]}
    found = load_ground_truth(task(tmp_path, {"tests/ground_truth.json": document}))
    assert found.chunks == ()
    assert "placeholder" in found.problems[0]
    document["chunks"] = [chunk("a.py", 1, 50), chunk("b.py", 10, 12)]
    found = load_ground_truth(task(tmp_path, {"tests/ground_truth.json": document}))
    assert [(c.file.path, c.line_start, c.line_end) for c in found.chunks] == [
        ("a.py", 1, 50),
        ("b.py", 10, 12),
    ]


def test_only_the_agents_own_output_is_no_retrieval_target(tmp_path):
    listed = ["/workspace/documentation.md", "/tmp/logs/agent/investigation.md"]
    task(tmp_path, {"tests/ground_truth.json": listed, "instruction.md": "See `src/a.py`."})
    found = load_ground_truth(tmp_path)
    assert (found.files, found.reason) == ((), "not_a_retrieval_target")
    assert found.not_retrieval_targets == tuple(listed)


def test_own_output_beside_files_is_kept_apart(tmp_path):
    task(
        tmp_path,
        {
            "tests/ground_truth.json": ["src/a.py", "/workspace/docs/REPORT.md"],
            "instruction.md": "Save the report to `/workspace/docs/REPORT.md`.",
        },
    )
    found = load_ground_truth(tmp_path)
    assert [f.path for f in found.files] == ["src/a.py"]
    assert found.not_retrieval_targets == ("/workspace/docs/REPORT.md",)
    assert found.output_files == ("/workspace/docs/REPORT.md",)


def test_an_instruction_that_names_only_its_output_is_no_ground_truth(tmp_path):
    task(tmp_path, {"instruction.md": "Write your answer to `/workspace/answer.json`."})
    found = load_ground_truth(tmp_path)
    assert (found.reason, found.output_files) == ("no_ground_truth", ("/workspace/answer.json",))


def test_clone_folders_of_several_repositories_name_the_repository(tmp_path):
    toml = "".join(
        f'[[repos]]\nurl = "https://github.com/acme/{name}"\npath = "{folder}"\n'
        for name, folder in (("tokio", "tokio"), ("hyper-http", "hyper"))
    )
    task(
        tmp_path,
        {
            "task.toml": toml,
            "tests/ground_truth.json": {"files": ["tokio/tokio/Cargo.toml", "hyper/Cargo.toml"]},
        },
    )
    found = load_ground_truth(tmp_path)
    assert found.files == (
        FileRef("tokio/Cargo.toml", "tokio"),
        FileRef("Cargo.toml", "hyper-http"),
    )
    assert found.repositories == (Repository("tokio", "tokio"), Repository("hyper-http", "hyper"))


def test_a_broken_task_toml_costs_nothing_but_itself(tmp_path):
    task(tmp_path, {"task.toml": "[task\n", "tests/ground_truth.json": ["a.py"]})
    found = load_ground_truth(tmp_path)
    assert [f.path for f in found.files] == ["a.py"]
    assert found.problems[0].startswith("task.toml: not valid TOML")
    assert "line 1" in found.problems[0]


@pytest.mark.parametrize(
    ("oracle", "files"),
    [
        ({"required_files": [{"repo": "o/r", "path": "a.py"}]}, ["r::a.py"]),
        ({"items": [{"file": "a.py", "symbol": "F"}]}, ["a.py"]),
        (
            {
                "required_files": [],
                "required_symbols": [{"repo": "o/r", "path": "a.py", "symbol": "F"}],
                "required_references": [{"repo": "o/q", "path": "b.py"}],
                "dependency_chains": [
                    {"steps": [{"repo": "o/r", "path": "a.py"}, {"repo": "o/r", "path": "c.py"}]},
                    None,
                ],
            },
            ["r::a.py", "q::b.py", "r::c.py"],
        ),
        ({"dependency_chains": "x", "items": [3]}, []),
    ],
)
def test_an_oracle_requires_files_itself_or_through_its_items(tmp_path, oracle, files):
    task(tmp_path, {"tests/task_spec.json": {"artifacts": {"oracle": oracle}}})
    assert [str(f) for f in load_ground_truth(tmp_path).files] == files


@pytest.mark.parametrize(
    ("entry", "file"),
    [
        ("widgets::src/a.py", "widgets::src/a.py"),
        ("acme/widgets::src/a.py", "widgets::src/a.py"),
        ("github.com/acme/widgets::src/a.py", "widgets::src/a.py"),
        ("https://github.com/acme/widgets::src/a.py", "widgets::src/a.py"),
        ("https://github.com/acme/widgets/blob/main/src/a.py", "widgets::src/a.py"),
        ("acme/widgets (release-1.16)::src/a.py", "widgets::src/a.py"),
        ("github.com/widgets::src/a.py", "widgets::src/a.py"),
        ("acme-io-widgets::src/a.py", "acme-io-widgets::src/a.py"),
        ("eval_variable.go", "eval_variable.go"),
        ("/workspace/src/a.py", "src/a.py"),
        ("src/.../a.py", "src/.../a.py"),
    ],
)
def test_every_way_to_write_an_entry(tmp_path, entry, file):
    task(tmp_path, {"tests/ground_truth.json": {"files": [entry, entry]}})
    assert [str(f) for f in load_ground_truth(tmp_path).files] == [file]


def test_what_cannot_be_read_is_told_apart_from_remarks(tmp_path):
    chunks = [{"file": "b.py", "line_start": 1, "line_end": 50}]
    task(
        tmp_path,
        {
            "tests/ground_truth.json": '{"files": ["a.py"',
            "tests/ground_truth_agent.json": {"files": ["b.py"], "chunks": chunks},
        },
    )
    truth = load_ground_truth(tmp_path)
    assert [f.path for f in truth.files] == ["b.py"]
    assert len(truth.unreadable) == 1
    assert truth.unreadable[0].startswith("tests/ground_truth.json: not valid JSON")
    assert len(truth.problems) == 2


def test_an_instruction_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "instruction.md").write_bytes(b"Look at lib/a.py\n\xff")
    found = load_ground_truth(tmp_path)
    assert found.reason == "no_ground_truth"
    assert found.problems == found.unreadable == ("instruction.md: line 2 is not UTF-8",)


def test_all_patches_of_a_solution_are_the_gold_patch(tmp_path):
    task(tmp_path, {"solution/solve.sh": SOLVE + SOLVE.replace("gold.py", "more.py")})
    found = load_ground_truth(tmp_path)
    assert [f.path for f in found.files] == ["src/gold.py", "src/more.py"]
    assert found.expected_edit_files == found.files


def test_all_patch_files_that_a_solution_names_are_the_gold_patch(tmp_path):
    script = "git apply one.patch\ngit apply two.patch\n"
    patches = {f"solution/{n}.patch": DIFF.replace("x.py", f"{n}.py") for n in ("one", "two")}
    found = load_ground_truth(task(tmp_path, {"solution/solve.sh": script, **patches}))
    assert [f.path for f in found.files] == ["src/one.py", "src/two.py"]
    assert found.source == "solution/one.patch"


ADDING = (
    "diff --git a/src/a.py b/src/a.py\n--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-a\n+b\n"
    "diff --git a/src/new.py b/src/new.py\nnew file mode 100644\n"
    "--- /dev/null\n+++ b/src/new.py\n@@ -0,0 +1 @@\n+b\n"
    "diff --git a/src/old.py b/src/moved.py\nrename from src/old.py\nrename to src/moved.py\n"
)


def test_a_file_that_the_reference_change_adds_is_not_expected_to_be_found(tmp_path):
    task(tmp_path, {"tests/reference_fix.patch": ADDING})
    found = load_ground_truth(tmp_path)
    assert [f.path for f in found.files] == ["src/a.py", "src/old.py"]
    assert [f.path for f in found.added_files] == ["src/new.py", "src/moved.py"]
    assert [f.path for f in found.expected_edit_files or ()] == [
        "src/a.py",
        "src/new.py",
        "src/old.py",
        "src/moved.py",
    ]


def test_a_list_written_by_hand_is_kept_as_it_is(tmp_path):
    listed = {"files": ["src/a.py", "src/new.py"]}
    task(tmp_path, {"tests/reference_fix.patch": ADDING, "tests/ground_truth.json": listed})
    found = load_ground_truth(tmp_path)
    assert [f.path for f in found.files] == ["src/a.py", "src/new.py"]
    assert [f.path for f in found.added_files] == ["src/moved.py"]


def test_a_change_that_only_adds_files_expects_none_to_be_found(tmp_path):
    patch = "--- /dev/null\n+++ b/src/new.py\n@@ -0,0 +1 @@\n+b\n"
    # The instruction names the file that is to be written, which is no file to be found.
    task(tmp_path, {"tests/expected.diff": patch, "instruction.md": "Write the helper src/new.py."})
    found = load_ground_truth(tmp_path)
    assert (found.files, found.reason) == ((), "only_added_files")
    assert [f.path for f in found.expected_edit_files or ()] == ["src/new.py"]
    assert [f.path for f in found.added_files] == ["src/new.py"]


def test_a_change_of_the_case_of_a_name_adds_no_file(tmp_path):
    patch = "diff --git a/src/A.py b/src/a.py\nrename from src/A.py\nrename to src/a.py\n"
    task(tmp_path, {"tests/reference_fix.patch": patch})
    found = load_ground_truth(tmp_path)
    assert ([f.path for f in found.files], found.added_files) == (["src/A.py"], ())
