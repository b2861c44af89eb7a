"""The production retrieval path, as small as it can be: a query in, scored documents out."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from numbers import Integral
from typing import Any, Final, Literal, Protocol, runtime_checkable
from uuid import UUID

from retrieval_eval.errors import RetrievalEvalError
from retrieval_eval.values import as_number


@dataclass(frozen=True, slots=True)
class ScoredDoc:
    """A retrieved document; a higher ``score`` ranks higher."""

    doc: str
    score: float


@runtime_checkable
class Retriever(Protocol):
    """What is measured. Called from one thread unless it says ``is_thread_safe = True``."""

    def search(self, query: str, *, corpus: str, k: int) -> Sequence[ScoredDoc]:
        """Return at most ``k`` documents of ``corpus``, best first."""
        ...


@runtime_checkable
class Staged(Protocol):
    """A retriever that shows its stages: ``search`` is ``rerank`` of ``first_stage``."""

    def first_stage(self, query: str, *, corpus: str, k: int) -> Sequence[ScoredDoc]:
        """Return the candidates before reranking, best first."""
        ...

    def rerank(self, query: str, docs: Sequence[ScoredDoc], *, k: int) -> Sequence[ScoredDoc]:
        """Return the candidates in their final order, with their final scores."""
        ...


@runtime_checkable
class Described(Protocol):
    """A retriever that says what it is, for the header of a run."""

    def describe(self) -> Mapping[str, Any]:
        """Return JSON-able facts: ``name``, ``reranker``, and what identifies the index."""
        ...


@runtime_checkable
class KnowsDocuments(Protocol):
    """A retriever that knows which documents there are, so that its answers can be checked."""

    @property
    def known_documents(self) -> Mapping[str, Collection[str]]:
        """The ids of all documents of each corpus."""
        ...


@runtime_checkable
class AnswersById(Protocol):
    """A retriever that knows the queries by id: a ranked file has no other key."""

    @property
    def query_ids(self) -> Collection[str]:
        """The ids of the queries it can answer."""
        ...

    def search_by_id(self, query_id: str, *, corpus: str, k: int) -> Sequence[Any]:
        """Return at most ``k`` documents for the query of this id, best first."""
        ...


@runtime_checkable
class AnswersTogether(Protocol):
    """A retriever that answers several queries at once where ``batch_size`` is above 1."""

    @property
    def batch_size(self) -> int:
        """How many queries one call takes at most."""
        ...

    def search_many(self, queries: Sequence[str], *, corpus: str, k: int) -> Sequence[Any]:
        """Return for each query, in order, what ``search`` returns, or the exception it raises."""
        ...


# --------------------------------------------------------------------------------------------------
# What asking a retriever one gold query gave.

Status = Literal["ok", "failed"]

RISING: Final = "scores_rise"
"""Code of an answer whose scores rise from the first document to the last, as distances do."""

MISSING: Final = "missing"
"""Code of a query that a file of rankings has no line for."""
EMPTY_IN_FILE: Final = "empty_in_file"
"""Code of a query for which a file of rankings states that nothing was found."""

PROBLEMS: Final = (
    MISSING,
    EMPTY_IN_FILE,
    "fewer_than_k",
    "unsorted",
    RISING,
    "no_score",
    "more_than_k",
)
"""What can be odd about an answer that is still a ranking, in the order it is reported."""

FAILURES: Final[Mapping[str, str]] = {
    "raised": "the retriever raised an error, timed out or could not be reached",
    "not_a_ranking": "what came back is no list of documents that has an end",
    "nan_score": "a score was no finite number",
    "duplicate_documents": "a document came twice",
    "unknown_documents": "the corpus has no such document",
    "only_an_order": "a floor needs scores, and the answer has none",
    RISING: "the scores of this and of nearly all answers rise, as distances do",
}
"""Why a query failed: each code with its sentence. Nothing of a failed query is scored."""

UNTRUSTED: Final[Mapping[str, str]] = {
    code: FAILURES[code] for code in ("duplicate_documents", "nan_score", "unknown_documents")
}
"""Problems of answers that earlier versions scored nevertheless; such an answer is a failure."""


class RetrieverError(RetrievalEvalError):
    """A retriever gave no usable answer to one query; the run goes on without it.

    ``code`` is one of :data:`FAILURES`, or :data:`MISSING`: then the query did not fail, and counts
    as one for which nothing came back.
    """

    def __init__(self, message: str, code: str = "raised") -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The ranking a retriever gave for one query, or why there is none.

    ``ranking`` is ordered by score descending, ties by document id descending (as trec_eval
    does), holds each document once and at most as many as were requested. ``status`` is
    ``failed`` when the retriever raised, timed out or returned something that is no ranking (see
    `~retrieval_eval.search.ask.read_documents`);
    then ``error`` is a sentence, ``failure`` a code of :data:`FAILURES`, and the ranking is empty.
    ``is_refused`` says that documents were found and all lay below the floor. ``problems`` are
    codes of :data:`PROBLEMS`. ``seconds`` is the wall time of the call with all its retries.
    ``again`` is what the same question gave when it was asked a second time; None where it was
    asked once.
    """

    id: str
    status: Status
    error: str | None = None
    ranking: tuple[ScoredDoc, ...] = ()
    is_refused: bool = False
    problems: tuple[str, ...] = ()
    seconds: float | None = None
    failure: str | None = None
    again: QueryResult | None = None


