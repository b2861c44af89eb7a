"""One row per tool and trap: what a call did, from name, arguments and result."""

from __future__ import annotations

from typing import Any

import pytest

from retrieval_eval.agents.traces.tools import ToolUse, interpret, salient_arguments
from retrieval_eval.records import ToolCall, ToolResult
from tests.tool_uses import certain

Seen = tuple[str, str]


def use(name: str, arguments: dict[str, Any], text: str | None = "ok", **result: Any) -> ToolUse:
    answer = None if text is None else ToolResult(text, **result)
    return certain(interpret(ToolCall("c1", name, arguments, answer, cwd="/workspace")))


def seen(used: ToolUse) -> list[Seen]:
    return [(target.path, target.access) for target in used.targets]


@pytest.mark.parametrize(
    ("arguments", "text", "is_opaque"),
    [
        ({}, "def f(): ...", True),
        ({"description": "look"}, "def f(): ...", True),
        ({}, "", False),
        ({"command": ""}, "def f(): ...", False),
    ],
)
def test_what_a_shell_printed_for_an_unknown_command_is_opaque(arguments, text, is_opaque):
    assert use("Bash", arguments, text).is_opaque is is_opaque


CATEGORIES = [
    ("Read", {}, "file_read", False, None),
    ("Grep", {"output_mode": "content"}, "code_search", False, None),
    ("Grep", {"output_mode": "files_with_matches"}, "file_search", False, None),
    ("Grep", {"output_mode": "count"}, "file_search", False, None),
    ("Grep", {}, "file_search", False, None),
    ("WebFetch", {"url": "https://docs.example.org/a"}, "other", False, None),
    ("WebFetch", {"url": "https://github.com/a/b/blob/v1/c.py"}, "file_read", False, None),
    ("mcp__sourcegraph__read_file", {}, "file_read", True, "sourcegraph"),
    ("mcp__sourcegraph__sg_read_file", {}, "file_read", True, "sourcegraph"),
    ("mcp__sourcegraph__sg_list_files", {}, "file_search", True, "sourcegraph"),
    ("mcp__sourcegraph__keyword_search", {}, "code_search", True, "sourcegraph"),
    ("mcp__sourcegraph__sg_nls_search", {}, "code_search", True, "sourcegraph"),
    ("mcp__sourcegraph__find_references", {}, "symbol_navigation", True, "sourcegraph"),
    ("mcp__sourcegraph__sg_go_to_definition", {}, "symbol_navigation", True, "sourcegraph"),
    ("mcp__sourcegraph__commit_search", {}, "commit_search", True, "sourcegraph"),
    ("mcp__sourcegraph__compare_revisions", {}, "commit_search", True, "sourcegraph"),
    ("mcp__sourcegraph__deepsearch", {}, "deep_search", True, "sourcegraph"),
    ("mcp__sourcegraph__evaluator", {}, "code_search", True, "sourcegraph"),
    ("mcp__sourcegraph__list_repos", {}, "other", True, "sourcegraph"),
    ("mcp__github__get_file_contents", {}, "file_read", True, "github"),
    ("mcp__github__search_code", {}, "code_search", True, "github"),
    ("mcp__github__get_repository_tree", {}, "file_search", True, "github"),
    ("mcp__github__get_commit", {}, "commit_search", True, "github"),
    ("mcp__github__create_or_update_file", {}, "file_write", True, "github"),
    ("mcp__github__search_repositories", {}, "other", True, "github"),
    ("mcp__auggie__codebase-retrieval", {}, "code_search", True, "auggie"),
    ("mcp__auggie__augment_code_search", {}, "code_search", True, "auggie"),
    ("mcp__files__read_text_file", {}, "file_read", True, "files"),
    ("mcp__files__list_directory", {}, "file_search", True, "files"),
    ("mcp__files__edit_file", {}, "file_write", True, "files"),
    ("mcp__lsp__find_symbol", {}, "symbol_navigation", True, "lsp"),
    ("mcp__lsp__replace_symbol_body", {}, "file_write", True, "lsp"),
    ("mcp__git__git_blame", {}, "commit_search", True, "git"),
    ("mcp__coffee__make_coffee", {}, "other", True, "coffee"),
    ("keyword_search", {"query": "x"}, "code_search", True, "sourcegraph"),
    ("deepsearch", {}, "deep_search", True, "sourcegraph"),
    ("read_file", {"repo": "github.com/a/b", "path": "c"}, "file_read", True, "sourcegraph"),
    ("read_file", {"path": "c"}, "file_read", False, None),
    ("list_files", {"repo": "github.com/a/b"}, "file_search", True, "sourcegraph"),
    ("list_files", {"path": "c"}, "file_search", False, None),
    ("find_references", {"repo": "github.com/a/b"}, "symbol_navigation", True, "sourcegraph"),
    ("str_replace_editor", {"command": "view"}, "file_read", False, None),
    ("str_replace_editor", {"command": "create"}, "file_write", False, None),
    ("str_replace_editor", {"command": "str_replace"}, "file_write", False, None),
    ("str_replace_editor", {"command": "insert"}, "file_write", False, None),
    ("str_replace_editor", {"command": "undo_edit"}, "file_write", False, None),
    ("grepToolCall", {"outputMode": "content"}, "code_search", False, None),
    ("grepToolCall", {"outputMode": "files_with_matches"}, "file_search", False, None),
    ("make_coffee", {}, "other", False, None),
]


