"""Reads of local files: which lines came back, and whether that was the whole file."""

from __future__ import annotations

from typing import Any

import pytest

from retrieval_eval.agents.traces.tools import interpret
from retrieval_eval.records import RawTarget, ToolCall, ToolResult


def targets(
    arguments: dict[str, Any], text: str, *, name: str = "Read", **result: Any
) -> tuple[RawTarget, ...]:
    call = ToolCall("c1", name, arguments, ToolResult(text, **result), cwd="/workspace")
    return interpret(call).targets


def numbered(first: int, last: int) -> str:
    return "\n".join(f"{n:>6}→line" for n in range(first, last + 1))


def block(start: int, count: int, total: int) -> dict[str, Any]:
    file = {"filePath": "/w/a.py", "startLine": start, "numLines": count, "totalLines": total}
    return {"type": "text", "file": {**file, "content": "x"}}


@pytest.mark.parametrize(
    ("structured", "lines", "is_whole"),
    [
        (block(1, 40, 40), ((1, 40),), True),
        (block(1, 40, 90), ((1, 40),), False),
        (block(900, 100, 2000), ((900, 999),), False),
        (block(21, 20, 40), ((21, 40),), False),
    ],
)
def test_the_structured_result_gives_exact_lines(structured, lines, is_whole):
    (target,) = targets({"file_path": "/w/a.py"}, "1\tx", structured=structured)
    assert target == RawTarget("/w/a.py", "opened", None, lines, is_whole)


def test_what_follows_the_last_line_break_is_no_line():
    record = block(1, 3, 3)
    record["file"]["content"] = "a\nb\n"
    for structured in (record, None):
        (target,) = targets({"file_path": "/w/a.py"}, "1\ta\n2\tb\n3\t", structured=structured)
        assert target == RawTarget("/w/a.py", "opened", None, ((1, 2),), True)


@pytest.mark.parametrize(
    ("arguments", "text", "lines", "is_whole"),
    [
        ({}, numbered(1, 30), ((1, 30),), True),
        ({}, numbered(1, 2000), ((1, 2000),), False),
        ({"limit": 20}, numbered(1, 10), ((1, 10),), True),
        ({"limit": 20}, numbered(1, 20), ((1, 20),), False),
        ({"offset": 900, "limit": 100}, numbered(900, 999), ((900, 999),), False),
        ({"offset": "900", "limit": "3"}, "900\ta\n901\tb\n902\tc", ((900, 902),), False),
        ({}, "1\ta\n2\tb\n\n<system-reminder>\nBe careful\n</system-reminder>", ((1, 2),), True),
        ({}, "L1: a\nL2: b", ((1, 2),), True),
        ({}, "<file>\n00001| a\n00002| b\n</file>", ((1, 2),), True),
        ({}, "[image]", None, True),
    ],
)
def test_lines_are_those_the_text_shows(arguments, text, lines, is_whole):
    (target,) = targets({"file_path": "/w/a.py", **arguments}, text)
    assert (target.lines, target.is_whole) == (lines, is_whole)


@pytest.mark.parametrize("name", ["readToolCall", "read_file"])
def test_numbers_that_begin_lines_of_content_are_no_line_numbers(name):
    text = (
        'import re\n\n\ndef codes():\n    return {\n        200: "OK",\n        404: "No",\n    }'
    )
    (target,) = targets({"path": "/w/a.py"}, text, name=name, structured={"content": text})
    assert (target.lines, target.is_whole) == (None, True)
    (target,) = targets({"path": "/w/a.py"}, text, name=name)
    assert (target.lines, target.is_whole) == (None, True)


def test_a_table_that_cursor_shows_raw_has_no_line_numbers():
    text = "7\ta\n9\tb\n"
    (target,) = targets({"path": "a.tsv"}, text, name="readToolCall", structured={"content": text})
    assert (target.lines, target.is_whole) == (None, True)


def test_lines_counted_from_the_end_of_a_file_are_unknown():
    shown = {"content": "y\nz\n"}
    arguments = {"path": "a.py", "offset": -2}
    (target,) = targets(arguments, "y\nz\n", name="readToolCall", structured=shown)
    assert (target.lines, target.is_whole) == (None, False)


def test_head_and_tail_of_a_file_are_not_the_whole():
    name = "mcp__filesystem__read_text_file"
    (target,) = targets({"path": "/w/a.py", "head": 2}, "y\nz", name=name)
    assert (target.lines, target.is_whole) == (((1, 2),), False)
    (target,) = targets({"path": "/w/a.py", "tail": 2}, "y\nz", name=name)
    assert (target.lines, target.is_whole) == (None, False)


