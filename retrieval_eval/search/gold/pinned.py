"""A pinned list of queries: ids, and a fingerprint of exactly what they ask and accept."""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.io.files import read_text
from retrieval_eval.model.gold import GoldSet
from retrieval_eval.model.search_run import PinnedQueries
from retrieval_eval.search.gold.identity import fingerprint

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
