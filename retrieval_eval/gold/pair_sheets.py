"""Sheets for chosen (query, document) pairs, and why they are graded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from retrieval_eval.errors import BadInputError
from retrieval_eval.gold.corpus import Corpus
from retrieval_eval.gold.model import GoldSet
from retrieval_eval.gold.pool import Pool, build_pool
from retrieval_eval.values import counted

PURPOSE: Final = "purpose"
"""The member of a key that says why its pairs are graded."""

LABELLING: Final = "labelling"
"""The purpose of a key that states none: the sheets of a pool."""

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
            f"not in {corpus.path.name}: {counted(len(lacking), 'document')} to be graded, so there"
            f" is no text to show: {named}{f' and {more} more' if more > 0 else ''}"
        )
    deepest = max(map(len, docs.values()), default=1)
    pool = build_pool(gold, [docs], corpus, labellers, depth=deepest, seed=seed)
    return replace(pool, key={PURPOSE: purpose, **pool.key})
