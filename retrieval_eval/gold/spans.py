"""Where documents were cut from: chunks with their spans, and the source texts they name."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from retrieval_eval.errors import BadInputError
from retrieval_eval.gold.corpus import Corpus, Document
from retrieval_eval.gold.model import Anchor
from retrieval_eval.io.files import Text, answers, read_text

Key = tuple[str, str]
"""A document: the name of its corpus and its id."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A document as something cut from a source.

    ``words`` is its text with white space collapsed. ``source``, ``start`` and ``end`` (in
    characters) are None where the corpus does not say; ``place`` is its number in the file.
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
        """Sorts the chunks of one source as they stand there."""
        return (self.place if self.start is None else self.start), self.place


def chunks(corpus: Corpus, anchors: Mapping[Key, Anchor] | None = None) -> dict[Key, Chunk]:
    """Return the chunks of a corpus by document.

    A document says in ``source``, ``start`` and ``end`` where it stands; for those that do not,
    ``anchors`` may.
    """
    known = anchors or {}
    return {
        (document.corpus, document.id): _chunk(
            document, place, known.get((document.corpus, document.id))
        )
        for place, document in enumerate(corpus.documents)
    }


def collapsed(text: str) -> str:
    r"""Return a text with white space collapsed: what a new line break does not change.

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
    """Return the text of a source below ``root``; nothing else is read, and no link followed."""
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
    """Return the chunks that do not stand where they say, and why sources could not be read.

    Raises
    ------
    BadInputError
        When there is no such folder of sources.
    """
    if not answers(root.is_dir):
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
    said: Iterable[Any] = (document.extra.get(name) for name in ("source", "start", "end"))
    source, start, end = said
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
