"""What task.toml and instruction.md say about the workspace."""

from __future__ import annotations

import pytest

from retrieval_eval.agents.truth.workspace import read_workspace
from retrieval_eval.records import Repository

TOML = """
[task]
repo = "sg-evals/llvm-project--a8f3c97d"
prompt = "Write your analysis to /workspace/analysis/IMPACT.md"

[artifacts]
required = ["answer", "/workspace/extra.json"]

[[repos]]
url = "https://github.com/tokio-rs/tokio"
path = "/workspace/tokio/"

[[repos]]
url = "https://github.com/hyperium/hyper.git"
"""


def test_repositories_and_outputs(tmp_path):
    (tmp_path / "task.toml").write_text(TOML)
    (tmp_path / "instruction.md").write_text("Save it as `/workspace/answer.json`.")
    found = read_workspace(tmp_path)
    assert found.repositories == (
        Repository("tokio", "tokio"),
        Repository("hyper"),
        Repository("llvm-project"),
    )
    assert set(found.output_files) == {
        "/workspace/answer.json",
        "/workspace/analysis/IMPACT.md",
        "/workspace/extra.json",
    }
    assert found.folders == (Repository("tokio", "tokio"),)


def test_wrong_types_say_nothing(tmp_path):
    (tmp_path / "task.toml").write_text('repos = 3\ntask = "x"\nartifacts = [1]\nrepo = 4\n')
    found = read_workspace(tmp_path)
    assert (found.repositories, found.output_files, found.problems) == ((), (), ())
    (tmp_path / "task.toml").write_text('repos = [1, {path = 3}, {}, "acme/w"]\n')
    assert read_workspace(tmp_path).repositories == (Repository("w"),)


@pytest.mark.parametrize(
    ("path", "folder"),
    [
        ("widgets", "widgets"),
        ("./widgets", "widgets"),
        ("/workspace/repos/widgets", "repos/widgets"),
        ("/app/widgets/", "widgets"),
        ("/ccb_crossrepo/src/widgets", "widgets"),
        ("/workspace", None),
        ("/app", None),
    ],
)
def test_a_folder_is_relative_to_the_workspace(tmp_path, path, folder):
    (tmp_path / "task.toml").write_text(f'[[repos]]\nurl = "https://h/o/w"\npath = "{path}"\n')
    assert read_workspace(tmp_path).repositories == (Repository("w", folder),)


def test_a_folder_outside_the_usual_ones_stays_absolute(tmp_path):
    (tmp_path / "task.toml").write_text('[[repos]]\nname = "w"\npath = "/home/dev/w/"\n', "utf-8")
    assert read_workspace(tmp_path).repositories == (Repository("w", "/home/dev/w"),)


@pytest.mark.parametrize(
    ("document", "primary"),
    [
        ('repo = "acme/widgets"', "widgets"),
        ('repo = "acme/widgets,acme/gears"', None),
        ('[[repos]]\nname = "widgets"\npath = "/workspace"', "widgets"),
        ('[[repos]]\nname = "widgets"\npath = "/workspace/w"', None),
        ("", None),
    ],
)
def test_the_only_repository_in_no_folder_of_its_own_is_the_primary(tmp_path, document, primary):
    (tmp_path / "task.toml").write_text(document, "utf-8")
    assert read_workspace(tmp_path).primary == primary
