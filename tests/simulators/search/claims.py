"""Statements about documents of the search demo, with a verdict made by hand."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from tests.simulators.dice import Dice
from tests.simulators.search.documents import compose
from tests.simulators.search.model import SEED, PlantedDocument
from tests.simulators.search.texts import TABLES, Family, families

N_ENTITIES: Final = 4
"""The entities of a family that labelled claims are made for."""


@dataclass(frozen=True, slots=True)
class PlantedClaim:
    """A statement, the document to compare it with, and whether the document states it.

    ``how`` is ``close`` (its own words, mostly), ``free`` (other words), ``wrong``, or ``other``:
    a close statement about another entity.
    """

    text: str
    doc: str
    supported: bool
    how: str


def labelled_claims(seed: int = SEED) -> tuple[PlantedClaim, ...]:
    """Return claims with verdicts, for documents of the demo of the same seed.

    Their number does not depend on the seed. Half of the entities are drawn anew by another one.
    """
    dice = Dice(seed, "search").scoped("claims")
    documents = compose(Dice(seed, "search").scoped("text")).documents
    found: list[PlantedClaim] = []
    for table in claim_tables():
        family = next(family for family in families() if family.name == table["family"])
        entities = dice.shuffled(family.entities, family.name)[:N_ENTITIES]
        for entity, other in zip(entities, entities[1:] + entities[:1], strict=True):
            document = _document(documents, family, entity, table["section"])
            found.extend(_about(table, document, entity, other))
    return tuple(found)


@cache
def claim_tables() -> tuple[Mapping[str, Any], ...]:
    """Return the table of statements, by family and section."""
    text = (TABLES / "claims.toml").read_text(encoding="utf-8")
    return tuple(tomllib.loads(text)["section"])


def stated(pattern: str, entity: Mapping[str, str]) -> str:
    """Return a statement about an entity, with a capital letter at its beginning."""
    text = pattern.format_map(entity)
    return text[:1].upper() + text[1:]


def _about(
    table: Mapping[str, Any],
    document: PlantedDocument,
    entity: Mapping[str, str],
    other: Mapping[str, str],
) -> Iterator[PlantedClaim]:
    for how in ("close", "free", "wrong"):
        for pattern in table[how]:
            yield PlantedClaim(stated(pattern, entity), document.id, how != "wrong", how)
    for pattern in table["close"]:
        text = stated(pattern, other)
        # Where two entities share a fact, the statement about one is true of the other.
        if text != stated(pattern, entity):
            yield PlantedClaim(text, document.id, False, "other")


def _document(
    documents: Sequence[PlantedDocument], family: Family, entity: Mapping[str, str], section: str
) -> PlantedDocument:
    return next(
        document
        for document in documents
        if (document.family, document.entity, document.section)
        == (family.name, entity["key"], section)
    )
