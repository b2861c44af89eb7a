"""How far labellers agree beyond chance: kappa for each pair of them, overall and by corpus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final

from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.gold.disagreements import own_grades
from retrieval_eval.gold.fields import DEFAULT_MAX_GRADE, field_map
from retrieval_eval.gold.model import GoldQuery, GoldSet
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

    ``agreement`` is the share of equal grades; ``kappas`` has the kappas that were asked for by
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
    others disagree, so agreement with them says nothing. Intervals resample whole queries.

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
    top = max_grade(gold)
    grades = [(query, own_grades(query)) for query in sorted(gold.queries, key=lambda q: q.id)]
    labellers = sorted({name for _, docs in grades for given in docs.values() for name in given})
    chosen = list(combinations(labellers, 2)) if pairs is None else list(pairs)
    for first, second in chosen:
        if first == second:
            raise BadInputError(f"a pair has two labellers, not {first[:80]!r} twice")
    for name in (name for pair in chosen for name in pair):
        if name not in labellers:
            known = ", ".join(labellers) or "nobody"
            raise BadInputError(f"the labeller {name[:80]!r} has no label; labellers are {known}")
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


def max_grade(gold: GoldSet) -> int:
    """Return the top of the scale of a gold set."""
    return field_map(gold.path).max_grade if gold.path else DEFAULT_MAX_GRADE


def _pair(
    first: str,
    second: str,
    both: Sequence[tuple[GoldQuery, int, int]],
    top: int,
    weights: Sequence[str],
    seed: int,
    n_resamples: int,
) -> LabellerPair:
    def compared(rows: Sequence[tuple[GoldQuery, int, int]], asked: Sequence[str]) -> Compared:
        plain = [(query.id, one, other) for query, one, other in rows]
        return compare_grades(plain, top, asked, seed=seed, n_resamples=n_resamples)

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
