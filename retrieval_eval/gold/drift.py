"""Drift: what became of labelled documents, seen from digests in the gold set alone."""

from __future__ import annotations

import hashlib
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, Literal

from msgspec.structs import replace

from retrieval_eval.gold.chunks import Key, collapsed
from retrieval_eval.gold.chunks import digest as sha256_of
from retrieval_eval.gold.corpus import Corpus, Document
from retrieval_eval.model.gold import SKETCH_SIZE, GoldQuery, GoldSet, TextDigest
from retrieval_eval.model.meta import Record

Drift = Literal["same", "moved", "split", "merged", "changed", "gone", "not_recorded"]

DRIFTS: Final[Mapping[Drift, str]] = {
    "same": "same: the text that was labelled",
    "moved": "moved: another document has this text",
    "split": "split: several documents hold parts of the text",
    "merged": "merged: a longer document contains the whole text",
    "changed": "changed: one document holds a part of the text, or its id another text",
    "gone": "gone: nothing, or less than half, of the text is in the corpus",
    "not_recorded": "not recorded: the row has no digest of the document",
}
"""What became of a labelled document, in words."""

DRIFTED: Final[tuple[Drift, ...]] = ("moved", "split", "merged", "changed", "gone")

RUN_WORDS: Final = 5
"""Words of a run that is hashed; a text of fewer than ten words has runs of half its words."""

MIN_COVERED: Final = 0.5
"""The share of the sampled runs that must be found somewhere before parts are named."""

MIN_PART: Final = 0.1
"""The share of the sampled runs that makes a document one of the parts."""


def normalized(text: str) -> str:
    r"""Return a text as it is digested: Unicode NFC, white space collapsed.

    Examples
    --------
    >>> normalized(" Cafe\u0301\n fees ") == "Café fees"
    True
    """
    return collapsed(unicodedata.normalize("NFC", text))


def text_digest(text: str, shared: Container[int] = ()) -> TextDigest:
    """Return the digest of a document's text, from which the text cannot be read.

    It is the SHA-256 of the normalised text (see :func:`normalized`), the number of its words, the
    hash of its first run of words, and two sketches: the 32 smallest hashes (BLAKE2b, 32 bits) of
    the runs of words that are not ``shared`` with other documents, and of those that are. Such a
    sample does not depend on the order of the runs (bottom-k sketch, Broder 1997; Cohen and Kaplan
    2007).

    Examples
    --------
    >>> found = text_digest("late fees are due at once")
    >>> found.n_words, len(found.sketch) // 8, found == text_digest("late  fees are due at once")
    (6, 4, True)
    """
    words = normalized(text).split()
    length = _run_length(len(words))
    head = _hex(_hashes(words[:length], length)) if words else ""
    hashes = sorted(_hashes(words, length))
    own = [one for one in hashes if one not in shared]
    return TextDigest(
        sha256=_sha256(words),
        n_words=len(words),
        head=head,
        sketch=_hex(own[:SKETCH_SIZE]),
        shared=_hex([one for one in hashes if one in shared][:SKETCH_SIZE]),
    )


def digests_of(corpus: Corpus, wanted: Iterable[Key]) -> dict[Key, TextDigest]:
    """Return the digests of documents by corpus and id; those the corpus lacks are left out.

    Runs of words that several documents of one corpus have in common do not show where a text is,
    so that they are sampled apart. Memory is needed for the runs of the wanted documents only.
    """
    texts = {(document.corpus, document.id): document.text for document in corpus.documents}
    words = {key: normalized(texts[key]).split() for key in wanted if key in texts}
    by_length: dict[tuple[str, int], list[Key]] = defaultdict(list)
    for key, found in words.items():
        by_length[key[0], _run_length(len(found))].append(key)
    shared: dict[tuple[str, int], frozenset[int]] = {}
    for (name, length), keys in by_length.items():
        n_documents = dict.fromkeys((run for key in keys for run in _runs(words[key], length)), 0)
        for document in corpus.documents:
            if document.corpus == name:
                for run in n_documents.keys() & set(
                    _runs(normalized(document.text).split(), length)
                ):
                    n_documents[run] += 1
        shared[name, length] = frozenset(_hash(run) for run, n in n_documents.items() if n > 1)
    return {
        key: text_digest(texts[key], shared[key[0], _run_length(len(found))])
        for key, found in words.items()
    }


