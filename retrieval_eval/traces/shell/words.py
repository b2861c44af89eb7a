"""From the parser's word nodes to :class:`~.syntax.Piece` tuples."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from retrieval_eval.traces.shell.plain import from_plain
from retrieval_eval.traces.shell.syntax import Piece, Sequence, Word

if TYPE_CHECKING:
    from tree_sitter import Node as TreeNode

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"', "0": "\0"}
_UNKNOWN = Piece("unknown")

ScriptReader = Callable[["TreeNode"], Sequence]


def text_of(node: TreeNode) -> str:
    """Return the source text of ``node``."""
    return from_plain(node.text or b"")


def read_word(node: TreeNode, read_script: ScriptReader) -> Word:
    """Return the pieces of one word; ``read_script`` reads the body of a substitution."""
    return tuple(_pieces(node, read_script))


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
        yield _expansion(node, read_script, is_quoted=False)


def quoted_pieces(node: TreeNode, read_script: ScriptReader, strip: int) -> Iterator[Piece]:
    """Yield the pieces of a double-quoted string or here-document.

    The parser leaves out some white space next to expansions, so the text between the children
    is taken from the source. ``strip`` is the length of the quotes on either side.
    """
    source = node.text or b""
    start = node.start_byte
    position = strip
    yield Piece("text", "", is_quoted=True)
    for child in node.named_children:
        if child.type in ("string_content", "heredoc_content"):
            continue
        yield _double_quoted(source[position : child.start_byte - start])
        yield _expansion(child, read_script, is_quoted=True)
        position = child.end_byte - start
    yield _double_quoted(source[position : len(source) - strip])


def _double_quoted(raw: bytes) -> Piece:
    text = re.sub(r'\\(["$`\\])', r"\1", from_plain(raw)).replace("\\\n", "")
    return Piece("text", text, is_quoted=True)


def _unescape(text: str) -> Iterator[Piece]:
    if "\\" not in text:
        yield Piece("text", text)
        return
    for part in re.findall(r"\\.|[^\\]+|\\", text, flags=re.DOTALL):
        if part == "\\\n":
            continue
        is_escape = len(part) == 2 and part[0] == "\\"
        yield Piece("text", part[1] if is_escape else part, is_quoted=is_escape)


def _expansion(node: TreeNode, read_script: ScriptReader, *, is_quoted: bool) -> Piece:
    if node.type == "simple_expansion":
        return Piece("variable", text_of(node)[1:], is_quoted=is_quoted)
    if node.type == "expansion":
        return _parameter(text_of(node)[2:-1], is_quoted=is_quoted)
    if node.type == "command_substitution":
        return Piece("command", script=read_script(node), is_quoted=is_quoted)
    if node.type == "process_substitution":
        return Piece("process", script=read_script(node), is_quoted=is_quoted)
    if node.type == "arithmetic_expansion":
        return Piece("arithmetic", text_of(node)[3:-2], is_quoted=is_quoted)
    if node.type == "brace_expression" or not node.is_named:
        return Piece("text", text_of(node))
    return _UNKNOWN


_PARAMETER = re.compile(r"(\w+|[@*#?!$-])(\[[@*]\])?(:?[-=+?]|%%?|##?)?(.*)", re.DOTALL)


def _parameter(text: str, *, is_quoted: bool) -> Piece:
    match = _PARAMETER.fullmatch(text)
    if match is None or (match[4] and not match[3]) or "$" in match[4] or "`" in match[4]:
        return Piece("unknown", is_quoted=is_quoted)
    name = match[1] + (match[2] or "")
    return Piece("variable", name, is_quoted, operator=match[3] or "", operand=match[4])