# --------------------------------------------------------------------------------------------------
# From whatever a retriever returned to a ranking. The value may be of any type.

MAX_DOCUMENTS: Final = 100_000
"""Documents of one answer; an endless generator must not hang a run, and what comes after these
could score higher, so that a longer answer is none."""
MAX_ID: Final = 4096
"""Characters of a document id; a run keeps every one of them."""

NOTHING: Final = 3.4028234663852886e38
"""The largest 32-bit float. Indexes fill an answer up with it, or with minus it, beside a document
that they did not find (faiss: the id -1): it is no score, and its document was not returned."""
_ROUNDED: Final = 1e-6
_RISE: Final = 9
"""Along distances nearly all steps rise: at least so many for each one that falls."""

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
    ranking and the scores are minus the rank: -1, -2, and so on. An empty answer is an answer. What
    has the score :data:`NOTHING` was not found, and is left out.

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
    return read_answer(value, known)[0]


def read_answer(value: Any, known: Collection[str] | None = None) -> tuple[list[ScoredDoc], int]:
    """Return what `read_documents` does, and how many places were left out as nothing found."""
    is_text = isinstance(value, str | bytes | bytearray | memoryview)
    if is_text or not isinstance(value, Sequence | Iterator):
        raise _no_ranking(f"the retriever returned {_kind(value)}; {_EXPECTED}")
    first_ones = islice(iter(value), MAX_DOCUMENTS + 1)
    given = [(place, *_item(item, place)) for place, item in enumerate(first_ones, 1)]
    if len(given) > MAX_DOCUMENTS:
        raise _no_ranking(f"the retriever returned more than {MAX_DOCUMENTS:,} documents")
    items = [item for item in given if not says_nothing(item[2])]
    places: dict[str, int] = {}
    for place, doc, _ in items:
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
    n_nothing = len(given) - len(items)
    if all(score is None for _, _, score in items):
        return [ScoredDoc(doc, -float(rank)) for rank, doc in enumerate(places, 1)], n_nothing
    docs = [
        ScoredDoc(
            doc,
            score + 0.0
            if type(score) is float and math.isfinite(score)
            else _number(score, f"item {place} ({_shown(doc)})"),
        )
        for place, doc, score in items
    ]
    return docs, n_nothing


def rank(
    docs: Sequence[ScoredDoc],
    *,
    depth: int,
    floor: float | None = None,
    n_known: int | None = None,
    n_nothing: int = 0,
    own: str | None = None,
    lower_is_better: bool | None = None,
) -> Ranked:
    """Return the first ``depth`` documents by score, those below the floor left out.

    ``docs`` are what `read_documents` let through, and ``n_nothing`` counts the places it left out.
    ``fewer_than_k`` counts what is there before the floor, against ``depth`` or the ``n_known``
    documents of the corpus where that is less. The document ``own`` is left out first: one more
    than ``depth`` was requested then. Where ``lower_is_better`` scores are negated; where it is not
    stated an answer whose scores rise has the problem ``scores_rise``.

    Raises
    ------
    RetrieverError
        When there is a floor and the scores only say the rank.
    """
    if floor is not None and docs and says_rank_only(docs):
        raise RetrieverError(
            "a floor needs scores, and the retriever gives only an order", "only_an_order"
        )
    is_long = len(docs) > depth + (own is not None)
    docs = _without(docs, own)
    if lower_is_better and not says_rank_only(docs):
        docs = [ScoredDoc(doc.doc, 0.0 - doc.score) for doc in docs]
    ordered = sorted(docs, key=lambda doc: (doc.score, doc.doc), reverse=True)
    top = tuple(ordered[:depth])
    is_rising = lower_is_better is None and rises(docs)
    found = {
        "fewer_than_k": len(top) < (depth if n_known is None else min(depth, n_known)),
        "unsorted": not is_rising
        and any(after.score > before.score for before, after in pairwise(docs)),
        RISING: is_rising,
        "no_score": n_nothing > 0,
        "more_than_k": is_long,
    }
    kept = top if floor is None else tuple(doc for doc in top if doc.score >= floor)
    problems = tuple(code for code in PROBLEMS if found.get(code))
    return Ranked(kept, bool(top) and not kept, problems)


def _without(docs: Sequence[ScoredDoc], own: str | None) -> Sequence[ScoredDoc]:
    kept = docs if own is None else [doc for doc in docs if doc.doc != own]
    if len(kept) < len(docs) and says_rank_only(docs):
        return [ScoredDoc(doc.doc, -float(place)) for place, doc in enumerate(kept, 1)]
    return kept


def rises(docs: Sequence[ScoredDoc]) -> bool:
    """Return whether scores rise along an answer, as those of distances do.

    They do where at least nine of ten steps between different scores go up.
    """
    steps = [after.score - before.score for before, after in pairwise(docs)]
    n_up = sum(step > 0 for step in steps)
    return n_up > 0 and n_up >= _RISE * sum(step < 0 for step in steps)


def says_nothing(score: Any) -> bool:
    """Return whether a score is :data:`NOTHING`, or minus it, as far as a text states it."""
    number = score if type(score) is float else as_number(score)
    return number is not None and abs(abs(number) / NOTHING - 1) < _ROUNDED


def nothing(n: int) -> list[ScoredDoc]:
    """Return so many places of an answer at which nothing was found."""
    return [ScoredDoc("-1", NOTHING)] * n


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
