"""The shell's grammar as far as file access depends on it: a small tree of frozen records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

PieceKind = Literal["text", "variable", "command", "process", "arithmetic", "unknown"]


@dataclass(frozen=True, slots=True)
class Piece:
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


@dataclass(frozen=True, slots=True)
class Assignment:
    """``name=word`` or ``name=(word word)``; ``is_append`` for ``+=``."""

    name: str
    words: tuple[Word, ...]
    is_array: bool = False
    is_append: bool = False


@dataclass(frozen=True, slots=True)
class Redirect:
    """``descriptor operator target``; a here-document or here-string has ``body`` instead."""

    operator: str
    target: Word = ()
    descriptor: str = ""
    body: Word | None = None


@dataclass(frozen=True, slots=True)
class Command:
    """A simple command: assignments and the words after them."""

    words: tuple[Word, ...] = ()
    assignments: tuple[Assignment, ...] = ()
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """``{ …; }`` or ``( … )``."""

    body: Sequence
    is_subshell: bool = False
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True)
class For:
    """``for name in words; do body; done``."""

    name: str
    words: tuple[Word, ...]
    body: Sequence
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True)
class While:
    """``while condition; do body; done`` and every other loop without a list of words."""

    condition: Sequence
    body: Sequence
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True)
class Branch:
    """``if`` or ``case``: a condition that always runs and arms of which at most one does."""

    condition: Sequence
    arms: tuple[Sequence, ...]
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True)
class Function:
    """``name() { body; }``."""

    name: str
    body: Sequence
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True)
class Unparsed:
    """Text the grammar could not make sense of."""

    text: str
    redirects: tuple[Redirect, ...] = ()


Node = Command | Group | For | While | Branch | Function | Unparsed


@dataclass(frozen=True, slots=True)
class Item:
    """One pipeline of a sequence; ``operator`` (``;``, ``&&``, ``||``) joins it to the last."""

    stages: tuple[Node, ...]
    operator: str = ";"


@dataclass(frozen=True, slots=True)
class Sequence:
    """Pipelines in the order they are written."""

    items: tuple[Item, ...] = ()
