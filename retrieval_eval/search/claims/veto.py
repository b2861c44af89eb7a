"""The rules beside every judge: a place of a document has the numbers and negation of a claim."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from retrieval_eval.search.claims.judge import Judge, Judgement, ask
from retrieval_eval.search.claims.splitting import (
    STOP_WORDS,
    Span,
    Token,
    sentences,
    stem,
    tokens,
    word_list,
)

NUMBER_DIFFERS: Final = "number_differs"
NEGATION_DIFFERS: Final = "negation_differs"

# Numbers with their units, dates, frequencies and bounds, in a form to compare

# Without "one", which is as often a pronoun; see `_number`.
_NUMBER_WORDS: Final = dict(
    zip(
        word_list(
            "zero two three four five six seven eight nine ten eleven twelve thirteen fourteen"
            " fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy"
            " eighty ninety hundred"
        ),
        map(str, (0, *range(2, 20), *range(20, 101, 10))),
        strict=True,
    )
)
_ROMAN: Final = {"i": "1", "ii": "2", "iii": "3", "iv": "4", "v": "5", "vi": "6"}
_NUMBERED: Final = frozenset(
    word_list("annex category class grade level part phase section severity stage tier type")
)
"""What is numbered with a number behind it, which may be a Roman one: "Type II" is "type 2"."""
_UNIT_OF: Final = {
    form: unit
    for line in (
        "percent % pct|second s sec secs|millisecond ms|minute min mins|hour h hr hrs|day d|week",
        "month|quarter|year yr yrs|bit|byte|kilobyte kb kib|megabyte mb mib|gigabyte gb gib",
        "terabyte tb tib|petabyte pb pib|metre m meter meters|kilometre km kilometer kilometers",
        "kilogram kg|degree|percentage|euro \u20ac eur|dollar $ usd|pound \u00a3 gbp|thousand",
        "million mn|billion bn",
    )
    for unit, *others in map(str.split, line.split("|"))
    for form in (unit, f"{unit}s", *others)
}
_KINDS_OF_TIME: Final = {
    **dict.fromkeys(("business", "working", "work"), "business"),
    **dict.fromkeys(("calendar", "consecutive"), "calendar"),
}
_FREQUENCIES: Final = {
    **{f"{unit}ly": unit for unit in ("hour", "week", "month", "quarter", "year")},
    "daily": "day",
    "annual": "year",
    "annually": "year",
}
_EACH: Final = frozenset({"every", "each", "per", "a", "an"})
_MONTHS: Final = {"sept": 9} | {
    form: place
    for place, name in enumerate(
        word_list(
            "january february march april may june july august september october november december"
        ),
        start=1,
    )
    for form in (name, name[:3])
}
_UPPER: Final = re.compile(
    r"\b(?:at most|no (?:more|later|longer) than|not (?:more|later) than|maximum of|up to|within"
    r"|less than|fewer than|under|below)\s+\S{0,3}$"
)
_LOWER: Final = re.compile(
    r"\b(?:at least|no (?:less|fewer|earlier) than|not (?:less|fewer) than|minimum of"
    r"|(?<!no )(?<!not )more than|over|exceed(?:s|ing)?|above)\s+\S{0,3}$"
)
_AFTER: Final = re.compile(
    r"\W*(?:\w+\s+){0,2}?or (?:(?P<lower>more|higher|newer|later)|less|fewer|lower)\b"
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number in one form, its unit of measure or what it numbers, and which bound it is.

    ``is_bare``: neither a unit nor another noun follows. ``bound`` is ``"lower"``, ``"upper"`` or
    None.
    """

    number: str
    unit: str | None = None
    is_bare: bool = False
    bound: str | None = None


