"""The state of a shell, and the expansion of words: variables and braces."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import Final

from msgspec import Struct, field

from retrieval_eval.agents.traces.shell.steps import Arg, Part, Step, resolve
from retrieval_eval.agents.traces.shell.syntax import Piece, Sequence, Word


class Unknown(Struct, frozen=True, gc=False):
    """A value that cannot be known from the command alone.

    ``pattern`` is the file-name pattern it must fit, ``captured`` the steps that printed it.
    """

    pattern: str | None = None
    captured: tuple[Step, ...] = ()


Value = str | tuple[str, ...] | Unknown


class Environment(Struct):
    """What a command sees.

    ``cwd`` is empty for the start folder while that is unknown, and None once it
    went to an unknown directory.
    """

    cwd: str | None = ""
    previous: str | None = None
    stack: list[str | None] = field(default_factory=list)
    variables: dict[str, Value] = field(default_factory=dict)
    functions: dict[str, Sequence] = field(default_factory=dict)

    def copy(self) -> Environment:
        """Return the environment of a subshell."""
        return Environment(
            self.cwd, self.previous, list(self.stack), dict(self.variables), dict(self.functions)
        )

    def get(self, name: str) -> Value:
        """Return the value of a variable; one that was never set is unknown."""
        if name in ("PWD", "OLDPWD"):
            path = self.cwd if name == "PWD" else self.previous
            return path or Unknown()
        return self.variables.get(name, Unknown())

    def change_directory(self, target: str | None) -> None:
        """Follow ``cd target``; None is an unknown target."""
        if target == "-":
            self.cwd, self.previous = self.previous, self.cwd
            return
        self.previous = self.cwd
        if target is None or target.startswith("~"):
            self.cwd = None
        elif target.startswith("/") or self.cwd is not None:
            self.cwd = resolve(self.cwd, target)

    def push(self, target: str | None) -> None:
        """Follow ``pushd target``."""
        self.stack.append(self.cwd)
        self.change_directory(target)

    def pop(self) -> None:
        """Follow ``popd``, which fails on an empty stack."""
        if self.stack:
            self.previous, self.cwd = self.cwd, self.stack.pop()


# --------------------------------------------------------------------------------------------------
# Word expansion: variables, arithmetic, braces, and the steps inside substitutions.
#
# A word expands to :class:`~.steps.Arg` values that keep apart what is known and what is not.

MAX_WORDS: Final = 1000
"""Words that one braced word may become; beyond it the word is left as written."""

_OVERFLOW: Final = 2**63
"""Where the shell's own integers end; what it makes of larger ones is not followed."""

Substitute = Callable[[Sequence], tuple[Part, tuple[Step, ...]]]


class _Atom(Struct, frozen=True, gc=False):
    text: Part
    is_glob: bool = False
    captured: tuple[Step, ...] = ()


def expand_words(
    words: tuple[Word, ...], environment: Environment, substitute: Substitute
) -> list[Arg]:
    """Return the arguments that ``words`` expand to, field splitting included."""
    found: list[Arg] = []
    for word in words:
        literal = _literal(word)
        if literal is not None:
            found.append(literal)
            continue
        for plain in _braces(word):
            found += [_arg(atoms) for atoms in _fields(plain, environment, substitute)]
    return found


def _literal(word: Word) -> Arg | None:
    """Return a word of one text without braces, which needs no expansion; None for any other."""
    if len(word) != 1 or word[0].kind != "text":
        return None
    (piece,) = word
    text = piece.text
    if piece.is_quoted:
        return Arg((text,))
    if "{" in text:
        return None
    return Arg((text,), text if _has_wildcard(text) else None)


def expand_word(word: Word, environment: Environment, substitute: Substitute) -> Arg:
    """Return the one argument of a word that is not split (a redirect, an assignment)."""
    literal = _literal(word)
    if literal is not None:
        return literal
    atoms = [a for piece in word for a in _atoms(piece, environment, substitute)]
    return _arg(atoms)


def _arg(atoms: list[_Atom]) -> Arg:
    captured = tuple(step for atom in atoms for step in atom.captured)
    pattern = None
    if any(a.is_glob and a.text and _has_wildcard(a.text) for a in atoms):
        pattern = "".join(
            "*" if a.text is None else a.text if a.is_glob else _escape(a.text) for a in atoms
        )
    return Arg(tuple(a.text for a in atoms if a.text != "") or ("",), pattern, captured)


