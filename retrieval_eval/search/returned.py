"""From whatever a retriever returned to a ranking. The value may be of any type."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from numbers import Integral
from typing import Any, Final
from uuid import UUID

from retrieval_eval.search.protocol import ScoredDoc
from retrieval_eval.search.results import PROBLEMS, RetrieverError
from retrieval_eval.values import as_number

MAX_DOCUMENTS: Final = 100_000
"""Documents of one answer; an endless generator must not hang a run, and what comes after these
could score higher, so that a longer answer is none."""
MAX_ID: Final = 4096
"""Characters of a document id; a run keeps every one of them."""

_EXPECTED: Final = (
    "expected a sequence of ScoredDoc, (document, score) pairs, mappings with doc (or id) and"
    " score, or document ids, best first"
)


@dataclass(frozen=True, slots=True)
class Ranked:
    """A ranking in its final order, whether a floor emptied it, and what is odd about it."""

    ranking: tuple[ScoredDoc, ...]
    is_refused: bool
    problems: tuple[str, ...]


def read_documents(value: Any, known: Collection[str] | None = None) -> list[ScoredDoc]:
    """Return the documents of a retriever's answer in its order: the one gate before scoring.

    Ids may be text, whole numbers or UUIDs and become text; half of a surrogate pair in them
    becomes U+FFFD, as in every artefact. A score is a finite number of any type (of numpy, a
    decimal), and neither text nor a truth value. Where no document has a score the order is the
    ranking and the scores are minus the rank: -1, -2, and so on. An empty answer is an answer.

    Parameters
    ----------
    value
        What the retriever returned.
    known
        The ids of all documents there are; None when that is not known, and ids not checked.

    Raises
    ------
    RetrieverError
        When the answer cannot be trusted: the value is no sequence or iterator, it has more than
        :data:`MAX_DOCUMENTS` items, an item is no document, an id is longer than :data:`MAX_ID`, a
        score is no finite number, only some of the documents have one, a document comes twice, or
        is none of the known ones.

    Examples
    --------
    >>> read_documents([("a", 2.5), {"id": 7, "score": 1}])
    [ScoredDoc(doc='a', score=2.5), ScoredDoc(doc='7', score=1.0)]
    >>> read_documents(["b", "a"])
    [ScoredDoc(doc='b', score=-1.0), ScoredDoc(doc='a', score=-2.0)]
    """
    is_text = isinstance(value, str | bytes | bytearray | memoryview)
    if is_text or not isinstance(value, Sequence | Iterator):
        raise _no_ranking(f"the retriever returned {_kind(value)}; {_EXPECTED}")
    first_ones = islice(iter(value), MAX_DOCUMENTS + 1)
    items = [_item(item, place) for place, item in enumerate(first_ones, 1)]
    if len(items) > MAX_DOCUMENTS:
        raise _no_ranking(f"the retriever returned more than {MAX_DOCUMENTS:,} documents")
    places: dict[str, int] = {}
    for place, (doc, _) in enumerate(items, 1):
        if (first := places.setdefault(doc, place)) != place:
            raise RetrieverError(
                f"items {first} and {place} are the same document, {_shown(doc)}",
                "duplicate_documents",
            )
        if known is not None and doc not in known:
            raise RetrieverError(
                f"item {place} is {_shown(doc)}, and the corpus has no such document"
                f"{_other_form(doc, known)}",
                "unknown_documents",
            )
    if all(score is None for _, score in items):
        return [ScoredDoc(doc, -float(rank)) for doc, rank in places.items()]
    return [
        ScoredDoc(
            doc,
            score + 0.0
            if type(score) is float and math.isfinite(score)
            else _number(score, f"item {place} ({_shown(doc)})"),
        )
        for place, (doc, score) in enumerate(items, 1)
    ]


def rank(
    docs: Sequence[ScoredDoc],
    *,
    depth: int,
    floor: float | None = None,
    n_known: int | None = None,
) -> Ranked:
    """Return the first ``depth`` documents by score, those below the floor left out.

    ``docs`` are what `read_documents` let through. ``fewer_than_k`` counts what is there before
    the floor, against ``depth`` or the ``n_known`` documents of the corpus where that is less.

    Raises
    ------
    RetrieverError
        When there is a floor and the scores only say the rank.
    """
    if floor is not None and docs and says_rank_only(docs):
        raise RetrieverError(
            "a floor needs scores, and the retriever gives only an order", "only_an_order"
        )
    ordered = sorted(docs, key=lambda doc: (doc.score, doc.doc), reverse=True)
    top = tuple(ordered[:depth])
    found = {
        "fewer_than_k": len(top) < (depth if n_known is None else min(depth, n_known)),
        "unsorted": any(after.score > before.score for before, after in pairwise(docs)),
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
        return str.encode(text, "utf-8").decode("utf-8")
    except UnicodeEncodeError:
        return str.encode(text, "utf-16", "surrogatepass").decode("utf-16", "replace")


def _item(item: Any, place: int) -> tuple[str, Any]:
    """Return the id and the stated score (None when there is none) of one item."""
    # Nearly every item is of these forms, and there may be millions.
    kind = type(item)
    if kind is ScoredDoc:
        doc, score = item.doc, item.score
    elif kind is tuple and len(item) == 2:
        doc, score = item
    elif kind is dict:
        doc, score = item.get("doc"), item.get("score")
    else:
        doc = score = None
    if type(doc) is str and 0 < len(doc) <= MAX_ID and doc.isascii():
        return doc, score
    doc, score = item, None
    if isinstance(item, ScoredDoc):
        doc, score = item.doc, item.score
    elif isinstance(item, Mapping):
        doc, score = item.get("doc", item.get("id")), item.get("score")
    elif isinstance(item, tuple | list):
        if len(item) != 2:
            raise _no_ranking(f"item {place} has {len(item)} parts; {_EXPECTED}")
        doc, score = item
    if isinstance(doc, str):
        # As a plain string, whatever a subclass makes of its methods.
        doc = clean_text(doc)
    elif not isinstance(doc, bool) and isinstance(doc, UUID | Integral):
        doc = str(doc)
    else:
        raise _no_ranking(f"item {place} has {_kind(doc)} for a document; {_EXPECTED}")
    if not doc:
        raise _no_ranking(f"item {place} has an empty document id; {_EXPECTED}")
    if len(doc) > MAX_ID:
        size = f"{len(doc):,} characters, and {MAX_ID:,} are the most"
        raise _no_ranking(f"item {place} has a document id of {size}")
    return doc, score


def _number(score: Any, which: str) -> float:
    if score is None:
        raise RetrieverError(f"{which} has no score, and others have one", "nan_score")
    number = as_number(score)
    if number is None:
        what = _kind(score)
    elif not math.isfinite(number):
        what = str(number)
    else:
        # Minus 0 ranks as 0 does, and is written as it.
        return number + 0.0
    stated = f"{what} for a score" if number is None else f"a score of {what}"
    raise RetrieverError(f"{which} has {stated}; expected a finite number", "nan_score")


def _no_ranking(message: str) -> RetrieverError:
    return RetrieverError(message, "not_a_ranking")


def _other_form(doc: str, known: Collection[str]) -> str:
    forms = (unicodedata.normalize(form, doc) for form in ("NFC", "NFD", "NFKC", "NFKD"))
    is_near = any(form in known for form in forms)
    return ", but one in another form of Unicode" if is_near else ""


def _shown(doc: str) -> str:
    return repr(doc[:80])


def _kind(value: Any) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__}"