def quantities(text: str, words: Sequence[Token]) -> list[Quantity]:
    """Return the numbers of a text in their order; number words up to ninety count as numbers.

    Frequencies are quantities too (``daily`` and ``every day`` are the number ``each`` of unit
    ``day``), and a date is the number ``2025-03-05`` without a unit.
    """
    found: list[Quantity] = []
    place = 0
    while place < len(words):
        token = words[place]
        before = words[place - 1].word if place else ""
        date, n_used = _date(words, place)
        if before in _NUMBERED and (token.is_number or token.word in _ROMAN):
            found.append(Quantity(_ROMAN.get(token.word, token.word), before))
        elif date is not None:
            found.append(Quantity(date, is_bare=True))
            place += n_used - 1
        elif (number := _number(words, place)) is not None:
            unit, is_bare, last = _unit(text, words, place)
            # A sign of money stands before its number.
            if unit is None and before in {"$", "\u20ac", "\u00a3"}:
                unit, is_bare = _UNIT_OF[before], False
            shown = _canonical(number, is_measured=unit is not None)
            found.append(Quantity(shown, unit, is_bare, _bound(text, token, words[last])))
        elif (each := _frequency(words, place)) is not None:
            found.append(Quantity("each", each))
        place += 1
    return found


def matches(claimed: Quantity, stated: Sequence[Quantity]) -> bool:
    """Return whether one of the stated quantities says the same number of the same unit.

    A unit of measure must be the same, the kind of day included; where the text states the
    number without one ("high ones within 30"), it must state that unit of another number. Other
    nouns may differ, since things have many names, and a claim may leave the unit out. A lower
    bound never matches an upper one.
    """
    for other in stated:
        numbers = {claimed.number, other.number}
        # "An hour" is one hour, or each of them.
        is_same = len(numbers) == 1 or (numbers == {"1", "each"} and claimed.unit == other.unit)
        if is_same and {claimed.bound, other.bound} != {"lower", "upper"}:
            if claimed.unit == other.unit or claimed.is_bare:
                return True
            if claimed.unit is not None and other.is_bare:
                return any(each.unit == claimed.unit for each in stated)
    return False


def _number(words: Sequence[Token], place: int) -> str | None:
    word = words[place].word
    if word == "one" and place + 1 < len(words) and words[place + 1].word in _UNIT_OF:
        return "1"
    return word if words[place].is_number else _NUMBER_WORDS.get(word)


def _canonical(number: str, *, is_measured: bool) -> str:
    if ":" in number or "-" in number:
        return number
    # Groups of three digits after commas; any other comma is a decimal one.
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", number):
        number = number.replace(",", "")
    whole, _, part = number.replace(",", ".").partition(".")
    # 99.90 % is 99.9 %, but release 6.10 is not release 6.1.
    if part.isdecimal() and (is_measured or not part.strip("0")):
        part = part.rstrip("0")
    whole = whole.lstrip("0") or "0"
    return f"{whole}.{part}" if part else whole


def _unit(text: str, words: Sequence[Token], place: int) -> tuple[str | None, bool, int]:
    """Return the unit of measure behind a number, whether no noun is there, and the last token."""
    kind, last = None, place
    for at in range(place + 1, min(place + 3, len(words))):
        gap, word = text[words[at - 1].end : words[at].start], words[at].word
        if gap.strip(" \t\r\n-\u00a0\u202f"):
            break
        if kind is None and word in _KINDS_OF_TIME:
            kind, last = _KINDS_OF_TIME[word], at
            continue
        # A single letter is a unit only where it touches the number: "24h", not "vitamin 24 h".
        if word in _UNIT_OF and (len(word) > 1 or not gap or not word.isalpha()):
            return f"{kind} {_UNIT_OF[word]}" if kind else _UNIT_OF[word], False, at
        if word in STOP_WORDS or words[at].is_number:
            break
        return None, False, at
    return None, True, last


