"""Asks a retriever every gold query, and keeps what was answered when something stops it.

The journal of a run in progress is a JSONL file: a header that says which settings it belongs to,
then a result a line. What it holds is not asked again after an interruption.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import chain
from pathlib import Path
from threading import Lock
from time import perf_counter
from typing import Any, Final, cast

from retrieval_eval.errors import BadInputError, RetrievalEvalError
from retrieval_eval.io.files import append_line, decode, json_bytes, read_bytes, write_bytes
from retrieval_eval.model.gold import GoldQuery, GoldSet
from retrieval_eval.records import Progress
from retrieval_eval.search.ask import (
    EMPTY_IN_FILE,
    FAILURES,
    MISSING,
    RISING,
    UNTRUSTED,
    AnswersById,
    AnswersTogether,
    Described,
    KnowsDocuments,
    QueryResult,
    Retriever,
    RetrieverError,
    ScoredDoc,
    Staged,
    Status,
    clean_text,
    rank,
    read_answer,
)
from retrieval_eval.values import DEFAULT_SEED

_LONGEST_ERROR: Final = 500
_FORMAT: Final = "retrieval-eval search run, version 1"
_START_ANEW: Final = "start anew with --fresh"


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
    on_resume: Callable[[int, int], None] | None = None,
    queries: Collection[str] | None = None,
    ask_twice: int = 0,
    seed: int = DEFAULT_SEED,
    reopen: Callable[[], Retriever] | None = None,
    without_own: bool = False,
) -> tuple[QueryResult, ...]:
    """Return what the retriever answers to each gold query, in the order of the gold set.

    Whatever goes wrong with one query makes that query ``failed`` and no more. Where the scores of
    nearly all answers rise, and the retriever does not say whether lower ones are better, those
    answers fail (see `without_distances`). Documents scored below ``floor`` are dropped. At most
    ``jobs`` queries are asked at once, and only of a retriever that says ``is_thread_safe = True``.
    With a ``journal`` an interrupted run is continued: answered queries are not asked anew, failed
    ones are.

    After all of them ``ask_twice`` of those that were answered are asked once more, chosen by
    `sampled` with ``seed``; what comes back is ``again`` of their result. ``reopen`` gives the
    retriever that answers them; by default it is the same one, whatever it remembers.

    Parameters
    ----------
    gold
        The gold set; ``corpora`` limits the run to queries of these corpora.
    retriever
        What is measured. With ``use_rerank=False`` its ``first_stage`` alone.
    depth
        Documents requested per query.
    known_documents
        The ids of all documents there are, or those of each corpus: an answer that names another
        fails. None when that is not known, and ids are not checked.
    identity
        What the retriever was made from (spec and options). With its own facts, the gold set's
        fingerprint and the settings above it decides whether a journal belongs to this run.
    fresh
        Begin the journal anew.
    on_resume
        Called with the number of queries that the journal answers, and that of all, if it answers
        any: everything that can be refused has passed by then.
    queries
        Ids of the queries to ask; None: all of them.
    without_own
        Leave the document that has the id of the query out of its ranking, before the first
        ``depth`` are kept; one more is requested.

    Raises
    ------
    BadInputError
        When a setting cannot be used, no query belongs to a named corpus, ``use_rerank=False``
        meets a retriever without stages, the journal is of another run, or a ranked file knows
        none of the queries.
    """
    _check(depth, floor, jobs)
    asked = _chosen(gold, corpora, queries)
    known = _by_corpus(known_documents, asked)
    ask = _Asker(retriever, depth, floor, use_rerank, known, without_own)
    ask.check(asked)
    book, answered, again = None, dict[str, QueryResult](), dict[str, QueryResult]()
    if journal is not None:
        documents = None if ask.known is None else documents_fingerprint(ask.known)
        settings = {
            "gold_set": gold.fingerprint,
            "corpora": sorted({query.corpus for query in asked}),
            "retriever": {**(identity or {}), "facts": describe_retriever(retriever)},
            "depth": depth,
            "floor": floor,
            "use_rerank": use_rerank,
            "known_documents": documents,
        }
        if without_own:
            settings["without_own"] = True
        if queries is not None:
            settings["queries"] = sorted(query.id for query in asked)
        book, answered, again = open_journal(journal, settings, fresh=fresh)
    results = {query.id: answered[query.id] for query in asked if query.id in answered}
    if results and on_resume is not None:
        on_resume(len(results), len(asked))
    twice = sampled([query.id for query in asked], ask_twice, seed=seed)
    report = _Report(len(asked) + len(twice), progress)
    jobs = jobs if says(retriever, "is_thread_safe") else 1

    def ask_all(
        asker: _Asker, chosen: Sequence[GoldQuery], found: dict[str, QueryResult], is_second: bool
    ) -> None:
        def answer(group: Sequence[GoldQuery]) -> list[QueryResult]:
            answered = asker.together(group)
            # In the thread that asked, so that an interruption loses nothing that was answered.
            if book is not None:
                for result in answered:
                    book.record(result, is_second=is_second)
            return answered

        for query in chosen:
            if query.id in found:
                report(query.id)
        groups = asker.groups([query for query in chosen if query.id not in found])
        with closing(_answers(answer, groups, jobs)) as answers:
            for result in chain.from_iterable(answers):
                found[result.id] = result
                report(result.id)

    ask_all(ask, asked, results, is_second=False)
    # After all others, so that what a retriever remembers of the last question matters less.
    rest = [query for query in asked if query.id in twice and results[query.id].status == "ok"]
    if reopen is not None and any(query.id not in again for query in rest):
        ask = ask.anew(reopen)
    ask_all(ask, rest, again, is_second=True)
    found = [
        replace(results[query.id], again=again.get(query.id) if query.id in twice else None)
        for query in asked
    ]
    return without_distances(found, {query.id: query.corpus for query in asked})


NEARLY_ALL: Final = 0.9
"""The share of answers that have the same fault from which it is a fault of the retriever."""
_ENOUGH: Final = 5
"""Answers of one corpus from which it is judged apart."""


def without_distances(
    results: Sequence[QueryResult], corpora: Mapping[str, str]
) -> tuple[QueryResult, ...]:
    """Return results of which those with rising scores failed, where nearly all scores rise.

    Such scores are distances, or the answers come the worst first; either way it is not known which
    end is the best. A few such answers among others are only unsorted: the score decides. Answers
    without two different scores say neither. A corpus with a few answers is judged by itself, too,
    for each may have its own index.

    Parameters
    ----------
    results
        What was answered.
    corpora
        The corpus of each query, by the id of the query.
    """
    by_corpus: dict[str, list[QueryResult]] = {}
    for result in results:
        if RISING in result.problems or len({found.score for found in result.ranking}) > 1:
            by_corpus.setdefault(corpora[result.id], []).append(result)
    groups = [list(chain.from_iterable(by_corpus.values()))]
    groups += [group for group in by_corpus.values() if len(group) >= _ENOUGH]
    wrong: set[str] = set()
    for group in groups:
        rising = [result.id for result in group if RISING in result.problems]
        if rising and len(rising) >= NEARLY_ALL * len(group):
            wrong.update(rising)
    return tuple(
        QueryResult(
            result.id, "failed", error=FAILURES[RISING], seconds=result.seconds, failure=RISING
        )
        if result.id in wrong
        else result
        for result in results
    )


def sampled(ids: Collection[str], n: int, *, seed: int) -> frozenset[str]:
    """Return the ``n`` ids whose SHA-256 together with the seed is smallest, or all if fewer.

    Neither their order nor other queries beside them change which of two ids comes first.

    Examples
    --------
    >>> sorted(sampled(["a", "b", "c", "d"], 2, seed=1))
    ['a', 'd']
    >>> sampled(["a", "b"], 0, seed=1)
    frozenset()
    """

    def place(name: str) -> tuple[bytes, str]:
        return sha256(f"{seed}:{name}".encode("utf-8", "surrogatepass")).digest(), name

    return frozenset(sorted(ids, key=place)[:n])


@dataclass(frozen=True, slots=True)
class _Asker:
    """Asks one query; calling it never raises because of the retriever."""

    retriever: Retriever
    depth: int
    floor: float | None
    use_rerank: bool
    known: Mapping[str, frozenset[str]] | None
    without_own: bool = False
    unopened: BaseException | None = None
    """Why there is no retriever to ask."""

    @property
    def lower_is_better(self) -> bool | None:
        """Whether the retriever says that its scores are distances; None: it does not say."""
        return stated(self.retriever, "lower_is_better")

    @property
    def n_requested(self) -> int:
        """How many documents one query asks for."""
        return self.depth + self.without_own

    @property
    def batch_size(self) -> int:
        """How many queries one call takes."""
        if not self.use_rerank or not isinstance(self.retriever, AnswersTogether):
            return 1
        return max(1, int(self.retriever.batch_size))

    def groups(self, queries: Sequence[GoldQuery]) -> list[list[GoldQuery]]:
        """Return the queries by what one call takes: of one corpus, as many as a batch has."""
        size = self.batch_size
        by_corpus: dict[str, list[GoldQuery]] = {}
        for query in queries:
            by_corpus.setdefault(query.corpus, []).append(query)
        if size == 1:
            return [[query] for query in queries]
        groups = by_corpus.values()
        return [each[i : i + size] for each in groups for i in range(0, len(each), size)]

    def together(self, queries: Sequence[GoldQuery]) -> list[QueryResult]:
        """Return the results of a group; of a batch it is not known how long each query took."""
        if self.batch_size == 1:
            return [self(query) for query in queries]
        assert isinstance(self.retriever, AnswersTogether)
        texts = [query.query for query in queries]
        try:
            if self.unopened is not None:
                raise self.unopened
            corpus = queries[0].corpus
            answers = list(self.retriever.search_many(texts, corpus=corpus, k=self.n_requested))
            if len(answers) != len(queries):
                raise RetrieverError(f"{len(queries)} queries were asked, {len(answers)} answered")
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - as of a single query
            return [_failed(query, error) for query in queries]
        return [self._result(q, a) for q, a in zip(queries, answers, strict=True)]

    def __call__(self, query: GoldQuery) -> QueryResult:
        start = perf_counter()
        try:
            answer = self._answer(query)
        except KeyboardInterrupt:
            raise
        # The code of others may raise anything; leaving with sys.exit would look like success.
        except BaseException as error:  # noqa: BLE001
            answer = error
        # An iterator is asked as it is read.
        result = self._result(query, answer)
        return replace(result, seconds=perf_counter() - start)

    def _result(self, query: GoldQuery, answer: Any) -> QueryResult:
        try:
            if isinstance(answer, BaseException):
                raise answer
            known = self._known(query)
            docs, n_nothing = read_answer(answer, known)
            own = query.id if self.without_own else None
            n_known = None if known is None else len(known) - (own in known)
            ranked = rank(
                docs,
                depth=self.depth,
                floor=self.floor,
                n_known=n_known,
                n_nothing=n_nothing,
                own=own,
                lower_is_better=self.lower_is_better,
            )
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001
            if isinstance(error, RetrieverError) and error.code == MISSING:
                return QueryResult(query.id, "ok", problems=(MISSING,))
            return _failed(query, error)
        is_empty_in_file = isinstance(self.retriever, AnswersById) and not docs
        return QueryResult(
            query.id,
            "ok",
            ranking=ranked.ranking,
            is_refused=ranked.is_refused,
            problems=(EMPTY_IN_FILE,) if is_empty_in_file else ranked.problems,
        )

    def anew(self, reopen: Callable[[], Retriever]) -> _Asker:
        """Return what asks the retriever opened anew; where it cannot be, every query fails."""
        try:
            return replace(self, retriever=reopen())
        except (Exception, SystemExit) as error:  # noqa: BLE001
            return replace(self, unopened=error)

    def _known(self, query: GoldQuery) -> frozenset[str] | None:
        return None if self.known is None else self.known.get(query.corpus, frozenset())

    def _answer(self, query: GoldQuery) -> Any:
        if self.unopened is not None:
            raise self.unopened
        retriever, text, corpus, k = self.retriever, query.query, query.corpus, self.n_requested
        if not self.use_rerank:
            assert isinstance(retriever, Staged)
            return retriever.first_stage(text, corpus=corpus, k=k)
        if isinstance(retriever, AnswersById):
            return retriever.search_by_id(query.id, corpus=corpus, k=k)
        return retriever.search(text, corpus=corpus, k=k)

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


def _failed(query: GoldQuery, error: BaseException) -> QueryResult:
    code = error.code if isinstance(error, RetrieverError) else "raised"
    return QueryResult(query.id, "failed", error=_sentence(error), failure=code)


class _Report:
    """Counts finished queries for the caller."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self._total, self._progress = total, progress
        self._done = 0

    def __call__(self, name: str) -> None:
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, self._total, name)


