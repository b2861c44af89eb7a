"""Simulated search systems: queries, runs of a system over them, and drops planted in a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from retrieval_eval.stats.resampling import Floats

Bools = NDArray[np.bool_]
Generator = np.random.Generator

METRICS = (
    *("P@5", "Recall@20", "claim_coverage"),
    *("ungrounded_true_positive_rate", "answerable_false_refusal_rate"),
)
DEPTH = 40
REFUSED = {True: 0.07, False: 0.83}
"""Chance that an answerable, and an unanswerable, query is refused."""

SUPPORTED = 0.85
"""Chance that a claim of a draft is supported."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run: what is relevant in each ranking, supported claims, refusals."""

    relevant: Bools
    n_relevant: NDArray[np.int64]
    supported: Bools
    refused: Bools
    refused_unanswerable: Bools


Drop = Callable[[Run], Run]
"""What a change does to any run of the system, always to the same queries."""


class Queries:
    """Queries drawn for one study: how hard each is, and how many claims its draft makes.

    About 0.72 of the first five documents are relevant, 0.88 of the relevant ones are among the
    first 20, and 0.85 of the claims are supported; for ten answerable queries there is one that is
    not.
    """

    def __init__(self, g: Generator, n: int) -> None:
        self.g, self.n = g, n
        ease = g.beta(3.0, 0.8, (n, 1))
        places = np.arange(DEPTH)
        self.chance = ease * np.where(places < 5, 0.98 - 0.04 * places, 0.8 * 0.9 ** (places - 4))
        self.n_claims = g.integers(1, 6, n)
        self.is_claim = np.arange(5) < self.n_claims[:, np.newaxis]
        self.n_unanswerable = n // 10

    def run(self) -> Run:
        relevant = self.g.random(self.chance.shape) < self.chance
        return Run(relevant, np.maximum(relevant.sum(axis=1), 1), *self.luck())

    def luck(self) -> tuple[Bools, Bools, Bools]:
        """Draw what a run has beside its rankings: supported claims, and refusals of both kinds."""
        g = self.g
        return (
            g.random((self.n, 5)) < SUPPORTED,
            g.random(self.n) < REFUSED[True],
            g.random(self.n_unanswerable) < REFUSED[False],
        )

    def levels(self, run: Run) -> list[Floats]:
        """Return each metric of METRICS by query, in points; more is better."""
        supported = (run.supported & self.is_claim).sum(axis=1)
        values = (
            run.relevant[:, :5].sum(axis=1) / 5,
            run.relevant[:, :20].sum(axis=1) / run.n_relevant,
            supported * (self.n / self.n_claims.sum()),
            run.refused_unanswerable.astype(float),
            -run.refused.astype(float),
        )
        return [100.0 * value for value in values]


def again(queries: Queries, base: Run, share: float) -> Run:
    """Return another run of the same system, in which ``share`` of the outcomes differ.

    Of the first 20 documents that share trades its place with one of the first 40, at most one a
    query; that share of claims is judged, and of queries refused, by new luck.
    """
    g, n = queries.g, queries.n
    relevant = base.relevant.copy()
    rows = np.flatnonzero(g.random(n) < 20 * share)
    first, second = g.integers(0, 20, len(rows)), g.integers(0, DEPTH, len(rows))
    relevant[rows, first], relevant[rows, second] = relevant[rows, second], relevant[rows, first]
    before = base.supported, base.refused, base.refused_unanswerable
    pairs = zip(before, queries.luck(), strict=True)
    drawn = (np.where(g.random(old.shape) < share, new, old) for old, new in pairs)
    return Run(relevant, base.n_relevant, *drawn)


def uneven(queries: Queries, base: Run, share: float) -> Run:
    """Return another run of the same system; the share of outcomes that differ is drawn per run.

    It is exponential with mean ``share``, so that all queries have good and bad runs together.
    """
    return again(queries, base, min(queries.g.exponential(share), 0.05))


