"""The rules beside every judge: a place of a document has the numbers and negation of a claim."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from retrieval_eval.search.claims.quantities import Quantity, matches, quantities
from retrieval_eval.search.claims.splitting import Span, sentences
from retrieval_eval.search.claims.words import STOP_WORDS, Token, stem, tokens, word_list

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

    ``affirmed``
    and ``negated`` are the stems in clauses without and with a negation; ``denied`` those that a
    negation concerns most: the first word with content behind it. ``words`` serve for opposites.
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
