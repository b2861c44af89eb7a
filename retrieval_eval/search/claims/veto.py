"""The rules beside every judge: a place of a document has the numbers and negation of a claim."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from retrieval_eval.search.claims.splitting import Span, sentences
from retrieval_eval.search.claims.words import STOP_WORDS, Token, stem, tokens, word_list

# Numbers of a text with their units, dates, frequencies and bounds, in a form to compare

_NUMBER_WORDS: Final = {
    word: str(value)
    for values, words in (
        (range(10), word_list("zero one two three four five six seven eight nine")),
        (range(10, 15), word_list("ten eleven twelve thirteen fourteen")),
        (range(15, 20), word_list("fifteen sixteen seventeen eighteen nineteen")),
        (
            range(20, 101, 10),
            word_list("twenty thirty forty fifty sixty seventy eighty ninety hundred"),
        ),
    )
    for value, word in zip(values, words, strict=True)
    # As often a pronoun as a number; see `_number`.
    if word != "one"
}
_ROMAN: Final = {"i": "1", "ii": "2", "iii": "3", "iv": "4", "v": "5", "vi": "6"}
_NUMBERED: Final = frozenset(
    word_list("annex category class grade level part phase section severity stage tier type")
)
"""What is numbered with a number behind it, which may be a Roman one: "Type II" is "type 2"."""

_UNITS: Final = {
    "percent": "% percent pct",
    "percentage point": "percentage",
    "second": "s sec secs second seconds",
    "millisecond": "ms millisecond milliseconds",
    "minute": "min mins minute minutes",
    "hour": "h hr hrs hour hours",
    "day": "d day days",
    "week": "week weeks",
    "month": "month months",
    "quarter": "quarter quarters",
    "year": "yr yrs year years",
    "byte": "byte bytes",
    "kilobyte": "kb kib kilobyte kilobytes",
    "megabyte": "mb mib megabyte megabytes",
    "gigabyte": "gb gib gigabyte gigabytes",
    "terabyte": "tb tib terabyte terabytes",
    "petabyte": "pb pib petabyte petabytes",
    "bit": "bit bits",
    "metre": "m metre metres meter meters",
    "kilometre": "km kilometre kilometres kilometer kilometers",
    "kilogram": "kg kilogram kilograms",
    "degree": "degree degrees",
    "euro": "\u20ac eur euro euros",
    "dollar": "$ usd dollar dollars",
    "pound": "\u00a3 gbp pound pounds",
    "thousand": "thousand",
    "million": "mn million millions",
    "billion": "bn billion billions",
}
_UNIT_OF: Final = {form: unit for unit, forms in _UNITS.items() for form in forms.split()}
_KINDS_OF_TIME: Final = {
    **dict.fromkeys(("business", "working", "work"), "business"),
    **dict.fromkeys(("calendar", "consecutive"), "calendar"),
}
_FREQUENCIES: Final = {
    "hourly": "hour",
    "daily": "day",
    "weekly": "week",
    "monthly": "month",
    "quarterly": "quarter",
    "annually": "year",
    "annual": "year",
    "yearly": "year",
}
_EACH: Final = frozenset({"every", "each", "per", "a", "an"})
_MONTHS: Final = {
    name: place
    for place, names in enumerate(
        (
            *("january jan", "february feb", "march", "april apr", "may", "june jun"),
            *("july jul", "august aug", "september sep sept", "october oct", "november nov"),
            "december dec",
        ),
        start=1,
    )
    for name in names.split()
}
_UPPER: Final = re.compile(
    r"\b(?:at most|no (?:more|later|longer) than|not (?:more|later) than|maximum of|up to|within"
    r"|less than|fewer than|under|below)\s+\S{0,3}$"
)
_LOWER: Final = re.compile(
    r"\b(?:at least|no (?:less|fewer|earlier) than|not (?:less|fewer) than|minimum of"
    r"|(?<!no )(?<!not )more than|over|exceed(?:s|ing)?|above)\s+\S{0,3}$"
)
_AFTER: Final = re.compile(r"\W*(?:\w+\s+){0,2}?or (more|higher|newer|later|less|fewer|lower)\b")
_MORE: Final = frozenset({"more", "higher", "newer", "later"})


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number as text in one form, its unit, and whether it bounds from below or above.

    ``unit`` is a unit of measure such as ``day`` or ``business day``, or what the number numbers,
    such as ``type``; ``noun`` the stem of another word that follows. ``bound`` is ``"lower"``,
    ``"upper"`` or None.
    """

    number: str
    unit: str | None
    noun: str | None
    bound: str | None