def bad_days(queries: Queries, base: Run, share: float) -> Run:
    """Return another run of the same system, which is bad as a whole in one run of ten.

    Then 5 % of the outcomes fall otherwise, else ``share``.
    """
    return again(queries, base, 0.05 if queries.g.random() < 0.1 else share)


def otherwise(queries: Queries, base: Run, share: float) -> Run:
    """Return the run of an equally good system that answers ``share`` of the queries differently.

    Their documents move by six places (standard deviation), with new luck for all else.
    """
    g = queries.g
    supported, refused, refused_unanswerable = queries.luck()
    moved = np.arange(DEPTH) + g.normal(0, 6, base.relevant.shape)
    relevant = np.take_along_axis(base.relevant, np.argsort(moved, axis=1), axis=1)
    is_new = g.random((queries.n, 1)) < share
    is_new_refusal = g.random(queries.n_unanswerable) < share
    return Run(
        np.where(is_new, relevant, base.relevant),
        base.n_relevant,
        np.where(is_new, supported, base.supported),
        np.where(is_new[:, 0], refused, base.refused),
        np.where(is_new_refusal, refused_unanswerable, base.refused_unanswerable),
    )


def resampled(queries: Queries, base: Run, share: float) -> Run:
    """Return a run over another sample of the same kind of queries; no query is shared."""
    del base, share
    return Queries(queries.g, queries.n).run()


def same(queries: Queries, base: Run, share: float) -> Run:
    """Return the run itself."""
    del queries, share
    return base


def one_of_five(queries: Queries, run: Run, points: float) -> Drop:
    """Take one relevant document out of the first five, in as many queries as cost ``points``."""
    return _demotion(queries, run, points, most=1)


def all_of_five(queries: Queries, run: Run, points: float) -> Drop:
    """Take all relevant documents out of the first five, in as many queries as cost ``points``."""
    return _demotion(queries, run, points, most=5)


def _demotion(queries: Queries, run: Run, points: float, *, most: int) -> Drop:
    """Move the last relevant documents of the first five behind the 20th, in random queries."""
    lost = np.minimum(run.relevant[:, :5].sum(axis=1), most)
    chance = points / 100 * 5 * queries.n / max(lost.sum(), 1)
    rows = np.flatnonzero(queries.g.random(queries.n) < chance)

    def dropped(run: Run) -> Run:
        relevant = run.relevant.copy()
        for row in rows:
            relevant[row, np.flatnonzero(relevant[row, :5])[-most:]] = False
        return replace(run, relevant=relevant)

    return dropped


SYSTEMS: dict[str, Callable[[Queries, Run, float], Run]] = {
    "deterministic": same,
    "run-to-run noise": again,
    "uneven run-to-run noise": uneven,
    "one bad run in ten": bad_days,
    "as good, other answers": otherwise,
    "other queries": resampled,
}
DROPS = {"one of five": one_of_five, "all of five": all_of_five}


def fewer_refusals(queries: Queries, run: Run, points: float) -> Drop:
    """Let the system answer unanswerable queries that it refused, as many as cost ``points``."""
    chance = points / 100 * queries.n_unanswerable / max(run.refused_unanswerable.sum(), 1)
    rows = queries.g.random(queries.n_unanswerable) < chance

    def dropped(run: Run) -> Run:
        return replace(run, refused_unanswerable=run.refused_unanswerable & ~rows)

    return dropped


def more_refusals(queries: Queries, run: Run, points: float) -> Drop:
    """Let the system refuse answerable queries that it answered, as many as cost ``points``."""
    chance = points / 100 * queries.n / max((~run.refused).sum(), 1)
    rows = queries.g.random(queries.n) < chance

    def dropped(run: Run) -> Run:
        return replace(run, refused=run.refused | rows)

    return dropped


REFUSAL_DROPS = {
    "unanswerable queries answered": (fewer_refusals, 3),
    "answerable queries refused": (more_refusals, 4),
}
"""Drops of refusals, and the place in `METRICS` of what they lower."""
