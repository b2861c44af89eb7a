"""The shell's syntax as far as file access depends on it: a small tree of frozen records.

:func:`parse` makes the tree of a command text with the tree-sitter grammar of bash.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct
from msgspec.structs import replace

if TYPE_CHECKING:
    from tree_sitter import Node as TreeNode
    from tree_sitter import Parser

PieceKind = Literal["text", "variable", "command", "process", "arithmetic", "unknown"]


class Piece(Struct, frozen=True, gc=False):
    """A part of a word.

    ``text`` is literal text, a variable's name, or an arithmetic expression. ``operator`` and
    ``operand`` belong to ``${name<operator><operand>}``; ``script`` to a substitution.
    """

    kind: PieceKind
    text: str = ""
    is_quoted: bool = False
    operator: str = ""
    operand: str = ""
    script: Sequence | None = None


Word = tuple[Piece, ...]


class Assignment(Struct, frozen=True, gc=False):
    """``name=word`` or ``name=(word word)``; ``is_append`` for ``+=``."""

    name: str
    words: tuple[Word, ...]
    is_array: bool = False
    is_append: bool = False


class Redirect(Struct, frozen=True, gc=False):
    """``descriptor operator target``; a here-document or here-string has ``body`` instead."""

    operator: str
    target: Word = ()
    descriptor: str = ""
    body: Word | None = None


class Command(Struct, frozen=True, gc=False):
    """A simple command: assignments and the words after them."""

    words: tuple[Word, ...] = ()
    assignments: tuple[Assignment, ...] = ()
    redirects: tuple[Redirect, ...] = ()


class Group(Struct, frozen=True, gc=False):
    """``{ …; }`` or ``( … )``."""

    body: Sequence
    is_subshell: bool = False
    redirects: tuple[Redirect, ...] = ()


class For(Struct, frozen=True, gc=False):
    """``for name in words; do body; done``."""

    name: str
    words: tuple[Word, ...]
    body: Sequence
    redirects: tuple[Redirect, ...] = ()


class While(Struct, frozen=True, gc=False):
    """``while condition; do body; done`` and every other loop without a list of words."""

    condition: Sequence
    body: Sequence
    redirects: tuple[Redirect, ...] = ()


class Branch(Struct, frozen=True, gc=False):
    """``if`` or ``case``: a condition that always runs and arms of which at most one does."""

    condition: Sequence
    arms: tuple[Sequence, ...]
    redirects: tuple[Redirect, ...] = ()


class Function(Struct, frozen=True, gc=False):
    """``name() { body; }``."""

    name: str
    body: Sequence
    redirects: tuple[Redirect, ...] = ()


class Unparsed(Struct, frozen=True, gc=False):
    """Text that is not valid syntax."""

    text: str
    redirects: tuple[Redirect, ...] = ()


Node = Command | Group | For | While | Branch | Function | Unparsed


class Item(Struct, frozen=True, gc=False):
    """One pipeline of a sequence; ``operator`` (``;``, ``&&``, ``||``) joins it to the last.

    ``is_background`` marks one that the shell does not wait for (``&``).
    """

    stages: tuple[Node, ...]
    operator: str = ";"
    is_background: bool = False


class Sequence(Struct, frozen=True, gc=False):
    """Pipelines in the order they are written."""

    items: tuple[Item, ...] = ()


# --------------------------------------------------------------------------------------------------
# Any text as printable ASCII and back, because the parser library is safe with nothing else.
#
# The scanner of the bash grammar asks the C library for the class of each character, which for
# characters beyond one byte reads memory that is not its own and can end the process. So it is
# given word characters in place of every character that is not printable ASCII.

_NOT_PLAIN: Final = re.compile(r"Zq|[^\t\n -~]")
_ESCAPED_CHARACTER: Final = re.compile(r"Zq([0-9a-f]{1,6})Zq")


def to_plain(text: str) -> bytes:
    r"""Return ``text`` with every unsafe character written as ``Zq<hex>Zq``.

    Examples
    --------
    >>> to_plain("a\u00e9"), from_plain(to_plain("Zq\u00e9\0"))
    (b'aZqe9Zq', 'Zqé\x00')
    """
    return _NOT_PLAIN.sub(_escape_character, text).encode("ascii")


def _escape_character(match: re.Match[str]) -> str:
    return f"Zq{ord(match[0][0]):x}Zq{match[0][1:]}"


def from_plain(data: bytes) -> str:
    """Return the text that :func:`to_plain` wrote."""
    return _ESCAPED_CHARACTER.sub(_unescape_character, data.decode("ascii", "replace"))


def _unescape_character(match: re.Match[str]) -> str:
    number = int(match[1], 16)
    return chr(number) if number <= 0x10FFFF else match[0]


# --------------------------------------------------------------------------------------------------
# Words: from the parser's nodes to :class:`Piece` tuples.

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"', "0": "\0"}
_UNKNOWN = Piece("unknown")

ScriptReader = Callable[["TreeNode"], Sequence]


def text_of(node: TreeNode) -> str:
    """Return the source text of ``node``."""
    return from_plain(node.text or b"")


def read_word(node: TreeNode, read_script: ScriptReader) -> Word:
    """Return the pieces of one word; ``read_script`` reads the body of a substitution.

    Text that the grammar divides, at a bracket or a brace, is one piece: ``[ab]`` is one pattern.
    """
    pieces: list[Piece] = []
    for piece in _pieces(node, read_script):
        if pieces and _is_bare(piece) and _is_bare(pieces[-1]):
            piece = Piece("text", pieces.pop().text + piece.text)
        pieces.append(piece)
    return tuple(pieces)


def _is_bare(piece: Piece) -> bool:
    return piece.kind == "text" and not piece.is_quoted


def _pieces(node: TreeNode, read_script: ScriptReader) -> Iterator[Piece]:
    kind = node.type
    if kind in ("word", "number", "regex", "extglob_pattern", "variable_name", "test_operator"):
        if node.named_child_count:
            yield _UNKNOWN
        else:
            yield from _unescape(text_of(node))
    elif kind == "raw_string":
        yield Piece("text", text_of(node)[1:-1], is_quoted=True)
    elif kind == "ansi_c_string":
        body = text_of(node)[2:-1]
        text = re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[0]), body, flags=re.DOTALL)
        yield Piece("text", text, is_quoted=True)
    elif kind in ("string", "translated_string"):
        yield from quoted_pieces(node, read_script, strip=1)
    elif kind in ("concatenation", "command_name"):
        for child in node.children:
            yield from _pieces(child, read_script)
    else:
        yield _read_expansion(node, read_script, is_quoted=False)


def quoted_pieces(node: TreeNode, read_script: ScriptReader, strip: int) -> list[Piece]:
    """Return the pieces of a double-quoted string or here-document.

    The parser leaves out some white space next to expansions, or makes it a part of them, so the
    text between the children is taken from the source. ``strip`` is the length of the quotes on
    either side.
    """
    source = node.text or b""
    start = node.start_byte
    position = strip
    pieces: list[Piece] = []
    for child in node.named_children:
        if child.type in ("string_content", "heredoc_content"):
            continue
        raw = child.text or b""
        at = child.start_byte - start + len(raw) - len(raw.lstrip())
        pieces.append(_double_quoted(from_plain(source[position:at])))
        pieces.append(_read_expansion(child, read_script, is_quoted=True))
        position = child.end_byte - start
    pieces.append(_double_quoted(from_plain(source[position : len(source) - strip])))
    return _without_empty(pieces)


_ESCAPED_IN_STRING: Final = re.compile(r'\\(["$`\\]|\n)')


def _double_quoted(text: str) -> Piece:
    if "\\" in text:
        text = _ESCAPED_IN_STRING.sub(lambda found: found[1].strip("\n"), text)
    return Piece("text", text, is_quoted=True)


def _without_empty(pieces: list[Piece]) -> list[Piece]:
    """Return the pieces of a quoted text that are not empty; of an empty one, one piece."""
    return [piece for piece in pieces if piece.text or piece.kind != "text"] or pieces[:1]


def _unescape(text: str) -> Iterator[Piece]:
    if "\\" not in text:
        yield Piece("text", text)
        return
    for part in re.findall(r"\\.|[^\\]+|\\", text, flags=re.DOTALL):
        if part == "\\\n":
            continue
        is_escape = len(part) == 2 and part[0] == "\\"
        yield Piece("text", part[1] if is_escape else part, is_quoted=is_escape)


def _read_expansion(node: TreeNode, read_script: ScriptReader, *, is_quoted: bool) -> Piece:
    if node.type == "command_substitution":
        return Piece("command", script=read_script(node), is_quoted=is_quoted)
    if node.type == "process_substitution":
        return Piece("process", script=read_script(node), is_quoted=is_quoted)
    text = text_of(node).lstrip() if is_quoted else text_of(node)
    if node.type == "simple_expansion":
        is_name = _NAME_OF_VARIABLE.fullmatch(text, 1) is not None
        return Piece("variable" if is_name else "text", text[is_name:], is_quoted=is_quoted)
    if node.type == "expansion":
        return _parameter(text[2:-1], is_quoted=is_quoted)
    if node.type == "arithmetic_expansion":
        return Piece("arithmetic", text[3:-2], is_quoted=is_quoted)
    if node.type == "brace_expression" or not node.is_named:
        return Piece("text", text)
    return _UNKNOWN


_NAME_OF_VARIABLE: Final = re.compile(r"[A-Za-z_]\w*|\d+|[@*#?!$-]")
_PARAMETER = re.compile(r"(\w+|[@*#?!$-])(\[[@*]\])?(:?[-=+?]|%%?|##?)?(.*)", re.DOTALL)


def _parameter(text: str, *, is_quoted: bool) -> Piece:
    match = _PARAMETER.fullmatch(text)
    if match is None or (match[4] and not match[3]) or "$" in match[4] or "`" in match[4]:
        return Piece("unknown", is_quoted=is_quoted)
    name = match[1] + (match[2] or "")
    return Piece("variable", name, is_quoted, operator=match[3] or "", operand=match[4])


# --------------------------------------------------------------------------------------------------
# Scripts: from command text to :class:`Sequence`, by way of the tree-sitter bash grammar.
#
# The grammar binds a redirect to a whole ``a && b`` list when the list stands left of a pipe
# (``cd x && cat y 2>/dev/null | head``). Bash binds it to the last command; so does this module.
#
# The grammar also overlooks the end of some lines, mostly between a pipeline with a quoted argument
# and a line with a redirect, so that the words of the next command become arguments of this one. A
# command whose words lie on both sides of a line break is therefore ended at the break, and the
# text is parsed again. So is a text in which the grammar takes the ``$`` of a variable for text.

MAX_DEPTH: Final = 40
"""Levels of nested compound commands that are read; what lies deeper is unparsed."""

_MOST_PARSES: Final = 16
"""Times a text is parsed, each time with more line breaks marked; then it is unparsed."""

_ONE_LINE = (
    "command",
    "declaration_command",
    "unset_command",
    "variable_assignments",
    "redirected_statement",
    "file_redirect",
)
"""Nodes whose parts no line break separates, but for one that is escaped."""

_CAT: Word = (Piece("text", "cat"),)
_REDIRECTS = ("file_redirect", "heredoc_redirect", "herestring_redirect")
_SEPARATORS = (";", ";;", "&", "\n", "&&", "||", "|", "|&", "comment", "do", "done")


@cache
def _parser() -> Parser:
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def parse_with_grammar(command: str) -> Sequence:
    """Return the syntax of ``command`` as the grammar has it; see :func:`parse`."""
    source = to_plain(command.replace("\r\n", "\n"))
    for _ in range(_MOST_PARSES):
        root = _parser().parse(source).root_node
        names = _overlooked_names(root, source)
        if names:
            source = _braced(source, names)
            continue
        ends = _overlooked_ends(root, source)
        if not ends:
            return Sequence(tuple(_body(list(root.children), 0)))
        source = _ended(source, ends)
    return Sequence((Item((Unparsed(command),)),))


def _overlooked_ends(root: TreeNode, source: bytes) -> list[int]:
    """Return where commands end, in bytes, that the grammar continues on the next line."""
    ends: set[int] = set()
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.start_point.row == node.end_point.row:
            continue
        children = node.children
        waiting += children
        if node.type not in _ONE_LINE or any(child.type == "ERROR" for child in children):
            continue
        last = children[0]
        for one, other in pairwise(children):
            between = source[one.end_byte : other.start_byte].replace(b"\\\n", b"")
            if other.type == "comment":
                continue
            if (b"\n" in between or one.type == "comment") and last.type != "heredoc_redirect":
                ends.add(last.end_byte)
            last = other
    return sorted(ends)


_NAMES: Final = re.compile(rb"(?<!\\)\$([A-Za-z_]\w*)")
_REST_OF_WORD: Final = re.compile(rb"[^\s;|&()<>\"'`]+")


def _overlooked_names(root: TreeNode, source: bytes) -> list[tuple[int, int]]:
    """Return the variables, as spans of their names, whose ``$`` the grammar takes for text.

    It does so behind another variable: in ``$A/$B/c`` it ends the word at the second ``$``.
    """
    found: list[tuple[int, int]] = []
    waiting = [root] if b"$" in source else []
    while waiting:
        node = waiting.pop()
        waiting += node.children
        if node.type == "$" and node.parent is not None and node.parent.type == "concatenation":
            rest = _REST_OF_WORD.match(source, node.start_byte)
            end = rest.end() if rest is not None else node.end_byte
            found += [name.span(1) for name in _NAMES.finditer(source, node.start_byte, end)]
    return sorted(set(found))


def _braced(source: bytes, names: list[tuple[int, int]]) -> bytes:
    """Return ``source`` with braces around ``names``."""
    parts: list[bytes] = []
    position = 0
    for start, end in names:
        parts += [source[position:start], b"{", source[start:end], b"}"]
        position = end
    return b"".join([*parts, source[position:]])


def _ended(source: bytes, ends: list[int]) -> bytes:
    """Return ``source`` with a semicolon at every one of ``ends``."""
    return b";".join(source[a:b] for a, b in pairwise([0, *ends, len(source)]))


def _body(nodes: list[TreeNode], depth: int) -> list[Item]:
    items: list[Item] = []
    n_latest = 0
    for node in nodes:
        if node.type == "&":
            latest = items[len(items) - n_latest :]
            items[len(items) - n_latest :] = [replace(i, is_background=True) for i in latest]
        elif node.is_named and node.type not in _SEPARATORS:
            found = _items(node, depth)
            n_latest = len(found)
            items += found
    return items


def _items(node: TreeNode, depth: int) -> list[Item]:
    if depth > MAX_DEPTH:
        return [Item((Unparsed(text_of(node)),))]
    kind = node.type
    if kind == "list":
        return _list(node, depth)
    if kind == "pipeline":
        return _pipeline(node, depth)
    if kind == "redirected_statement":
        return _redirected(node, depth)
    if kind == "negated_command":
        return _body(list(node.named_children), depth + 1)
    return [Item((_single(node, depth),))]


def _list(node: TreeNode, depth: int) -> list[Item]:
    chain: list[tuple[str, TreeNode]] = []
    while node.type == "list" and node.child_count >= 3:
        chain.append((node.children[-2].type, node.children[-1]))
        node = node.children[0]
    items = _items(node, depth + 1)
    for operator, right in reversed(chain):
        items += _joined(operator, _items(right, depth + 1))
    return items


def _joined(operator: str, items: list[Item]) -> list[Item]:
    return [replace(item, operator=operator) if i == 0 else item for i, item in enumerate(items)]


def _pipeline(node: TreeNode, depth: int) -> list[Item]:
    items: list[Item] = []
    for child in node.named_children:
        if child.type != "comment":
            items = _piped(items, _items(child, depth + 1))
    return items


def _piped(left: list[Item], right: list[Item]) -> list[Item]:
    if not left or not right:
        return left + right
    stages = left[-1].stages + right[0].stages
    return [*left[:-1], replace(left[-1], stages=stages), *right[1:]]


def _redirected(node: TreeNode, depth: int) -> list[Item]:
    items: list[Item] = []
    redirects: list[Redirect] = []
    behind: list[Word] = []
    after: list[Item] = []
    broken: list[TreeNode] = []
    for child in node.named_children:
        if child.type == "heredoc_redirect":
            redirects += _heredoc(child, depth)
            after = _after_heredoc(child, depth)
            broken += [c for c in child.named_children if _is_broken(c)]
        elif child.type in _REDIRECTS:
            redirects.append(_redirect(child, depth))
            behind += _behind_target(child, depth)
        elif child.type == "ERROR":
            items.append(Item((Unparsed(text_of(child)),)))
        else:
            items += _items(child, depth + 1)
    if not items:
        items = [Item((Command(),))]
    last = items[-1]
    stage = last.stages[-1]
    stage = replace(stage, redirects=stage.redirects + tuple(redirects))
    if behind and isinstance(stage, Command):
        stage = replace(stage, words=stage.words + tuple(behind))
    items[-1] = replace(last, stages=(*last.stages[:-1], stage))
    unparsed = [Item((Unparsed(text_of(child)),)) for child in broken]
    if after and after[0].operator == "|":
        return _piped(items, after) + unparsed
    return items + after + unparsed


def _is_broken(node: TreeNode) -> bool:
    return node.type == "ERROR" or (
        node.type == "file_redirect" and any(c.type == "ERROR" for c in node.children)
    )


def _heredoc(node: TreeNode, depth: int) -> list[Redirect]:
    redirects: list[Redirect] = []
    body: Word = ()
    is_literal = False
    for child in node.named_children:
        if child.type == "heredoc_start":
            is_literal = text_of(child)[:1] in "'\"\\"
        elif child.type == "file_redirect":
            redirects.append(_redirect(child, depth))
        elif child.type == "heredoc_body":
            body = (
                (Piece("text", text_of(child), is_quoted=True),)
                if is_literal
                else tuple(quoted_pieces(child, lambda n: _script(n, depth + 1), strip=0))
            )
    return [Redirect("<<", body=body), *redirects]


def _after_heredoc(node: TreeNode, depth: int) -> list[Item]:
    for child in node.named_children:
        if child.type == "pipeline":
            return _joined("|", _pipeline(child, depth + 1))
    right = node.child_by_field_name("right")
    operator = node.child_by_field_name("operator")
    if right is None or operator is None:
        return []
    return _joined(text_of(operator), _items(right, depth + 1))


def _redirect(node: TreeNode, depth: int) -> Redirect:
    operator, descriptor = "", ""
    target: Word = ()
    for child in node.children:
        if child.type == "file_descriptor":
            descriptor = text_of(child)
        elif not child.is_named:
            operator = child.type
        elif not target:
            target = _word(child, depth)
    if node.type == "herestring_redirect":
        return Redirect("<<<", body=target)
    return Redirect(operator, target, descriptor)


def _behind_target(node: TreeNode, depth: int) -> list[Word]:
    """Return the words behind the target of a redirect, which the grammar takes for targets."""
    if node.type != "file_redirect" or node.named_child_count < 2:
        return []
    found = [child for child in node.named_children if child.type != "file_descriptor"]
    return [_word(child, depth) for child in found[1:]]


def _word(node: TreeNode, depth: int) -> Word:
    return read_word(node, lambda n: _script(n, depth + 1))


def _script(node: TreeNode, depth: int) -> Sequence:
    if depth > MAX_DEPTH:
        return Sequence((Item((Unparsed(text_of(node)),)),))
    children = list(node.named_children)
    if len(children) == 1 and children[0].type == "file_redirect":
        words = (_CAT, _redirect(children[0], depth).target)
        return Sequence((Item((Command(words),)),))
    return Sequence(tuple(_body(children, depth)))


_Single = Command | Group | For | While | Branch | Function | Unparsed


def _single(node: TreeNode, depth: int) -> _Single:
    kind = node.type
    if kind == "command":
        return _command(node, depth)
    if kind in ("variable_assignment", "variable_assignments"):
        nodes = [node] if kind == "variable_assignment" else node.named_children
        return Command(assignments=tuple(_assignment(n, depth) for n in nodes))
    if kind == "declaration_command":
        return _declaration(node, depth)
    if kind in ("test_command", "unset_command"):
        return Command(words=((Piece("text", "test"),),))
    if kind in ("subshell", "compound_statement"):
        return Group(_script(node, depth + 1), is_subshell=kind == "subshell")
    if kind == "for_statement":
        return _for(node, depth)
    if kind in ("while_statement", "c_style_for_statement"):
        body = node.child_by_field_name("body")
        conditions = node.children_by_field_name("condition") if kind[0] == "w" else []
        return While(
            Sequence(tuple(_body(conditions, depth + 1))),
            _script(body, depth + 1) if body is not None else Sequence(),
        )
    if kind in ("if_statement", "case_statement"):
        return _branch(node, depth)
    if kind == "function_definition":
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is not None and body is not None:
            return Function(text_of(name), _script(body, depth + 1))
    return Unparsed(text_of(node))


def _command(node: TreeNode, depth: int) -> Command | Unparsed:
    words: list[Word] = []
    assignments: list[Assignment] = []
    redirects: list[Redirect] = []
    for child in node.children:
        if child.type == "ERROR":
            return Unparsed(text_of(node))
        if child.type == "variable_assignment":
            assignments.append(_assignment(child, depth))
        elif child.type in _REDIRECTS:
            redirects.append(_redirect(child, depth))
            words += _behind_target(child, depth)
        else:
            words.append(_word(child, depth))
    if len(redirects) == 1 and redirects[0].operator == "<<<" and words == [_CAT]:
        # It prints the word itself.
        return Command(((Piece("text", "echo"),), redirects[0].body or ()), tuple(assignments))
    return Command(tuple(words), tuple(assignments), tuple(redirects))


def _declaration(node: TreeNode, depth: int) -> Command:
    found = [n for n in node.named_children if n.type == "variable_assignment"]
    return Command(assignments=tuple(_assignment(n, depth) for n in found))


def _assignment(node: TreeNode, depth: int) -> Assignment:
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    is_append = any(child.type == "+=" for child in node.children)
    label = text_of(name) if name is not None else ""
    if value is not None and value.type == "array":
        words = tuple(_word(child, depth) for child in value.named_children)
        return Assignment(label, words, is_array=True, is_append=is_append)
    word = _word(value, depth) if value is not None else ()
    return Assignment(label, (word,), is_append=is_append)


def _for(node: TreeNode, depth: int) -> For:
    name, body = node.child_by_field_name("variable"), node.child_by_field_name("body")
    return For(
        text_of(name) if name is not None else "",
        tuple(_word(n, depth) for n in node.children_by_field_name("value")),
        _script(body, depth + 1) if body is not None else Sequence(),
    )


def _branch(node: TreeNode, depth: int) -> Branch:
    conditions = node.children_by_field_name("condition")
    arms: list[Sequence] = []
    own: list[TreeNode] = []
    known = {n.id for n in conditions}
    for child in node.named_children:
        if child.type in ("elif_clause", "else_clause", "case_item"):
            skip = {n.id for n in child.children_by_field_name("value")}
            arms.append(
                Sequence(tuple(_body([n for n in child.children if n.id not in skip], depth + 1)))
            )
        elif child.id not in known and node.type == "if_statement":
            own.append(child)
    arms.insert(0, Sequence(tuple(_body(own, depth + 1))))
    return Branch(Sequence(tuple(_body(conditions, depth + 1))), tuple(arms))


# --------------------------------------------------------------------------------------------------
# Plain scripts: simple commands, pipelines and lists, read without the grammar.
#
# Most commands of agents consist of words, quotes, simple expansions and redirects, joined by
# pipes, ``&&``, ``;`` and line breaks. These are read here, in a fifth of the time, to the same
# records as through the grammar. All else is left to the grammar: compound commands, substitutions,
# here-documents, declarations, arrays, and what is no valid syntax.

_EXPANSION: Final = r"\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\}|\d(?!\d)|[?#@*!$])"
_TOKEN: Final = re.compile(
    rf"""
      (?P<blank>[ \t]+(?:\\\n[ \t]*)*)
    | (?P<redirect>\d*(?:>>|>\||>&(?!-)|<(?![<&>(])|>(?!\())|&>>?)
    | (?P<comment>\#[^\n]*)
    | (?P<word>[^\x00-\x20\x7f;|&()<>"'`\\$]+)
    | (?P<operator>\n|&&|\|\|?(?!&)|;(?!;)|&)
    | (?P<literal>'[^']*')
    | (?P<string>"(?:[^"\\$`]++|\\.|{_EXPANSION}|\$(?=[ ./:;,|)"]))*+")
    | (?P<escape>\\[^\n])
    | (?P<expansion>{_EXPANSION})
    """,
    re.ASCII | re.DOTALL | re.VERBOSE,
)
_IN_STRING: Final = re.compile(rf"\\.|({_EXPANSION})", re.ASCII | re.DOTALL)
_ASSIGNMENT: Final = re.compile(r"([A-Za-z_]\w*)(\+?)=", re.ASCII)
_NOT_SIMPLE: Final = frozenset(
    {"if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac"}
    | {"in", "function", "select", "coproc", "time", "declare", "typeset", "export", "readonly"}
    | {"local", "unset", "unsetenv"}
)
"""Words that begin something other than a simple command."""


class _Reader:
    """A plain script that is being read: what is complete, and what the next tokens add to."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.stages: list[Node] = []
        self.words: list[Word] = []
        self.assignments: list[Assignment] = []
        self.redirects: list[Redirect] = []
        self.word: list[Piece] = []
        self.opened: tuple[str, str] | None = None
        self.operator = ";"
        self.n_before = 0

    @property
    def is_between(self) -> bool:
        """Whether no command has begun."""
        return not (self.word or self.words or self.opened or self.redirects or self.assignments)

    def take(self, kind: str, written: str) -> bool:
        """Add a token; False where the script is not plain."""
        if kind == "word":
            self.word.append(Piece("text", written))
        elif kind == "blank":
            return self.end_word()
        elif kind == "string":
            self.word += _string(written[1:-1])
        elif kind == "literal":
            self.word.append(Piece("text", written[1:-1], is_quoted=True))
        elif kind == "operator":
            return self.end_pipeline(written)
        elif kind == "redirect":
            return self.open_redirect(written)
        elif kind == "expansion":
            self.word.append(Piece("variable", _name(written)))
        elif kind == "escape":
            self.word.append(Piece("text", written[1], is_quoted=True))
        else:
            return not self.word
        return True

    def open_redirect(self, written: str) -> bool:
        """Begin a redirect; False where a word or another redirect has no end."""
        operator = written.lstrip("0123456789")
        descriptor = written[: len(written) - len(operator)]
        if (self.word and descriptor) or not self.end_word() or self.opened is not None:
            return False
        self.opened = descriptor, operator
        return True

    def end_word(self) -> bool:
        """End a word; False where its command is not simple."""
        if not self.word:
            return True
        word, self.word = tuple(self.word), []
        if self.opened is not None:
            descriptor, operator = self.opened
            self.redirects.append(Redirect(operator, word, descriptor))
            self.opened = None
            return True
        first = word[0].text
        if self.words or word[0].is_quoted or word[0].kind != "text":
            self.words.append(word)
            return True
        if first[0] in "[]{}!" or (first in _NOT_SIMPLE and len(word) == 1):
            return False
        found = _ASSIGNMENT.match(first) if "=" in first else None
        if found is None:
            self.words.append(word)
            return "[" not in first
        rest = first[found.end() :]
        value = (Piece("text", rest), *word[1:]) if rest else word[1:]
        self.assignments.append(Assignment(found[1], (value,), is_append=bool(found[2])))
        return True

    def end_command(self) -> bool:
        """End a command of a pipeline; False where there is none."""
        if not self.end_word() or self.opened is not None or self.is_between:
            return False
        words, assignments, redirects = self.words, self.assignments, self.redirects
        self.stages.append(Command(tuple(words), tuple(assignments), tuple(redirects)))
        self.words, self.assignments, self.redirects = [], [], []
        return True

    def end_pipeline(self, operator: str) -> bool:
        """End a pipeline that ``operator`` follows; False where a command is missing."""
        if operator == "\n" and self.is_between:
            return True
        if not self.end_command():
            return False
        if operator == "|":
            return True
        self.items.append(Item(tuple(self.stages), self.operator))
        self.stages = []
        self.operator = operator if operator in ("&&", "||") else ";"
        if operator == "&":
            latest = self.items[self.n_before :]
            self.items[self.n_before :] = [replace(i, is_background=True) for i in latest]
        if self.operator == ";":
            self.n_before = len(self.items)
        return True


def plain_script(command: str) -> Sequence | None:
    """Return the syntax of a plain script, None for any other text; see :func:`parse`."""
    text = command.replace("\r\n", "\n")
    reader = _Reader()
    position, end = 0, len(text)
    while position < end:
        token = _TOKEN.match(text, position)
        if token is None or not reader.take(token.lastgroup or "", token[0]):
            return None
        position = token.end()
    if not reader.is_between and not reader.end_pipeline(";"):
        return None
    is_whole = not reader.stages and reader.operator == ";"
    return Sequence(tuple(reader.items)) if is_whole else None


def _name(expansion: str) -> str:
    return expansion[2:-1] if expansion[1] == "{" else expansion[1:]


def _string(body: str) -> list[Piece]:
    """Return the pieces of a double-quoted string."""
    if "$" not in body:
        return [_double_quoted(body)]
    pieces: list[Piece] = []
    position = 0
    for found in _IN_STRING.finditer(body):
        if found[1] is not None:
            pieces.append(_double_quoted(body[position : found.start()]))
            pieces.append(Piece("variable", _name(found[1]), is_quoted=True))
            position = found.end()
    pieces.append(_double_quoted(body[position:]))
    return _without_empty(pieces)


def parse(command: str) -> Sequence:
    """Return the syntax of ``command``; what is not bash becomes :class:`~.syntax.Unparsed`.

    Examples
    --------
    >>> [len(item.stages) for item in parse("cd x && cat y 2>/dev/null | head").items]
    [1, 2]
    """
    script = plain_script(command)
    return parse_with_grammar(command) if script is None else script
