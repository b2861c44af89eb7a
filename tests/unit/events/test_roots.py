from __future__ import annotations

from typing import Any

import pytest

from retrieval_eval.events.calls import read_calls
from retrieval_eval.events.normalise import extract_events
from retrieval_eval.events.roots import Expected, Layout, Root, find_layout, stated_roots
from retrieval_eval.records import (
    FileRef,
    GroundTruth,
    Repository,
    ToolCall,
    ToolResult,
    Trace,
)
from tests.trials import truth


def _trace(*steps: tuple[str, dict[str, Any], str], cwd: str | None = None) -> Trace:
    calls = tuple(
        ToolCall(f"c{number}", name, arguments, ToolResult(answer))
        for number, (name, arguments, answer) in enumerate(steps)
    )
    return Trace(calls, "example", "transcript", False, True, cwd=cwd)


def _read(path: str) -> tuple[str, dict[str, Any], str]:
    return ("Read", {"file_path": path}, "1\timport os")


def _bash(command: str, answer: str = "import os") -> tuple[str, dict[str, Any], str]:
    return ("Bash", {"command": command}, answer)


def _found(trace: Trace, expected: GroundTruth) -> list[Root]:
    """Return the roots of a trial beside those that are known without it."""
    layout = find_layout(read_calls(trace), trace.cwd, expected)
    stated = {root.folder for root in stated_roots(None)}
    return [root for root in layout.roots if root.folder not in stated]


def test_the_one_folder_that_explains_the_paths_is_inferred():
    trace = _trace(_read("/srv/project/src/a.py"), _read("/srv/project/other.py"))
    assert _found(trace, truth("src/a.py")) == [Root("/srv/project", "inferred", None, True)]


def test_a_folder_that_the_agent_worked_in_is_observed():
    trace = _trace(_bash("cd /srv/project && cat src/a.py"))
    assert _found(trace, truth("src/a.py")) == [Root("/srv/project", "observed", None, True)]


def test_the_folder_of_the_session_is_stated():
    trace = _trace(_read("/srv/project/src/a.py"), cwd="/srv/project")
    assert _found(trace, truth("src/a.py")) == [Root("/srv/project", "stated", None, True)]


def test_a_folder_that_git_names_replaces_the_folder_of_the_session_below_it():
    top = _bash("git rev-parse --show-toplevel", "/srv/project")
    found = _found(_trace(top, cwd="/srv/project/tools"), truth("src/a.py"))
    assert found == [Root("/srv/project", "observed", None, True)]


def test_a_clone_is_the_checkout_of_its_repository():
    expected = truth("widgets::src/a.py", "gears::src/b.py")
    trace = _trace(
        _bash("cd /srv && git clone -b main --depth 1 git@host.example:acme/widgets.git w", ""),
        _bash("cd /srv && gh repo clone acme/gears", ""),
        _bash("git clone https://host.example/acme/other /srv/other", ""),
    )
    assert _found(trace, expected) == [
        Root("/srv/w", "observed", "widgets", True),
        Root("/srv/gears", "observed", "gears", True),
    ]
    assert find_layout(read_calls(trace), None, expected).elsewhere == {"/srv/other"}


def test_a_clone_that_failed_is_none():
    trace = _trace(
        _bash("git clone https://host.example/acme/widgets /srv/w", "fatal: no such host")
    )
    assert not _found(trace, truth("widgets::src/a.py"))


def test_several_worktrees_of_one_checkout_are_its_own():
    trace = _trace(
        _bash("git worktree add /srv/one", ""),
        _bash("git -C /srv/project worktree add -b fix ../two main", ""),
        _read("/srv/project/src/a.py"),
        cwd="/srv/project",
    )
    assert [root.folder for root in _found(trace, truth("src/a.py"))] == [
        "/srv/project",
        "/srv/one",
        "/srv/two",
    ]


def test_a_worktree_of_another_repository_lies_elsewhere():
    trace = _trace(
        _bash("git clone https://host.example/acme/gears /srv/gears", ""),
        _bash("cd /srv/gears && git worktree add ../fix", ""),
        _read("/srv/fix/src/a.py"),
    )
    expected = truth("widgets::src/a.py")
    assert find_layout(read_calls(trace), None, expected).elsewhere == {"/srv/gears", "/srv/fix"}
    assert not extract_events(trace, expected).events[-1].possible


