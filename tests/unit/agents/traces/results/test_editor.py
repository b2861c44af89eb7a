"""The view/create/str_replace tool of OpenHands, with its mixed-up arguments."""

from __future__ import annotations

from typing import Any

import pytest

from retrieval_eval.agents.traces.tools import ToolUse, interpret
from retrieval_eval.records import CUT_HERE, RawTarget, ToolCall, ToolResult
from tests.tool_uses import certain


def use(arguments: dict[str, Any], text: str, **result: Any) -> ToolUse:
    call = ToolCall("c1", "str_replace_editor", arguments, ToolResult(text, **result))
    return certain(interpret(call))


VIEW = "Here's the result of running `cat -n` on /workspace/k/types.go:\n     1\t/*\n     2\tx\n"
RANGE = (
    "Here's the result of running `cat -n` on /workspace/k/t.go:\n   265\t}\n   266\t\n   267\tx\n"
)
FOLDER = (
    "Here's the files and directories up to 2 levels deep in /workspace, excluding hidden items:\n"
    "/workspace/\n/workspace/config.toml\n/workspace/api--84e8/\n/workspace/api--84e8/BUILD\n"
)


def test_a_view_without_a_range_is_the_whole_file():
    used = use({"command": "view", "path": "/workspace/k/types.go"}, VIEW)
    assert used.category == "file_read"
    assert used.targets == (RawTarget("/workspace/k/types.go", "opened", None, ((1, 2),), True),)


def test_a_clipped_view_is_not_whole():
    used = use({"command": "view", "path": "/workspace/k/types.go"}, f"{VIEW}\n{CUT_HERE}")
    assert [t.is_whole for t in used.targets] == [False]


def test_a_view_of_a_range():
    arguments = {"command": "view", "path": "/workspace/k/t.go", "view_range": [265, 295]}
    (target,) = use(arguments, RANGE).targets
    assert (target.lines, target.is_whole) == (((265, 267),), False)


def test_a_range_of_a_cut_trace_is_the_one_asked_for_if_it_starts_there():
    own = {"command": "view", "path": "/workspace/k/t.go", "view_range": [265, 295]}
    other = {"command": "view", "path": "/workspace/k/t.go", "view_range": [1380, 1420]}
    assert use(own, RANGE, is_truncated=True).targets[0].lines == ((265, 295),)
    assert use(other, RANGE, is_truncated=True).targets[0].lines == ((265, 267),)


def test_the_result_is_believed_when_the_arguments_are_another_calls():
    used = use({"command": "find /workspace -type d", "security_risk": "LOW"}, VIEW)
    assert [(t.path, t.access) for t in used.targets] == [("/workspace/k/types.go", "opened")]
    used = use({"command": "view", "path": "/workspace/other.go"}, VIEW)
    assert [t.path for t in used.targets] == ["/workspace/k/types.go"]


def test_a_folder_view_lists_its_files():
    used = use({"command": "view", "path": "/workspace"}, FOLDER)
    assert used.category == "file_search"
    assert [(t.path, t.access) for t in used.targets] == [
        ("/workspace/config.toml", "listed"),
        ("/workspace/api--84e8/BUILD", "listed"),
    ]


_INTRO = "the files and directories up to 2 levels deep in"


@pytest.mark.parametrize(
    "heading",
    [
        f"Here are {_INTRO} /repo/docs, excluding hidden items:",
        f"Here's {_INTRO} /repo/docs, excluding hidden items:",
        f"Here is {_INTRO} /repo/docs:",
    ],
)
def test_a_folder_view_names_its_folder_and_folders_without_a_mark(heading):
    names = ["", "/api.md", "/old", "/old/guide.md", "/new"]
    text = "\n".join([heading, *(f"/repo/docs{name}" for name in names)])
    used = interpret(
        ToolCall("c", "text_editor", {"command": "view", "path": "/repo/docs"}, ToolResult(text))
    )
    assert used.category == "file_search"
    assert [(t.path, t.access, t.doubt) for t in used.targets] == [
        ("/repo/docs/api.md", "listed", None),
        ("/repo/docs/old/guide.md", "listed", None),
        ("/repo/docs/new", "listed", "opaque_call"),
    ]


def test_a_view_of_an_empty_folder_opens_no_file():
    text = f"Here are {_INTRO} /repo/docs, excluding hidden items:\n/repo/docs\n"
    call = ToolCall("c", "text_editor", {"command": "view", "path": "/repo/docs"}, ToolResult(text))
    assert not certain(interpret(call)).targets


def test_writes():
    created = use({"command": "create", "path": "/w/a.py"}, "File created successfully at: /w/a.py")
    edited = use(
        {"command": "str_replace", "path": "/w/a.py"},
        "The file /w/a b.py has been edited. Here's the result of running `cat -n` on a snippet",
    )
    undone = use(
        {"command": "undo_edit", "path": "/w/a.py"}, "Last edit to /w/a.py undone successfully."
    )
    inserted = use({"command": "insert", "path": "/w/c.py"}, "ok")
    assert [(t.path, t.access) for u in (created, edited, undone, inserted) for t in u.targets] == [
        ("/w/a.py", "written"),
        ("/w/a b.py", "written"),
        ("/w/a.py", "written"),
        ("/w/c.py", "written"),
    ]
    assert created.category == "file_write"
