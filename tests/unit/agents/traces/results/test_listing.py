"""Listings: names relative to the working directory or to the folder searched."""

from __future__ import annotations

import json
from typing import Any

import pytest

from retrieval_eval.agents.traces.results.listing import listed_names, listed_texts, located
from retrieval_eval.agents.traces.tools import ToolUse, interpret
from retrieval_eval.records import ToolCall, ToolResult
from tests.tool_uses import certain


def use(name: str, arguments: dict[str, Any], text: str, **result: Any) -> ToolUse:
    call = ToolCall("c1", name, arguments, ToolResult(text, **result), cwd="/workspace")
    return certain(interpret(call))


def listed(used: ToolUse) -> list[str]:
    assert {t.access for t in used.targets} <= {"listed"}
    assert used.category == "file_search"
    return [t.path for t in used.targets]


@pytest.mark.parametrize(
    ("names", "folder", "cwd", "paths"),
    [
        (["src/a.py"], None, "/workspace", ["/workspace/src/a.py"]),
        (["/x/a.py"], "/workspace", "/workspace", ["/x/a.py"]),
        (
            ["jest/packages/a.json"],
            "/workspace/jest/packages",
            "/workspace",
            ["jest/packages/a.json"],
        ),
        (["a.json"], "/workspace/jest/packages", "/workspace", ["jest/packages/a.json"]),
        (["packages/a.json"], "/workspace/jest/packages", "/workspace", ["jest/packages/a.json"]),
        (["packages/a"], "/workspace/jest/packages", "/workspace/jest", ["jest/packages/a"]),
        (["packages/a", "b"], "/workspace/packages", None, ["packages/packages/a", "packages/b"]),
        (["a.py"], "src", "/workspace", ["src/a.py"]),
    ],
)
def test_the_base_of_relative_names(names, folder, cwd, paths):
    expected = [p if p.startswith("/") else f"/workspace/{p}" for p in paths]
    assert located(names, folder, cwd) == expected


def test_cursor_glob_is_relative_to_the_target_directory():
    value = {"pattern": "", "path": "/workspace/godot", "files": ["core/a.cpp", "core/a.h"]}
    used = use("globToolCall", {"targetDirectory": "/workspace/godot"}, "", structured=value)
    assert listed(used) == ["/workspace/godot/core/a.cpp", "/workspace/godot/core/a.h"]


def test_ls_prints_a_tree():
    text = (
        "- /workspace/app/\n  - README.md\n  - src/\n    - a.py\n    - b/\n      - c.py\n  - z.txt"
    )
    assert listed(use("LS", {"path": "/workspace/app"}, text)) == [
        "/workspace/app/README.md",
        "/workspace/app/src/a.py",
        "/workspace/app/src/b/c.py",
        "/workspace/app/z.txt",
    ]


def test_cursor_folders_are_nested():
    inner = {"absPath": "/w/src", "childrenDirs": [], "childrenFiles": [{"name": "a.py"}]}
    root = {"absPath": "/w", "childrenDirs": [inner, 3], "childrenFiles": [{"name": "Makefile"}]}
    used = use("lsToolCall", {"path": "/w"}, "", structured={"directoryTreeRoot": root})
    assert listed(used) == ["/w/Makefile", "/w/src/a.py"]


def test_a_tree_of_names_and_children_is_a_listing():
    inner = {"name": "src", "type": "directory", "children": [{"name": "a.py", "type": "file"}]}
    tree = [inner, {"name": "empty", "type": "directory"}, {"name": "Makefile"}, 3]
    used = use("mcp__files__directory_tree", {"path": "/w"}, json.dumps(tree))
    assert listed(used) == ["/w/src/a.py", "/w/Makefile"]


def test_marked_entries_of_an_unknown_server():
    text = "[DIR] src\n[FILE] setup.cfg\n[FILE] a b.txt"
    used = use("mcp__files__list_directory", {"path": "/workspace/app"}, text)
    assert listed(used) == ["/workspace/app/setup.cfg", "/workspace/app/a b.txt"]
    text = "[DIR] src\n[FILE] setup.cfg\n[FILE] Makefile"
    used = use("mcp__files__list_directory", {"path": "/workspace/app"}, text)
    assert listed(used) == ["/workspace/app/setup.cfg", "/workspace/app/Makefile"]


