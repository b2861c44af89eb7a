"""Re-labelling after re-chunking: only the pairs whose text was cut otherwise are graded again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from retrieval_eval.errors import BadInputError
from retrieval_eval.gold.anchors import Resolution, resolve
from retrieval_eval.gold.corpus import Corpus
from retrieval_eval.gold.fingerprint import fingerprint
from retrieval_eval.gold.model import Anchor, GoldQuery, GoldSet
from retrieval_eval.gold.relabel_row import STATUSES, Fate, Queued, Row
from retrieval_eval.gold.spans import Chunk, Key, chunks, misplaced
from retrieval_eval.values import counted

_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Relabelling:
    """A gold set for the new corpus, and what is left to do.

    ``gold`` has the rows in their order. ``fates`` says what became of every graded pair;
    ``queue`` holds the new pairs to grade; ``documents`` maps every old document that has not
    kept its id to those that hold its text now. ``notes`` are sentences for a person.
    """

    gold: GoldSet
    fates: tuple[Fate, ...]
    queue: tuple[Queued, ...]
    documents: Mapping[Key, tuple[str, ...]]
    notes: tuple[str, ...]

    def counts(self) -> dict[str, dict[str, int]]:
        """Return pairs and labels by what became of them; each adds up to its ``total``."""
        pairs = Counter(fate.status for fate in self.fates)
        labels = Counter[str]()
        for fate in self.fates:
            labels[fate.status] += fate.n_labels
        return {
            "pairs": {**{name: pairs[name] for name in STATUSES}, "total": pairs.total()},
            "labels": {**{name: labels[name] for name in STATUSES}, "total": labels.total()},
        }

    def reasons(self) -> dict[str, int]:
        """Return how many pairs are queued or dropped for each reason code."""
        found = Counter(fate.reason for fate in self.fates if fate.reason is not None)
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

    A grade belongs to a text. It moves where the same text (up to white space) stands in the new
    corpus, whatever its id or place; it is carried where one document contains all of the text
    (see `Row` for grade 0); everything else is queued, or dropped where nothing of the text is
    left. Rows keep their order, their source and all grades that hold; chair rows too.

    Parameters
    ----------
    gold
        The gold set of the old corpus. An anchor whose digest is not that of the old document
        says that the label was given to another text; then the digest is looked for instead.
    old, new
        The corpora; documents say in ``source``, ``start`` and ``end`` where they stand.
    sources
        The folder of the new source texts. With it, new anchors are only given to documents that
        stand where they say.

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
    fates = tuple(fate for result in results for fate in result.fates)
    _check_old(fates, old)
    queries = tuple(result.query for result in results)
    return Relabelling(
        GoldSet(queries, fingerprint(queries), gold.path),
        fates,
        tuple(one for result in results for one in result.queue),
        {key: r.docs for key, r in resolutions.items() if r.docs != (key[1],)},
        (*notes, *_row_notes(gold.queries, queries)),
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


def _check_old(fates: Iterable[Fate], old: Corpus) -> None:
    reasons = [fate.reason for fate in fates]
    if reasons and set(reasons) == {"unknown_document"}:
        raise BadInputError(
            f"{old.path}: has none of the {len(reasons)} graded documents; the old corpus is the"
            " one that the gold set was labelled with"
        )


def _source_notes(wrong: set[Key], problems: list[str]) -> list[str]:
    notes = []
    if wrong:
        notes.append(
            f"without an anchor, as they do not stand where they say in their source:"
            f" {counted(len(wrong), 'new document')}"
        )
    notes += problems[:_MOST_NAMED]
    if len(problems) > _MOST_NAMED:
        n_more = counted(len(problems) - _MOST_NAMED, "further source")
        notes.append(f"and {n_more} that cannot be read")
    return notes


def _row_notes(before: Iterable[GoldQuery], after: Iterable[GoldQuery]) -> list[str]:
    chair = [(a, b) for a, b in zip(before, after, strict=True) if a.source == "chair"]
    n_other = sum(set(a.relevant) != set(b.relevant) for a, b in chair)
    n_bare = sum(
        bool(a.n_relevant) and not b.n_relevant for a, b in zip(before, after, strict=True)
    )
    notes = []
    if chair:
        notes.append(
            f"{counted(len(chair), 'chair row')}: grades that hold are kept; {n_other} of these"
            " rows name other documents than before"
        )
    if n_bare:
        n = counted(n_bare, "query")
        notes.append(f"without a relevant document until their pairs are graded: {n}")
    return notes
