"""How a column of a data frame is declared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Type = Literal["text", "number", "integer", "boolean", "list"]


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name, where its value comes from, its type and unit, and what it means.

    A source is a slash-separated path inside the artefact. ``{k}`` in a name or path stands for
    every cut-off of the run. Sources that start with ``=`` are derived while reading.
    """

    name: str
    source: str
    type: Type
    unit: str
    meaning: str


def rows(type_: Type, unit: str, *declared: tuple[str, str, str]) -> tuple[Column, ...]:
    """Return columns of one type and unit from (name, source, meaning) triples."""
    return tuple(Column(name, source, type_, unit, meaning) for name, source, meaning in declared)