@pytest.mark.parametrize(("name", "arguments", "category", "is_mcp", "server"), CATEGORIES)
def test_category_and_server(name, arguments, category, is_mcp, server):
    used = use(name, arguments, None)
    assert (used.category, used.is_mcp, used.server) == (category, is_mcp, server)
    assert used.is_retrieval


@pytest.mark.parametrize(
    "name",
    [
        *("TodoWrite", "ToolSearch", "think", "finish", "task_tracker", "TaskOutput"),
        *("updateTodosToolCall", "ExitPlanMode", "BashOutput", "KillShell", "AskUserQuestion"),
        *("mcp__x__sequentialthinking", "EnterWorktree"),
    ],
)
def test_housekeeping_is_no_retrieval(name):
    used = use(name, {"path": "a.py"}, "/workspace/a.py")
    assert not used.is_retrieval
    assert used.targets == ()
    assert not used.is_opaque


@pytest.mark.parametrize(
    ("name", "arguments", "command", "cwd"),
    [
        ("Bash", {"command": "ls"}, "ls", None),
        ("execute_bash", {"command": "ls", "is_input": "false"}, "ls", None),
        ("execute_bash", {"command": "C-c", "is_input": "true"}, None, None),
        ("shellToolCall", {"command": "ls", "workingDirectory": "/w"}, "ls", "/w"),
        ("shellToolCall", {"command": "ls", "workingDirectory": ""}, "ls", None),
        ("run_terminal_cmd", {"command": "ls"}, "ls", None),
        ("shell", {"command": ["bash", "-lc", "cat a b"], "workdir": "/w"}, "cat a b", "/w"),
        ("shell", {"command": ["cat", "a b"]}, "cat 'a b'", None),
        ("shell", {"command": ["/bin/bash", "run.sh", "a b"]}, "/bin/bash run.sh 'a b'", None),
        ("Bash", {"command": 3}, None, None),
        ("Read", {"command": "ls"}, None, None),
    ],
)
def test_shell_commands_are_handed_on(name, arguments, command, cwd):
    used = use(name, arguments, "a.py")
    assert (used.command, used.command_cwd) == (command, cwd)
    assert used.targets == ()


FAILURES = [
    ("Read", {"file_path": "/w/a.py"}, "File does not exist."),
    (
        "Read",
        {"file_path": "/w/a.py"},
        "File content (10442 tokens) exceeds maximum allowed tokens",
    ),
    (
        "Read",
        {"file_path": "/w/a.py", "offset": 9},
        "<system-reminder>Warning: the file exists but is shorter than the provided offset (9).",
    ),
    (
        "Read",
        {"file_path": "/w/a.py"},
        "<tool_use_error>Sibling tool call errored</tool_use_error>",
    ),
    ("Edit", {"path": "a.py"}, "InputValidationError: Edit failed due to the following issues"),
    ("Write", {"file_path": "/w/a.py"}, "<tool_use_error>File has not been read yet"),
    (
        "str_replace_editor",
        {"command": "view", "path": "/w/a"},
        "ERROR:\nInvalid `path` parameter: x",
    ),
    (
        "str_replace_editor",
        {"command": "str_replace", "path": "/w/a"},
        "No replacement was performed, old_str did not appear",
    ),
    ("mcp__sourcegraph__read_file", {"repo": "r/r", "path": "a"}, "repository not found: r/r"),
    ("mcp__sourcegraph__read_file", {"repo": "r/r", "path": "a"}, '{"text":"file not found"}'),
    ("mcp__auggie__codebase-retrieval", {}, "HTTP error: 401 Unauthorized"),
    ("mcp__sourcegraph__evaluator", {"script": "read_file({})"}, "script execution failed: x"),
    (
        "WebFetch",
        {"url": "https://raw.githubusercontent.com/a/b/v1/c.py"},
        "Request failed with status code 404",
    ),
]


@pytest.mark.parametrize(("name", "arguments", "text"), FAILURES)
def test_a_failure_in_words_finds_nothing(name, arguments, text):
    used = use(name, arguments, text)
    assert used.is_error
    assert used.targets == ()


def test_an_emptied_file_shows_nothing_though_the_structure_says_one_line():
    file = {"filePath": "/w/a.cc", "content": "", "numLines": 1, "startLine": 1, "totalLines": 1}
    text = "<system-reminder>Warning: the file exists but the contents are empty.</system-reminder>"
    used = use("Read", {"file_path": "/w/a.cc"}, text, structured={"type": "text", "file": file})
    assert used.targets == ()


