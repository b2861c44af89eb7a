"""Pooling: what several retrievers found, put before labellers who cannot tell who found it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.gold.corpus import Corpus, Document
from retrieval_eval.gold.fields import DEFAULT_MAX_GRADE, field_map
from retrieval_eval.gold.model import GoldQuery, GoldSet
from retrieval_eval.gold.sheets import Item, csv_sheet, jsonl_sheet, shown_digest
from retrieval_eval.io.files import json_bytes
from retrieval_eval.io.together import write_together
from retrieval_eval.values import counted

DEFAULT_DEPTH: Final = 50
KEY_FILE: Final = "key.json"
KEY_VERSION: Final = 1

Ranking = Mapping[str, Sequence[str]]
"""The documents that one retriever found for each query id, best first."""

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,40}")
_MOST_NAMED: Final = 10
_ID_DIGITS: Final = 15


@dataclass(frozen=True, slots=True)
class Pool:
    """Sheets by labeller, and the key that says what their items are.

    ``n_pairs`` is the number of (query, document) pairs that each labeller gets.
    ``n_without`` queries of the gold set have no candidate.
    """

    sheets: Mapping[str, tuple[Item, ...]]
    key: Mapping[str, Any]
    n_queries: int
    n_pairs: int
    n_without: int


def pooled(rankings: Iterable[Ranking], depth: int = DEFAULT_DEPTH) -> dict[str, frozenset[str]]:
    """Return the union of the first ``depth`` documents of every ranking, for each query.

    Depth-k pooling as in TREC (Sparck Jones and van Rijsbergen, 1975).

    Examples
    --------
    >>> sorted(pooled([{"q": ["a", "b", "c"]}, {"q": ["d", "a"]}], depth=2)["q"])
    ['a', 'b', 'd']
    """
    found: dict[str, set[str]] = {}
    for ranking in rankings:
        for query, docs in ranking.items():
            found.setdefault(query, set()).update(docs[:depth])
    return {query: frozenset(docs) for query, docs in sorted(found.items())}


def build_pool(
    gold: GoldSet,
    rankings: Iterable[Ranking],
    corpus: Corpus,
    labellers: Sequence[str],
    *,
    depth: int = DEFAULT_DEPTH,
    seed: int = 0,
) -> Pool:
    """Return shuffled sheets for labellers, and the key to them.

    The order of queries, the order of documents and the ids of items follow from the seed and
    the labeller alone: which retriever found a document, at which rank and with which score
    leaves no trace, and neither does a grade that the gold set has already.

    Parameters
    ----------
    gold
        The queries; those without any candidate are left out and counted.
    rankings
        What each retriever found.
    corpus
        The texts to show.
    labellers
        Their names, letters and digits; each gets all pairs in another order.
    depth
        How many documents of each ranking are taken.
    seed
        Seed of the order and of the ids.

    Raises
    ------
    BadInputError
        For labellers that cannot name a file or are named twice, and for queries or documents
        that the gold set or the corpus does not have; they are named.
    NothingToEvaluateError
        When no ranking found anything.
    """
    _check_labellers(labellers)
    candidates = pooled(rankings, depth)
    queries = {query.id: query for query in gold.queries}
    texts = {(document.corpus, document.id): document for document in corpus.documents}
    _check_known(candidates, queries, texts, corpus)
    pairs = [(queries[query], doc) for query, docs in candidates.items() for doc in sorted(docs)]
    if not pairs:
        raise NothingToEvaluateError("the runs found no document, so there is nothing to label")
    sheets: dict[str, tuple[Item, ...]] = {}
    items: dict[str, dict[str, str]] = {}
    for labeller in labellers:
        sheet = []
        for query, doc in sorted(pairs, key=lambda pair: _place(seed, labeller, *pair)):
            document = texts[query.corpus, doc]
            # A letter first, or spreadsheets would take some ids for numbers.
            id_ = "i" + _digest(seed, labeller, "item", query.id, doc)[:_ID_DIGITS]
            item = Item(id_, query.query, shown(document))
            sheet.append(item)
            items[item.id] = {
                "labeller": labeller,
                "query": query.id,
                "doc": doc,
                "shown": shown_digest(item.query, item.document),
            }
        sheets[labeller] = tuple(sheet)
    if len(items) != len(pairs) * len(labellers):
        raise BadInputError(f"two items got the same id; choose another seed than {seed}")
    key = {
        "pool_key": KEY_VERSION,
        "gold_fingerprint": gold.fingerprint,
        "corpus_fingerprint": corpus.fingerprint,
        "max_grade": field_map(gold.path).max_grade if gold.path else DEFAULT_MAX_GRADE,
        "depth": depth,
        "seed": seed,
        "items": dict(sorted(items.items())),
    }
    n_queries = len({query.id for query, _ in pairs})
    return Pool(sheets, key, n_queries, len(pairs), len(queries) - n_queries)


def write_pool(pool: Pool, folder: Path, key: Path | None = None) -> list[Path]:
    """Write ``sheet-LABELLER.csv`` and ``.jsonl`` and the key, all or none; return their paths.

    The key must not reach a labeller; by default it is ``key.json`` in the same folder.
    """
    files: dict[Path, bytes] = {}
    for labeller, items in pool.sheets.items():
        files[folder / f"sheet-{labeller}.csv"] = csv_sheet(items)
        files[folder / f"sheet-{labeller}.jsonl"] = jsonl_sheet(items)
    files[key or folder / KEY_FILE] = json_bytes(dict(pool.key), indent=1)
    write_together(files)
    return list(files)


def shown(document: Document) -> str:
    """Return what a labeller sees of a document: its title and its text."""
    return f"{document.title}\n\n{document.text}" if document.title else document.text


def _digest(*parts: object) -> str:
    return hashlib.sha256("\0".join(map(str, parts)).encode("utf-8", "surrogatepass")).hexdigest()


def _place(seed: int, labeller: str, query: GoldQuery, doc: str) -> tuple[str, str, str]:
    """Return where a pair stands: the pairs of a query together, all else by chance."""
    return (
        _digest(seed, labeller, "query", query.id),
        query.id,
        _digest(seed, labeller, "doc", query.id, doc),
    )


def _check_labellers(labellers: Sequence[str]) -> None:
    if not labellers:
        raise BadInputError("there is no labeller; name at least one")
    for name in labellers:
        if not _NAME.fullmatch(name):
            raise BadInputError(
                f"the labeller {name[:80]!r} cannot name a file;"
                " use letters, digits, dot, dash and underscore"
            )
    if len({name.casefold() for name in labellers}) < len(labellers):
        raise BadInputError(f"a labeller is named twice in {', '.join(labellers)}")


def _check_known(
    candidates: Mapping[str, frozenset[str]],
    queries: Mapping[str, GoldQuery],
    texts: Mapping[tuple[str, str], Document],
    corpus: Corpus,
) -> None:
    foreign = [query for query in candidates if query not in queries]
    if foreign:
        raise BadInputError(
            f"not in the gold set: {counted(len(foreign), 'query')} of the runs, {_named(foreign)};"
            " were the runs made with another one?"
        )
    pairs = ((queries[query].corpus, doc) for query, docs in candidates.items() for doc in docs)
    lacking = sorted({doc for corpus_name, doc in pairs if (corpus_name, doc) not in texts})
    if lacking:
        raise BadInputError(
            f"not in {corpus.path.name}: {counted(len(lacking), 'document')} of the runs, so there"
            f" is no text to show: {_named(lacking)}"
        )


def _named(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    listed = ", ".join(repr(name[:80]) for name in names[:_MOST_NAMED])
    return f"{listed} and {more} more" if more > 0 else listed
