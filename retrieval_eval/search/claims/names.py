"""Identifiers and names of a text: what must be the same, letter by letter."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from retrieval_eval.search.claims.vocabulary import word_list
from retrieval_eval.search.claims.words import STOP_WORDS, Token, stem, tokens

_CHUNK: Final = re.compile(r"\S+")
_EDGES: Final = ".,;:!?()[]{}<>\"'\u201c\u201d\u2018\u2019\u2026*"
_ACRONYM: Final = re.compile(r"[A-Z]{2,}(?:/[A-Z]{2,})*s?")
_MIXED_CASE: Final = re.compile(r"[a-z]+[A-Z]\w*")
_JOINED: Final = re.compile(r"\w+(?:[_@\\/:.#]\w+)+|\w+(?:-\w+)*[_@\\/:.#]\S+")
_QUANTITY: Final = re.compile(r"[\d.,:]+(?:-?[a-z%]+)?(?:-[a-z]+)*%?", re.IGNORECASE)
_WORD_PAIR: Final = re.compile(r"[a-z]+(?:/[a-z]+)+")
_ROMAN: Final = {"i": "1", "ii": "2", "iii": "3", "iv": "4", "v": "5", "vi": "6"}
NUMBERED: Final = frozenset(
    word_list("annex category class grade level part phase section severity stage tier type")
)

Identifier = tuple[str, ...]
"""An identifier as the words and numbers it consists of, whatever stands between them."""


def identifiers(text: str, words: Sequence[Token]) -> set[Identifier]:
    """Return the identifiers of a text.

    That is what holds letters and digits (``AES-256``), acronyms (``TCP``), mixed case
    (``backupAgent``), words joined by signs (``alerts:read``, addresses), and kinds with a number
    or letter (``Type II``, which is ``Type 2``).

    Examples
    --------
    >>> sorted(identifiers("AES-256, type II", tokens("AES-256, type II")))
    [('aes', '256'), ('type', '2')]
    """
    found = set()
    for chunk in _CHUNK.finditer(text):
        inner = chunk[0].strip(_EDGES)
        if inner and _is_identifier(inner):
            parts = tuple(token.word for token in tokens(inner))
            if parts:
                found.add(_singular(inner, parts))
    for one, other in pairwise(words):
        if one.word in NUMBERED and _is_ordinal(other):
            found.discard((other.word,))
            found.add((one.word, _ROMAN.get(other.word, other.word)))
    return found


def holds(words: Sequence[Token], wanted: Identifier) -> bool:
    """Return whether a text holds an identifier: its parts one behind the other.

    What stands between the parts does not count, so that ``AES 256`` holds ``AES-256``.
    """
    forms = [_form(words, place) for place in range(len(words))]
    n = len(wanted)
    return any(tuple(forms[at : at + n]) == wanted for at in range(len(forms) - n + 1))


def names(text: str, words: Sequence[Token]) -> set[str]:
    """Return the stems of words with a capital letter that do not begin a sentence."""
    found = set()
    for place, token in enumerate(words):
        if not token.text[0].isupper() or token.word in STOP_WORDS or len(token.text) < 2:
            continue
        before = text[: token.start].rstrip(" \t\r\n\"'\u201c\u2018([*")
        if place and before[-1:] not in {".", "!", "?", ":", "\u2026", ""}:
            found.add(stem(token.word))
    return found


def _is_identifier(chunk: str) -> bool:
    if _QUANTITY.fullmatch(chunk) or _WORD_PAIR.fullmatch(chunk):
        return False
    has_digit = any(c.isdecimal() for c in chunk)
    has_letter = any(c.isalpha() for c in chunk)
    if has_digit and has_letter:
        return True
    if _ACRONYM.fullmatch(chunk) or _MIXED_CASE.fullmatch(chunk):
        return True
    return has_letter and bool(_JOINED.fullmatch(chunk))


def _singular(chunk: str, parts: Identifier) -> Identifier:
    is_plural = bool(_ACRONYM.fullmatch(chunk)) and chunk.endswith("s")
    return (*parts[:-1], parts[-1].removesuffix("s")) if is_plural else parts


def _form(words: Sequence[Token], place: int) -> str:
    token = words[place]
    if place and words[place - 1].word in NUMBERED:
        return _ROMAN.get(token.word, token.word)
    return _singular(token.text, (token.word,))[0]


def _is_ordinal(token: Token) -> bool:
    is_letter = len(token.text) == 1 and token.text.isupper()
    return token.is_number or token.word in _ROMAN or is_letter
