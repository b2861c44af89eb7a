"""Where labellers disagree, and which of it somebody has settled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from retrieval_eval.gold.extra import records
from retrieval_eval.gold.model import GoldQuery, GoldSet

DECISIONS: Final = "decisions"
"""The field of a gold row that says who settled which grade, over which labels."""

ADJUDICATION: Final = "adjudication"
"""Why a grade was settled by somebody who labelled nothing but disagreements."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A document that labellers grade differently for one query.

    ``final`` is the grade in ``relevant``, None where there is none; ``decided_by`` names who
    adjudicated it, empty where no record says so.
    """

    query: str
    corpus: str
    doc: str
    grades: Mapping[str, int]
    final: int | None
    decided_by: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-able block."""
        return {
            "query": self.query,
            "corpus": self.corpus,
            "doc": self.doc,
            "grades": dict(self.grades),
            "final": self.final,
            "decided_by": list(self.decided_by),
        }


def disagreements(gold: GoldSet) -> list[Disagreement]:
    """Return the documents that were graded differently, by query and document.

    An adjudicator's own grade is not counted among those that differ.
    """
    found = []
    for query in sorted(gold.queries, key=lambda q: q.id):
        deciders = adjudicators(query)
        for doc, given in sorted(own_grades(query).items()):
            if len(set(given.values())) > 1:
                by = tuple(sorted(deciders.get(doc, ())))
                final = query.relevant.get(doc)
                found.append(Disagreement(query.id, query.corpus, doc, given, final, by))
    return found


def own_grades(query: GoldQuery) -> dict[str, dict[str, int]]:
    """Return document to labeller to grade, without the grades that settled disagreements."""
    deciders = adjudicators(query)
    found: dict[str, dict[str, int]] = {}
    for label in query.labels:
        if label.labeller not in deciders.get(label.doc, ()):
            found.setdefault(label.doc, {})[label.labeller] = label.grade
    return {doc: dict(sorted(given.items())) for doc, given in found.items()}


def adjudicators(query: GoldQuery) -> dict[str, frozenset[str]]:
    """Return who settled disagreements, by document, as the field :data:`DECISIONS` says."""
    found: dict[str, frozenset[str]] = {}
    for record in records(query, DECISIONS):
        doc, by = record.get("doc"), record.get("by")
        if record.get("why") == ADJUDICATION and isinstance(doc, str) and isinstance(by, list):
            names = frozenset(name for name in by if isinstance(name, str))
            found[doc] = found.get(doc, frozenset()) | names
    return found
