"""Claude Code's and Cursor's Grep in their three output modes."""

from __future__ import annotations

from typing import Any

import pytest

from retrieval_eval.agents.traces.results.grep import grep_lines
from retrieval_eval.agents.traces.tools import ToolUse, interpret
from retrieval_eval.records import ToolCall, ToolResult
from tests.tool_uses import certain


def use(arguments: dict[str, Any], text: str, *, name: str = "Grep", **result: Any) -> ToolUse:
    call = ToolCall("c1", name, arguments, ToolResult(text, **result), cwd="/workspace")
    return certain(interpret(call))


def shown(used: ToolUse) -> dict[str, Any]:
    assert {t.access for t in used.targets} <= {"matched"}
    return {t.path: t.lines for t in used.targets}


CONTENT = {"pattern": "x", "output_mode": "content"}


@pytest.mark.parametrize(
    ("arguments", "text", "paths"),
    [
        (
            {},
            "Found 2 files\nfs/dir.c\nfs/trace.h",
            ["/workspace/fs/dir.c", "/workspace/fs/trace.h"],
        ),
        ({}, "Found 1 file\n/workspace/fs/dir.c", ["/workspace/fs/dir.c"]),
        ({"path": "/workspace/fs"}, "Found 1 file\nfs/dir.c", ["/workspace/fs/dir.c"]),
        ({"path": "/workspace/fs/dir.c"}, "Found 1 file\nfs/dir.c", ["/workspace/fs/dir.c"]),
        ({"path": "fs"}, "Found 1 file\nfs/dir.c", ["/workspace/fs/dir.c"]),
        (
            {},
            "Found 1 file limit: 1\na.py\n\n[Showing results with pagination = limit: 1]",
            ["/workspace/a.py"],
        ),
        ({}, "No files found", []),
    ],
)
def test_names_of_files_with_matches(arguments, text, paths):
    used = use(arguments, text)
    assert list(shown(used)) == paths
    assert not used.is_opaque


def test_structured_names_are_preferred():
    value = {"mode": "files_with_matches", "filenames": ["a.py", "b.py"], "numFiles": 2}
    used = use({}, "Found 2 files\na.py", structured=value)
    assert list(shown(used)) == ["/workspace/a.py", "/workspace/b.py"]


@pytest.mark.parametrize(
    ("arguments", "text", "paths"),
    [
        (
            {},
            "a.py:3\nb.py:0\nc/d.py:12\n\nFound 15 total occurrences across 2 files.",
            "a.py c/d.py",
        ),
        ({"path": "a.py"}, "3", "a.py"),
        ({"path": "a.py"}, "0", ""),
        ({}, "No matches found", ""),
    ],
)
def test_a_count_of_zero_is_no_match(arguments, text, paths):
    used = use({"output_mode": "count", **arguments}, text)
    assert list(shown(used)) == [f"/workspace/{p}" for p in paths.split()]


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("a.py:12:x\na.py:40:x\nb.py:3:x", {"a.py": ((12, 12), (40, 40)), "b.py": ((3, 3),)}),
        ("a.py-11-w\na.py:12:x\na.py-13-y\n--\nb.py:3:x", {"a.py": ((11, 13),), "b.py": ((3, 3),)}),
        ("docs/rfc-123-x.md:7:y", {"docs/rfc-123-x.md": ((7, 7),)}),
        (
            "docs/rfc-123-x.md-6-a\ndocs/rfc-123-x.md:7:y\ndocs/rfc-123-x.md-8-z",
            {"docs/rfc-123-x.md": ((6, 8),)},
        ),
        ("a.py:1:x\na.py-2-see b.py:9:z", {"a.py": ((1, 2),)}),
        ("a.py:1:if t == 10:30:00", {"a.py": ((1, 1),)}),
        (
            "2024-01-notes.md:5:x\n03-Start/a.md:9:y",
            {"2024-01-notes.md": ((5, 5),), "03-Start/a.md": ((9, 9),)},
        ),
    ],
)
def test_content_lines_name_their_file(text, files):
    used = use(CONTENT, text)
    assert shown(used) == {f"/workspace/{path}": lines for path, lines in files.items()}
    assert not used.is_opaque


def test_context_lines_keep_the_absolute_path_that_matching_lines_lose():
    text = (
        "/workspace/net/clnt.c-651-\tif\nnet/clnt.c:652:\terr\n/workspace/net/clnt.c-653-\t\tgoto"
    )
    used = use({**CONTENT, "path": "/workspace/net", "-C": 1}, text)
    assert shown(used) == {"/workspace/net/clnt.c": ((651, 653),)}