def _hex(hashes: Iterable[int]) -> str:
    return "".join(f"{one:08x}" for one in hashes)


def _sha256(words: Sequence[str]) -> str:
    return sha256_of(" ".join(words))


def _run_length(n_words: int) -> int:
    return max(1, min(RUN_WORDS, n_words // 2))


def _runs(words: Sequence[str], length: int) -> Iterator[str]:
    return (" ".join(words[at : at + length]) for at in range(len(words) - length + 1))


def _hash(run: str) -> int:
    data = run.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=4).digest())


def _hashes(words: Sequence[str], length: int) -> set[int]:
    return {_hash(run) for run in set(_runs(words, length))}


def _sketch(text: str) -> frozenset[int]:
    return frozenset(int(text[at : at + 8], 16) for at in range(0, len(text), 8))


class DocumentDrift(Record, frozen=True):
    """What became of one labelled document of one query.

    ``docs`` are the documents that hold its text now: the parts in the order of the corpus for a
    split, at most 20. ``found`` is the share of the sampled runs of words that these hold; 1 where
    ``is_exact``: the class then follows from equal digests of whole texts. Otherwise it is an
    estimate from up to 32 runs. None where nothing was recorded.
    """

    query: str
    corpus: str
    doc: str
    grade: int | None
    drift: Drift
    docs: tuple[str, ...] = ()
    found: float | None = None
    is_exact: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """Where a text is now, and how surely."""

    drift: Drift
    docs: tuple[str, ...]
    found: float
    is_exact: bool


_MOST_DOCS: Final = 20
_MOST_PARTS: Final = 6
_MOST_STARTS: Final = 100
_NEARLY_ALL: Final = 0.9