def _has_wildcard(text: str) -> bool:
    """Return whether a bare text is a pattern; brackets alone are part of a name: ``[id]/a.ts``."""
    return "*" in text or "?" in text


def _escape(text: str) -> str:
    return re.sub(r"([*?[])", r"[\1]", text)


def _fields(word: Word, environment: Environment, substitute: Substitute) -> Iterator[list[_Atom]]:
    current: list[_Atom] = []
    is_word = False
    for piece in word:
        value = _array(piece, environment)
        if value is not None:
            for i, item in enumerate(value):
                if i:
                    yield current
                    current = []
                current.append(_Atom(_trimmed(item, piece)))
            is_word = is_word or bool(value)
            continue
        for atom in _atoms(piece, environment, substitute):
            if piece.kind == "text" or piece.is_quoted or atom.text is None:
                current.append(atom)
                is_word = True
                continue
            texts = atom.text.split()
            for i, text in enumerate(texts):
                if i:
                    yield current
                    current = []
                current.append(_Atom(text, is_glob=True))
            is_word = is_word or bool(texts)
    if is_word and current:
        yield current


def _array(piece: Piece, environment: Environment) -> tuple[str, ...] | None:
    """Return the elements that a piece becomes a word each of, or None where it is no array."""
    if piece.kind != "variable" or not _is_elementwise(piece.operator):
        return None
    name = re.sub(r"\[[@*]\]$", "", piece.text)
    value = environment.get(name)
    if isinstance(value, tuple) and (name != piece.text or name in ("@", "*")):
        is_joined = piece.is_quoted and piece.text.endswith(("*", "*]"))
        return None if is_joined else value
    return None


def _is_elementwise(operator: str) -> bool:
    return not operator or operator[0] in "%#" or operator in ("-", ":-", "=", ":=", "?", ":?")


def _atoms(piece: Piece, environment: Environment, substitute: Substitute) -> Iterator[_Atom]:
    if piece.kind == "text":
        yield _Atom(piece.text, is_glob=not piece.is_quoted)
    elif piece.kind == "variable":
        yield _variable(piece, environment)
    elif piece.kind == "arithmetic":
        number = arithmetic(piece.text, environment)
        is_known = number is not None and abs(number) < _OVERFLOW
        yield _Atom(str(number) if is_known else None)
    elif piece.kind == "command" and piece.script is not None:
        text, captured = substitute(piece.script)
        yield _Atom(text, captured=captured)
    elif piece.kind == "process" and piece.script is not None:
        yield _Atom(None, captured=substitute(piece.script)[1])
    else:
        yield _Atom(None)


def _variable(piece: Piece, environment: Environment) -> _Atom:
    value = environment.get(re.sub(r"\[[@*]\]$", "", piece.text))
    if isinstance(value, Unknown):
        if piece.operator in ("-", ":-", "=", ":=") and _never_set(piece.text, environment):
            return _Atom(piece.operand)
        if piece.operator:
            return _Atom(None)
        return _Atom(value.pattern, is_glob=True, captured=value.captured)
    if isinstance(value, tuple) and piece.operator[:1] in ("%", "#"):
        parts = [_trimmed(item, piece) for item in value]
        known = [part for part in parts if part is not None]
        text = " ".join(known) if len(known) == len(parts) else None
        return _Atom(text, is_glob=not piece.is_quoted)
    return _Atom(_trimmed(_plain(value), piece), is_glob=not piece.is_quoted)


def _never_set(name: str, environment: Environment) -> bool:
    return name not in environment.variables and name not in ("HOME", "USER", "PATH", "OLDPWD")


def _plain(value: Value) -> str:
    return value if isinstance(value, str) else " ".join(value) if isinstance(value, tuple) else ""


def _trimmed(text: str, piece: Piece) -> Part:
    """Return ``${name%pattern}`` and its relatives; None for patterns that are too long."""
    operator = piece.operator
    if not operator or operator in ("-", ":-", "=", ":=", "?", ":?"):
        return text
    if operator[0] not in "%#" or len(text) > 300:
        return None
    lengths = range(len(text) + 1)
    cuts = lengths if operator in ("#", "%%") else reversed(lengths)
    for cut in cuts:
        head, tail = text[:cut], text[cut:]
        if operator[0] == "#" and fnmatchcase(head, piece.operand):
            return tail
        if operator[0] == "%" and fnmatchcase(tail, piece.operand):
            return head
    return text


