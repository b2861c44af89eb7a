"""Reading a saved result shows a further part of the result that was saved."""

from __future__ import annotations

import pytest

from retrieval_eval.events.calls import read_calls
from retrieval_eval.records import ToolCall, ToolResult, Trace

SAVED = "/logs/projects/-w/s/tool-results/toolu_1.txt"
NOTICE = f"<persisted-output>\nOutput too large (9KB). Full output saved to: {SAVED}\n\nPreview:\n"


def made(*calls: tuple[str, dict[str, str], str]) -> list:
    logged = tuple(
        ToolCall(str(number), name, arguments, ToolResult(text), cwd="/workspace")
        for number, (name, arguments, text) in enumerate(calls)
    )
    trace = Trace(logged, "f", "transcript", False, True, cwd="/workspace")
    return read_calls(trace)


def paths(read) -> list[str]:
    return [target.path for target, _ in read.raw_targets()]


GREP = ("Grep", {"pattern": "x", "output_mode": "content"}, NOTICE + "src/a.py:1:x\n")
SHELL = ("Bash", {"command": "cd src && grep -rn x ."}, NOTICE + "./a.py:1:x\n")


@pytest.mark.parametrize(
    "command", ["cat {}", "head -n5 {}", "grep -i b.py {}", "tail -n +3 {}", "sed -n 2,9p {}"]
)
def test_a_shell_that_prints_its_lines(command):
    again = ("Bash", {"command": command.format(SAVED)}, "src/b.py:2:x")
    reads = made(GREP, again)
    assert paths(reads[1]) == ["/workspace/src/b.py"]
    assert not reads[1].is_opaque


@pytest.mark.parametrize(
    "command",
    [
        "grep -n b {}",
        "cat -n {}",
        "grep --count b {}",
        "cat {} | wc -l",
        "grep -c b {}",
        "python3 x.py {}",
        "cat {} src/q.py {}",
    ],
)
def test_a_shell_that_prints_something_else_is_opaque(command):
    reads = made(GREP, ("Bash", {"command": command.format(SAVED, SAVED)}, "7"))
    assert reads[1].is_opaque
    assert not any("tool-results" in path for path in paths(reads[1]))


def test_a_saved_output_of_a_shell_is_read_where_the_shell_was():
    before = ("Bash", {"command": "cd /workspace/w"}, "")
    elsewhere = ("Bash", {"command": "cd /tmp"}, "")
    reads = made(before, SHELL, elsewhere, ("Read", {"file_path": SAVED}, "     1\t./b.py:2:x"))
    assert paths(reads[1]) == ["/workspace/w/src/a.py"]
    assert paths(reads[3]) == ["/workspace/w/src/b.py"]
    assert reads[3].status == "resolved"


def test_a_failed_read_of_a_saved_result_shows_nothing():
    reads = made(GREP, ("Read", {"file_path": SAVED}, "File does not exist."))
    assert (paths(reads[1]), reads[1].status) == ([], "error")


def test_a_saved_result_of_no_known_call_is_opaque():
    (read,) = made(("Read", {"file_path": SAVED}, "     1\tsrc/a.py"))
    assert (paths(read), read.status) == ([], "opaque")
