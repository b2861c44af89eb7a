"""Building blocks of all document structs: base class, field descriptions, number types.

A field that a document always holds, null included, has the default ``NULL`` (``EMPTY_LIST``,
``EMPTY_MAP``); one that is omitted where it is empty has ``None`` (``()``, ``ABSENT_MAP``). A field
without a default is in every document of every version.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct, field

Better = Literal["higher", "lower"]
"""Which direction of a number is an improvement."""


class Record(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A part of a document: immutable, made by keyword, equal by value."""

    @classmethod
    def complete_schema(cls, schema: dict[str, Any]) -> None:
        """Add to the generated JSON Schema what the types do not state; nothing by default."""

    @classmethod
    def upgraded(cls, document: Any) -> Any:
        """Return a document of an earlier major version as one of this; others as they are."""
        return document

    def in_document(self, plain: dict[str, Any]) -> dict[str, Any]:
        """Return the plain objects as written; a part may override this to omit some."""
        return plain


def computable_part(plain: dict[str, Any]) -> dict[str, Any]:
    """Return a block; without numbers, but with the reason, where it is not computable."""
    if plain.get("computable"):
        return plain
    return {name: value for name, value in plain.items() if value is not None and value != {}}


def about(
    meaning: str, *, unit: str | None = None, label: str | None = None, better: Better | None = None
) -> Meta:
    """Return the description of a field: meaning, unit, label and direction.

    Parameters
    ----------
    meaning
        The meaning of the value, in a sentence without a full stop.
    unit
        Its unit in print, such as ``files`` or ``seconds``; ``0–1`` for a share.
    label
        Its name in print, where the field's own name does not do.
    better
        Which direction is an improvement, for a measured quality.
    """
    facts = {"unit": unit, "label": label, "better": better}
    known = {name: value for name, value in facts.items() if value is not None}
    return Meta(
        description=meaning,
        extra=known,
        extra_json_schema={f"x-{name}": value for name, value in known.items()} or None,
    )


def _null() -> None:
    return None


def _empty_list() -> tuple[()]:
    return ()


def _empty_map() -> dict[str, Any]:
    return {}


NULL: Final[Any] = field(default_factory=_null)
EMPTY_LIST: Final[Any] = field(default_factory=_empty_list)
EMPTY_MAP: Final[Any] = field(default_factory=_empty_map)
ABSENT_MAP: Final[Any] = field(default_factory=dict)


def null_called(name: str) -> Any:
    """Return the default ``NULL`` of a field whose name in the document is a Python keyword."""
    return field(name=name, default_factory=_null)


Json = Mapping[str, Any]
"""An object with arbitrary members, such as the arguments of a tool call."""

Version = Annotated[str, Meta(pattern=r"^1\.\d+(\.\d+)?$")]
SecondVersion = Annotated[str, Meta(pattern=r"^2\.\d+(\.\d+)?$")]
"""Of documents that are no seed's and lost fields."""
Moment = Annotated[
    str,
    Meta(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})?$"),
]
Day = Annotated[str, Meta(pattern=r"^\d{4}-\d{2}-\d{2}$")]
Sha256 = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$")]
Count = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]
NonNegative = Annotated[float, Meta(ge=0)]
Share = Annotated[float, Meta(ge=0, le=1)]

SchemaVersion = Annotated[
    Version,
    about(
        "Semver-style version. Minor versions add optional fields; another major version is "
        "another contract"
    ),
]


def as_second(document: Any) -> Any:
    """Return a document of 1.x as one of 2.0, which reads all of it that it did not lose."""
    version = document.get("schema_version") if isinstance(document, dict) else None
    is_first = isinstance(version, str) and version.startswith("1.")
    return {**document, "schema_version": "2.0"} if is_first else document


SecondSchemaVersion = Annotated[
    SecondVersion,
    about("Semver-style version. Minor versions add optional fields; 1.x is read too"),
]
GeneratedAt = Annotated[Moment, about("When the document was written (ISO 8601, UTC)")]
InputFingerprint = Annotated[
    str | None, about("SHA-256 over the inputs and the code, that of other distributions included")
]
BodyDigest = Annotated[
    Sha256 | None,
    about(
        "SHA-256 over all other members but generated_at, as compact JSON; it shows whether the "
        "file is damaged"
    ),
]
