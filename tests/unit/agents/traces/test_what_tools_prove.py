"""What the answer of a tool proves of a file: certain, possible, or nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from retrieval_eval.agents.events.evidence import evidence
from retrieval_eval.agents.events.normalise import extract_events
from retrieval_eval.agents.traces import read_trace
from retrieval_eval.agents.truth import load_ground_truth

C, P, N = "certain", "possible", "none"

CASES: list[tuple[str, dict[str, Any], str, bool, dict[str, str]]] = [
    ("mcp__fs__read_multiple_files", {"paths": ["/workspace/src/a.py", "/workspace/src/b.py"]},
     ("/workspace/src/a.py:\nimport os\n\n---\n/workspace/src/b.py: Error - ENOENT: no such "
      "file or directory, open '/workspace/src/b.py'"), False,
     {"src/a.py": C, "src/b.py": N}),
    ("mcp__fs__list_directory", {"path": "/workspace/src"},
     "[FILE] a.py\n[DIR] lib", False,
     {"src/a.py": C, "src/b.py": N}),
    ("mcp__fs__list_directory_with_sizes", {"path": "/workspace/src"},
     ("[FILE] a.py                     1.2 KB\n[DIR] lib\n\nTotal: 1 files, 1 directories\n"
      "Combined size: 1.2 KB"), False,
     {"src/a.py": C, "src/b.py": N}),
    ("mcp__fs__directory_tree", {"path": "/workspace/src"},
     ("[{\"name\": \"a.py\", \"type\": \"file\"}, {\"name\": \"lib\", \"type\": \"directory\", "
      "\"children\": [{\"name\": \"d.py\", \"type\": \"file\"}]}]"), False,
     {"src/a.py": C, "src/lib/d.py": C, "src/b.py": N}),
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
    ("mcp__fs__write_file", {"path": "/workspace/src/a.py", "content": "x"},
     "Successfully wrote to /workspace/src/a.py", False,
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
     ("{\"total_count\": 1, \"items\": [{\"name\": \"a.py\", \"path\": \"src/a.py\", "
      "\"repository\": {\"full_name\": \"acme/w\"}}]}"), False,
     {"src/a.py": C, "src/b.py": N}),
    ("mcp__github__search_code", {"q": "foo repo:acme/w"},
     "{\"total_count\": 0, \"incomplete_results\": false, \"items\": []}", False,
     {"src/a.py": N}),
    ("mcp__github__get_commit", {"owner": "acme", "repo": "w", "sha": "abc"},
     "{\"sha\": \"abc\", \"files\": [{\"filename\": \"src/a.py\", \"patch\": \"@@\"}]}", False,
     {"src/a.py": C, "src/b.py": N}),
    ("mcp__github__search_code", {"q": "foo"},
     "API rate limit exceeded for user ID 1.", False,
     {"src/a.py": N}),
    ("mcp__github__get_issue", {"owner": "acme", "repo": "w", "issue_number": 1},
     "{\"title\": \"crash in src/a.py\", \"body\": \"see src/a.py\"}", False,
     {"src/a.py": N}),
    ("mcp__sourcegraph__sg_keyword_search", {"query": "foo repo:^github.com/acme/w$"},
     "{\"text\": \"# github.com/acme/w \\u2013 src/a.py\\n3: foo\"}", False,
     {"src/a.py": C, "src/b.py": N}),
    ("mcp__sourcegraph__sg_list_files", {"repo": "github.com/acme/w", "path": "src"},
     "{\"text\": \"a.py\\nlib/\"}", False,
     {"src/a.py": C, "src/b.py": N}),
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
     "The function is in `src/a.py` around line 3.", False,
     {"src/a.py": P, "src/b.py": P}),
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
    ("Grep", {"pattern": "x", "head_limit": 1},
     "Found 1 file limit: 1\nsrc/a.py", False,
     {"src/a.py": C, "src/b.py": N}),
    ("Glob", {"pattern": "**/*.zig"},
     "No files found", False,
     {"src/a.py": N}),
    ("Edit", {"file_path": "/workspace/src/a.py", "old_string": "x", "new_string": "y"},
     "<tool_use_error>String to replace not found in file.\nString: x</tool_use_error>", True,
     {"src/a.py": N}),
    ("TodoWrite", {"todos": [{"content": "read src/a.py"}]},
     "Todos have been modified", False,
     {"src/a.py": N}),
    ("ExitPlanMode", {"plan": "change src/a.py"},
     "User has approved your plan. src/a.py", False,
     {"src/a.py": N}),
    ("ListMcpResourcesTool", {},
     "[{\"uri\":\"file:///workspace/src/a.py\"}]", False,
     {"src/a.py": N}),
    ("ReadMcpResourceTool", {"server": "x", "uri": "file:///workspace/src/a.py"},
     "{\"contents\": [{\"uri\": \"file:///workspace/src/a.py\", \"text\": \"import os\"}]}", False,
     {"src/a.py": C}),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "arguments", "answer", "is_error", "expected"), CASES)
def test_what_an_answer_proves(
    tmp_path: Path,
    tool: str,
    arguments: dict[str, Any],
    answer: str,
    is_error: bool,
    expected: dict[str, str],
) -> None:
    use = {"type": "tool_use", "id": "c", "name": tool, "input": arguments}
    result = {"type": "tool_result", "tool_use_id": "c", "content": answer, "is_error": is_error}
    lines: list[dict[str, Any]] = [
        {"type": "system", "subtype": "init", "session_id": "s", "tools": [], "cwd": "/workspace"}
    ]
    for kind, block in (("assistant", use), ("user", result)):
        message = {"id": kind, "content": [block]}
        lines.append({"type": kind, "parent_tool_use_id": None, "message": message})
    lines.append({"type": "result", "subtype": "success"})
    (tmp_path / "agent").mkdir()
    (tmp_path / "task/tests").mkdir(parents=True)
    transcript = "\n".join(map(json.dumps, lines))
    (tmp_path / "agent/claude-code.txt").write_text(transcript, "utf-8")
    (tmp_path / "task/task.toml").write_text('repo = "acme/w"\n', "utf-8")
    truth = json.dumps({"files": list(expected)})
    (tmp_path / "task/tests/ground_truth.json").write_text(truth, "utf-8")
    events = extract_events(read_trace(tmp_path), load_ground_truth(tmp_path / "task"))
    assert dict(zip(expected, evidence(events).values(), strict=True)) == expected
