"""Path-like strings in prose and scripts."""

from __future__ import annotations

import pytest

from retrieval_eval.agents.truth.readers import path_like


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Fix `src/core/a.py`, then (lib/b.ts).", ["src/core/a.py", "lib/b.ts"]),
        ("- source/common/http/header_utility.cc", ["source/common/http/header_utility.cc"]),
        ("/workspace/pkg/a.go", ["/workspace/pkg/a.go"]),
        ('grep -q x "$REPO/pkg/a.go"', ["pkg/a.go"]),
        ("src/a.py src/a.py", ["src/a.py"]),
        ("see github.com/acme/x/b.html or https://e.org/a/b.js", []),
        ("reward in /logs/verifier/reward.txt, /tests/x.sh", []),
        ('"function_path": "path/to/file.ext"', []),
        ("and/or, 1.0/2.0, a/b, README.md", []),
        ("", []),
    ],
)
def test_path_like(text, expected):
    assert path_like(text) == expected


def test_hostile_text_is_read_in_linear_time():
    assert path_like("a/" * 100_000) == []
    assert path_like("a/b." * 50_000) == []
