"""Drift: whether labelled documents still have the text that was labelled."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Final, Literal, get_args

from retrieval_eval.model.common import Record
from retrieval_eval.model.gold import GoldQuery, GoldSet
from retrieval_eval.search.gold.chunks import Key, collapsed
from retrieval_eval.search.gold.chunks import digest as sha256_of
from retrieval_eval.search.gold.corpus import Corpus

Drift = Literal["same", "changed", "gone", "not_recorded"]

DRIFTS: Final[tuple[Drift, ...]] = get_args(Drift)


def text_digest(text: str) -> str:
    r"""Return the digest of a document's text: SHA-256 in Unicode NFC, white space collapsed.

    Examples
    --------
    >>> text_digest(" Cafe\u0301\n fees ") == text_digest("Caf\u00e9 fees")
    True
    """
    return sha256_of(collapsed(unicodedata.normalize("NFC", text)))


def digests_of(corpus: Corpus, wanted: Iterable[Key]) -> dict[Key, str]:
    """Return the digests of documents by corpus and id; those the corpus lacks are left out."""
    texts = {(document.corpus, document.id): document.text for document in corpus.documents}
    return {key: text_digest(texts[key]) for key in wanted if key in texts}


class LabelDrift(Record, frozen=True):
    """What became of one labelled document of one query."""

    query: str
    corpus: str
    doc: str
    grade: int | None
    drift: Drift


def drift(gold: GoldSet, corpus: Corpus) -> tuple[LabelDrift, ...]:
    """Return for each pair of query and labelled document what became of its text.

    It is ``gone`` where its corpus has no document of this id, ``changed`` where the row's digest
    or anchor of it is that of another text, and ``not_recorded`` where the row has neither.

    Examples
    --------
    >>> from pathlib import Path
    >>> from retrieval_eval.search.gold.corpus import Document
    >>> now = Corpus((Document("d1", "law", "", "fees are waived"),), "", Path("corpus.jsonl"))
    >>> labelled = {"d1": text_digest("late fees are due")}
    >>> row = GoldQuery("q1", "fees", "law", relevant={"d1": 1}, digests=labelled)
    >>> drift(GoldSet((row,), ""), now)[0].drift
    'changed'
    """
    now = {(document.corpus, document.id): document.text for document in corpus.documents}
    return tuple(
        LabelDrift(
            query.id,
            query.corpus,
            doc,
            query.relevant.get(doc),
            _drift_of(query, doc, now.get((query.corpus, doc))),
        )
        for query in gold.queries
        for doc in labelled_documents(query)
    )


def _drift_of(query: GoldQuery, doc: str, now: str | None) -> Drift:
    if now is None:
        return "gone"
    digest, anchor = query.digests.get(doc), query.anchors.get(doc)
    if digest is None and anchor is None:
        return "not_recorded"
    if digest not in (None, text_digest(now)):
        return "changed"
    return "same" if anchor is None or anchor.sha256 == sha256_of(now) else "changed"


def labelled_documents(query: GoldQuery) -> tuple[str, ...]:
    """Return the judged documents of a row, and those that have labels only."""
    return tuple(dict.fromkeys([*query.relevant, *(label.doc for label in query.labels)]))
