"""Rows of the demo's gold set: who judged, what two labellers said, and where documents stand."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tests.simulators.dice import Dice
from tests.simulators.search.documents import Collection
from tests.simulators.search.model import FULL, PART, PlantedQuery, Span

BOOTSTRAPPED: Final = 0.5
LABELLED: Final = 0.7
MISTAKEN: Final = {"a": 0.10, "b": 0.14}


def is_bootstrapped(query: PlantedQuery, dice: Dice) -> bool:
    """Return whether a query was not reviewed: its judgements come from the feedback alone."""
    return (
        query.origin == "replayed"
        and query.answerable
        and dice.chance(BOOTSTRAPPED, "bootstrap", query.id)
    )


def gold_rows(
    queries: Sequence[PlantedQuery], collection: Collection, dice: Dice
) -> list[dict[str, Any]]:
    """Return the rows of the gold set: reviewed ones first, each part by corpus and id."""
    ordered = sorted(queries, key=lambda query: (query.corpus, query.id))
    chair = [
        _chair(query, collection, dice) for query in ordered if not is_bootstrapped(query, dice)
    ]
    return chair + [_bootstrap(query) for query in ordered if is_bootstrapped(query, dice)]


def _bootstrap(query: PlantedQuery) -> dict[str, Any]:
    # What the feedback knows: documents that were of use, all of the same grade.
    return {
        "id": query.id,
        "query": query.query,
        "corpus": query.corpus,
        "area": query.area,
        "relevant": {doc: 1 for doc, grade in sorted(query.grades.items()) if grade},
        "source": "bootstrap",
        "origin": query.origin,
        "simulated": True,
    }


def _chair(query: PlantedQuery, collection: Collection, dice: Dice) -> dict[str, Any]:
    row: dict[str, Any] = {
        "id": query.id,
        "query": query.query,
        "corpus": query.corpus,
        "area": query.area,
        "relevant": dict(query.grades),
        "source": "chair",
        "origin": query.origin,
        "simulated": True,
    }
    if not query.answerable:
        row["answerable"] = False
    row["note"] = query.difficulty
    if dice.chance(LABELLED, "labelled", query.id):
        row["labels"] = _labels(query, dice.scoped("label", query.id))
    row["anchors"] = _anchors(query.grades, collection)
    return row


def _labels(query: PlantedQuery, dice: Dice) -> list[dict[str, Any]]:
    """Return two grades for each document; at most one of them differs from the settled grade.

    Where both agree there was nothing to settle, so a mistake of one is never shared.
    """
    labels = []
    for doc, grade in query.grades.items():
        is_a = dice.chance(MISTAKEN["a"], "a", doc)
        is_b = not is_a and dice.chance(MISTAKEN["b"], "b", doc)
        for labeller, is_mistaken in (("a", is_a), ("b", is_b)):
            given = _beside(grade, dice.chance(0.5, labeller, doc, "up")) if is_mistaken else grade
            labels.append({"labeller": labeller, "doc": doc, "grade": given})
    return labels


def _beside(grade: int, is_up: bool) -> int:
    if grade == PART:
        return FULL if is_up else 0
    return PART


def _anchors(grades: Mapping[str, int], collection: Collection) -> dict[str, Any]:
    spans = {document.id: document.span for document in collection.documents}
    return {doc: anchor(spans[doc], collection.sources) for doc in sorted(grades)}


def anchor(span: Span, sources: Mapping[str, str]) -> dict[str, Any]:
    """Return a span with the digest of its text."""
    text = sources[span.source][span.start : span.end]
    return {
        "source": span.source,
        "start": span.start,
        "end": span.end,
        "sha256": hashlib.sha256(text.encode()).hexdigest(),
    }