def quantities(text: str, words: Sequence[Token]) -> list[Quantity]:
    """Return the numbers of a text in their order; number words up to ninety count as numbers.

    Frequencies are quantities too (``daily`` and ``every day`` are the number ``each`` of unit
    ``day``), and a date is the number ``2025-03-05`` without a unit.
    """
    found: list[Quantity] = []
    skip = -1
    for place, token in enumerate(words):
        before = words[place - 1].word if place else ""
        if place <= skip:
            continue
        if before in _NUMBERED and (token.is_number or token.word in _ROMAN):
            found.append(Quantity(_ROMAN.get(token.word, token.word), before, None, None))
            continue
        date, n_used = _date(words, place)
        if date is not None:
            found.append(Quantity(date, None, None, None))
            skip = place + n_used - 1
        elif (number := _number(words, place)) is not None:
            unit, noun, used = _unit(text, words, place)
            # A sign of money stands before its number.
            if unit is None and before in {"$", "\u20ac", "\u00a3"}:
                unit, noun = _UNIT_OF[before], None
            shown = _canonical(number, is_measured=unit is not None)
            bound = _bound(text, token, words[min(used, len(words) - 1)])
            found.append(Quantity(shown, unit, noun, bound))
        elif (each := _frequency(words, place)) is not None:
            found.append(Quantity("each", each, None, None))
    return found


def matches(claimed: Quantity, stated: Sequence[Quantity]) -> bool:
    """Return whether one of the stated quantities says the same number of the same unit.

    A unit of measure must be the same, the kind of day included; where the text states the
    number without one ("high ones within 30"), it must state that unit of another number. Other
    nouns may differ, since things have many names, and a claim may leave the unit out. A lower
    bound never matches an upper one.
    """
    units = {other.unit for other in stated}
    for other in stated:
        numbers = {claimed.number, other.number}
        # "An hour" is one hour, or each of them.
        is_same = len(numbers) == 1 or (numbers == {"1", "each"} and claimed.unit == other.unit)
        if not is_same or {claimed.bound, other.bound} == {"lower", "upper"}:
            continue
        if claimed.unit == other.unit or (claimed.unit is None and claimed.noun is None):
            return True
        if claimed.unit is not None and other.unit is None and other.noun is None:
            return claimed.unit in units
    return False


def _number(words: Sequence[Token], place: int) -> str | None:
    word = words[place].word
    if word[0].isdecimal():
        return word
    following = words[place + 1].word if place + 1 < len(words) else ""
    if word == "one" and following in _UNIT_OF:
        return "1"
    return _NUMBER_WORDS.get(word)


def _canonical(number: str, *, is_measured: bool) -> str:
    if ":" in number or "-" in number:
        return number
    # Groups of three digits after commas; any other comma is a decimal one.
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", number):
        number = number.replace(",", "")
    number = number.replace(",", ".")
    whole, point, part = number.partition(".")
    # 99.90 % is 99.9 %, but release 6.10 is not release 6.1.
    if point and part.isdecimal() and (is_measured or not part.strip("0")):
        part = part.rstrip("0")
    whole = whole.lstrip("0") or "0"
    return f"{whole}.{part}" if part else whole


def _unit(text: str, words: Sequence[Token], place: int) -> tuple[str | None, str | None, int]:
    """Return the unit of measure, or else the noun, behind a number, and the last token used."""
    kind, last = None, place
    for at in range(place + 1, min(place + 3, len(words))):
        gap = text[words[at - 1].end : words[at].start]
        if gap.strip(" \t\r\n-\u00a0\u202f"):
            break
        word = words[at].word
        if kind is None and word in _KINDS_OF_TIME:
            kind, last = _KINDS_OF_TIME[word], at
            continue
        unit = _UNIT_OF.get(word)
        # A single letter is a unit only where it touches the number: "24h", not "vitamin 24 h".
        if unit is not None and (len(word) > 1 or not gap or not word.isalpha()):
            return (f"{kind} {unit}" if kind else unit), None, at
        if word in STOP_WORDS or word[0].isdecimal():
            break
        return None, stem(word), at
    return None, None, last


def _bound(text: str, first: Token, last: Token) -> str | None:
    before = text[max(0, first.start - 40) : first.start].lower()
    # "No less than" holds "less than".
    if _LOWER.search(before):
        return "lower"
    if _UPPER.search(before):
        return "upper"
    after = _AFTER.match(text[max(first.end, last.end) :].lower())
    if after is None:
        return None
    return "lower" if after[1] in _MORE else "upper"


def _frequency(words: Sequence[Token], place: int) -> str | None:
    word = words[place].word
    if word in _FREQUENCIES:
        return _FREQUENCIES[word]
    if word in _EACH and place + 1 < len(words):
        unit = _UNIT_OF.get(words[place + 1].word)
        return unit if unit in _FREQUENCIES.values() else None
    return None


