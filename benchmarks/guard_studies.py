"""Simulated pairs of search runs whose truth is known; each function returns one row of a table.

A study draws queries with rankings of 40 documents, two runs of them, and lets the guard decide
with its own functions under both of its rules. Every row has a generator of its own, seeded by its
name. `guard_simulation.py` runs them and prints the tables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from simulated_draws import generator

from retrieval_eval.search.guard.rule import BREACH, RULES, UNDECIDED, decide, harm_test
from retrieval_eval.search.guard.thresholds import shipped_thresholds
from retrieval_eval.search.noise_level import beyond_noise, noise_band, run_to_run
from retrieval_eval.stats.resampling import Floats

Row = list[str]
Bools = NDArray[np.bool_]
Generator = np.random.Generator

METRICS = (
    *("P@5", "Recall@20", "claim_coverage"),
    *("ungrounded_true_positive_rate", "answerable_false_refusal_rate"),
)
_SHIPPED = {row.metric: row.max_change for row in shipped_thresholds().rows}
LIMITS = {name: _SHIPPED[name] for name in METRICS}
"""The changes that the shipped guard.toml allows, in points."""

DEPTH = 40
N_RESAMPLES = 999
REFUSED = {True: 0.07, False: 0.83}
"""Chance that an answerable, and an unanswerable, query is refused."""

SUPPORTED = 0.85
"""Chance that a claim of a draft is supported."""
REPEATS = 5
"""Runs of one system that its noise is measured by."""

RULE_COLUMNS = (*RULES, "threshold_and_beyond_noise")

PROMISED_ALARMS, PROMISED_POWER = 5.0, 95.0


@dataclass(frozen=True, slots=True)
class Run:
    """One run: what is relevant in each ranking, supported claims, refusals."""

    relevant: Bools
    n_relevant: NDArray[np.int64]
    supported: Bools
    refused: Bools
    refused_unanswerable: Bools


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
        g = self.g
        relevant = g.random(self.chance.shape) < self.chance
        return Run(
            relevant,
            np.maximum(relevant.sum(axis=1), 1),
            g.random((self.n, 5)) < SUPPORTED,
            g.random(self.n) < REFUSED[True],
            g.random(self.n_unanswerable) < REFUSED[False],
        )

    def levels(self, run: Run) -> list[Floats]:
        """Return each metric of LIMITS by query, in points; more is better."""
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
    """Return another run of the same system, ``share`` of whose outcomes fall otherwise.

    Of the first 20 documents that share trades its place with one of the first 40, at most one a
    query; that share of claims is judged, and of queries refused, by new luck.
    """
    g, n = queries.g, queries.n
    relevant = base.relevant.copy()
    rows = np.flatnonzero(g.random(n) < 20 * share)
    first, second = g.integers(0, 20, len(rows)), g.integers(0, DEPTH, len(rows))
    relevant[rows, first], relevant[rows, second] = relevant[rows, second], relevant[rows, first]
    luck = queries.run()
    return Run(
        relevant,
        base.n_relevant,
        *(
            np.where(g.random(old.shape) < share, new, old)
            for old, new in (
                (base.supported, luck.supported),
                (base.refused, luck.refused),
                (base.refused_unanswerable, luck.refused_unanswerable),
            )
        ),
    )


def uneven(queries: Queries, base: Run, share: float) -> Run:
    """Return another run of the same system, whose share of other outcomes is drawn for each run.

    It is exponential with mean ``share``, so that all queries have good and bad runs together.
    """
    return again(queries, base, min(queries.g.exponential(share), 0.05))


def otherwise(queries: Queries, base: Run, share: float) -> Run:
    """Return the run of one of many equally good systems: ``share`` of the queries go otherwise.

    Their documents move by six places (standard deviation), with new luck for all else.
    """
    g, luck = queries.g, queries.run()
    moved = np.arange(DEPTH) + g.normal(0, 6, base.relevant.shape)
    relevant = np.take_along_axis(base.relevant, np.argsort(moved, axis=1), axis=1)
    is_new = g.random((queries.n, 1)) < share
    is_new_refusal = g.random(queries.n_unanswerable) < share
    return Run(
        np.where(is_new, relevant, base.relevant),
        base.n_relevant,
        np.where(is_new, luck.supported, base.supported),
        np.where(is_new[:, 0], luck.refused, base.refused),
        np.where(is_new_refusal, luck.refused_unanswerable, base.refused_unanswerable),
    )


def resampled(queries: Queries, base: Run, share: float) -> Run:
    """Return a run over a sample of its own of the same kind of queries, none shared."""
    del base, share
    return Queries(queries.g, queries.n).run()


def same(queries: Queries, base: Run, share: float) -> Run:
    """Return the run itself."""
    del queries, share
    return base


def one_of_five(queries: Queries, run: Run, points: float) -> Run:
    """Take one relevant document out of the first five, in as many queries as cost ``points``."""
    return _demoted(queries, run, points, most=1)


def all_of_five(queries: Queries, run: Run, points: float) -> Run:
    """Take all relevant documents out of the first five, in as many queries as cost ``points``."""
    return _demoted(queries, run, points, most=5)


def _demoted(queries: Queries, run: Run, points: float, *, most: int) -> Run:
    """Move the last relevant documents of the first five behind the 20th in queries drawn alike."""
    lost = np.minimum(run.relevant[:, :5].sum(axis=1), most)
    chance = points / 100 * 5 * queries.n / max(lost.sum(), 1)
    rows = np.flatnonzero(queries.g.random(queries.n) < chance)
    relevant = run.relevant.copy()
    for row in rows:
        relevant[row, np.flatnonzero(relevant[row, :5])[-most:]] = False
    return replace(run, relevant=relevant)


SYSTEMS: dict[str, Callable[[Queries, Run, float], Run]] = {
    "deterministic": same,
    "run-to-run noise": again,
    "uneven run-to-run noise": uneven,
    "as good, other answers": otherwise,
    "other queries": resampled,
}
DROPS = {"one of five": one_of_five, "all of five": all_of_five}


def study_of(
    queries: Queries, system: str, share: float, *, drop: Callable[[Run], Run] = lambda run: run
) -> tuple[list[Floats], list[float]]:
    """Return by metric how much each query got worse, and the measured noise of the system."""
    base, run = queries.run(), SYSTEMS[system]
    before = queries.levels(run(queries, base, share))
    after = queries.levels(drop(run(queries, base, share)))
    harms = [old - new for old, new in zip(before, after, strict=True)]
    if run not in (again, uneven):
        return harms, [0.0] * len(harms)
    repeats = [queries.levels(run(queries, base, share)) for _ in range(REPEATS)]
    tables = (np.array(rows) / 100 for rows in zip(*repeats, strict=True))
    levels = [run_to_run(table) for table in tables]
    is_still = all(level.is_deterministic for level in levels)
    return harms, [noise_band(level, is_deterministic=is_still) for level in levels]


def decisions(
    studies: int, draw: Callable[[], tuple[list[Floats], list[float]]], n: int
) -> dict[str, NDArray[np.int8]]:
    """Return the guard's decisions, studies by metrics, under each rule.

    The third rule is the second one with p-values of the measured noise instead of the test.
    """
    shape = (studies, len(LIMITS))
    harms, p_values, errors, p_noise, noise = (np.zeros(shape) for _ in range(5))
    for study in range(studies):
        for place, (harm, sd) in enumerate(zip(*draw(), strict=True)):
            mean = harms[study, place] = harm.mean()
            p_values[study, place], errors[study, place] = harm_test(
                harm, seed=study, n_resamples=N_RESAMPLES
            )
            p_noise[study, place], noise[study, place] = beyond_noise(mean, sd), sd * 2**0.5
    pairs = [n // 10 if name.startswith("ungrounded") else n for name in LIMITS]
    limits = list(LIMITS.values())
    found = {
        rule: decide(harms, limits, p_values, errors, pairs, rule=rule).codes for rule in RULES
    }
    found[RULE_COLUMNS[-1]] = decide(
        harms, limits, p_noise, noise, pairs, rule="threshold_and_significant"
    ).codes
    return found


def equal_row(system: str, share: float, n: int, studies: int) -> Row:
    """Return how often two runs of equally good systems do not pass: alarm, no verdict, P@5."""
    g = generator("guard", "equal", system, share, n)
    found = decisions(studies, lambda: study_of(Queries(g, n), system, share), n)
    breaches = {rule: codes == BREACH for rule, codes in found.items()}
    alarms = [100 * is_breach.any(axis=1).mean() for is_breach in breaches.values()]
    no_verdict = [
        100 * ((found[rule] == UNDECIDED).any(axis=1) & ~breaches[rule].any(axis=1)).mean()
        for rule in RULE_COLUMNS[1:]
    ]
    first = [100 * is_breach[:, 0].mean() for is_breach in breaches.values()]
    return [
        system,
        f"{100 * share:g} %" if share else "–",
        str(n),
        *(_alarm(share) for share in alarms),
        *(f"{share:.1f}" for share in no_verdict),
        *(_alarm(share) for share in first),
    ]


def drop_row(points: float, how: str, system: str, share: float, n: int, studies: int) -> Row:
    """Return how often a planted drop of P@5 is caught, as a breach of the row of P@5."""
    g = generator("guard", "drop", points, how, system, share, n)

    def draw() -> tuple[list[Floats], list[float]]:
        queries = Queries(g, n)
        return study_of(queries, system, share, drop=lambda run: DROPS[how](queries, run, points))

    found = decisions(studies, draw, n)
    caught = [100 * (codes == BREACH)[:, 0].mean() for codes in found.values()]
    is_open = found["threshold_and_significant"][:, 0] == UNDECIDED
    return [
        f"{points:g}",
        how,
        system,
        f"{100 * share:g} %" if share else "–",
        str(n),
        *(f"{c:.1f}" if c >= PROMISED_POWER else f"**{c:.1f}**" for c in caught),
        f"{100 * is_open.mean():.1f}",
    ]


def _alarm(percent: float) -> str:
    return f"**{percent:.1f}**" if percent > PROMISED_ALARMS else f"{percent:.1f}"
