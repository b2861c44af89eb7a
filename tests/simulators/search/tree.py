"""The files of the search demo."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tests.simulators.dice import Dice
from tests.simulators.search.database import feedback_database
from tests.simulators.search.documents import Collection, compose
from tests.simulators.search.drafts import draft_rows, planted_drafts
from tests.simulators.search.model import SEED
from tests.simulators.search.questions import ask
from tests.simulators.search.rows import gold_rows


def search_files(seed: int = SEED) -> Iterator[tuple[str, bytes]]:
    """Yield every file of the collection: path relative to its root, and content.

    The same seed gives the same bytes; another seed words the documents otherwise and draws
    other labelling mistakes, but plants the same facts. Judgements follow from the facts that
    documents were given to state; no retriever is asked.
    """
    dice = Dice(seed, "search")
    collection = compose(dice.scoped("text"))
    queries = ask(collection.documents, dice.scoped("queries"))
    for name, text in collection.sources.items():
        yield f"sources/{name}", text.encode()
    yield "corpus.jsonl", _lines(_corpus_rows(collection))
    yield "gold-set.jsonl", _lines(gold_rows(queries, collection, dice.scoped("gold")))
    yield "feedback.sqlite", feedback_database(queries, dice.scoped("feedback"))
    yield "drafts.jsonl", _lines(draft_rows(planted_drafts(seed)))


def _corpus_rows(collection: Collection) -> Iterable[Mapping[str, Any]]:
    for document in collection.documents:
        yield {
            "id": document.id,
            "corpus": document.corpus,
            "title": document.title,
            "text": document.text,
            "source": document.span.source,
            "start": document.span.start,
            "end": document.span.end,
        }


def _lines(rows: Iterable[Mapping[str, Any]]) -> bytes:
    return "".join(
        json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows
    ).encode()
