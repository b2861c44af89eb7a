"""A file of rankings as a retriever: what another program found, measured here."""

from __future__ import annotations

import os
from codecs import BOM_UTF8
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any, Final, Literal

from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import decode, iter_jsonl
from retrieval_eval.io.user_files import read_user_bytes
from retrieval_eval.search.ask import (
    MISSING,
    RetrieverError,
    ScoredDoc,
    nothing,
    read_answer,
    rises,
    says_nothing,
    says_rank_only,
)
from retrieval_eval.search.ask.options import Options
from retrieval_eval.search.ask.retrievers import RETRIEVERS, RetrieverKind, file_of
from retrieval_eval.search.gold.identity import normalize_query, sha256_file

Layout = Literal["trec", "jsonl"]

OPTIONS: Final = ("best", "missing")


@dataclass(frozen=True, slots=True)
class RankedFile:
    """Rankings by query id, each in the order that the file states.

    That is the order of the rank column of a TREC run and then of its lines, or of the list in a
    line of JSONL. The score decides what is best; where nearly all scores rise along the stated
    order it is not known which end that is, unless ``lower_is_better`` is stated.

    A query that the file does not name is missing: the run is incomplete, and its numbers count the
    query as trec_eval ``-c`` does. With ``missing_is_empty`` nothing was found for it, which a TREC
    run cannot say otherwise.
    """

    path: Path
    layout: Layout
    rankings: Mapping[str, tuple[ScoredDoc, ...]] = field(repr=False)
    id_of: Mapping[str, str] = field(repr=False)
    """Query id by normalised query text, of the rows that state a text."""
    sha256: str
    n_nothing: Mapping[str, int] = field(default_factory=dict, repr=False)
    """Places with a score that says that nothing was found, by query id."""
    lower_is_better: bool | None = None
    missing_is_empty: bool = False

    is_thread_safe = True
    is_deterministic = True

    @property
    def query_ids(self) -> Collection[str]:
        """The ids of the queries that the file names."""
        return self.rankings.keys()

    def search_by_id(self, query_id: str, *, corpus: str, k: int) -> list[ScoredDoc]:
        """Return the best ``k`` documents for a query in the order that the file states.

        Ids of queries are unique over all corpora.

        Raises
        ------
        RetrieverError
            When the file has no line for the query.
        """
        ranking = self.rankings.get(query_id)
        if ranking is None and not self.missing_is_empty:
            raise RetrieverError(
                f"{self.path.name}: no line for query {query_id!r} (of corpus {corpus!r})", MISSING
            )
        found = list(ranking or ())
        if len(found) > k:
            found = found[:k] if says_rank_only(found) else self._cut(found, k)
        return found + nothing(self.n_nothing.get(query_id, 0))

    def _cut(self, found: list[ScoredDoc], k: int) -> list[ScoredDoc]:
        best = sorted(found, key=self._goodness, reverse=True)[:k]
        chosen = set(best)
        kept = [each for each in found if each in chosen]
        # Whether scores rise is a matter of all that the file states, not of a few of them.
        return best if rises(kept) and not rises(found) else kept

    def _goodness(self, found: ScoredDoc) -> tuple[float, str]:
        return (-found.score if self.lower_is_better else found.score), found.doc

    def search(self, query: str, *, corpus: str, k: int) -> list[ScoredDoc]:
        """Return the first ``k`` documents for a query given by its text, or else by its id."""
        return self.search_by_id(self.id_of.get(normalize_query(query), query), corpus=corpus, k=k)

    def describe(self) -> dict[str, Any]:
        """Return the file's name, layout, number of queries and SHA-256."""
        return {
            "name": self.path.name,
            "reranker": None,
            "layout": self.layout,
            "n_queries": len(self.rankings),
            "sha256": self.sha256,
        }


