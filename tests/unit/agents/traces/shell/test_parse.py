"""Bash syntax as the shell room sees it, above all where the grammar library binds differently."""

from __future__ import annotations

import shutil
import subprocess
import time

import pytest

from retrieval_eval.agents.traces.shell import ShellSession
from retrieval_eval.agents.traces.shell.syntax import (
    MAX_DEPTH,
    Command,
    Group,
    Item,
    Unparsed,
    Word,
    parse,
    parse_with_grammar,
    plain_script,
)


def text(word: Word) -> str:
    return "".join(piece.text for piece in word)


def names(item: Item) -> list[str]:
    return [text(stage.words[0]) for stage in item.stages if isinstance(stage, Command)]


def test_words_keep_what_is_quoted_apart():
    command = parse("""cat 'x y'/$X"b $(pwd)/c" a\\*b $'t\\tab' "q\\"q" """).items[0].stages[0]
    assert isinstance(command, Command)
    first = command.words[1]
    assert [(p.kind, p.text, p.is_quoted) for p in first if p.text or p.kind != "text"] == [
        ("text", "x y", True), ("text", "/", False), ("variable", "X", False),
        ("text", "b ", True), ("command", "", True), ("text", "/c", True),
    ]  # fmt: skip
    assert [(p.text, p.is_quoted) for p in command.words[2]] == [
        ("a", False), ("*", True), ("b", False),
    ]  # fmt: skip
    assert [text(word) for word in command.words[3:]] == ["t\tab", 'q"q']


def test_what_the_grammar_cannot_place_is_kept_as_unparsed():
    items = parse("cat <<'EOF' > f | head\n$body\nEOF\necho z").items
    assert any(isinstance(item.stages[0], Unparsed) for item in items)
    assert names(items[-1]) == ["echo"] or names(items[0]) == ["cat"]
    assert any(isinstance(i.stages[0], Unparsed) for i in parse("ls )( foo; cat a").items)


def test_nesting_has_a_limit():
    sequence = parse("(" * 200 + "a" + ")" * 200)
    depth = 0
    node = sequence.items[0].stages[0]
    while isinstance(node, Group):
        node = node.body.items[0].stages[0]
        depth += 1
    assert isinstance(node, Unparsed)
    assert depth <= MAX_DEPTH


def test_characters_beyond_ascii_survive() -> None:
    # The scanner of the grammar library reads out of bounds for these unless they are hidden.
    command = parse("cat caf\u00e9/\U0010ffff{\U0010fffe,\u4e00}*> )\nZq41Zq").items[0].stages[0]
    assert isinstance(command, Command | Unparsed)
    plain = parse("cat caf\u00e9/\U0001f600.py Zq41Zq").items[0].stages[0]
    assert isinstance(plain, Command)
    assert [text(word) for word in plain.words[1:]] == ["caf\u00e9/\U0001f600.py", "Zq41Zq"]


LINES = [
    "cat a | grep -A5 '^l@' | head -40",
    "cat a 2>/dev/null | grep 'x' | wc -l",
    "cat a | tr -d '\\n' | head -n 40 f",
    "cat a | grep \"a b\" | tail -n +5",
    "cat b 2>/dev/null | grep -A5 '^l@' | head -40",
    "sed -n '1,3p' a | sort 2>&1 | awk '{print $1}'",
    "cd x && cat a | grep 'y' | head -c 100",
    "FOO=1 cat a | grep 'z' | cut -d: -f1 2>/dev/null",
    "echo hi >o",
    "export A=1 B=2",
    "cat a \\\n  b | grep 'x' \\\n  | head -40",
    "cat <<'E' | grep 'x' | head -40\nbody\nE",
    "for f in a b; do cat $f | grep 'x' | head -40\ncat c 2>/dev/null; done",
    "(cat a | grep 'x' | head -40\ncat c 2>/dev/null)",
    "x=$(cat a | grep 'x' | head -40\ncat c 2>/dev/null)",
    "[[ -f a &&\n -f b ]]",
]  # fmt: skip


@pytest.mark.parametrize("first", LINES)
@pytest.mark.parametrize("second", LINES[::3])
@pytest.mark.parametrize("between", ["\n", " # why\n", "\n# why \\\n"])
def test_a_line_break_ends_a_command(first, second, between):
    if first.startswith("cat <<") and between.startswith(" #"):
        between = "\n"
    joined = parse(first + between + second).items
    assert joined == (*parse(first).items, *parse(second + "\n").items)


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize("first", LINES[:4])
@pytest.mark.parametrize("second", LINES[:4])
def test_bash_reads_as_many_commands(first, second):
    script = f"{first}\n{second} >o\n{first}"
    # Bash prints a function as it has read it, a pipeline a line, and runs nothing of it.
    completed = subprocess.run(
        ["bash", "--norc", "-c", f"f() {{\n{script}\n}}; declare -f f"],
        capture_output=True, text=True, check=True, timeout=20,
    )  # fmt: skip
    pipelines = completed.stdout.strip().splitlines()[2:-1]
    assert len(parse(script).items) == len(pipelines)
    assert [len(i.stages) for i in parse(script).items] == [p.count(" | ") + 1 for p in pipelines]


