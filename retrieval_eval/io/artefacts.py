"""The package's own documents on disk: written with a digest of their body, and checked by it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from itertools import islice
from math import isfinite
from pathlib import Path
from struct import Struct
from typing import Any, Final, Generic

import msgspec
from msgspec.structs import replace

from retrieval_eval.errors import SchemaError
from retrieval_eval.io.files import (
    Json,
    json_bytes,
    json_in,
    label,
    probe,
    read_bytes,
    write_bytes,
)
from retrieval_eval.io.spooled import Spooled
from retrieval_eval.model import DOCUMENTS, AnyRecord, Record, from_builtins, to_builtins
from retrieval_eval.schema import refuse_other_major

DIGEST: Final = "body_sha256"
"""The member with the SHA-256 over all others but the time stamp, as compact JSON."""

_MOMENT: Final = "generated_at"
_MOMENT_MEMBER: Final = f'"{_MOMENT}": "'.encode()
_BEFORE_DIGEST: Final = f', "{DIGEST}": "'.encode()
_TAIL: Final = _BEFORE_DIGEST + b"0" * 64 + b'"}'
"""The end of a document, with another digest."""
_NOT_IN_BODY: Final = frozenset({DIGEST, _MOMENT})

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
    """Return a document of this package with its digest, as its file holds it.

    Everything is encoded once: the digest is that of the very bytes that are written, without
    time stamp and layout.
    """
    whole, digest = BytesIO(), sha256()
    for piece, is_of_body in _pieces(document):
        whole.write(piece)
        if is_of_body:
            digest.update(piece)
        del piece  # the last one may be all of the document
    digest.update(b"}\n")
    gap = b", " if whole.tell() > 1 else b""
    whole.write(gap + canonical({DIGEST: digest.hexdigest()})[1:] + b"\n")
    # Not a copy: a large document is in memory once.
    data = whole.getvalue()
    return data if indent is None else msgspec.json.format(data, indent=indent) + b"\n"


def _pieces(document: Record | Mapping[str, Any]) -> Iterator[tuple[bytes | memoryview, bool]]:
    """Yield the text of a document up to its digest, each piece with whether that covers it.

    A list that lies in a file is encoded row by row.
    """
    rows: dict[str, Spooled[Record]] = {}
    if not isinstance(document, Record):
        plain = document
    else:
        values = {name: getattr(document, name) for name in document.__struct_fields__}
        rows = {name: value for name, value in values.items() if isinstance(value, Spooled)}
        if not rows and (direct := _direct(document)):
            yield from direct
            return
        plain = to_builtins(replace(document, **dict.fromkeys(rows, ())) if rows else document)
    yield b"{", True
    has_member = has_body = False
    for name, value in plain.items():
        if name == DIGEST:
            continue
        is_of_body = name != _MOMENT
        if has_member:
            yield b", ", is_of_body and has_body
        has_member, has_body = True, has_body or is_of_body
        if name not in rows:
            yield canonical({name: value})[1:-1], is_of_body
            continue
        yield canonical(name) + b": [", True
        for place, row in enumerate(rows[name]):
            yield (b", " if place else b"") + canonical(row), True
        yield b"]", True


def _direct(document: Record) -> list[tuple[bytes | memoryview, bool]] | None:
    """Return the pieces of a record that is written as it is and has its time stamp second.

    Such a record is encoded whole, without plain objects in between.
    """
    first, second = document.__struct_fields__[:2]
    is_as_it_is = type(document).in_document is Record.in_document
    if second != _MOMENT or not is_as_it_is or getattr(document, DIGEST) is not None:
        return None
    head, moment = (canonical({name: getattr(document, name)})[:-1] for name in (first, second))
    start = head + b", " + moment[1:]
    text = canonical(document)
    if not text.startswith(start):
        return None
    return [(head, True), (b", " + moment[1:], False), (memoryview(text)[len(start) : -1], True)]


_PACK: Final = msgspec.msgpack.Encoder()
_ENCODE: Final = msgspec.json.Encoder()
_UNUSUAL: Final = re.compile(
    rb"\xcb(?!\x00{8}|[\x3f\xbf][\x1b-\xff]|[\x40-\x42\xc0-\xc2]|[\x43\xc3][\x00-\x40])", re.DOTALL
)
"""A packed float that is not 0 nor between 1e-4 and 1e16, or other bytes that look like one."""
_NOT_FINITE: Final = re.compile(rb"\xcb[\x7f\xff][\xf0-\xff]")
_EXPONENT: Final = re.compile(rb"e[-+]?\d{1,3}(?![^,\]}])")
_FLOAT: Final = Struct(">xd")
_FEW: Final = 16
"""So many floats are looked up in a text one by one; where there are more, it is searched once."""


def canonical(value: Any) -> bytes:
    """Return what :func:`json_bytes` does, without the line end, faster and of records too.

    The fast encoder writes large and small floats in another way, and ``null`` for what is not
    finite; of a document that may hold such a number the smallest part is left to the standard
    library, which needs many times the memory.

    Examples
    --------
    >>> canonical({"a": [0.1, "ü"]}).decode(), canonical([1e-7, 1e16])
    ('{"a": [0.1, "ü"]}', b'[1e-07, 1e+16]')
    """
    try:
        packed, text = _PACK.encode(value), _ENCODE.encode(value)
        if _UNUSUAL.search(packed) is None or not _is_written_unlike(packed, text):
            return msgspec.json.format(text, indent=0)
        parts = _parts(value, text)
        del packed, text  # each as large as what is made
        if isinstance(parts, list):
            return b"[" + b", ".join(map(canonical, parts)) + b"]"
        if isinstance(parts, dict):
            members = (canonical(name) + b": " + canonical(v) for name, v in parts.items())
            return b"{" + b", ".join(members) + b"}"
    except (msgspec.MsgspecError, OverflowError, ValueError, TypeError, RecursionError):
        pass
    plain = msgspec.to_builtins(value, enc_hook=list) if isinstance(value, Record) else value
    return json_bytes(plain)[:-1]


def _parts(value: Any, text: bytes) -> list[Any] | dict[str, Any] | None:
    """Return the items of a tuple, or the members of a record that are in its text, by name."""
    if isinstance(value, tuple):
        return list(value)
    if not isinstance(value, Record) or value.__struct_config__.tag is not None:
        return None
    fields = dict(zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True))
    members = {
        name: getattr(value, fields[name])
        for name in msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    }
    return {
        name: v if isinstance(v, Record | tuple) else msgspec.to_builtins(v, enc_hook=list)
        for name, v in members.items()
    }


def _is_written_unlike(packed: bytes, text: bytes) -> bool:
    """Return whether the fast encoder may write a float of a value in another way.

    Most bytes that look like an unusual float are in the middle of another number or text: read as
    a float they have seventeen digits, which the text of the value does not hold.
    """
    found = [match.start() for match in islice(_UNUSUAL.finditer(packed), _FEW + 1)]
    if len(found) > _FEW:
        is_unlike = b"0.0000" in text or _EXPONENT.search(text) is not None
        return is_unlike or _NOT_FINITE.search(packed) is not None
    whole = [at for at in found if at + _FLOAT.size <= len(packed)]
    numbers = [number for at in whole for number in _FLOAT.unpack_from(packed, at)]
    return any(not isfinite(number) or _ENCODE.encode(number) in text for number in numbers)


def _is_as_written(data: bytes) -> bool:
    """Return whether a file has the digest in it; False may also be one that was laid out anew."""
    if data[-len(_TAIL) - 1 : -len(_TAIL) + len(_BEFORE_DIGEST) - 1] == _BEFORE_DIGEST:
        text = data[:-1]
    else:
        try:
            text = msgspec.json.format(data, indent=0)
        except (msgspec.DecodeError, RecursionError):
            return False
    # Views of it, not copies: the text of a search run may have hundreds of megabytes.
    view, end = memoryview(text), max(0, len(text) - len(_TAIL))
    body = [view[:end]]
    at = text.find(_MOMENT_MEMBER, 0, end)
    if at >= 0:
        after = text.find(b'", ', at + len(_MOMENT_MEMBER), end)
        body = [view[:at], view[after + 3 : end]] if after >= 0 else []
    digest = sha256()
    for piece in body:
        digest.update(piece)
    digest.update(b"}\n")
    return view[end:] == _BEFORE_DIGEST + digest.hexdigest().encode() + b'"}'


def record_as_written(data: bytes, struct: type[AnyRecord]) -> AnyRecord | None:
    """Return the record that a file holds as it was written, or None where it may be another."""
    if not _is_as_written(data):
        return None
    try:
        return msgspec.json.decode(data, type=struct)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None


def decoded(data: bytes, struct: type[AnyRecord], name: str) -> AnyRecord:
    """Return the record that :func:`encoded` bytes hold; raises ``SchemaError`` for others."""
    try:
        return msgspec.json.decode(data, type=struct)
    except (msgspec.DecodeError, ValueError) as error:
        raise SchemaError(f"{name}: {error}") from None


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
    data, problem = read_bytes(path, root)
    if problem is None and (record := record_as_written(data, struct)) is not None:
        return record
    name = label(path, root)
    return _converted(_artefact(name, str(path), data, problem), data, struct, name)


def record_in(data: bytes, struct: type[AnyRecord], name: str) -> AnyRecord:
    """Return the record in the bytes of a document that lies in no local file.

    Raises ``SchemaError`` as :func:`read_record` does.
    """
    if (record := record_as_written(data, struct)) is not None:
        return record
    return _converted(_artefact(name, name, data, None), data, struct, name)


_MAY_BE_ENDLESS: Final = re.compile(rb"NaN|Infinity|[eE]\+?[0-9]{3}|[0-9]{300}")


def _converted(found: Json, data: bytes, struct: type[AnyRecord], name: str) -> AnyRecord:
    if found.problem is not None:
        raise SchemaError(found.problem)
    record = from_builtins(found.value, struct, name)
    if _MAY_BE_ENDLESS.search(data):
        try:
            json.dumps(found.value, allow_nan=False)
        except ValueError:
            raise SchemaError(f"{name}: holds a number that is not finite") from None
    return record


def read_artefact(path: Path, root: Path) -> Json:
    """Return a document of this package; a damaged one is a problem that names the file.

    One of an earlier version has no digest and is accepted as it is. Raises ``SchemaError`` for
    one of another major version.
    """
    return _artefact(label(path, root), str(path), *read_bytes(path, root))


def _artefact(name: str, full_name: str, data: bytes, problem: str | None) -> Json:
    found = Json(None, problem) if problem is not None else json_in(data, name)
    if found.problem is not None:
        return found
    refuse_other_major(found.value, full_name)
    if not isinstance(found.value, dict):
        return Json(None, f"{name}: expected an object")
    if not _is_as_written(data) and is_whole(found.value) is False:
        return Json(None, f"{name}: {DAMAGED}")
    return found


@dataclass(frozen=True, slots=True)
class Kept(Generic[AnyRecord]):
    """A document that is on disk already, with the bytes of its file; or why it is made again.

    Without a record and a note there is none, or one that was made of other inputs.
    """

    record: AnyRecord | None = None
    data: bytes = b""
    note: str | None = None


def kept_record(
    path: Path, root: Path, fingerprint: str, struct: type[AnyRecord]
) -> Kept[AnyRecord]:
    """Return the document in ``path`` if it was made of these inputs and is whole.

    For a damaged one the note states that it is made again. Raises ``SchemaError`` for one of
    another major version, which is not overwritten.
    """
    if not probe(path.is_file):
        return Kept()
    data, problem = read_bytes(path, root)
    if problem is None and (record := record_as_written(data, struct)) is not None:
        is_same = getattr(record, "input_fingerprint", None) == fingerprint
        return Kept(record, data) if is_same else Kept()
    found = Json(None, problem) if problem is not None else json_in(data, label(path, root))
    if found.problem is not None:
        return Kept(note=f"{found.problem}; made again")
    kinds = (kind for kind, declared in DOCUMENTS.items() if declared.name == struct.__name__)
    refuse_other_major(found.value, str(path), next(kinds, None))
    if isinstance(found.value, dict):
        if found.value.get("input_fingerprint") != fingerprint:
            return Kept()
        # With this fingerprint the same code wrote it, and so a digest too.
        if is_whole(found.value):
            with suppress(SchemaError):
                return Kept(from_builtins(found.value, struct, label(path, root)), data)
    return Kept(note=f"{label(path, root)}: {DAMAGED}; made again")


def _digest(document: Mapping[str, Any]) -> str:
    body = {name: value for name, value in document.items() if name not in _NOT_IN_BODY}
    return sha256(json_bytes(body)).hexdigest()
