"""Asks a retriever every gold query, and keeps what was answered when something stops it."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, Final

from retrieval_eval.errors import BadInputError, RetrievalEvalError
from retrieval_eval.model.gold import GoldQuery, GoldSet
from retrieval_eval.records import Progress
from retrieval_eval.search.facts import facts_of
from retrieval_eval.search.journal import documents_fingerprint, open_journal
from retrieval_eval.search.protocol import AnswersById, Retriever, Staged
from retrieval_eval.search.results import QueryResult
from retrieval_eval.search.returned import clean_text, rank, read_documents

_LONGEST_ERROR: Final = 500


def run_queries(
    gold: GoldSet,
    retriever: Retriever,
    *,
    depth: int,
    corpora: Collection[str] | None = None,
    floor: float | None = None,
    use_rerank: bool = True,
    journal: Path | None = None,
    progress: Progress | None = None,
    jobs: int = 1,
    known_documents: Collection[str] | Mapping[str, Collection[str]] | None = None,
    identity: Mapping[str, Any] | None = None,
    fresh: bool = False,
    taken_up: Callable[[int, int], None] | None = None,
) -> tuple[QueryResult, ...]:
    """Return what the retriever answers to each gold query, in the order of the gold set.

    Whatever goes wrong with one query makes that query ``failed`` and no more. Documents scored
    below ``floor`` are dropped. At most ``jobs`` queries are asked at once, and only of a retriever
    that says ``is_thread_safe = True``. With a ``journal`` an interrupted run is taken up again:
    answered queries are not asked a second time, failed ones are.

    Parameters
    ----------
    gold
        The gold set; ``corpora`` limits the run to queries of these corpora.
    retriever
        What is measured. With ``use_rerank=False`` its ``first_stage`` alone.
    depth
        Documents asked for per query.
    known_documents
        The ids of all documents there are, or those of each corpus: an answer that names another
        fails. None when that is not known, and ids are not checked.
    identity
        What the retriever was made from (spec and options). With its own facts, the gold set's
        fingerprint and the settings above it decides whether a journal belongs to this run.
    fresh
        Begin the journal anew.
    taken_up
        Called with the number of queries that the journal answers, and that of all, if it answers
        any: everything that can be refused has passed by then.

    Raises
    ------
    BadInputError
        When a setting cannot be used, no query belongs to a named corpus, ``use_rerank=False``
        meets a retriever without stages, the journal is of another run, or a ranked file knows
        none of the queries.
    """
    _check(depth, floor, jobs)
    queries = _chosen(gold, corpora)
    ask = _Asker(retriever, depth, floor, use_rerank, _by_corpus(known_documents, queries))
    ask.check(queries)
    book, answered = None, dict[str, QueryResult]()
    if journal is not None:
        documents = None if ask.known is None else documents_fingerprint(ask.known)
        settings = {
            "gold_set": gold.fingerprint,
            "corpora": sorted({query.corpus for query in queries}),
            "retriever": {**(identity or {}), "facts": facts_of(retriever)},
            "depth": depth,
            "floor": floor,
            "use_rerank": use_rerank,
            "known_documents": documents,
        }
        book, answered = open_journal(journal, settings, fresh=fresh)
    results = {query.id: answered[query.id] for query in queries if query.id in answered}
    if results and taken_up is not None:
        taken_up(len(results), len(queries))
    report = _Report(len(queries), progress)
    for result in results.values():
        report(result)

    def answer(query: GoldQuery) -> QueryResult:
        result = ask(query)
        # In the thread that asked, so that an interruption loses nothing that was answered.
        if book is not None:
            book.record(result)
        return result

    missing = [query for query in queries if query.id not in results]
    is_thread_safe = getattr(retriever, "is_thread_safe", False) is True
    with closing(_answers(answer, missing, jobs if is_thread_safe else 1)) as answers:
        for result in answers:
            results[result.id] = result
            report(result)
    return tuple(results[query.id] for query in queries)


@dataclass(frozen=True, slots=True)
class _Asker:
    """Asks one query; calling it never raises because of the retriever."""

    retriever: Retriever
    depth: int
    floor: float | None
    use_rerank: bool
    known: Mapping[str, frozenset[str]] | None

    def __call__(self, query: GoldQuery) -> QueryResult:
        start = perf_counter()
        try:
            answer = self._answer(query)
            known = None if self.known is None else self.known.get(query.corpus, frozenset())
            docs = read_documents(answer, known)
            seconds = perf_counter() - start
            n_known = None if known is None else len(known)
            ranked = rank(docs, depth=self.depth, floor=self.floor, n_known=n_known)
        # The code of others may raise anything; leaving with sys.exit would look like success.
        except (Exception, SystemExit) as error:  # noqa: BLE001
            return QueryResult(
                query.id, "failed", error=_sentence(error), seconds=perf_counter() - start
            )
        return QueryResult(
            query.id,
            "ok",
            ranking=ranked.ranking,
            is_refused=ranked.is_refused,
            problems=ranked.problems,
            seconds=seconds,
        )

    def _answer(self, query: GoldQuery) -> Any:
        if not self.use_rerank:
            assert isinstance(self.retriever, Staged)
            return self.retriever.first_stage(query.query, corpus=query.corpus, k=self.depth)
        if isinstance(self.retriever, AnswersById):
            return self.retriever.search_by_id(query.id, corpus=query.corpus, k=self.depth)
        return self.retriever.search(query.query, corpus=query.corpus, k=self.depth)

    def check(self, queries: Sequence[GoldQuery]) -> None:
        """Refuse what would make every query fail, or score 0, for one and the same reason."""
        if not self.use_rerank and not isinstance(self.retriever, Staged):
            raise BadInputError(
                "this retriever shows no stages, so there is no reranker to leave out;"
                " give it first_stage() and rerank(), or run it as a whole"
            )
        if not isinstance(self.retriever, AnswersById) or not queries:
            return
        known = self.retriever.query_ids
        if not any(query.id in known for query in queries):
            example = ", ".join(repr(name) for name in sorted(known)[:3])
            raise BadInputError(
                f"the ranked file knows none of the {len(queries)} gold queries (it has {example});"
                " it was made from another gold set"
            )


class _Report:
    """Counts finished queries for the caller."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self._total, self._progress = total, progress
        self._done = 0

    def __call__(self, result: QueryResult) -> None:
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, self._total, result.id)


