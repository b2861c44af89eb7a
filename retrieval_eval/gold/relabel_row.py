"""One gold row after re-chunking: which grades hold for which documents, and which must wait."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from retrieval_eval.gold.anchors import Resolution
from retrieval_eval.gold.disagreements import DECISIONS
from retrieval_eval.gold.extra import records, with_extra
from retrieval_eval.gold.model import Anchor, GoldQuery, Label
from retrieval_eval.gold.pool_reading import COMMENTS
from retrieval_eval.gold.spans import Chunk, Key

Status = Literal["moved", "carried", "absorbed", "queued", "dropped"]

STATUSES: Final[Mapping[Status, str]] = {
    "moved": "moved: the same text stands in the new corpus",
    "carried": "carried: a longer document contains all of the text",
    "absorbed": "absorbed: every document with any of the text has its grade from other text",
    "queued": "queued: somebody must look again",
    "dropped": "dropped: nothing of the text is left to grade",
}
"""What can become of a graded pair, in words."""

MARKS: Final = "relabelled"
"""The field of a gold row that says which of its documents a machine gave their grade."""


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of one graded (query, document) pair and its ``n_labels`` labels."""

    query: str
    doc: str
    status: Status
    reason: str | None
    n_labels: int


@dataclass(frozen=True, slots=True)
class Part:
    """A graded old document that a queued one holds something of; ``reason`` is a code."""

    doc: str
    grade: int
    reason: str


@dataclass(frozen=True, slots=True)
class Queued:
    """A (query, new document) pair to be graded, and the old pairs that it comes from."""

    query: str
    corpus: str
    doc: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class RowResult:
    """A row with what a machine may say, and what it may not."""

    query: GoldQuery
    fates: tuple[Fate, ...]
    queue: tuple[Queued, ...]


class Row:
    """A row on its way to the new corpus.

    A grade holds for the same text. A grade of 1 or more also holds, as a lower bound, for a
    document that contains all of the text, unless that one has a grade of its own. A grade of 0
    does not: the rest of the longer document may be relevant, unless all of it was graded as well.
    """

    def __init__(
        self,
        query: GoldQuery,
        resolutions: Mapping[str, Resolution],
        words: Mapping[str, str],
        new: Mapping[Key, Chunk],
    ) -> None:
        self.query = query
        self.resolutions = resolutions
        self.words = words
        self.new = new
        self.grades = dict(query.relevant)
        for label in query.labels:
            if label.doc not in query.relevant:
                self.grades[label.doc] = max(self.grades.get(label.doc, 0), label.grade)
        self.judged: dict[str, int] = {}
        self.targets: dict[str, list[str]] = {}
        self.queue: dict[str, list[Part]] = {}

    def result(self) -> RowResult:
        """Return the row as it is in the new corpus."""
        for doc, found in self.resolutions.items():
            if found.how == "moved":
                self._give(doc, found.docs)
        exact = set(self.judged)
        for doc, found in self.resolutions.items():
            if found.how == "carried" and self.grades[doc]:
                self._give(doc, [target for target in found.docs if target not in exact])
        relevant = set(self.judged)
        for doc, found in self.resolutions.items():
            if found.how == "carried" and not self.grades[doc]:
                self._give(doc, [t for t in found.docs if t not in relevant and self._full(t)])
        for doc, found in self.resolutions.items():
            for target in found.docs:
                if target not in self.judged and found.how in ("carried", "changed"):
                    part = Part(doc, self.grades[doc], found.reason or "grown")
                    self.queue.setdefault(target, []).append(part)
        return RowResult(self._moved(), tuple(self._fates()), tuple(self._queued()))

    def _give(self, doc: str, targets: Iterable[str]) -> None:
        for target in targets:
            self.judged[target] = max(self.judged.get(target, 0), self.grades[doc])
            self.targets.setdefault(doc, []).append(target)

    def _full(self, target: str) -> bool:
        """Whether graded texts make up all of a document; they may overlap."""
        whole = f" {self.new[self.query.corpus, target].words} "
        is_graded = [char == " " for char in whole]
        for doc, found in self.resolutions.items():
            # A label that was given to another text says nothing about this one.
            if target not in found.docs or found.reason == "anchor_differs":
                continue
            words = f" {self.words[doc]} "
            at = whole.find(words)
            while at >= 0:
                is_graded[at : at + len(words)] = [True] * len(words)
                at = whole.find(words, at + 1)
        return all(is_graded)

    def _fates(self) -> Iterable[Fate]:
        waiting = {part.doc: part.reason for parts in self.queue.values() for part in parts}
        for doc, found in self.resolutions.items():
            n_labels = sum(label.doc == doc for label in self.query.labels)
            status: Status = "absorbed"
            reason = None
            if found.how == "gone":
                status, reason = "dropped", found.reason
            elif doc in waiting:
                status, reason = "queued", waiting[doc]
            elif doc in self.targets:
                status = "moved" if found.how == "moved" else "carried"
            yield Fate(self.query.id, doc, status, reason, n_labels)

    def _queued(self) -> Iterable[Queued]:
        for target, parts in self.queue.items():
            yield Queued(self.query.id, self.query.corpus, target, tuple(parts))

    def _moved(self) -> GoldQuery:
        query = self.query
        relevant: dict[str, int] = {}
        for doc, grade in query.relevant.items():
            for target in self.targets.get(doc, ()):
                relevant[target] = max(relevant.get(target, 0), grade)
        labels: dict[tuple[str, str], int] = {}
        for label in query.labels:
            for target in self.targets.get(label.doc, ()):
                pair = label.labeller, target
                labels[pair] = max(labels.get(pair, 0), label.grade)
        given = tuple(Label(*pair, grade) for pair, grade in labels.items())
        row = replace(query, relevant=relevant, labels=given, anchors=self._anchors())
        fields = {
            name: [
                {**one, "doc": target}
                for one in records(query, name)
                for target in self.targets.get(str(one.get("doc")), ())
            ]
            for name in (DECISIONS, COMMENTS)
            if name in query.extra
        }
        marks = self._marks()
        if marks or MARKS in query.extra:
            fields[MARKS] = marks
        return with_extra(row, fields) if fields else row

    def _anchors(self) -> dict[str, Anchor]:
        found = {}
        for doc in self.query.anchors:
            for target in self.targets.get(doc, ()):
                anchor = self.new[self.query.corpus, target].anchor
                if anchor is not None:
                    found[target] = anchor
        return found

    def _marks(self) -> list[dict[str, Any]]:
        """Return the documents that another one gave their grade, with how sure that is."""
        parts: dict[str, list[str]] = {}
        for doc, targets in self.targets.items():
            for target in targets:
                parts.setdefault(target, []).append(doc)
        return [
            {"doc": target, "from": docs, "how": self._how(docs)}
            for target, docs in sorted(parts.items())
            if docs != [target] or self._how(docs) == "carried"
        ]

    def _how(self, docs: Sequence[str]) -> str:
        is_carried = any(self.resolutions[doc].how == "carried" for doc in docs)
        return "carried" if is_carried else "moved"
