"""Chunks of source texts, and where the text of an old chunk is after re-chunking."""

from __future__ import annotations

import hashlib
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final, Literal, get_args

from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import Text, probe, read_text
from retrieval_eval.model.common import Record
from retrieval_eval.model.gold import Anchor, GoldQuery, GoldSet
from retrieval_eval.search.gold.corpus import Corpus, Document

Key = tuple[str, str]
"""A document: the name of its corpus and its id."""


class Chunk(Record, frozen=True):
    """A document as something cut from a source.

    ``words`` is its text with white space collapsed. ``source``, ``start`` and ``end`` (in
    characters) are None where the corpus does not state them; ``place`` is its number in the file.
    """

    key: Key
    words: str
    sha256: str
    source: str | None
    start: int | None
    end: int | None
    place: int

    @property
    def anchor(self) -> Anchor | None:
        """The anchor of a document with this text, None where its span is not known."""
        if self.source is None or self.start is None or self.end is None:
            return None
        return Anchor(self.source, self.start, self.end, self.sha256)

    @property
    def order(self) -> tuple[int, int]:
        """The sort key of the chunks of one source: their order there."""
        return (self.place if self.start is None else self.start), self.place


def chunks(corpus: Corpus, anchors: Mapping[Key, Anchor] | None = None) -> dict[Key, Chunk]:
    """Return the chunks of a corpus by document.

    The fields ``source``, ``start`` and ``end`` of a document give its place; ``anchors`` gives it
    for documents without them.
    """
    known = anchors or {}
    return {
        (document.corpus, document.id): _chunk(
            document, place, known.get((document.corpus, document.id))
        )
        for place, document in enumerate(corpus.documents)
    }


def collapsed(text: str) -> str:
    r"""Return a text with white space collapsed, so that wrapping does not change it.

    Examples
    --------
    >>> collapsed(" one\n two  ")
    'one two'
    """
    return " ".join(text.split())


