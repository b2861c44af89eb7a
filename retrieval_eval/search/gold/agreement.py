"""Agreement of labellers with each other, and the settling of grades."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.model import Record
from retrieval_eval.model.gold import GoldQuery, GoldSet
from retrieval_eval.search.gold import max_grade_of
from retrieval_eval.search.gold.corpus import Corpus
from retrieval_eval.search.gold.labelling import (
    LABELLING,
    PURPOSE,
    Pool,
    PoolReading,
    pair_sheets,
    read_key,
    read_pool,
)
from retrieval_eval.stats.agreement import Kappa, Weights, cohen_kappa
from retrieval_eval.values import DEFAULT_SEED, Value, ratio

WEIGHTS: Final[Mapping[str, Weights | None]] = {
    "none": None,
    "linear": "linear",
    "quadratic": "quadratic",
}
"""Names of the ways in which a disagreement can count."""

MIN_OF_CORPUS: Final = 5
"""Below this many pairs a corpus has counts and no kappa of its own."""


@dataclass(frozen=True, slots=True)
class Compared:
    """Two rows of grades of the same (query, document) pairs.

    ``agreement`` is the share of equal grades; ``kappas`` has the requested kappas by
    the names of :data:`WEIGHTS`; ``table`` counts pairs by the first grade (rows) and the second
    (columns), both from 0 to the top of the scale.
    """

    n: int
    n_queries: int
    agreement: Value
    kappas: Mapping[str, Kappa]
    table: tuple[tuple[int, ...], ...]

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-able block."""
        return {
            "n": self.n,
            "n_queries": self.n_queries,
            "agreement": self.agreement.to_json(),
            "kappa": {name: _kappa_json(kappa) for name, kappa in self.kappas.items()},
            "table": [list(row) for row in self.table],
        }


