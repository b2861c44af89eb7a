from __future__ import annotations

import pytest

from retrieval_eval.agents.traces.shell import ShellSession
from retrieval_eval.agents.traces.shell.places import Place


def _places(command: str, output: str = "", cwd: str | None = "/w") -> set[Place]:
    return {p for p in ShellSession(cwd).analyse(command, output).places if p.kind != "visited"}


@pytest.mark.parametrize(
    ("command", "place"),
    [
        (
            "git clone https://h.example/a/b.git",
            Place("clone", "/w/b", "https://h.example/a/b.git"),
        ),
        (
            "git clone --depth 1 -b v1 git@h.example:a/b",
            Place("clone", "/w/b", "git@h.example:a/b"),
        ),
        (
            "git clone https://h.example/a/b /srv/c",
            Place("clone", "/srv/c", "https://h.example/a/b"),
        ),
        (
            "git -C /srv clone https://h.example/a/b",
            Place("clone", "/srv/b", "https://h.example/a/b"),
        ),
        ("gh repo clone a/b -- --depth 1", Place("clone", "/w/b", "a/b")),
        ("git clone . /tmp/copy", Place("worktree", "/tmp/copy", "/w/.")),
        ("git worktree add -b fix ../fix main", Place("worktree", "/w/../fix", "/w")),
        ("cd /srv && git worktree add /x", Place("worktree", "/x", "/srv")),
    ],
)
def test_what_a_command_checks_out(command, place):
    assert _places(command) == {place}


def test_git_and_the_shell_name_folders():
    output = "/srv/w/tools\n/srv/w"
    assert _places("pwd; git rev-parse --show-toplevel", output, None) == {
        Place("start", "/srv/w/tools"),
        Place("top", "/srv/w"),
    }


def test_lines_that_may_be_those_of_another_command_name_no_folder():
    assert not _places("ls -d /srv/*; pwd", "/srv/a\n/srv/b\n/srv/w", None)


def test_a_folder_that_a_shell_printed_is_where_later_commands_run():
    shell = ShellSession()
    shell.analyse("pwd", "/srv/w")
    assert shell.analyse("cat src/a.py", "x").events[0].targets[0].path == "/srv/w/src/a.py"


@pytest.mark.parametrize("command", ["git clone", "git worktree add", "git -C", "gh repo clone --"])
def test_a_command_without_its_arguments_checks_nothing_out(command):
    assert not _places(command)


@pytest.mark.parametrize(
    ("command", "output", "folders"),
    [
        ("ls -a", ".\n..\n.git\nsrc", {"/w/."}),
        ("ls -A /srv/app", ".git\nsrc", {"/srv/app"}),
        ("ls -F -a app", ".git/\nsrc/", {"/w/app"}),
        (
            "ls -la /srv/app",
            "drwxr-xr-x 8 root root 4096 Jan  1 10:00 .git\n-rw-r--r-- 1 r r 9 Jan 1 10:00 a",
            {"/srv/app"},
        ),
        ("find /srv -maxdepth 2 -name .git", "/srv/a/.git\n/srv/b/.git", {"/srv/a", "/srv/b"}),
        ("ls -d */.git", "app/.git", {"/w/app"}),
        ("ls -a one two", "one:\n.git\n\ntwo:\nsrc", set()),
        ("ls -a one; ls -a two", ".git\nsrc", set()),
        ("cat notes", ".git", set()),
        ("ls", ".gitignore\nsrc", set()),
    ],
)
def test_a_listing_may_show_the_top_of_a_checkout(command, output, folders):
    assert {place.folder for place in _places(command, output) if place.kind == "git"} == folders
