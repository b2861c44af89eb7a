"""The project file: found from a folder below it, checked, and relative to itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.io.user_files import project
from retrieval_eval.model.design import PROJECT_FILE

STATED = """
gold = "gold/set.jsonl"
renderer = "embedded"
runs = "runs"

[backlog]
source = "items.jsonl"

[study]
alpha = 0.01
"""


@pytest.fixture
def stated(tmp_path, monkeypatch):
    def write(text):
        (tmp_path / PROJECT_FILE).write_text(text)
        below = tmp_path / "notebooks"
        below.mkdir()
        monkeypatch.chdir(below)
        return project()

    return write


def test_a_folder_below_finds_the_file_and_paths_are_relative_to_it(stated):
    found = stated(STATED)
    assert found.gold_set == Path("../gold/set.jsonl")
    assert found.data_folder == Path("../data/eval")
    assert (found.runs, found.renderer, found.backlog.source) == (
        "runs",
        "embedded",
        "items.jsonl",
    )
    assert found.study == {"alpha": 0.01}


def test_a_file_outside_of_the_repository_is_none_of_ours(tmp_path, monkeypatch):
    (tmp_path / PROJECT_FILE).write_text('gold = "other.jsonl"')
    inside = tmp_path / "checkout"
    (inside / ".git").mkdir(parents=True)
    monkeypatch.chdir(inside)
    assert project().gold_set == Path("data/eval/gold-set.jsonl")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("glod = 1", "glod"),
        ("gold = 1", r"\$.gold"),
        ("jobs = 0", "jobs"),
        ("path = 'x'", "path"),
        ("[backlog]\npassword = 'x'", r"backlog"),
        ("gold = ", "TOML"),
    ],
)
def test_what_is_wrong_is_named_with_its_file(stated, text, named):
    with pytest.raises(BadInputError, match=named) as caught:
        stated(text)
    assert PROJECT_FILE in str(caught.value)