def _bound(text: str, first: Token, last: Token) -> str | None:
    before = text[max(0, first.start - 40) : first.start].lower()
    # "No less than" holds "less than".
    if _LOWER.search(before):
        return "lower"
    if _UPPER.search(before):
        return "upper"
    after = _AFTER.match(text[last.end :].lower())
    return after and ("lower" if after["lower"] else "upper")


def _frequency(words: Sequence[Token], place: int) -> str | None:
    word = words[place].word
    if word in _EACH and place + 1 < len(words):
        unit = _UNIT_OF.get(words[place + 1].word)
        return unit if unit in _FREQUENCIES.values() else None
    return _FREQUENCIES.get(word)


def _date(words: Sequence[Token], place: int) -> tuple[str | None, int]:
    """Return a date as ``year-month-day`` and the tokens it takes, or None."""
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", words[place].word):
        return words[place].word, 1
    near = [
        (n, token.word)
        for n, token in enumerate(words[place : place + 4], start=1)
        if token.word not in {"st", "nd", "rd", "th", "of"}
    ][:3]
    if len(near) == 3:
        (_, one), (_, two), (n_used, year) = near
        day, month = (two, one) if one in _MONTHS else (one, two)
        if month in _MONTHS and re.fullmatch(r"\d{4}", year) and re.fullmatch(r"\d{1,2}", day):
            return f"{year}-{_MONTHS[month]:02}-{int(day):02}", n_used
    return None, 0


# What a text denies, and whether a place contradicts a claim

_NEGATORS: Final = frozenset(
    word_list(
        "not no never none without cannot n't neither nor nobody nothing nowhere unable impossible"
    )
)
_NO_NEGATION: Final = frozenset(("only", "just", "least", "merely", "more", "less", "fewer"))
_BOUNDED: Final = frozenset(("later", "earlier", "longer"))
_BREAK: Final = re.compile(r"[,;:.!?()\u2013\u2014]")
_CONJUNCTIONS: Final = frozenset(
    word_list("and but while whereas although because so that which who whose where when if until")
)


def _form(word: str) -> str:
    return word if word in STOP_WORDS else stem(word)


_OPPOSITES: Final = tuple(
    (_form(one), _form(other))
    for pair in word_list(
        "before:after always:never inbound:outbound internal:external minimum:maximum"
        " enabled:disabled encrypted:unencrypted allowed:forbidden permitted:prohibited"
        " accept:refuse include:exclude required:optional mandatory:optional mandatory:voluntary"
        " increase:decrease succeed:fail success:failure manual:automatic manually:automatically"
        " public:private free:paid supported:unsupported protected:unprotected limited:unlimited"
        " first:last earlier:later highest:lowest oldest:newest"
    )
    for one, other in (pair.split(":"), pair.split(":")[::-1])
)


@dataclass(frozen=True, slots=True)
class Statement:
    """What is compared of a text: its ``numbers``, and what it denies.

    ``affirmed`` and ``negated`` are the stems in clauses without and with a negation; ``denied``
    those that a negation concerns most: the first word with content behind it. ``words`` serve for
    opposites.
    """

    numbers: tuple[Quantity, ...]
    affirmed: frozenset[str]
    negated: frozenset[str]
    denied: frozenset[str]
    words: frozenset[str]


@lru_cache(maxsize=4096)
def statement(text: str) -> Statement:
    """Return what is compared of a text."""
    words = tokens(text)
    clauses: list[list[Token]] = [[]]
    end = 0
    for token in words:
        if _BREAK.search(text[end : token.start]) or token.word in _CONJUNCTIONS:
            clauses.append([])
        clauses[-1].append(token)
        end = token.end
    found = [_negation([token.word for token in clause]) for clause in clauses]
    return Statement(
        tuple(quantities(text, words)),
        frozenset().union(*(stems for is_negated, stems, _ in found if not is_negated)),
        frozenset().union(*(stems for is_negated, stems, _ in found if is_negated)),
        frozenset().union(*(denied for _, _, denied in found)),
        frozenset(_form(token.word) for token in words),
    )


