from __future__ import annotations

import pytest

from retrieval_eval.agents.traces.results.base import DISPLAY
from retrieval_eval.agents.traces.tools import interpret
from retrieval_eval.records import ToolCall, ToolResult


def use(name, arguments, text, structured=None, cwd="/w"):
    return interpret(ToolCall("c", name, arguments, ToolResult(text, structured), cwd=cwd))


def found(*args, **more):
    return [(t.access, t.path, t.lines, t.doubt) for t in use(*args, **more).targets]


GREP = """Found 3 matches for pattern "x" in path "{}":
---
File: {}
L3: x
L4- y
---
"""
NAMES = 'Found 2 files with matches for pattern "x" in path ".":\na.py\nlib/b.py\n(1 ignored)'


@pytest.mark.parametrize(
    ("arguments", "text", "targets"),
    [
        ({"dir_path": "/w/src"}, GREP.format("src", "a.py"), [("/w/src/a.py", ((3, 4),))]),
        ({}, GREP.format(".", "src/a.py"), [("/w/src/a.py", ((3, 4),))]),
        ({"path": "src/a.py"}, GREP.format("src/a.py", "a.py"), [("/w/src/a.py", ((3, 4),))]),
        ({"names_only": True}, NAMES, [("/w/a.py", None), ("/w/lib/b.py", None)]),
        (
            {"path": "/w"},
            'Found 1 match for pattern "x" in path "/w":\n---\n/w/a.py:3:x\n/w/b.py:9:x\n---',
            [("/w/a.py", ((3, 3),)), ("/w/b.py", ((9, 9),))],
        ),
        ({}, 'No matches found for pattern "x" in path ".".', []),
        ({"query": "x"}, "Path: src/a.py\nLine 3: x", [("/w/src/a.py", ((3, 3),))]),
    ],
)
def test_paths_of_a_search_are_relative_to_the_searched_folder(arguments, text, targets):
    read = found("grep_search", {"pattern": "x", **arguments}, text)
    assert read == [("matched", path, lines, None) for path, lines in targets]


def test_a_search_for_names_is_a_file_search():
    assert use("grep_search", {"names_only": True}, NAMES).category == "file_search"
    assert use("search_file_content", {}, GREP.format(".", "a.py")).category == "code_search"


def test_a_search_without_a_known_folder_keeps_its_own():
    read = found("grep_search", {"dir_path": "src"}, GREP.format("src", "a.py"), cwd=None)
    assert read == [("matched", "src/a.py", ((3, 4),), None)]
    read = found("grep_search", {"dir_path": "src"}, GREP.format("src", "src/a.py"), cwd=None)
    assert read == [("matched", "src/a.py", ((3, 4),), None)]


@pytest.mark.parametrize(
    ("name", "arguments", "text", "path"),
    [
        ("grep_search", {}, "Found 3 matches", "/w/*"),
        ("grep_search", {"dir_path": "src"}, "", "/w/src/*"),
        ("glob", {"pattern": "**/*.py"}, "Found 2 matching file(s)", "/w/*.py"),
        ("glob", {"pattern": "/w/src/**/t?.{py,js}"}, "Found 2 matching file(s)", "/w/src/*t*.*"),
        ("list_directory", {"dir_path": "/w/lib"}, "Listed 4 item(s). (2 ignored)", "/w/lib/*"),
    ],
)
def test_what_was_only_counted_is_possible(name, arguments, text, path):
    (target,) = use(name, arguments, text, {DISPLAY: text}).targets
    assert (target.path, target.doubt, target.is_pattern) == (path, "display_only", True)


def test_nothing_was_found_where_the_count_is_zero():
    assert found("glob", {"pattern": "*"}, "Found 0 matching file(s)", {DISPLAY: ""}) == []


CUT = """
IMPORTANT: The file content has been truncated.
Status: Showing lines 5-9 of 90 total lines.
Action: read on.

--- FILE CONTENT (truncated) ---
{}"""


@pytest.mark.parametrize(
    ("arguments", "text", "structured", "lines"),
    [
        ({}, CUT.format("a\nb\nc\nd\ne\n"), None, [((5, 9),)]),
        ({}, CUT.format("a"), None, [((5, 5),)]),  # what follows the last line break counts, too
        ({}, CUT.format(""), None, []),
        ({}, "import os", None, [None]),
        ({}, "", {DISPLAY: ""}, [None]),
        ({"start_line": 2, "end_line": 4}, "", {DISPLAY: ""}, [((2, 4),)]),
        ({}, "Read lines 5-9 of 90 from a.py", {DISPLAY: ""}, [((5, 9),)]),
        ({}, "Read lines 5-9 of 90 from a.py", None, [((5, 9),)]),
        ({}, "Skipped file: a.py", {DISPLAY: ""}, []),
        ({}, "", None, []),
    ],
)
def test_the_lines_that_a_read_shows(arguments, text, structured, lines):
    read = use("read_file", {"absolute_path": "/w/a.py", **arguments}, text, structured)
    assert [t.lines for t in read.targets] == lines
    assert {t.path for t in read.targets} <= {"/w/a.py"}


def test_a_read_without_a_path_is_opaque():
    assert use("read_file", {}, "import os").is_opaque


def test_many_files_are_read_by_their_sections():
    text = "--- /w/a.py ---\n\nimport os\n\n--- src/b.py ---\n\nx\n--- End of content ---"
    read = found("read_many_files", {"paths": ["*.py"]}, text)
    assert read == [("opened", "/w/a.py", None, None), ("opened", "/w/src/b.py", None, None)]
    assert use("read_many_files", {}, "what is this").is_opaque


def test_a_summary_names_the_first_of_many_files():
    text = (
        "### ReadManyFiles Result (Target Dir: `/repo`)\n\n**Processed Files:**\n- `a.py`\n"
        "- ...and 9 more.\n\n**Skipped 1 item(s):**\n- `b.py` (Reason: large)"
    )
    read = use("read_many_files", {}, text)
    assert [(t.path, t.doubt) for t in read.targets] == [("/repo/a.py", None), ("*", "opaque_call")]
    assert read.is_opaque


def test_a_listing_with_sizes():
    text = "Directory listing for /w/src:\n[DIR] lib\na b.py (1,204 bytes)\n(2 ignored)"
    read = found("list_directory", {"dir_path": "/w/src"}, text)
    assert read == [("listed", "/w/src/a b.py", None, None)]


def test_an_indented_listing():
    long = "x" * 5000
    text = f"Absolute path: /w\n  lib/\n    b.py\n    link@\n  {long}\n  a.py\nMore than 4 entries"
    read = found("list_dir", {"dir_path": "/w"}, text)
    assert [path for _, path, *_ in read] == ["/w/lib/b.py", "/w/lib/link", "/w/a.py"]
    deep = "".join(f"{' ' * 2 * n}{'d' * 900}/\n" for n in range(9))
    assert found("list_dir", {}, f"Absolute path: /w\n{deep}{' ' * 18}f.py") == []
