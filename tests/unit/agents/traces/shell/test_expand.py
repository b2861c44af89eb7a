"""Words: what is known of them and what is not."""

from __future__ import annotations

import pytest

from retrieval_eval.agents.traces.shell import ShellSession
from retrieval_eval.agents.traces.shell.expansion import (
    Environment,
    Unknown,
    arithmetic,
    expand_words,
)
from retrieval_eval.agents.traces.shell.steps import Arg
from retrieval_eval.agents.traces.shell.syntax import Command, parse

VARIABLES = {
    "X": "a b", "P": "/x/y.tar.gz", "L": ("a", "b c"), "N": "7", "G": Unknown("src/*.py"), "E": "",
}  # fmt: skip


def expand(text: str) -> list[Arg]:
    command = parse(f"cmd {text}").items[0].stages[0]
    assert isinstance(command, Command)
    environment = Environment("/w", variables=dict(VARIABLES))
    return expand_words(command.words[1:], environment, lambda _: (None, ()))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$X", ["a", "b"]),
        ('"$X"', ["a b"]),
        ("p$X", ["pa", "b"]),
        ('"${L[@]}"', ["a", "b c"]),
        ('"${X[@]}" ${X[@]}', ["a b", "a", "b"]),
        ('"${L[@]%c}" "${L[@]##*b}"', ["a", "b ", "a", " c"]),
        ('"${L[*]}" "${L[*]#a}" x"${L[@]:-d}"', ["a b c", " b c", "xa", "b c"]),
        ("'L[@]' \"X\"", ["L[@]", "X"]),
        ("$E x", ["x"]),
        ('"$E"', [""]),
        ("''", [""]),
        ("${P##*/} ${P#*.} ${P%.*} ${P%%.*}", ["y.tar.gz", "tar.gz", "/x/y.tar", "/x/y"]),
        ("${NOT_SET:-d} ${X:-d}", ["d", "a", "b"]),
        ("$((N*2-1)) $(( (N+3)/2 ))", ["13", "5"]),
        ("$PWD/a", ["/w/a"]),
        ("{a,b}{1..3}", ["a1", "a2", "a3", "b1", "b2", "b3"]),
        ("x{,.bak} {} {a}", ["x", "x.bak", "{}", "{a}"]),
        ("'{a,b}' \"{c,d}\"", ["{a,b}", "{c,d}"]),
    ],
)
def test_known_words(text, expected):
    assert [arg.text for arg in expand(text)] == expected


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("*.py", "*.py"),
        ("'*'.p?", "[*].p?"),
        ("$G", "src/*.py"),
        ('"$G"', "src/*.py"),
    ],
)
def test_patterns(text, pattern):
    (arg,) = expand(text)
    assert (arg.text, arg.pattern) == (None, pattern)


@pytest.mark.parametrize(
    "text", ["$UNKNOWN", "a$UNKNOWN", '"${UNKNOWN[@]}"', "$(ls)", "`ls`", "${X/a/b}", "$1", "<(ls)"]
)
def test_unknown_words(text):
    (arg,) = expand(text)
    assert arg.text is None
    assert None in arg.parts


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1+2*3", 7), ("-7/2", -3), ("-7%2", -1), ("N - 5", 2), ("$N+${N}", 14), ("(1+2)*3", 9),
        ("1/0", None), ("x+1", None), ("2**3", None), ("1<<2", None), ("010", None), ("", None),
        ("1+" * 150 + "1", None),
    ],
)  # fmt: skip
def test_arithmetic(expression, value):
    assert arithmetic(expression, Environment(variables=dict(VARIABLES))) == value


def test_numbers_beyond_the_shells_integers_are_unknown():
    nines = "9" * 4000
    analysis = ShellSession("/w").analyse(f"a={nines}; cat $((a*a)).py", "x")
    assert analysis.opaque == ("cat: the files it read are not named",)
    assert expand("$((9223372036854775807))")[0].text == "9223372036854775807"
    assert expand("$((9223372036854775807+1))")[0].text is None