@pytest.mark.parametrize(
    "command",
    [
        "cat a | grep 'x' | head -40\n" * 2000 + "cat b >o",
        "cat a 2>/dev/null | grep 'x' | head -40\n" * 500,
        "$(cat a | grep 'x' | head -40\n" * 300 + "cat b >o" + ")" * 300,
        "a -1\n\\\n" * 5000,
        "'\n|" * 5000,
    ],
)
def test_many_lines_take_no_longer_than_their_number(command):
    begun = time.process_time()
    parse(command)
    assert time.process_time() - begun < 5


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("A=x B=y C=z; A=x; B=y; C=z; cat $A/$B/$C", ["/w/x/y/z"]),
        ("A=x; B=y; cat $A/$B/a.py", ["/w/x/y/a.py"]),
        (
            "A=x; B=y; for f in $A/$B/a.py $A/$B/b.py; do cat $f; done",
            ["/w/x/y/a.py", "/w/x/y/b.py"],
        ),
        ("A=x; B=y; cat '$A/$B/a.py'", ["/w/$A/$B/a.py"]),
    ],
)
def test_variables_behind_each_other_are_one_word(command, expected):
    analysis = ShellSession("/w").analyse(command, "x")
    assert [t.path for event in analysis.events for t in event.targets] == expected


def reading(command: str) -> list[list[str]]:
    """Return the words of each command, with its redirects behind them."""
    found = []
    for item in parse(command).items:
        for stage in item.stages:
            assert isinstance(stage, Command)
            behind = [f"{r.descriptor}{r.operator}{text(r.target)}" for r in stage.redirects]
            found.append([*map(text, stage.words), *behind])
    return found


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        # The grammar takes all words behind a redirect for its targets.
        ("grep -rn x 2>/dev/null src", [["grep", "-rn", "x", "src", "2>/dev/null"]]),
        ("(cat 2>&1 a b)", [["cat", "a", "b", "2>&1"]]),
        (">f cat a", [["cat", "a", ">f"]]),
        # It divides a name at its brackets.
        ("cat app/[id]/a.ts", [["cat", "app/[id]/a.ts"]]),
        # It takes the space behind a dollar for a variable.
        ('grep "a$ b" c', [["grep", "a$ b", "c"]]),
        # It loses a dash before a descriptor, and takes a number before it for one.
        ("cat a | diff b - 2>&1", [["cat", "a"], ["diff", "b", "-", "2>&1"]]),
        ("ls a -5>f", [["ls", "a", "-5", ">f"]]),
        # It takes words such as these for operators, assignments or nothing that is valid.
        ("ls =~", [["ls", "=~"]]),
        ("ls; --x=a", [["ls"], ["--x=a"]]),
        ("ls && # why\ncat a", [["ls"], ["cat", "a"]]),
        ("ls \\\n", [["ls"]]),
        ("cat a | head -40\ncat b", [["cat", "a"], ["head", "-40"], ["cat", "b"]]),
    ],
)
def test_bash_decides_where_the_grammar_reads_otherwise(command, expected):
    if command[0] == "(":
        (item,) = parse(command).items
        assert isinstance(item.stages[0], Group)
        command = command[1:-1]
        (inner,) = item.stages[0].body.items
        assert inner == parse(command).items[0]
    assert reading(command) == expected


@pytest.mark.parametrize(
    "command",
    [
        "for f in a; do cat $f; done", "cat <<E\na\nE", "cat <<<a", "(cat a)", "{ cat a; }",
        "f() { a; }", "if a; then b; fi", "! cat a", "[ -f a ]", "[[ -f a ]]", "cat $(ls)",
        "cat `ls`", "cat \"$(ls)\"", "cat <(ls)", "ls >(cat)", "X=(a b)", "X[1]=a", "export A=1",
        "cat ${A%.py}", "cat $'a'", "time ls", "cat $\"a\"", "cat 'a", "cat \"a", "cat a\\",
        "cat a |", "| cat", "cat && ", ";", "cat ;; ls", "ls |& cat", "a\\\nb", "cat > > f",
        "cat >", "cat a\x00", "cat 2>&-", "cat $12", "cat \r", "exit)", "&", "a & ;",
        "cat \"${A:-b}\"", "cat $((1+2))", "cat a > f > ", "case a in b) c;; esac",
        "cat <&3 | a |",
    ],
)  # fmt: skip
def test_all_that_is_not_plain_is_left_to_the_grammar(command):
    assert plain_script(command) is None
    assert parse(command) == parse_with_grammar(command)


@pytest.mark.parametrize(
    "text", ['"' + "a" * 200_000, "'" * 99_999, '"\\' * 50_000, "a " * 100_000]
)
def test_a_plain_script_takes_no_longer_than_its_length(text):
    begun = time.process_time()
    plain_script(text)
    assert time.process_time() - begun < 2