def _answers(
    answer: Callable[[Sequence[GoldQuery]], list[QueryResult]],
    groups: Sequence[Sequence[GoldQuery]],
    jobs: int,
) -> Generator[list[QueryResult], None, None]:
    """Yield the answers as they come; closed early, it asks no further query."""
    if jobs == 1:
        yield from map(answer, groups)
        return
    executor = ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="search")
    try:
        waiting = [executor.submit(answer, group) for group in groups]
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


def _chosen(
    gold: GoldSet, corpora: Collection[str] | None, ids: Collection[str] | None
) -> list[GoldQuery]:
    queries = list(gold.queries)
    if ids is not None:
        wanted = frozenset(ids)
        if unknown := sorted(wanted - {query.id for query in queries}):
            raise BadInputError(f"the gold set has no query {unknown[0]!r}")
        queries = [query for query in queries if query.id in wanted]
    if corpora is None:
        return queries
    known = {query.corpus for query in gold.queries}
    unknown = sorted(set(corpora) - known)
    if unknown:
        raise BadInputError(
            f"no gold query belongs to corpus {', '.join(map(repr, unknown))};"
            f" the gold set has {', '.join(map(repr, sorted(known))) or 'none'}"
        )
    return [query for query in queries if query.corpus in corpora]


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


def describe_retriever(retriever: object) -> dict[str, Any]:
    """Return what a retriever says of itself as JSON; nothing where it does not describe itself.

    Raises
    ------
    BadInputError
        When ``describe`` raises, or returns what JSON cannot hold.

    Examples
    --------
    >>> describe_retriever(object())
    {}
    """
    if not isinstance(retriever, Described):
        return {}
    try:
        facts = json.loads(json_bytes(retriever.describe()))
    except (Exception, SystemExit) as error:
        raise BadInputError(
            f"the retriever's describe() is of no use ({_sentence(error)});"
            " expected a mapping of JSON values"
        ) from error
    if not isinstance(facts, dict):
        raise BadInputError("the retriever's describe() returned no mapping; expected JSON values")
    return facts


