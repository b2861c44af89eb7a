"""The whole of ``search run``: ask the retriever, score, compare with the baseline, write."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.gold.backlog import read_backlog
from retrieval_eval.gold.corpus import Corpus, corpus_fingerprint, read_corpus
from retrieval_eval.gold.gold_set import load_gold_set
from retrieval_eval.io.files import remove, write_bytes, write_text
from retrieval_eval.records import Progress
from retrieval_eval.schema import now
from retrieval_eval.search.abstention import check_threshold
from retrieval_eval.search.baseline import held_against
from retrieval_eval.search.document import CorpusUse, RetrieverUse, search_run
from retrieval_eval.search.facts import documents_of, facts_of
from retrieval_eval.search.markdown import to_markdown
from retrieval_eval.search.retrievers import open_retriever
from retrieval_eval.search.run_files import read_search_run, run_bytes
from retrieval_eval.search.running import run_queries
from retrieval_eval.search.scoring import score_run
from retrieval_eval.search.secrets import shown_options, shown_spec
from retrieval_eval.search.settings import Settings

DEFAULT_GOLD: Final = Path("data/eval/gold-set.jsonl")
DEFAULT_OUT: Final = Path("data/eval")
JOURNAL: Final = "search-run.journal.jsonl"


@dataclass(frozen=True, slots=True)
class Request:
    """What to measure and how; see `measure` for the meaning of each."""

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
    backlog: str | None = None
    out: Path = DEFAULT_OUT
    jobs: int = 1
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class Measured:
    """A search run and where it was written."""

    document: dict[str, Any]
    json_path: Path
    markdown_path: Path


def measure(gold_path: Path, retriever: str, **options: Any) -> dict[str, Any]:
    """Measure a retriever against a gold set, write the reports and return the search run.

    Parameters
    ----------
    gold_path
        The gold set.
    retriever
        What `open_retriever` opens, such as ``bm25:corpus.jsonl`` or ``package.module:name``.
    options
        ``options``: for the retriever, name to text. ``corpora``: only queries of these (none
        named: of all). ``corpus_file``: the documents; an answer that names another fails.
        ``label``, ``settings``, ``floor`` (documents scored below it are dropped), ``abstain_at``
        (a query whose top score lies below it counts as refused), ``use_rerank``, ``baseline`` (a
        search run to compare with), ``backlog`` (a database URL or JSONL file of labels under
        review), ``out`` (folder of the reports), ``jobs`` (queries asked at once, of a retriever
        that allows it), ``fresh`` (do not take up an interrupted run), ``progress``.

    Raises
    ------
    BadInputError
        When the gold set, the retriever, the baseline or an option cannot be used; nothing is
        written then.
    NothingToEvaluateError
        When no query is left to ask.
    """
    progress: Progress | None = options.pop("progress", None)
    return measure_request(Request(gold_path, retriever, **options), progress=progress).document


def measure_request(
    request: Request,
    *,
    progress: Progress | None = None,
    taken_up: Callable[[int, int], None] | None = None,
) -> Measured:
    """Do what `measure` does; also say where the reports are.

    The reports are ``eval-report-<utc>.json`` and ``.md``; an older one is never overwritten.
    The journal of an interrupted run lies beside them and goes when a run is done; ``taken_up`` is
    called with the number of queries it answers, and that of all.
    """
    journal = request.out / JOURNAL
    document = measured_document(request, journal=journal, progress=progress, taken_up=taken_up)
    written = _write(document, request.out)
    remove(journal, request.out)
    return written


def measured_document(
    request: Request,
    *,
    journal: Path | None = None,
    progress: Progress | None = None,
    taken_up: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Return the search run of a request; nothing is written but the journal, where one is named.

    The retriever is opened anew, so that what one run remembers does not answer for the next.
    """
    gold = load_gold_set(request.gold_path)
    chosen = sorted(set(request.corpora) or {query.corpus for query in gold.queries})
    if not gold.queries:
        raise NothingToEvaluateError(f"{request.gold_path} holds no query")
    # Whatever cannot be used is found before the first query is asked.
    check_threshold(request.abstain_at)
    baseline = None if request.baseline is None else read_search_run(request.baseline)
    corpus = None if request.corpus_file is None else read_corpus(request.corpus_file)
    if corpus is not None:
        _check_corpora(corpus, chosen)
    backlog = None if request.backlog is None else _backlog(request.backlog)
    retriever = open_retriever(request.retriever, request.options)
    facts = facts_of(retriever)
    known = documents_of(retriever) if corpus is None else corpus.ids()
    settings = request.settings
    results = run_queries(
        gold,
        retriever,
        depth=settings.depth,
        corpora=chosen,
        floor=request.floor,
        use_rerank=request.use_rerank,
        journal=journal,
        progress=progress,
        jobs=request.jobs,
        known_documents=known,
        # As it is shown, for the journal is a file too.
        identity={
            "spec": shown_spec(request.retriever),
            "options": shown_options(request.options),
        },
        fresh=request.fresh,
        taken_up=taken_up,
    )
    document = search_run(
        gold,
        score_run(gold, results, settings),
        retriever=RetrieverUse(
            request.retriever, request.options, facts, request.use_rerank, request.floor
        ),
        corpora=[_corpus_use(name, corpus, facts) for name in chosen],
        generated_at=now(),
        label=request.label,
        backlog=backlog,
        abstain_at=request.abstain_at,
        ids_checked=known is not None,
    )
    if baseline is not None:
        document |= held_against(baseline, document, seed=settings.seed)
    return document


def _write(document: dict[str, Any], out: Path) -> Measured:
    moment = datetime.fromisoformat(document["generated_at"])
    first = stem = f"eval-report-{moment:%Y%m%dT%H%M%SZ}"
    number = 1
    while (out / f"{stem}.json").exists():
        number += 1
        stem = f"{first}-{number}"
    measured = Measured(document, out / f"{stem}.json", out / f"{stem}.md")
    # The Markdown first: where the JSON report is, the run is whole.
    write_text(measured.markdown_path, to_markdown(document))
    write_bytes(measured.json_path, run_bytes(document))
    return measured


def _check_corpora(corpus: Corpus, chosen: Collection[str]) -> None:
    """Refuse a file that would make every answer fail, for it has no document of any corpus."""
    found = corpus.ids()
    if found.keys().isdisjoint(chosen):
        asked, has = (", ".join(map(repr, sorted(names))) for names in (chosen, found))
        raise BadInputError(
            f"{corpus.path}: no document belongs to corpus {asked} of the gold queries (it has"
            f' {has}); each line states its "corpus"'
        )


def _backlog(source: str) -> dict[str, Any]:
    return read_backlog(source).to_json()


def _corpus_use(name: str, corpus: Corpus | None, facts: Mapping[str, Any]) -> CorpusUse:
    if corpus is not None:
        documents = [d for d in corpus.documents if d.corpus == name]
        return CorpusUse(name, len(documents), corpus_fingerprint(documents))
    stated = facts.get("corpora")
    for known in stated if isinstance(stated, list) else ():
        if isinstance(known, dict) and known.get("corpus") == name:
            size, digest = known.get("n_documents"), known.get("fingerprint")
            return CorpusUse(
                name,
                size if isinstance(size, int) and size >= 0 else None,
                digest if isinstance(digest, str) else None,
            )
    return CorpusUse(name)
