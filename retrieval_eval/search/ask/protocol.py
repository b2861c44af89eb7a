"""The production retrieval path, as small as it can be: a query in, scored documents out."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable


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