def says(retriever: object, name: str) -> bool:
    """Return whether a retriever says of itself that something is so, such as ``is_thread_safe``.

    Raises
    ------
    BadInputError
        When looking at the attribute raises an error.
    """
    return stated(retriever, name) is True


def stated(retriever: object, name: str) -> bool | None:
    """Return what a retriever says of itself by an attribute; None where it says nothing.

    Raises `BadInputError` as `says` does.
    """
    try:
        value = getattr(retriever, name, None)
        return value if isinstance(value, bool) else None
    except (Exception, SystemExit) as error:
        raise BadInputError(f"the retriever's {name} is of no use ({_sentence(error)})") from error


def known_documents_of(retriever: object) -> dict[str, frozenset[str]] | None:
    """Return the ids of all documents of each corpus, None for a retriever that does not say.

    Raises
    ------
    BadInputError
        When ``known_documents`` raises, or is no mapping from corpora to ids.

    Examples
    --------
    >>> known_documents_of(object()) is None
    True
    """
    stated: Any = None
    try:
        if isinstance(retriever, KnowsDocuments):
            stated = retriever.known_documents
    except (Exception, SystemExit) as error:
        raise BadInputError(
            f"the retriever's known_documents is of no use ({_sentence(error)})"
        ) from error
    if stated is None:
        return None
    if not isinstance(stated, Mapping) or not all(map(_lists_ids, stated, stated.values())):
        raise BadInputError(
            "the retriever's known_documents is of no use; expected the ids of all documents by"
            " corpus, as text"
        )
    return {corpus: frozenset(ids) for corpus, ids in stated.items()}


