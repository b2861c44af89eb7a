"""Git names the files of a diff from the top of the checkout, whatever the folder."""

from __future__ import annotations

import pytest

from retrieval_eval.agents.traces.shell import ShellSession
from retrieval_eval.records import RawTarget

C, P = "certain", "possible"
CASES = [
    # The folder of the session is taken for the top, whatever it is called.
    ("/r/django", "git diff --name-only", "django/db.py", {"/r/django/django/db.py": C}),
    ("/r", "cd src/lib && git diff --name-only", "src/lib/d.py", {"/r/src/lib/d.py": C}),
    # A folder in a checkout, or a checkout with a folder of its own name.
    ("/r", "cd src && git diff --name-only", "src/a.py", {"/r/src/a.py": P, "/r/src/src/a.py": P}),
    ("/r", "cat src/a.py; cd src; git diff --name-only", "x = 1\nsrc/a.py", {"/r/src/a.py": C}),
    ("/r", "cat src/src/a.py; cd src; git diff --name-only", "x = 1\nsrc/a.py",
     {"/r/src/src/a.py": C}),
    # Nothing says whether the top is this folder or the one in which the session began.
    ("/r", "cd lib && git diff --name-only", "docs/x.md",
     {"/r/lib/docs/x.md": C, "/r/docs/x.md": P}),
    ("/r", "git -C /q diff --name-only", "src/a.py", {"/q/src/a.py": C}),
]  # fmt: skip


@pytest.mark.parametrize(("cwd", "command", "output", "expected"), CASES)
def test_where_the_files_of_a_diff_lie(cwd, command, output, expected):
    found: dict[str, str] = {}
    for event in ShellSession(cwd).analyse(command, output).events:
        for target in event.targets:
            if found.get(target.path) != C:
                found[target.path] = P if target.doubt else C
    assert found == expected


def test_a_file_that_another_tool_touched_is_known():
    shell = ShellSession("/r")
    shell.learn([RawTarget("/r/src/a.py", "opened")])
    found = shell.analyse("cd src && git diff --name-only", "src/a.py")
    assert [(t.path, t.doubt) for e in found.events for t in e.targets] == [("/r/src/a.py", None)]