def test_records_of_a_listing_are_its_entries():
    text = (
        '[{"path": "/workspace/a.py", "is_dir": false}, {"path": "/workspace/lib", "is_dir": true}]'
    )
    assert listed(use("list_directory", {"path": "."}, text)) == ["/workspace/a.py"]
    text = '{"entries": [{"name": "a.py", "type": "file"}, {"name": "lib", "type": "directory"}]}'
    assert listed(use("list_directory", {"path": "docs"}, text)) == ["/workspace/docs/a.py"]
    assert use("list_directory", {"path": "docs"}, '[{"size": 3}]').is_opaque
    assert use("list_directory", {"path": "docs"}, "[{'path': 'a.py'}]").is_opaque


@pytest.mark.parametrize(
    ("folder", "text", "paths"),
    [
        ("docs", "docs/api.md\ndocs/my notes.md", ["docs/api.md", "docs/my notes.md"]),
        # Without an extension it may be a folder.
        ("docs", "docs/api.md\ndocs/my notes", ["docs/api.md"]),
        ("docs", "api.md\nmy notes.md\nold/", ["docs/api.md", "docs/my notes.md"]),
        ("/workspace/docs", "/workspace/docs/my n.md", ["/workspace/docs/my n.md"]),
        (".", "This folder holds\na.py", None),
        (".", "Sure!\nmy notes.md", None),
    ],
)
def test_a_name_with_a_space_hides_no_other(folder, text, paths):
    used = use("list_files", {"path": folder}, text)
    if paths is None:
        assert used.is_opaque
    else:
        assert listed(used) == [p if p[0] == "/" else f"/workspace/{p}" for p in paths]


@pytest.mark.parametrize("name", ["ls", "glob", "list_files", "mcp__fs__list_files"])
@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("['/docs/api.md', '/docs/my guide.md', '/docs/old/']", ["api.md", "my guide.md"]),
        ("[\"/docs/it's.md\", '/docs/b.md']", ["it's.md", "b.md"]),
        ("['/docs/it\\'s.md']", ["it's.md"]),
        ('["/docs/api.md", "/docs/my guide.md"]', ["api.md", "my guide.md"]),
        ("['/docs/api.md', '/docs/cut of", ["api.md"]),
    ],
)
def test_a_list_in_the_notation_of_python_or_json_is_a_listing(name, text, paths):
    used = use(name, {"path": "/docs"}, text)
    assert listed(used) == [f"/docs/{path}" for path in paths]


@pytest.mark.parametrize(
    "text", ["['a.py' + x]", "['a.py'; 'b.py']", "['", "[" * 9000, "['a'" * 9000]
)
def test_other_brackets_are_no_list(text):
    assert listed_texts(text) in (None, [])


def test_the_line_between_a_heading_and_the_names_is_no_name():
    text = 'Found 2 file(s) matching "**/*.toml", newest first:\n---\n/w/a.toml\n======\n/w/b.toml'
    assert listed(use("glob", {"pattern": "**/*.toml"}, text)) == ["/w/a.toml", "/w/b.toml"]


def test_prose_is_no_listing():
    used = use("mcp__files__list_directory", {}, "The directory seems to hold many files.")
    assert used.targets == ()
    assert used.is_opaque


@pytest.mark.parametrize(
    ("structured", "paths"),
    [
        ({"filenames": ["/workspace/b.py"], "numFiles": 1}, ["/workspace/b.py"]),
        ({"filenames": [], "numFiles": 0}, []),
        ({"files": ["c.py"], "totalFiles": 1}, ["/workspace/c.py"]),
        (["d.py"], ["/workspace/d.py"]),
        ({"content": "/workspace/a.py"}, ["/workspace/a.py"]),
        ({"durationMs": 3}, ["/workspace/a.py"]),
    ],
)
def test_the_text_counts_where_the_structured_result_lists_nothing(structured, paths):
    assert listed(use("Glob", {}, "/workspace/a.py", structured=structured)) == paths


def test_a_relative_folder_without_a_working_directory_stays_relative():
    call = ToolCall("c", "Glob", {"path": "src", "pattern": "*.py"}, ToolResult("src/gt.py"))
    assert [target.path for target in interpret(call).targets] == ["src/gt.py"]
    call = ToolCall(
        "c", "Grep", {"path": "src", "pattern": "x"}, ToolResult("Found 1 file\nsrc/gt.py")
    )
    assert [target.path for target in interpret(call).targets] == ["src/gt.py"]


@pytest.mark.parametrize("divider", ["***", "---", "=====", "####", "- - -", "~~~", "+++"])
def test_a_divider_is_no_file(divider):
    assert listed_names(f"a.py\n{divider}\nb.py", is_truncated=False) == ["a.py", "b.py"]
