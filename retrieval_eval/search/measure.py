"""Measure a retriever: ask it every gold query, score, compare with the baseline, write."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.io.files import remove, write_atomically
from retrieval_eval.io.locks import alone
from retrieval_eval.io.user_files import DATA, GOLD
from retrieval_eval.model import to_builtins
from retrieval_eval.model.gold import GoldSet
from retrieval_eval.model.search_run import CorpusFacts, SearchRun
from retrieval_eval.records import Progress
from retrieval_eval.schema import now
from retrieval_eval.search.ask import AnswersById, Retriever
from retrieval_eval.search.ask.options import shown_options, shown_spec
from retrieval_eval.search.ask.retrievers import open_retriever
from retrieval_eval.search.change.baseline import compare_with_baseline
from retrieval_eval.search.gold import load_gold_set
from retrieval_eval.search.gold.corpus import Corpus, corpus_fingerprint, read_corpus
from retrieval_eval.search.gold.database import BacklogSource, read_backlog
from retrieval_eval.search.gold.identity import (
    Pinned,
    pinned_facts,
    pinning_faults,
    read_pinned,
)
from retrieval_eval.search.run import Settings
from retrieval_eval.search.run.abstention import check_threshold
from retrieval_eval.search.run.document import (
    load_search_run,
    retriever_facts,
    run_bytes,
    search_run,
)
from retrieval_eval.search.run.markdown import to_markdown
from retrieval_eval.search.run.running import (
    describe_retriever,
    known_documents_of,
    run_queries,
    says,
)
from retrieval_eval.search.run.scoring import score_run
from retrieval_eval.search.run.trust import ASK_TWICE, check_limits, label_facts, sample_of
from retrieval_eval.values import counted

DEFAULT_GOLD: Final = GOLD
DEFAULT_OUT: Final = DATA
JOURNAL: Final = "search-run.journal.jsonl"

_HIDDEN: Final = "***"
"""What stands in a run in place of a secret."""

OnResume = Callable[[int, int], None]
"""Called with the number of queries that an interrupted run has answered, and that of all."""


def run_search(
    gold_set: GoldSet | Path,
    retriever: Retriever | str,
    *,
    options: Mapping[str, str] | None = None,
    corpora: Collection[str] = (),
    corpus: Corpus | Path | None = None,
    label: str = "",
    settings: Settings | None = None,
    floor: float | None = None,
    abstain_at: float | None = None,
    use_rerank: bool = True,
    baseline: Path | None = None,
    backlog: str | BacklogSource | None = None,
    jobs: int = 1,
    journal: Path | None = None,
    fresh: bool = False,
    progress: Progress | None = None,
    on_resume: OnResume | None = None,
    queries: Collection[str] | Path | None = None,
    max_failed: float = 0.0,
    ask_twice: int = ASK_TWICE,
    is_repeat: bool = False,
) -> SearchRun:
    """Ask a retriever the queries of a gold set and score what it returns.

    Nothing is written but the journal, where one is named. A query that fails is recorded, and the
    run has no verdict then, unless so few failed as ``max_failed`` allows.

    Parameters
    ----------
    gold_set
        The gold set, or its file.
    retriever
        An object with ``search(query, *, corpus, k)``, or what `open_retriever` opens, such as
        ``bm25:corpus.jsonl`` or ``package.module:name``.
    options
        For a retriever given by name: its options, as text.
    corpora
        Only queries of these corpora; by default of all.
    corpus
        The documents, or their file: an answer that names another one fails.
    label
        What to call the run.
    settings
        Cut-offs, depth of the rankings, the seed of resampling, and whether the document that has
        the id of the query is left out.
    floor
        Documents scored below are dropped; a query that loses all of them counts as refused.
    abstain_at
        A query whose top score lies below counts as refused.
    use_rerank
        False: ask for the first stage only, of a retriever that shows its stages.
    baseline
        A search run to compare with.
    backlog
        A database URL or a JSONL file of labels under review, which are counted.
    jobs
        Queries asked at once, of a retriever that allows it.
    journal
        A file that keeps answers: an interrupted run continues there, unless ``fresh``.
    progress
        Called after each query.
    on_resume
        Called when a journal holds answers.
    queries
        Only these queries: their ids, or a pinned list (`read_pinned`) of them.
    max_failed
        The share of failed queries up to which the run has a verdict. Means are over the others,
        with bounds (``failed_low``, ``failed_high``) as if those had scored 0 or 1.
    ask_twice
        How many queries are asked a second time (`sampled`), to see whether the answers are the
        same. A retriever given by name is opened anew before. One that says ``is_deterministic =
        True`` and gives another answer counts as one that does not say so.
    is_repeat
        Of a repeated run only queries and means are needed: it has no slices, intervals, bounds
        of unjudged documents or comparison with random documents.

    Returns
    -------
    SearchRun
        Per query, per corpus, area, origin and source, and
        overall, every measure with its interval, ties and unjudged bounds.

    Raises
    ------
    BadInputError
        When the gold set, the retriever, the baseline or an option cannot be used.
    NothingToEvaluateError
        When no query is left to ask.

    Examples
    --------
    >>> from retrieval_eval.model.gold import GoldQuery, GoldSet
    >>> class Library:
    ...     def search(self, query, *, corpus, k):
    ...         return [("d1", 2.0), ("d2", 1.0)]
    >>> gold = GoldSet((GoldQuery("q1", "which port?", "docs", relevant={"d2": 1}),), "0" * 64)
    >>> run = run_search(gold, Library())
    >>> run.metrics["RR"].value
    0.5
    """
    gold = gold_set if isinstance(gold_set, GoldSet) else load_gold_set(gold_set)
    if not gold.queries:
        raise NothingToEvaluateError(f"{gold.path or 'the gold set'} holds no query")
    # Whatever cannot be used is found before the first query is asked.
    check_threshold(abstain_at)
    check_limits(max_failed, ask_twice)
    settings = settings or Settings()
    pinned, ids = None, queries
    if isinstance(queries, Path):
        pinned = _pinned(queries, gold)
        ids = pinned.ids
    assert not isinstance(ids, Path)
    chosen = sorted(set(corpora) or _corpora_of(gold, ids))
    before = None if baseline is None else load_search_run(baseline)
    documents = read_corpus(corpus) if isinstance(corpus, Path) else corpus
    if documents is not None:
        _check_corpora(documents, chosen)
    waiting = None if backlog is None else _backlog(backlog)
    spec, asked = _opened(retriever, options or {})
    facts = describe_retriever(asked)
    known = known_documents_of(asked) if documents is None else documents.ids()
    is_declared = says(asked, "is_deterministic")
    # What a retriever remembers of its first answer is no second one, whatever it declares; and an
    # index that several threads build is another one each time. A file is the same file.
    is_reopened = isinstance(retriever, str) and not isinstance(asked, AnswersById)
    results = run_queries(
        gold,
        asked,
        depth=settings.depth,
        corpora=chosen,
        floor=floor,
        use_rerank=use_rerank,
        journal=journal,
        progress=progress,
        jobs=jobs,
        known_documents=known,
        # As it is shown, for the journal is a file too.
        identity={"spec": shown_spec(spec), "options": shown_options(options or {})},
        fresh=fresh,
        on_resume=on_resume,
        queries=ids,
        ask_twice=ask_twice,
        seed=settings.seed,
        without_own=settings.without_own,
        reopen=(lambda: open_retriever(spec, options or {})) if is_reopened else None,
    )
    if not results:
        raise NothingToEvaluateError("no query is left to ask")
    used = retriever_facts(spec, options, facts, uses_rerank=use_rerank, floor=floor)
    run = search_run(
        gold,
        score_run(gold, results, settings, is_repeat=is_repeat),
        retriever=used,
        corpora=[_corpus_facts(name, documents, facts) for name in chosen],
        generated_at=now(),
        label=label,
        backlog=waiting,
        abstain_at=abstain_at,
        ids_checked=known is not None,
        max_failed=max_failed,
        is_declared=is_declared,
        sample=sample_of(ask_twice, settings.seed, is_reopened=is_reopened),
        pinned=None if pinned is None else pinned_facts(pinned),
        labels=label_facts(
            gold,
            {one.id for one in results},
            used.name,
            documents,
            known,
            settings=settings,
        ),
        n_other_queries=_n_other_queries(asked, gold),
        machine=None if isinstance(asked, AnswersById) else machine(),
    )
    if before is None:
        return run
    return compare_with_baseline(before, run, seed=settings.seed)


@dataclass(frozen=True, slots=True)
class Request:
    """A run to make, perhaps several times; see `run_search` for the meaning of each field."""

    gold_path: Path
    retriever: str
    options: Mapping[str, str] = field(default_factory=dict)
    corpora: Collection[str] = ()
    corpus_file: Path | None = None
    label: str = ""
    settings: Settings = field(default_factory=Settings)
    floor: float | None = None
    abstain_at: float | None = None
    use_rerank: bool = True
    baseline: Path | None = None
    backlog: str | BacklogSource | None = None
    out: Path = DEFAULT_OUT
    jobs: int = 1
    fresh: bool = False
    queries: Path | None = None
    max_failed: float = 0.0
    ask_twice: int = ASK_TWICE


def again(run: SearchRun, gold_path: Path, retriever: str | None = None, **more: Any) -> Request:
    """Return the request that asks the retriever of a run once more, as the run says it was asked.

    ``retriever`` is asked in its place. Raises `BadInputError` where the run does not keep the
    address of its retriever, or the value of an option, because that is a secret.
    """
    facts, settings = run.run.retriever, run.run.settings
    hidden = [f"option {name}" for name, value in facts.options.items() if _HIDDEN in value]
    if retriever is None and _HIDDEN in facts.spec:
        hidden.append("retriever")
    if hidden:
        raise BadInputError(
            f"the run does not keep its {' and '.join(hidden)}, which holds a secret; name "
            "finished runs of the system instead"
        )
    return Request(
        gold_path,
        retriever or facts.spec,
        options=facts.options,
        corpora=[one.corpus for one in run.run.corpora],
        settings=Settings(
            settings.k_values,
            settings.depth,
            settings.seed,
            without_own=settings.without_own,
        ),
        floor=facts.floor,
        use_rerank=facts.uses_rerank,
        abstain_at=None if run.abstention is None else run.abstention.threshold,
        **more,
    )


@dataclass(frozen=True, slots=True)
class Measured:
    """A search run and where it was written."""

    run: SearchRun
    json_path: Path
    markdown_path: Path


def measure_request(
    request: Request, *, progress: Progress | None = None, on_resume: OnResume | None = None
) -> Measured:
    """Make the run of a request and write its reports.

    They are ``eval-report-<utc>.json`` and ``.md`` in the folder ``out``; an older one is never
    overwritten. The journal of an interrupted run lies beside them and goes when a run is done.
    """
    journal = request.out / JOURNAL
    with alone(journal, "measures into this folder"):
        run = measured_run(request, journal=journal, progress=progress, on_resume=on_resume)
        written = _write(run, request.out)
        remove(journal, request.out)
    return written


def measured_run(
    request: Request,
    *,
    journal: Path | None = None,
    progress: Progress | None = None,
    on_resume: OnResume | None = None,
    is_repeat: bool = False,
    gold: GoldSet | None = None,
) -> SearchRun:
    """Return the search run of a request, of a repeated one what `run_search` says.

    The retriever is opened anew, so that what one run remembers does not answer for the next.
    ``gold`` is the gold set of the request, where it was read before.
    """
    return run_search(
        request.gold_path if gold is None else gold,
        request.retriever,
        options=request.options,
        corpora=request.corpora,
        corpus=request.corpus_file,
        label=request.label,
        settings=request.settings,
        floor=request.floor,
        abstain_at=request.abstain_at,
        use_rerank=request.use_rerank,
        baseline=request.baseline,
        backlog=request.backlog,
        jobs=request.jobs,
        journal=journal,
        fresh=request.fresh,
        progress=progress,
        on_resume=on_resume,
        queries=request.queries,
        max_failed=request.max_failed,
        ask_twice=request.ask_twice,
        is_repeat=is_repeat,
    )


def _pinned(path: Path, gold: GoldSet) -> Pinned:
    """Return a pinned list whose queries the gold set has as they were when they were pinned."""
    pinned = read_pinned(path)
    if faults := pinning_faults(pinned, gold, {query.id for query in gold.queries}):
        raise NothingToEvaluateError(
            f"{'; '.join(faults)}; `search guard --init --pin N` pins anew"
        )
    return pinned


def _n_other_queries(retriever: Retriever, gold: GoldSet) -> int | None:
    """Return how many queries a ranked file has that the gold set lacks."""
    if not isinstance(retriever, AnswersById):
        return None
    return len(set(retriever.query_ids) - {query.id for query in gold.queries})


def _corpora_of(gold: GoldSet, ids: Collection[str] | None) -> set[str]:
    return {query.corpus for query in gold.queries if ids is None or query.id in ids}


def _opened(retriever: Retriever | str, options: Mapping[str, str]) -> tuple[str, Retriever]:
    """Return a retriever and its spec; that of an object is where its class is."""
    if isinstance(retriever, str):
        return retriever, open_retriever(retriever, options)
    if options:
        raise BadInputError("a retriever that is an object takes no options")
    if not isinstance(retriever, Retriever):
        raise BadInputError(
            f"a value of type {type(retriever).__name__} is no retriever; expected an object with"
            " search(query, *, corpus, k), or the name of one"
        )
    kind = type(retriever)
    return f"{kind.__module__}:{kind.__qualname__}", retriever


def _write(run: SearchRun, out: Path) -> Measured:
    moment = datetime.fromisoformat(run.generated_at)
    first = stem = f"eval-report-{moment:%Y%m%dT%H%M%SZ}"
    number = 1
    while (out / f"{stem}.json").exists():
        number += 1
        stem = f"{first}-{number}"
    measured = Measured(run, out / f"{stem}.json", out / f"{stem}.md")
    # The Markdown first: where the JSON report is, the run is whole.
    write_atomically(
        {
            measured.markdown_path: to_markdown(run).encode(),
            measured.json_path: run_bytes(to_builtins(run)),
        }
    )
    return measured


def machine() -> str:
    """Return the kind of this machine: system, processor and how many; nothing that names it."""
    system = platform.uname()
    name = f"{system.system} {system.machine}, {counted(os.cpu_count() or 1, 'processor')}"
    with suppress(OSError), Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if line.startswith("model name"):
                return f"{name} ({' '.join(line.partition(':')[2].split())[:80]})"
    return name


def _check_corpora(corpus: Corpus, chosen: Collection[str]) -> None:
    """Refuse a file that would make every answer fail, for it has no document of any corpus."""
    found = corpus.ids()
    if found.keys().isdisjoint(chosen):
        asked, has = (", ".join(map(repr, sorted(names))) for names in (chosen, found))
        raise BadInputError(
            f"{corpus.path}: no document belongs to corpus {asked} of the gold queries (it has"
            f' {has}); each line states its "corpus"'
        )


def _backlog(source: str | BacklogSource) -> dict[str, Any]:
    return to_builtins(read_backlog(source))


def _corpus_facts(name: str, corpus: Corpus | None, facts: Mapping[str, Any]) -> CorpusFacts:
    size, digest = None, None
    if corpus is not None:
        documents = [document for document in corpus.documents if document.corpus == name]
        size, digest = len(documents), corpus_fingerprint(documents)
    else:
        stated = facts.get("corpora")
        for known in stated if isinstance(stated, list) else ():
            if isinstance(known, dict) and known.get("corpus") == name:
                size, digest = known.get("n_documents"), known.get("fingerprint")
                break
    return CorpusFacts(
        corpus=name,
        n_documents=size if isinstance(size, int) and size >= 0 else None,
        fingerprint=digest if isinstance(digest, str) else None,
    )