class _Texts:
    """The documents of one corpus by digest and by the runs that are looked for."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self.words = [normalized(document.text).split() for document in documents]
        self.ids = [document.id for document in documents]
        self.place_of = {name: place for place, name in enumerate(self.ids)}
        self.by_sha: dict[str, list[int]] = defaultdict(list)
        for place, words in enumerate(self.words):
            self.by_sha[_sha256(words)].append(place)
        self.holders: dict[tuple[int, int], list[int]] = {}

    def look_for(self, digests: Iterable[TextDigest]) -> None:
        """Note which documents hold which of the sampled runs."""
        wanted: dict[int, set[int]] = defaultdict(set)
        for digest in digests:
            length = _run_length(digest.n_words)
            wanted[length] |= _sketch(digest.sketch) | _sketch(digest.shared)
        for length, hashes in wanted.items():
            for place, words in enumerate(self.words):
                for one in _hashes(words, length) & hashes:
                    self.holders.setdefault((length, one), []).append(place)

    def same(self, doc: str, digest: TextDigest) -> Found | None:
        """Return where exactly this text is a document."""
        places = self.by_sha.get(digest.sha256, [])
        if not places:
            return None
        here = self.place_of.get(doc)
        if here in places:
            return Found("same", (doc,), 1.0, True)
        return Found("moved", self._names(places), 1.0, True)

    def elsewhere(self, doc: str, digest: TextDigest) -> Found:
        """Return where the parts of a text are that is no document of its own any more."""
        own, shared = _sketch(digest.sketch), _sketch(digest.shared)
        # A document of which every run was shared has no others to go by.
        sketch = own or shared
        held = self._holding(sketch, digest)
        whole = [p for p, runs in held.items() if runs == sketch and self._contains(p, digest)]
        if whole:
            whole.sort(key=lambda p: (len(self.words[p]), p))
            return Found("merged", self._names(whole), 1.0, True)
        parts = self._cover(held, len(sketch), self.place_of.get(doc))
        if parts and own:
            self._extend(parts, self._holding(shared, digest), len(shared), digest)
        covered = set().union(*(held.get(place, ()) for place in parts))
        share = len(covered) / len(sketch) if sketch else 0.0
        docs = self._names(sorted(parts))
        if len(parts) > 1 and share >= MIN_COVERED:
            is_exact = self._is_whole(sorted(parts), digest)
            return Found("split", docs, 1.0 if is_exact else share, is_exact)
        if doc in self.place_of:
            return Found("changed", docs if share >= MIN_COVERED else (doc,), share, False)
        if parts and share >= MIN_COVERED:
            return Found("changed", docs, share, False)
        return Found("gone", (), share, False)

    def _holding(self, runs: Iterable[int], digest: TextDigest) -> dict[int, set[int]]:
        held: dict[int, set[int]] = defaultdict(set)
        for one in runs:
            for place in self.holders.get((_run_length(digest.n_words), one), ()):
                held[place].add(one)
        return held

    def _extend(
        self, parts: list[int], held: Mapping[int, set[int]], n: int, digest: TextDigest
    ) -> None:
        """Add neighbours that hold shared runs, while the parts are shorter than the text was."""
        left = set().union(*held.values()).difference(*(held.get(place, ()) for place in parts))
        while len(parts) < _MOST_PARTS:
            n_words = sum(len(self.words[place]) for place in parts)
            beside = [place for place in (min(parts) - 1, max(parts) + 1) if place in held]
            best = max(beside, key=lambda place: len(held[place] & left), default=None)
            if best is None or n_words >= _NEARLY_ALL * digest.n_words:
                return
            if len(held[best] & left) < max(1, MIN_PART * n):
                return
            parts.append(best)
            left -= held[best]

    def _cover(self, held: Mapping[int, set[int]], n: int, here: int | None) -> list[int]:
        """Return the fewest documents that hold the found runs, the one that adds most first."""
        left = {place: set(runs) for place, runs in held.items()}
        chosen: list[int] = []
        least = max(1, round(MIN_PART * n))
        while left and len(chosen) < _MOST_PARTS:
            best = max(left, key=lambda place: (len(left[place]), place == here, -place))
            gained = left.pop(best)
            if len(gained) < least:
                break
            chosen.append(best)
            for runs in left.values():
                runs -= gained
        return chosen

    def _contains(self, place: int, digest: TextDigest) -> bool:
        words, n = self.words[place], digest.n_words
        if len(words) <= n or not digest.head:
            return False
        head = int(digest.head, 16)
        starts = (at for at, run in enumerate(_runs(words, _run_length(n))) if _hash(run) == head)
        # A text that repeats itself would be digested again and again.
        return any(
            _sha256(words[at : at + n]) == digest.sha256 for at in islice(starts, _MOST_STARTS)
        )

    def _is_whole(self, places: Sequence[int], digest: TextDigest) -> bool:
        """Return whether parts, one after the other as in the corpus, are exactly the text."""
        n = sum(len(self.words[place]) for place in places)
        return n == digest.n_words and digest.sha256 == _sha256(
            [word for place in places for word in self.words[place]]
        )

    def _names(self, places: Iterable[int]) -> tuple[str, ...]:
        return tuple(self.ids[place] for place in places)[:_MOST_DOCS]


class DriftReport(Record, frozen=True):
    """The drift of a gold set against a corpus; ``documents`` in the order of the rows."""

    documents: tuple[DocumentDrift, ...]

    def counts(self) -> dict[str, int]:
        """Return labelled pairs of query and document by class; they add up to ``total``."""
        found = Counter(one.drift for one in self.documents)
        return {**{name: found[name] for name in DRIFTS}, "total": found.total()}

    @property
    def drifted(self) -> tuple[DocumentDrift, ...]:
        """The labelled pairs whose document is not the one that was labelled."""
        return tuple(one for one in self.documents if one.drift in DRIFTED)

    @property
    def n_recorded(self) -> int:
        """The number of pairs with a digest."""
        return sum(one.drift != "not_recorded" for one in self.documents)


def drift(gold: GoldSet, corpus: Corpus) -> DriftReport:
    """Return what became of every labelled document, without the corpus it was labelled in.

    The text is looked for in the corpus of the same name. Equal digests of whole texts decide
    `same` and `moved`; a longer document that contains all words of the text one after the other
    decides `merged`. For the rest the sampled runs of words are looked for: where at least half
    of them are found, in several documents: `split`, in one: `changed`; a document whose id is
    still there is `changed`, any other is `gone`.

    Parameters
    ----------
    gold : GoldSet
        Rows with ``digests``; labelled documents without one are ``not_recorded``.
    corpus : Corpus
        The documents of now.

    Returns
    -------
    DriftReport
        One entry for each pair of query and labelled document.

    Examples
    --------
    >>> from pathlib import Path
    >>> now = Corpus((Document("d9", "law", "", "late fees are due"),), "", Path("corpus.jsonl"))
    >>> row = GoldQuery("q1", "fees", "law", relevant={"d1": 1})
    >>> row = replace(row, digests={"d1": text_digest("late fees are due")})
    >>> drift(GoldSet((row,), ""), now).documents[0].docs
    ('d9',)
    """
    by_corpus: dict[str, list[Document]] = defaultdict(list)
    for document in corpus.documents:
        by_corpus[document.corpus].append(document)
    # A document has one digest for each text that it was labelled with, mostly one.
    texts: dict[tuple[str, str, TextDigest], Found] = {}
    wanted: dict[str, dict[tuple[str, TextDigest], None]] = defaultdict(dict)
    for query in gold.queries:
        for doc in labelled_documents(query):
            if doc in query.digests:
                wanted[query.corpus][doc, query.digests[doc]] = None
    for name, pairs in wanted.items():
        there = _Texts(by_corpus.get(name, []))
        lost = []
        for doc, digest in pairs:
            found = there.same(doc, digest)
            if found is None:
                lost.append((doc, digest))
            else:
                texts[name, doc, digest] = found
        there.look_for(digest for _, digest in lost)
        texts |= {(name, doc, digest): there.elsewhere(doc, digest) for doc, digest in lost}
    return DriftReport(
        tuple(
            _of_document(query, doc, texts)
            for query in gold.queries
            for doc in labelled_documents(query)
        )
    )


def _of_document(
    query: GoldQuery, doc: str, texts: Mapping[tuple[str, str, TextDigest], Found]
) -> DocumentDrift:
    grade = query.relevant.get(doc)
    if doc not in query.digests:
        return DocumentDrift(query.id, query.corpus, doc, grade, "not_recorded")
    found = texts[query.corpus, doc, query.digests[doc]]
    return DocumentDrift(
        query.id,
        query.corpus,
        doc,
        grade,
        found.drift,
        found.docs,
        round(found.found, 4),
        found.is_exact,
    )


def labelled_documents(query: GoldQuery) -> tuple[str, ...]:
    """Return the judged documents of a row, and those that have labels only."""
    return tuple(dict.fromkeys([*query.relevant, *(label.doc for label in query.labels)]))


class Digested(Record, frozen=True):
    """Rows with digests, and how many labelled pairs got one.

    ``n_kept`` had the digest of this text already, ``n_other`` have the digest of another text
    (kept, or replaced where that was requested), ``n_unknown`` have no document in the corpus.
    """

    queries: tuple[GoldQuery, ...]
    n_added: int
    n_kept: int
    n_other: int
    n_unknown: int


def with_digests(gold: GoldSet, corpus: Corpus, *, renew: bool = False) -> Digested:
    """Return the rows of a gold set with a digest of every labelled document.

    A digest that a row has is kept, for it is of the text that was labelled; with ``renew`` it is
    replaced, which says that the labels hold for the texts of now.
    """
    known = digests_of(
        corpus, {(query.corpus, doc) for query in gold.queries for doc in labelled_documents(query)}
    )
    n: Counter[str] = Counter()
    queries = []
    for query in gold.queries:
        digests = dict(query.digests)
        for doc in labelled_documents(query):
            digest = known.get((query.corpus, doc))
            if digest is None:
                n["unknown"] += 1
            elif doc not in digests:
                n["added"] += 1
                digests[doc] = digest
            elif digests[doc].sha256 == digest.sha256:
                n["kept"] += 1
            else:
                n["other"] += 1
                if renew:
                    digests[doc] = digest
        queries.append(replace(query, digests=digests) if digests != query.digests else query)
    return Digested(tuple(queries), n["added"], n["kept"], n["other"], n["unknown"])


def drift_rows(report: DriftReport) -> Iterator[tuple[str, ...]]:
    """Yield query, document, class and the documents of now for each pair that drifted."""
    for one in report.drifted:
        shown = ", ".join(one.docs) or "—"
        share = "" if one.found is None or one.is_exact else f" ({one.found:.0%} of it found)"
        yield one.query, one.doc, one.drift, f"{shown}{share}"
