"""Runs by name and by path."""

from __future__ import annotations

from pathlib import Path

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.io.layout import find_runs, resolve_runs


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("official/run_b", "official/run_c", "staging/run_c", "run_a", ".git"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "notes.txt").write_text("x")
    return tmp_path


def test_runs_lie_in_the_root_or_in_its_groups(root: Path) -> None:
    assert [p.relative_to(root).as_posix() for p in find_runs(root)] == [
        "run_a",
        "official/run_b",
        "official/run_c",
        "staging/run_c",
    ]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("run_a", "run_a"),
        ("run_b", "official/run_b"),
        ("official/run_c", "official/run_c"),
        (" run_a/ ", "run_a"),
    ],
)
def test_names(root: Path, name: str, expected: str) -> None:
    assert resolve_runs([name], root) == (root / expected,)


def test_paths_and_repeats(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert resolve_runs([str(root / "official/run_b"), "run_b"], root) == (root / "official/run_b",)
    monkeypatch.chdir(root / "official")
    assert resolve_runs(["run_c", "../run_a"], None) == (root / "official/run_c", root / "run_a")
    monkeypatch.chdir(root / "run_a")
    assert resolve_runs(["."], None)[0].name == "run_a"


def test_a_wrong_name_lists_the_closest(root: Path) -> None:
    with pytest.raises(BadInputError, match=r"no run 'RUN_B2' in .*; closest names: run_b"):
        resolve_runs(["RUN_B2"], root)
    with pytest.raises(BadInputError, match=r"among the 4 runs"):
        resolve_runs(["zzz"], root)
    with pytest.raises(BadInputError, match="RETRIEVAL_EVAL_RUNS_ROOT"):
        resolve_runs(["zzz"], None)
    with pytest.raises(BadInputError):
        resolve_runs([""], root)


def test_a_name_in_two_groups_is_not_guessed(root: Path) -> None:
    with pytest.raises(BadInputError, match="official/run_c, staging/run_c"):
        resolve_runs(["run_c"], root)


def test_a_wrong_root_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="not a folder"):
        resolve_runs(["x"], tmp_path / "nowhere")


def test_a_file_is_no_run(root: Path) -> None:
    with pytest.raises(BadInputError):
        resolve_runs(["notes.txt"], root)


def test_neither_a_folder_of_a_run_nor_a_group_is_a_run(root: Path) -> None:
    (root / "run_a/baseline").mkdir()
    for name in ("baseline", "official", "./staging/"):
        with pytest.raises(BadInputError, match="no run"):
            resolve_runs([name], root)
    with pytest.raises(BadInputError, match="not a folder"):
        find_runs(root / ("a" * 300))