def _lists_ids(corpus: object, ids: object) -> bool:
    if not isinstance(ids, Collection) or isinstance(ids, str):
        return False
    return all(isinstance(text, str) for text in (corpus, *ids))


@dataclass(frozen=True, slots=True)
class Journal:
    """A JSONL file: a header that says which settings it belongs to, then a result a line."""

    path: Path
    _lock: Lock = field(default_factory=Lock, repr=False, compare=False)

    def record(self, result: QueryResult, *, is_second: bool = False) -> None:
        """Append one result as a whole line; may be called from several threads.

        ``is_second`` marks what came back when a query was asked again.

        Raises
        ------
        BadInputError
            When the file cannot be written.
        """
        try:
            with self._lock:
                append_line(self.path, _line(result, is_second=is_second))
        except OSError as error:
            raise _cannot_be("written", self.path, error) from error


def open_journal(
    path: Path, settings: Mapping[str, Any], *, fresh: bool = False
) -> tuple[Journal, dict[str, QueryResult], dict[str, QueryResult]]:
    """Return the journal at ``path`` and the first and second answers it holds, by query id.

    Failed queries are left out, and answers that an earlier version let pass (see
    :data:`UNTRUSTED`): they are asked again. A last line without its end was being
    written when the run stopped, and is dropped. ``fresh`` begins the journal anew.

    Raises
    ------
    BadInputError
        When the file is no journal (it is left alone), when a line of it is broken, or when it
        belongs to a run with other settings and it is not begun anew.
    """
    # As they come back from the file, so that tuples and lists do not differ.
    wanted = json.loads(json_bytes(dict(settings)))
    first: dict[str, QueryResult] = {}
    second: dict[str, QueryResult] = {}
    try:
        lines = _whole_lines(path) if path.exists() else []
    except OSError as error:
        raise _cannot_be("read", path, error) from error
    if lines:
        _refuse_other(path, lines[0], wanted, fresh=fresh)
    if lines and not fresh:
        for number, row in enumerate(lines[1:], 2):
            result, is_second = _result(path, number, row)
            if _is_answer(result):
                (second if is_second else first)[result.id] = result
        # The second answer to what was not answered at first belongs to no answer.
        second = {name: result for name, result in second.items() if name in first}
    try:
        rows = [_line(result) for result in first.values()]
        rows += [_line(result, is_second=True) for result in second.values()]
        write_bytes(path, b"".join([_header(wanted), *rows]))
    except OSError as error:
        raise _cannot_be("written", path, error) from error
    return Journal(path), first, second