def test_a_result_may_hold_anything():
    odd: dict[str, Any] = {"type": [], "file": "x"}
    assert targets({"file_path": "/w/a.py"}, "", structured=odd) == ()


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        ({"offset": 770, "limit": 50}, ((770, 819),)),
        ({"offset": 770}, ((770, 771),)),
        ({}, ((770, 771),)),
    ],
)
def test_of_a_cut_trace_the_lines_asked_for_count_else_the_visible_ones(arguments, lines):
    call = ToolCall(
        "c1",
        "Read",
        {"file_path": "/w/a.c", **arguments},
        ToolResult("770→a\n   771→b\n   77", is_truncated=True),
    )
    used = interpret(call)
    assert [(t.lines, t.is_whole) for t in used.targets] == [(lines, False)]
    assert not used.is_opaque


def test_cursor_content_has_no_numbers_and_starts_at_the_offset():
    arguments = {"path": "/w/a.cpp", "offset": 3101, "limit": 110}
    (target,) = targets(arguments, "a\nb\nc\n", name="readToolCall", structured={"content": "x"})
    assert (target.lines, target.is_whole) == (((3101, 3103),), False)


@pytest.mark.parametrize(("structured", "is_whole"), [({}, True), ({"exceededLimit": True}, False)])
def test_cursor_without_a_range_reads_the_whole_file(structured, is_whole):
    (target,) = targets({"path": "/w/a"}, "Error: x", name="readToolCall", structured=structured)
    assert (target.lines, target.is_whole) == (None, is_whole)


def test_several_files_of_one_read_are_those_whose_section_came_back():
    text = "a.py:\nimport b\n\n---\nb.py: Error - not found\n---\nc.py:\nx\n"
    found = targets({"paths": ["a.py", "b.py", "c.py"]}, text, name="mcp__files__read_many_files")
    assert [t.path for t in found] == ["/workspace/a.py", "/workspace/c.py"]


_LISTED = "app.py\nconfig.py\npkg\nMakefile"


def _seen(arguments: dict[str, Any], text: str, name: str = "view") -> list[tuple[str, str, bool]]:
    found = targets(arguments, text, name=name)
    return [(t.path.removeprefix("/workspace"), t.access, t.doubt is None) for t in found]


@pytest.mark.parametrize("path", ["/workspace", "/workspace/", ".", "/"])
def test_a_read_of_the_sessions_folder_lists_what_is_in_it(path):
    found = _seen({"path": path}, _LISTED)
    assert [(p.rpartition("/")[2], access, known) for p, access, known in found] == [
        ("app.py", "listed", True),
        ("config.py", "listed", True),
        ("Makefile", "listed", True),
        ("pkg", "listed", False),
    ]


def _beside(path: str, made: str) -> str:
    sides = f"--- a/dev/null\n+++ b{path}" if made else f"--- a{path}\n+++ b{path}"
    return f"\ndiff --git a{path} b{path}\n{made}index 0000000..0000000\n{sides}\n@@ -1 +1 @@\n x\n"


@pytest.mark.parametrize("name", ["docs", "my docs", "docs (old)", "lib.d", "@types"])
@pytest.mark.parametrize("entry", ["a.md", "a b.md", "c (1).md", "Makefile", ".flake8", "a, b.md"])
def test_a_view_of_a_folder_that_is_kept_like_a_new_file_is_a_listing(name, entry):
    path = f"/workspace/{name}"
    kept = {"content": entry, "detailedContent": _beside(path, "create file mode 100644\n")}
    found = targets({"path": path}, entry, name="view", structured=kept)
    assert [(t.path, t.access, t.doubt) for t in found] == [(f"{path}/{entry}", "listed", None)]


@pytest.mark.parametrize("name", ["LICENSE", "Makefile", "notes"])
def test_a_view_of_a_file_is_one_whatever_its_lines(name):
    path = f"/workspace/{name}"
    kept = {"content": "a.md\nb.md", "detailedContent": _beside(path, "")}
    found = targets({"path": path}, "a.md\nb.md", name="view", structured=kept)
    assert [(t.path, t.access, t.doubt) for t in found] == [(path, "opened", None)]


@pytest.mark.parametrize("text", ["app.py\npkg/", "[FILE] app.py\n[DIR] pkg"])
def test_a_read_whose_answer_marks_folders_is_a_listing(text):
    assert _seen({"path": "/workspace/src"}, text) == [("/src/app.py", "listed", True)]


def test_names_below_a_name_without_an_ending_may_be_a_listing_or_the_content_of_a_file():
    assert _seen({"path": "/workspace/src"}, _LISTED) == [
        ("/src", "opened", False),
        ("/src/app.py", "listed", False),
        ("/src/config.py", "listed", False),
        ("/src/Makefile", "listed", False),
        ("/src/pkg", "listed", False),
    ]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("LICENSE", "MIT"),
        ("names.txt", _LISTED),
        ("run", "#!/bin/sh\nexec python app.py"),
        ("Makefile", "all:\n\tmake x"),
    ],
)
def test_what_is_no_listing_is_the_content_of_a_file(path, text):
    assert _seen({"path": f"/workspace/{path}"}, text) == [(f"/{path}", "opened", True)]
