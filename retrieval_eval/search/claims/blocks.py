"""The text of blocks, by document id: what is labelled relevant, and what a draft had before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from retrieval_eval.errors import BadInputError
from retrieval_eval.gold.corpus import Corpus, Document
from retrieval_eval.model.gold import GoldQuery
from retrieval_eval.search.claims.drafts import Draft
from retrieval_eval.search.claims.judge import block_text

CONTEXT_DEPTH: Final = 5
"""The documents of the run's ranking that count as context of a draft that names none."""


@dataclass(frozen=True, slots=True)
class Block:
    """A text that may support claims; ``doc`` is None for context that was given as text.

    ``offset`` is where the document's own text begins in ``text``, behind its title.
    """

    doc: str | None
    text: str
    offset: int = 0


class Blocks:
    """The documents of a corpus, by corpus and id."""

    def __init__(self, corpus: Corpus) -> None:
        self._name = corpus.path.name
        self._documents = {(d.corpus, d.id): d for d in corpus.documents}

    def labelled(self, query: GoldQuery) -> tuple[Block, ...]:
        """Return the blocks of grade 1 or more of a query: higher grades first, then by id.

        Raises
        ------
        BadInputError
            When one of them is not in the corpus file, for nobody could say what it supports.
        """
        relevant = sorted((-grade, doc) for doc, grade in query.relevant.items() if grade >= 1)
        missing = [doc for _, doc in relevant if (query.corpus, doc) not in self._documents]
        if missing:
            raise BadInputError(
                f"{self._name}: lacks the document {missing[0]!r}, labelled relevant for query"
                f" {query.id!r} of corpus {query.corpus!r}; name the corpus file of the labels"
            )
        return tuple(_block(self._documents[query.corpus, doc]) for _, doc in relevant)

    def context(self, query: GoldQuery, draft: Draft, ranked: Mapping[str, Any]) -> list[Block]:
        """Return what a draft was written from: what it names, else the first five of the run.

        An entry that is a document id of the query's corpus is that document, any other is text.

        Raises
        ------
        BadInputError
            When an entry is one word and no document id, which is a typing mistake and no text.
        """
        if draft.context is None:
            found = [entry["doc"] for entry in ranked["ranking"][:CONTEXT_DEPTH]]
            known = [self._documents.get((query.corpus, doc)) for doc in found]
            # What a retriever returns need not exist; it then cannot support anything.
            return [_block(document) for document in known if document is not None]
        blocks = []
        for place, entry in enumerate(draft.context):
            document = self._documents.get((query.corpus, entry))
            if document is None and len(entry.split()) < 2:
                raise BadInputError(
                    f"the drafts: line {draft.line}: /context/{place}: {entry[:80]!r} is"
                    f" no document of corpus {query.corpus!r} in {self._name}"
                )
            blocks.append(Block(None, entry) if document is None else _block(document))
        return blocks

    def find(self, entry: str) -> str:
        """Return the block of a document id, or the entry itself where it is text.

        Raises
        ------
        BadInputError
            When the id is one of several corpora, or one word and no id.
        """
        found = [d for (_, doc), d in self._documents.items() if doc == entry]
        if len(found) > 1:
            raise BadInputError(f"the document id {entry[:80]!r} is in several corpora")
        if not found and len(entry.split()) < 2:
            raise BadInputError(f"{entry[:80]!r} is no document of {self._name}")
        return _block(found[0]).text if found else entry


def _block(document: Document) -> Block:
    text = block_text(document.title, document.text)
    return Block(document.id, text, len(text) - len(document.text))
