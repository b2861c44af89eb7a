"""Hybrid search: the rankings of several retrievers, fused by reciprocal rank."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import chain
from typing import Any, Final

from retrieval_eval.errors import BadInputError
from retrieval_eval.search.options import Options
from retrieval_eval.search.protocol import AnswersById, Retriever, ScoredDoc
from retrieval_eval.search.results import RISING, RetrieverError
from retrieval_eval.search.retrievers import RETRIEVERS, RetrieverKind, open_retriever
from retrieval_eval.search.returned import rank, read_answer, rises
from retrieval_eval.search.running import describe_retriever, known_documents_of, stated
from retrieval_eval.search.secrets import shown_spec

DEFAULT_K: Final = 60
"""The constant of Cormack, Clarke and Büttcher (SIGIR 2009), who found its value not critical."""

DEFAULT_WINDOW: Final = 100

_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,24}")
_MOST_PARTS: Final = 8
_ENOUGH: Final = 5
"""Documents of a part from which rising scores are no accident: by chance one answer in 120."""
_DISTANCES: Final = (
    "its scores rise from the first document to the last, as distances do; say that lower is better"
    " (lower_is_better = True on a retriever of your own, the option best=low of run: and http:)"
)
_OWN: Final = ("k", "window", "weight")


@dataclass(frozen=True, slots=True)
class Part:
    """One of the retrievers that are fused; ``known`` are its documents by corpus, if it says."""

    name: str
    spec: str
    retriever: Retriever
    weight: float = 1.0
    known: Mapping[str, frozenset[str]] | None = None


def fuse(
    rankings: Sequence[Sequence[str]], weights: Sequence[float] | None = None, *, k: float = 60
) -> list[ScoredDoc]:
    """Return documents by the sum of ``weight / (k + rank)`` over the rankings that hold them.

    Ranks count from 1. Sums are exact and rounded once, so that the order of the rankings does not
    matter; equal sums are ordered by document id, descending.

    Source: G. V. Cormack, C. L. A. Clarke, S. Büttcher, "Reciprocal rank fusion outperforms
    Condorcet and individual rank learning methods", SIGIR 2009.

    Examples
    --------
    >>> [(each.doc, round(1000 * each.score, 2)) for each in fuse([["a", "b"], ["b", "c"]])]
    [('b', 32.52), ('a', 16.39), ('c', 16.13)]
    """
    sums: dict[str, Fraction] = {}
    for ranking, weight in zip(rankings, weights or [1.0] * len(rankings), strict=True):
        for place, doc in enumerate(ranking, 1):
            term = _term(weight, k, place)
            sums[doc] = sums[doc] + term if doc in sums else term
    found = sorted(((float(each), doc) for doc, each in sums.items()), reverse=True)
    return [ScoredDoc(doc, score) for score, doc in found]


@lru_cache(maxsize=10_000)
def _term(weight: float, k: float, place: int) -> Fraction:
    return Fraction(weight) / (Fraction(k) + place)


class RrfRetriever:
    """Asks every part for its first ``window`` documents and fuses the rankings; see `fuse`.

    If a part fails, the query fails: a fusion of the others would be another system.
    """

    def __init__(
        self, parts: Sequence[Part], *, k: float = DEFAULT_K, window: int = DEFAULT_WINDOW
    ) -> None:
        self._parts, self._k, self._window = tuple(parts), k, window

    @property
    def is_thread_safe(self) -> bool:
        """Whether every part is."""
        return all(getattr(p.retriever, "is_thread_safe", False) is True for p in self._parts)

    @property
    def is_deterministic(self) -> bool:
        """Whether every part is, by what it says."""
        return all(getattr(p.retriever, "is_deterministic", False) is True for p in self._parts)

    @property
    def known_documents(self) -> Mapping[str, Collection[str]] | None:
        """The ids of all documents of each corpus; None where a part does not say."""
        stated = [part.known for part in self._parts]
        if any(each is None for each in stated):
            return None
        known = [each for each in stated if each is not None]
        names = sorted(set(chain.from_iterable(known)))
        empty = frozenset[str]()
        return {name: empty.union(*(each.get(name, empty) for each in known)) for name in names}

    def search(self, query: str, *, corpus: str, k: int) -> list[ScoredDoc]:
        """Return the first ``k`` documents of the fused ranking.

        Raises
        ------
        RetrieverError
            When a part fails or gives an answer that cannot be trusted; the message names it.
        """
        return self._fused(self.rankings(query, corpus=corpus, k=k))[:k]

    def search_stages(self, query: str, *, corpus: str, k: int) -> dict[str, Sequence[ScoredDoc]]:
        """Return what each part found, all candidates, and the fused ranking."""
        found = self.rankings(query, corpus=corpus, k=k)
        fused = self._fused(found)
        parts = {f"candidates/{name}": docs for name, docs in found.items()}
        return {**parts, "candidates": fused, "fused": fused[:k]}

    def rankings(self, query: str, *, corpus: str, k: int) -> dict[str, tuple[ScoredDoc, ...]]:
        """Return what each part found, by name: the lists that are fused."""
        return {part.name: self._ask(part, query, corpus, k) for part in self._parts}

    def describe(self) -> dict[str, Any]:
        """Return the parts with their specs, weights and own facts, and the constants."""
        facts = {part.name: describe_retriever(part.retriever) for part in self._parts}
        corpora = next((found["corpora"] for found in facts.values() if "corpora" in found), None)
        return {
            "name": f"rrf({', '.join(facts)})",
            "reranker": None,
            "k": self._k,
            "window": self._window,
            "parts": {
                part.name: {
                    "spec": shown_spec(part.spec),
                    "weight": part.weight,
                    "facts": {n: v for n, v in facts[part.name].items() if n != "corpora"},
                }
                for part in self._parts
            },
            **({} if corpora is None else {"corpora": corpora}),
        }

    def close(self) -> None:
        """Close what can be closed of the parts."""
        for part in self._parts:
            getattr(part.retriever, "close", lambda: None)()

    def _fused(self, rankings: Mapping[str, Sequence[ScoredDoc]]) -> list[ScoredDoc]:
        docs = [[each.doc for each in ranking] for ranking in rankings.values()]
        return fuse(docs, [part.weight for part in self._parts], k=self._k)

    def _ask(self, part: Part, query: str, corpus: str, k: int) -> tuple[ScoredDoc, ...]:
        depth = max(k, self._window)
        known = None if part.known is None else part.known.get(corpus, frozenset())
        try:
            answer = self._answer(part.retriever, query, corpus, depth)
            docs, _ = read_answer(answer, known)
            is_low = stated(part.retriever, "lower_is_better")
            if is_low is None and len(docs) >= _ENOUGH and rises(docs):
                raise RetrieverError(_DISTANCES, RISING)
            return rank(docs, depth=depth, lower_is_better=is_low).ranking
        except RetrieverError as error:
            raise RetrieverError(f"part {part.name!r}: {error}", error.code) from error

    def _answer(self, retriever: Retriever, query: str, corpus: str, depth: int) -> Any:
        return retriever.search(query, corpus=corpus, k=depth)


class FusedFiles(RrfRetriever):
    """Files of rankings, fused: they know the queries by id."""

    @property
    def query_ids(self) -> frozenset[str]:
        """The ids of the queries that a file names."""
        found = [p.retriever.query_ids for p in self._parts if isinstance(p.retriever, AnswersById)]
        return frozenset(chain.from_iterable(found))

    def search_by_id(self, query_id: str, *, corpus: str, k: int) -> list[ScoredDoc]:
        """Return the first ``k`` documents for the query of this id."""
        return self.search(query_id, corpus=corpus, k=k)

    def _answer(self, retriever: Retriever, query: str, corpus: str, depth: int) -> Any:
        assert isinstance(retriever, AnswersById)
        return retriever.search_by_id(query, corpus=corpus, k=depth)


def open_rrf(spec: str, options: Mapping[str, str]) -> RrfRetriever:
    """Return the fusion of the parts that a spec such as ``rrf:words,vectors`` names.

    The option of a part's name is its spec (``words=bm25:corpus.jsonl``), ``NAME.OPTION`` an option
    of it, ``weight.NAME`` its weight. ``k`` is the constant of the fusion, ``window`` how many
    documents of each part are fused at least.

    Raises
    ------
    BadInputError
        When there are fewer than two parts, a name or an option is of no use, or a part cannot be
        opened.
    """
    names = spec.partition(":")[2].split(",")
    given = Options("rrf", options)
    for name in names:
        if not _NAME.fullmatch(name) or name in _OWN or names.count(name) > 1:
            raise BadInputError(
                f"rrf: {name!r} cannot be the name of a part; expected rrf:NAME,NAME… with the spec"
                " of each as an option, such as rrf:words,vectors --option words=bm25:corpus.jsonl"
            )
    if not 2 <= len(names) <= _MOST_PARTS:
        raise BadInputError(f"rrf: needs two to {_MOST_PARTS} parts, such as rrf:words,vectors")
    prefixes = tuple(f"{name}." for name in names)
    weights = tuple(f"weight.{name}" for name in names)
    given.only((*_OWN[:2], *names, *weights), prefixes)
    k = given.number("k", DEFAULT_K, 0, 1_000_000)
    window = given.whole("window", DEFAULT_WINDOW, 1, 100_000)
    parts = []
    for name, prefix in zip(names, prefixes, strict=True):
        if not options.get(name):
            raise BadInputError(f"rrf: give the spec of the part {name!r}: --option {name}=SPEC")
        own = {n.removeprefix(prefix): v for n, v in options.items() if n.startswith(prefix)}
        retriever = open_retriever(options[name], own)
        weight = given.number(f"weight.{name}", 1.0, 0, 1_000_000)
        known = known_documents_of(retriever)
        parts.append(Part(name, options[name], retriever, weight, known))
    if not any(part.weight for part in parts):
        raise BadInputError("rrf: every weight is 0, so that ids alone would order the documents")
    files = [isinstance(part.retriever, AnswersById) for part in parts]
    if any(files) and not all(files):
        raise BadInputError(
            "rrf: a file of rankings knows its queries by id and other retrievers by their text;"
            " write the rankings of all parts into files first, or fuse none"
        )
    return (FusedFiles if all(files) else RrfRetriever)(parts, k=k, window=window)


RETRIEVERS.add("rrf", RetrieverKind("rrf:NAME,NAME…", open_rrf, options=_OWN[:2]))
