"""Identity of queries, gold sets and corpora, and pinned lists of queries."""

from __future__ import annotations

import hashlib
import json
import random
import re
import unicodedata
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.io.files import read_text
from retrieval_eval.model.gold import GoldQuery, GoldSet
from retrieval_eval.model.search_run import PinnedQueries

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


# --------------------------------------------------------------------------------------------------
# A pinned list of queries: ids, and a fingerprint of exactly what they ask and accept.

_HEAD: Final = "# gold-fingerprint: "
_FINGERPRINT: Final = re.compile(r"# gold-fingerprint: ([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class Pinned:
    """Ids of queries, and the gold fingerprint of exactly these queries when they were pinned."""

    ids: tuple[str, ...]
    fingerprint: str
    path: Path


def read_pinned(path: Path) -> Pinned:
    """Return a pinned list: a line ``# gold-fingerprint: <hex>``, then one id a line.

    Blank lines and other lines that begin with ``#`` are left out.

    Raises
    ------
    BadInputError
        When the file cannot be read, names no query, names one twice, or lacks the fingerprint.
    """
    if not path.is_file():
        raise BadInputError(f"{path}: no such file; `search guard --init --pin N` writes one")
    text = read_text(path, path.parent)
    if text.value is None:
        raise BadInputError(str(text.problem))
    found, ids, faults = "", dict[str, int](), []
    for number, line in enumerate(text.value.splitlines(), 1):
        line = line.strip()
        if head := _FINGERPRINT.fullmatch(line):
            found = head[1]
        elif line and not line.startswith("#"):
            if line in ids:
                faults.append(f"line {number}: {line!r} is pinned on line {ids[line]} already")
            ids.setdefault(line, number)
    if not found:
        faults.append(
            f"lacks the line '{_HEAD}<64 hexadecimal digits>', which shows whether a label has "
            "changed; `search guard --init --pin N` writes it"
        )
    if not ids:
        faults.append("names no query")
    if faults:
        raise BadInputError("\n".join(f"{path}: {fault}" for fault in faults))
    return Pinned(tuple(ids), found, path)


def pinned_facts(pinned: Pinned) -> PinnedQueries:
    """Return what a search run says of the pinned list that it asked."""
    return PinnedQueries(
        name=pinned.path.name, n_queries=len(pinned.ids), fingerprint=pinned.fingerprint
    )


def pinned_text(gold: GoldSet, ids: Iterable[str]) -> str:
    """Return the text of a pinned list of these queries, sorted by id.

    Raises
    ------
    BadInputError
        When the gold set lacks one of them, or an id cannot stand on a line of its own.
    """
    known = {query.id: query for query in gold.queries}
    chosen = sorted(set(ids))
    for name in chosen:
        if name not in known:
            raise BadInputError(f"the gold set has no query {name!r}")
        if name.startswith("#") or name.strip() != name or len(name.splitlines()) != 1:
            raise BadInputError(f"the id {name!r} cannot stand on a line; it cannot be pinned")
    if not chosen:
        raise NothingToEvaluateError("no query is left to pin")
    digest = fingerprint(known[name] for name in chosen)
    return "".join(f"{line}\n" for line in (f"{_HEAD}{digest}", *chosen))


def sample(gold: GoldSet, n: int, *, seed: int) -> list[str]:
    """Return ``n`` query ids drawn at random, the same for the same set and seed.

    Raises
    ------
    BadInputError
        When the gold set has fewer queries.
    """
    ids = sorted(query.id for query in gold.queries)
    if n > len(ids):
        raise BadInputError(f"the gold set has {len(ids)} queries, and {n} were requested")
    return sorted(random.Random(seed).sample(ids, n))  # noqa: S311 - a sample, no secret


def pinning_faults(pinned: Pinned, gold: GoldSet | None, asked: Collection[str]) -> list[str]:
    """Return why a pinned list says nothing about a run that asked these queries.

    Parameters
    ----------
    gold
        The gold set that the run measured; None when it was not given.
    asked
        Ids of the queries of the run.
    """
    name = pinned.path.name
    missing = [query for query in pinned.ids if query not in asked]
    found = []
    if missing:
        found.append(
            f"{len(missing)} of the {len(pinned.ids)} queries pinned in {name} are not in the run, "
            f"the first is {missing[0]!r}"
        )
    if gold is None:
        found.append(f"without the gold set it is not known whether {name} still holds")
        return found
    ids = set(pinned.ids)
    chosen = [query for query in gold.queries if query.id in ids]
    if fingerprint(chosen) != pinned.fingerprint:
        found.append(
            f"the queries pinned in {name} are no longer what they were when they were pinned: "
            "a query or a label changed in the gold set"
        )
    return found
