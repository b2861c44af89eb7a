"""Re-labelling after re-chunking: only pairs whose text was cut differently are graded again."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from msgspec.structs import replace

from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import json_bytes
from retrieval_eval.io.user_files import read_user_json
from retrieval_eval.model import Record, to_builtins
from retrieval_eval.model.gold import Anchor, GoldQuery, GoldSet, Label
from retrieval_eval.search.gold import gold_set_bytes, max_grade_of
from retrieval_eval.search.gold.agreement import DECISIONS
from retrieval_eval.search.gold.chunks import (
    Chunk,
    Key,
    Resolution,
    chunks,
    digests_of,
    labelled_documents,
    misplaced,
    resolve,
)
from retrieval_eval.search.gold.corpus import Corpus
from retrieval_eval.search.gold.identity import fingerprint
from retrieval_eval.search.gold.labelling import COMMENTS, pair_sheets, pool_files
from retrieval_eval.values import counted

Status = Literal["moved", "carried", "absorbed", "queued", "dropped"]

STATUSES: Final[Mapping[Status, str]] = {
    "moved": "moved: the same text is in the new corpus",
    "carried": "carried: a longer document contains all of the text",
    "absorbed": "absorbed: every document with any of the text has its grade from other text",
    "queued": "queued: must be graded again",
    "dropped": "dropped: nothing of the text is left to grade",
}
"""The statuses of a graded pair, in words."""

MARKS: Final = "relabelled"
"""The field of a gold row that names the documents whose grade was moved automatically."""


@dataclass(frozen=True, slots=True)
class PairStatus:
    """The status of one graded (query, document) pair and its ``n_labels`` labels."""

    query: str
    doc: str
    status: Status
    reason: str | None
    n_labels: int


class Part(Record, frozen=True):
    """A graded old document of which a queued one holds a part; ``reason`` is a code."""

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
    """A row with the grades that could be moved, and what is left to grade."""

    query: GoldQuery
    statuses: tuple[PairStatus, ...]
    queue: tuple[Queued, ...]


class Row:
    """A row that is moved to the new corpus.

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
        return RowResult(self._moved(), tuple(self._statuses()), tuple(self._queued()))

    def _give(self, doc: str, targets: Iterable[str]) -> None:
        for target in targets:
            self.judged[target] = max(self.judged.get(target, 0), self.grades[doc])
            self.targets.setdefault(doc, []).append(target)

    def _full(self, target: str) -> bool:
        """Whether graded texts make up all of a document; they may overlap."""
        whole = f" {self.new[self.query.corpus, target].words} "
        is_graded = [char == " " for char in whole]
        for doc, found in self.resolutions.items():
            # A label of another text does not apply to this one.
            if target not in found.docs or found.reason == "anchor_differs":
                continue
            words = f" {self.words[doc]} "
            at = whole.find(words)
            while at >= 0:
                is_graded[at : at + len(words)] = [True] * len(words)
                at = whole.find(words, at + 1)
        return all(is_graded)

    def _statuses(self) -> Iterable[PairStatus]:
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
            yield PairStatus(self.query.id, doc, status, reason, n_labels)

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
        row = replace(
            query,
            relevant=relevant,
            labels=given,
            anchors=self._anchors(),
            digests={},
            found_by=self._found_by(),
        )
        fields = {
            name: [
                {**one, "doc": target}
                for one in query.records(name)
                for target in self.targets.get(str(one.get("doc")), ())
            ]
            for name in (DECISIONS, COMMENTS)
            if name in query.extra
        }
        marks = self._marks()
        if marks or MARKS in query.extra:
            fields[MARKS] = marks
        return replace(row, extra={**query.extra, **fields})

    def _anchors(self) -> dict[str, Anchor]:
        found = {}
        for doc in self.query.anchors:
            for target in self.targets.get(doc, ()):
                anchor = self.new[self.query.corpus, target].anchor
                if anchor is not None:
                    found[target] = anchor
        return found

    def _found_by(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, set[str]] = {}
        for doc, names in self.query.found_by.items():
            for target in self.targets.get(doc, ()):
                found.setdefault(target, set()).update(names)
        return {target: tuple(sorted(names)) for target, names in found.items()}

    def _marks(self) -> list[dict[str, Any]]:
        """Return the documents that got their grade from another one, with how it was matched."""
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


