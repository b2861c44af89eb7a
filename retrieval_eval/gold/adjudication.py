"""Settling grades: disagreements go to a third reviewer, and what is unanimous becomes final."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.gold.corpus import Corpus
from retrieval_eval.gold.disagreements import ADJUDICATION, DECISIONS, disagreements
from retrieval_eval.gold.extra import records, with_extra
from retrieval_eval.gold.model import GoldQuery, GoldSet
from retrieval_eval.gold.pair_sheets import LABELLING, PURPOSE, pair_sheets
from retrieval_eval.gold.pool import Pool
from retrieval_eval.gold.pool_key import read_key
from retrieval_eval.gold.pool_reading import PoolReading, read_pool

Graders = Mapping[str, Sequence[str]]
"""Document to the labellers who were asked for its grade."""


@dataclass(frozen=True, slots=True)
class Settlement:
    """Gold rows with settled grades, in the order they had.

    Of the pairs of query and document in the key ``n_settled`` are settled, ``n_apart`` were
    graded differently, and ``n_waiting`` lack somebody's grade; ``n_moved`` of the settled ones
    have another grade in ``relevant`` than before. ``reading`` says what the sheets brought.
    """

    queries: tuple[GoldQuery, ...]
    purpose: str
    n_settled: int
    n_moved: int
    n_apart: int
    n_waiting: int
    reading: PoolReading


def adjudication_sheet(gold: GoldSet, corpus: Corpus, adjudicator: str, *, seed: int = 0) -> Pool:
    """Return the disagreements nobody has adjudicated as a sheet for a third reviewer.

    The reviewer sees query and document and not who graded what, so that the grade is their own.

    Parameters
    ----------
    corpus
        The texts to show.
    adjudicator
        The name to put on record; nobody whose own grade is in question.
    seed
        Seed of the order and of the ids.

    Raises
    ------
    BadInputError
        When the adjudicator graded one of the documents before, or a document has no text.
    NothingToEvaluateError
        When nothing is open.
    """
    open_ones = [found for found in disagreements(gold) if not found.decided_by]
    if not open_ones:
        raise NothingToEvaluateError("there is no disagreement to adjudicate")
    if any(adjudicator.casefold() in map(str.casefold, one.grades) for one in open_ones):
        raise BadInputError(
            f"{adjudicator[:80]!r} is one of those who disagree; a third reviewer decides"
        )
    docs: dict[str, list[str]] = {}
    for one in open_ones:
        docs.setdefault(one.query, []).append(one.doc)
    return pair_sheets(gold, corpus, docs, [adjudicator], purpose=ADJUDICATION, seed=seed)


def settle(gold: GoldSet, sheets: Sequence[Path], key: Path) -> Settlement:
    """Read sheets back, and make final what all labellers of the key agree on.

    Every grade becomes a label of the person the key names for it. Where all who were asked for
    a document gave the same grade, now or before, that grade also goes to ``relevant``, and a
    record of it to the field :data:`~retrieval_eval.gold.disagreements.DECISIONS`: the document,
    the grade, ``by`` whom, ``why`` (the purpose of the key) and ``over`` which grades of others.
    Reading the same sheets again changes nothing.

    Raises
    ------
    BadInputError
        With every fault by file and line (see `read_pool`), and when a document of a query that
        the gold set calls unanswerable was settled as relevant: a person decides which is wrong.
    """
    found = read_key(key)
    purpose = found.get(PURPOSE, LABELLING)
    if not isinstance(purpose, str):
        raise BadInputError(f"{key}: /{PURPOSE}: expected text; was the key edited?")
    reading = read_pool(gold, sheets, key)
    asked: dict[str, dict[str, list[str]]] = {}
    for entry in found["items"].values():
        asked.setdefault(entry["query"], {}).setdefault(entry["doc"], []).append(entry["labeller"])
    queries, faults = [], []
    n_settled = n_moved = n_apart = n_waiting = 0
    for query in reading.queries:
        grades, waiting = _unanimous(query, asked.get(query.id, {}))
        n_waiting += waiting
        n_apart += len(asked.get(query.id, {})) - waiting - len(grades)
        n_settled += len(grades)
        n_moved += sum(query.relevant.get(doc) != grade for doc, grade in grades.items())
        if query.answerable is False and any(grades.values()):
            doc = next(doc for doc, grade in grades.items() if grade)
            faults.append(
                f"the query {query.id!r} is said to be unanswerable, yet {doc[:80]!r} was settled"
                f" as relevant ({grades[doc]}); correct 'answerable' in its row, or the sheet"
            )
        queries.append(_settled(query, grades, asked.get(query.id, {}), purpose))
    if faults:
        raise BadInputError("\n".join(faults))
    return Settlement(tuple(queries), purpose, n_settled, n_moved, n_apart, n_waiting, reading)


def _unanimous(query: GoldQuery, asked: Graders) -> tuple[dict[str, int], int]:
    """Return the grades that all who were asked gave, and for how many one is missing."""
    given = {(label.labeller, label.doc): label.grade for label in query.labels}
    grades, waiting = {}, 0
    for doc, labellers in sorted(asked.items()):
        theirs = {given.get((labeller, doc)) for labeller in labellers}
        if None in theirs:
            waiting += 1
        elif len(theirs) == 1:
            grades[doc] = next(grade for grade in theirs if grade is not None)
    return grades, waiting


def _settled(
    query: GoldQuery, grades: Mapping[str, int], asked: Graders, purpose: str
) -> GoldQuery:
    if not grades:
        return query
    kept = records(query, DECISIONS)
    for doc, grade in grades.items():
        by = sorted(asked[doc])
        others = {
            label.labeller: label.grade
            for label in query.labels
            if label.doc == doc and label.labeller not in by
        }
        record = {"doc": doc, "grade": grade, "by": by, "why": purpose}
        record["over"] = dict(sorted(others.items()))
        same = [one for one in kept if all(one.get(n) == record[n] for n in ("doc", "by", "why"))]
        kept = [one for one in kept if one not in same] + [record]
    settled = replace(query, relevant={**query.relevant, **grades}, source="chair")
    return with_extra(settled, {DECISIONS: kept})
