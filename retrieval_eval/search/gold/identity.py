"""Identity of queries, gold sets and corpora: normalised queries, ids and fingerprints."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from retrieval_eval.errors import BadInputError
from retrieval_eval.model.gold import GoldQuery

_BLOCK = 1 << 20


def normalize_query(text: str) -> str:
    r"""Return a query in NFC, case-folded, with collapsed white space.

    Queries with the same form are the same query. Case folding can undo the composition, so NFC
    is taken before and after it; normalising twice changes nothing.

    Examples
    --------
    >>> normalize_query("  Betterment\n LEVY ")
    'betterment levy'
    >>> normalize_query("Cafe\u0301") == normalize_query("CAFÉ")
    True
    """
    folded = unicodedata.normalize("NFC", text).casefold()
    return " ".join(unicodedata.normalize("NFC", folded).split())


def query_id(corpus: str, query: str) -> str:
    """Return the id of a query without a stated one.

    It is ``g`` and the first 12 hexadecimal digits of the SHA-256 of the corpus, a zero byte and
    the normalised query.

    Examples
    --------
    >>> query_id("precedent_library", "Betterment levy") == query_id(
    ...     "precedent_library", "betterment  LEVY"
    ... )
    True
    """
    content = f"{corpus}\0{normalize_query(query)}".encode("utf-8", "surrogatepass")
    return f"g{hashlib.sha256(content).hexdigest()[:12]}"


def fingerprint(queries: Iterable[GoldQuery]) -> str:
    """Return the SHA-256 (hexadecimal) of everything that can move a metric or a slice.

    These are ids, queries, corpora, areas, origins, sources, grades and answerability. The order of
    rows and keys does not count, nor do notes, labels, anchors and unknown fields.
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
            query.is_answerable,
        ]
    )
