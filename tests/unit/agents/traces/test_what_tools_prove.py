"""What the answer of a tool proves of a file: certain, possible, or nothing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.scenes import Call, stream_lines
from tests.trials import proven

C, P, N = "certain", "possible", "none"

CASES: list[tuple[str, dict[str, Any], str, bool, dict[str, str]]] = [
    ("mcp__fs__list_directory_with_sizes", {"path": "/workspace/src"},
     ("[FILE] a.py                     1.2 KB\n[DIR] lib\n\nTotal: 1 files, 1 directories\n"
      "Combined size: 1.2 KB"), False,
     {"src/a.py": C, "src/b.py": N}),
    ("mcp__fs__search_files", {"path": "/workspace", "pattern": "a.py"},
     "/workspace/src/a.py", False,
     {"src/a.py": C, "src/b.py": N}),
    ("mcp__fs__get_file_info", {"path": "/workspace/src/a.py"},
     "size: 12\nisFile: true", False,
     {"src/a.py": C}),
    ("mcp__fs__read_text_file", {"path": "/workspace/src/a.py"},
     "Error: Access denied - path outside allowed directories: /workspace/src/a.py not in /d",
     False,
     {"src/a.py": N}),
    ("mcp__fs__edit_file", {"path": "/workspace/src/a.py", "edits": []},
     ("```diff\nIndex: /workspace/src/a.py\n--- /workspace/src/a.py\n+++ /workspace/src/a.py\n"
      "@@ -1 +1 @@\n-x\n+y\n```"), False,
     {"src/a.py": N}),
    ("mcp__fs__move_file", {"source": "/workspace/src/a.py", "destination": "/workspace/src/b.py"},
     "Successfully moved", False,
     {"src/a.py": N, "src/b.py": N}),
    ("mcp__serena__find_symbol", {"name_path": "Foo", "relative_path": "src"},
     ("[{\"name_path\": \"Foo\", \"kind\": \"Class\", \"relative_path\": \"src/a.py\", "
      "\"body_location\": {\"start_line\": 3, \"end_line\": 9}}]"), False,
     {"src/a.py": C, "src/b.py": N}),
    ("mcp__serena__get_symbols_overview", {"relative_path": "src/a.py"},
     "[{\"name_path\": \"Foo\", \"kind\": 5}]", False,
     {"src/a.py": C, "src/b.py": N}),
    ("mcp__serena__search_for_pattern", {"substring_pattern": "foo"},
     "{\"src/a.py\": [\"  >   3:foo\"]}", False,
     {"src/a.py": P, "src/b.py": P}),
    ("mcp__serena__read_file", {"relative_path": "src/a.py"},
     "import os", False,
     {"src/a.py": C}),
    ("mcp__serena__list_dir", {"relative_path": "src", "recursive": False},
     "{\"dirs\": [\"src/lib\"], \"files\": [\"src/a.py\"]}", False,
     {"src/a.py": C, "src/b.py": N}),
    ("mcp__serena__find_referencing_symbols", {"name_path": "Foo", "relative_path": "src/a.py"},
     ("[{\"name_path\": \"bar\", \"relative_path\": \"src/b.py\", "
      "\"content_around_reference\": \"x\"}]"), False,
     {"src/b.py": C, "src/a.py": N}),
    ("mcp__github__search_code", {"q": "foo repo:acme/w"},
     "{\"total_count\": 0, \"incomplete_results\": false, \"items\": []}", False,
     {"src/a.py": N}),
    ("mcp__github__get_issue", {"owner": "acme", "repo": "w", "issue_number": 1},
     "{\"title\": \"crash in src/a.py\", \"body\": \"see src/a.py\"}", False,
     {"src/a.py": N}),
    ("mcp__sourcegraph__sg_commit_search", {"repos": ["github.com/acme/w"], "messageTerms": ["x"]},
     "{\"text\": \"abc fix src/a.py\"}", False,
     {"src/a.py": P}),
    ("mcp__x__open_document", {"file": "/workspace/src/a.py"},
     "import os", False,
     {"src/a.py": P}),
    ("mcp__x__list_files", {"directory": "/workspace/src"},
     "a.py\nb.py", False,
     {"src/a.py": C, "src/b.py": C, "src/c.py": N}),
    ("mcp__x__semantic_search", {"query": "x"},
     "{\"results\": [{\"path\": \"src/a.py\", \"score\": 0.9, \"text\": \"x\"}]}", False,
     {"src/a.py": C, "src/b.py": N}),
    ("mcp__x__search", {"query": "x"},
     "{\"results\": [{\"uri\": \"file:///workspace/src/a.py\", \"snippet\": \"x\"}]}", False,
     {"src/a.py": C, "src/b.py": N}),
    ("mcp__x__vector_search", {"query": "x"},
     ("{\"matches\": [{\"id\": \"1\", \"metadata\": {\"source\": \"src/a.py\"}, \"text\": "
      "\"x\"}]}"), False,
     {"src/a.py": P, "src/b.py": P}),
    ("mcp__x__read_file", {"path": "/workspace/src/a.py"},
     "MCP error -32000: Connection closed", False,
     {"src/a.py": N}),
    ("mcp__x__read_file", {"path": "/workspace/src/a.py"},
     "MCP error -32001: Request timed out", True,
     {"src/a.py": N}),
    ("LSP", {"operation": "goToDefinition", "filePath": "src/b.py", "line": 3, "character": 1},
     "Defined in src/a.py:12:5", False,
     {"src/a.py": P, "src/b.py": P}),
    ("LSP", {"operation": "findReferences", "filePath": "src/b.py", "line": 3, "character": 1},
     "Found 2 references across 2 files:\n\nsrc/a.py:\n  Line 3:5\n\nsrc/c.py:\n  Line 9:1", False,
     {"src/a.py": P, "src/c.py": P}),
    ("WebFetch", {"url": "https://github.com/acme/w", "prompt": "x"},
     "The repo has src/a.py", False,
     {"src/a.py": N}),
    ("Read", {"file_path": "/workspace/src"},
     "EISDIR: illegal operation on a directory, read", True,
     {"src/a.py": N}),
    ("ListMcpResourcesTool", {},
     "[{\"uri\":\"file:///workspace/src/a.py\"}]", False,
     {"src/a.py": N}),
    ("ReadMcpResourceTool", {"server": "x", "uri": "file:///workspace/src/a.py"},
     "{\"contents\": [{\"uri\": \"file:///workspace/src/a.py\", \"text\": \"import os\"}]}", False,
     {"src/a.py": C}),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "arguments", "answer", "is_error", "expected"), CASES)
def test_what_an_answer_proves(tmp_path, tool, arguments, answer, is_error, expected):
    lines = stream_lines([Call(tool, arguments, answer, is_error)])
    files = {"agent/claude-code.txt": lines}
    assert proven(tmp_path, files, expected, 'repo = "acme/w"\n') == expected
