"""Which files and lines an agent got of an output that was cut, or of a call that was stopped."""

from __future__ import annotations

from typing import Any

import pytest

from retrieval_eval.agents.traces.shell import ShellSession
from retrieval_eval.records import CUT_HERE

C, P = "certain", "possible"
L = "\n".join(f"l{n}" for n in range(1, 31))
BOTH, HEAD, TAIL = f"{L}\n{CUT_HERE}\n{L}", f"{L}\n{CUT_HERE}", f"{CUT_HERE}\n{L}"


def said(command: str, output: str, **call: Any) -> dict[str, str]:
    events = ShellSession("/w").analyse(command, output, **call).events
    assert not any(t.is_whole for e in events for t in e.targets if t.path.endswith("cut"))
    return {
        t.path.removeprefix("/w/"): P if t.doubt else C
        for e in events
        for t in e.targets
        if t.access != "written"
    }


def lines(command: str, output: str, **call: Any) -> Any:
    (event,) = ShellSession("/w").analyse(command, output, **call).events
    return event.targets[0].lines, event.targets[0].is_whole


@pytest.mark.parametrize("command", ["cat a b c", "cat a; cat b; cat c", "cat a && cat b && cat c"])
def test_the_first_file_begins_what_was_shown_and_the_last_one_ends_it(command):
    assert said(command, BOTH) == {"a": C, "b": P, "c": C}
    assert said(command, HEAD) == {"a": C, "b": P, "c": P}
    assert said(command, TAIL) == {"a": P, "b": P, "c": C}
    assert said(command, CUT_HERE) == {}


ROWS = "\n".join(f"{n},x,{7 * n}" for n in range(40))


def test_rows_beside_the_cut_are_those_of_the_only_table():
    command = "cat a.md t.csv b.py t.csv c.md"
    shown = f"# a\n{ROWS}\n{CUT_HERE}\n{ROWS}\n# c"
    assert said(command, shown) == {"a.md": C, "t.csv": C, "b.py": P, "c.md": C}
    assert said(command, f"# a\n{L}\n{CUT_HERE}\n{L}\n# c")["t.csv"] == P
    two = said("cat a.md t.csv u.csv c.md", shown)
    assert two == {"a.md": C, "t.csv": P, "u.csv": P, "c.md": C}


def test_other_commands_print_what_was_shown_too():
    assert said("seq 1 9; cat a; seq 1 9", f"1\n2\n{CUT_HERE}\n8\n9") == {"a": P}
    # more lines than the first command can have printed
    assert said("pwd; cat a; cat b; seq 1 9", f"/w\n{L}\n{CUT_HERE}\n9") == {"a": C, "b": P}


def test_dividers_that_were_shown_divide():
    assert said("cat a; echo ---; cat b", f"{L}\n---\n{BOTH}") == {"a": C, "b": C}
    assert said("cat a; echo ---; cat b", HEAD) == {"a": C, "b": P}
    loop = 'for f in a b c; do echo "== $f"; cat $f; done'
    assert said(loop, f"== a\n1\n{CUT_HERE}\n3\n== c\n5") == {"a": C, "b": C, "c": C}


@pytest.mark.parametrize(
    ("command", "output", "expected"),
    [
        ("cat cut", BOTH, ((1, 29),)),
        ("cat cut", TAIL, None),
        ("sed -n '100,200p' cut", BOTH, ((100, 128),)),
        ("head -100 cut", HEAD, ((1, 29),)),
        ("tail -100 cut", BOTH, None),
        ("cat cut | head -50", BOTH, ((1, 29),)),
        ("nl -ba cut | sed -n '1,420p'", f"  1\tx\n  2\ty\n  3\tz\n{CUT_HERE}\n  419\tq\n  420\tr",
         ((1, 2), (420, 420))),
        ("cat -n cut", f"  1\tx\n  2\ty\n{CUT_HERE}\n  419\tq\n  420\tr", ((1, 1), (420, 420))),
        ("grep -n x cut", f"3:x\n4:x\n{CUT_HERE}\n9:x\n10:x", ((3, 4), (10, 10))),
    ],
)  # fmt: skip
def test_lines_are_those_that_were_shown_and_half_a_line_is_none(command, output, expected):
    assert lines(command, output) == (expected, False)


