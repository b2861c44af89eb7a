"""Claims that share a verb: "We hold A, B and C" says three things."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from retrieval_eval.search.claims.grammar import (
    AUXILIARIES,
    DETERMINERS,
    PREPOSITIONS,
    Word,
    first_verb,
    is_participle,
)
from retrieval_eval.search.claims.vocabulary import word_list

Span = tuple[int, int]
Part = tuple[tuple[Span, ...], Span]
"""What a claim shares with the one before it, and its own characters."""

_FIXED_PAIRS: Final = frozenset(
    {
        *(("terms", "conditions"), ("research", "development"), ("health", "safety")),
        *(("more", "more"), ("again", "again"), ("pros", "cons"), ("trial", "error")),
        *(("policies", "procedures"), ("day", "night"), ("first", "foremost")),
    }
)
_UNSPLIT: Final = frozenset(word_list("between either neither nor if unless or"))
_MOST_WORDS: Final = 7


def split_list(words: Sequence[Word], subject: tuple[Span, ...] = ()) -> list[Part]:
    """Return the things that the verb of a predicate has in common, each as a part.

    The first item begins where a word of the same kind stands as at the beginning of the last
    one: a number, a name, an article, a preposition, or else behind the verb. Where an item is
    long, holds a verb, or the kinds do not fit together, the predicate stays whole.

    Parameters
    ----------
    words
        A clause, or a predicate when it has its ``subject`` elsewhere.
    """
    whole: list[Part] = [(subject, (words[0].start, words[-1].end))]
    lowers = [word.lower for word in words]
    ands = [place for place, word in enumerate(words) if lowers[place] == "and" and not word.depth]
    verb = _verb(words, has_subject=bool(subject))
    if verb is None or len(ands) != 1 or _UNSPLIT & set(lowers) or ands[0] == len(words) - 1:
        return whole
    place = ands[0]
    commas = [i for i in range(verb[1] + 1, place) if words[i].text == "," and not words[i].depth]
    begin = _first_item(words, verb, commas[0] if commas else place, words[place + 1])
    if begin is None:
        return whole
    edges = [begin - 1, *commas, place, len(words)]
    items = [list(words[a + 1 : b]) for a, b in pairwise(edges)]
    # "A, B, and C" has a comma and an "and" with nothing between them.
    items = [item for item in items if item]
    if not _are_items(items):
        return whole
    # The text up to the first item, in two pieces where the subject stands apart.
    head = (*subject, (words[0].start, words[begin - 1].end)) if begin else subject
    first = subject, (words[0].start, items[0][-1].end)
    return [first, *((head, (item[0].start, item[-1].end)) for item in items[1:])]


def _verb(words: Sequence[Word], *, has_subject: bool) -> tuple[int, int] | None:
    found = first_verb(words)
    # A predicate begins with its verb, which looks like a noun without its subject.
    return (0, 0) if has_subject and (found is None or found[0]) else found


def _first_item(words: Sequence[Word], verb: tuple[int, int], end: int, last: Word) -> int | None:
    kind = _kind(last)
    if kind == "participle":
        return verb[1] if verb[1] > verb[0] and _kind(words[verb[1]]) == kind else None
    places = range(verb[1] + 1, end)
    if kind == "word":
        return next((i for i in places if _kind(words[i]) not in {"article", "preposition"}), None)
    return next((i for i in places if _kind(words[i]) == kind and not words[i].depth), None)


def _kind(word: Word) -> str:
    lower = word.lower
    if lower[:1].isdecimal():
        return "number"
    if lower in DETERMINERS:
        return "article"
    if lower in PREPOSITIONS:
        return "preposition"
    if word.text != word.text.lower() or any(c.isdecimal() for c in lower):
        return "name"
    return "participle" if is_participle(lower) else "word"


def _are_items(items: Sequence[Sequence[Word]]) -> bool:
    if len(items) < 2:
        return False
    pair = items[0][-1].lower, items[-1][0].lower
    if len(items) == 2 and pair in _FIXED_PAIRS:
        return False
    kind = _kind(items[-1][0])
    for item in items[:-1]:
        if len(item) > _MOST_WORDS or any(word.lower in AUXILIARIES for word in item):
            return False
    if kind == "preposition" and any(_kind(item[0]) != kind for item in items):
        return False
    if kind != "preposition" and any(_kind(item[0]) == "preposition" for item in items):
        return False
    return all(any(word.has_content for word in item) for item in items)