def documents_fingerprint(documents: Mapping[str, Collection[str]]) -> str:
    """Return the SHA-256 over the document ids of each corpus."""
    listed = {name: sorted(ids) for name, ids in documents.items()}
    return sha256(json.dumps(listed, sort_keys=True).encode()).hexdigest()


def _cannot_be(what: str, path: Path, error: OSError) -> BadInputError:
    return BadInputError(f"{path}: the journal cannot be {what}: {error.strerror or error}")


def _is_answer(result: QueryResult) -> bool:
    return result.status == "ok" and UNTRUSTED.keys().isdisjoint(result.problems)


def _whole_lines(path: Path) -> list[bytes]:
    data, problem = read_bytes(path, path.resolve().parent)
    if problem is not None:
        raise BadInputError(f"the journal cannot be used: {problem}")
    if data and b"\n" not in data:
        raise BadInputError(f"{path}: not a journal of a search run; name another file")
    return data.split(b"\n")[:-1]


def _header(settings: dict[str, Any]) -> bytes:
    digest = sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()
    return json_bytes({"journal": _FORMAT, "fingerprint": digest, "settings": settings})


def _refuse_other(path: Path, line: bytes, wanted: dict[str, Any], *, fresh: bool) -> None:
    header, _ = decode(line.decode("utf-8", "replace"))
    settings = header.get("settings") if isinstance(header, dict) else None
    if not isinstance(settings, dict) or header.get("journal") != _FORMAT:
        raise BadInputError(f"{path}: not a journal of a search run; name another file")
    if fresh or settings == wanted:
        return
    names = sorted(settings.keys() | wanted.keys())
    differing = [name for name in names if settings.get(name) != wanted.get(name)]
    raise BadInputError(
        f"{path}: belongs to an unfinished run with other settings"
        f" ({', '.join(differing)}); finish that run, {_START_ANEW}"
    )