def _negation(clause: Sequence[str]) -> tuple[bool, set[str], set[str]]:
    """Return whether a clause is negated, its stems, and the first stem behind each negation.

    "No more than", "not later than", "not only" and their like deny nothing; "no longer" does,
    unless "than" follows.
    """
    stems, denied = set[str](), set[str]()
    is_negated = is_pending = False
    for word, following, after in zip(
        clause, [*clause[1:], ""], [*clause[2:], "", ""], strict=False
    ):
        if word in _NEGATORS:
            is_bound = following in _BOUNDED and after == "than"
            is_number = word == "no" and following[:1].isdecimal()
            if not (is_bound or is_number or following in _NO_NEGATION):
                is_negated = is_pending = True
        elif (word, following) in {("rather", "than"), ("instead", "of")}:
            is_negated = is_pending = True
        elif word not in STOP_WORDS:
            stems.add(stem(word))
            if is_pending and word != "longer":
                denied.add(stem(word))
                is_pending = False
    return is_negated, stems, denied


def contradiction(claim: str, block_text: str, span: Span | None) -> str | None:
    """Return which rule forbids that a place of a block supports a claim; None: no rule does.

    The place counts with the whole of its sentences and the title of the block. Numbers with their
    units are compared (`NUMBER_DIFFERS`), then negation and antonyms (`NEGATION_DIFFERS`). Without
    a place the numbers of the whole block count, and negation is not compared.

    Examples
    --------
    >>> block = "Copies are kept for 30 days. They are encrypted."
    >>> contradiction("Copies are kept for a month of 31 days", block, (16, 27))
    'number_differs'
    >>> contradiction("Copies stay for 30 days", block, (16, 27)) is None
    True
    """
    ours = statement(claim)
    theirs = statement(block_text if span is None else _place(block_text, span))
    if not all(matches(number, theirs.numbers) for number in ours.numbers):
        return NUMBER_DIFFERS
    if span is None:
        return None
    is_denied_here_only = not ours.denied <= theirs.negated
    is_denied_there_only = theirs.denied & (ours.affirmed - ours.negated - theirs.affirmed)
    has_opposite = any(
        one in ours.words and other in theirs.words
        for one, other in _OPPOSITES
        if other not in ours.words and one not in theirs.words
    )
    if is_denied_here_only or is_denied_there_only or has_opposite:
        return NEGATION_DIFFERS
    return None


def _place(block: str, span: Span) -> str:
    """Return the sentences of a place behind the title of its block."""
    title, gap, text = block.partition("\n\n")
    # A first paragraph that ends like a sentence, or that nothing follows, is the text itself.
    is_title = (
        text.strip() and "\n" not in title and not title.rstrip().endswith((".", "!", "\u2026"))
    )
    body, prefix = (len(title) + len(gap), f"{title}. ") if is_title else (0, "")
    near = [s for s in sentences(block) if s[0] >= body and s[0] < span[1] and span[0] < s[1]]
    if not near:
        return block[slice(*span)]
    return prefix + block[min(near[0][0], max(span[0], body)) : max(near[-1][1], span[1])]


# --------------------------------------------------------------------------------------------------
# What a judge's answer counts as, after the rules that stand beside every judge.


def verdict_of(judge: Judge, claim: str, block_text: str) -> Judgement:
    """Return the judgement of a judge on one claim and one block, unless a rule forbids it.

    A supporting judgement whose place in the block has other numbers, units or negation than the
    claim is vetoed: it does not count as support, and since the rules are wrong about some claims
    in other words, it does not count as refuted either. The claim is unproved.

    Raises
    ------
    JudgeError
        When the judge has no usable answer.
    """
    found = ask(judge, claim, block_text)
    if not found.supported:
        return found
    veto = contradiction(claim, block_text, found.span)
    if veto is None:
        return found
    return replace(found, supported=False, span=None, is_unproved=True, veto=veto)