def arithmetic(expression: str, environment: Environment) -> int | None:
    """Return the value of ``$((expression))`` over known integers, else None."""
    if len(expression) > 200:
        return None

    def known(match: re.Match[str]) -> str:
        value = environment.get(match[1])
        return value.strip() if isinstance(value, str) else "?"

    text = re.sub(r"\$?\{?([A-Za-z_]\w*)\}?", known, expression).strip()
    if not re.fullmatch(r"[\d+*/%()\s-]+", text) or "**" in text:
        return None
    try:
        return _number(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, ZeroDivisionError, RecursionError, MemoryError):
        return None


def _number(node: ast.expr) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        value = _number(node.operand)
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.BinOp):
        left, right = _number(node.left), _number(node.right)
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, ast.Sub):
            return left - right
        if isinstance(node.op, ast.Mult):
            return left * right
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        if isinstance(node.op, ast.Div | ast.FloorDiv):
            return quotient
        return left - quotient * right
    raise ValueError("not integer arithmetic")


def _braces(word: Word) -> list[Word]:
    if not any(p.kind == "text" and not p.is_quoted and "{" in p.text for p in word):
        return [word]
    return expand_braces(word, MAX_WORDS)


# --------------------------------------------------------------------------------------------------
# Brace expansion: ``a{b,c}`` and ``{1..3}``.


def expand_braces(word: Word, limit: int) -> list[Word]:
    """Return the words that ``word`` expands to, or ``[word]`` when there would be too many.

    Examples
    --------
    >>> ["".join(p.text for p in w) for w in expand_braces((Piece("text", "a{b,c}"),), 10)]
    ['ab', 'ac']
    """
    done: list[Word] = []
    waiting = [_exploded(word)]
    while waiting:
        if len(done) + len(waiting) > limit:
            return [word]
        current = waiting.pop()
        found = _first_group(current)
        if found is None:
            done.append(_joined(current))
            continue
        start, end, alternatives = found
        head, tail = current[:start], current[end + 1 :]
        waiting += [(*head, *inner, *tail) for inner in reversed(alternatives[: limit + 1])]
    return done


def _exploded(word: Word) -> Word:
    pieces: list[Piece] = []
    for piece in word:
        if piece.kind == "text" and not piece.is_quoted:
            pieces += [Piece("text", character) for character in piece.text]
        else:
            pieces.append(piece)
    return tuple(pieces)


def _joined(word: Word) -> Word:
    pieces: list[Piece] = []
    for piece in word:
        last = pieces[-1] if pieces else None
        if last and _is_plain(piece) and _is_plain(last):
            pieces[-1] = Piece("text", last.text + piece.text)
        else:
            pieces.append(piece)
    return tuple(pieces)


def _is_plain(piece: Piece) -> bool:
    return piece.kind == "text" and not piece.is_quoted


def _first_group(word: Word) -> tuple[int, int, list[Word]] | None:
    opened: list[int] = []
    commas: list[list[int]] = []
    for i, piece in enumerate(word):
        if not _is_plain(piece):
            continue
        if piece.text == "{":
            opened.append(i)
            commas.append([])
        elif piece.text == "," and commas:
            commas[-1].append(i)
        elif piece.text == "}" and opened:
            start, cuts = opened.pop(), commas.pop()
            if cuts:
                edges = pairwise([start, *cuts, i])
                return start, i, [word[a + 1 : b] for a, b in edges]
            numbers = _numbers(word[start + 1 : i])
            if numbers:
                return start, i, numbers
    return None


def _numbers(word: Word) -> list[Word]:
    if not all(_is_plain(piece) for piece in word):
        return []
    match = re.fullmatch(r"(-?\d{1,6})\.\.(-?\d{1,6})", "".join(p.text for p in word))
    if match is None:
        return []
    first, last = int(match[1]), int(match[2])
    if abs(last - first) > 1000:
        return []
    step = 1 if last >= first else -1
    return [(Piece("text", str(n)),) for n in range(first, last + step, step)]
