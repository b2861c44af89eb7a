"""Labels that the corpus has left behind: their document is gone, or its text is another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from retrieval_eval.gold.chunks import digest
from retrieval_eval.gold.corpus import Corpus
from retrieval_eval.model.gold import GoldSet

REASONS: Final[Mapping[str, str]] = {
    "document_gone": "the corpus has no such document",
    "text_changed": "the document's text is not the one that was labelled",
}
"""Why a label is stale, by code."""


@dataclass(frozen=True, slots=True)
class StaleLabel:
    """A judged document that is no longer what was judged; ``reason`` is one of `REASONS`."""

    query: str
    corpus: str
    doc: str
    grade: int
    reason: str


@dataclass(frozen=True, slots=True)
class LabelCheck:
    """What became of the judged pairs of a gold set.

    Of ``n_labels`` pairs of query and document ``n_anchored`` have the digest of the text that
    was judged; of the others only the existence of the document can be checked.
    """

    n_labels: int
    n_anchored: int
    stale: tuple[StaleLabel, ...]

    def count(self, reason: str) -> int:
        """Return how many labels are stale for a reason."""
        return sum(label.reason == reason for label in self.stale)


def check_labels(gold: GoldSet, corpus: Corpus) -> LabelCheck:
    """Hold every judged document of a gold set against a corpus.

    A pair is stale when its corpus does not have the document, or when the digest of the
    document's text is not that of the anchor. Rows are in the order of query and document id.
    """
    digests = {(d.corpus, d.id): digest(d.text) for d in corpus.documents}
    n_labels, n_anchored = 0, 0
    stale: list[StaleLabel] = []
    for query in sorted(gold.queries, key=lambda q: q.id):
        for doc, grade in sorted(query.relevant.items()):
            anchor = query.anchors.get(doc)
            found = digests.get((query.corpus, doc))
            n_labels += 1
            n_anchored += anchor is not None
            if found is None:
                stale.append(StaleLabel(query.id, query.corpus, doc, grade, "document_gone"))
            elif anchor is not None and anchor.sha256 != found:
                stale.append(StaleLabel(query.id, query.corpus, doc, grade, "text_changed"))
    return LabelCheck(n_labels, n_anchored, tuple(stale))
