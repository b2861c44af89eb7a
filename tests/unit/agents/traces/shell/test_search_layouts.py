"""Layouts in which searches name files: headings, JSON records, paths of Windows."""

from __future__ import annotations

import pytest

from retrieval_eval.agents.traces.shell import ShellSession

_JSON = (
    '{"type":"begin","data":{"path":{"text":"src/a.py"}}}\n'
    '{"type":"match","data":{"path":{"text":"src/a.py"},"lines":{"text":"x"},"line_number":3}}\n'
    '{"type":"end","data":{"path":{"text":"src/a.py"}}}\n'
    '{"type":"summary","data":{}}'
)
CASES: list[tuple[str, str, str, dict[str, object]]] = [
    ("/w", "rg --json x src", _JSON, {"/w/src/a.py": ((3, 3),)}),
    ("/w", "rg --json x | jq -r .data.path.text", "src/a.py\nnull", {"/w/src/a.py": None}),
    ("/w", "rg --heading -n x src", "src/a.py\n3:x\n5-y\n\nsrc/b.py\n1:x",
     {"/w/src/a.py": ((3, 3), (5, 5)), "/w/src/b.py": ((1, 1),)}),
    ("/w", "rg --heading x", "src/a.py\nx = 1\n\nlib/b.py\nx", {"/w/src/a.py": None,
                                                                 "/w/lib/b.py": None}),
    ("/w", "rg -p x src | head -2", "src/a.py\n3:x", {"/w/src/a.py": ((3, 3),)}),
    ("/w", "git grep --heading -n x", "src/a.py\n3:x", {"/w/src/a.py": ((3, 3),)}),
    ("/w", "ack --group x", "src/a.py\n3:x", {"/w/src/a.py": ((3, 3),)}),
    (r"C:\w", r"rg -n x", "src\\a.py:3:x", {r"C:\w/src/a.py": ((3, 3),)}),
    (r"C:\w", r"rg -n x src\core", "src\\core\\a.py:3:x", {r"C:\w/src/core/a.py": ((3, 3),)}),
    (r"C:\w", 'rg -n x "C:\\w\\src"', "C:\\w\\src\\a.py:3:x", {"C:/w/src/a.py": ((3, 3),)}),
    ("/w", "grep -r x C:/w", "C:/w/a.py:x: 12: y", {"C:/w/a.py": None}),
    (r"C:\w", "rg -l x", "src\\a.py\nb.py", {r"C:\w/src/a.py": None, r"C:\w/b.py": None}),
    (r"C:\w", r"type C:\w\a.py", "x", {"C:/w/a.py": ((1, 1),)}),
    (r"C:\w", "findstr /s /n foo *.py", "src\\a.py:3:foo", {r"C:\w/src/a.py": ((3, 3),)}),
    (r"C:\w", r"findstr /n /c:foo src\a.py", "3:foo", {r"C:\w/src/a.py": ((3, 3),)}),
]  # fmt: skip


@pytest.mark.parametrize(("cwd", "command", "output", "expected"), CASES)
def test_a_search_names_files(cwd, command, output, expected):
    found = ShellSession(cwd).analyse(command, output)
    targets = [t for event in found.events for t in event.targets if t.doubt is None]
    assert {t.path: t.lines for t in targets} == expected
    assert found.opaque == ()
