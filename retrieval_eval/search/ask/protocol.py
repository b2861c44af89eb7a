"""The production retrieval path, as small as it can be: a query in, scored documents out."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol, runtime_checkable

from retrieval_eval.errors import RetrievalEvalError


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

PROBLEMS: Final = (
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

    ``code`` is one of :data:`FAILURES`.
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
    `~retrieval_eval.search.ask.returned.read_documents`);
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