_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Relabelling:
    """A gold set for the new corpus, and what is left to do.

    ``gold`` has the rows in their order. ``statuses`` is the status of every graded pair;
    ``queue`` holds the new pairs to grade; ``documents`` maps every old document that has not
    kept its id to those that hold its text now. ``notes`` are sentences for a person.
    """

    gold: GoldSet
    statuses: tuple[PairStatus, ...]
    queue: tuple[Queued, ...]
    documents: Mapping[Key, tuple[str, ...]]
    notes: tuple[str, ...]

    def counts(self) -> dict[str, dict[str, int]]:
        """Return pairs and labels by status; each adds up to its ``total``."""
        pairs = Counter(pair.status for pair in self.statuses)
        labels = Counter[str]()
        for pair in self.statuses:
            labels[pair.status] += pair.n_labels
        return {
            "pairs": {**{name: pairs[name] for name in STATUSES}, "total": pairs.total()},
            "labels": {**{name: labels[name] for name in STATUSES}, "total": labels.total()},
        }

    def reasons(self) -> dict[str, int]:
        """Return how many pairs are queued or dropped for each reason code."""
        found = Counter(pair.reason for pair in self.statuses if pair.reason is not None)
        return dict(sorted(found.items()))

    def to_json(self) -> dict[str, Any]:
        """Return counts, reasons and notes as a JSON-able block."""
        return {
            **self.counts(),
            "reasons": self.reasons(),
            "n_to_grade": len(self.queue),
            "notes": list(self.notes),
        }


def relabel(gold: GoldSet, old: Corpus, new: Corpus, *, sources: Path | None = None) -> Relabelling:
    """Move the grades of a gold set to the documents of a re-chunked corpus.

    A grade belongs to a text. It moves where the same text (up to white space) is in the new
    corpus, whatever its id or place; it is carried where one document contains all of the text
    (see `Row` for grade 0); everything else is queued, or dropped where nothing of the text is
    left. Rows keep their order, their source and all grades that hold; reviewed rows too.

    Parameters
    ----------
    gold
        The gold set of the old corpus. An anchor whose digest is not that of the old document means
        that the label was given to another text; then the text is matched by the digest.
    old, new
        The corpora; ``source``, ``start`` and ``end`` of a document give its place.
    sources
        The folder of the new source texts. With it, new anchors are only given to documents whose
        stated place is right.

    Raises
    ------
    BadInputError
        When no graded document is in the old corpus, or there is no such folder.
    """
    before = chunks(old, _anchors(gold.queries))
    after = chunks(new)
    notes = []
    if sources is not None:
        wrong, problems = misplaced(after.values(), sources)
        after = {k: replace(c, start=None, end=None) if k in wrong else c for k, c in after.items()}
        notes = _source_notes(wrong, problems)
    resolutions = resolve(before, after, sources)
    by_digest: dict[tuple[str, str], str] = {}
    for chunk in after.values():
        by_digest.setdefault((chunk.key[0], chunk.sha256), chunk.key[1])
    results = []
    for query in gold.queries:
        found = {
            doc: _resolution(query, doc, before, resolutions, by_digest)
            for doc in dict.fromkeys([*query.relevant, *(label.doc for label in query.labels)])
        }
        words = {d: before[query.corpus, d].words for d in found if (query.corpus, d) in before}
        results.append(Row(query, found, words, after).result())
    statuses = tuple(pair for result in results for pair in result.statuses)
    _check_old(statuses, old)
    queries = _digested(gold.queries, [result.query for result in results], new)
    return Relabelling(
        GoldSet(queries, fingerprint(queries), gold.path),
        statuses,
        tuple(one for result in results for one in result.queue),
        {key: r.docs for key, r in resolutions.items() if r.docs != (key[1],)},
        (*notes, *_row_notes(gold.queries, queries)),
    )