def digest(text: str) -> str:
    """Return the SHA-256 (hexadecimal) of a text, as anchors hold it."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def read_source(root: Path, source: str) -> Text:
    """Return the text of a source below ``root``; no link is followed."""
    parts = PurePosixPath(source).parts
    if not parts or PurePosixPath(source).is_absolute() or ".." in parts or "\0" in source:
        return Text(None, f"{source[:80]!r} is no path below the folder of sources")
    path = root
    try:
        for part in parts:
            path = path / part
            if path.is_symlink():
                return Text(None, f"{source[:80]!r}: is a link, which is not followed")
        if path.exists() and not path.is_file():
            return Text(None, f"{source[:80]!r}: is no file")
    except OSError as error:
        return Text(None, f"{source[:80]!r}: cannot be read ({error.strerror or error})")
    return read_text(path, root)


def misplaced(found: Iterable[Chunk], root: Path) -> tuple[set[Key], list[str]]:
    """Return the chunks whose stated place is wrong, and why sources could not be read.

    Raises
    ------
    BadInputError
        When there is no such folder of sources.
    """
    if not probe(root.is_dir):
        raise BadInputError(f"{root}: no such folder of sources")
    texts: dict[str, Text] = {}
    wrong = set()
    for chunk in found:
        if chunk.source is None or chunk.start is None or chunk.end is None:
            continue
        if chunk.source not in texts:
            texts[chunk.source] = read_source(root, chunk.source)
        text = texts[chunk.source].value
        if text is None or collapsed(text[chunk.start : chunk.end]) != chunk.words:
            wrong.add(chunk.key)
    return wrong, [text.problem for text in texts.values() if text.problem is not None]


def _chunk(document: Document, place: int, anchor: Anchor | None) -> Chunk:
    span: Iterable[Any] = (document.extra.get(name) for name in ("source", "start", "end"))
    source, start, end = span
    if not isinstance(source, str) or not source.strip():
        source = start = end = None
    elif not (_is_offset(start) and _is_offset(end)) or start > end:
        start = end = None
    if source is None and anchor is not None:
        source, start, end = anchor.source, anchor.start, anchor.end
    return Chunk(
        (document.corpus, document.id),
        collapsed(document.text),
        digest(document.text),
        source,
        start,
        end,
        place,
    )


def _is_offset(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


How = Literal["moved", "carried", "changed", "gone"]

REASONS: Final[Mapping[str, str]] = {
    "split": "its text is in several documents now",
    "changed": "its text was changed",
    "grown": "it was not relevant, but is part of a longer document now",
    "anchor_differs": "the label was given to another text than the old corpus has",
    "source_gone": "nothing of its source is in the new corpus",
    "source_without_chunks": "its source exists, but nothing of it is in the new corpus",
    "text_gone": "nothing of its text is in the new corpus",
    "unknown_document": "it is not in the old corpus",
}
"""Reason codes of labels that cannot be moved automatically, with their sentences."""

MIN_SHARED_WORDS: Final = 5
"""Consecutive shared words that prove common origin; for a short text, half of its words."""

Gram = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Resolution:
    """Where the text of an old document is now.

    ``moved``: ``docs`` is the one document with the same text (up to white space). ``carried``:
    ``docs`` all contain the whole text, the shortest first. ``changed``: ``docs`` hold parts of it,
    in the order of the source. ``gone``: there are none. ``reason`` is a code of :data:`REASONS`
    for the last two.
    """

    how: How
    docs: tuple[str, ...]
    reason: str | None = None


def resolve(
    old: Mapping[Key, Chunk], new: Mapping[Key, Chunk], sources: Path | None = None
) -> dict[Key, Resolution]:
    """Return where the text of every old document is now.

    Documents are matched by text, never by offset or id: chunks that moved with their lines, or
    that were only re-wrapped, are the same. Equal texts of one source are matched in their order. A
    text that is not found whole is searched for in its own source only.

    Parameters
    ----------
    old, new
        The chunks of the two corpora.
    sources
        The folder of the new sources, to distinguish a missing source from one without chunks.
    """
    found = _same_texts(old, new)
    taken = {(key[0], found[key].docs[0]) for key in found}
    places: dict[tuple[str, str | None], list[Chunk]] = defaultdict(list)
    for chunk in new.values():
        places[chunk.key[0], chunk.source].append(chunk)
    lost: dict[tuple[str, str | None], list[Chunk]] = defaultdict(list)
    for chunk in old.values():
        lost[chunk.key[0], chunk.source].append(chunk)
    for place, neighbours in lost.items():
        missing = [chunk for chunk in neighbours if chunk.key not in found]
        if place[1] is not None:
            there = _Source(neighbours, places.get(place, ()), taken)
            for chunk in missing:
                found[chunk.key] = there.resolve(chunk) or _no_chunks(chunk.source, sources)
            continue
        # The places of these are not known, so only a document of the same id is a candidate.
        for chunk in missing:
            there = _Source([chunk], [new[chunk.key]] if chunk.key in new else [], taken)
            found[chunk.key] = there.resolve(chunk) or Resolution("gone", (), "text_gone")
    return found


def _same_texts(old: Mapping[Key, Chunk], new: Mapping[Key, Chunk]) -> dict[Key, Resolution]:
    here: dict[tuple[str, str], list[Chunk]] = defaultdict(list)
    for chunk in new.values():
        here[chunk.key[0], chunk.words].append(chunk)
    groups: dict[tuple[str, str, str | None], list[Chunk]] = defaultdict(list)
    for chunk in old.values():
        groups[chunk.key[0], chunk.words, chunk.source].append(chunk)
    found = {}
    for (corpus, words, source), equal in groups.items():
        there = here.get((corpus, words), [])
        own = [chunk for chunk in there if chunk.source == source]
        if not there:
            continue
        for chunk, target in _by_order(equal, own or there):
            found[chunk.key] = Resolution("moved", (target.key[1],))
    return found


def _by_order(equal: Sequence[Chunk], there: Sequence[Chunk]) -> Iterable[tuple[Chunk, Chunk]]:
    """Pair chunks of one text: one by one where there are as many, else those of the same id."""
    first = sorted(equal, key=lambda chunk: chunk.order)
    second = sorted(there, key=lambda chunk: (chunk.source or "", chunk.order))
    ids = {chunk.key: chunk for chunk in second}
    for place, chunk in enumerate(first):
        in_order = second[min(place, len(second) - 1)]
        yield chunk, in_order if len(first) == len(second) else ids.get(chunk.key, in_order)


@dataclass(frozen=True, slots=True)
class _Index:
    """How many old chunks hold a run of words, which new ones do, and which are shorter."""

    n_old: Counter[Gram]
    with_gram: Mapping[Gram, Sequence[int]]
    short: set[int]

    def places(self, grams: Iterable[Gram]) -> set[int]:
        return {place for gram in grams for place in self.with_gram.get(gram, ())}


class _Source:
    """The old and new chunks of one source; new ones are found by the words they share."""

    def __init__(self, old: Sequence[Chunk], new: Sequence[Chunk], taken: set[Key]) -> None:
        self.old = old
        self.new = sorted(new, key=lambda chunk: chunk.order)
        # A chunk with the text of another old document is matched already.
        self.is_free = [chunk.key not in taken for chunk in self.new]
        self.place_of = {chunk.key: place for place, chunk in enumerate(self.new)}
        self.indexes: dict[int, _Index] = {}

    def resolve(self, chunk: Chunk) -> Resolution | None:
        """Return where the parts of a chunk are now; None where its source has no chunk."""
        if not self.new:
            return None
        size = _words_needed(chunk.words)
        index = self._index(size)
        grams = _grams(chunk.words, size)
        rarest = min((index.with_gram.get(gram, ()) for gram in grams), key=len, default=())
        whole = [p for p in rarest if _is_part(chunk.words, self.new[p].words)]
        if whole:
            whole.sort(key=lambda p: (len(self.new[p].words), p))
            return Resolution("carried", self._ids(whole))
        # Sentences that several chunks share do not show where this chunk is now.
        sharing = index.places({gram for gram in grams if index.n_old[gram] == 1} or grams)
        parts = {
            p
            for p in index.places(grams) | index.short
            if self.is_free[p] and (p in sharing or _is_part(self.new[p].words, chunk.words))
        }
        same = self.place_of.get(chunk.key)
        if not parts and same is not None and self.is_free[same]:
            # Rewritten from the first word to the last, yet still the same document.
            parts = {same}
        if not parts:
            return Resolution("gone", (), "text_gone")
        reason = "split" if len(parts) > 1 else "changed"
        return Resolution("changed", self._ids(sorted(parts)), reason)

    def _index(self, size: int) -> _Index:
        if size not in self.indexes:
            n_old = Counter(gram for chunk in self.old for gram in _grams(chunk.words, size))
            with_gram: dict[Gram, list[int]] = defaultdict(list)
            short = set()
            for place, chunk in enumerate(self.new):
                for gram in _grams(chunk.words, size):
                    with_gram[gram].append(place)
                    if len(gram) < size:
                        short.add(place)
            self.indexes[size] = _Index(n_old, with_gram, short)
        return self.indexes[size]

    def _ids(self, places: Iterable[int]) -> tuple[str, ...]:
        return tuple(self.new[place].key[1] for place in places)


def _words_needed(words: str) -> int:
    """Return how many consecutive shared words prove common origin with this text."""
    n = len(words.split())
    return max(min(MIN_SHARED_WORDS, n // 2), min(2, n))


def _grams(words: str, size: int) -> set[Gram]:
    """Return all runs of so many words; a shorter text is one run."""
    single = words.split()
    if len(single) <= size:
        return {tuple(single)} if single else set()
    return {tuple(single[i : i + size]) for i in range(len(single) - size + 1)}


def _is_part(part: str, whole: str) -> bool:
    return 0 < len(part) <= len(whole) and f" {part} " in f" {whole} "


def _no_chunks(source: str | None, sources: Path | None) -> Resolution:
    is_there = (
        source is not None
        and sources is not None
        and read_source(sources, source).value is not None
    )
    return Resolution("gone", (), "source_without_chunks" if is_there else "source_gone")


# --------------------------------------------------------------------------------------------------
# Drift: whether labelled documents still have the text that was labelled.

Drift = Literal["same", "changed", "gone", "not_recorded"]

DRIFTS: Final[tuple[Drift, ...]] = get_args(Drift)


def text_digest(text: str) -> str:
    r"""Return the digest of a document's text: SHA-256 in Unicode NFC, white space collapsed.

    Examples
    --------
    >>> text_digest(" Cafe\u0301\n fees ") == text_digest("Caf\u00e9 fees")
    True
    """
    return digest(collapsed(unicodedata.normalize("NFC", text)))


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
    stated, anchor = query.digests.get(doc), query.anchors.get(doc)
    if stated is None and anchor is None:
        return "not_recorded"
    if stated not in (None, text_digest(now)):
        return "changed"
    return "same" if anchor is None or anchor.sha256 == digest(now) else "changed"


def labelled_documents(query: GoldQuery) -> tuple[str, ...]:
    """Return the judged documents of a row, and those that have labels only."""
    return tuple(dict.fromkeys([*query.relevant, *(label.doc for label in query.labels)]))
