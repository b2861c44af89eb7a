"""What harnesses write around an answer is no part of it, wherever it stands."""

from __future__ import annotations

import pytest

from retrieval_eval.agents.traces.formats import gemini_cli, inspect_log, openhands
from retrieval_eval.agents.traces.tools import interpret
from retrieval_eval.records import CUT_HERE, ToolCall, ToolResult

ABSENT = "cat: b.py: No such file or directory"
CLIP = "<response clipped><NOTE>Due to the max output limit, a part was left out.</NOTE>"
VIEW = "Here's the result of running `cat -n` on /w/a.py:\n"
SAVED = (
    "Tool output was too large and has been truncated.\nThe full output has been saved to: /t/x\n"
    "The marker '... [CONTENT TRUNCATED] ...' indicates where content was removed.\n\n"
    "Truncated part of the output:\n"
)


@pytest.mark.parametrize(
    ("answer", "name", "command", "text", "shown"),
    [
        # Inspect puts what a command wrote to stderr before the rest, with an empty line between.
        (inspect_log.answer, "bash", "echo bad >&2; cat a.py", "bad\n\nx\n", "bad\nx\n"),
        (inspect_log.answer, "bash", "cat a.py b.py", f"{ABSENT}\n\nx\n", f"{ABSENT}\nx\n"),
        (inspect_log.answer, "bash", "cat a.py", "x\n\ny\n", "x\n\ny\n"),
        (
            gemini_cli.answer,
            "run_shell_command",
            "cat a.py",
            f"{SAVED}Output: x\ny...\n\n---\n... [CONTENT TRUNCATED] ...\n---\n\n...z",
            f"x\ny...\n{CUT_HERE}\n...z",
        ),
        (
            openhands.answer,
            "file_editor",
            "view",
            f"{VIEW}     1\tx\n     2\t{CLIP}\n     3\tz\n",
            f"{VIEW}     1\tx\n     2\t\n{CUT_HERE}",
        ),
    ],
)
def test_what_stands_around_an_answer_is_taken_off(answer, name, command, text, shown):
    call = ToolCall("c", name, {"command": command, "cmd": command}, ToolResult(text))
    assert answer(call).text == shown


def test_of_an_output_that_a_stream_displays_and_that_was_saved_the_ends_were_sent():
    lines = "\n".join(f"line {n}" for n in range(2000))
    text = f"{lines}\nOutput too long and was saved to: /h/.qwen/tmp/p/run_1.output"
    call = ToolCall("c", "run_shell_command", {"command": "cat a.py"}, ToolResult(text))
    head, mark, tail = gemini_cli.answer(call).text.partition(CUT_HERE)
    assert mark
    assert lines.startswith(head.rstrip("\n"))
    assert lines.endswith(tail.strip("\n"))
    assert (len(head), len(tail)) < (800, 3200)


def test_an_answer_that_a_file_is_unchanged_shows_nothing_of_it():
    call = ToolCall("c", "read_file", {"file_path": "/w/a.py"}, ToolResult("Unchanged: a.py"))
    assert interpret(call).targets == ()