def _date(words: Sequence[Token], place: int) -> tuple[str | None, int]:
    """Return a date as ``year-month-day`` and the tokens it takes, or None."""
    word = words[place].word
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", word):
        return word, 1
    near = [token.word for token in words[place : place + 4]]
    near = [part for part in near if part not in {"st", "nd", "rd", "th", "of"}][:3]
    if len(near) < 3 or not re.fullmatch(r"\d{4}", near[2]):
        return None, 0
    day, month = (near[1], near[0]) if near[0] in _MONTHS else (near[0], near[1])
    if month not in _MONTHS or not re.fullmatch(r"\d{1,2}", day):
        return None, 0
    n_used = next(i for i, t in enumerate(words[place:], 1) if t.word == near[2])
    return f"{near[2]}-{_MONTHS[month]:02}-{int(day):02}", n_used


# What a text denies, and whether a place contradicts a claim

NUMBER_DIFFERS: Final = "number_differs"
NEGATION_DIFFERS: Final = "negation_differs"

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
    affirmed, negated, denied = set[str](), set[str](), set[str]()
    for clause in _clauses(text, words):
        is_negated, stems, first_stems = _negation(clause)
        (negated if is_negated else affirmed).update(stems)
        denied |= first_stems
    return Statement(
        tuple(quantities(text, words)),
        frozenset(affirmed),
        frozenset(negated),
        frozenset(denied),
        frozenset(_form(token.word) for token in words),
    )


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
    if span is None:
        stated = statement(block_text).numbers
        return None if all(matches(number, stated) for number in ours.numbers) else NUMBER_DIFFERS
    body, prefix, parts = _parts(block_text)
    near = [part for part in parts if part[0] < span[1] and span[0] < part[1]]
    if not near:
        return _contradiction(ours, statement(block_text[slice(*span)]))
    start, end = min(near[0][0], max(span[0], body)), max(near[-1][1], span[1])
    return _contradiction(ours, statement(prefix + block_text[start:end]))


def _contradiction(ours: Statement, theirs: Statement) -> str | None:
    if not all(matches(number, theirs.numbers) for number in ours.numbers):
        return NUMBER_DIFFERS
    is_denied_here_only = not ours.denied <= theirs.negated
    is_denied_there_only = theirs.denied & (ours.affirmed - ours.negated - theirs.affirmed)
    if is_denied_here_only or is_denied_there_only or _has_opposite(ours.words, theirs.words):
        return NEGATION_DIFFERS
    return None


def _has_opposite(ours: frozenset[str], theirs: frozenset[str]) -> bool:
    """Return whether a text has only the opposite of a word of the claim."""
    return any(
        one in ours and other not in ours and other in theirs and one not in theirs
        for one, other in _OPPOSITES
    )


def _clauses(text: str, words: Sequence[Token]) -> list[list[Token]]:
    """Return the words between punctuation marks and conjunctions."""
    parts: list[list[Token]] = [[]]
    end = 0
    for token in words:
        if _BREAK.search(text[end : token.start]) or token.word in _CONJUNCTIONS:
            parts.append([])
        parts[-1].append(token)
        end = token.end
    return parts


def _negation(clause: Sequence[Token]) -> tuple[bool, set[str], set[str]]:
    """Return whether a clause is negated, its stems, and the first stem behind each negation.

    "No more than", "not later than", "not only" and their like deny nothing; "no longer" does,
    unless "than" follows.
    """
    stems, denied = set[str](), set[str]()
    is_negated = is_pending = False
    words = [token.word for token in clause] + ["", ""]
    for place, token in enumerate(clause):
        word, following, after = words[place : place + 3]
        if word in _NEGATORS:
            is_bound = following in _BOUNDED and after == "than"
            is_number = word == "no" and following[:1].isdecimal()
            if not (is_bound or is_number or following in _NO_NEGATION):
                is_negated = is_pending = True
        elif (word, following) in {("rather", "than"), ("instead", "of")}:
            is_negated = is_pending = True
        elif _has_content(token):
            stems.add(stem(word))
            if is_pending and word != "longer":
                denied.add(stem(word))
                is_pending = False
    return is_negated, stems, denied


def _has_content(token: Token) -> bool:
    return token.word not in STOP_WORDS and token.word not in _NEGATORS


def _parts(block: str) -> tuple[int, str, list[Span]]:
    """Return where the text of a block begins, its title as a sentence, and its sentences."""
    title, gap, text = block.partition("\n\n")
    # A first paragraph that ends like a sentence, or that nothing follows, is the text itself.
    is_title = (
        text.strip() and "\n" not in title and not title.rstrip().endswith((".", "!", "\u2026"))
    )
    body = len(title) + len(gap) if is_title else 0
    prefix = f"{title}. " if body else ""
    return body, prefix, [span for span in sentences(block) if span[0] >= body]
