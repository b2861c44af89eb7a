"""Flat JSON objects to frozen records, field by field and leniently."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, Final, TypeVar

from retrieval_eval.report.frames import coerce
from retrieval_eval.report.numbers import finite

T = TypeVar("T")

_READERS: Final[dict[str, Callable[[Any], Any]]] = {
    "str": lambda value: coerce(value, "text") or "",
    "str | None": lambda value: coerce(value, "text"),
    "int": lambda value: coerce(value, "integer") or 0,
    "int | None": lambda value: coerce(value, "integer"),
    "float | None": finite,
    "bool": lambda value: value is True,
}


def read_as(kind: type[T], document: Mapping[str, Any], **given: Any) -> T:
    """Return a record of the dataclass ``kind`` from the members of the same names.

    What is missing or of a wrong type reads as unknown: None, or for fields that cannot be None
    the empty text, 0 and False. Fields in ``given`` are taken from there; every other field is
    annotated with one of the plain types above.
    """
    values = {
        field.name: given[field.name]
        if field.name in given
        else _READERS[str(field.type)](document.get(field.name))
        for field in fields(kind)  # type: ignore[arg-type]
    }
    return kind(**values)


def counts(value: Any) -> dict[str, int]:
    """Return the members of a JSON object that are counts."""
    if not isinstance(value, Mapping):
        return {}
    found = {str(key): coerce(n, "integer") for key, n in value.items()}
    return {key: n for key, n in found.items() if n}
