"""The package's own documents on disk: written with a digest of their body, and checked by it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from retrieval_eval.errors import SchemaError
from retrieval_eval.io.files import Json, decode, json_bytes, label, probe, read_json, write_bytes
from retrieval_eval.model import AnyRecord, Record, from_builtins, to_builtins
from retrieval_eval.schema import refuse_other_major

DIGEST: Final = "body_sha256"
"""The member with the SHA-256 over all others but the time stamp, as compact JSON."""

_NOT_IN_BODY: Final = frozenset({DIGEST, "generated_at"})

DAMAGED: Final = "damaged, or edited after it was written"


def sealed(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document with the digest of its body.

    Examples
    --------
    >>> is_whole({**sealed({"n": 3}), "generated_at": "later"})
    True
    >>> is_whole({**sealed({"n": 3}), "n": 4})
    False
    """
    return {**document, DIGEST: _digest(document)}


def is_whole(document: Mapping[str, Any]) -> bool | None:
    """Return whether the body is the one that was written; None without a digest.

    Layout and line ends of the file do not matter.
    """
    if DIGEST not in document:
        return None
    try:
        return bool(document[DIGEST] == _digest(document))
    except (ValueError, RecursionError):  # no body that was ever written
        return False


def encoded(document: Record | Mapping[str, Any], *, indent: int | None = None) -> bytes:
    """Return a document of this package with its digest, as its file holds it."""
    plain = to_builtins(document) if isinstance(document, Record) else document
    return json_bytes(sealed(plain), indent=indent)


def decoded(data: bytes, struct: type[AnyRecord], name: str) -> AnyRecord:
    """Return the record that :func:`encoded` bytes hold; raises ``SchemaError`` for others."""
    return from_builtins(decode(data.decode())[0], struct, name)


def write_artefact(
    path: Path, document: Record | Mapping[str, Any], *, indent: int | None = None
) -> None:
    """Write a document of this package with its digest, whole or not at all."""
    write_bytes(path, encoded(document, indent=indent))


def read_record(path: Path, root: Path, struct: type[AnyRecord]) -> AnyRecord:
    """Return a document of this package as the record it is.

    Parameters
    ----------
    path
        The document's file.
    root
        The folder that messages name the file by.
    struct
        What it shall be, such as `retrieval_eval.model.metrics.TrialMetrics`.

    Raises
    ------
    SchemaError
        When the file cannot be read, is damaged, is of another major version or no such document.
    """
    found = read_artefact(path, root)
    if found.problem is not None:
        raise SchemaError(found.problem)
    return from_builtins(found.value, struct, label(path, root))


def read_artefact(path: Path, root: Path) -> Json:
    """Return a document of this package; a damaged one is a problem that names the file.

    One of an earlier version has no digest and is accepted as it is. Raises ``SchemaError`` for
    one of another major version.
    """
    found = read_json(path, root)
    if found.problem is not None:
        return found
    refuse_other_major(found.value, str(path))
    if not isinstance(found.value, dict):
        return Json(None, f"{label(path, root)}: expected an object")
    if is_whole(found.value) is False:
        return Json(None, f"{label(path, root)}: {DAMAGED}")
    return found


def kept_record(
    path: Path, root: Path, fingerprint: str, struct: type[AnyRecord]
) -> tuple[AnyRecord | None, str | None]:
    """Return the document in ``path`` if it was made of these inputs and is whole, and a note.

    Otherwise None; for a damaged one the note states that it is made again. Raises
    ``SchemaError`` for one of another major version, which is not overwritten.
    """
    if not probe(path.is_file):
        return None, None
    found = read_json(path, root)
    if found.problem is not None:
        return None, f"{found.problem}; made again"
    refuse_other_major(found.value, str(path))
    if isinstance(found.value, dict):
        if found.value.get("input_fingerprint") != fingerprint:
            return None, None
        # With this fingerprint the same code wrote it, and so a digest too.
        if is_whole(found.value):
            with suppress(SchemaError):
                return from_builtins(found.value, struct, label(path, root)), None
    return None, f"{label(path, root)}: {DAMAGED}; made again"


def _digest(document: Mapping[str, Any]) -> str:
    body = {name: value for name, value in document.items() if name not in _NOT_IN_BODY}
    return sha256(json_bytes(body)).hexdigest()
