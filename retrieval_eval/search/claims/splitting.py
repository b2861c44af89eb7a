"""From a draft to its claims: sentences and list items, and which of them state something."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final

# --------------------------------------------------------------------------------------------------
# Words of English text: tokens with their places, stop words, and stems of a light kind.


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


# --------------------------------------------------------------------------------------------------
# From a draft to its claims: sentences and list items, and which of them state something.

Span = tuple[int, int]

_MARKERS: Final = re.compile(
    r"""
    \[\^?\d+(?:\s*[,;\u2013-]\s*\^?\d+)*\]                    # [1], [2, 3], [^4]
    | \[(?:doc|source|ref|block|cite)s?\b[^\]\n]{0,120}\]       # [source: handbook]
    | \[[\w.]*(?:[-_:/.]\w+)+\](?!\()                          # [pd-linux-card], but no [text](url)
    | \((?:sources?|see|refs?|cf)\b[.:]?\s[^()\n]{1,120}\)      # (source: handbook)
    | \u3010[^\u3011\n]{0,120}\u3011                           # a chat client's own brackets
    | \]\([^()\s]{1,500}\)                                      # the address of a Markdown link
    | \*\*|`                                                    # emphasis and code
    """,
    re.VERBOSE | re.IGNORECASE,
)
_ITEM: Final = re.compile(r"\s*(?:[-*+\u2022\u2013]|\(?(?:\d{1,3}|[A-Za-z])[.)])\s+")
_HEADING: Final = re.compile(r"\s*#{1,6}\s")
_RULE: Final = re.compile(r"\s*(?:[-=_*]\s*){3,}$")
_GREETING: Final = r"(?:hi|hello|dear|greetings|good\ (?:morning|afternoon|evening))\b"
_SALUTATION: Final = re.compile(rf"\s*{_GREETING}[^.!?\n]{{0,60}},\s*", re.IGNORECASE)
_END: Final = re.compile(
    r"[.!?\u2026]+[\"'\u201d\u2019)\]]*(?=\s|$)|;(?=\s|$)|[\u3002\uff01\uff1f]"
)
_LAST_WORD: Final = re.compile(r"[\w.]+$")
_ABBREVIATIONS: Final = frozenset(
    word_list(
        "al approx art ca cf ch co corp dept dr e.g ed eg eq est fig figs i.e ie inc incl jr ltd"
        " max min mr mrs ms no nos op p para pp prof resp sec sect sr st tel u.k u.s vol vs"
    )
)
_TALK: Final = re.compile(
    rf"""
    (?:{_GREETING}[^,.!]{{0,60}}[,.!]\s*)?
    (?:
      (?:many\ )?(?:thanks?|thank\ you)\b(?!.*[,:\u2013\u2014]\s*(?:we|our|the|it|yes)\b)
    | (?:kind|best|warm)\ (?:regards|wishes)\b | sincerely\b | yours\b | cheers\b
    | please\b(?!\ (?:note|be\ aware|be\ advised|remember)\b)
    | (?:if\ you\ (?:have|need)\b.{{0,60}}?,?\s*)?(?:do\ not|don't|feel\ free|you\ can\ always)\b
      .{{0,20}}\b(?:hesitate|contact|ask|reach)\b
    | (?:feel\ free|let\ (?:us|me)\ know|contact\ us|get\ in\ touch|reach\ out)\b
    | (?:we|i)\ (?:look\ forward|hope|trust\ (?:this|that))\b
    | (?:we|i)\ would\ be\ (?:happy|glad|pleased)\b
    | (?:i\ am|i'm|we\ are|we're)\ (?:happy|glad|pleased|sorry|afraid|here\ to\ help)\b
    | (?:as|i\ am|i'm)\ an?\ (?:ai|language\ model|assistant)\b
    | (?:unfortunately,?\ )?(?:i|we)\ (?:cannot|can't|could\ not|couldn't|do\ not|don't)
      \ (?:answer|find|help|determine|know\ (?:if|whether|the\ answer)|know\W*$
      |provide\ an\ answer|have\ (?:enough\ |any\ )?information)\b
    | (?:unfortunately,?\ )?(?:i\ am|we\ are)\ unable\ to\ (?:answer|find|help|determine)\b
    | (?:i|we)\ (?:think|believe|guess)\ so\b
    | (?:here|below)\ (?:is|are)\b\D*$
    | (?:it|this|that|these|results?)\ (?:all\ )?(?:depends?|(?:may|can|might)\ vary|vary)\b\D*$
    | (?:in\ (?:summary|short|conclusion)|to\ summari[sz]e|note|yes|no|sure|certainly)\W*$
    | (?:of\ course|great\ question|good\ question)\W*$
    | hope\ (?:this|that)\b
    )
    | {_GREETING}[^,.!]{{0,60}}\W*$
    """,
    re.VERBOSE | re.IGNORECASE,
)
_LONGEST_TALK: Final = 2_000


@dataclass(frozen=True, slots=True)
class Claim:
    """One sentence or list item of a draft.

    ``span`` are its characters in the draft, ``text`` what they say without citation markers and
    mark-up. Greetings, questions, headings and the like are not ``is_substantive``.
    """

    text: str
    span: Span
    is_substantive: bool


def split_claims(draft: str) -> tuple[Claim, ...]:
    r"""Return the sentences and list items of a draft as its claims, in their order.

    A sentence that states several things is one claim, which is supported as a whole or not at
    all. Citation markers such as ``[1]`` or ``[source: handbook]`` are no text.

    Examples
    --------
    >>> for claim in split_claims("Dear customer,\n- It is **safe** [1].\n- It costs 5 $; always."):
    ...     print(claim.is_substantive, claim.text)
    False Dear customer,
    True It is safe.
    True It costs 5 $
    True always.
    """
    text = masked(draft)
    return tuple(
        Claim(said := collapsed(text[start:end]), (start, end), not is_title and states(said))
        for start, end, is_title in _pieces(text)
    )


def sentences(text: str) -> list[Span]:
    """Return where the sentences, list items and headings of a text begin and end, in order.

    A sentence ends at ``.``, ``!``, ``?`` or ``…`` before white space, at a semicolon, and at the
    end of a paragraph, list item or heading. The full stop of an abbreviation, of an initial and
    one that a small letter follows end none; those inside numbers, versions and addresses have no
    white space behind them. A line that begins with ``#``, or that stands alone and ends with a
    colon, is a heading.

    Examples
    --------
    >>> text = "Use v. 2.1, e.g. at night. It is 99.9 % up."
    >>> [text[slice(*span)] for span in sentences(text)]
    ['Use v. 2.1, e.g. at night.', 'It is 99.9 % up.']
    """
    return [(start, end) for start, end, _ in _pieces(text)]


def states(sentence: str) -> bool:
    """Return whether a sentence says something that is true or false of the subject.

    Greetings, thanks, offers of help, requests to the reader, refusals, hedges that state nothing,
    announcements ("Here is ..."), questions, and text without a word of content do not.

    Examples
    --------
    >>> [states(text) for text in ("Please contact us.", "Is it safe?", "It is safe.")]
    [False, False, True]
    """
    shown = sentence.strip().strip("\"'\u201c\u201d\u2018\u2019*_ ")
    if not shown or shown.endswith("?") or _TALK.match(shown[:_LONGEST_TALK]):
        return False
    return any(token.word not in STOP_WORDS for token in tokens(shown))


def masked(draft: str) -> str:
    """Return the draft with citation markers and mark-up replaced by as many spaces."""
    return _MARKERS.sub(lambda found: " " * len(found[0]), draft)


def collapsed(text: str) -> str:
    """Return a text with every run of white space as one space, and none at a punctuation mark."""
    return re.sub(r"\s+(?=[.,;:!?](?:\s|$))", "", " ".join(text.split()))


def _pieces(text: str) -> Iterator[tuple[int, int, bool]]:
    for start, end in _blocks(text):
        inner = text[start:end]
        begin = start + len(inner) - len(inner.lstrip())
        inner = inner.strip()
        mark = _HEADING.match(inner)
        is_lead = inner.endswith(":") and "\n" not in inner and not re.search(r"[.!?]\s", inner)
        if mark or is_lead:
            yield begin + (mark.end() if mark else 0), begin + len(inner), True
        else:
            yield from ((a, b, False) for a, b in _of_prose(text, begin, begin + len(inner)))


def _blocks(text: str) -> Iterator[Span]:
    """Yield paragraphs, list items without their marks, headings and salutations."""
    begun = place = 0
    for line in text.splitlines(keepends=True):
        start, place = place, place + len(line)
        mark = _ITEM.match(line)
        is_alone = bool(_HEADING.match(line) or _SALUTATION.fullmatch(line))
        is_blank = not line.strip() or bool(_RULE.fullmatch(line.rstrip()))
        if not (mark or is_alone or is_blank):
            continue
        yield begun, start
        begun = place if is_blank else start + mark.end() if mark else start
        if is_alone:
            yield start, place
            begun = place
    yield begun, len(text)


def _of_prose(text: str, start: int, end: int) -> Iterator[Span]:
    begun = start
    for mark in _END.finditer(text, start, end):
        if mark.end() == end or _ends_sentence(text, begun, mark, end):
            yield from _trimmed(text, begun, mark.end())
            begun = mark.end()
    yield from _trimmed(text, begun, end)


def _ends_sentence(text: str, begun: int, mark: re.Match[str], end: int) -> bool:
    if not mark[0].startswith("."):
        return True
    following = text[mark.end() : end].lstrip()[:1]
    if following.islower():
        return False
    word = _LAST_WORD.search(text, begun, mark.start())
    if word is None or mark[0].startswith(".."):
        return True
    last = word[0].strip(".").lower()
    # A lone letter is an initial ("J. Smith"), but not the end of "plan B." or "Type I.".
    is_initial = len(last) == 1 and last.isalpha() and last != "i" and word.start() == begun
    is_version = last in {"v", "ver"} and following.isdigit()
    return not (last in _ABBREVIATIONS or is_initial or is_version)


def _trimmed(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield a sentence without white space around it and without a semicolon, if words are left."""
    inner = text[start:end].rstrip("; \t\r\n")
    begin = start + len(inner) - len(inner.lstrip())
    if collapsed(inner).strip(".,;:!?()[]-\u2013\u2014 "):
        yield begin, start + len(inner)


# --------------------------------------------------------------------------------------------------
# Where a text holds a quotation, whatever was changed by copying it.

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
    parts = [part for part in (_plain_part(_trim(p)) for p in _ELLIPSIS.split(quote)) if part]
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


def _plain_part(text: str) -> str:
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
