"""The tables of facts and sentence patterns that the search demo is composed from."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

FAMILIES: Final = (
    "workloads",
    "targets",
    "errors",
    "releases",
    "api",
    "policies",
    "providers",
    "plans",
    "incidents",
    "answers",
)
TABLES: Final = Path(__file__).parent / "text"
QUERY_TABLES: Final = ("queries_product", "queries_security")


@dataclass(frozen=True, slots=True)
class Section:
    """A kind of document: sentence patterns with alternatives, and the facts they state.

    ``answers`` are facts of the entity itself; the keys of ``also`` are patterns of full fact
    names, of other entities.
    """

    key: str
    title: str
    sentences: tuple[tuple[str, ...], ...]
    answers: Mapping[str, int]
    also: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Family:
    """Entities of one kind, and the sections that are written about each."""

    name: str
    corpus: str
    prefix: str
    title: str
    entities: tuple[Mapping[str, str], ...]
    sections: tuple[Section, ...]

    def entity(self, key: str) -> Mapping[str, str]:
        """Return the facts of one entity."""
        return next(entity for entity in self.entities if entity["key"] == key)


@cache
def families() -> tuple[Family, ...]:
    """Return all families in a fixed order."""
    return tuple(_family(_load(name)) for name in FAMILIES)


def query_tables() -> tuple[Mapping[str, Any], ...]:
    """Return the tables of questions, one for each corpus."""
    return tuple(_load(name) for name in QUERY_TABLES)


def _load(name: str) -> dict[str, Any]:
    return tomllib.loads((TABLES / f"{name}.toml").read_text(encoding="utf-8"))


def _family(table: Mapping[str, Any]) -> Family:
    columns: Sequence[str] = table.get("entity_rows", ())
    entities = table.get("entity", []) + [
        dict(zip(columns, row, strict=True)) for row in table.get("rows", [])
    ]
    return Family(
        table["family"],
        table["corpus"],
        table["prefix"],
        table["title"],
        tuple(_with_forms(entity) for entity in entities),
        tuple(
            Section(
                section["key"],
                section["title"],
                tuple(tuple(alternatives) for alternatives in section["sentences"]),
                section["answers"],
                section.get("also", {}),
            )
            for section in table["section"]
        ),
    )


def _with_forms(entity: Mapping[str, str]) -> Mapping[str, str]:
    lower = {
        f"{name}_lower": entity[name][:1].lower() + entity[name][1:]
        for name in ("name", "extra")
        if name in entity
    }
    return {**entity, **lower}
