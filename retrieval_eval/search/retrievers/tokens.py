"""Text to search terms, the same on every machine and for every script."""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import cache
from itertools import pairwise
from typing import Final

TOKENIZER: Final = "words-1"
"""Name and version of the rules in :func:`tokenize`; a run records it."""

# Han, kana, Thai, Lao, Khmer and Burmese: no space tells where a word ends.
_UNSPACED: Final = (
    "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
    "\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff"
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ecd\u1780-\u17d3\u1000-\u1049"
)
_ASCII_WORD: Final = re.compile(r"[a-z0-9]+")


def tokenize(text: str) -> list[str]:
    r"""Return the terms of ``text`` in their order, repeated ones repeated.

    The text is brought to Unicode's NFKC form and case-folded. A term is a run of letters, digits
    and the marks on them; everything else, underscores too, only separates. Scripts written
    without spaces (Han, kana, Thai, Lao, Khmer, Burmese) give overlapping pairs of characters, a
    lone character stands alone. Nothing is left out for being short or frequent.

    Examples
    --------
    >>> tokenize("Straßen-Nr. 5, CAFE\u0301")
    ['strassen', 'nr', '5', 'café']
    >>> tokenize("東京都 tax")
    ['東京', '京都', 'tax']
    """
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    terms: list[str] = []
    for run in _word().finditer(folded):
        part = run.group()
        if run.lastgroup == "unspaced" and len(part) > 1:
            terms.extend(first + second for first, second in pairwise(part))
        else:
            terms.append(part)
    return terms


def stem(term: str) -> str:
    """Return an English term without its plural ending.

    The three rules of Harman's S stemmer (D. Harman, "How effective is suffixing?", 1991); the
    first whose ending fits decides, also when its exceptions then leave the term as it is.

    Examples
    --------
    >>> [stem(term) for term in ("policies", "bases", "levies", "costs", "class", "status")]
    ['policy', 'base', 'levy', 'cost', 'class', 'status']
    """
    if term.endswith("ies"):
        return term if term.endswith(("eies", "aies")) else term[:-3] + "y"
    if term.endswith("es"):
        return term if term.endswith(("aes", "ees", "oes")) else term[:-1]
    if term.endswith("s"):
        return term if term.endswith(("us", "ss")) else term[:-1]
    return term


@cache
def _word() -> re.Pattern[str]:
    # `re` knows letters and digits but no combining marks, without which words of many scripts
    # fall apart.
    places = (chr(point) for point in range(sys.maxunicode + 1))
    marks = "".join(re.escape(char) for char in places if unicodedata.category(char)[0] == "M")
    letter = rf"(?![{_UNSPACED}])[^\W_]"
    return re.compile(rf"(?P<unspaced>[{_UNSPACED}]+)|{letter}(?:{letter}|[{marks}])*")
