"""Where a text holds a quotation, whatever was changed by copying it."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

from retrieval_eval.search.claims.splitting import STOP_WORDS, Span, tokens

_SAME: Final = {
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u00b4", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"'),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
    # What a soft hyphen, a mark of direction or a joint of no width leaves out of sight.
    **dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff\u200e\u200f", ""),
}
_LIGATURES: Final = range(0xFB00, 0xFB07)
_ELLIPSIS: Final = re.compile(r"\s*[\[(]?\s*(?:\u2026|\.{3,}|\. \. \.)\s*[\])]?\s*")
_EDGES: Final = " \t\r\n\"'.,;:*_`[]()-"
_MARKUP: Final = re.compile(r"\*\*|__|`")
_LONGEST_GAP: Final = 500
_LEAST_WORDS: Final = 2


def find_quote(quote: str, text: str) -> Span | None:
    r"""Return where a text holds a quotation: its first and behind its last character there.

    Letter case, white space, kinds of quotation marks and dashes, hyphens within words (also at the
    end of a line), ligatures, characters without width and Markdown emphasis may differ. At an
    ellipsis words may be left out, up to 500 characters; what stands around it has two words each.
    A quotation begins and ends with whole words and numbers, and has at least one that is no stop
    word.

    Examples
    --------
    >>> text = "It is kept for 30\ndays, never for 130 days, in the well-\nknown vault."
    >>> text[slice(*find_quote("kept  for 30 DAYS ... the well-known vault.", text))]
    'kept for 30\ndays, never for 130 days, in the well-\nknown vault'
    >>> find_quote("0 days", text), find_quote("the", text)
    (None, None)
    """
    parts = [part for part in (_plain(_trim(p)) for p in _ELLIPSIS.split(quote)) if part]
    if not parts or all(token.word in STOP_WORDS for token in tokens(quote)):
        return None
    if len(parts) > 1 and any(len(part.split()) < _LEAST_WORDS for part in parts):
        return None
    shown, places = _known(text)
    first = -1
    while (first := _next(parts[0], shown, first + 1)) >= 0:
        end = _end(parts, shown, first)
        if end is not None:
            return places[first], places[end - 1] + 1
    return None


def _end(parts: list[str], shown: str, first: int) -> int | None:
    """Return where the last part ends if the others follow the first one, None if they do not."""
    end = first + len(parts[0])
    for part in parts[1:]:
        place = _next(part, shown, end)
        if place < 0 or place - end > _LONGEST_GAP:
            return None
        end = place + len(part)
    return end


def _next(part: str, shown: str, start: int) -> int:
    """Return the next place of whole words and numbers, -1 where there is none."""
    place = shown.find(part, start)
    while place >= 0:
        if not (_is_joined(shown, place) or _is_joined(shown, place + len(part))):
            return place
        place = shown.find(part, place + 1)
    return -1


def _is_joined(shown: str, place: int) -> bool:
    """Return whether the characters at both sides of a place belong to one word or number."""
    around = shown[max(place - 1, 0) : place + 1]
    if place == 0 or len(around) < 2:
        return False
    if around.isalnum():
        # Letters and digits that touch are two words: "30days".
        return around[0].isdecimal() == around[1].isdecimal()
    # A decimal point or comma, and what separates the parts of a date or a time.
    before, behind = shown[max(place - 2, 0) : place], shown[place : place + 2]
    is_behind_mark = len(before) == 2 and before[0].isdecimal() and before[1] in ".,:-"
    is_at_mark = len(behind) == 2 and behind[0] in ".,:-" and behind[1].isdecimal()
    return (is_behind_mark and around[1].isdecimal()) or (is_at_mark and around[0].isdecimal())


def _trim(part: str) -> str:
    return "".join(_SAME.get(sign, sign) for sign in part).strip(_EDGES)


def _plain(text: str) -> str:
    return _mapped(text)[0].strip()


@lru_cache(maxsize=256)
def _known(text: str) -> tuple[str, tuple[int, ...]]:
    return _mapped(text)


def _mapped(text: str) -> tuple[str, tuple[int, ...]]:
    """Return a text as it is compared, and the place in ``text`` of each of its characters."""
    left_out = {i for found in _MARKUP.finditer(text) for i in range(*found.span())}
    pairs: list[tuple[str, int]] = []
    for place, sign in enumerate(text):
        if place in left_out:
            continue
        plain = unicodedata.normalize("NFKD" if ord(sign) in _LIGATURES else "NFD", sign)
        for each in _SAME.get(sign, plain).casefold():
            one = " " if each.isspace() else each
            if not (one == " " and pairs and pairs[-1][0] == " "):
                pairs.append((one, place))
    kept = [pair for place, pair in enumerate(pairs) if not _is_hyphenation(pairs, place)]
    return "".join(sign for sign, _ in kept), tuple(place for _, place in kept)


def _is_hyphenation(pairs: list[tuple[str, int]], place: int) -> bool:
    """Return whether a character is a hyphen between letters, or the line break behind one."""
    sign = pairs[place][0]
    at = place if sign == "-" else place - 1 if sign == " " else -1
    if at < 1 or pairs[at][0] != "-" or not pairs[at - 1][0].isalpha():
        return False
    behind = at + 2 if at + 1 < len(pairs) and pairs[at + 1][0] == " " else at + 1
    return behind < len(pairs) and pairs[behind][0].isalpha()
