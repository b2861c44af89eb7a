"""The words of the search demo: documents that state facts, and questions that ask for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

SEED: Final = 20250106
"""The seed of the recorded demo."""

FULL: Final = 2
"""The grade of a document that states a fact in full."""

PART: Final = 1
"""The grade of a document that states some of it."""


@dataclass(frozen=True, slots=True)
class Span:
    """Where a document stands in its source text: characters ``start`` to ``end``."""

    source: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class PlantedDocument:
    """A block of text and the facts it states.

    ``facts`` maps ``family.entity.fact`` to the grade with which the document states it.
    ``family``, ``entity`` and ``section`` say which documents resemble it.
    """

    id: str
    corpus: str
    title: str
    text: str
    span: Span
    family: str
    entity: str
    section: str
    facts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class PlantedQuery:
    """A question with the grades that follow from the facts it asks for.

    ``grades`` holds the relevant documents and some that resemble them (grade 0).
    ``difficulty`` says what makes it hard: plain, paraphrase, synonym, identifier, multi_clause
    or unanswerable.
    """

    id: str
    query: str
    corpus: str
    area: str
    origin: str
    difficulty: str
    answerable: bool
    grades: Mapping[str, int]
