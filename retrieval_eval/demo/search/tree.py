"""The search demo on disk."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retrieval_eval.demo.dice import Dice
from retrieval_eval.demo.search.database import feedback_database
from retrieval_eval.demo.search.documents import Collection, compose
from retrieval_eval.demo.search.questions import ask
from retrieval_eval.demo.search.rows import gold_rows
from retrieval_eval.io.files import write_bytes, write_text

SEED = 20250106


@dataclass(frozen=True, slots=True)
class SearchDemo:
    """Where the parts of the search demo lie.

    ``corpus`` and ``gold`` are JSONL, ``sources`` is the folder of the texts that documents are
    cut from, and ``feedback`` an SQLite database with ``search_logs``,
    ``search_relevance_feedback`` and the review queue ``halachot``.
    """

    root: Path
    corpus: Path
    gold: Path
    sources: Path
    feedback: Path


def write_search_demo(root: Path, seed: int = SEED) -> SearchDemo:
    """Write an invented collection with questions, judgements and feedback below ``root``.

    The same seed gives the same bytes; another seed words the documents otherwise and draws
    other labelling mistakes, but plants the same facts. Judgements follow from the facts that
    documents were given to state; no retriever is asked.

    Parameters
    ----------
    root
        The folder; it is created, and files of the same names are replaced.
    seed
        Seed of everything that is left to chance.
    """
    dice = Dice(seed, "search")
    collection = compose(dice.scoped("text"))
    queries = ask(collection.documents, dice.scoped("queries"))
    demo = SearchDemo(
        root,
        root / "corpus.jsonl",
        root / "gold-set.jsonl",
        root / "sources",
        root / "feedback.sqlite",
    )
    for name, text in collection.sources.items():
        write_text(demo.sources / name, text)
    write_text(demo.corpus, _lines(_corpus_rows(collection)))
    write_text(demo.gold, _lines(gold_rows(queries, collection, dice.scoped("gold"))))
    write_bytes(demo.feedback, feedback_database(queries, dice.scoped("feedback")))
    return demo


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


def _lines(rows: Iterable[Mapping[str, Any]]) -> str:
    return "".join(
        json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows
    )