def test_names_in_halves_of_lines_are_not_those_of_files():
    text = f"./a.py\n./b.p\n{CUT_HERE}\nc.py\n./d.py"
    assert said("find . -name '*.py'", text) == {"a.py": C, "d.py": C, "b.p*": P, "*c.py": P}
    text = f"src/a.py:3:x\nsrc/b.py:4:y\n{CUT_HERE}\nsrc/c.py:5:z"
    assert said("grep -rn . src", text) == {"src/a.py": C, "src/b.py": C, "src/c.py": C}


def test_the_folder_of_an_entry_may_have_been_left_out():
    text = f".:\na.py\n\n./sub:\nb.py\nb2.py\n{CUT_HERE}\nx.py\ny.py\n\n./q:\nr.py"
    assert said("ls -R", text) == {"a.py": C, "sub/b.py": C, "q/r.py": C, "*": P}
    tree = f"src\n├── a.py\n├── x\n│   └── b.py\n{CUT_HERE}\n│   └── c.py\n│   └── d.py\n├── e.py"
    assert said("tree src", tree) == {"src/a.py": C, "src/e.py": C, "src/*": P}
    text = f"src/a.py\n3:x\n4:x\n{CUT_HERE}\n7:x\n9:x\n\nsrc/c.py\n1:x"
    assert said("rg --heading -n x src", text) == {"src/a.py": C, "src/c.py": C, "src/*": P}


def test_a_stopped_call_shows_what_was_printed_before():
    late = {"is_stopped": True, "is_error": True}
    assert said("cat a; sleep 8; cat b", "a = 1", **late) == {"a": C, "b": P}
    assert said("cat a; echo --; cat b; sleep 8; cat c", "1\n--\n2", **late) == {
        "a": C,
        "b": C,
        "c": P,
    }
    assert lines("cat cut", L, **late) == (((1, 29),), False)
    assert said("grep -rn x src", "src/a.py:3:x", **late) == {"src/a.py": C}
    events = (
        ShellSession("/w").analyse("echo 1 > x; cat a; sleep 8; echo 2 > y", "1", **late).events
    )
    written = {t.path: t.doubt for e in events for t in e.targets if t.access == "written"}
    assert written == {"/w/x": None, "/w/y": "may_not_have_run"}


@pytest.mark.parametrize("text", ["bad\nx = 1\ny = 2", "x = 1\nbad\ny = 2", "x = 1\ny = 2\nbad"])
@pytest.mark.parametrize("to_errors", [">&2", "1>&2", "> /dev/stderr"])
def test_lines_of_standard_error_stand_in_no_order(to_errors, text):
    command = f"cat a; echo bad {to_errors}; exit 3"
    assert said(command, text, is_error=True) == {"a": C}


@pytest.mark.parametrize(
    "command", ["ls -la && ls -la shop || true", "ls -la; ls -la shop", "ls -la; ls -la shop; true"]
)
def test_a_folder_that_does_not_exist_holds_nothing(command):
    long = "-rw-r--r-- 1 u u 1 Jan 1 10:00 cart.py"
    text = f"{long}\nls: cannot access 'shop': No such file or directory"
    assert said(command, text) == {"cart.py": C}


def test_other_programs_do_not_find_it_either():
    assert said("ls; find shop", "cart.py\nfind: ‘shop’: No such file or directory") == {
        "cart.py": C
    }
    text = "ls: cannot access 'shop': No such file or directory\nsrc:\ncart.py"
    assert said("ls src shop", text) == {"src/cart.py": C}
    # a folder that another program cannot read is there
    text = "-rw-r--r-- 1 u u 1 Jan 1 10:00 a.py\nsed: couldn't read tests: Is a directory"
    assert said("ls -la tests && sed -n 1,9p tests", text) == {"tests/a.py": C}
