from __future__ import annotations

import pytest

from retrieval_eval.agents.traces.formats.openhands import repaired, result

VIEW = "Here's the result of running `cat -n` on /w/a.py:\n   {}\tx = 1\n   {}\ty = 2\n"


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("execute_bash", {"command": "ls"}, "Running command: ls"),
        ("execute_bash", {"command": "ls\n"}, "Running command: ls"),
        ("execute_bash", {"command": "C-c", "is_input": "true"}, "Running command: other"),
        ("execute_bash", {"command": "ls"}, "Something else"),
        ("execute_bash", {"command": "ls"}, None),
        ("execute_bash", {"command": "ls"}, "Running command: cat ...[truncated]... b"),
        ("str_replace_editor", {"path": "/w/a.py"}, "Reading file: /w/a.py"),
        ("str_replace_editor", {"path": "/w/a.py"}, "I edited the file /w/a.py."),
        ("finish", {"message": "done"}, "All done!"),
        ("read_file", {"path": "a"}, "with name:\n```\nother\n```\nand arguments:\n```\n{}\n```"),
        (
            "read_file",
            {"path": "a"},
            "with name:\n```\nread_file\n```\nand arguments:\n```\nf()\n```",
        ),
    ],
)
def test_arguments_that_agree_or_cannot_be_checked_stay(name, arguments, message):
    assert repaired(name, arguments, message, None) is None


def test_a_view_with_the_arguments_of_a_shell_call_gets_its_path():
    corrected = repaired(
        "str_replace_editor", {"command": "find . | head"}, "Reading file: /w/a.py", None
    )
    assert corrected == {"command": "view", "path": "/w/a.py"}


def test_a_view_of_another_file_gets_the_lines_that_were_shown():
    corrected = repaired(
        "str_replace_editor",
        {"command": "view", "path": "/w/b.py", "view_range": [1, 2]},
        "Reading file: /w/a.py",
        VIEW.format(40, 41),
    )
    assert corrected == {"command": "view", "path": "/w/a.py", "view_range": [40, 41]}


def test_the_range_of_a_parallel_view_of_the_same_file_is_mended():
    arguments = {"command": "view", "path": "/w/a.py", "view_range": [1, 2]}
    message = "Reading file: /w/a.py"
    shown = VIEW.format(40, 41)
    assert repaired("str_replace_editor", arguments, message, shown) == {
        "command": "view",
        "path": "/w/a.py",
        "view_range": [40, 41],
    }
    assert repaired("str_replace_editor", arguments, message, VIEW.format(1, 2)) is None


def test_an_edit_of_another_file_gets_its_path():
    arguments = {"command": "create", "path": "/w/b.py", "file_text": "b"}
    message = "I edited the file /w/a.py."
    assert repaired("str_replace_editor", arguments, message, "The file has been edited.") == {
        "command": "str_replace",
        "path": "/w/a.py",
    }
    assert repaired("str_replace_editor", arguments, message, "File created successfully") == {
        "command": "create",
        "path": "/w/a.py",
    }


def test_the_arguments_of_a_remote_tool_are_read_back_from_the_message():
    message = (
        "I am interacting with the MCP server with name:\n```\nread_file\n```\n"
        "and arguments:\n```\n{'repo': 'r', 'path': 'src\\\\.c', 'startLine': 3}\n```"
    )
    stated = {"repo": "r", "path": "src\\.c", "startLine": 3}
    assert repaired("read_file", {"query": "x"}, message, None) == stated
    assert repaired("read_file", stated, message, None) is None


@pytest.mark.parametrize(
    ("name", "text", "is_error"),
    [
        ("str_replace_editor", "ERROR:\nInvalid `path` parameter: /x.", True),
        ("str_replace_editor", "Invalid `view_range` parameter", True),
        ("str_replace_editor", "Here's the result of running `cat -n` on /x:", False),
        ("execute_bash", "ERROR: Cannot execute multiple commands at once.\nPlease", True),
        ("execute_bash", "ERROR: printed by the command", False),
        ("execute_bash", '{"content": [{"text": "a JSON file"}]}', False),
        ("list_files", "{not json", False),
        ("list_files", '{"files": []}', False),
    ],
)
def test_only_the_tools_own_errors_are_errors(name, text, is_error):
    parsed = result(name, text, False)
    assert (parsed.text, parsed.is_error) == (text, is_error)
