from __future__ import annotations

from typing import Any

import pytest

from retrieval_eval.agents.events import extract_events
from retrieval_eval.agents.events.calls import read_calls
from retrieval_eval.agents.events.evidence import evidence
from retrieval_eval.agents.events.roots import Layout, Root, find_layout, stated_roots
from retrieval_eval.records import (
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


def _names(trace: Trace, expected: GroundTruth) -> list[str]:
    """Return the names of the files that a trial certainly touched, each once."""
    events = extract_events(trace, expected).events
    return list(dict.fromkeys(str(t.file) for event in events for t in event.targets))


def _bash(command: str, answer: str = "import os") -> tuple[str, dict[str, Any], str]:
    return ("Bash", {"command": command}, answer)


def _found(trace: Trace, expected: GroundTruth) -> list[Root]:
    """Return the roots of a trial beside those that are known without it."""
    layout = find_layout(read_calls(trace), trace.cwd, expected)
    stated = {root.folder for root in stated_roots(None)}
    return [root for root in layout.roots if root.folder not in stated]


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


def test_no_inference_makes_one_path_two_files():
    expected = truth("pkg/src/a.py", "src/b.py", "src/a.py")
    trace = _trace(_read("/workspace/pkg/src/a.py"), _read("/workspace/pkg/src/b.py"))
    assert not _found(trace, expected)
    events = extract_events(trace, expected).events
    assert [str(t.file) for e in events for t in e.targets] == ["pkg/src/a.py", "pkg/src/b.py"]


def test_one_letter_folders_are_no_drives_where_no_drive_is_named():
    layout = Layout((), has_drives=False)
    assert layout.spelled("/c/src/a.py") == "/c/src/a.py"


def _task(*files: str, repository: str | None) -> GroundTruth:
    stated = () if repository is None else (Repository(repository),)
    return GroundTruth(
        truth(*files).files,
        repositories=stated,
        primary=repository,
        confidence="high",
    )


_BELOW = {
    "/workspace/acme__widgets__1.2": "certain",
    "/workspace/acme__widgets-1234": "certain",
    "/workspace/repo": "possible",
    "/workspace/p": "possible",
    "/repo_full/p": "possible",
    "/testbed/p": "none",
}


@pytest.mark.parametrize("repository", ["widgets", None], ids=["with the repository", "without"])
@pytest.mark.parametrize("folder", _BELOW)
@pytest.mark.parametrize(
    "look", ["cat {}/setup.py", "cd {} && cat setup.py", "ls {}/setup.py", "grep -rn x {}"]
)
@pytest.mark.parametrize("cwd", ["/workspace", None])
def test_a_file_at_the_top_of_a_folder_in_a_workspace(look, folder, repository, cwd):
    answer = f"{folder}/setup.py:1:x" if look.startswith("grep") else f"{folder}/setup.py"
    trace = _trace(_bash(look.format(folder), answer), cwd=cwd)
    found = evidence(extract_events(trace, _task("setup.py", repository=repository)))
    assert [*found.values()] == [_BELOW[folder]]


@pytest.mark.parametrize("repository", ["widgets", None], ids=["with the repository", "without"])
@pytest.mark.parametrize("cwd", ["/testbed", "/srv/app", "/workspace"])
@pytest.mark.parametrize("folder", ["/tmp/widgets", "/opt/up"])
def test_a_clone_beside_the_checkout_may_hold_its_files(folder, cwd, repository):
    address = "https://host.example/acme/widgets"
    clone = _bash(f"git clone --depth 1 {address} {folder}", "Cloning")
    looks = (_bash(f"cd {folder} && cat src/a.py && ls -a", "x\n.git"), _read(f"{folder}/setup.py"))
    trace = _trace(_read(f"{cwd}/src/b.py"), clone, *looks, cwd=cwd)
    task = _task("src/a.py", "setup.py", "src/b.py", repository=repository)
    assert [*evidence(extract_events(trace, task)).values()] == ["possible", "possible", "certain"]


def test_what_was_unpacked_among_temporary_files_may_be_a_copy():
    unpack = _bash("curl -sL https://host.example/w.tgz | tar xz -C /tmp", "")
    trace = _trace(unpack, _read("/tmp/widgets-2.0/src/a.py"), cwd="/testbed")
    found = evidence(extract_events(trace, _task("src/a.py", repository="widgets")))
    assert [*found.values()] == ["possible"]


@pytest.mark.parametrize("is_named", [True, False], ids=["with the repository", "without"])
def test_a_folder_with_the_name_of_the_one_above_is_a_package_in_it(is_named):
    task = _task("io/ascii.py", repository="astropy" if is_named else None)
    for folder in ("/home/dev/astropy", "/srv/astropy-5.0", "/opt/astropy__astropy-7"):
        trace = _trace(_read(f"{folder}/astropy/io/ascii.py"))
        assert not any(event.matched for event in extract_events(trace, task).events), folder


def test_a_folder_that_nothing_proves_keeps_its_name():
    task = _task("src/flask/app.py", "README.md", repository="flask")
    trace = _trace(
        _read("/workspace/flask/README.md"), _read("/workspace/flask/src/x.py"), cwd="/workspace"
    )
    first, second = extract_events(trace, task).events
    assert [(str(t.file), t.doubt) for t in first.possible] == [("README.md", "unplaced_path")]
    assert [str(t.file) for t in second.targets] == ["flask/src/x.py"]


def test_a_package_that_the_agent_worked_in_is_no_checkout():
    task = _task("conftest.py", repository="astropy")
    trace = _trace(
        _bash("cd /workspace && ls", "astropy\nsetup.py"),
        _bash("cd /workspace/astropy && cat conftest.py"),
    )
    assert "conftest.py" not in _names(trace, task)


def test_the_part_of_a_checkout_that_holds_git_itself_is_no_checkout_of_its_own():
    task = _task("src/a.py", repository="widgets")
    trace = _trace(
        _bash("find /testbed -name .git", "/testbed/.git\n/testbed/extern/gears/.git"),
        _read("/testbed/extern/gears/src/a.py"),
    )
    assert _names(trace, task) == ["extern/gears/src/a.py"]


def test_several_repositories_lie_in_folders_of_their_names():
    trace = _trace(_read("/workspace/flask/setup.py"), _read("/workspace/click/setup.py"))
    assert _names(trace, truth("flask::a.py", "click::setup.py")) == [
        "flask::setup.py",
        "click::setup.py",
    ]


def test_a_file_that_a_remote_tool_names_too_has_one_name():
    remote = ("mcp__sourcegraph__read_file", {"repo": "acme/flask", "path": "src/other.py"}, "x")
    trace = _trace(remote, _read("/workspace/flask/src/other.py"))
    assert _names(trace, _task("src/flask/app.py", repository="flask")) == ["src/other.py"]
    package = (
        "mcp__sourcegraph__read_file",
        {"repo": "acme/flask", "path": "flask/other.py"},
        "x",
    )
    trace = _trace(package, _read("/workspace/flask/other.py"))
    assert _names(trace, _task("src/flask/app.py", repository="flask")) == ["flask/other.py"]


def _call(number: int, name: str, arguments: dict[str, Any], cwd: str, **more: Any) -> ToolCall:
    answer = ToolResult("1\timport os")
    return ToolCall(f"c{number}", name, arguments, answer, cwd=cwd, **more)


@pytest.mark.parametrize("worktree", ["/tmp/wt/a1", "/srv/app/.claude/worktrees/a1", "/srv/fix"])
def test_a_worktree_that_the_harness_made_for_a_sub_agent_is_a_checkout(worktree):
    own = {"is_subagent": True, "parent_id": "a1"}
    calls = (
        _call(0, "Read", {"file_path": "/srv/app/src/c.py"}, "/srv/app"),
        _call(1, "Agent", {"prompt": "look", "isolation": "worktree"}, "/srv/app"),
        _call(2, "Read", {"file_path": f"{worktree}/src/a.py"}, worktree, **own),
        _call(3, "Read", {"file_path": f"{worktree}/README.md"}, worktree, **own),
    )
    trace = Trace(calls, "example", "transcript", False, True, cwd="/srv/app")
    expected = truth("src/a.py", "src/c.py", "README.md")
    assert _names(trace, expected) == ["src/c.py", "src/a.py", "README.md"]


def test_a_worktree_that_the_agent_entered_is_a_checkout():
    calls = (
        _call(0, "Read", {"file_path": "/srv/app/src/c.py"}, "/srv/app"),
        _call(1, "EnterWorktree", {"name": "x"}, "/srv/app"),
        _call(2, "Read", {"file_path": "/tmp/wt/x/README.md"}, "/tmp/wt/x"),
    )
    trace = Trace(calls, "example", "transcript", False, True, cwd="/srv/app")
    assert _names(trace, truth("src/c.py", "README.md")) == ["src/c.py", "README.md"]


def test_a_sub_agent_in_another_folder_is_in_no_worktree():
    own = {"is_subagent": True, "parent_id": "a1"}
    calls = (
        _call(0, "Agent", {"prompt": "look"}, "/srv/app"),
        _call(1, "Read", {"file_path": "/srv/app/src/c.py"}, "/srv/app"),
        _call(2, "Read", {"file_path": "/srv/gears/README.md"}, "/srv/gears", **own),
    )
    trace = Trace(calls, "example", "transcript", False, True, cwd="/srv/app")
    assert "README.md" not in _names(trace, truth("src/c.py", "README.md"))


def test_a_worktree_of_another_repository_lies_elsewhere():
    trace = _trace(
        _bash("git clone https://host.example/acme/gears /srv/gears", ""),
        _bash("cd /srv/gears && git worktree add ../fix", ""),
        _read("/srv/fix/src/a.py"),
    )
    expected = truth("widgets::src/a.py")
    assert find_layout(read_calls(trace), None, expected).elsewhere == {"/srv/gears", "/srv/fix"}
    assert not extract_events(trace, expected).events[-1].possible