@dataclass(frozen=True, slots=True)
class LabellerPair:
    """The agreement of two labellers: overall, and by corpus."""

    first: str
    second: str
    overall: Compared
    corpora: Mapping[str, Compared]

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-able block."""
        return {
            "first": self.first,
            "second": self.second,
            **self.overall.to_json(),
            "corpora": {name: part.to_json() for name, part in self.corpora.items()},
        }


def agreement(
    gold: GoldSet,
    *,
    pairs: Sequence[tuple[str, str]] | None = None,
    weights: Sequence[str] = tuple(WEIGHTS),
    seed: int = DEFAULT_SEED,
    n_resamples: int = 2_000,
) -> list[LabellerPair]:
    """Return the agreement of every pair of labellers over what both of them graded.

    Labels of an adjudicator on the disagreements they settled are left out: they exist only where
    others disagree, so agreement with them is meaningless. Intervals resample whole queries.

    Parameters
    ----------
    gold
        The gold set; its scale of grades is that of `cohen_kappa`.
    pairs
        Which labellers to compare; by default all who graded a document in common.
    weights
        Names of :data:`WEIGHTS`.
    seed, n_resamples
        Of the bootstrap.

    Raises
    ------
    BadInputError
        When a labeller of ``pairs`` has no label.
    NothingToEvaluateError
        When no two labellers graded the same document of a query.
    """
    top = max_grade_of(gold)
    grades = [(query, own_grades(query)) for query in sorted(gold.queries, key=lambda q: q.id)]
    labellers = sorted({name for _, docs in grades for given in docs.values() for name in given})
    chosen = list(combinations(labellers, 2)) if pairs is None else list(pairs)
    for first, second in chosen:
        if first == second:
            raise BadInputError(f"a pair has two labellers, not {first[:80]!r} twice")
    for name in (name for pair in chosen for name in pair):
        if name not in labellers:
            known = ", ".join(labellers) or "none"
            raise BadInputError(f"the labeller {name[:80]!r} has no label; labellers: {known}")
    found = []
    for first, second in chosen:
        both = [
            (query, given[first], given[second])
            for query, docs in grades
            for _, given in sorted(docs.items())
            if first in given and second in given
        ]
        if both or pairs is not None:
            found.append(_pair(first, second, both, top, weights, seed, n_resamples))
    if not any(pair.overall.n for pair in found):
        raise NothingToEvaluateError(
            "no two labellers graded the same document of a query, so there is no agreement to"
            " measure; `gold pool` makes sheets for two"
        )
    return found


def compare_grades(
    both: Sequence[tuple[str, int, int]],
    top: int,
    weights: Sequence[str] = tuple(WEIGHTS),
    *,
    seed: int = DEFAULT_SEED,
    n_resamples: int = 2_000,
) -> Compared:
    """Return the agreement of two rows of grades, each pair given with the id of its query.

    Parameters
    ----------
    both
        Query, first grade and second grade, sorted by a stable key.
    top
        The top of the scale.
    weights, seed, n_resamples
        As for `agreement`.
    """
    queries = [query for query, _, _ in both]
    first, second = [one for _, one, _ in both], [other for _, _, other in both]
    kappas = {
        name: cohen_kappa(
            first,
            second,
            weights=WEIGHTS[name],
            categories=range(top + 1),
            clusters=queries,
            seed=seed,
            n_resamples=n_resamples,
        )
        for name in weights
    }
    n_same = sum(one == other for _, one, other in both)
    table = [[0] * (top + 1) for _ in range(top + 1)]
    for one, other in zip(first, second, strict=True):
        table[one][other] += 1
    return Compared(
        len(both),
        len(set(queries)),
        ratio(n_same, len(both), "too_few_values"),
        kappas,
        tuple(map(tuple, table)),
    )


def _pair(
    first: str,
    second: str,
    both: Sequence[tuple[GoldQuery, int, int]],
    top: int,
    weights: Sequence[str],
    seed: int,
    n_resamples: int,
) -> LabellerPair:
    def compared(rows: Sequence[tuple[GoldQuery, int, int]], names: Sequence[str]) -> Compared:
        plain = [(query.id, one, other) for query, one, other in rows]
        return compare_grades(plain, top, names, seed=seed, n_resamples=n_resamples)

    corpora = {}
    for name in sorted({query.corpus for query, _, _ in both}):
        part = [row for row in both if row[0].corpus == name]
        corpora[name] = compared(part, weights if len(part) >= MIN_OF_CORPUS else ())
    return LabellerPair(first, second, compared(both, weights), corpora)


def _kappa_json(kappa: Kappa) -> dict[str, Any]:
    return {
        **kappa.value.to_json(),
        "ci_low": kappa.interval.low.value,
        "ci_high": kappa.interval.high.value,
        "observed": kappa.observed.value,
        "expected": kappa.expected.value,
    }


DECISIONS: Final = "decisions"
"""The field of a gold row that records who settled which grade, over which labels."""

ADJUDICATION: Final = "adjudication"
"""The purpose of a key for adjudication: a third person grades only the disagreements."""


class Disagreement(Record, frozen=True):
    """A document that labellers grade differently for one query.

    ``final`` is the grade in ``relevant``, None where there is none; ``decided_by`` names who
    adjudicated it, empty where it is not recorded.
    """

    query: str
    corpus: str
    doc: str
    grades: Mapping[str, int]
    final: int | None
    decided_by: tuple[str, ...]


def disagreements(
    gold: GoldSet, pairs: Sequence[tuple[str, str]] | None = None
) -> list[Disagreement]:
    """Return the documents that were graded differently, by query and document.

    An adjudicator's own grade is not counted among those that differ. With ``pairs`` of labellers
    only documents on which the two of one of them differ are returned.
    """
    found = []
    for query in sorted(gold.queries, key=lambda q: q.id):
        deciders = adjudicators(query)
        for doc, given in sorted(own_grades(query).items()):
            if _is_apart(given, pairs):
                by = tuple(sorted(deciders.get(doc, ())))
                final = query.relevant.get(doc)
                found.append(Disagreement(query.id, query.corpus, doc, given, final, by))
    return found


def _is_apart(given: Mapping[str, int], pairs: Sequence[tuple[str, str]] | None) -> bool:
    if pairs is None:
        return len(set(given.values())) > 1
    return any(
        first in given and second in given and given[first] != given[second]
        for first, second in pairs
    )


def own_grades(query: GoldQuery) -> dict[str, dict[str, int]]:
    """Return document to labeller to grade, without the grades that settled disagreements."""
    deciders = adjudicators(query)
    found: dict[str, dict[str, int]] = {}
    for label in query.labels:
        if label.labeller not in deciders.get(label.doc, ()):
            found.setdefault(label.doc, {})[label.labeller] = label.grade
    return {doc: dict(sorted(given.items())) for doc, given in found.items()}


def adjudicators(query: GoldQuery) -> dict[str, frozenset[str]]:
    """Return who settled disagreements, by document, from the field :data:`DECISIONS`."""
    found: dict[str, frozenset[str]] = {}
    for record in query.records(DECISIONS):
        doc, by = record.get("doc"), record.get("by")
        if record.get("why") == ADJUDICATION and isinstance(doc, str) and isinstance(by, list):
            names = frozenset(name for name in by if isinstance(name, str))
            found[doc] = found.get(doc, frozenset()) | names
    return found


Graders = Mapping[str, Sequence[str]]
"""Document to the labellers who were assigned to it."""


@dataclass(frozen=True, slots=True)
class Settlement:
    """Gold rows with settled grades, in the order they had.

    Of the pairs of query and document in the key ``n_settled`` are settled, ``n_apart`` were graded
    differently, and ``n_waiting`` lack a labeller's grade; ``n_moved`` of the settled ones have
    another grade in ``relevant`` than before. ``reading`` holds the labels read from the sheets.
    """

    queries: tuple[GoldQuery, ...]
    purpose: str
    n_settled: int
    n_moved: int
    n_apart: int
    n_waiting: int
    reading: PoolReading


def adjudication_sheet(
    gold: GoldSet,
    corpus: Corpus,
    adjudicator: str,
    *,
    seed: int = 0,
    pairs: Sequence[tuple[str, str]] | None = None,
) -> Pool:
    """Return the disagreements without an adjudicator as a sheet for a third reviewer.

    The reviewer sees query and document and not who graded what, so that the grade is their own.

    Parameters
    ----------
    corpus
        The texts to show.
    adjudicator
        The name to put on record, of a person whose own grade is not in question.
    seed
        Seed of the order and of the ids.
    pairs
        Only what the two labellers of one of these pairs graded differently; None: of any two.

    Raises
    ------
    BadInputError
        When the adjudicator graded one of the documents before, or a document has no text.
    NothingToEvaluateError
        When nothing is open.
    """
    open_ones = [found for found in disagreements(gold, pairs) if not found.decided_by]
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

    Every grade becomes a label of the person the key names for it. Where all who were assigned to
    a document gave the same grade, now or before, that grade also goes to ``relevant``, and a
    record of it to the field :data:`~retrieval_eval.search.gold.agreement.DECISIONS`: the document,
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
    assigned: dict[str, dict[str, list[str]]] = {}
    for entry in found["items"].values():
        assigned.setdefault(entry["query"], {}).setdefault(entry["doc"], []).append(
            entry["labeller"]
        )
    queries, faults = [], []
    n_settled = n_moved = n_apart = n_waiting = 0
    for query in reading.queries:
        grades, waiting = _unanimous(query, assigned.get(query.id, {}))
        n_waiting += waiting
        n_apart += len(assigned.get(query.id, {})) - waiting - len(grades)
        n_settled += len(grades)
        n_moved += sum(query.relevant.get(doc) != grade for doc, grade in grades.items())
        if query.answerable is False and any(grades.values()):
            doc = next(doc for doc, grade in grades.items() if grade)
            faults.append(
                f"the query {query.id!r} is marked as unanswerable, yet {doc[:80]!r} was settled"
                f" as relevant ({grades[doc]}); correct 'answerable' in its row, or the sheet"
            )
        queries.append(_settled(query, grades, assigned.get(query.id, {}), purpose))
    if faults:
        raise BadInputError("\n".join(faults))
    return Settlement(tuple(queries), purpose, n_settled, n_moved, n_apart, n_waiting, reading)


def _unanimous(query: GoldQuery, assigned: Graders) -> tuple[dict[str, int], int]:
    """Return the grades on which all assigned labellers agree, and how many documents lack one."""
    given = {(label.labeller, label.doc): label.grade for label in query.labels}
    grades, waiting = {}, 0
    for doc, labellers in sorted(assigned.items()):
        theirs = {given.get((labeller, doc)) for labeller in labellers}
        if None in theirs:
            waiting += 1
        elif len(theirs) == 1:
            grades[doc] = next(grade for grade in theirs if grade is not None)
    return grades, waiting


def _settled(
    query: GoldQuery, grades: Mapping[str, int], assigned: Graders, purpose: str
) -> GoldQuery:
    if not grades:
        return query
    kept = query.records(DECISIONS)
    for doc, grade in grades.items():
        by = sorted(assigned[doc])
        others = {
            label.labeller: label.grade
            for label in query.labels
            if label.doc == doc and label.labeller not in by
        }
        record = {"doc": doc, "grade": grade, "by": by, "why": purpose}
        record["over"] = dict(sorted(others.items()))
        same = [one for one in kept if all(one.get(n) == record[n] for n in ("doc", "by", "why"))]
        kept = [one for one in kept if one not in same] + [record]
    return replace(
        query,
        relevant={**query.relevant, **grades},
        source="chair",
        extra={**query.extra, DECISIONS: kept},
    )