def test_two_folders_that_explain_as_much_are_no_root():
    trace = _trace(_read("/srv/one/src/a.py"), _read("/srv/two/src/a.py"))
    assert not _found(trace, truth("src/a.py"))


def test_a_folder_above_a_copy_in_it_explains_more():
    trace = _trace(
        _read("/srv/one/src/a.py"), _read("/srv/one/src/b.py"), _read("/srv/one/copy/src/a.py")
    )
    found = _found(trace, truth("src/a.py", "src/b.py"))
    assert found == [Root("/srv/one", "inferred", None, True)]


def test_no_inference_makes_one_path_two_files():
    expected = truth("pkg/src/a.py", "src/b.py", "src/a.py")
    trace = _trace(_read("/workspace/pkg/src/a.py"), _read("/workspace/pkg/src/b.py"))
    assert not _found(trace, expected)
    events = extract_events(trace, expected).events
    assert [str(t.file) for e in events for t in e.targets] == ["pkg/src/a.py", "pkg/src/b.py"]


def test_what_an_agent_wrote_first_tells_where_it_works_only_when_nothing_else_does():
    write = ("Write", {"file_path": "/srv/copy/src/a.py", "content": "x"}, "File created")
    both = _trace(write, _read("/srv/copy/src/a.py"), _read("/srv/project/src/a.py"))
    alone = _trace(write, _read("/srv/copy/src/a.py"))
    assert [root.folder for root in _found(both, truth("src/a.py"))] == ["/srv/project"]
    assert [root.folder for root in _found(alone, truth("src/a.py"))] == ["/srv/copy"]


def test_folders_of_several_repositories_beside_each_other_are_their_checkouts():
    trace = _trace(_read("/srv/project/widgets/Cargo.toml"), _read("/srv/project/gears/x.rs"))
    found = _found(trace, truth("widgets::Cargo.toml", "gears::Cargo.toml"))
    assert {(root.folder, root.repository) for root in found} == {
        ("/srv/project/widgets", "widgets"),
        ("/srv/project/gears", "gears"),
    }


def test_a_task_states_an_absolute_folder():
    expected = GroundTruth(
        (FileRef("a.py", "widgets"),), repositories=(Repository("widgets", "/W"),)
    )
    assert stated_roots(None, expected)[0] == Root("/w", "stated", "widgets", True)


@pytest.mark.parametrize(
    ("raw", "cwd"),
    [
        ("C:\\dev\\repo\\src\\a.py", "C:\\dev\\repo"),
        ("/c/dev/repo/src/a.py", "C:\\dev\\repo"),
        ("/mnt/c/dev/repo/src/a.py", "C:\\dev\\repo"),
        ("C:/dev/repo/src/a.py", "/c/dev/repo"),
        ("\\\\wsl$\\Debian\\home\\dev\\src\\a.py", "/home/dev"),
        ("~/repo/src/a.py", "/home/dev/repo"),
        ("/private/tmp/x/src/a.py", "/tmp/x"),
    ],
)
def test_a_root_is_found_in_every_spelling(raw: str, cwd: str):
    event = extract_events(_trace(_read(raw), cwd=cwd), truth("src/a.py")).events[0]
    assert [(str(t.file), t.placement) for t in event.targets] == [("src/a.py", "stated")]


def test_one_letter_folders_are_no_drives_where_no_drive_is_named():
    layout = Layout((), has_drives=False)
    assert layout.spelled("/c/src/a.py") == "/c/src/a.py"


def test_an_undecided_path_is_possible_and_never_certain():
    trace = _trace(_read("/srv/one/src/a.py"), _read("/srv/two/src/a.py"))
    for event in extract_events(trace, truth("src/a.py")).events:
        assert not event.targets
        assert [(str(t.file), t.doubt) for t in event.possible] == [("src/a.py", "unplaced_path")]


def test_ends_are_found_from_the_longest_and_have_two_components():
    expected = Expected((FileRef("src/a.py"), FileRef("x/src/a.py"), FileRef("a.py")))
    assert [folder for folder, _ in expected.ends("/srv/x/src/a.py")] == ["/srv", "/srv/x"]
    assert not list(expected.ends("a.py"))
