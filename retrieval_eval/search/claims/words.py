"""Words of English text: tokens with their places, stop words, and stems of a light kind."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache
from typing import Final


def word_list(text: str) -> tuple[str, ...]:
    """Return the words of a text in their order.

    Examples
    --------
    >>> word_list("one two")
    ('one', 'two')
    """
    return tuple(text.split())


_TOKEN: Final = re.compile(
    r"\d{4}-\d{2}-\d{2}(?!\d)|\d+(?:[.,]\d+)*(?::\d{2}(?!\d))?|n['\u2019]t\b"
    r"|[^\W\d_]+?(?=n['\u2019]t\b)|[^\W\d_]+|[%\u20ac$\u00a3\u00a7]"
)
STOP_WORDS: Final = frozenset(
    word_list(
        "a about above according after again all also although am an and any are as at be"
        " because been before being below both but by can could did do does doing done during"
        " each either else even every few for from further had has have having he her here hers"
        " him his how however i if in indeed into is it its itself just least let like made make"
        " makes many may me might me more most much must my of off on once one ones only onto or"
        " other others our ours out over own per please rather same shall she should since so"
        " some such than that the their theirs them then there therefore these they this those"
        " though through thus to too under until up upon us very via was we well were what when"
        " where whereas whether which while who whom whose why will with within would yes yet"
        " you your yours said says s t re ve ll d m"
    )
)
"""Words without content of their own."""

_SUFFIX: Final = re.compile(
    r"(?<=\w{4})(?:[ia]?[sz]ation|ation|ment|ness|ion|er|or|ly)$|(?<=\w{3})(?:ing|ed|e?s|ies?|e|y)$"
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
    """Return a lower-case English word without the endings of plurals, verbs and their nouns.

    Not a full stemmer: irregular forms ("kept", "keep") stay apart.

    Examples
    --------
    >>> [stem(word) for word in ("encrypted", "encryption", "policies", "policy", "running")]
    ['encrypt', 'encrypt', 'polic', 'polic', 'run']
    """
    shorter = _SUFFIX.sub("", word)
    while shorter != word:
        word, shorter = shorter, _SUFFIX.sub("", shorter)
    if len(word) > 3 and word[-1] == word[-2]:
        word = word[:-1]
    return word.rstrip("iy") if len(word) > 3 else word


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold().replace("\u2019", "'")