def _digested(
    before: Sequence[GoldQuery], after: Sequence[GoldQuery], new: Corpus
) -> tuple[GoldQuery, ...]:
    """Return rows with the digests of their new documents, where they had digests before."""
    docs = {
        row.id: labelled_documents(row)
        for old, row in zip(before, after, strict=True)
        if old.digests
    }
    known = digests_of(new, {(row.corpus, d) for row in after for d in docs.get(row.id, ())})
    return tuple(
        replace(row, digests={doc: known[row.corpus, doc] for doc in docs.get(row.id, ())})
        for row in after
    )


def _anchors(queries: Iterable[GoldQuery]) -> dict[Key, Anchor]:
    return {
        (query.corpus, doc): anchor for query in queries for doc, anchor in query.anchors.items()
    }


def _resolution(
    query: GoldQuery,
    doc: str,
    before: Mapping[Key, Chunk],
    resolutions: Mapping[Key, Resolution],
    by_digest: Mapping[tuple[str, str], str],
) -> Resolution:
    key = query.corpus, doc
    chunk, anchor = before.get(key), query.anchors.get(doc)
    if anchor is not None and (chunk is None or chunk.sha256 != anchor.sha256):
        same = by_digest.get((query.corpus, anchor.sha256))
        if same is not None:
            return Resolution("moved", (same,))
        if chunk is not None:
            docs = resolutions[key].docs
            return Resolution("changed" if docs else "gone", docs, "anchor_differs")
    return Resolution("gone", (), "unknown_document") if chunk is None else resolutions[key]


def _check_old(statuses: Iterable[PairStatus], old: Corpus) -> None:
    reasons = [pair.reason for pair in statuses]
    if reasons and set(reasons) == {"unknown_document"}:
        raise BadInputError(
            f"{old.path}: has none of the {len(reasons)} graded documents; the old corpus is the"
            " one that the gold set was labelled with"
        )


def _source_notes(wrong: set[Key], problems: list[str]) -> list[str]:
    notes = []
    if wrong:
        notes.append(
            f"without an anchor, because their stated place in the source is wrong:"
            f" {counted(len(wrong), 'new document')}"
        )
    notes += problems[:_MOST_NAMED]
    if len(problems) > _MOST_NAMED:
        n_more = counted(len(problems) - _MOST_NAMED, "further source")
        notes.append(f"and {n_more} that cannot be read")
    return notes


def _row_notes(before: Iterable[GoldQuery], after: Iterable[GoldQuery]) -> list[str]:
    reviewed = [(a, b) for a, b in zip(before, after, strict=True) if a.source == "chair"]
    n_other = sum(set(a.relevant) != set(b.relevant) for a, b in reviewed)
    n_bare = sum(
        bool(a.n_relevant) and not b.n_relevant for a, b in zip(before, after, strict=True)
    )
    notes = []
    if reviewed:
        notes.append(
            f"{counted(len(reviewed), 'reviewed row')}: grades that hold are kept; {n_other} of"
            " these rows name other documents than before"
        )
    if n_bare:
        n = counted(n_bare, "query")
        notes.append(f"without a relevant document until their pairs are graded: {n}")
    return notes


RELABEL: Final = "relabel"
"""The purpose of a key to the sheets of re-labelling, and what marks a mapping."""

MAPPING_FILE: Final = "relabel.json"
QUEUE_FILE: Final = "queue.jsonl"
VERSION: Final = 1


