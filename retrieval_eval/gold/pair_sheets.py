"""Sheets for chosen (query, document) pairs, and the key that says what they are for."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from retrieval_eval.errors import BadInputError
from retrieval_eval.gold.corpus import Corpus
from retrieval_eval.gold.model import GoldSet
from retrieval_eval.gold.pool import KEY_VERSION, Pool, build_pool
from retrieval_eval.io.files import read_json

PURPOSE: Final = "purpose"
"""The member of a key that says why its pairs are graded."""

LABELLING: Final = "labelling"
"""The purpose of a key that states none: the sheets of a pool."""

_ITEM: Final = ("labeller", "query", "doc", "shown")
_MOST_NAMED: Final = 5


def pair_sheets(
    gold: GoldSet,
    corpus: Corpus,
    docs: Mapping[str, Sequence[str]],
    labellers: Sequence[str],
    *,
    purpose: str,
    seed: int,
) -> Pool:
    """Return shuffled sheets of given pairs, one for each labeller, and the key to them.

    As for `build_pool`, nothing in a sheet tells of a grade that is known.

    Parameters
    ----------
    docs
        The documents to be graded by the id of their query; at least one.
    purpose
        Why, for whoever reads the sheets back.

    Raises
    ------
    BadInputError
        When a document has no text in the corpus, or a labeller cannot name a file.
    """
    known = {(document.corpus, document.id) for document in corpus.documents}
    corpus_of = {query.id: query.corpus for query in gold.queries}
    lacking = sorted(
        {doc for query, found in docs.items() for doc in found if (corpus_of[query], doc)
         not in known}
    )  # fmt: skip
    if lacking:
        named = ", ".join(repr(doc[:80]) for doc in lacking[:_MOST_NAMED])
        more = len(lacking) - _MOST_NAMED
        raise BadInputError(
            f"{len(lacking)} documents to be graded are not in {corpus.path.name}, so there is no"
            f" text to show: {named}{f' and {more} more' if more > 0 else ''}"
        )
    deepest = max(map(len, docs.values()), default=1)
    pool = build_pool(gold, [docs], corpus, labellers, depth=deepest, seed=seed)
    return replace(pool, key={PURPOSE: purpose, **pool.key})


def read_key(path: Path, marker: str = "pool_key") -> dict[str, Any]:
    """Return a key, whose ``items`` and ``max_grade`` are sound.

    Parameters
    ----------
    path
        The file.
    marker
        The member that says what kind of key it is; its value is the version.

    Raises
    ------
    BadInputError
        When the file cannot be read or is no such key.
    """
    real = Path(os.path.realpath(path))
    found = read_json(real, real.parent)
    if found.problem is not None:
        raise BadInputError(f"{path}: {found.problem.removeprefix(f'{real.name}: ')}")
    value = found.value
    if not isinstance(value, dict) or value.get(marker) != KEY_VERSION:
        raise BadInputError(f"{path}: not the key of these sheets; expected {marker} {KEY_VERSION}")
    items = value.get("items")
    if not isinstance(items, dict) or type(value.get("max_grade")) is not int:
        raise BadInputError(f"{path}: expected 'items' and 'max_grade'; was the key edited?")
    for item, entry in items.items():
        if not isinstance(entry, dict) or not all(isinstance(entry.get(n), str) for n in _ITEM):
            raise BadInputError(f"{path}: /items/{item[:80]}: expected {', '.join(_ITEM)} as text")
    return value