@pytest.mark.parametrize("name", ["Read", "Grep", "Write", "mcp__sourcegraph__read_file"])
def test_a_call_without_a_result_is_no_error_and_may_have_read_what_it_names(name):
    arguments = {"path": "/w/a.py", "file_path": "/w/a.py", "repo": "a/b"}
    used = interpret(ToolCall("c1", name, arguments, None, cwd="/workspace"))
    assert (used.is_error, used.is_opaque) == (False, False)
    expected = set() if name == "Write" else {"no_result"}
    assert {target.doubt for target in used.targets} == expected


def test_an_argument_of_a_search_is_not_a_result():
    arguments = {"repo": "github.com/a/b", "path": "a.go", "symbol": "F"}
    for text in ("", "No results.", "No references found.", '{"text":"No results."}'):
        used = use("mcp__sourcegraph__find_references", arguments, text)
        assert used.targets == ()
        assert not used.is_opaque


@pytest.mark.parametrize(
    "path",
    ["Makefile", "Dockerfile", "docs/rfc-123-x.md", "app/(auth)/page.tsx", "a b.py", ".bazelrc"],
)
def test_one_rule_for_every_file_name(path):
    read = use("Read", {"file_path": f"/workspace/{path}"}, "1\tx")
    glob = use("Glob", {"pattern": "*"}, f"/workspace/{path}")
    grep = use("Grep", {"pattern": "x"}, f"Found 1 file\n{path}")
    lines = use("Grep", {"pattern": "x", "output_mode": "content"}, f"{path}:12:x")
    remote = use(
        "mcp__sourcegraph__list_files", {"repo": "github.com/a/b"}, f'{{"text":"src/\\n{path}"}}'
    )
    search = use(
        "mcp__sourcegraph__keyword_search", {"query": "x"}, f"# github.com/a/b – {path}\n3: x"
    )
    for used in (read, glob, grep, lines):
        assert [t.path for t in used.targets] == [f"/workspace/{path}"]
    for used in (remote, search):
        assert [t.path for t in used.targets] == [path]


@pytest.mark.parametrize(
    ("path", "is_opaque"),
    [
        ("/logs/agent/sessions/projects/-workspace/f8/tool-results/toolu_01.txt", True),
        ("/home/claude/.claude/projects/-workspace/memory/MEMORY.md", False),
    ],
)
def test_files_of_the_harness_are_no_repository_files(path, is_opaque):
    used = use("Read", {"file_path": path}, "1\tsrc/a.py:3:x")
    assert used.category == "file_read"
    assert used.targets == ()
    assert used.is_opaque == is_opaque


def test_a_repository_folder_called_memory_is_kept():
    used = use("Read", {"file_path": "/workspace/src/memory/pool.c"}, "1\tx")
    assert seen(used) == [("/workspace/src/memory/pool.c", "opened")]


def test_cursor_wraps_mcp_calls():
    arguments = {
        "providerIdentifier": "sourcegraph",
        "name": "sourcegraph-keyword_search",
        "toolName": "keyword_search",
        "args": {"query": "x"},
    }
    answer = {"content": [{"text": {"text": "# github.com/a/b – c.go\n7: x"}}], "isError": False}
    used = use("mcpToolCall", arguments, "", structured=answer)
    assert (used.category, used.is_mcp, used.server) == ("code_search", True, "sourcegraph")
    assert seen(used) == [("c.go", "matched")]
    assert used.arguments == {"query": "x"}


def test_long_arguments_are_cut_and_their_length_is_kept():
    edits = [{"old": "x" * 300, "new": "y" * 300}]
    kept = salient_arguments({"content": "z" * 50_123, "edits": edits, "offset": 3, "n": [1]})
    assert kept["content"] == "z" * 500
    assert kept["content_length"] == 50_123
    assert len(kept["edits"]) == 500
    assert kept["edits_length"] > 600
    assert (kept["offset"], kept["n"]) == (3, [1])


def test_arguments_without_a_json_form_become_null():
    deep: list[Any] = []
    for _ in range(1_000_000):
        deep = [deep]
    kept = salient_arguments({"nan": float("nan"), "inner": [float("inf")], "deep": deep})
    assert kept == {"nan": None, "inner": None, "deep": None}


@pytest.mark.parametrize(
    ("name", "server"),
    [
        ("files__read_file", "files"),
        ("mcp__developer__shell", "developer"),
        ("mcp_memory_search", "memory"),
        ("developers__shell", "developers"),
    ],
)
def test_any_other_namespace_is_an_mcp_server(name, server):
    used = use(name, {"path": "a.py"}, "x")
    assert (used.is_mcp, used.server) == (True, server)


@pytest.mark.parametrize(
    "name", ["functions.shell", "functions__exec_command", "Developer__shell", "developer__shell"]
)
def test_a_shell_below_a_harnesss_own_name_is_no_server(name):
    used = use(name, {"command": "cat a.py"}, "import os")
    assert (used.server, used.command) == (None, "cat a.py")


def test_a_servers_name_before_a_shell_stays_a_server():
    assert use("acme__shell", {"command": "cat a.py"}, "import os").server == "acme"
