"""Where the sentences of a draft begin and end: prose, lists, headings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from retrieval_eval.search.claims.masking import collapsed
from retrieval_eval.search.claims.vocabulary import word_list

_ABBREVIATIONS: Final = frozenset(
    word_list(
        "al approx art ca cf ch co corp dept dr e.g ed eg eq est etc fig figs i.e ie inc incl"
        " jr ltd max min mr mrs ms no nos op p para pp prof resp sec sect sr st tel u.k u.s vol"
        " vs"
    )
)
_END: Final = re.compile(
    r"[.!?\u2026]+[\"'\u201d\u2019)\]]*(?=\s|$)|;(?=\s|$)|[\u3002\uff01\uff1f]"
)
_ITEM: Final = re.compile(r"\s*(?:[-*+\u2022\u2013]|\(?(?:\d{1,3}|[A-Za-z])[.)])\s+")
_HEADING: Final = re.compile(r"\s*#{1,6}\s")
_LAST_WORD: Final = re.compile(r"[\w.]+$")
_SALUTATION: Final = re.compile(
    r"\s*(?:hi|hello|dear|greetings|good (?:morning|afternoon|evening))\b[^.!?\n]{0,60},\s*",
    re.IGNORECASE,
)
_RULE: Final = re.compile(r"\s*(?:[-=_*]\s*){3,}$")


@dataclass(frozen=True, slots=True)
class Sentence:
    """Characters ``start`` to ``end`` of a draft; a heading states nothing itself."""

    start: int
    end: int
    is_heading: bool = False


def sentences(text: str) -> list[Sentence]:
    """Return the sentences of a text in their order, without white space around them.

    A sentence ends at ``.``, ``!``, ``?`` or ``…`` before white space, at a semicolon, and at the
    end of a paragraph, list item or heading. The full stop of an abbreviation, of an initial and
    one that a small letter follows end none; those inside numbers, versions and addresses have no
    white space behind them. A line that begins with ``#``, or that stands alone and ends with a
    colon, is a heading.

    Examples
    --------
    >>> [
    ...     text[s.start : s.end]
    ...     for text in ["Use v. 2.1, e.g. at night. It is 99.9 % up."]
    ...     for s in sentences(text)
    ... ]
    ['Use v. 2.1, e.g. at night.', 'It is 99.9 % up.']
    """
    found: list[Sentence] = []
    for start, end, is_heading in _blocks(text):
        if is_heading:
            found.append(Sentence(start, end, is_heading=True))
        else:
            found.extend(_of_prose(text, start, end))
    return found


def _blocks(text: str) -> Iterator[tuple[int, int, bool]]:
    """Yield paragraphs, list items and headings; the marks of lists and headings are left out."""
    begun: int | None = None
    place = 0
    for line in text.splitlines(keepends=True):
        start, place = place, place + len(line)
        if mark := _HEADING.match(line):
            yield from _trimmed(text, begun, start)
            begun = None
            yield from ((a, b, True) for a, b, _ in _trimmed(text, start + mark.end(), place))
        elif _SALUTATION.fullmatch(line):
            yield from _trimmed(text, begun, start)
            yield from _trimmed(text, start, place)
            begun = None
        elif not line.strip() or _RULE.fullmatch(line.rstrip()):
            yield from _trimmed(text, begun, start)
            begun = None
        elif mark := _ITEM.match(line):
            yield from _trimmed(text, begun, start)
            begun = start + mark.end()
        elif begun is None:
            begun = start
    yield from _trimmed(text, begun, len(text))


def _trimmed(text: str, start: int | None, end: int) -> Iterator[tuple[int, int, bool]]:
    if start is None:
        return
    piece = text[start:end]
    inner = piece.strip()
    if inner:
        begin = start + piece.index(inner)
        is_heading = inner.endswith(":") and "\n" not in inner and not re.search(r"[.!?]\s", inner)
        yield begin, begin + len(inner), is_heading


def _of_prose(text: str, start: int, end: int) -> Iterator[Sentence]:
    begun = start
    for mark in _END.finditer(text, start, end):
        if mark.end() < end and not _ends_sentence(text, begun, mark, end):
            continue
        if sentence := _sentence(text, begun, mark.end()):
            yield sentence
        begun = mark.end()
    if sentence := _sentence(text, begun, end):
        yield sentence


def _ends_sentence(text: str, begun: int, mark: re.Match[str], end: int) -> bool:
    if not mark[0].startswith("."):
        return True
    following = text[mark.end() : end].lstrip()[:1]
    if following.islower() or not following:
        return not following
    if mark[0].startswith(".."):
        return True
    word = _LAST_WORD.search(text, begun, mark.start())
    if word is None:
        return True
    last = word[0].strip(".").lower()
    if last in _ABBREVIATIONS:
        # "etc." before a capital is the end of a sentence more often than not.
        return last == "etc"
    # A lone letter is an initial ("J. Smith"), but not the end of "plan B." or "Type I.".
    is_initial = len(last) == 1 and last.isalpha() and last != "i" and word.start() == begun
    is_version = last in {"v", "ver"} and following.isdigit()
    return not (is_initial or is_version)


def _sentence(text: str, start: int, end: int) -> Sentence | None:
    piece = text[start:end].rstrip("; \t\r\n")
    inner = piece.strip()
    if not collapsed(inner).strip(".,;:!?()[]-\u2013\u2014 "):
        return None
    begin = start + piece.index(inner)
    return Sentence(begin, begin + len(inner))
