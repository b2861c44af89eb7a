"""Brace expansion: ``a{b,c}`` and ``{1..3}``."""

from __future__ import annotations

import re
from itertools import pairwise

from retrieval_eval.traces.shell.syntax import Piece, Word


def expand_braces(word: Word, limit: int) -> list[Word]:
    """Return the words that ``word`` stands for, or ``[word]`` when there would be too many.

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
