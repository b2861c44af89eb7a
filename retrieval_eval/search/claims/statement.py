"""All that the rule-based judge compares of a text, taken from it once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from retrieval_eval.search.claims.names import Identifier, identifiers, names
from retrieval_eval.search.claims.negation import NEGATORS, Clause, clauses
from retrieval_eval.search.claims.quantities import Quantity, is_of_quantity, quantities
from retrieval_eval.search.claims.words import STOP_WORDS, Token, stem, tokens


@dataclass(frozen=True, slots=True)
class Statement:
    """A text as the rule-based judge sees it.

    ``stems`` are those of its words with content; what belongs to ``numbers`` is not among them.
    """

    words: tuple[Token, ...]
    stems: frozenset[str]
    numbers: tuple[Quantity, ...]
    identifiers: frozenset[Identifier]
    names: frozenset[str]
    clauses: tuple[Clause, ...]


@lru_cache(maxsize=4096)
def statement(text: str) -> Statement:
    """Return what a text consists of."""
    words = tuple(tokens(text))
    stems = content_stems(words)
    return Statement(
        words,
        stems,
        tuple(quantities(text, words)),
        frozenset(identifiers(text, words)),
        frozenset(names(text, words)) & stems,
        tuple(clauses(text, words)),
    )


def content_stems(words: tuple[Token, ...] | list[Token]) -> frozenset[str]:
    """Return the stems of words that are no stop words, negations, numbers or units."""
    return frozenset(
        stem(token.word)
        for token in words
        if token.word not in STOP_WORDS | NEGATORS and not is_of_quantity(token.word)
    )
