"""What a gold set is made of: queries, their judgements, and where these came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

SOURCES: Final = ("bootstrap", "chair")
"""``bootstrap`` rows are made again by machine; ``chair`` rows are a person's, and stay."""

ORIGINS: Final = ("replayed", "extracted", "adversarial")
"""How a query came about: replayed from the logs, extracted from documents, written to break."""


@dataclass(frozen=True, slots=True)
class Label:
    """One labeller's grade of one document for one query."""

    labeller: str
    doc: str
    grade: int


@dataclass(frozen=True, slots=True)
class Anchor:
    """The span of source text a judged document was cut from: characters ``start`` to ``end``."""

    source: str
    start: int
    end: int
    sha256: str


@dataclass(frozen=True, slots=True)
class GoldQuery:
    """One query with its judgements.

    ``relevant`` maps judged document ids to grades; grade 0 is judged and not relevant.
    ``answerable`` is False where no document answers the query (ungrounded), and None where
    nobody has said and nothing relevant is known. ``extra`` keeps fields that are not ours.
    ``line`` is the line in the file, 0 when the query was never read from one.
    """

    id: str
    query: str
    corpus: str
    area: str | None = None
    relevant: Mapping[str, int] = field(default_factory=dict)
    source: str = "bootstrap"
    origin: str | None = None
    answerable: bool | None = None
    note: str = ""
    labels: tuple[Label, ...] = ()
    anchors: Mapping[str, Anchor] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    line: int = 0

    @property
    def n_relevant(self) -> int:
        """The number of documents of grade 1 or more."""
        return sum(grade >= 1 for grade in self.relevant.values())


@dataclass(frozen=True, slots=True)
class GoldSet:
    """Queries in the order of the file, and a fingerprint of their meaning.

    ``fingerprint`` is the SHA-256 of everything that can move a metric (ids, queries, corpora,
    areas, origins, sources, grades, answerability), whatever the order of rows or keys.
    """

    queries: tuple[GoldQuery, ...]
    fingerprint: str
    path: Path | None = None

    @property
    def qrels(self) -> dict[str, dict[str, int]]:
        """Query id to judged documents and grades; every query has an entry."""
        return {query.id: dict(query.relevant) for query in self.queries}

    @property
    def is_provisional(self) -> bool:
        """Whether no row was reviewed by a person (all are ``bootstrap``)."""
        return all(query.source == "bootstrap" for query in self.queries)