def relabel_files(
    found: Relabelling,
    gold: GoldSet,
    old: Corpus,
    new: Corpus,
    out: Path,
    *,
    labellers: Sequence[str] = (),
    seed: int = 0,
) -> dict[Path, bytes]:
    """Return the files of a re-labelling by path; what was read is never among them.

    The gold set keeps its file name. `queue.jsonl` names the pairs to grade with the grades they
    had, so it is not for labellers; each labeller gets a sheet, and `key.json` belongs to these.

    Raises
    ------
    BadInputError
        When ``out`` is the folder of the gold set that was read, or a labeller cannot name a file.
    """
    target = out / (gold.path.name if gold.path else "gold-set.jsonl")
    if gold.path is not None and os.path.realpath(target) == os.path.realpath(gold.path):
        raise BadInputError(f"{target}: is the gold set that was read; name another folder")
    files = {
        target: gold_set_bytes(target, found.gold.queries, max_grade=max_grade_of(gold)),
        out / MAPPING_FILE: json_bytes(_mapping(found, gold, old, new), indent=1),
        out / QUEUE_FILE: _queue_bytes(found),
    }
    if labellers and found.queue:
        docs: dict[str, list[str]] = {}
        for one in found.queue:
            docs.setdefault(one.query, []).append(one.doc)
        pool = pair_sheets(found.gold, new, docs, labellers, purpose=RELABEL, seed=seed)
        files |= pool_files(pool, out)
    return files


def read_mapping(path: Path, gold: GoldSet | None = None) -> dict[Key, tuple[str, ...]]:
    """Return old document to new documents from the file that re-labelling wrote.

    Documents that kept text and id are not in it.

    Parameters
    ----------
    path
        The file.
    gold
        The gold set that was re-labelled, to check that the mapping is its.

    Raises
    ------
    BadInputError
        When the file cannot be read, is not such a mapping, or belongs to another gold set; the
        message names the place.
    """
    value = read_user_json(path)
    if not isinstance(value, dict) or value.get(RELABEL) != VERSION:
        raise BadInputError(f"{path}: not what `gold relabel` wrote; expected {RELABEL} {VERSION}")
    made_from = value["gold"].get("old") if isinstance(value.get("gold"), dict) else None
    if gold is not None and made_from != gold.fingerprint:
        raise BadInputError(
            f"{path}: /gold/old: the labels of another gold set were moved"
            f" ({str(made_from)[:12]}, here {gold.fingerprint[:12]})"
        )
    documents = value.get("documents")
    if not isinstance(documents, list):
        raise BadInputError(f"{path}: /documents: expected a list")
    mapping: dict[Key, tuple[str, ...]] = {}
    for place, one in enumerate(documents):
        if not _is_entry(one):
            raise BadInputError(
                f"{path}: /documents/{place}: expected corpus, old and new (a list of ids)"
            )
        mapping[one["corpus"], one["old"]] = tuple(one["new"])
    return mapping


def _is_entry(one: Any) -> bool:
    return (
        isinstance(one, dict)
        and isinstance(one.get("corpus"), str)
        and isinstance(one.get("old"), str)
        and isinstance(one.get("new"), list)
        and all(isinstance(doc, str) for doc in one["new"])
    )


def _mapping(found: Relabelling, gold: GoldSet, old: Corpus, new: Corpus) -> dict[str, Any]:
    return {
        RELABEL: VERSION,
        "gold": {"old": gold.fingerprint, "new": found.gold.fingerprint},
        "corpus": {"old": old.fingerprint, "new": new.fingerprint},
        **found.to_json(),
        "documents": [
            {"corpus": corpus, "old": doc, "new": list(docs)}
            for (corpus, doc), docs in sorted(found.documents.items())
        ],
    }


def _queue_bytes(found: Relabelling) -> bytes:
    texts: Mapping[str, str] = {query.id: query.query for query in found.gold.queries}
    rows = (
        {
            "query": one.query,
            "text": texts[one.query],
            "corpus": one.corpus,
            "doc": one.doc,
            "from": [to_builtins(part) for part in one.parts],
        }
        for one in found.queue
    )
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode("utf-8")
