"""Bash syntax as the shell room sees it, above all where the grammar library binds differently."""

from __future__ import annotations

import pytest

from retrieval_eval.traces.shell.parse import MAX_DEPTH, parse
from retrieval_eval.traces.shell.syntax import (
    Branch,
    Command,
    For,
    Function,
    Group,
    Item,
    Unparsed,
    While,
    Word,
)


def text(word: Word) -> str:
    return "".join(piece.text for piece in word)


def names(item: Item) -> list[str]:
    return [text(stage.words[0]) for stage in item.stages if isinstance(stage, Command)]


def test_a_redirect_before_a_pipe_belongs_to_the_last_command() -> None:
    first, second = parse("cd x && cat y 2>/dev/null | head").items
    assert names(first) == ["cd"]
    assert names(second) == ["cat", "head"]
    assert second.operator == "&&"
    cat = second.stages[0]
    assert isinstance(cat, Command)
    assert [(r.descriptor, r.operator, text(r.target)) for r in cat.redirects] == [
        ("2", ">", "/dev/null")
    ]


def test_operators_join_the_item_behind_them() -> None:
    items = parse("a; b && c || d\ne & f").items
    assert [(item.operator, *names(item)) for item in items] == [
        (";", "a"), (";", "b"), ("&&", "c"), ("||", "d"), (";", "e"), (";", "f"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("(a; b)", Group),
        ("{ a; b; }", Group),
        ("for x in a b; do c; done", For),
        ("while read f; do c; done", While),
        ("until a; do b; done", While),
        ("for ((i=0;i<3;i++)); do a; done", While),
        ("if a; then b; elif c; then d; else e; fi", Branch),
        ("case $x in a) b;; c) d;; esac", Branch),
        ("f() { a; }", Function),
        ("[ -f a ]", Command),
        ("cat 'unfinished", Command),
    ],
)
def test_compound_commands(command: str, kind: type) -> None:
    assert isinstance(parse(command).items[0].stages[0], kind)


def test_branches_and_their_arms() -> None:
    node = parse("if a; then b; elif c; then d; else e; fi").items[0].stages[0]
    assert isinstance(node, Branch)
    assert [names(item) for item in node.condition.items] == [["a"]]
    assert [[names(i) for i in arm.items] for arm in node.arms] == [
        [["b"]],
        [["c"], ["d"]],
        [["e"]],
    ]


def test_words_keep_what_is_quoted_apart() -> None:
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


def test_here_documents_and_what_follows_them() -> None:
    items = parse("cat <<'EOF' | head && echo x\n$body\nEOF\necho z").items
    assert [names(item) for item in items] == [["cat", "head"], ["echo"], ["echo"]]
    writing = parse("cat <<'EOF' > f && echo x\n$body\nEOF").items
    assert [names(item) for item in writing] == [["cat"], ["echo"]]
    cat = writing[0].stages[0]
    assert isinstance(cat, Command)
    assert [(r.operator, text(r.body or r.target)) for r in cat.redirects] == [
        ("<<", "$body\n"),
        (">", "f"),
    ]


def test_what_the_grammar_cannot_place_is_kept_as_unparsed() -> None:
    items = parse("cat <<'EOF' > f | head\n$body\nEOF\necho z").items
    assert any(isinstance(item.stages[0], Unparsed) for item in items)
    assert names(items[-1]) == ["echo"] or names(items[0]) == ["cat"]
    assert any(isinstance(i.stages[0], Unparsed) for i in parse("ls )( foo; cat a").items)


def test_an_open_here_document_expands_variables() -> None:
    cat = parse("cat <<EOF\na $X b\nEOF").items[0].stages[0]
    assert isinstance(cat, Command)
    body = cat.redirects[0].body or ()
    assert [(p.kind, p.text) for p in body if p.text] == [
        ("text", "a "), ("variable", "X"), ("text", " b\n"),
    ]  # fmt: skip


def test_nesting_has_a_limit() -> None:
    sequence = parse("(" * 200 + "a" + ")" * 200)
    depth = 0
    node = sequence.items[0].stages[0]
    while isinstance(node, Group):
        node = node.body.items[0].stages[0]
        depth += 1
    assert isinstance(node, Unparsed)
    assert depth <= MAX_DEPTH


def test_characters_beyond_ascii_survive() -> None:
    # The scanner of the grammar library reads foreign memory for these unless they are hidden.
    command = parse("cat caf\u00e9/\U0010ffff{\U0010fffe,\u4e00}*> )\nZq41Zq").items[0].stages[0]
    assert isinstance(command, Command | Unparsed)
    plain = parse("cat caf\u00e9/\U0001f600.py Zq41Zq").items[0].stages[0]
    assert isinstance(plain, Command)
    assert [text(word) for word in plain.words[1:]] == ["caf\u00e9/\U0001f600.py", "Zq41Zq"]
