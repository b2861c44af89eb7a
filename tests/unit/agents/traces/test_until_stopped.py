"""Sentences that say that a command did not run to its end."""

from __future__ import annotations

import json

import pytest

from retrieval_eval.agents.traces.served import until_stopped
from retrieval_eval.agents.traces.tools import with_plain_output
from retrieval_eval.records import ToolCall, ToolResult

META = "shell tool terminated command after exceeding timeout 1500 ms."
STOPPED = [
    "a = 1\nCommand timed out after 2 seconds",
    "a = 1\n[The command timed out after 2.0 seconds. You may wait longer.]",
    "a = 1\n[The command has no new output after 30 seconds. The process goes on.]",
    "a = 1\n[Command timed out after 2 seconds of no output]",
    "a = 1\nCommand did not complete within its 2s timeout and was moved to the background.",
    f"a = 1\n\n<shell_metadata>\n{META}\n</shell_metadata>",
    "command timed out after 2000 milliseconds\na = 1",
    "Command timed out after 2000ms. Below is the output before it timed out:\na = 1",
    "a = 1\nError: Command 'cat a; sleep 8' timed out after 3 seconds",
]


@pytest.mark.parametrize("text", STOPPED)
def test_what_was_printed_before_the_stop_is_kept(text):
    result = until_stopped(ToolResult(text), "cat a; sleep 8; cat b")
    assert (result.text.strip(), result.is_stopped, result.is_unfinished) == ("a = 1", True, False)


CLOSING = [
    "[timeout] process killed after 60s",
    "TimeoutExpired: Command 'cat a' timed out after 60 seconds",
    "subprocess.TimeoutExpired: Command '['bash']' timed out after 30 seconds",
    "Timed out waiting for command to finish",
    "Killed: exceeded time limit",
    "*** TIMEOUT after 60s ***",
    "Execution interrupted: time limit reached",
    "command took too long and was terminated",
    "^C",
    "^CTerminated",
    "Terminated",
    "Killed: 9",
    "Command aborted by user",
    "(command interrupted)",
    "[Process was killed (timeout)]",
    "ERROR: execution timeout (60s)",
    "The operation was cancelled by the user.",
]


@pytest.mark.parametrize(
    "behind", ["", "\n", "\n\nExit code: 1", "\n</output>", "\n[exit code: 1]", "\nexit status 1"]
)
@pytest.mark.parametrize("line", CLOSING)
def test_a_last_line_about_an_end_closes_the_output(line, behind):
    result = until_stopped(ToolResult(f"a = 1\n{line}{behind}"), "cat a; sleep 8; cat b")
    assert (result.text.split("\n")[0], result.is_stopped) == ("a = 1", True)
    assert line not in result.text


@pytest.mark.parametrize("line", CLOSING)
def test_such_a_line_alone_may_be_what_a_file_holds(line):
    result = until_stopped(ToolResult(line), "cat a")
    assert result.is_unfinished or result.doubt == "may_have_failed"
    assert until_stopped(ToolResult(line, is_error=True), "cat a").is_unfinished


@pytest.mark.parametrize("line", ["Terminated", "^C", "(command interrupted)"])
def test_a_command_that_ended_well_was_not_stopped(line):
    result = ToolResult(f"a = 1\n{line}")
    assert until_stopped(result, "cat a; cat b", 0) is result
    stated = ToolResult(f"Exit code: 0\na = 1\n{line}")
    assert until_stopped(stated, "cat a; cat b") is stated


@pytest.mark.parametrize(
    "line",
    [
        "12\tTerminated",
        "    12: command timed out",
        "# Terminated",
        "src/a.py:3: process killed after 60s",
        "terminated = True",
        "The command is terminated when its time is over.",
        "- The process was killed",
        "2026-01-01 10:00:00 process killed after 60s",
        "timeout",
        "<timeout>60</timeout>",
        "    Terminated()",
    ],
)
def test_a_last_line_of_a_file_or_of_hits_is_content(line):
    result = ToolResult(f"a = 1\n{line}")
    assert until_stopped(result, "cat a; cat b") is result


def test_closing_lines_are_found_in_linear_time():
    for text in (" " * 2_000_000, "\n" * 2_000_000, "killed " * 300_000, "[" * 2_000_000):
        assert until_stopped(ToolResult(text), "cat a").text == text


def test_a_command_that_printed_nothing_served_nothing():
    result = until_stopped(ToolResult("Error: Command timed out after 3 seconds"), "cat a")
    assert (result.is_stopped, result.is_unfinished) == (False, True)


@pytest.mark.parametrize(
    "text",
    [
        "# Command timed out after 2 s\nx\n" + "y\n" * 20,
        "x\n" * 20 + "12: Command timed out after 2 s",
        "raise Error('Command timed out after 2 s')",
        "Command running in background with ID: b1",
        "Command moved to background",
    ],
)
def test_other_texts_stay_as_they_are(text):
    result = ToolResult(text)
    assert until_stopped(result, "cat a") is result


@pytest.mark.parametrize(
    ("command", "is_stopped"),
    [
        ("cat a; sleep 9", True),
        ("timeout 5 sh -c 'cat a; sleep 9'", True),
        ("cd /w && timeout 5 make", True),
        ("cat a; timeout 5 sleep 9", False),
    ],
)
def test_the_status_of_a_limited_part_is_not_that_of_the_script(command, is_stopped):
    assert until_stopped(ToolResult("a = 1"), command, 124).is_stopped is is_stopped


@pytest.mark.parametrize(
    "record",
    [
        {"stdout": "a = 1", "stderr": "", "timed_out": True},
        {"stdout": "a = 1", "stderr": "", "returncode": -9},
        {"output": "a = 1", "exit_code": 124},
    ],
)
def test_a_record_states_that_the_time_was_over(record):
    call = ToolCall("c", "bash", {"command": "cat a; sleep 9"}, ToolResult(json.dumps(record)))
    result = with_plain_output(call).result
    assert result is not None
    assert (result.text, result.is_stopped) == ("a = 1", True)
