"""From entries to files: repositories, clone folders, duplicates."""

from __future__ import annotations

import pytest

from retrieval_eval.agents.truth.shapes import Entry
from retrieval_eval.agents.truth.workspace import Aligner, Workspace, resolve
from retrieval_eval.records import FileRef, Repository

SEVERAL = Workspace((Repository("tokio", "tokio"), Repository("tonic", "tonic")))
NOTHING = Workspace()


def files(entries: list[Entry], workspace: Workspace = NOTHING) -> list[FileRef]:
    return list(resolve(entries, workspace, "s").files)


def test_paths_of_several_repositories_may_repeat_their_folder():
    listed = [Entry("tonic/tonic/Cargo.toml", "tonic"), Entry("tokio/Cargo.toml", "tokio")]
    assert files(listed, SEVERAL) == [
        FileRef("tonic/Cargo.toml", "tonic"),
        FileRef("Cargo.toml", "tokio"),
    ]
    one = Workspace((Repository("gcc", "gcc"),))
    assert files([Entry("gcc/asan.cc", "gcc")], one) == [FileRef("gcc/asan.cc", "gcc")]


def test_duplicates_and_paths_that_differ_in_case():
    found = resolve([Entry("a.py"), Entry("a.py"), Entry("A.py")], NOTHING, "tests/x.json")
    assert found.files == (FileRef("a.py"),)
    assert found.problems == ("tests/x.json: a.py and A.py count as one file",)


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
def test_align(ref, expected):
    known = [FileRef("src/a.py", "x"), FileRef("package.json", "x"), FileRef("package.json", "y")]
    known.append(FileRef("setup.py"))
    assert Aligner(known).align(ref) == expected


def test_folders_and_nonsense_are_no_files():
    found = resolve([Entry("src/"), Entry("a\x00b"), Entry("/workspace")], NOTHING, "s")
    assert found.files == ()
    assert len(found.problems) == 3