def _answers(
    answer: Callable[[GoldQuery], QueryResult], queries: Sequence[GoldQuery], jobs: int
) -> Generator[QueryResult, None, None]:
    """Yield the answers as they come; closed early, it asks no further query."""
    if jobs == 1:
        yield from map(answer, queries)
        return
    executor = ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="search")
    try:
        waiting = [executor.submit(answer, query) for query in queries]
        for future in as_completed(waiting):
            yield future.result()
    finally:
        executor.shutdown(cancel_futures=True)


def _check(depth: int, floor: float | None, jobs: int) -> None:
    for name, value in (("depth", depth), ("jobs", jobs)):
        if value < 1:
            raise BadInputError(f"{name} is {value}; it must be 1 or more")
    if floor is not None and not math.isfinite(floor):
        raise BadInputError(f"the floor is {floor}; it must be a finite number")


def _chosen(gold: GoldSet, corpora: Collection[str] | None) -> list[GoldQuery]:
    if corpora is None:
        return list(gold.queries)
    known = {query.corpus for query in gold.queries}
    unknown = sorted(set(corpora) - known)
    if unknown:
        raise BadInputError(
            f"no gold query belongs to corpus {', '.join(map(repr, unknown))};"
            f" the gold set has {', '.join(map(repr, sorted(known))) or 'none'}"
        )
    return [query for query in gold.queries if query.corpus in corpora]


def _by_corpus(
    known: Collection[str] | Mapping[str, Collection[str]] | None, queries: Sequence[GoldQuery]
) -> dict[str, frozenset[str]] | None:
    if known is None:
        return None
    if isinstance(known, Mapping):
        return {name: frozenset(ids) for name, ids in known.items()}
    everywhere = frozenset(known)
    return {query.corpus: everywhere for query in queries}


def _sentence(error: BaseException) -> str:
    """Return an error as one line of bounded length, whatever its message holds."""
    try:
        message = " ".join(str(error).split())
    except Exception:  # noqa: BLE001 - an exception of others may even fail to say what it is
        message = ""
    if not isinstance(error, RetrievalEvalError):
        message = f"{type(error).__name__}: {message}" if message else type(error).__name__
    return clean_text(message[:_LONGEST_ERROR])