def _line(result: QueryResult, *, is_second: bool = False) -> bytes:
    return json_bytes(
        {
            "id": result.id,
            **({"is_second": True} if is_second else {}),
            "status": result.status,
            "error": result.error,
            "failure": result.failure,
            "ranking": [[doc.doc, doc.score] for doc in result.ranking],
            "is_refused": result.is_refused,
            "problems": list(result.problems),
            "seconds": result.seconds,
        }
    )


def _result(path: Path, number: int, line: bytes) -> tuple[QueryResult, bool]:
    row, _ = decode(line.decode("utf-8", "replace"))
    if not isinstance(row, dict) or not _is_result(row):
        raise BadInputError(f"{path}: line {number}: no result of a query; {_START_ANEW}")
    result = QueryResult(
        id=row["id"],
        status=cast("Status", row["status"]),
        error=row["error"],
        ranking=tuple(ScoredDoc(doc, float(score)) for doc, score in row["ranking"]),
        is_refused=row["is_refused"],
        problems=tuple(row["problems"]),
        seconds=row["seconds"],
        failure=row.get("failure"),
    )
    return result, row.get("is_second") is True


def _is_result(row: dict[str, Any]) -> bool:
    ranking, problems = row.get("ranking"), row.get("problems")
    return (
        isinstance(row.get("id"), str)
        and row.get("status") in ("ok", "failed")
        and isinstance(row.get("error", 0), str | None)
        and isinstance(row.get("failure"), str | None)
        and isinstance(row.get("is_refused"), bool)
        and isinstance(problems, list)
        and all(isinstance(code, str) for code in problems)
        and isinstance(ranking, list)
        and all(map(_is_document, ranking))
        and (row.get("seconds", "") is None or _is_number(row.get("seconds")))
    )


def _is_document(pair: Any) -> bool:
    is_pair = isinstance(pair, list) and len(pair) == 2
    return is_pair and isinstance(pair[0], str) and _is_number(pair[1])


def _is_number(value: Any) -> bool:
    is_number = isinstance(value, float | int) and not isinstance(value, bool)
    return is_number and abs(value) <= sys.float_info.max