def open_ranked_file(path: Path, options: Mapping[str, str]) -> RankedFile:
    """Return the rankings in a TREC run or a JSONL file; its first line, parsed, says which.

    A JSONL line is ``{"id": …, "ranking": […]}`` with documents as in
    :func:`~retrieval_eval.search.ask.read_documents`, and may state the text of its
    ``query``. The score decides the order, not the place; documents without any score keep theirs.
    The option ``best`` says which scores are best, ``high`` or ``low`` ones (distances), and
    ``missing=empty`` that nothing was found for the queries that have no line.

    Raises
    ------
    BadInputError
        When the file cannot be read or holds no document, a line is no ranking, a document or a
        query occurs twice, or a score is no finite number; the message names the lines.
    """
    given = Options("run", options)
    given.only(OPTIONS)
    is_low = given.choice("best", "high", ("high", "low")) == "low" if options else None
    is_empty = given.choice("missing", "incomplete", ("incomplete", "empty")) == "empty"
    layout = _layout(path)
    rankings, id_of, n_nothing = _read_jsonl(path) if layout == "jsonl" else _read_run(path)
    if not any(rankings.values()):
        raise BadInputError(f"{path}: no query has a document")
    digest = sha256_file(path)
    return RankedFile(path, layout, rankings, id_of, digest, n_nothing, is_low, is_empty)


def _layout(path: Path) -> Layout:
    """Return how a file is laid out: in JSONL if its first line is a JSON object."""
    from retrieval_eval.ranking.trec import trec_row

    for number, line in enumerate(BytesIO(read_user_bytes(path).removeprefix(BOM_UTF8)), 1):
        if not line.strip():
            continue
        try:
            value, problem = decode(line.decode("utf-8"))
        except UnicodeDecodeError:
            value, problem = None, "not UTF-8 text"
        if isinstance(value, dict):
            return "jsonl"
        try:
            trec_row(line, "run")
        except BadInputError as error:
            raise BadInputError(
                f"{path}: line {number} is neither of a TREC run ({error}), nor of JSONL"
                f' ({{"id": "…", "ranking": […]}}: {problem or "not an object"})'
            ) from error
        return "trec"
    raise BadInputError(f"{path}: holds no ranking")


_Rankings = tuple[dict[str, tuple[ScoredDoc, ...]], dict[str, str], dict[str, int]]
"""Rankings by query id, query ids by text, and by query id the places without a document."""


def _read_run(path: Path) -> _Rankings:
    from retrieval_eval.ranking.trec import read_trec

    scores = read_trec(path, "run")
    ranks: dict[str, dict[str, float]] = {}
    # Not every tool writes numbers as ranks; the order of the lines is what is left.
    with suppress(BadInputError):
        ranks = read_trec(path, "ranks")
    rankings, n_nothing = {}, {}
    for query, found in scores.items():
        stated = sorted(found, key=ranks[query].__getitem__) if ranks else found
        docs = [ScoredDoc(doc, found[doc]) for doc in stated if not says_nothing(found[doc])]
        rankings[query] = tuple(docs)
        n_nothing[query] = len(found) - len(docs)
    return rankings, {}, n_nothing


def _read_jsonl(path: Path) -> _Rankings:
    rankings: dict[str, tuple[ScoredDoc, ...]] = {}
    id_of: dict[str, str] = {}
    n_nothing: dict[str, int] = {}
    lines: dict[str, int] = {}
    real = Path(os.path.realpath(path))
    for line in iter_jsonl(real, real.parent):
        if line.problem is not None:
            raise BadInputError(f"{path}: {line.problem.removeprefix(f'{real.name}: ')}")
        name, docs, n, text = _read_row(line.value, f"{path}: line {line.number}")
        if name in lines:
            raise BadInputError(
                f"{path}: line {line.number}: query {name!r} is on line {lines[name]} too;"
                " keep one of them"
            )
        lines[name] = line.number
        rankings[name], n_nothing[name] = tuple(docs), n
        if text is not None:
            id_of.setdefault(normalize_query(text), name)
    return rankings, id_of, n_nothing


def _read_row(row: Any, where: str) -> tuple[str, list[ScoredDoc], int, str | None]:
    name = row.get("id") if isinstance(row, dict) else None
    if not isinstance(name, str) or not isinstance(row.get("ranking"), list):
        raise BadInputError(f'{where}: expected {{"id": "…", "ranking": […]}}')
    try:
        docs, n_nothing = read_answer(row["ranking"])
    except RetrieverError as error:
        raise BadInputError(f"{where}: /ranking: {error}") from error
    text = row.get("query")
    return name, docs, n_nothing, text if isinstance(text, str) else None


RETRIEVERS.add(
    "run",
    RetrieverKind(
        "run:FILE (a TREC run or JSONL)",
        lambda spec, options: open_ranked_file(file_of(spec), options),
        options=OPTIONS,
    ),
)
