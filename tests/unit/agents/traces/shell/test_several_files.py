"""Output that several files share: what is proven of each, and what stays open."""

from __future__ import annotations

import pytest

from retrieval_eval.agents.traces.shell import ShellSession

C, P = "certain", "possible"
CASES = [
    # As many lines as files, or more: each file gave at least one.
    ("cat a.py; cat b.py", "x\ny", {"a.py": C, "b.py": C}),
    ("sed -n '1,5p' a.py; sed -n '1,5p' b.py", "x\ny", {"a.py": C, "b.py": C}),
    # Fewer lines than files: one of them was empty, or ended before the range.
    ("cat a.py; cat b.py", "x", {"a.py": P, "b.py": P}),
    ("sed -n '1,5p' a.py; sed -n '90,95p' b.py", "x", {"a.py": P, "b.py": P}),
    ("cat a.py b.py c.py", "x\ny", {"a.py": P, "b.py": P, "c.py": P}),
    ("cat a.py; cat b.py", "cat: a.py: No such file or directory\nx", {"b.py": C}),
    ("sed -n '1,5p' a.py; sed -n '90,95p' a.py", "x", {"a.py": C}),
    # A numbered line is that of the search, so that nothing is left of the other file.
    ("cat a.py; grep -n foo b.py", "3:foo", {"a.py": P, "b.py": C}),
    ("cat a.py; grep -n foo b.py", "x\n3:foo", {"a.py": C, "b.py": C}),
    # Only some lines of several files pass.
    ("cat a.py b.py | head -3", "x\ny", {"a.py": C, "b.py": C}),
    ("cat a.py b.py | head -3", "x\ny\nz", {"a.py": C, "b.py": P}),
    ("cat a.py b.py | tail -3", "x\ny\nz", {"a.py": P, "b.py": C}),
    ("cat a.py b.py | head -c 100", "x\ny\nz", {"a.py": C, "b.py": P}),
    ("cat a.py b.py | sed -n '1,3p'", "x\ny\nz", {"a.py": C, "b.py": P}),
    ("cat a.py b.py | sed -n '2,3p'", "x\ny", {"a.py": P, "b.py": P}),
    ("cat a.py b.py | sort | head -3", "x\ny\nz", {"a.py": P, "b.py": P}),
    ("cat a.py b.py | sort", "x\ny\nz", {"a.py": C, "b.py": C}),
    ("sed -n '1,2p' a.py b.py", "x\ny", {"a.py": C, "b.py": P}),
    ("sed -sn '1,2p' a.py b.py", "x\ny", {"a.py": C, "b.py": C}),
    ("awk 'NR<=2' a.py b.py", "x\ny", {"a.py": C, "b.py": P}),
    ("awk 'FNR<=2' a.py b.py", "x\ny", {"a.py": C, "b.py": C}),
    # A filter may let nothing of a file pass.
    ("awk '/foo/' a.py b.py", "foo", {"a.py": P, "b.py": P}),
    ("sed -n '/foo/p' a.py b.py", "foo", {"a.py": P, "b.py": P}),
    ("cat a.py b.py | grep foo", "foo", {"a.py": P, "b.py": P}),
    ("diff a.py b.py", "1c1\n< x\n---\n> y", {"a.py": C, "b.py": C}),
]


@pytest.mark.parametrize(("command", "output", "expected"), CASES)
def test_a_file_is_certain_where_the_lines_prove_it(command, output, expected):
    found = {}
    for event in ShellSession("/w").analyse(command, output).events:
        for target in event.targets:
            path = target.path.removeprefix("/w/")
            if found.get(path) != C:
                found[path] = P if target.doubt else C
    assert found == expected
