"""From entries to files: repositories, clone folders, duplicates."""

from __future__ import annotations

import pytest

from retrieval_eval.agents.truth.resolve import Aligner, resolve
from retrieval_eval.agents.truth.source import Entry
from retrieval_eval.agents.truth.workspace import Workspace
from retrieval_eval.records import FileRef, Repository

SEVERAL = Workspace((Repository("tokio", "tokio"), Repository("tonic", "tonic")))
SINGLE = Workspace((Repository("flask", "flask"),))
NOTHING = Workspace()


def files(entries: list[Entry], workspace: Workspace = NOTHING) -> list[FileRef]:
    return list(resolve(entries, workspace, "s").files)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("kafka::a/B.java", FileRef("a/B.java", "kafka")),
        ("apache/kafka::a/B.java", FileRef("a/B.java", "kafka")),
        ("github.com/sg-evals/kafka--0753::a/B.java", FileRef("a/B.java", "kafka")),
        ("apache/flink (release-1.16)::a/B.java", FileRef("a/B.java", "flink")),
        ("https://github.com/acme/w/blob/main/a/b.py", FileRef("a/b.py", "w")),
        ("a/b.py", FileRef("a/b.py")),
        ("/workspace/a/b.py", FileRef("a/b.py")),
        ("eval_variable.go", FileRef("eval_variable.go")),
        ("./a//b.py", FileRef("a/b.py")),
    ],
)
def test_every_way_to_write_a_file(raw: str, expected: FileRef) -> None:
    assert files([Entry(raw)]) == [expected]


def test_the_repository_beside_the_path_is_its_identity() -> None:
    found = files([Entry("package.json", "lodash"), Entry("package.json", "acme/webpack--v5")])
    assert found == [FileRef("package.json", "lodash"), FileRef("package.json", "webpack")]


def test_a_clone_folder_names_the_repository_only_among_several() -> None:
    assert files([Entry("tokio/tokio/x.rs")], SEVERAL) == [FileRef("tokio/x.rs", "tokio")]
    assert files([Entry("flask/app.py")], SINGLE) == [FileRef("flask/app.py")]
    assert files([Entry("/workspace/flask/src/app.py")], SINGLE) == [FileRef("src/app.py", "flask")]


def test_a_folder_name_stands_for_its_repository() -> None:
    workspace = Workspace((Repository("elasticsearch", "es"),))
    assert files([Entry("x.java", "es")], workspace) == [FileRef("x.java", "elasticsearch")]


def test_paths_of_several_repositories_may_repeat_their_folder() -> None:
    listed = [Entry("tonic/tonic/Cargo.toml", "tonic"), Entry("tokio/Cargo.toml", "tokio")]
    assert files(listed, SEVERAL) == [
        FileRef("tonic/Cargo.toml", "tonic"),
        FileRef("Cargo.toml", "tokio"),
    ]
    one = Workspace((Repository("gcc", "gcc"),))
    assert files([Entry("gcc/asan.cc", "gcc")], one) == [FileRef("gcc/asan.cc", "gcc")]


def test_duplicates_and_paths_that_differ_in_case() -> None:
    found = resolve([Entry("a.py"), Entry("a.py"), Entry("A.py")], NOTHING, "tests/x.json")
    assert found.files == (FileRef("a.py"),)
    assert found.problems == ("tests/x.json: a.py and A.py count as one file",)


def test_folders_and_nonsense_are_no_files() -> None:
    found = resolve([Entry("src/"), Entry("a\x00b"), Entry("/workspace")], NOTHING, "s")
    assert found.files == ()
    assert len(found.problems) == 3


@pytest.mark.parametrize(
    ("ref", "expected"),
    [
        (FileRef("src/a.py"), FileRef("src/a.py", "x")),
        (FileRef("SRC/A.py", "X"), FileRef("src/a.py", "x")),
        (FileRef("src/a.py", "y"), None),
        (FileRef("checkout/x/src/a.py"), FileRef("src/a.py", "x")),
        (FileRef("package.json"), None),
        (FileRef("package.json", "y"), FileRef("package.json", "y")),
        (FileRef("deep/package.json"), None),
        (FileRef("other.py"), None),
        (FileRef("deep/setup.py"), None),
    ],
)
def test_align(ref: FileRef, expected: FileRef | None) -> None:
    known = [FileRef("src/a.py", "x"), FileRef("package.json", "x"), FileRef("package.json", "y")]
    known.append(FileRef("setup.py"))
    assert Aligner(known).align(ref) == expected
