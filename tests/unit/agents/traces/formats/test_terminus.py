from __future__ import annotations

import pytest

from retrieval_eval.agents.traces.formats.atif import Terminal, read_atif
from retrieval_eval.records import CUT_HERE

PROMPT = "root@5f1c:/app# "
HEADER = "New Terminal Output:\n\n"


def screen(*parts, end=True):
    rows = [f"{PROMPT}{command}\n{output}" for command, output in parts]
    return HEADER + "".join(rows) + (PROMPT if end else "")


@pytest.mark.parametrize(
    ("keys", "shown"),
    [
        (["cat a.py\n"], "Current Terminal Screen:\na = 1\n" + PROMPT),
        (["cat a.py\n", "cat b.py\n"], screen(("cat b.py", "b = 1\n"))),
        (["cat a.py\n"], HEADER + "the text says cat a.py\n"),
    ],
)
def test_without_the_echo_of_each_command_the_screen_may_be_any_one_s(keys, shown):
    assert {typed.result.doubt for typed in Terminal().read(keys, shown)} == {"unlinked_result"}


def test_text_without_a_line_end_did_not_run():
    terminal = Terminal()
    (typed,) = terminal.read(["cat a"], HEADER + PROMPT + "cat a")
    assert typed.command is None
    (typed,) = terminal.read([".py\n"], screen(("cat a.py", "a = 1\n")))
    assert (typed.command, typed.result.text) == ("cat a.py", "a = 1")


@pytest.mark.parametrize("keys", ["C-c", "C-d", "Escape", "", "\n"])
def test_keys_are_no_command(keys):
    (typed,) = Terminal().read([keys], HEADER + PROMPT)
    assert typed.command is None


def test_a_key_that_interrupts_drops_the_line():
    terminal = Terminal()
    terminal.read(["cat a"], None)
    assert [t.command for t in terminal.read(["C-c", "ls\n"], None)] == [None, "ls"]


def test_a_command_that_goes_on_without_output_has_no_result():
    (typed,) = Terminal().read(["make\n"], screen(("make", ""), end=False))
    assert typed.result is None
    (typed,) = Terminal().read(["true\n"], screen(("true", "")))
    assert typed.result.text == ""


def test_a_step_that_waits_shows_more_of_the_command_that_runs():
    terminal = Terminal()
    terminal.read(["make; cat a.py\n"], screen(("make; cat a.py", "compiling\n"), end=False))
    (typed,) = terminal.read([""], HEADER + "a = 1\n" + PROMPT)
    assert (typed.command, typed.result.text) == ("make; cat a.py", "a = 1")
    (typed,) = terminal.read([""], HEADER + PROMPT)
    assert typed.command is None


def test_a_long_line_is_broken_by_the_terminal():
    command = "cat " + "folder/" * 30 + "a.py"
    broken = HEADER + PROMPT + command[:140] + "\n" + command[140:] + "\na = 1\n" + PROMPT
    (typed,) = Terminal().read([command + "\n"], broken)
    assert (typed.result.text, typed.result.doubt) == ("a = 1", None)


def test_the_lines_of_a_document_are_echoed_too():
    shown = HEADER + PROMPT + "cat > a.py <<'EOF'\n> a = 1\n> EOF\n" + PROMPT
    (typed,) = Terminal().read(["cat > a.py <<'EOF'\na = 1\nEOF\n"], shown)
    assert typed.result.text == ""


def test_an_output_that_was_limited_is_marked_where_it_was_cut():
    shown = screen(("cat a.py", "a = 1\n[... output limited to 10000 bytes; 5 omitted ...]\nb\n"))
    (typed,) = Terminal().read(["cat a.py\n"], shown)
    assert typed.result.text == f"a = 1\n{CUT_HERE}\nb"
    assert not typed.result.is_truncated, "the agent saw no more than the trace holds"


@pytest.mark.parametrize(
    "shown", ["", "\n" * 10, "a" * 10**6, "$ a\n" * 50_000, ("x" * 300 + " a\n") * 1000]
)
def test_any_screen_is_read(shown):
    assert len(Terminal().read(["a\n"] * 50, shown)) == 50


def test_a_trajectory_is_read_through_its_terminal():
    calls = [
        {
            "tool_call_id": f"call_0_{n}",
            "function_name": "bash_command",
            "arguments": {"keystrokes": keys, "duration": 0.1},
        }
        for n, keys in enumerate(["cat a.py\n", "cat b.py\n"])
    ]
    shown = screen(("cat a.py", "a = 1\n"), ("cat b.py", "b = 1\n"))
    done = {"tool_call_id": "call_1_0", "function_name": "mark_task_complete", "arguments": {}}
    reading = read_atif(
        {
            "schema_version": "ATIF-v1.6",
            "agent": {"name": "terminus-2", "version": "2.0.0"},
            "steps": [
                {
                    "step_id": 1,
                    "source": "agent",
                    "tool_calls": [*calls, done],
                    "observation": {"results": [{"content": shown}]},
                }
            ],
        },
        "agent/trajectory.json",
    )
    assert [(c.name, c.arguments, c.result.text) for c in reading.calls] == [
        ("bash_command", {"command": "cat a.py", "workdir": "/app"}, "a = 1"),
        ("bash_command", {"command": "cat b.py", "workdir": "/app"}, "b = 1"),
        ("mark_task_complete", {}, ""),
    ]
    assert reading.flags == ()
