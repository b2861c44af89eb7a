"""Content that is shown under another name belongs to the file it was copied from."""

from __future__ import annotations

import pytest

from retrieval_eval.agents.traces.shell import ShellSession

C, P = "certain", "possible"
CASES: list[tuple[list[tuple[str, str]], dict[str, str]]] = [
    ([("cp a.py /tmp/x.py && cat /tmp/x.py", "x")], {"/w/a.py": C}),
    ([("cp a.py /tmp/x.py; cat /tmp/x.py", "x")], {"/w/a.py": C}),
    ([("cp a.py /tmp/x.py", ""), ("head -3 /tmp/x.py", "x")], {"/w/a.py": C}),
    ([("cp a.py /tmp", ""), ("cat /tmp/a.py", "x")], {"/w/a.py": C}),
    ([("cp a.py b.py /tmp/", ""), ("cat /tmp/b.py", "x")], {"/w/b.py": C}),
    ([("cp -t /tmp a.py", ""), ("cat /tmp/a.py", "x")], {"/w/a.py": C}),
    ([("mv a.py b.py", ""), ("cat b.py", "x")], {"/w/a.py": C}),
    ([("git mv a.py b.py", ""), ("grep -n f b.py", "3:f")], {"/w/a.py": C}),
    ([("ln -s ../w/a.py /tmp/x.py", ""), ("cat /tmp/x.py", "x")], {"/w/a.py": C}),
    ([("cp -r src /tmp/copy", ""), ("cat /tmp/copy/x/a.py", "x")], {"/w/src/x/a.py": C}),
    ([("cp -r src/. /tmp/copy/", ""), ("cat /tmp/copy/a.py", "x")], {"/w/src/a.py": C}),
    ([("rsync -a src/ /tmp/copy/", ""), ("cat /tmp/copy/a.py", "x")], {"/w/src/a.py": C}),
    ([("cp a.py /tmp/b; cp /tmp/b /tmp/c; cat /tmp/c", "x")], {"/w/a.py": C}),
    ([("cp -r src /tmp/copy", ""), ("grep -rn f /tmp/copy", "/tmp/copy/a.py:3:f")],
     {"/w/src/a.py": C}),
    ([("docker cp app:/srv/a.py /tmp/a.py", ""), ("cat /tmp/a.py", "x")], {"/srv/a.py": C}),
    # The copy may hold something else.
    ([("cp -r src /tmp/copy", ""), ("cat /tmp/copy/src/a.py", "x")],
     {"/w/src/a.py": P, "/w/src/src/a.py": P}),
    ([("cp a.py /tmp/x.py 2>/dev/null; cat /tmp/x.py", "x")], {"/w/a.py": P}),
    ([("[ -f a.py ] && cp a.py /tmp/x.py; true", ""), ("cat /tmp/x.py", "x")], {"/w/a.py": P}),
    ([("cp a.py /tmp/x.py; sed -i s/a/b/ /tmp/x.py; cat /tmp/x.py", "x")], {"/w/a.py": P}),
    ([("cp src/*.py /tmp/x", ""), ("cat /tmp/x/a.py", "x")], {"/w/src/a.py": P}),
    # It holds something else, or was not shown.
    ([("cp a.py /tmp/x.py; echo 1 > /tmp/x.py; cat /tmp/x.py", "1")], {}),
    ([("cp a.py /tmp/x.py && cat /tmp/x.py",
       "cp: cannot stat 'a.py': No such file or directory")], {}),
    ([("cp a.py /tmp/x.py && ls -l /tmp/x.py", "-rw-r--r-- 1 u u 1 Jan 1 10:00 /tmp/x.py")], {}),
    ([("cp a.py /tmp/x.py", ""), ("cat /tmp/y.py", "x")], {}),
    # A file that the agent made has a new name, and is still the copy that it was.
    ([("mv /tmp/x.py a.py", ""), ("cat a.py", "x")], {}),
    ([("awk 1 a.py > /tmp/x && mv /tmp/x a.py", ""), ("cat a.py", "x")], {}),
    ([("awk 1 a.py > a.new; mv a.new a.py", ""), ("grep -n f a.py", "3:f")], {}),
    ([("cp a.py /tmp/x; mv /tmp/x /tmp/y; cat /tmp/y", "x")], {"/w/a.py": C}),
    ([("cp src/*.py /tmp/x", ""), ("cat /tmp/x/a.go", "x")], {}),
    ([("cp a.py a.bak; echo > a.py; cp a.bak a.py; cat a.py", "x")], {}),
]  # fmt: skip


@pytest.mark.parametrize(("calls", "expected"), CASES)
def test_what_a_copy_shows(calls, expected):
    shell = ShellSession("/w")
    for command, output in calls[:-1]:
        shell.analyse(command, output)
    command, output = calls[-1]
    found = {}
    for event in shell.analyse(command, output).events:
        is_read = event.category in ("file_read", "code_search")
        for target in event.targets[1:] if is_read else ():
            found[target.path] = P if target.doubt else C
    assert found == expected
