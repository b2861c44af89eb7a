"""Words of English text: tokens with their places, stop words, and stems of a light kind."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache
from typing import Final

from retrieval_eval.search.claims.vocabulary import word_list

_TOKEN: Final = re.compile(
    r"\d{4}-\d{2}-\d{2}(?!\d)|\d+(?:[.,]\d+)*(?::\d{2}(?!\d))?|n['\u2019]t\b"
    r"|[^\W\d_]+?(?=n['\u2019]t\b)|[^\W\d_]+|[%\u20ac$\u00a3\u00a7]"
)
_VOWELS: Final = frozenset("aeiouy")

STOP_WORDS: Final = frozenset(
    word_list(
        "a about above according after again all also although am an and any are as at be"
        " because been before being below both but by can could did do does doing done during"
        " each either else even every few for from further had has have having he her here hers"
        " him his how however i if in indeed into is it its itself just least let like made make"
        " makes many may me might more most much must my of off on once one ones only onto or"
        " other others our ours out over own per please rather same shall she should since so"
        " some such than that the their theirs them then there therefore these they this those"
        " though through thus to too under until up upon us very via was we well were what when"
        " where whereas whether which while who whom whose why will with within would yes yet"
        " you your yours said says s t re ve ll d m"
    )
)
"""Words without content of their own; negations are not among them, see ``negation``."""

_SUFFIXES: Final = (
    ("ization", 4),
    ("isation", 4),
    ("ation", 4),
    ("ment", 4),
    ("ness", 4),
    ("ing", 3),
    ("ion", 4),
    ("ed", 3),
    ("er", 4),
    ("or", 5),
    ("ly", 4),
)
_IRREGULAR: Final = dict(
    pair.split(":")
    for pair in word_list(
        "kept:keep held:hold sent:send built:build begun:begin began:begin written:write"
        " wrote:write taken:take took:take given:give gave:give ran:run lost:lose left:leave"
        " met:meet paid:pay led:lead shown:show told:tell seen:see known:know chosen:choose"
        " chose:choose sold:sell bought:buy found:find drawn:draw grew:grow grown:grow"
        " rose:rise risen:rise broke:break broken:break hidden:hide spent:spend stood:stand"
        " brought:bring"
    )
)


@dataclass(frozen=True, slots=True)
class Token:
    """A word, number or sign: its characters, and those in lower case and composed form."""

    start: int
    end: int
    text: str
    word: str

    @property
    def is_number(self) -> bool:
        """Whether it begins with a digit."""
        return self.word[:1].isdecimal()


def tokens(text: str) -> list[Token]:
    """Return words, numbers and the signs for percent and money; all else only separates.

    Letters and digits that touch are two tokens, so that ``TK4107`` and ``TK-4107`` are the same.

    Examples
    --------
    >>> [token.word for token in tokens("TK-4107 isn't 5,000.5 %")]
    ['tk', '4107', 'is', "n't", '5,000.5', '%']
    """
    return [
        Token(found.start(), found.end(), found[0], _plain(found[0]))
        for found in _TOKEN.finditer(text)
    ]


@cache
def stem(word: str) -> str:
    """Return what the forms of a lower-case English word have in common, by a few suffix rules.

    Not a full stemmer: it joins plural and singular, the forms of a verb, and nouns made of verbs
    by ``-ion``, ``-ation``, ``-ment``, ``-er``, and the most frequent irregular verbs.

    Examples
    --------
    >>> [stem(word) for word in ("encrypted", "encryption", "policies", "policy", "running")]
    ['encrypt', 'encrypt', 'polici', 'polici', 'run']
    """
    word = _IRREGULAR.get(word, word)
    if len(word) > 3 and word.endswith("ies"):
        word = word[:-3] + "y"
    elif len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    if len(word) > 6 and word.endswith("ery"):
        word = word[:-1]
    shorter = _shorter(word)
    while shorter != word:
        word, shorter = shorter, _shorter(shorter)
    if len(word) > 3:
        word = word.removesuffix("e")
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in _VOWELS:
        word = word[:-1]
    if len(word) > 2 and word.endswith("y"):
        word = word[:-1] + "i"
    return word


def _shorter(word: str) -> str:
    for suffix, shortest in _SUFFIXES:
        rest = word.removesuffix(suffix)
        if rest != word and len(rest) >= shortest and not _VOWELS.isdisjoint(rest):
            return rest
    return word


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold().replace("\u2019", "'")
