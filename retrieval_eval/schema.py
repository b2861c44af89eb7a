"""The JSON Schemas of all artefacts: loading them, checking documents and versions.

A document's ``schema_version`` is checked first: any ``1.x`` is read, and ``2.x`` of the kinds that
have it; another major version is rejected, naming the file. Faults are reported as JSON pointers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final

import msgspec

from retrieval_eval.errors import SchemaError
from retrieval_eval.model import DOCUMENTS, INPUTS, json_schema

SCHEMA_VERSION: Final = "1.2"
"""The version of every artefact this package writes but those of `SECOND`."""

SECOND: Final = {"run_impact_analysis": "2.0", "search_guard": "2.0", "search_run": "2.0"}
"""Kinds of documents of another major version; what they were in 1.x is still read."""

SUPPORTED_MAJOR: Final = 1

SCHEMAS: Final[dict[str, str]] = {
    kind: document.schema_file for kind, document in {**DOCUMENTS, **INPUTS}.items()
}
"""Artefact kind to schema file."""

_VERSION = re.compile(r"^(\d+)\.(\d+)(?:\.\d+)?$")
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}T")
_MAJOR = re.compile(r"\s*[vV]?(\d{1,9})(?!\d)")


@dataclass(frozen=True, slots=True)
class Fault:
    """One way in which a document breaks its schema: where (JSON pointer) and what."""

    pointer: str
    message: str

    def __str__(self) -> str:
        return f"{self.pointer or '/'}: {self.message}"


@cache
def load_schema(kind: str) -> dict[str, Any]:
    """Return the JSON Schema of an artefact kind (a key of :data:`SCHEMAS`)."""
    return json_schema(kind)


def check_version(document: Any, name: str) -> None:
    """Raise :class:`SchemaError` unless ``document`` has a supported ``schema_version``.

    A ``generated_at`` of the form of a moment must be one of the calendar, such as no 30 February:
    documents are ordered by it.

    Parameters
    ----------
    document
        A decoded artefact of any kind.
    name
        What to call it in the message.
    """
    refuse_other_major(document, name)
    version = document.get("schema_version") if isinstance(document, dict) else None
    if not isinstance(version, str) or _VERSION.match(version) is None:
        raise SchemaError(f"{name}: /schema_version: expected a version such as '{SCHEMA_VERSION}'")
    moment = document.get("generated_at")
    if isinstance(moment, str) and _MOMENT.match(moment) is not None:
        try:
            datetime.fromisoformat(moment).astimezone(UTC)
        except (ValueError, OverflowError) as error:
            raise SchemaError(f"{name}: /generated_at: {moment!r} is no moment ({error})") from None


def refuse_other_major(document: Any, name: str, kind: str | None = None) -> None:
    """Raise :class:`SchemaError` when ``document`` states another major version.

    For readers of partial documents: one without a version passes. ``kind`` is that of the
    document; by default judged by its fields.
    """
    version = document.get("schema_version") if isinstance(document, dict) else None
    found = _MAJOR.match(str(version)) if isinstance(version, str | int | float) else None
    if found is None or int(found[1]) == SUPPORTED_MAJOR:
        return
    if int(found[1]) != SUPPORTED_MAJOR + 1 or (kind or kind_of(document)) not in SECOND:
        raise SchemaError(
            f"{name}: schema version {str(version)[:20]} has another major version than the "
            f"{SUPPORTED_MAJOR}.x this package reads; use a release of this project for "
            f"{int(found[1])}.x"
        )


def now() -> str:
    """Return the present as an artefact records it: ISO 8601, UTC, whole seconds."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def kind_of(document: Any) -> str | None:
    """Return the artefact kind of a document by its fields, or None when it is of no kind."""
    if not isinstance(document, dict):
        return None
    if "queries" in document and "run" in document:
        return "search_run"
    for key, kind in (
        ("top1_changed", "search_diff"),
        ("suggested_thresholds", "search_noise"),
        ("exit_code", "search_guard"),
        ("events", "retrieval_events"),
        ("file_level_metrics", "retrieval_metrics"),
        ("comparisons", "run_impact_analysis"),
        ("configs", "run_retrieval_summary"),
        ("notebook", "report"),
    ):
        if key in document:
            return kind
    return None


def faults(document: Any, kind: str) -> list[Fault]:
    """Return every fault of ``document`` against the schema of ``kind``, ordered by pointer."""
    return sorted(_faults(document, kind), key=lambda f: (f.pointer, f.message))


def version_of(kind: str) -> str:
    """Return the version that documents of a kind are written in."""
    return SECOND.get(kind, SCHEMA_VERSION)


def is_typed(document: Any, kind: str) -> bool:
    """Return whether a document of a kind of `DOCUMENTS` has the types of its struct.

    The schema is generated from the same types, so such a document is valid; that is seen in a
    hundredth of the time. One that is not may still be valid: 3.0 is a count in JSON.
    """
    struct = DOCUMENTS[kind].struct
    try:
        msgspec.convert(struct.upgraded(document), struct)
    except (msgspec.ValidationError, UnicodeEncodeError, RecursionError):
        return False
    return True


def _faults(document: Any, kind: str) -> list[Fault]:
    if kind in DOCUMENTS and is_typed(document, kind):
        return []
    from jsonschema import Draft202012Validator

    if kind in SECOND:
        document = DOCUMENTS[kind].struct.upgraded(document)
    try:
        return [
            Fault("".join(f"/{_escape(p)}" for p in e.absolute_path), _shorten(e.message))
            for e in Draft202012Validator(load_schema(kind)).iter_errors(document)
        ]
    except RecursionError:
        return [Fault("", "nested too deeply")]


def _escape(part: object) -> str:
    return str(part).replace("~", "~0").replace("/", "~1")


def _shorten(message: str, limit: int = 300) -> str:
    return message if len(message) <= limit else f"{message[:limit]}…"