def test_lines_without_a_path_belong_to_the_named_file():
    text = "567-    @setup\n570:    def f(self):\n571-        x\n--\n900:    f()"
    used = use({**CONTENT, "path": "/workspace/flask/app.py"}, text)
    assert shown(used) == {"/workspace/flask/app.py": ((567, 567), (570, 571), (900, 900))}


def test_lines_without_a_path_over_a_folder_are_opaque():
    used = use(CONTENT, "12:x\n14:y")
    assert used.targets == ()
    assert used.is_opaque


def test_no_matches_with_a_footer():
    text = "No matches found\n\n[Showing results with pagination = limit: 30, offset: 0]"
    used = use({**CONTENT, "path": "/workspace/a.py"}, text)
    assert (used.targets, used.is_opaque) == ((), False)


def test_context_lines_of_an_absolute_path_with_numbers_in_it():
    text = "/workspace/net/rfc-1-x.c-651-\tif\nnet/rfc-1-x.c:652:\terr"
    used = use({**CONTENT, "path": "/workspace/net"}, text)
    assert shown(used) == {"/workspace/net/rfc-1-x.c": ((651, 652),)}


def test_lines_without_numbers_that_name_no_file_are_opaque():
    used = use({**CONTENT, "path": "/workspace/src"}, "src/a.py:import b\nthe rest of a line")
    assert list(shown(used)) == ["/workspace/src/a.py"]
    assert used.is_opaque


def test_of_a_saved_result_the_preview_counts_without_its_half_line():
    text = (
        "<persisted-output>\nOutput too large (26.9KB). Full output saved to: "
        "/logs/agent/sessions/projects/-w/f8/tool-results/t.txt\n\nPreview (first 2KB):\n"
        "Found 90 files\nsrc/a.py\nsrc/b.py\nsrc/c_half.p\n...\n</persisted-output>"
    )
    assert list(shown(use({}, text))) == ["/workspace/src/a.py", "/workspace/src/b.py"]


def test_a_cut_trace_gives_what_is_certain_and_is_opaque():
    used = use({}, "Found 33 files\nsrc/a.py\nsrc/b", is_truncated=True)
    assert list(shown(used)) == ["/workspace/src/a.py"]
    assert used.is_opaque


def test_a_context_line_that_may_be_a_match_is_uncertain():
    found = grep_lines(["a.py-2-see b.py:9:z"])
    assert found.files == {}
    assert found.is_uncertain


def test_context_of_a_file_whose_match_was_cut_away_is_uncertain():
    found = grep_lines(["docs/rfc-123-x.md-6-a"])
    assert found.files == {}
    assert found.is_uncertain


CURSOR = [
    ({"files": {"files": ["net/a.cpp"], "totalFiles": 1}}, {"/workspace/net/a.cpp": None}),
    (
        {
            "content": {
                "matches": [
                    {
                        "file": "net/a.cpp",
                        "matches": [
                            {"lineNumber": 12, "content": "x", "isContextLine": False},
                            {"lineNumber": 13, "content": "y", "isContextLine": True},
                        ],
                    }
                ]
            }
        },
        {"/workspace/net/a.cpp": ((12, 13),)},
    ),
    ({"count": {"counts": [{"file": "a", "count": 2}]}}, {"/workspace/a": None}),
    ({"files": {"files": []}}, {}),
    ({"files": 3, "content": None}, {}),
    (None, {}),
]


@pytest.mark.parametrize(("result", "files"), CURSOR)
def test_cursor_groups_by_workspace(result, files):
    value = {"pattern": "x", "workspaceResults": {"/workspace": result}}
    used = use({"path": "/workspace/net"}, "", name="grepToolCall", structured=value)
    assert shown(used) == files


def test_a_page_of_no_lines_matches_nothing():
    text = "[Showing results with pagination = offset: 10]"
    assert use({**CONTENT, "path": "/workspace/src"}, text).targets == ()


def test_the_mode_of_the_answer_counts_where_the_arguments_were_lost():
    used = use({"path": "a.py"}, "12:x = 1\n13-y", structured={"mode": "content"})
    assert shown(used) == {"/workspace/a.py": ((12, 13),)}
    assert used.category == "code_search"
