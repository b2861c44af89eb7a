"""Which documents to judge next: those that could move the headline measures most."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.model.gold import GoldQuery, GoldSet
from retrieval_eval.model.search_run import QueryResult, SearchRun
from retrieval_eval.ranking import parse_measure
from retrieval_eval.search.run import HEADLINE, deepest_cutoff
from retrieval_eval.values import counted

POINTS: Final = 100.0

DEEPEST: Final = deepest_cutoff(HEADLINE)
"""Below this rank no document is a candidate."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One unjudged document of one query.

    ``gain_points`` is how much narrower judging it can make the bounds of the headline means, in
    points, summed over measures and runs. ``best_rank`` is its best rank in any run.
    """

    query: str
    doc: str
    gain_points: float
    best_rank: int
    n_runs: int


@dataclass(frozen=True, slots=True)
class JudgingQueue:
    """Documents in the order to judge them, and what could not be put into it.

    ``candidates`` are the first ``n`` of ``n_candidates``. ``n_unlabelled`` queries have no
    relevant document yet, so that their measures have no bounds; ``n_awaiting`` documents have
    labels that are not settled; and ``n_failed`` counts the answers, over all runs, that a
    retriever failed to give.
    """

    candidates: tuple[Candidate, ...]
    n_candidates: int
    n_unlabelled: int
    n_awaiting: int
    n_failed: int

    def part_of(self, ranking: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
        """Return of the documents found for each query those that are candidates."""
        chosen = {(candidate.query, candidate.doc) for candidate in self.candidates}
        return {query: [d for d in docs if (query, d) in chosen] for query, docs in ranking.items()}

    def notes(self) -> list[str]:
        """Return how many documents are left, and what was left out, in sentences."""
        notes = [f"{len(self.candidates)} of {counted(self.n_candidates, 'document')} to judge"]
        for n, noun, words in (
            (self.n_unlabelled, "query", "without a relevant document yet, and so without bounds"),
            (self.n_awaiting, "document", "left out: their labels are not settled"),
            (self.n_failed, "answer", "missing because the retriever failed"),
        ):
            if n:
                notes.append(f"{counted(n, noun)} {words}")
        return notes


def judging_queue(
    gold: GoldSet, runs: Sequence[SearchRun], *, n: int | None = None
) -> JudgingQueue:
    """Return the unjudged documents whose judgement could move the headline measures, most first.

    While a document is unjudged, a measure lies between its value (it is not relevant) and
    its upper bound (it is; see `upper_bounds`). Judging it closes a part of that gap, whichever
    part the grade decides; ``gain_points`` counts the larger one. Ties go by rank, then by query
    and document id. Judging every candidate closes the gaps: value and bound are then the same.
    With several runs some gain nothing by themselves: they matter once a document that only
    another run found turns out to be relevant. Documents below the deepest cut-off are no
    candidates: a relevant one there would lower the bound of recall, but few of them are.

    Judgements are those of ``gold`` as it is now, so that one run serves until a new one is made.

    Parameters
    ----------
    gold
        The gold set.
    runs
        Search runs of its queries; a document that several of them found counts for each.
    n
        How many to return; None: all.

    Raises
    ------
    BadInputError
        When a run has queries that the gold set lacks.
    NothingToEvaluateError
        When there is no run.
    """
    if not runs:
        raise NothingToEvaluateError("there is no run, and so no document to judge")
    queries = {query.id: query for query in gold.queries}
    found: dict[tuple[str, str], list[tuple[float, int]]] = {}
    n_failed, unlabelled = 0, set()
    awaiting: set[tuple[str, str]] = set()
    unjudged = _unjudged(queries, runs)
    for run in runs:
        asked = [(queries[row.id], row) for row in run.queries]
        n_failed += sum(row.status == "failed" for _, row in asked)
        unlabelled |= {q.id for q, _ in asked if not q.n_relevant and q.answerable is not False}
        answered = [(q, row) for q, row in asked if row.status == "ok" and q.n_relevant]
        for query, row in answered:
            labelled = {label.doc for label in query.labels}
            for doc, rank, gain in _gains(query, _docs(row), unjudged[query.id]):
                if doc in labelled:
                    awaiting.add((query.id, doc))
                else:
                    gains = found.setdefault((query.id, doc), [])
                    gains.append((POINTS * gain / len(answered), rank))
    candidates = [
        Candidate(
            query,
            doc,
            math.fsum(gain for gain, _ in gains),
            min(rank for _, rank in gains),
            len(gains),
        )
        for (query, doc), gains in found.items()
    ]
    candidates.sort(key=lambda c: (-round(c.gain_points, 12), c.best_rank, c.query, c.doc))
    return JudgingQueue(
        tuple(candidates if n is None else candidates[:n]),
        len(candidates),
        len(unlabelled),
        len(awaiting),
        n_failed,
    )


def _unjudged(
    queries: Mapping[str, GoldQuery], runs: Sequence[SearchRun]
) -> dict[str, frozenset[str]]:
    """Return for each query the unjudged documents that any run ranks where measures look."""
    found: dict[str, set[str]] = {}
    for run in runs:
        _check_known(run, queries)
        for row in run.queries:
            docs = set(_docs(row)[:DEEPEST]).difference(queries[row.id].relevant)
            found.setdefault(row.id, set()).update(docs)
    return {query: frozenset(docs) for query, docs in found.items()}


def _gains(
    query: GoldQuery, ranking: Sequence[str], unjudged: frozenset[str]
) -> list[tuple[str, int, float]]:
    """Return the unjudged documents that could move a headline measure, with rank and gain."""
    # One that another run found, judged relevant, would open the gap of a recall that is 1 now.
    may_open = bool(unjudged.difference(ranking[:DEEPEST]))
    gains: dict[str, list[float]] = {}
    for name in HEADLINE:
        measure = parse_measure(name)
        assert measure.cutoff is not None
        window = ranking[: measure.cutoff]
        n_hits = sum(query.relevant.get(doc, 0) >= 1 for doc in window)
        n_relevant = query.n_relevant
        # Recall from h/R to (h+1)/(R+1). Not being relevant takes no more off the bound.
        gain = (
            1 / measure.cutoff
            if measure.name == "P"
            else (n_relevant - n_hits) / (n_relevant * (n_relevant + 1))
        )
        for doc in unjudged.intersection(window) if gain or may_open else ():
            gains.setdefault(doc, []).append(gain)
    return [
        (doc, rank, math.fsum(gains[doc])) for rank, doc in enumerate(ranking, 1) if doc in gains
    ]


def _docs(row: QueryResult) -> list[str]:
    return [found.doc for found in row.ranking]


def _check_known(run: SearchRun, queries: Mapping[str, GoldQuery]) -> None:
    unknown = [row.id for row in run.queries if row.id not in queries]
    if unknown:
        raise BadInputError(
            f"not in the gold set: {counted(len(unknown), 'query')} of the run {run.label!r},"
            f" such as {unknown[0]!r}; was it made with another one?"
        )
