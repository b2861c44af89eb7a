"""Fingerprints: whether two runs were measured against the same judgements."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from retrieval_eval.errors import BadInputError
from retrieval_eval.gold.model import GoldQuery

_BLOCK = 1 << 20


def fingerprint(queries: Iterable[GoldQuery]) -> str:
    """Return the SHA-256 (hexadecimal) of everything that can move a metric or a slice.

    These are ids, queries, corpora, areas, origins, sources, grades and answerability. The order
    of rows and keys does not count, nor do notes, labels, anchors and foreign fields.
    """
    return of_parts(_meaning(query).encode("ascii") for query in queries)


def of_parts(parts: Iterable[bytes]) -> str:
    """Return the SHA-256 (hexadecimal) of a collection of byte strings, whatever their order.

    Examples
    --------
    >>> of_parts([b"a", b"b"]) == of_parts([b"b", b"a"]) != of_parts([b"ab"])
    True
    """
    digests = sorted(hashlib.sha256(part).digest() for part in parts)
    return hashlib.sha256(b"".join(digests)).hexdigest()


def sha256_file(path: Path) -> str:
    """Return the SHA-256 (hexadecimal) of a file's bytes; raises `BadInputError` without one."""
    digest = hashlib.sha256()
    try:
        with path.open("rb") as stream:
            while block := stream.read(_BLOCK):
                digest.update(block)
    except OSError as error:
        raise BadInputError(f"{path}: cannot be read ({error.strerror or error})") from error
    return digest.hexdigest()


def _meaning(query: GoldQuery) -> str:
    return json.dumps(
        [
            query.id,
            query.query,
            query.corpus,
            query.area,
            query.origin,
            query.source,
            sorted(query.relevant.items()),
            True if query.answerable is None and query.n_relevant else query.answerable,
        ]
    )
