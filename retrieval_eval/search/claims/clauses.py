"""Claims inside one sentence: clauses, verbs with one subject, and things in a list."""

from __future__ import annotations

from collections.abc import Sequence

from retrieval_eval.search.claims.grammar import (
    CONDITIONS,
    PREPOSITIONS,
    RELATIVES,
    Word,
    begins_clause,
    begins_predicate,
    first_verb,
    is_participle,
    words_of,
)
from retrieval_eval.search.claims.lists import Part, Span, split_list
from retrieval_eval.search.claims.vocabulary import word_list

_SET_OFF = frozenset(word_list("every each once twice daily")) | PREPOSITIONS


def split_sentence(text: str, start: int, end: int) -> list[Part]:
    """Return the claims of the sentence ``text[start:end]``, in order and without overlap.

    Split are, outside parentheses: two main clauses joined by "and", "but", "while" or "whereas";
    a relative clause or participle that a comma sets off at the end; verbs joined by "and" that
    share a subject; and things joined by "and" or listed with commas that share a verb. Not split
    are alternatives ("or"), "between ... and ...", sentences that begin with a condition, fixed
    pairs such as "terms and conditions", and whatever has no verb that the rules know.

    Examples
    --------
    >>> text = "It encrypts data and keeps 14 daily, 8 weekly and 6 monthly copies."
    >>> for head, (a, b) in split_sentence(text, 0, len(text)):
    ...     print([text[slice(*piece)] for piece in head], text[a:b])
    [] It encrypts data
    ['It'] keeps 14 daily
    ['It', 'keeps'] 8 weekly
    ['It', 'keeps'] 6 monthly copies.
    """
    words = words_of(text, start, end)
    if not words or words[0].lower in CONDITIONS:
        return [((), (start, end))]
    parts: list[Part] = []
    for clause in _main_clauses(words):
        for piece in _trailing(clause):
            for subject, predicate in _predicates(piece):
                parts.extend(split_list(predicate, subject))
    return parts


def _main_clauses(words: Sequence[Word]) -> list[list[Word]]:
    cuts = [
        place
        for place, word in enumerate(words)
        if place and not word.depth and word.lower in {"and", "but", "while", "whereas"}
        if first_verb(words[:place]) and begins_clause(words[place + 1 :])
        if not _is_subordinate(words[:place])
    ]
    return cut(words, cuts)


def _is_subordinate(left: Sequence[Word]) -> bool:
    """Whether the words since the last comma depend on something: "..., if A is and B is"."""
    since = max((i for i, word in enumerate(left) if word.text == ","), default=-1)
    inner = {word.lower for word in left[since + 1 :]}
    return bool(inner & (RELATIVES | {"between", "if", "that", "unless", "whether", "when"}))


def cut(words: Sequence[Word], cuts: Sequence[int]) -> list[list[Word]]:
    """Return the words between the cuts, without the marks at their ends."""
    parts = []
    for begin, end in zip([-1, *cuts], [*cuts, len(words)], strict=True):
        part = list(words[begin + 1 : end])
        while part and part[-1].text in {",", "\u2014", "\u2013"}:
            part.pop()
        if part:
            parts.append(part)
    return parts


def _trailing(words: list[Word]) -> list[list[Word]]:
    """Return a clause and what a comma sets off at its end, if that says something by itself."""
    commas = [place for place, word in enumerate(words) if word.text == "," and not word.depth]
    if not commas:
        return [words]
    # What stands between two commas may be followed by more of the main clause.
    left, right = words[: commas[-1]], words[commas[-1] + 1 :]
    if first_verb(left) is None or sum(word.has_content for word in right) < 2:
        return [words]
    is_relative = right[0].lower in RELATIVES
    is_set_off = is_participle(right[0].lower) and (
        right[1].lower in _SET_OFF or right[1].lower.endswith("ly")
    )
    return [left, right] if is_relative or is_set_off else [words]


def _predicates(words: list[Word]) -> list[tuple[tuple[Span, ...], list[Word]]]:
    """Return the verbs of a clause with what belongs to each, and the subject they share."""
    verb = first_verb(words)
    if verb is None or not verb[0]:
        return [((), words)]
    first, last = verb
    cuts = [
        place
        for place, word in enumerate(words)
        if place > last + 1 and not word.depth and word.lower == "and"
        if begins_predicate(words[place + 1 :]) and not _is_subordinate(words[last:place])
    ]
    subject = (words[0].start, words[first - 1].end)
    return [((subject,) if n else (), part) for n, part in enumerate(cut(words, cuts))]
