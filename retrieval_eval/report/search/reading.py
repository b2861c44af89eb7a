"""Plain JSON of search documents to rows and records, field by field and leniently.

A value of the wrong type is missing, never an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any, Final, TypeVar

from retrieval_eval.report.columns import Column
from retrieval_eval.report.numbers import finite

Row = dict[str, Any]

T = TypeVar("T")


def lookup(document: Any, path: str) -> Any:
    """Return what a slash-separated path leads to, or None.

    Examples
    --------
    >>> lookup({"a": {"b": 1}}, "a/b"), lookup({"a": []}, "a/b")
    (1, None)
    """
    for key in path.split("/"):
        if not isinstance(document, Mapping):
            return None
        document = document.get(key)
    return document


def coerce(value: Any, type_: str) -> Any:
    """Return ``value`` when it is of the declared type, else None (an empty list for lists)."""
    match type_:
        case "number":
            return finite(value)
        case "integer":
            number = finite(len(value) if isinstance(value, list | dict) else value)
            return int(number) if number is not None and number.is_integer() else None
        case "boolean":
            return value if isinstance(value, bool) else None
        case "list":
            return [v for v in value if isinstance(v, str)] if isinstance(value, list) else []
        case _:
            return value if isinstance(value, str) else None


def records(value: Any) -> list[Mapping[str, Any]]:
    """Return the objects in a JSON list, or nothing when it is no list."""
    return [v for v in value if isinstance(v, Mapping)] if isinstance(value, list) else []


def members(value: Any) -> Mapping[str, Any]:
    """Return a JSON object, or an empty one."""
    return value if isinstance(value, Mapping) else {}


def read_row(document: Any, columns: Iterable[Column]) -> Row:
    """Return one row of a document, every column from its path."""
    return {c.name: coerce(lookup(document, c.path), c.type) for c in columns}


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
