"""Writes: the named file, or the files of a patch."""

from __future__ import annotations

import pytest

from retrieval_eval.agents.traces.tools import interpret
from retrieval_eval.records import ToolCall, ToolResult

PATCH = (
    "*** Begin Patch\n*** Update File: src/a.py\n@@\n-x\n+y\n*** Add File: docs/new file.md\n+z\n"
    "*** Delete File: old.py\n*** Update File: m.py\n*** Move to: n.py\n*** End Patch"
)
DIFF = "--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n--- x\n+++ y\n"


@pytest.mark.parametrize(
    ("name", "arguments", "paths"),
    [
        ("Write", {"file_path": "/w/a.py", "content": "x"}, ["/w/a.py"]),
        ("Edit", {"file_path": "a.py"}, ["/workspace/a.py"]),
        ("MultiEdit", {"file_path": "/w/a.py", "edits": []}, ["/w/a.py"]),
        ("NotebookEdit", {"notebook_path": "/w/a.ipynb"}, ["/w/a.ipynb"]),
        ("editToolCall", {"path": "/w/a.py", "streamContent": "x"}, ["/w/a.py"]),
        ("deleteToolCall", {"path": "/w/a.py"}, ["/w/a.py"]),
        (
            "apply_patch",
            {"input": PATCH},
            ["src/a.py", "docs/new file.md", "old.py", "m.py", "n.py"],
        ),
        ("apply_patch", {"patch": DIFF}, ["src/a.py"]),
    ],
)
def test_a_write_that_succeeded(name, arguments, paths):
    used = interpret(ToolCall("c1", name, arguments, ToolResult("Done"), cwd="/workspace"))
    expected = [p if p.startswith("/") else f"/workspace/{p}" for p in paths]
    assert [(t.path, t.access) for t in used.targets] == [(p, "written") for p in expected]
    assert used.category == "file_write"


def test_a_remote_write_keeps_its_repository():
    arguments = {"owner": "acme", "repo": "w", "files": [{"path": "a.py"}, {"path": "b.py"}, 3]}
    call = ToolCall("c1", "mcp__github__push_files", arguments, ToolResult("ok"), cwd="/workspace")
    found = interpret(call).targets
    assert [(t.path, t.repository) for t in found] == [("a.py", "acme/w"), ("b.py", "acme/w")]


def test_a_write_that_names_no_file_is_opaque():
    used = interpret(ToolCall("c1", "mcp__x__edit_page", {"id": 3}, ToolResult("ok")))
    assert used.is_opaque
