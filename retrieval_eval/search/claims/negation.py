"""What a text denies: negations with the words they concern, and pairs of opposites."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from retrieval_eval.search.claims.vocabulary import word_list
from retrieval_eval.search.claims.words import STOP_WORDS, Token, stem

NEGATORS: Final = frozenset(
    word_list(
        "not no never none without cannot n't neither nor nobody nothing nowhere unable impossible"
    )
)
_NO_NEGATION: Final = frozenset({"only", "just", "least", "merely", "more", "less", "fewer"})
_BOUNDED: Final = frozenset({"later", "earlier", "longer"})
_BREAK: Final = re.compile(r"[,;:.!?()\u2013\u2014]")
_CONJUNCTIONS: Final = frozenset(
    word_list("and but while whereas although because so that which who whose where when if until")
)
_WHOLE_CLAUSE: Final = frozenset(
    stem(word)
    for word in word_list("possible allowed permitted available true case required provided done")
)
"""What is denied of a whole clause: "A recovery to an older version is not possible"."""

_OPPOSITES: Final = (
    ("before", "after"),
    ("always", "never"),
    ("inbound", "outbound"),
    ("internal", "external"),
    ("minimum", "maximum"),
    ("enable", "disable"),
    ("enabled", "disabled"),
    ("encrypted", "unencrypted"),
    ("allow", "forbid"),
    ("allowed", "forbidden"),
    ("permitted", "prohibited"),
    ("accept", "refuse"),
    ("include", "exclude"),
    ("required", "optional"),
    ("mandatory", "optional"),
    ("mandatory", "voluntary"),
    ("increase", "decrease"),
    ("succeed", "fail"),
    ("success", "failure"),
    ("manual", "automatic"),
    ("manually", "automatically"),
    ("public", "private"),
    ("free", "paid"),
    ("supported", "unsupported"),
    ("protected", "unprotected"),
    ("limited", "unlimited"),
    ("first", "last"),
    ("earlier", "later"),
    ("highest", "lowest"),
    ("oldest", "newest"),
)


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a text between marks and conjunctions.

    ``stems`` are its words, stop words left out; ``denied`` those that a negation in it concerns
    most: the first word with content behind each.
    """

    stems: frozenset[str]
    denied: frozenset[str]
    is_negated: bool


def clauses(text: str, words: Sequence[Token]) -> list[Clause]:
    """Return the clauses of a text, with what is denied in each.

    "No more than", "not later than", "not only" and their like deny nothing; "no longer" does,
    unless "than" follows.
    """
    parts: list[list[int]] = [[]]
    for place, token in enumerate(words):
        gap = text[words[place - 1].end : token.start] if place else ""
        if _BREAK.search(gap) or token.word in _CONJUNCTIONS:
            parts.append([])
        parts[-1].append(place)
    return [_clause(words, part) for part in parts if part]


def _clause(words: Sequence[Token], part: Sequence[int]) -> Clause:
    stems, denied, is_negated = set(), set(), False
    pending = False
    for place in part:
        word = words[place].word
        if (word in NEGATORS and not _is_harmless(words, place)) or _is_instead(words, place):
            is_negated = pending = True
        elif word not in STOP_WORDS and word not in NEGATORS:
            found = stem(word)
            stems.add(found)
            if pending and found != "long":
                denied.add(found)
                pending = False
    return Clause(frozenset(stems), frozenset(denied), is_negated)


def _is_harmless(words: Sequence[Token], place: int) -> bool:
    following = [token.word for token in words[place + 1 : place + 3]] + ["", ""]
    if following[0] in _BOUNDED:
        return following[1] == "than"
    return following[0] in _NO_NEGATION or (
        words[place].word == "no" and following[0][:1].isdecimal()
    )


def _is_instead(words: Sequence[Token], place: int) -> bool:
    """Whether "rather than" or "instead of" stands here."""
    following = words[place + 1].word if place + 1 < len(words) else ""
    return (words[place].word, following) in {("rather", "than"), ("instead", "of")}


def denial_differs(claimed: Sequence[Clause], stated: Sequence[Clause]) -> bool:
    """Return whether a claim denies what a text does not deny, or states what the text denies."""
    if _denies_more(claimed, stated) or _denies_more(stated, claimed, only_shared=True):
        return True
    return not any(clause.is_negated for clause in claimed) and any(
        _denies_all(clause, claimed) for clause in stated
    )


def _denies_all(stated: Clause, claimed: Sequence[Clause]) -> bool:
    """Whether a clause calls impossible, or the like, what the claim is about."""
    if not stated.is_negated or not stated.denied <= _WHOLE_CLAUSE:
        return False
    ours = frozenset[str]().union(*(clause.stems for clause in claimed))
    return bool(ours) and len(ours & stated.stems) >= len(ours) / 2


def _denies_more(
    these: Sequence[Clause], others: Sequence[Clause], *, only_shared: bool = False
) -> bool:
    for clause in these:
        if not clause.is_negated:
            continue
        for key in clause.denied:
            holding = [other for other in others if key in other.stems]
            if not holding and only_shared:
                continue
            # Said twice, once denied and once not: which one is meant nobody can tell.
            said_here = [part for part in these if key in part.stems]
            if only_shared and not all(part.is_negated for part in said_here):
                continue
            if not any(other.is_negated for other in holding):
                return True
        if not clause.denied and not only_shared and not any(o.is_negated for o in others):
            return True
    return False


def has_opposite(claimed: Sequence[Token], stated: Sequence[Token]) -> bool:
    """Return whether a text holds only the opposite of a word of the claim.

    Examples
    --------
    >>> from retrieval_eval.search.claims.words import tokens
    >>> has_opposite(tokens("It is optional."), tokens("This is required."))
    True
    """
    ours = {_form(token.word) for token in claimed}
    theirs = {_form(token.word) for token in stated}
    return any(
        one in ours and other not in ours and other in theirs and one not in theirs
        for pair in _OPPOSITES
        for one, other in (tuple(map(_form, pair)), tuple(map(_form, pair[::-1])))
    )


def _form(word: str) -> str:
    # Stems would join "unlimited" with nothing but "enabled" with "enable", as they should.
    return word if word in STOP_WORDS else stem(word)
