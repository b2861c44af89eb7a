"""From whatever a retriever returned to a ranking. The value may be of any type."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from numbers import Integral
from typing import Any, Final
from uuid import UUID

from retrieval_eval.search.protocol import ScoredDoc
from retrieval_eval.search.results import PROBLEMS, RetrieverError

MAX_DOCUMENTS: Final = 100_000
"""Documents read of one answer; an endless generator must not hang a run."""

_EXPECTED: Final = (
    "expected a sequence of ScoredDoc, (document, score) pairs, mappings with doc (or id) and"
    " score, or document ids, best first"
)


@dataclass(frozen=True, slots=True)
class Ranked:
    """A ranking in its final order, whether a floor emptied it, and what was wrong with it."""

    ranking: tuple[ScoredDoc, ...]
    is_refused: bool
    problems: tuple[str, ...]


def read_documents(value: Any) -> list[ScoredDoc]:
    """Return the documents of a retriever's answer in its order, doubtful ones included.

    Ids may be text, whole numbers or UUIDs and become text; half of a surrogate pair in them
    becomes U+FFFD, as in every artefact. A score that is no number becomes NaN. Where no document
    has a score the order is the ranking and the scores are minus the rank: -1, -2, and so on.

    Raises
    ------
    RetrieverError
        When the value is no sequence or iterator, or an item is no document.

    Examples
    --------
    >>> read_documents([("a", 2.5), {"id": 7, "score": 1}])
    [ScoredDoc(doc='a', score=2.5), ScoredDoc(doc='7', score=1.0)]
    >>> read_documents(["b", "a"])
    [ScoredDoc(doc='b', score=-1.0), ScoredDoc(doc='a', score=-2.0)]
    """
    is_text = isinstance(value, str | bytes | bytearray | memoryview)
    if is_text or not isinstance(value, Sequence | Iterator):
        raise RetrieverError(f"the retriever returned {_kind(value)}; {_EXPECTED}")
    items = [_item(item, place) for place, item in enumerate(islice(value, MAX_DOCUMENTS), 1)]
    if all(score is None for _, score in items):
        return [ScoredDoc(doc, -float(rank)) for rank, (doc, _) in enumerate(items, 1)]
    return [ScoredDoc(doc, _number(score)) for doc, score in items]


def rank(
    docs: Sequence[ScoredDoc],
    *,
    depth: int,
    floor: float | None = None,
    known: Collection[str] | None = None,
) -> Ranked:
    """Return the first ``depth`` documents by score, without what cannot be ranked.

    Documents without a finite score are dropped (``nan_score``), of a repeated document the best
    is kept (``duplicate_documents``), documents outside ``known`` stay and are reported
    (``unknown_documents``). ``fewer_than_k`` counts what is left before the floor, against
    ``depth`` or the number of known documents where that is smaller.

    Raises
    ------
    RetrieverError
        When there is a floor and the scores only say the rank.
    """
    best: dict[str, float] = {}
    finite = [doc for doc in docs if math.isfinite(doc.score)]
    for doc in finite:
        best[doc.doc] = max(doc.score, best.get(doc.doc, -math.inf))
    if floor is not None and finite and says_rank_only(docs):
        raise RetrieverError("a floor needs scores, and the retriever gives only an order")
    ordered = sorted(best.items(), key=lambda item: (item[1], item[0]), reverse=True)
    top = tuple(ScoredDoc(doc, score) for doc, score in ordered[:depth])
    found = {
        "duplicate_documents": len(best) < len(finite),
        "nan_score": len(finite) < len(docs),
        "unknown_documents": known is not None and any(doc.doc not in known for doc in top),
        "fewer_than_k": len(top) < (depth if known is None else min(depth, len(known))),
        "unsorted": any(after.score > before.score for before, after in pairwise(finite)),
        "more_than_k": len(docs) > depth,
    }
    kept = top if floor is None else tuple(doc for doc in top if doc.score >= floor)
    problems = tuple(code for code in PROBLEMS if found[code])
    return Ranked(kept, bool(top) and not kept, problems)


def says_rank_only(docs: Sequence[ScoredDoc]) -> bool:
    """Return whether the scores are -1, -2, -3, …: an order that came without scores."""
    return all(doc.score == -place for place, doc in enumerate(docs, 1))


def clean_text(text: str) -> str:
    """Return ``text`` as an artefact can hold it: half of a surrogate pair becomes U+FFFD."""
    # Both ways end in a plain string, whatever subclass it was.
    try:
        return text.encode("utf-8").decode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _item(item: Any, place: int) -> tuple[str, Any]:
    """Return the id and the stated score (None when there is none) of one item."""
    doc, score = item, None
    if isinstance(item, ScoredDoc):
        doc, score = item.doc, item.score
    elif isinstance(item, Mapping):
        doc, score = item.get("doc", item.get("id")), item.get("score")
    elif isinstance(item, tuple | list):
        if len(item) != 2:
            raise RetrieverError(f"item {place} has {len(item)} parts; {_EXPECTED}")
        doc, score = item
    if isinstance(doc, str) and doc:
        return clean_text(doc), score
    if not isinstance(doc, bool) and isinstance(doc, UUID | Integral):
        return str(doc), score
    what = "an empty document id" if doc == "" else f"{_kind(doc)} for a document"
    raise RetrieverError(f"item {place} has {what}; {_EXPECTED}")


def _number(score: Any) -> float:
    # Text is no score even where it reads like one, and a truth value is none at all.
    if score is None or isinstance(score, str | bytes | bool):
        return math.nan
    try:
        return float(score)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _kind(value: Any) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__}"
